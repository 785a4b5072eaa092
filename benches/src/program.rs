//! Other programs, and what their runs take.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::side_by_side::Cost;

/// Clock ticks of Linux in a second, for programs.
const TICKS: u64 = 100;

/// What a run of a program took.
#[derive(Debug)]
pub struct Measured {
    /// Wall and processor time. Without `/proc` the processor time is 0.
    pub cost: Cost,
    /// The most memory that it had at one time, in KiB; without `/proc`, and for a run of a few milliseconds, 0.
    pub memory: u64,
    /// What it printed, and how it ended.
    pub output: Output,
}

/// Runs a program to its end.
///
/// # Panics
///
/// If it cannot be started.
pub fn measure(command: &mut Command) -> Measured {
    let before = of_children();
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let status = format!("/proc/{}/status", child.id());
    let running = AtomicBool::new(true);
    let (memory, output, wall) = thread::scope(|threads| {
        let watcher = threads.spawn(|| {
            let mut most = 0;
            while running.load(Ordering::Relaxed) {
                most = most.max(peak(&fs::read_to_string(&status).unwrap_or_default()));
                thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let output = child.wait_with_output();
        let wall = begun.elapsed();
        running.store(false, Ordering::Relaxed);
        (watcher.join().unwrap_or_default(), output.expect("its output can be read"), wall)
    });
    Measured { cost: Cost { wall, processor: of_children().saturating_sub(before) }, memory, output }
}

/// The peak of a process in KiB, from its status.
fn peak(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The processor time of all programs that this one started and that have ended.
fn of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may have spaces. The state is the first field after it, and number 3.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis((ticks(16) + ticks(17)) * 1000 / TICKS)
}

/// The program of a name, in one of the folders of `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_stands_in_the_status() {
        assert_eq!(peak("Name:\tx\nVmHWM:\t   12345 kB\nVmRSS:\t 5 kB\n"), 12_345);
        assert_eq!(peak(""), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_run_has_time_memory_and_output() {
        let measured =
            measure(Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i"]));
        assert_eq!(measured.output.stdout, b"200000\n");
        assert!(measured.memory > 500 && measured.cost.processor > Duration::ZERO, "{measured:?}");
        assert!(measured.cost.wall >= measured.cost.processor / 2, "{measured:?}");
    }
}
