//! Process groups.

use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

/// The variable that marks everything that a target starts.
const MARK: &str = "PROOFMARK_TARGET";

/// The pause between two searches for processes that are left.
const PAUSE: Duration = Duration::from_millis(5);

/// Maximum number of processes examined in one search for leftovers of a target.
const PROCESSES: usize = 100_000;

/// Bytes of an environment that are searched for the mark.
const ENVIRONMENT_BYTES: u64 = 1 << 20;

/// The script of the watchdog process. Its arguments are the process group and the mark.
const GUARD: &str = r#"trap '' HUP INT TERM
cat >/dev/null
kill -s TERM -- "-$1" 2>/dev/null
sleep 1
kill -s KILL -- "-$1" 2>/dev/null
for process in /proc/[0-9]*; do
  if grep -q "$2" "$process/environ" 2>/dev/null; then kill -s KILL "${process#/proc/}" 2>/dev/null; fi
done"#;

/// Makes a command start in a group of its own, so that signals of the terminal do not reach it.
pub(crate) fn separate(command: &mut Command) {
    command.process_group(0);
}

/// The group of a child process that was started by a separate command.
pub(crate) struct Group;

impl Group {
    /// The group of a child.
    pub(crate) fn of(_: &tokio::process::Child) -> Self {
        Self
    }

    /// Kills all of its processes, unless the child itself was waited for: then its number may be another's.
    pub(crate) fn kill(&self, child: &tokio::process::Child) {
        if let Some(id) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

/// A program that must not survive proofmark, and everything that it started. Dropping it kills them all.
///
/// A process that left the group is found by a variable of its environment (on Linux). If proofmark itself is killed, a
/// small watchdog shell process notices that its standard input closed, and kills the group.
pub(crate) struct Processes {
    /// `None` once it was killed.
    child: Option<Child>,
    group: Pid,
    guard: Option<Child>,
    mark: String,
}

impl Processes {
    /// Starts a command, and returns its standard output and standard error if they are pipes.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<(Self, Option<ChildStdout>, Option<ChildStderr>)> {
        let mark = mark();
        separate(command);
        let mut child = command.env(MARK, &mark).spawn()?;
        let group = Pid::from_child(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        // Without a shell on this machine the target is still ended whenever proofmark itself can do so.
        let guard = Command::new("sh")
            .args(["-c", GUARD, "proofmark-guard", &group.as_raw_nonzero().to_string(), &format!("{MARK}={mark}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok();
        Ok((Self { child: Some(child), group, guard, mark }, stdout, stderr))
    }

    /// How the program ended, if it ended by itself.
    pub(crate) fn ended(&self) -> Option<String> {
        self.child.as_ref()?;
        ended(self.group)
    }

    /// The same, for who does not hold it. After the processes were killed the answer means nothing.
    pub(crate) fn watcher(&self) -> impl Fn() -> Option<String> + Send + use<> {
        let group = self.group;
        move || ended(group)
    }

    /// Requests the end of the group (SIGTERM).
    pub(crate) fn terminate(&self) {
        let _ = kill_process_group(self.group, Signal::TERM);
    }

    /// Whether any of its processes lives. Without /proc only the program itself is known.
    pub(crate) fn live(&self) -> bool {
        self.ended().is_none() || !members(self.group, &self.mark).is_empty()
    }

    /// Kills all of its processes, and waits for the program itself.
    pub(crate) fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // The program was not reaped, so its process id cannot be reused.
        let _ = kill_process_group(self.group, Signal::KILL);
        for _ in 0..3 {
            let left = members(self.group, &self.mark);
            if left.is_empty() {
                break;
            }
            for process in left {
                let _ = kill_process(process, Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
        let _ = child.wait();
        if let Some(mut guard) = self.guard.take() {
            let _ = kill_process_group(Pid::from_child(&guard), Signal::KILL);
            let _ = guard.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A name for everything that one target starts, which no other process has in its environment.
fn mark() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The keys of a new `RandomState` are random values of the operating system.
    let number = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{}-{:016x}{:016x}", std::process::id(), number(), number())
}

/// How a process of ours ended, if it has. It is left unwaited for, so that its number stays its own.
fn ended(process: Pid) -> Option<String> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(process), options).ok()??;
    Some(match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "it ended".to_owned(),
    })
}

/// The live processes of a target: those of its group, and those with its mark. Empty without /proc, where only the
/// group is known.
fn members(group: Pid, mark: &str) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let wanted = format!("{MARK}={mark}");
    let numbers = entries.take(PROCESSES).flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let numbers = numbers.filter(|number| *number != own);
    let belongs = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // The name of the program is in parentheses and may contain parentheses.
        let mut words = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let (state, _, of) = (words.next(), words.next(), words.next());
        if matches!(state, None | Some("Z" | "X")) {
            return false;
        }
        of.and_then(|of| of.parse().ok()) == Some(group.as_raw_nonzero().get()) || has_mark(*number, wanted.as_bytes())
    };
    numbers.filter(belongs).filter_map(|number| Pid::from_raw(number.cast_signed())).collect()
}

fn has_mark(process: u32, wanted: &[u8]) -> bool {
    use std::io::Read;
    let Ok(file) = std::fs::File::open(format!("/proc/{process}/environ")) else { return false };
    let mut environment = Vec::new();
    let _ = file.take(ENVIRONMENT_BYTES).read_to_end(&mut environment);
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}
