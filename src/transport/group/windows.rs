//! Job objects. The system kills what is in a job when its last handle is closed, also when proofmark itself is killed.
//!
//! A process is put into its job right after its start; what it starts before that stays outside.

use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::{Arc, Mutex, PoisonError};

use win32job::{ExtendedLimitInfo, Job};

/// Makes a command start in a group of its own, so that Ctrl-C does not reach it: `CREATE_NEW_PROCESS_GROUP` of the Windows API.
pub(crate) fn separate(command: &mut Command) {
    command.creation_flags(0x0000_0200);
}

/// The job of a child process.
pub(crate) struct Group(Mutex<Option<Job>>);

impl Group {
    /// Puts a child into a job.
    pub(crate) fn of(child: &tokio::process::Child) -> Self {
        Self(Mutex::new(child.raw_handle().and_then(|handle| job(handle as isize))))
    }

    /// Kills all of its processes.
    pub(crate) fn kill(&self, _: &tokio::process::Child) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A program that must not survive proofmark, and everything that it started. Dropping it kills them all.
pub(crate) struct Processes {
    child: Arc<Mutex<Child>>,
    /// `None` once it was killed, or if the system refused one.
    job: Option<Job>,
}

impl Processes {
    /// Starts a command, and returns its standard output and standard error if they are pipes.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<(Self, Option<ChildStdout>, Option<ChildStderr>)> {
        separate(command);
        let mut child = command.spawn()?;
        let job = job(child.as_raw_handle() as isize);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok((Self { child: Arc::new(Mutex::new(child)), job }, stdout, stderr))
    }

    /// How the program ended, if it ended by itself.
    pub(crate) fn ended(&self) -> Option<String> {
        ended(&self.child)
    }

    /// The same, for who does not hold it.
    pub(crate) fn watcher(&self) -> impl Fn() -> Option<String> + Send + use<> {
        let child = Arc::clone(&self.child);
        move || ended(&child)
    }

    /// There is no signal that requests the end of a program without a window.
    pub(crate) fn terminate(&self) {}

    /// Whether it is worth waiting for an end: since none was requested, it is not.
    pub(crate) fn live(&self) -> bool {
        false
    }

    /// Kills all of its processes, and waits for the program itself.
    pub(crate) fn kill(&mut self) {
        drop(self.job.take());
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

fn ended(child: &Mutex<Child>) -> Option<String> {
    let status = child.lock().unwrap_or_else(PoisonError::into_inner).try_wait().ok()??;
    Some(status.code().map_or_else(|| "it ended".to_owned(), |code| format!("exit status {code}")))
}

/// A job that ends with its last handle, with one process in it.
fn job(process: isize) -> Option<Job> {
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    let job = Job::create_with_limit_info(&limits).ok()?;
    job.assign_process(process).ok()?;
    Some(job)
}
