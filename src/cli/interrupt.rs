//! Ctrl-C and SIGTERM (on Windows Ctrl-Break): the first ends a run gracefully, the second at once.

use tokio::runtime::Builder;
#[cfg(windows)]
use tokio::signal::windows::ctrl_break as other_request;
use tokio::sync::watch;

/// A flag that becomes true at the first signal, and its sender, for other reasons to end early. The second signal ends
/// the process.
pub(super) fn flag() -> (watch::Sender<bool>, watch::Receiver<bool>) {
    let (cancel, cancelled) = watch::channel(false);
    let sender = cancel.clone();
    // On a thread of its own: that of the command judges and writes reports without a pause.
    std::thread::spawn(move || {
        // Without it signals end the process at once, as they do by default.
        if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
            runtime.block_on(wait_for_signals(&sender));
        }
    });
    (cancel, cancelled)
}

async fn wait_for_signals(cancel: &watch::Sender<bool>) {
    let mut terminate = other_request().ok();
    for first in [true, false] {
        let ended = async {
            match &mut terminate {
                Some(terminate) => drop(terminate.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            result = tokio::signal::ctrl_c() => if result.is_err() { break },
            () = ended => {}
        }
        if first {
            let _ = cancel.send(true);
        } else {
            // It does not wait for the report.
            std::process::exit(3);
        }
    }
    std::future::pending::<()>().await;
}

/// The request to end that does not come from the keyboard.
#[cfg(unix)]
fn other_request() -> std::io::Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::terminate())
}
