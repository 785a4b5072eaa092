//! proofmark beside other programs that do the same work against the same server, which counts the requests of each:
//! declared cases beside hurl, and generated messages beside schemathesis.
//!
//! `README.md` says how to install them. One that is not installed is not compared, and said to be missing.

#![expect(clippy::print_stdout, reason = "the ratio is the result")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use proofmark_benches::{
    CASES, Cost, Measured, Ratios, Relay, Server, Work, find, measure, side_by_side, write_suites,
};
use url::Url;

/// Rounds of the comparison of declared cases.
const ROUNDS: usize = 7;

/// The cases whose memory is measured.
const MANY: usize = 10_000;

/// Messages that are generated.
const MESSAGES: usize = 1_000;

fn main() {
    let folder = std::env::temp_dir().join(format!("proofmark-benches-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder can be written");
    let proofmark = proofmark();
    println!("{}", version(&proofmark, "--version"));
    many(&proofmark, &folder);
    match find("hurl") {
        Some(hurl) => declared(&proofmark, &hurl, &folder),
        None => println!("hurl is NOT COMPARED: cargo install --locked hurl --version 8.0.1"),
    }
    match find("schemathesis") {
        Some(schemathesis) => generated(&proofmark, &schemathesis, &folder),
        None => println!("schemathesis is NOT COMPARED: pip install schemathesis"),
    }
    let _ = fs::remove_dir_all(&folder);
}

/// The optimised build beside this one.
fn proofmark() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let built = own.ancestors().nth(2).map(|folder| folder.join("proofmark")).filter(|file| file.is_file());
    built.expect("proofmark is built: cargo build --release")
}

fn version(program: &Path, option: &str) -> String {
    let measured = measure(Command::new(program).arg(option));
    String::from_utf8_lossy(&measured.output.stdout).lines().next().unwrap_or_default().to_owned()
}

/// proofmark with the cases of a folder, and all reports.
fn checking<'c>(proofmark: &'c Path, suites: &'c Path, folder: &'c Path) -> Program<'c> {
    Program::new("proofmark, all reports", 0, move |url| {
        let mut command = Command::new(proofmark);
        command.args(["check", url.as_str(), "--protocol", "agentic", "--quiet", "--suites"]).arg(suites);
        command.arg("--out").arg(folder.join("reports"));
        command
    })
}

/// The memory that ten thousand cases take, with all reports.
fn many(proofmark: &Path, folder: &Path) {
    let suites = folder.join("many");
    write_suites(Work::Read, MANY, &suites).expect("suites can be written");
    let program = checking(proofmark, &suites, folder);
    let cost = program.run();
    let memory = program.memory.load(Ordering::Relaxed) >> 10;
    println!("{MANY} declared cases: {:.2} s, {memory} MiB at most", cost.wall.as_secs_f64());
}

/// Declared cases, each with one request and three assertions.
fn declared(proofmark: &Path, hurl: &Path, folder: &Path) {
    println!("{}", version(hurl, "--version"));
    println!("{CASES} declared cases (less is better)");
    let suites = folder.join("suites");
    write_suites(Work::Read, CASES, &suites).expect("suites can be written");
    let ours = checking(proofmark, &suites, folder);
    for (name, files, reports) in [
        ("hurl, one file, no report", 1, false),
        ("hurl, a file for each case, no report", CASES, false),
        ("hurl, a file for each case, its reports", CASES, true),
    ] {
        let theirs = Program::new(name, 0, |url| {
            let cases = folder.join("hurl");
            let _ = fs::remove_dir_all(&cases);
            fs::create_dir_all(&cases).expect("a folder can be made");
            for (number, text) in hurl_files(url, files).iter().enumerate() {
                fs::write(cases.join(format!("{number}.hurl")), text).expect("a file can be written");
            }
            let mut command = Command::new(hurl);
            command.arg("--test").arg(&cases);
            if reports {
                for report in ["html", "json", "junit"] {
                    let to = folder.join(format!("hurl-{report}"));
                    let _ = fs::remove_dir_all(&to).or_else(|_| fs::remove_file(&to));
                    command.arg(format!("--report-{report}")).arg(to);
                }
            }
            command
        });
        compare(ROUNDS, &ours, &theirs);
    }
}

/// The same cases for hurl, in a number of files.
fn hurl_files(url: &Url, files: usize) -> Vec<String> {
    let case = format!(
        "GET {url}v1/conformance
HTTP 200
[Asserts]
jsonpath \"$.protocol_version\" == \"0.1\"
jsonpath \"$.conformance_level\" matches /^L[0-3]$/

"
    );
    vec![case.repeat(CASES / files); files]
}

/// Generated messages for the operations that store something.
fn generated(proofmark: &Path, schemathesis: &Path, folder: &Path) {
    println!("{}", version(schemathesis, "--version"));
    println!("{MESSAGES} generated messages (less is better; for each request, below)");
    let ours = Program::new("proofmark fuzz", 0, |url| {
        let mut command = Command::new(proofmark);
        command.args(["fuzz", url.as_str(), "--protocol", "agentic", "--quiet", "--seed", "1", "--inputs"]);
        command.arg(MESSAGES.to_string()).arg("--out").arg(folder.join("fuzz"));
        command
    });
    let schema = folder.join("openapi.json");
    fs::write(&schema, OPENAPI).expect("a file can be written");
    let theirs = Program::new("schemathesis, fuzzing only", 1, |url| {
        let mut command = Command::new(schemathesis);
        command.args(["run", "--phases", "fuzzing", "--workers", "2", "--seed", "1", "--continue-on-failure"]);
        command.args(["--checks", "not_a_server_error,negative_data_rejection", "--max-examples"]);
        command.arg((MESSAGES / 2).to_string()).arg("--url").arg(url.as_str().trim_end_matches('/')).arg(&schema);
        command.current_dir(folder);
        command
    });
    // A round of it takes a minute.
    compare(1, &ours, &theirs);
}

/// A program, with the server that it is put to.
struct Program<'c> {
    name: &'static str,
    /// The largest exit code with which its work counts as done: 1 is that of findings.
    done: i32,
    command: Box<dyn Fn(&Url) -> Command + 'c>,
    requests: AtomicUsize,
    /// The largest of its runs, in KiB.
    memory: AtomicU64,
}

impl<'c> Program<'c> {
    fn new(name: &'static str, done: i32, command: impl Fn(&Url) -> Command + 'c) -> Self {
        Self { name, done, command: Box::new(command), requests: AtomicUsize::new(0), memory: AtomicU64::new(0) }
    }

    /// Runs it at a server of its own: what one run stored must not be there in the next.
    fn run(&self) -> Cost {
        let server = Server::start();
        let relay = Relay::start(&server.url);
        let Measured { cost, memory, output } = measure(&mut (self.command)(&relay.url));
        let code = output.status.code().unwrap_or(-1);
        assert!(
            (0..=self.done).contains(&code),
            "{} ended with {code}:\n{}{}",
            self.name,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        self.requests.store(relay.requests(), Ordering::Relaxed);
        self.memory.fetch_max(memory, Ordering::Relaxed);
        cost
    }
}

fn compare(rounds: usize, ours: &Program<'_>, theirs: &Program<'_>) {
    let ratio = side_by_side(rounds, || ours.run(), || theirs.run());
    println!("  {} to {}: {ratio}", ours.name, theirs.name);
    let Ratios { wall, processor } = ratio;
    for (program, wall, processor) in [(ours, wall.first, processor.first), (theirs, wall.second, processor.second)] {
        let requests = program.requests.load(Ordering::Relaxed);
        let mut line = format!(
            "    {:<40} {:>6.2} s, {:>6.2} s of processor time",
            program.name,
            wall.as_secs_f64(),
            processor.as_secs_f64()
        );
        let memory = program.memory.load(Ordering::Relaxed) >> 10;
        let _ = write!(line, ", {memory} MiB, {requests} requests, {:.0}/s", requests as f64 / wall.as_secs_f64());
        println!("{line}");
    }
}

/// The two operations that take the largest messages, for schemathesis.
const OPENAPI: &str = include_str!("openapi.json");
