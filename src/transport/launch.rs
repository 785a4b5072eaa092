//! Targets that proofmark starts: run in a process group of their own, waited for, drained, and ended with everything that
//! they started.
//!
//! No process of a target survives proofmark. At the end of a run the group gets SIGTERM and, after a grace, SIGKILL; on
//! Windows it is killed at once.

use std::collections::{BTreeMap, VecDeque};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::group::Processes;
use super::http::Http;
use crate::exchange::{ChannelAction, Encoded, Ended, Transport};
use crate::target::{Launch, Limits, Ready, Target};

/// Lines of output that are kept.
const LINES: usize = 20;

/// Bytes of a line that are kept.
const LINE_BYTES: usize = 500;

/// The pause between two looks at a process.
const PAUSE: Duration = Duration::from_millis(20);

/// The timeout of one attempt to reach a starting target.
const TRY: Duration = Duration::from_secs(1);

/// How long a target that did not become ready may take to exit.
const SHORT_GRACE: Duration = Duration::from_secs(1);

/// Why a target could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct LaunchError {
    /// What failed, in one line.
    pub what: String,
    /// The last lines that the target wrote. They are its own, and not escaped.
    pub output: Vec<String>,
}

/// A target that proofmark started.
pub struct Launched {
    processes: Processes,
    output: Arc<Mutex<Output>>,
    grace: Duration,
    readers: Vec<tokio::task::JoinHandle<()>>,
}

/// The output of a target.
#[derive(Default)]
struct Output {
    lines: VecDeque<String>,
    /// The pattern searched in the lines, until it is found.
    wanted: Option<regex::Regex>,
    found: bool,
}

/// A port of this machine without a listener at the moment.
pub fn free_port() -> Option<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).ok()?;
    listener.local_addr().ok().map(|address| address.port())
}

impl Launched {
    /// Starts a target and waits until it is ready. `hosts` are the addresses of the peers that the run hosts, by name.
    ///
    /// # Errors
    ///
    /// [`LaunchError`] if it cannot be started, exits, or is not ready in time. All of its processes are ended then.
    pub async fn start(
        launch: &Launch,
        target: &Target,
        hosts: &BTreeMap<String, String>,
    ) -> Result<Self, LaunchError> {
        let mut launched = Self::spawn(launch, hosts).map_err(|what| LaunchError { what, output: Vec::new() })?;
        let begun = Instant::now();
        let deadline = begun + launch.ready_within;
        let ready = Readiness::new(&launch.ready, target);
        let mut last = String::new();
        loop {
            if let Some(how) = launched.ended() {
                // Its last output may not have arrived yet.
                launched.drain().await;
                let what = format!("the target ended before it was ready: {how}");
                return Err(launched.fail(what).await);
            }
            match ready.check(&launched, begun, deadline).await {
                Ok(()) => return Ok(launched),
                Err(why) => last = if why.is_empty() { last } else { why },
            }
            if Instant::now() >= deadline {
                let because = if last.is_empty() { String::new() } else { format!(": {last}") };
                let what = format!("the target was not ready within {:?}{because}", launch.ready_within);
                return Err(launched.fail(what).await);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn spawn(launch: &Launch, hosts: &BTreeMap<String, String>) -> Result<Self, String> {
        let (command, variables) = launch.filled(hosts)?;
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let directory = std::path::absolute(&launch.directory).unwrap_or_else(|_| launch.directory.clone());
        if !directory.is_dir() {
            return Err(format!("cannot start the target: missing directory `{}`", directory.display()));
        }
        // A program with a path is resolved from the working directory, one without a path in PATH.
        let path = if program.contains('/') { directory.join(program) } else { program.into() };
        let mut command = Command::new(path);
        command
            .args(arguments)
            .current_dir(&directory)
            .envs(variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (processes, stdout, stderr) = Processes::spawn(&mut command).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("cannot start the target: command not found: `{program}`"),
            _ => format!("cannot start the target: `{program}`: {error}"),
        })?;
        let wanted = match &launch.ready {
            Ready::Line(pattern) => Some(pattern.clone()),
            _ => None,
        };
        let output = Arc::new(Mutex::new(Output { wanted, ..Output::default() }));
        let secrets: Arc<[String]> = launch.secrets().map(str::to_owned).collect();
        let mut launched = Self { processes, output, grace: launch.stop_within, readers: Vec::new() };
        if let Some(stdout) = stdout {
            let stdout = tokio::process::ChildStdout::from_std(stdout).map_err(|error| error.to_string())?;
            launched.readers.push(tokio::spawn(drain(stdout, Arc::clone(&launched.output), Arc::clone(&secrets))));
        }
        if let Some(stderr) = stderr {
            let stderr = tokio::process::ChildStderr::from_std(stderr).map_err(|error| error.to_string())?;
            launched.readers.push(tokio::spawn(drain(stderr, Arc::clone(&launched.output), secrets)));
        }
        Ok(launched)
    }

    /// How it ended, if it ended by itself.
    pub fn ended(&self) -> Option<String> {
        self.processes.ended()
    }

    /// Resolves when the target ends by itself during a run, with how it ended.
    pub fn watch(&self) -> impl Future<Output = String> + Send + use<> {
        let ended = self.processes.watcher();
        async move {
            loop {
                if let Some(how) = ended() {
                    return how;
                }
                tokio::time::sleep(PAUSE * 5).await;
            }
        }
    }

    /// The last lines that it wrote to standard output and standard error, secrets redacted.
    pub fn output(&self) -> Vec<String> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.lines.iter().cloned().collect()
    }

    /// Ends it with everything that it started.
    pub async fn stop(mut self) {
        self.end(self.grace).await;
    }

    async fn fail(mut self, what: String) -> LaunchError {
        self.end(self.grace.min(SHORT_GRACE)).await;
        LaunchError { what, output: self.output() }
    }

    async fn end(&mut self, grace: Duration) {
        self.processes.terminate();
        let deadline = Instant::now() + grace;
        let mut pause = PAUSE;
        // The program first; then its child processes, which have the rest of the time.
        while Instant::now() < deadline && self.processes.live() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE * 10);
        }
        self.processes.kill();
        self.drain().await;
    }

    /// Waits a moment for its last output.
    async fn drain(&mut self) {
        for mut reader in self.readers.drain(..) {
            if tokio::time::timeout(PAUSE * 10, &mut reader).await.is_err() {
                reader.abort();
            }
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.processes.kill();
        for reader in &self.readers {
            reader.abort();
        }
    }
}

/// Reads the output of a target to its end, and keeps the last lines.
async fn drain(mut from: impl AsyncRead + Unpin, output: Arc<Mutex<Output>>, secrets: Arc<[String]>) {
    let mut buffer = vec![0; 8 << 10];
    let mut line: Vec<u8> = Vec::new();
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        for part in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES.saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                keep(&output, &line, &secrets);
                line.clear();
            }
        }
    }
    if !line.is_empty() {
        keep(&output, &line, &secrets);
    }
}

fn keep(output: &Mutex<Output>, line: &[u8], secrets: &[String]) {
    let mut text = String::from_utf8_lossy(line).trim_end().to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "<redacted>");
    }
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    if output.wanted.as_ref().is_some_and(|wanted| wanted.is_match(&text)) {
        (output.wanted, output.found) = (None, true);
    }
    if output.lines.len() == LINES {
        output.lines.pop_front();
    }
    output.lines.push_back(text);
}

/// How a target is found to be ready.
enum Readiness<'l> {
    Http(Box<Http>, &'l str),
    Tcp(Vec<String>),
    Line,
    Delay(Duration),
    Never(String),
}

impl<'l> Readiness<'l> {
    fn new(ready: &'l Ready, target: &Target) -> Self {
        match ready {
            Ready::Http(path) => match target.url.as_ref().map(|url| Http::new(url, target)) {
                Some(Ok(http)) => Self::Http(Box::new(http), path),
                Some(Err(error)) => Self::Never(error.to_string()),
                None => Self::Never("`ready: { http: ... }` needs a `url`".to_owned()),
            },
            Ready::Tcp(address) => Self::Tcp(vec![address.clone()]),
            Ready::Line(_) => Self::Line,
            Ready::Delay(delay) => Self::Delay(*delay),
            Ready::Addresses => {
                let urls = [&target.url, &target.ws].into_iter().flatten();
                let mut addresses: Vec<String> = urls
                    .filter_map(|url| Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?)))
                    .collect();
                addresses.extend(target.tcp.iter().map(|tcp| format!("{}:{}", tcp.host, tcp.port)));
                addresses.dedup();
                Self::Tcp(addresses)
            }
        }
    }

    /// Whether the target is ready; the text describes what is missing, if known.
    async fn check(&self, launched: &Launched, begun: Instant, deadline: Instant) -> Result<(), String> {
        let left = deadline.saturating_duration_since(Instant::now()).clamp(PAUSE, TRY);
        match self {
            Self::Never(why) => Err(why.clone()),
            Self::Delay(delay) if begun.elapsed() >= *delay => Ok(()),
            Self::Delay(_) => Err(String::new()),
            Self::Line => {
                let found = launched.output.lock().unwrap_or_else(PoisonError::into_inner).found;
                if found { Ok(()) } else { Err("no line of its output matched the pattern".to_owned()) }
            }
            Self::Tcp(addresses) => {
                for address in addresses {
                    match tokio::time::timeout(left, tokio::net::TcpStream::connect(address.as_str())).await {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return Err(format!("cannot connect to {address}: {error}")),
                        Err(_) => return Err(format!("cannot connect to {address}")),
                    }
                }
                Ok(())
            }
            Self::Http(http, path) => {
                let request = Encoded {
                    transport: Transport::Http,
                    base: None,
                    action: ChannelAction::Message,
                    operation: "ready".to_owned(),
                    method: "GET".to_owned(),
                    path: (*path).to_owned(),
                    headers: Vec::new(),
                    body: Vec::new(),
                    params: Vec::new(),
                    payload: None,
                    spelling: None,
                };
                let limits = Limits { request: left, body: 64 << 10, ..Limits::default() };
                let (sent, received) = http.carry("a", request, &limits).await;
                match (received.status, received.ended) {
                    (Some(status), _) if status < 500 => Ok(()),
                    (Some(status), _) => Err(format!("{} answered {status}", sent.url)),
                    (None, Ended::TimedOut) => Err(format!("{} did not answer", sent.url)),
                    (None, Ended::Closed(why) | Ended::Unreachable(why)) => Err(format!("{}: {why}", sent.url)),
                    (None, _) => Err(format!("{} did not answer", sent.url)),
                }
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::{Path, PathBuf};

    use rustix::process::Pid;

    use super::*;
    use crate::exchange::TargetClass;
    use crate::target::Variable;

    fn launch(folder: &Path, script: &str, ready: Ready) -> Launch {
        Launch {
            command: vec!["sh".into(), "-c".into(), script.into()],
            directory: folder.to_owned(),
            environment: Vec::new(),
            ready,
            ready_within: Duration::from_secs(20),
            stop_within: Duration::from_secs(5),
        }
    }

    fn line(pattern: &str) -> Ready {
        Ready::Line(regex::Regex::new(pattern).unwrap())
    }

    async fn start(launch: &Launch) -> Result<Launched, LaunchError> {
        Launched::start(launch, &Target::new(TargetClass::Endpoint, "t"), &BTreeMap::new()).await
    }

    /// The number that a script wrote into a file.
    fn process(folder: &Path, name: &str) -> Pid {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    fn lives(process: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    #[tokio::test]
    async fn a_target_ends_with_everything_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        // One child in the group that ignores SIGTERM, and one that left the group and the session.
        let script = "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 1; done' &\n\
                      setsid sh -c 'echo $$ > gone; exec sleep 1000' &\n\
                      echo $$ > own; while [ ! -s stubborn ] || [ ! -s gone ]; do sleep 0.02; done; echo ready; wait";
        let launch =
            Launch { stop_within: Duration::from_millis(300), ..launch(folder.path(), script, line("^ready$")) };
        let launched = start(&launch).await.unwrap();
        let all = ["own", "stubborn", "gone"].map(|name| process(folder.path(), name));
        assert!(all.into_iter().all(lives), "{all:?}");
        launched.stop().await;
        // On a busy machine a killed process stays for a moment.
        for _ in 0..200 {
            if !all.into_iter().any(lives) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{all:?} still live");
    }

    #[tokio::test]
    async fn a_target_that_is_dropped_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $$ > own; sleep 1000 & echo $! > child; echo ready; wait";
        let launched = start(&launch(folder.path(), script, line("ready"))).await.unwrap();
        let all = ["own", "child"].map(|name| process(folder.path(), name));
        drop(launched);
        assert!(!all.into_iter().any(lives), "{all:?}");
    }

    #[tokio::test]
    async fn an_early_exit_is_reported_with_the_last_output() {
        let folder = tempfile::tempdir().unwrap();
        let script = "i=0; while [ $i -lt 50 ]; do echo line $i $TOKEN; i=$((i+1)); done; echo last >&2; exit 7";
        let mut launch = launch(folder.path(), script, line("never"));
        launch.environment = vec![("TOKEN".into(), Variable::Secret("s3cret".into()))];
        let begun = Instant::now();
        let error = start(&launch).await.err().unwrap();
        assert_eq!(error.what, "the target ended before it was ready: exit status 7");
        assert!(error.output.iter().any(|line| line == "last"), "{:?}", error.output);
        assert!(error.output.iter().any(|line| line == "line 49 <redacted>"), "{:?}", error.output);
        assert_eq!(error.output.len(), LINES);
        assert!(begun.elapsed() < launch.ready_within, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_target_that_never_becomes_ready_is_ended_at_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        for (ready, because) in [
            (line("never"), "no line of its output matched the pattern"),
            (Ready::Tcp(format!("127.0.0.1:{}", free_port().unwrap())), "cannot connect to 127.0.0.1:"),
        ] {
            let script = "echo $$ > own; exec sleep 1000";
            let launch = Launch { ready_within: Duration::from_millis(300), ..launch(folder.path(), script, ready) };
            let begun = Instant::now();
            let error = start(&launch).await.err().unwrap();
            assert!(error.what.starts_with("the target was not ready within 300ms: "), "{}", error.what);
            assert!(error.what.contains(because), "{}", error.what);
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
            assert!(!lives(process(folder.path(), "own")));
        }
    }

    #[tokio::test]
    async fn a_failed_start_is_reported_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let mut missing = launch(folder.path(), "", Ready::Addresses);
        missing.command = vec!["no-such-program-anywhere".into()];
        let error = start(&missing).await.err().unwrap();
        assert_eq!(error.what, "cannot start the target: command not found: `no-such-program-anywhere`");
        std::fs::write(folder.path().join("plain"), "").unwrap();
        missing.command = vec!["./plain".into()];
        assert!(start(&missing).await.err().unwrap().what.contains("`./plain`: Permission denied"));
        missing.directory = PathBuf::from("/nowhere/at/all");
        assert!(start(&missing).await.err().unwrap().what.contains("missing directory `/nowhere/at/all`"));
    }

    #[tokio::test]
    async fn output_without_end_is_read_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let script = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2; echo; \
                      echo done; exec sleep 1000";
        let launched = start(&launch(folder.path(), script, line("^done$"))).await.unwrap();
        let output = launched.output();
        assert!(output.len() <= LINES && output.iter().all(|line| line.len() <= LINE_BYTES), "{output:?}");
        launched.stop().await;
    }

    #[tokio::test]
    async fn an_end_during_a_run_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let launched = start(&launch(folder.path(), "echo ready; sleep 0.3; kill -9 $$", line("ready"))).await.unwrap();
        assert_eq!(launched.ended(), None);
        let how = tokio::time::timeout(Duration::from_secs(10), launched.watch()).await.unwrap();
        assert_eq!(how, "signal 9");
        assert_eq!(launched.ended().as_deref(), Some("signal 9"));
        launched.stop().await;
    }

    #[tokio::test]
    async fn a_delay_and_a_port_make_a_target_ready() {
        let folder = tempfile::tempdir().unwrap();
        let ready = Ready::Delay(Duration::from_millis(200));
        let begun = Instant::now();
        start(&launch(folder.path(), "exec sleep 1000", ready)).await.unwrap().stop().await;
        assert!(begun.elapsed() >= Duration::from_millis(200));
        let port = free_port().unwrap();
        let script = format!(
            "exec python3 -c 'import socket, time; time.sleep(0.2); s = socket.create_server((\"127.0.0.1\", {port})); \
             time.sleep(1000)'"
        );
        let ready = Ready::Tcp(format!("127.0.0.1:{port}"));
        start(&launch(folder.path(), &script, ready)).await.unwrap().stop().await;
    }
}
