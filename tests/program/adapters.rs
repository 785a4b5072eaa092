//! Adapters that misbehave: each is detected, with a message about the violation, and no run waits forever.
//!
//! The adapters are this very program: `--be KIND` makes it one. Behind each is the library of the reference
//! implementation, so that only its handling of the adapter protocol is wrong.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

/// An adapter, the rule that it breaks, and the result of a check of its library.
struct Kind {
    name: &'static str,
    /// The rule that the check must report; empty for an adapter that follows all rules.
    breaks: &'static str,
    /// Text that the output must contain.
    says: &'static str,
    /// The correct exit codes of `check --adapter`; never 0 for a library that cannot be trusted.
    exit: &'static [i32],
    /// Text that the output of `check --adapter` must contain.
    check_says: &'static str,
}

const KINDS: &[Kind] = &[
    Kind { name: "good", breaks: "", says: "17 of 17 rules followed", exit: &[0], check_says: "conformant" },
    Kind {
        name: "crash",
        breaks: "keeps-order",
        says: "the adapter exited (exit status: 3)",
        exit: &[3],
        check_says: "the adapter ended",
    },
    Kind {
        name: "crash-at-once",
        breaks: "describes-itself",
        says: "the adapter exited",
        exit: &[3],
        check_says: "the adapter",
    },
    Kind {
        name: "hang",
        breaks: "describes-itself",
        says: "no answer within",
        exit: &[3],
        check_says: "did not answer within",
    },
    Kind {
        name: "garbage",
        breaks: "answers-in-form",
        says: "a line that is not JSON",
        exit: &[3],
        check_says: "not JSON",
    },
    Kind { name: "out-of-order", breaks: "keeps-order", says: "answer 1 of 64 is", exit: &[0, 3], check_says: "" },
    Kind {
        name: "flood",
        breaks: "silent-before-first-request",
        says: "before the first request the adapter writes",
        exit: &[3],
        check_says: "only lines that do not answer",
    },
    Kind {
        name: "banner",
        breaks: "silent-before-first-request",
        says: "before the first request the adapter writes `starting up`",
        exit: &[3],
        check_says: "not JSON",
    },
    Kind {
        name: "pretty",
        breaks: "answers-in-form",
        says: "a line that is not JSON",
        exit: &[3],
        check_says: "not JSON",
    },
    Kind { name: "wrong-id", breaks: "returns-ids-unchanged", says: "the id", exit: &[3], check_says: "" },
    Kind { name: "text-id", breaks: "returns-ids-unchanged", says: "is answered with", exit: &[3], check_says: "" },
    Kind {
        name: "both",
        breaks: "answers-in-form",
        says: "exactly one of `result` and `error`",
        exit: &[0, 1, 3],
        check_says: "",
    },
    Kind { name: "twice", breaks: "keeps-order", says: "answer 2 of 64", exit: &[0, 1, 3], check_says: "" },
    Kind {
        name: "crashes-on-junk",
        breaks: "survives-invalid-json",
        says: "the adapter exited",
        exit: &[0],
        check_says: "",
    },
    Kind { name: "all-unsupported", breaks: "offers-described-operations", says: "-32601", exit: &[3], check_says: "" },
    Kind {
        name: "overclaims",
        breaks: "offers-described-operations",
        says: "`describe` lists",
        exit: &[0, 1, 3],
        check_says: "",
    },
    Kind {
        name: "answers-notifications",
        breaks: "is-silent-on-notifications",
        says: "the notification",
        exit: &[0],
        check_says: "",
    },
    Kind {
        name: "stays",
        breaks: "exits-at-end-of-input",
        says: "the adapter is still running",
        exit: &[0],
        check_says: "",
    },
    Kind {
        name: "ends-badly",
        breaks: "exits-at-end-of-input",
        says: "the adapter exits with exit status: 4",
        exit: &[0],
        check_says: "",
    },
    Kind {
        name: "small-buffer",
        breaks: "accepts-large-requests",
        says: "`jsonrpc`",
        exit: &[0, 1, 3],
        check_says: "",
    },
    // It follows every rule; its library has only the answers of the published vectors.
    Kind { name: "hard-coded", breaks: "", says: "rules followed", exit: &[1], check_says: "VIOLATED" },
];

pub(crate) fn trials() -> Vec<Trial> {
    let rules = KINDS.iter().map(|kind| Trial::test(format!("adapters::rules::{}", kind.name), move || rules_of(kind)));
    let checks = KINDS.iter().map(|kind| Trial::test(format!("adapters::check::{}", kind.name), move || judged(kind)));
    rules.chain(checks).collect()
}

fn command(kind: &Kind) -> Result<String, Failed> {
    let program = std::env::current_exe()?;
    Ok(format!("'{}' --be {}", program.display(), kind.name))
}

/// Runs the program and returns its exit code and what it printed, within a minute.
fn proofmark(words: &[&str]) -> Result<(i32, String), Failed> {
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_proofmark")).args(words).stdin(Stdio::null()).output()?;
    if begun.elapsed() > Duration::from_secs(90) {
        return Err(format!("it took {:?}", begun.elapsed()).into());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.code().unwrap_or(-1), text))
}

/// The limit for one answer. An adapter that follows every rule gets the time that a busy machine takes; one that hangs is
/// waited for in vain, so its limit is short.
fn limit(kind: &Kind) -> &'static str {
    if kind.breaks.is_empty() { "20s" } else { "1500ms" }
}

fn rules_of(kind: &Kind) -> Result<(), Failed> {
    let (code, text) = proofmark(&["adapter", "check", &command(kind)?, "--timeout", limit(kind)])?;
    // The terminal breaks lines, so white space is ignored.
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = i32::from(!kind.breaks.is_empty());
    let broken = format!("broken {}", kind.breaks);
    if code != expected || !flat.contains(kind.says) || (expected == 1 && !flat.contains(&broken)) {
        return Err(format!("exit {code}, expected {expected} and {:?}, {:?}\n{text}", broken, kind.says).into());
    }
    Ok(())
}

fn judged(kind: &Kind) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().display().to_string();
    let only = ["agentic/hashing#*", "agentic/library#*", "agentic/vectors/*", "agentic/deposit#*"];
    let command = command(kind)?;
    let mut words =
        vec!["check", "--adapter", &command, "--protocol", "agentic", "--timeout", limit(kind), "--out", &out];
    for pattern in only {
        words.extend(["--only", pattern]);
    }
    let (code, text) = proofmark(&words)?;
    if !kind.exit.contains(&code) || !text.contains(kind.check_says) {
        return Err(format!("exit {code}, expected {:?} and {:?}\n{text}", kind.exit, kind.check_says).into());
    }
    Ok(())
}

/// The library of the reference implementation, one line in, one line out.
struct Good {
    input: std::process::ChildStdin,
    output: BufReader<std::process::ChildStdout>,
    _child: std::process::Child,
}

impl Good {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .arg("adapter")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reference adapter");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { input, output, _child: child }
    }

    fn request(&mut self, line: &str) -> String {
        self.input.write_all(line.as_bytes()).expect("it reads");
        self.input.flush().expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        answer
    }
}

fn id_of(line: &str) -> Option<Value> {
    serde_json::from_str::<Value>(line).ok().and_then(|request| request.get("id").cloned())
}

fn write_out(text: &str) {
    let mut out = std::io::stdout().lock();
    // The other side stopped reading: the run is over.
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Behaves as the adapter of this name until its input ends.
pub(crate) fn be(kind: &str) {
    match kind {
        "crash-at-once" => std::process::exit(3),
        "banner" => write_out("starting up\n"),
        "flood" => loop {
            write_out(&"{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{}}\n".repeat(100));
        },
        _ => {}
    }
    let mut good = Good::start();
    let mut input = BufReader::new(std::io::stdin());
    let mut count = 0;
    let mut held: Option<String> = None;
    loop {
        let mut line = String::new();
        if !matches!(input.read_line(&mut line), Ok(length) if length > 0) {
            break;
        }
        count += 1;
        let id = id_of(&line);
        let request: Value = serde_json::from_str(&line).unwrap_or_default();
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        let notification = id.is_none() && !method.is_empty();
        let error = |code: i64| {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}).to_string() + "\n"
        };
        match kind {
            "crash" if count == 20 => std::process::exit(3),
            "hang" => continue,
            "garbage" => write_out("\u{1}\u{2} garbage \u{7f}\n"),
            "crashes-on-junk" if request.is_null() && line.trim() != "null" => std::process::exit(5),
            "all-unsupported" if method != "describe" && id.is_some() => write_out(&error(-32601)),
            "overclaims" if method == "agentic/pull_relevant" => write_out(&error(-32601)),
            "small-buffer" if line.len() > 100_000 => write_out("{\"id\":null,\"error\":\"line too long\"}\n"),
            "answers-notifications" if notification => {
                write_out("{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\n");
            }
            "hard-coded" if request["params"]["json_hex"].is_string() && method.starts_with("agentic/c") => {
                write_out(&hard_coded(&request, &error(-32009)));
            }
            // A notification, or an object that may be one, has no answer to wait for.
            _ if notification || (id.is_none() && request.is_object()) => {}
            _ => {
                let answer = good.request(&line);
                match kind {
                    "out-of-order" => match held.take() {
                        // Waits a little for a second request, and answers that first.
                        None if input.buffer().contains(&b'\n') => held = Some(answer),
                        None => write_out(&answer),
                        Some(earlier) => {
                            write_out(&answer);
                            write_out(&earlier);
                        }
                    },
                    "pretty" => {
                        let value: Value = serde_json::from_str(&answer).unwrap_or_default();
                        write_out(&(serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"));
                    }
                    "wrong-id" => write_out(&answer.replacen("\"id\":", "\"id\":1", 1)),
                    "text-id" => {
                        let mut value: Value = serde_json::from_str(&answer).unwrap_or_default();
                        value["id"] = json!(value["id"].to_string());
                        write_out(&(value.to_string() + "\n"));
                    }
                    "both" => {
                        let mut value: Value = serde_json::from_str(&answer).unwrap_or_default();
                        let other = if value.get("result").is_some() { "error" } else { "result" };
                        value[other] = json!({"code": 0, "message": "no error"});
                        write_out(&(value.to_string() + "\n"));
                    }
                    "twice" => write_out(&answer.repeat(2)),
                    _ => write_out(&answer),
                }
            }
        }
    }
    match kind {
        "stays" => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        "ends-badly" => std::process::exit(4),
        _ => {}
    }
}

/// The answers for the inputs of the published vectors, and one default answer for all others.
fn hard_coded(request: &Value, refusal: &str) -> String {
    let hex = request["params"]["json_hex"].as_str().unwrap_or_default();
    let id = &request["id"];
    let known = |file: &str| -> Value {
        let text = std::fs::read_to_string(format!("{}/vectors/agentic/{file}", env!("CARGO_MANIFEST_DIR")))
            .unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    let encode = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut result = json!({"canonical_hex": encode("{}"), "hash": "0".repeat(64)});
    for file in ["canonical-json.json", "content-hash.json"] {
        let vectors = known(file);
        for test in vectors["groups"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|group| group["tests"].as_array().into_iter().flatten())
        {
            if test["input"].as_str().is_some_and(|input| encode(input) == hex) {
                result = json!({
                    "canonical_hex": encode(test["canonical"].as_str().unwrap_or_default()),
                    "hash": test["sha256"].as_str().unwrap_or_default(),
                });
            }
        }
    }
    if serde_json::from_str::<Value>(&String::from_utf8_lossy(&unhex(hex))).is_err() {
        return refusal.to_owned();
    }
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string() + "\n"
}

fn unhex(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
