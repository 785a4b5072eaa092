//! The book in `docs/`: its reference pages are current, its links lead somewhere, and every command in it does what it says.
//! Also the adapters that `proofmark new adapter` writes, and the example calls on the pages for their authors.
//!
//! `BLESS=1 cargo test --test book` rewrites the reference pages.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");
const PROTOCOLS: &[&str] = &["agentic", "amp-core", "agentic-mesh", "meshai", "task-amp"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs proofmark in a folder.
fn proofmark(folder: &Path, words: &[&str]) -> Output {
    Command::new(PROOFMARK).current_dir(folder).args(words).env("NO_COLOR", "1").output().expect("proofmark runs")
}

fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The Markdown files of the book, by their path below `docs/src`.
fn pages() -> BTreeMap<PathBuf, String> {
    let src = root().join("docs/src");
    let mut folders = vec![src.clone()];
    let mut pages = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("a folder of the book").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(path.strip_prefix(&src).expect("below docs/src").to_owned(), read(&path));
            }
        }
    }
    pages
}

#[test]
fn the_reference_pages_are_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let committed = root().join("docs/src/reference");
    let out = if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        committed.clone()
    } else {
        folder.path().to_owned()
    };
    let output = proofmark(root(), &["reference-pages", "--out", &out.display().to_string()]);
    assert!(output.status.success(), "{}", shown(&output));
    let names = |folder: &Path| -> BTreeSet<_> {
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name()).collect()
    };
    assert_eq!(names(&committed), names(&out), "a page was added or removed: BLESS=1 cargo test --test book");
    for name in names(&out) {
        let same = read(&committed.join(&name)) == read(&out.join(&name));
        assert!(same, "docs/src/reference/{} is out of date: BLESS=1 cargo test --test book", name.to_string_lossy());
    }
}

/// The anchors of the headings of a page, as mdBook and GitHub make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut code = false;
    for line in page.lines() {
        code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect());
    }
    anchors
}

/// A page without its blocks and spans of code.
fn prose(page: &str) -> String {
    let mut text = String::new();
    let mut code = false;
    for line in page.lines() {
        let fence = line.starts_with("```");
        code ^= fence;
        if !code && !fence {
            text.extend(line.split('`').step_by(2));
            text.push('\n');
        }
    }
    text
}

#[test]
fn links_in_the_book_lead_to_pages_and_headings() {
    let pages = pages();
    let src = root().join("docs/src");
    for (name, page) in &pages {
        // A link whose text is code keeps its parentheses.
        for link in prose(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { src.join(name) } else { src.join(name).parent().expect("a folder").join(path) };
            assert!(target.exists(), "{} links to {link}, which does not exist", name.display());
            assert!(
                anchor.is_empty() || anchors(&read(&target)).contains(anchor),
                "{} links to {link}, which has no such heading",
                name.display()
            );
        }
    }
}

#[test]
fn the_summary_lists_every_page_once() {
    let pages = pages();
    let summary = &pages[Path::new("SUMMARY.md")];
    let links: Vec<_> =
        summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(PathBuf::from).collect();
    let listed: BTreeSet<_> = links.iter().cloned().collect();
    assert_eq!(links.len(), listed.len(), "a page is listed twice");
    let written: BTreeSet<_> = pages.keys().filter(|name| name.as_os_str() != "SUMMARY.md").cloned().collect();
    assert_eq!(listed, written);
}

/// A line without values that differ between runs: numbers and hashes.
fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    for word in line.trim().split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        let hash = bare.len() > 6 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        if number || hash {
            text.push('#');
        } else {
            text.push_str(bare);
        }
        text.push_str(&word[bare.len()..]);
    }
    text
}

/// What a chapter does, in its order.
enum Act {
    /// Writes a file: a block of code below a line that is only its name, as `NAME`:
    File { name: String, text: String },
    /// Runs a command of a `console` block, and expects these lines in its output; a line `…` stands for others. The exit code
    /// is 0, unless a line says `(exit CODE)`.
    Run { command: String, expected: Vec<String> },
}

fn acts(page: &str) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut above = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            if !line.trim().is_empty() {
                above = line;
            }
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        assert_ne!(language, "sh", "a command is written in a `console` block, with `$ ` before it");
        if language == "console" {
            for line in &block {
                match line.strip_prefix("$ ") {
                    Some(command) => acts.push(Act::Run { command: command.to_owned(), expected: Vec::new() }),
                    None => match acts.last_mut() {
                        Some(Act::Run { command, expected }) => match command.strip_suffix('\\') {
                            Some(begun) => *command = format!("{begun}{}", line.trim_start()),
                            None => expected.push((*line).to_owned()),
                        },
                        _ => panic!("`{line}` belongs to no command"),
                    },
                }
            }
        } else if let Some(name) = above.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")) {
            acts.push(Act::File { name: name.to_owned(), text: block.join("\n") + "\n" });
        }
        above = "";
    }
    acts
}

/// Servers that a chapter starts, which end with it.
#[derive(Default)]
struct Servers(Vec<Child>);

impl Servers {
    /// Starts `proofmark serve` at a free port, and returns its address.
    fn start(&mut self, command: &str, folder: &Path) -> String {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let mut child = Command::new(PROOFMARK)
            .args(words)
            .args(["--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("proofmark serve");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        self.0.push(child);
        let address = line.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        address.unwrap_or_else(|| panic!("`{command}` printed {line:?}")).trim_end_matches(['/', ',']).to_owned()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn run_chapter(name: &Path, page: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = Path::new(PROOFMARK).parent().expect("a folder").display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut servers = Servers::default();
    let mut address = "127.0.0.1:8787".to_owned();
    for act in acts(page) {
        match act {
            Act::File { name, text } => {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text.replace("127.0.0.1:8787", &address)).expect("a file");
            }
            Act::Run { command, .. } if command.starts_with("proofmark serve") => {
                address = servers.start(&command, folder.path());
            }
            Act::Run { command, expected } => {
                let output = Command::new("sh")
                    .args(["-c", &command.replace("127.0.0.1:8787", &address)])
                    .current_dir(&folder)
                    .env("PATH", &path)
                    .env("NO_COLOR", "1")
                    .env("COLUMNS", "100")
                    .stdin(Stdio::null())
                    .output()
                    .expect("sh runs");
                let printed = shown(&output);
                let place = format!("{}: $ {command}\n{printed}", name.display());
                let code =
                    expected.iter().find_map(|line| line.split("(exit ").nth(1)?.split(')').next()?.parse().ok());
                assert_eq!(output.status.code(), Some(code.unwrap_or(0)), "{place}");
                let lines: Vec<String> = printed.lines().map(without_numbers).collect();
                let is_text = |line: &str| !line.is_empty() && line != "…" && !line.starts_with("(exit ");
                for line in expected.iter().filter(|line| is_text(line.trim())) {
                    assert!(lines.contains(&without_numbers(line)), "no line `{line}`\n{place}");
                }
            }
        }
    }
}

#[test]
fn every_command_in_the_book_does_what_it_says() {
    let chapters: Vec<_> = pages().into_iter().filter(|(name, _)| !name.starts_with("reference")).collect();
    let commands =
        chapters.iter().flat_map(|(_, page)| acts(page)).filter(|act| matches!(act, Act::Run { .. })).count();
    assert!(commands >= 10, "{commands} commands");
    std::thread::scope(|scope| {
        for (name, page) in &chapters {
            scope.spawn(move || run_chapter(name, page));
        }
    });
}

/// A program that answers JSON-RPC.
struct Adapter {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Adapter {
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, output }
    }

    fn ask(&mut self, request: &Value) -> Value {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{request}").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_reference_answers_every_example_call_as_the_page_says() {
    for protocol in PROTOCOLS {
        let output = proofmark(root(), &["adapter", "methods", "--protocol", protocol, "--format", "json"]);
        assert!(output.status.success(), "{}", shown(&output));
        let page: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let varies: BTreeSet<_> = page[0]["methods"]
            .as_array()
            .expect("methods")
            .iter()
            .filter(|method| method["varies"] == true)
            .filter_map(|method| method["method"].as_str())
            .collect();
        let mut adapter = Adapter::start(&[PROOFMARK, "adapter", "--protocol", protocol]);
        let mut compared = 0;
        for call in page[0]["conversation"].as_array().expect("a conversation") {
            let answer = adapter.ask(&call["request"]);
            let method = call["request"]["method"].as_str().expect("a method");
            if varies.contains(method) {
                // The types are compared elsewhere; here, only that it is a result.
                assert!(answer["result"].is_object(), "{}\n{answer}", call["request"]);
            } else {
                assert_eq!(answer, call["answer"], "{}", call["request"]);
                compared += 1;
            }
        }
        assert!(compared >= 8, "{protocol}: {compared} answers compared");
    }
}

/// Writes an adapter in a language, and returns its folder.
fn new_adapter(language: &str, protocol: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("my adapter").display().to_string();
    let words = ["new", "adapter", "--language", language, "--protocol", protocol, "--out", &out];
    let output = proofmark(folder.path(), &words);
    assert!(output.status.success(), "{}", shown(&output));
    // A second one must not replace it.
    assert_eq!(proofmark(folder.path(), &words).status.code(), Some(2));
    folder
}

/// Checks an adapter, whose command is split as by a shell.
fn follows_the_rules(command: &str, protocol: &str) {
    let output = proofmark(root(), &["adapter", "check", command, "--timeout", "60s", "--format", "json"]);
    assert!(output.status.success(), "{}", shown(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["rules"].as_array().is_some_and(|rules| rules.len() >= 17), "{report}");
    let offer = &report["offers"][0];
    assert_eq!(offer["protocol"], *protocol);
    assert_eq!(offer["offered"], json!([]));
    assert_eq!(offer["unlocked"], json!({ "cases": 0, "requirements": 0 }));
    assert!(offer["possible"]["cases"].as_u64().is_some_and(|cases| cases > 100), "{offer}");
    // Nothing is claimed, so nothing is judged: neither granted nor refused.
    let folder = tempfile::tempdir().expect("a folder");
    let output = proofmark(
        folder.path(),
        &["check", "--adapter", command, "--protocol", protocol, "--quiet", "--timeout", "60s"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
}

/// Says that an adapter was written and not run.
#[expect(clippy::print_stderr, reason = "a test that checks less than usual must say so")]
fn not_run(program: &str) {
    eprintln!("{program} is not installed: the adapter was written and not run");
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        || Command::new(program).arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn a_new_adapter_in_python_follows_the_rules() {
    let folder = new_adapter("python", "agentic");
    follows_the_rules(&format!("python3 '{}/my adapter/adapter.py'", folder.path().display()), "agentic");
}

#[test]
fn a_new_adapter_speaks_the_protocol_that_it_was_written_for() {
    for protocol in PROTOCOLS {
        let folder = new_adapter("python", protocol);
        let path = folder.path().join("my adapter/adapter.py").display().to_string();
        let mut adapter = Adapter::start(&["python3", &path]);
        let described = adapter.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "describe", "params": {} }));
        assert_eq!(described["result"]["protocols"], json!([protocol]));
        assert_eq!(described["result"]["operations"], json!([]));
        let methods = proofmark(root(), &["adapter", "methods", "--protocol", protocol, "--format", "json"]);
        let page: Value = serde_json::from_slice(&methods.stdout).expect("JSON");
        let written = read(Path::new(&path));
        for method in page[0]["methods"].as_array().expect("methods") {
            let name = method["method"].as_str().expect("a name");
            assert!(written.contains(&format!("# \"{name}\": ")), "{name} has no line");
            let answer = adapter.ask(&json!({ "jsonrpc": "2.0", "id": "x", "method": name, "params": {} }));
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32601), &json!("x")), "{answer}");
        }
    }
}

#[test]
fn a_new_adapter_in_typescript_follows_the_rules() {
    let folder = new_adapter("typescript", "meshai");
    if is_installed("node") {
        follows_the_rules(&format!("node '{}/my adapter/adapter.mjs'", folder.path().display()), "meshai");
    } else {
        not_run("node");
    }
}

#[test]
fn a_new_adapter_in_rust_follows_the_rules() {
    let folder = new_adapter("rust", "amp-core");
    let own = folder.path().join("my adapter");
    let built = Command::new("rustc")
        .args(["--edition", "2024", "-D", "warnings", "-o"])
        .arg(own.join("built"))
        .arg(own.join("src/main.rs"))
        .output()
        .expect("rustc runs");
    assert!(built.status.success(), "{}", shown(&built));
    // Quotes inside quotes, and an escaped blank.
    follows_the_rules(&format!("{}/my\\ adapter/built", folder.path().display()), "amp-core");
    follows_the_rules(&format!("sh -c '\"{}/my adapter/built\"'", folder.path().display()), "amp-core");
}

#[test]
fn a_new_adapter_in_go_follows_the_rules() {
    let folder = new_adapter("go", "task-amp");
    let own = folder.path().join("my adapter");
    if !is_installed("go") {
        not_run("go");
        return;
    }
    let built = Command::new("go").args(["build", "-o", "built", "."]).current_dir(&own).output().expect("go runs");
    assert!(built.status.success(), "{}", shown(&built));
    follows_the_rules(&format!("'{}/my adapter/built'", folder.path().display()), "task-amp");
}

#[test]
fn a_new_adapter_needs_a_language_and_nothing_of_other_templates() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = proofmark(folder.path(), &["new", "adapter", "--protocol", "agentic"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(&output).contains("--language"), "{}", shown(&output));
    for words in [
        ["new", "case", "--language", "rust"],
        ["new", "adapter", "--requirement", "AGENTIC-6.1-22"],
        ["new", "fixture", "--out", "x"],
    ] {
        assert_eq!(proofmark(folder.path(), &words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn a_check_of_an_adapter_says_what_its_methods_unlock() {
    let command = format!("'{PROOFMARK}' adapter --protocol agentic");
    let output = proofmark(root(), &["adapter", "check", &command, "--format", "json", "--timeout", "60s"]);
    assert!(output.status.success(), "{}", shown(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let offer = &report["offers"][0];
    assert_eq!(offer["missing"], json!([]));
    assert_eq!(offer["unlocked"], offer["possible"]);
    let deposit = offer["offered"].as_array().expect("a list").iter().find(|row| row["method"] == "agentic/deposit");
    assert!(deposit.is_some_and(|row| row["cases"].as_u64() > Some(50)), "{offer}");
}
