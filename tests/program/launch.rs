//! Targets that `proofmark check` and `proofmark fuzz` start: ready, tested, and gone afterwards, however the run ends.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn trials() -> Vec<libtest_mimic::Trial> {
    crate::trials![
        a_launched_target_is_checked_and_ended_with_its_children,
        a_launched_target_is_fuzzed_and_ended,
        an_early_exit_of_a_target_is_an_error_with_its_output,
        a_target_that_hangs_or_never_listens_is_an_error_at_the_deadline,
        an_invalid_launch_is_a_mistake_in_the_target_file,
        no_process_is_left_however_proofmark_ends,
        a_target_that_is_killed_during_the_run_is_named_as_the_cause,
    ]
}

/// A server with the answers of the reference implementation, behind a program that starts it as a child process
/// and writes the numbers of both processes into files.
const SERVER: &str = r#"
import os, subprocess, sys
with open("own", "w") as file: file.write(str(os.getpid()))
child = subprocess.Popen(sys.argv[1:], start_new_session=True)
with open("child", "w") as file: file.write(str(child.pid))
child.wait()
"#;

/// A Python script that writes its process id to `own` and then runs `body`.
fn python(body: &str) -> String {
    format!("import os, signal, sys, time\nopen('own', 'w').write(str(os.getpid()))\n{body}\n")
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// A target file that launches `script` with what `more` adds.
    fn target(&self, script: &str, more: &str) {
        self.write("server.py", script);
        self.write(
            "target.yaml",
            &format!(
                "url: 'http://127.0.0.1:{{port}}'\nprotocol: agentic\nlaunch:\n  command: [python3, server.py]\n{more}"
            ),
        );
    }

    fn spawn(&self, words: &[&str]) -> Child {
        let file = |name: &str| Stdio::from(std::fs::File::create(self.path(name)).expect("a file"));
        Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(words)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("the program")
    }

    fn run(&self, words: &[&str]) -> (i32, String) {
        let begun = Instant::now();
        let mut child = self.spawn(words);
        loop {
            if let Some(status) = child.try_wait().expect("a child") {
                let text = std::fs::read_to_string(self.path("stderr")).expect("its messages");
                return (status.code().expect("a code"), text);
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{words:?} did not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn process(&self, name: &str) -> u32 {
        let begun = Instant::now();
        loop {
            if let Some(number) = std::fs::read_to_string(self.path(name)).ok().and_then(|text| text.parse().ok()) {
                return number;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no process wrote {name}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn gone(process: u32, within: Duration) -> bool {
    let begun = Instant::now();
    while lives(process) {
        if begun.elapsed() > within {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// The reference implementation as a launched target, two processes deep.
fn reference(place: &Place) {
    let program = env!("CARGO_BIN_EXE_proofmark");
    place.write("server.py", SERVER);
    place.write(
        "target.yaml",
        &format!(
            "protocol: agentic\nurl: 'http://127.0.0.1:{{port}}'\nlaunch:\n  command: [python3, server.py, '{program}', serve, \
             --protocol, agentic, --listen, '127.0.0.1:{{port}}', --db, state.db]\n  ready: {{ http: /v1/conformance }}\n"
        ),
    );
}

fn a_launched_target_is_checked_and_ended_with_its_children() {
    let place = Place::new();
    reference(&place);
    let (code, text) = place.run(&["check", "--target", "target.yaml", "--only", "agentic/deposit#*"]);
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(place.path("reports/local/report.json")).unwrap_or_else(|_| {
            panic!("no record: exit code {code}\n{text}");
        }))
        .expect("JSON");
    let passed = record["summary"]["cases"]["pass"].as_u64().unwrap_or(0);
    assert!(passed > 5 && record["summary"]["cases"]["fail"] == 0, "exit code {code}\n{text}{}", record["summary"]);
    for name in ["own", "child"] {
        assert!(!lives(place.process(name)), "{name} is left behind");
    }
}

fn a_launched_target_is_fuzzed_and_ended() {
    let place = Place::new();
    reference(&place);
    let (code, text) = place.run(&["fuzz", "--target", "target.yaml", "--for", "20s", "--inputs", "20", "--seed", "1"]);
    assert!(code == 0 || code == 1, "{code}\n{text}");
    for name in ["own", "child"] {
        assert!(!lives(place.process(name)), "{name} is left behind");
    }
}

fn an_early_exit_of_a_target_is_an_error_with_its_output() {
    let place = Place::new();
    place.target(&python("print('cannot read the \\x1b[31mdatabase', flush=True)\nsys.exit(4)"), "");
    let (code, text) = place.run(&["check", "--target", "target.yaml"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("the target ended before it was ready: exit status 4"), "{text}");
    assert!(text.contains("cannot read the") && !text.contains('\x1b'), "{text}");
}

fn a_target_that_hangs_or_never_listens_is_an_error_at_the_deadline() {
    let place = Place::new();
    let silent = "import socket\nserver = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\n\
                  signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)";
    for (script, ready, wanted) in [
        ("while True: time.sleep(1)", "within: 4s", "cannot connect to 127.0.0.1:"),
        (silent, "{ http: /health, within: 6s }", "/health did not answer"),
        ("while True: time.sleep(1)", "{ line: 'listening on', within: 4s }", "no line of its output matched"),
    ] {
        let ready = if ready.starts_with('{') { ready.to_owned() } else { format!("{{ {ready} }}") };
        place.target(&python(script), &format!("  ready: {ready}\n  environment: {{ PORT: '{{port}}' }}\n"));
        let begun = Instant::now();
        let (code, text) = place.run(&["check", "--target", "target.yaml"]);
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("the target was not ready within") && text.contains(wanted), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert!(!lives(place.process("own")), "{script}");
    }
}

fn an_invalid_launch_is_a_mistake_in_the_target_file() {
    let place = Place::new();
    place.target("", "  stop: now\n");
    let (code, text) = place.run(&["check", "--target", "target.yaml"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("`launch` has no key `stop`"), "{text}");
    place.write(
        "target.yaml",
        "url: 'http://127.0.0.1:{port}'\nprotocol: agentic\nlaunch: { command: no-such-program }\n",
    );
    let (code, text) = place.run(&["check", "--target", "target.yaml"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("command not found: `no-such-program`"), "{text}");
}

/// A target that is ready but never answers, so that a run waits for it.
fn waiting(place: &Place) {
    let script = "import socket, subprocess\nserver = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\n\
                  child = subprocess.Popen(['sleep', '1000'])\nopen('child', 'w').write(str(child.pid))\n\
                  while True: time.sleep(1)";
    place.target(&python(script), "  environment: { PORT: '{port}' }\n");
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().expect("kill");
    assert!(sent.success());
}

fn no_process_is_left_however_proofmark_ends() {
    for name in ["INT", "TERM", "KILL"] {
        let place = Place::new();
        waiting(&place);
        let mut child = place.spawn(&["check", "--target", "target.yaml"]);
        let processes = [place.process("own"), place.process("child")];
        assert!(processes.into_iter().all(lives), "{processes:?}");
        std::thread::sleep(Duration::from_millis(300));
        signal(child.id(), name);
        let code = child.wait().expect("a child").code();
        if name != "KILL" {
            assert_eq!(code, Some(3), "{name}");
        }
        for process in processes {
            assert!(gone(process, Duration::from_secs(20)), "{name}: a process is left behind");
        }
    }
}

fn a_target_that_is_killed_during_the_run_is_named_as_the_cause() {
    let place = Place::new();
    waiting(&place);
    let mut child = place.spawn(&["check", "--target", "target.yaml"]);
    let (own, grandchild) = (place.process("own"), place.process("child"));
    std::thread::sleep(Duration::from_millis(500));
    signal(own, "KILL");
    assert_eq!(child.wait().expect("a child").code(), Some(3));
    let text = std::fs::read_to_string(place.path("stderr")).expect("its messages");
    let shown = std::fs::read_to_string(place.path("stdout")).expect("its summary");
    assert!(text.contains("the target exited during the run: signal 9"), "{text}\n{shown}");
    assert!(shown.contains("the target exited during the run: signal 9"), "{text}\n{shown}");
    assert!(gone(grandchild, Duration::from_secs(5)), "the child of the target is left behind");
    assert!(Path::new(&place.path("reports/local/report.json")).exists());
}
