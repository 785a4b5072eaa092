//! Starts and stops a target whose target file has a `launch` command.

use std::collections::BTreeMap;
use std::io::Write;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::exit::Failure;
use crate::report::printable;
use crate::target::Target;
use crate::transport::launch::{LaunchError, Launched};

/// A target that this run started.
pub(super) struct Running {
    launched: Launched,
    watcher: JoinHandle<()>,
}

/// Starts the target, if its file has a `launch` command. `hosts` are the addresses of the peers that the run hosts. The
/// returned flag becomes true when `cancelled` does, and when the target exits.
pub(super) async fn start(
    target: &Target,
    hosts: &BTreeMap<String, String>,
    cancelled: &watch::Receiver<bool>,
) -> Result<(Option<Running>, watch::Receiver<bool>), Failure> {
    let Some(launch) = &target.launch else { return Ok((None, cancelled.clone())) };
    let mut cancelled = cancelled.clone();
    let started = tokio::select! {
        started = Launched::start(launch, target, hosts) => started,
        _ = cancelled.wait_for(|flag| *flag) => {
            return Err(Failure::Undecided("the run was interrupted while the target started".into(), None));
        }
    };
    let launched = started.map_err(|error| failure(&error))?;
    let (end, ended) = watch::channel(false);
    let own_end = launched.watch();
    let watcher = tokio::spawn(async move {
        tokio::select! {
            _ = own_end => {}
            result = cancelled.wait_for(|flag| *flag) => if result.is_err() { return },
        }
        let _ = end.send(true);
        std::future::pending::<()>().await;
    });
    Ok((Some(Running { launched, watcher }), ended))
}

fn failure(error: &LaunchError) -> Failure {
    let shown: String = error.output.iter().map(|line| format!("\n    {}", printable::line(line))).collect();
    let hint = (!shown.is_empty()).then(|| format!("its last output:{shown}"));
    Failure::Undecided(printable::line(&error.what).into_owned(), hint)
}

impl Running {
    /// Stops the target. If it had already exited, prints the last lines of its output and returns how it exited.
    pub(super) async fn stop(self) -> Option<String> {
        self.watcher.abort();
        let how = self.launched.ended();
        if let Some(how) = &how {
            let mut out = anstream::stderr();
            let _ = writeln!(out, "the target exited during the run: {how}; its last output:");
            for line in self.launched.output() {
                let _ = writeln!(out, "    {}", printable::line(&line));
            }
        }
        self.launched.stop().await;
        how.map(|how| format!("the target exited during the run: {how}"))
    }
}
