//! `launch` in a target file: how proofmark starts a target, checks that it is ready, and stops it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::keys::{LAUNCH, READINESS, SECRET};
use super::read::{read_duration, secret};
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Yaml};

/// Default of the time in which a target must become ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Default of the time in which a target must exit after SIGTERM.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The longest delay and the longest limits that a target file may set.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// Maximum number of free ports in one target file.
const PORTS: usize = 64;

/// A target that proofmark starts and stops.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory.
    pub directory: PathBuf,
    /// Environment variables in addition to those of proofmark.
    pub environment: Vec<(String, Variable)>,
    /// The readiness check.
    pub ready: Ready,
    /// Maximum time until it is ready.
    pub ready_within: Duration,
    /// Maximum time from SIGTERM to its exit before it is killed.
    pub stop_within: Duration,
}

/// The value of an environment variable.
#[derive(Clone, PartialEq, Eq)]
pub enum Variable {
    /// A text of the target file, with placeholders for the addresses of hosts.
    Text(String),
    /// A secret from the environment or a file, never printed.
    Secret(String),
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Secret(_) => f.write_str("<redacted>"),
        }
    }
}

/// The readiness check of a launched target.
#[derive(Clone, Debug)]
pub enum Ready {
    /// The tested addresses accept connections.
    Addresses,
    /// A path below its URL answers with a status below 500.
    Http(String),
    /// This `HOST:PORT` accepts a connection.
    Tcp(String),
    /// A line of its standard output or standard error matches.
    Line(regex::Regex),
    /// This much time has passed.
    Delay(Duration),
}

/// Chooses free ports and fills them into the texts of a target file: `{port}` is one port, `{port.NAME}` one for each name.
pub(super) struct Ports<'f> {
    choose: &'f mut dyn FnMut() -> Option<u16>,
    chosen: BTreeMap<String, u16>,
    /// Whether the file has a `launch`: only a target that proofmark starts can use a free port.
    launched: bool,
}

impl<'f> Ports<'f> {
    pub(super) fn new(launched: bool, choose: &'f mut dyn FnMut() -> Option<u16>) -> Self {
        Self { choose, chosen: BTreeMap::new(), launched }
    }

    /// The text with its ports. Placeholders of hosts stay; any other placeholder is a mistake.
    pub(super) fn fill(&mut self, text: &Located<String>, problems: &mut Problems) -> String {
        let result = fill(text, |name| match name.split_once('.').unwrap_or((name, "")) {
            ("port", key) => self.port(key).map(|port| Some(port.to_string())),
            ("host", key) if !key.is_empty() => Ok(None),
            _ => Err(format!("unknown placeholder `{{{name}}}`")),
        });
        match result {
            Ok(filled) => filled,
            Err(message) => {
                problems.note(
                    Diagnostic::new(&text.span, message)
                        .hint("one of {port}, {port.NAME}, {host.NAME}; `{{` stands for `{`"),
                );
                text.value.clone()
            }
        }
    }

    fn port(&mut self, key: &str) -> Result<u16, String> {
        if !self.launched {
            return Err("a free port needs a `launch`".to_owned());
        }
        if let Some(port) = self.chosen.get(key) {
            return Ok(*port);
        }
        if self.chosen.len() >= PORTS {
            return Err(format!("more than {PORTS} free ports"));
        }
        // The system may offer the same port twice while no process listens on it.
        let taken = |port: &u16| !self.chosen.values().any(|other| other == port);
        let port = (0..PORTS).find_map(|_| (self.choose)().filter(taken));
        let port = port.ok_or_else(|| "cannot find a free port".to_owned())?;
        self.chosen.insert(key.to_owned(), port);
        Ok(port)
    }
}

/// The text with each `{word}` or `{word.name}` in lower case replaced. `value` returns `None` to keep a placeholder for a later
/// call. Other braces stay, so that JSON and shell commands need no quoting; `{{` is an escaped brace before a word.
fn fill(text: &str, mut value: impl FnMut(&str) -> Result<Option<String>, String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(name) = place(&rest[1..]) {
            let written = &rest[..name.len() + 2];
            filled.push_str(&value(name)?.unwrap_or_else(|| written.to_owned()));
            rest = &rest[written.len()..];
        } else if let Some(name) = rest[1..].strip_prefix('{').and_then(place) {
            filled.push_str(&rest[1..name.len() + 3]);
            rest = &rest[name.len() + 3..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name of the placeholder that starts after an opening brace.
fn place(behind: &str) -> Option<&str> {
    let (name, _) = behind.split_once('}')?;
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
    };
    name.split('.').all(word).then_some(name)
}

/// A command with its arguments, and the names and values of its environment.
pub type Filled = (Vec<String>, Vec<(String, String)>);

impl Launch {
    /// The command and the environment with the addresses of the hosts, by name.
    ///
    /// # Errors
    ///
    /// An unknown host, by name.
    pub fn filled(&self, hosts: &BTreeMap<String, String>) -> Result<Filled, String> {
        let with_hosts = |text: &String| {
            fill(text, |name| match name.strip_prefix("host.").map(|host| (host, hosts.get(host))) {
                Some((_, Some(address))) => Ok(Some(address.clone())),
                Some((host, None)) => Err(format!("unknown host `{host}` in `launch`")),
                None => Ok(None),
            })
        };
        let command = self.command.iter().map(with_hosts).collect::<Result<_, _>>()?;
        let variables = self.environment.iter().map(|(name, value)| {
            let value = match value {
                Variable::Text(text) => with_hosts(text)?,
                Variable::Secret(secret) => secret.clone(),
            };
            Ok::<_, String>((name.clone(), value))
        });
        Ok((command, variables.collect::<Result<_, _>>()?))
    }

    /// The secrets among the variables, so that output that repeats one can be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.environment.iter().filter_map(|(_, value)| match value {
            Variable::Secret(secret) if !secret.is_empty() => Some(secret.as_str()),
            _ => None,
        })
    }
}

/// Reads `launch`.
pub(super) fn read_launch(node: &Node, ports: &mut Ports<'_>, problems: &mut Problems) -> Option<Launch> {
    let mut fields = Fields::new(node, &LAUNCH, problems);
    let command = fields.texts("command", problems);
    let directory = fields.text("directory", problems);
    let environment = fields.take("environment");
    let ready = fields.take("ready");
    let stop_within = read_limit(&mut fields, "stop-within", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    if command.first().is_none_or(|program| program.value.is_empty()) && node.member("command").is_some() {
        problems.note(Diagnostic::new(&span, "`command` is empty").hint("a list: the program and its arguments"));
    }
    if let Some(word) = command.iter().find(|word| word.value.contains('\0')) {
        problems.note(Diagnostic::new(&word.span, "a command has no NUL characters"));
    }
    // Paths in a target file are relative to the file.
    let folder = Path::new(&span.source().name).parent().unwrap_or(Path::new("")).to_owned();
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    let directory = directory.map_or(folder.clone(), |text| folder.join(&*text));
    let environment = environment.map(|node| read_environment(node, ports, problems)).unwrap_or_default();
    let (ready, ready_within) = ready.map_or((Ready::Addresses, None), |node| read_ready(node, ports, problems));
    Some(Launch {
        command: command.iter().map(|word| ports.fill(word, problems)).collect(),
        directory,
        environment,
        ready,
        ready_within: ready_within.unwrap_or(READY_WITHIN),
        stop_within: stop_within.unwrap_or(STOP_WITHIN),
    })
}

fn read_limit(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<Duration> {
    let text = fields.text(key, problems)?;
    let duration = read_duration(&text, problems)?;
    if duration > LONGEST {
        problems.note(Diagnostic::new(&text.span, format!("`{key}` is at most 10m")));
    }
    Some(duration)
}

fn read_environment(node: &Node, ports: &mut Ports<'_>, problems: &mut Problems) -> Vec<(String, Variable)> {
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(&node.span, "`environment` is a map from names to values"));
        return Vec::new();
    };
    let mut variables = Vec::new();
    for (key, value) in members {
        if key.name.is_empty() || key.name.contains(['=', '\0']) {
            problems.note(Diagnostic::new(&key.span, format!("invalid name of a variable `{}`", key.name)));
            continue;
        }
        let variable = match &value.value {
            Yaml::Text(text) => {
                let text = Located { value: text.clone(), span: value.span.clone() };
                Some(Variable::Text(ports.fill(&text, problems)))
            }
            Yaml::Number(number) => Some(Variable::Text(crate::wire::json::compact(number))),
            Yaml::Bool(flag) => Some(Variable::Text(flag.to_string())),
            Yaml::Map(_) => read_secret(value, problems).map(Variable::Secret),
            _ => {
                problems.note(
                    Diagnostic::new(&value.span, format!("a variable is text, not {}", value.kind()))
                        .hint("text, or `{ env: NAME }` or `{ file: PATH }` for a secret"),
                );
                None
            }
        };
        variables.extend(variable.map(|variable| (key.name.clone(), variable)));
    }
    variables
}

fn read_secret(node: &Node, problems: &mut Problems) -> Option<String> {
    let mut fields = Fields::new(node, &SECRET, problems);
    let env = fields.text("env", problems);
    let file = fields.text("file", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    secret(env, file, &span, "a secret variable", problems)
}

fn read_ready(node: &Node, ports: &mut Ports<'_>, problems: &mut Problems) -> (Ready, Option<Duration>) {
    let mut fields = Fields::new(node, &READINESS, problems);
    let http = fields.text("http", problems);
    let tcp = fields.text("tcp", problems);
    let line = fields.text("line", problems);
    let delay = read_limit(&mut fields, "delay", problems);
    let within = read_limit(&mut fields, "within", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    let mut ways = Vec::new();
    if let Some(path) = http {
        if !path.starts_with('/') {
            problems.note(Diagnostic::new(&path.span, format!("`{}` is not a path that starts with /", *path)));
        }
        ways.push(Ready::Http(path.value));
    }
    if let Some(address) = tcp {
        let filled = ports.fill(&address, problems);
        let bare = filled.parse::<u16>().is_ok();
        let filled = if bare { format!("127.0.0.1:{filled}") } else { filled };
        if filled.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
            problems.note(Diagnostic::new(&address.span, format!("`{}` is not HOST:PORT", *address)));
        }
        ways.push(Ready::Tcp(filled));
    }
    if let Some(pattern) = line {
        match regex::RegexBuilder::new(&pattern).size_limit(1 << 20).build() {
            Ok(pattern) => ways.push(Ready::Line(pattern)),
            Err(error) => {
                let why = error.to_string();
                let last = why.lines().last().unwrap_or_default().trim();
                problems.note(Diagnostic::new(&pattern.span, format!("invalid pattern: {last}")));
                ways.push(Ready::Addresses);
            }
        }
    }
    ways.extend(delay.map(Ready::Delay));
    if ways.len() > 1 {
        problems.note(
            Diagnostic::new(&span, format!("a target is ready in one way, not {}", ways.len()))
                .hint("one of http, tcp, line, delay"),
        );
    }
    (ways.pop().unwrap_or(Ready::Addresses), within)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Target, load_with};
    use super::*;
    use crate::source::Source;

    fn read(text: &str) -> Result<Target, Vec<String>> {
        let source = Arc::new(Source { name: "folder/target.yaml".into(), text: text.to_owned().into() });
        let mut next = 4000;
        let mut choose = || {
            next += 1;
            Some(next)
        };
        load_with(&source, &[], &mut choose).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn ports_are_the_same_wherever_they_are_named() {
        let target = read(
            "url: 'http://127.0.0.1:{port}/base'\ntcp: '127.0.0.1:{port.frames}'\nlaunch:\n  command: [serve, '--listen={port}', '{port.frames}']\n  environment: { PEER: '{host.registry}/x', JSON: '{\"a\": {}}', N: 5 }\n  directory: work\n",
        )
        .unwrap();
        assert_eq!(target.url.unwrap().as_str(), "http://127.0.0.1:4001/base");
        assert_eq!(target.tcp.unwrap().port, 4002);
        let launch = target.launch.unwrap();
        assert_eq!(launch.command, ["serve", "--listen=4001", "4002"]);
        assert_eq!(launch.directory, Path::new("folder/work"));
        let hosts = BTreeMap::from([("registry".to_owned(), "http://127.0.0.1:9".to_owned())]);
        let (_, variables) = launch.filled(&hosts).unwrap();
        let value = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(value("PEER"), Some("http://127.0.0.1:9/x"));
        assert_eq!(value("JSON"), Some("{\"a\": {}}"));
        assert_eq!(value("N"), Some("5"));
        assert!(launch.filled(&BTreeMap::new()).unwrap_err().contains("unknown host `registry`"));
    }

    #[test]
    fn braces_that_are_not_placeholders_stay() {
        let keep = |text: &str| fill(text, |name| Ok(Some(format!("<{name}>"))));
        assert_eq!(
            keep("{{port} ${HOME} { x; } {\"a\":1} {1} {port.a} {").unwrap(),
            "{port} ${HOME} { x; } {\"a\":1} {1} <port.a> {"
        );
        assert_eq!(keep("{{{port}").unwrap(), "{{port}");
    }

    #[test]
    fn mistakes_are_reported_at_their_place() {
        for (text, wanted) in [
            ("url: 'http://127.0.0.1:{port}'\n", "1:6: a free port needs a `launch`"),
            ("url: http://a\nlaunch: { command: ['{prot}'] }\n", "2:21: unknown placeholder `{prot}`"),
            ("url: http://a\nlaunch: { directory: x }\n", "2:9: `launch` needs the key `command`"),
            (
                "url: http://a\nlaunch: { command: x, ready: { http: /, delay: 1s } }\n",
                "2:30: a target is ready in one way, not 2",
            ),
            ("url: http://a\nlaunch: { command: x, ready: { line: '(' } }\n", "2:38: invalid pattern"),
            ("url: http://a\nlaunch: { command: x, ready: { tcp: nowhere } }\n", "2:37: `nowhere` is not HOST:PORT"),
            ("url: http://a\nlaunch: { command: x, ready: { http: health } }\n", "2:38: `health` is not a path"),
            ("url: http://a\nlaunch: { command: x, stop-within: 11m }\n", "2:36: `stop-within` is at most 10m"),
            (
                "url: http://a\nlaunch: { command: x, environment: { A: { env: NOT_SET_ANYWHERE } } }\n",
                "2:48: environment variable `NOT_SET_ANYWHERE` is not set",
            ),
            ("url: http://a\nlaunch: { comand: x }\n", "`launch` has no key `comand`"),
        ] {
            let problems = read(text).unwrap_err();
            assert!(problems.iter().any(|problem| problem.contains(wanted)), "{text}{problems:#?}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let launch = Launch {
            command: vec!["x".into()],
            directory: PathBuf::new(),
            environment: vec![("TOKEN".into(), Variable::Secret("s3cret".into()))],
            ready: Ready::Addresses,
            ready_within: READY_WITHIN,
            stop_within: STOP_WITHIN,
        };
        assert!(!format!("{launch:?}").contains("s3cret"));
        assert_eq!(launch.secrets().collect::<Vec<_>>(), ["s3cret"]);
    }
}
