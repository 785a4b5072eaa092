//! Starting the target that a target file says how to start, and ending it.

use std::collections::BTreeMap;
use std::io::Write;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::exit::Failure;
use crate::report::printable;
use crate::target::Target;
use crate::transport::launch::{LaunchError, Launched};

/// A target that runs because this run started it.
pub(super) struct Running {
    launched: Launched,
    watcher: JoinHandle<()>,
}

/// Starts the target, if its file says how. `hosts` are the addresses of the peers that the run hosts. The flag that is
/// returned turns true when `cancelled` does, and when the target ends by itself.
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
    let hint = (!shown.is_empty()).then(|| format!("the last lines that it wrote:{shown}"));
    Failure::Undecided(printable::line(&error.what).into_owned(), hint)
}

impl Running {
    /// Ends the target. How it ended, if it had ended by itself; the last lines that it wrote are printed then.
    pub(super) async fn stop(self) -> Option<String> {
        self.watcher.abort();
        let how = self.launched.ended();
        if let Some(how) = &how {
            let mut out = anstream::stderr();
            let _ = writeln!(out, "the target ended by itself: {how}; the last lines that it wrote:");
            for line in self.launched.output() {
                let _ = writeln!(out, "    {}", printable::line(&line));
            }
        }
        self.launched.stop().await;
        how.map(|how| format!("the target ended by itself: {how}"))
    }
}
