//! The manuals: their examples work, their lists are current, and their quotations match the source.
//!
//! `BLESS=1 cargo test --test contributing` rewrites the lists in `suites/README.md`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The blocks of code of a page that are in `language`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info == language, String::new())),
            (Some(_), Some(_)) => {
                let (wanted, text) = open.take().expect("it is open");
                if wanted {
                    blocks.push(text);
                }
            }
            (Some((_, text)), None) => writeln!(text, "{line}").expect("a string grows"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block of code has no end");
    blocks
}

/// Runs proofmark in an empty folder.
fn proofmark(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(&folder).args(words).env("NO_COLOR", "1").output().expect("proofmark runs")
}

fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder of suites with these cases and no others.
fn suites(protocol: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join(protocol);
    std::fs::create_dir(&own).expect("a folder");
    for name in ["protocol.yaml", "requirements.yaml", "errata.md"] {
        std::fs::copy(root().join("suites").join(protocol).join(name), own.join(name)).expect(name);
    }
    std::fs::write(own.join("example.yaml"), text).expect("the example");
    let path = folder.path().to_owned();
    (folder, path)
}

/// Checks the reference with the cases of `folder`.
fn check(protocol: &str, folder: &Path, fault: Option<&str>) -> Output {
    let folder = folder.display().to_string();
    let only = format!("{protocol}/example#*");
    let mut words = vec!["check", "--reference", "--protocol", protocol, "--suites", &folder, "--seed", "1"];
    words.extend(["--only", &only]);
    if let Some(fault) = fault {
        words.extend(["--fault", fault]);
    }
    proofmark(&words)
}

#[test]
fn the_case_in_contributing_is_short_and_passes_and_catches_its_fault() {
    let page = page("CONTRIBUTING.md");
    let case = blocks(&page, "yaml").into_iter().next().expect("an example");
    assert!(case.lines().count() <= 15, "{} lines", case.lines().count());
    let (_keep, folder) = suites("agentic", &case);
    let lint = proofmark(&["lint", "--suites", &folder.display().to_string()]);
    assert!(lint.status.success(), "{}", shown(&lint));
    let good = check("agentic", &folder, None);
    assert!(good.status.success(), "{}", shown(&good));
    assert!(page.contains("--fault title-empty-accepted"));
    let bad = check("agentic", &folder, Some("title-empty-accepted"));
    assert_eq!(bad.status.code(), Some(1), "{}", shown(&bad));
}

#[test]
fn every_case_in_the_manual_of_suites_passes() {
    let blocks = blocks(&page("suites/README.md"), "yaml");
    for (protocol, at_least) in [("agentic", 3), ("amp-core", 1), ("agentic-mesh", 1)] {
        let head = format!("suite: {protocol}/example\ncases:\n");
        // A block that starts with a case continues the suite of the block before it.
        let mut cases = head.clone();
        let mut counted = 0;
        let mut ours = false;
        for block in &blocks {
            let continues = ours && block.starts_with("  - case: ");
            ours = if block.starts_with("suite: ") { block.starts_with(&head) } else { continues };
            if ours {
                cases.push_str(block.strip_prefix(&head).unwrap_or(block));
                cases.push('\n');
                counted += 1;
            }
        }
        assert!(counted >= at_least, "{counted} blocks of {protocol}");
        let (_keep, folder) = suites(protocol, &cases);
        let lint = proofmark(&["lint", "--suites", &folder.display().to_string()]);
        assert!(lint.status.success(), "{}", shown(&lint));
        let good = check(protocol, &folder, None);
        assert!(good.status.success(), "{}", shown(&good));
        let folder = folder.display().to_string();
        let only = format!("{protocol}/example#*");
        let list = ["check", "--reference", "--protocol", protocol, "--suites", &folder, "--only", &only, "--list"];
        let put = proofmark(&list).stdout.iter().filter(|byte| **byte == b'\n').count();
        let passed = if put == 1 { "1 case passed".to_owned() } else { format!("{put} cases passed") };
        assert!(shown(&good).contains(&passed), "expected {put} passed cases\n{}", shown(&good));
    }
}

#[test]
fn the_first_case_in_the_manual_of_suites_catches_its_fault() {
    let page = page("suites/README.md");
    let first = blocks(&page, "yaml").into_iter().next().expect("an example");
    assert!(page.contains("--fault tags-sorted"));
    let (_keep, folder) = suites("agentic", &first);
    let bad = check("agentic", &folder, Some("tags-sorted"));
    assert_eq!(bad.status.code(), Some(1), "{}", shown(&bad));
}

#[test]
fn every_key_is_in_the_manual_of_suites() {
    let page = page("suites/README.md");
    let schema = serde_json::to_value(proofmark::schema::suite()).expect("a schema is JSON");
    // An expectation has a property for each matcher, which the list of matchers shows.
    for (of, definition) in [("Suite", &schema), ("Case", &schema["$defs"]["Case"]), ("Step", &schema["$defs"]["Step"])]
    {
        let keys = definition["properties"].as_object().unwrap_or_else(|| panic!("{of} has properties"));
        for key in keys.keys() {
            assert!(page.contains(&format!("| `{key}` |")), "the key `{key}` of {of} is missing");
        }
    }
}

/// A table for each kind of map in a data file.
fn keys(items: &[Value]) -> String {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().replace('|', "\\|");
    let mut tables = String::new();
    let mut of = String::new();
    for item in items {
        if of != text(item, "of") {
            of = text(item, "of");
            writeln!(tables, "\n| key of {of} | value | description | example |\n|---|---|---|---|")
                .expect("a string grows");
        }
        let (name, value, about) = (text(item, "name"), text(item, "value"), text(item, "about"));
        let about = format!("{about} {}", text(item, "default"));
        writeln!(tables, "| `{name}` | {value} | {} | `{}` |", about.trim_end(), text(item, "example"))
            .expect("a string grows");
    }
    tables.push('\n');
    tables
}

/// A list of `proofmark list --what WHAT` as the rows of a table.
fn list(what: &str) -> String {
    let output = proofmark(&["list", "--protocol", "agentic", "--what", what, "--format", "json"]);
    assert!(output.status.success(), "{}", shown(&output));
    let items: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list in JSON");
    if what == "keys" {
        return keys(&items);
    }
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().replace('|', "\\|");
    let mut table = match what {
        "operations" => "| operation | level | inputs | description |\n|---|---|---|---|\n".to_owned(),
        "features" => "| feature | description |\n|---|---|\n".to_owned(),
        _ => format!("| {} | description | example |\n|---|---|---|\n", what.trim_end_matches('s')),
    };
    for item in &items {
        let name = text(item, "name");
        match what {
            "operations" => {
                let (level, inputs) = (text(item, "level"), text(item, "inputs"));
                writeln!(table, "| `{name}` | {level} | {inputs} | {} |", text(item, "summary"))
            }
            "features" => writeln!(table, "| `{name}` | {} |", text(item, "about")),
            _ => writeln!(table, "| `{name}` | {} | `{}` |", text(item, "summary"), text(item, "example")),
        }
        .expect("a string grows");
    }
    table
}

#[test]
fn the_lists_in_the_manual_of_suites_are_current() {
    let before = page("suites/README.md");
    let mut after = before.clone();
    for what in ["keys", "operations", "matchers", "functions", "features"] {
        let open = format!("<!-- list: {what} -->\n");
        let start = after.find(&open).unwrap_or_else(|| panic!("no list of {what}")) + open.len();
        let end = start + after[start..].find("<!-- end -->").unwrap_or_else(|| panic!("no end of {what}"));
        after.replace_range(start..end, &list(what));
    }
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(root().join("suites/README.md"), &after).expect("the file can be written");
    } else {
        assert!(before == after, "a list is out of date: BLESS=1 cargo test --test contributing");
    }
}

/// A line without values that may differ between runs: numbers and hashes.
fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    for word in line.trim().split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = bare.bytes().all(|byte| byte.is_ascii_digit());
        let hash = bare.len() > 6 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !bare.is_empty() && (number || hash) {
            text.push('#');
            text.push_str(&word[bare.len()..]);
        } else {
            text.push_str(word);
        }
    }
    text
}

#[test]
fn the_report_in_the_readme_is_what_proofmark_prints() {
    let page = page("README.md");
    let report = blocks(&page, "text").into_iter().next().expect("an excerpt");
    let mut lines = report.lines();
    let command = lines.next().and_then(|line| line.strip_prefix("$ proofmark ")).expect("the command");
    let words: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect(); // no quoted blanks
    let printed = shown(&proofmark(&words));
    let printed: Vec<String> = printed.lines().map(without_numbers).collect();
    for line in lines.filter(|line| !line.trim().is_empty() && line.trim() != "…") {
        let wanted = without_numbers(line);
        assert!(printed.contains(&wanted), "`{line}` is not printed by\n  proofmark {command}\n{printed:#?}");
    }
}

#[test]
fn the_target_file_in_the_readme_is_one() {
    let text = blocks(&page("README.md"), "yaml").into_iter().next().expect("a target file");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("target.yaml");
    std::fs::write(&path, text).expect("the target file");
    let output = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--target", &path.display().to_string(), "--list"])
        .env("RELAY_KEY", "not a secret")
        .output()
        .expect("proofmark runs");
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn code_that_contributing_shows_is_the_code_that_is_there() {
    let matcher = page("src/matcher/not_equals.rs");
    let quoted = blocks(&page("CONTRIBUTING.md"), "rust");
    let whole = quoted.iter().find(|block| block.contains("impl Matcher for NotEquals")).expect("the matcher");
    for paragraph in whole.split("\n\n") {
        assert!(matcher.contains(paragraph.trim_end()), "src/matcher/not_equals.rs has no\n{paragraph}");
    }
}

#[test]
fn links_between_the_pages_lead_somewhere() {
    for name in
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "suites/README.md", "fuzz/README.md", "benches/README.md"]
    {
        let folder = root().join(name).parent().expect("a folder").to_owned();
        let page = page(name);
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") {
                assert!(folder.join(path).exists(), "{name} links to {link}, which does not exist");
            }
        }
    }
}
