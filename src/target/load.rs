//! Reading target files.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use super::hooks::read_hooks;
use super::keys::{CREDENTIAL, HOST, LIMITS, ROUTE, TARGET, WAIVER};
use super::launch::{Ports, read_launch};
use super::read::{read_duration, secret};
use super::tree::read_tree;
use super::{
    Credential, HostAddress, RouteOverride, SECOND_INSTANCE, Target, TcpAddress, UrlScheme, Waiver, WaiverSubject,
};
use crate::exchange::{TargetClass, Transport};
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Yaml, parse};
use crate::value::Value;

/// Reads a target file, including the credentials from the environment and from files. `schemes` are the URL schemes of the
/// protocols.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn load(source: &Arc<Source>, schemes: &[UrlScheme]) -> Result<Target, Vec<Diagnostic>> {
    load_with(source, schemes, &mut || None)
}

/// As [`load`], for a target that proofmark may start: `free_port` chooses a port for each `{port}` in the file.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn load_with(
    source: &Arc<Source>,
    schemes: &[UrlScheme],
    free_port: &mut dyn FnMut() -> Option<u16>,
) -> Result<Target, Vec<Diagnostic>> {
    let root = parse(source)?;
    let mut problems = Problems::default();
    let mut fields = Fields::new(&root, &TARGET, &mut problems);
    let launch = fields.take("launch");
    let mut ports = Ports::new(launch.is_some(), free_port);
    let mut target = Target::new(TargetClass::Endpoint, "");
    target.protocol = fields.text("protocol", &mut problems).map(|text| text.value);
    let name = fields.text("name", &mut problems);
    if let Some(text) = address(&mut fields, "url", &mut ports, &mut problems) {
        match parse_url(&text) {
            Ok(url) => target.url = Some(url),
            Err(message) => problems.note(Diagnostic::new(&text.span, message)),
        }
    }
    if let Some(text) = address(&mut fields, "ws", &mut ports, &mut problems) {
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "ws" | "wss") && url.has_host() => target.ws = Some(url),
            _ => problems
                .note(Diagnostic::new(&text.span, format!("invalid WebSocket URL `{}`: expected ws or wss", *text))),
        }
    }
    let tcp = address(&mut fields, "tcp", &mut ports, &mut problems);
    if let Some(text) = &tcp {
        match parse_tcp(text, schemes) {
            Ok(address) => target.tcp = Some(address),
            Err(message) => problems.note(Diagnostic::new(&text.span, message)),
        }
    }
    target.tree = fields.take("tree").and_then(|node| read_tree(node, &mut problems));
    let chosen = fields.texts("transports", &mut problems);
    if !chosen.is_empty() {
        let known =
            |word: &Located<String>| Transport::ALL.into_iter().find(|transport| transport.name() == word.value);
        let unknown = chosen.iter().filter(|word| known(word).is_none());
        unknown.for_each(|word| {
            problems.note(
                Diagnostic::new(&word.span, format!("no transport `{}`", **word))
                    .hint("one of http, ws, tcp, tree, adapter"),
            );
        });
        target.transports = Some(chosen.iter().filter_map(known).collect());
    }
    target.settings = read_map(&mut fields, "settings", &mut problems, read_setting);
    target.urls = read_map(&mut fields, "urls", &mut problems, |node, problems| match &node.value {
        Yaml::Text(text) => {
            let text = ports.fill(&Located { value: text.clone(), span: node.span.clone() }, problems);
            parse_url(&text).map_err(|error| problems.note(Diagnostic::new(&node.span, error))).ok()
        }
        _ => {
            problems.note(Diagnostic::new(&node.span, format!("a base URL must be text, not {}", node.kind())));
            None
        }
    });
    target.hosts = read_map(&mut fields, "hosts", &mut problems, |node, problems| Some(read_host(node, problems)));
    if let Some(text) = address(&mut fields, "second-instance", &mut ports, &mut problems) {
        match parse_url(&text) {
            Ok(url) => target.second = Some(url),
            Err(message) => problems.note(Diagnostic::new(&text.span, message)),
        }
    }
    let adapter = fields.texts("adapter", &mut problems);
    if !adapter.is_empty() {
        target.class = if target.url.is_some() { TargetClass::Endpoint } else { TargetClass::Adapter };
        target.adapter = Some(adapter.into_iter().map(|word| word.value).collect());
    }
    if let Some(node) = fields.take("hooks") {
        target.hooks = read_hooks(node, &mut problems);
    }
    target.ca = fields.text("ca", &mut problems).and_then(|path| read_certificates(&path, &mut problems));
    let (level, levels) = (fields.text("level", &mut problems), fields.texts("levels", &mut problems));
    let words = |list: Vec<Located<String>>| list.into_iter().map(|word| word.value).collect::<Vec<_>>();
    target.levels = words(level.into_iter().chain(levels).collect());
    target.kinds = words(fields.texts("kind", &mut problems));
    target.roles = fields.texts_if_any("roles", &mut problems).map(words);
    target.options = read_map(&mut fields, "features", &mut problems, |node, problems| match node.value {
        Yaml::Bool(flag) => Some(flag),
        _ => {
            problems.note(Diagnostic::new(&node.span, "expected true or false"));
            None
        }
    });
    if target.second.is_some() {
        target.options.insert(SECOND_INSTANCE.to_owned(), true);
    }
    target.credentials = read_map(&mut fields, "credentials", &mut problems, read_credentials);
    target.routes = read_map(&mut fields, "routes", &mut problems, |node, problems| Some(read_route(node, problems)));
    target.places = read_map(&mut fields, "places", &mut problems, |node, problems| match &node.value {
        Yaml::Text(text) => Some(vec![text.clone()]),
        Yaml::Sequence(items) => items
            .iter()
            .map(|item| match &item.value {
                Yaml::Text(text) => Some(text.clone()),
                _ => {
                    problems
                        .note(Diagnostic::new(&item.span, "a place must be text: a JSON Pointer, or `header:NAME`"));
                    None
                }
            })
            .collect(),
        _ => {
            problems.note(Diagnostic::new(&node.span, "expected a text or a list of texts"));
            None
        }
    });
    target.names.own = read_map(&mut fields, "names", &mut problems, |node, problems| {
        Some(texts(node, "names", problems).into_iter().collect())
    });
    read_statuses(&mut fields, &mut target, &mut problems);
    read_limits(&mut fields, &mut target, &mut problems);
    target.timeouts = read_map(&mut fields, "timeouts", &mut problems, |node, problems| match &node.value {
        Yaml::Text(text) => read_duration(&Located { value: text.clone(), span: node.span.clone() }, problems),
        _ => {
            problems.note(Diagnostic::new(&node.span, "expected a duration such as 250ms, 5s, 2m"));
            None
        }
    });
    target.waivers =
        fields.list("waivers", &mut problems).iter().filter_map(|node| read_waiver(node, &mut problems)).collect();
    target.launch = launch.and_then(|node| read_launch(node, &mut ports, &mut problems));
    let span = fields.span().clone();
    fields.finish(&mut problems);
    // A target of a kind that is a client only is started by the run, and calls a host of the run.
    let is_client = target.launch.is_some() && !target.kinds.is_empty();
    if !is_client && !Transport::ALL.into_iter().any(|transport| target.is_reached_over(transport)) {
        problems.note(
            Diagnostic::new(&span, "the target has no address")
                .hint("give a `url`, a `ws`, a `tcp`, a `tree` or an `adapter`"),
        );
    }
    let reached_by = move |target: &Target| {
        let url = target.url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
        let ws = || target.ws.as_ref().map(ToString::to_string);
        let tcp = || tcp.map(|text| text.value);
        url.or_else(ws)
            .or_else(tcp)
            .or_else(|| target.tree.as_ref().map(|tree| tree.root.display().to_string()))
            .or_else(|| target.adapter.as_ref().map(|words| words.join(" ")))
            .unwrap_or_default()
    };
    target.name = name.map_or_else(|| reached_by(&target), |text| text.value);
    problems.check(target)
}

/// Reads the certificates of authorities.
fn read_certificates(path: &Located<String>, problems: &mut Problems) -> Option<Vec<u8>> {
    // A path in a target file starts where that file is.
    let beside = std::path::Path::new(&path.span.source().name).with_file_name(&path.value);
    let read = std::fs::read(beside).map_err(|error| format!("cannot read `{}`: {error}", **path));
    let read = read.and_then(|bytes| {
        let mark = b"-----BEGIN CERTIFICATE-----";
        let is_pem = bytes.windows(mark.len()).any(|window| window == mark);
        if is_pem { Ok(bytes) } else { Err(format!("`{}` has no certificate in PEM", **path)) }
    });
    read.map_err(|message| problems.note(Diagnostic::new(&path.span, message))).ok()
}

/// An address, with its free ports filled in.
fn address(
    fields: &mut Fields<'_>,
    key: &'static str,
    ports: &mut Ports<'_>,
    problems: &mut Problems,
) -> Option<Located<String>> {
    let text = fields.text(key, problems)?;
    let value = ports.fill(&text, problems);
    Some(Located { value, span: text.span })
}

/// Reads `HOST:PORT`, or a URL with `tcp` or one of `schemes`, which also determine TLS.
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn parse_tcp(text: &str, schemes: &[UrlScheme]) -> Result<TcpAddress, String> {
    let schemes = || schemes.iter().filter(|scheme| scheme.transport == Transport::Tcp);
    let (tls, rest) = match text.split_once("://") {
        None => (false, text),
        Some(("tcp", rest)) => (false, rest),
        Some((name, rest)) => match schemes().find(|scheme| scheme.name == name) {
            Some(scheme) => (scheme.tls, rest),
            None => {
                let known: Vec<&str> = std::iter::once("tcp").chain(schemes().map(|scheme| scheme.name)).collect();
                return Err(format!("unknown scheme `{name}`: expected one of {}", known.join(", ")));
            }
        },
    };
    let split = rest.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    match split {
        Some((host, port)) if !host.is_empty() => Ok(TcpAddress { host: host.to_owned(), port, tls }),
        _ => Err(format!("invalid address `{text}`: expected HOST:PORT")),
    }
}

/// Reads a setting: a value, or `{ file: PATH }` for the JSON in a file.
fn read_setting(node: &Node, problems: &mut Problems) -> Option<Value> {
    if let Yaml::Map(members) = &node.value
        && let [(key, path)] = members.as_slice()
        && key.name == "file"
        && let Yaml::Text(name) = &path.value
    {
        // A path in a target file starts where that file is.
        let beside = std::path::Path::new(&path.span.source().name).with_file_name(name);
        let read = std::fs::read(&beside).map_err(|error| format!("cannot read `{name}`: {error}"));
        let read = read.and_then(|bytes| {
            crate::wire::json::parse(&bytes).map_err(|error| format!("`{name}` is not JSON: {error}"))
        });
        return match read {
            Ok(value) => Some(value),
            Err(message) => {
                problems.note(Diagnostic::new(&path.span, message));
                None
            }
        };
    }
    Some(plain(node))
}

/// A YAML tree as a value.
fn plain(node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => Value::Bool(*flag),
        Yaml::Number(number) => number.clone(),
        Yaml::Text(text) => Value::text(text),
        Yaml::Sequence(items) => Value::Array(items.iter().map(plain).collect()),
        Yaml::Map(members) => Value::map(members.iter().map(|(key, value)| (key.name.as_str(), plain(value)))),
    }
}

/// Reads the URL of an endpoint.
pub fn parse_url(text: &str) -> Result<Url, String> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Ok(url) => Err(format!("unsupported URL scheme `{}`: the URL needs http or https", url.scheme())),
        Err(error) => Err(format!("invalid URL `{text}`: {error}")),
    }
}

fn read_map<T>(
    fields: &mut Fields<'_>,
    key: &'static str,
    problems: &mut Problems,
    mut read: impl FnMut(&Node, &mut Problems) -> Option<T>,
) -> BTreeMap<String, T> {
    match fields.take(key) {
        None => BTreeMap::new(),
        Some(Node { value: Yaml::Map(members), .. }) => {
            members.iter().filter_map(|(key, node)| Some((key.name.clone(), read(node, problems)?))).collect()
        }
        Some(other) => {
            problems.note(Diagnostic::new(&other.span, format!("`{key}` must be a map, not {}", other.kind())));
            BTreeMap::new()
        }
    }
}

fn read_credentials(node: &Node, problems: &mut Problems) -> Option<Vec<Credential>> {
    let mut fields = Fields::new(node, &CREDENTIAL, problems);
    let header = fields.text("header", problems).map_or_else(|| "Authorization".to_owned(), |text| text.value);
    let env = fields.text("env", problems);
    let file = fields.text("file", problems);
    let prefix = fields.text("prefix", problems).map(|text| text.value).unwrap_or_default();
    let span = fields.span().clone();
    fields.finish(problems);
    let value = secret(env, file, &span, "a credential", problems)?;
    Some(vec![Credential { header, value: format!("{prefix}{value}") }])
}

/// Reads the addresses of a host.
fn read_host(node: &Node, problems: &mut Problems) -> HostAddress {
    let mut fields = Fields::new(node, &HOST, problems);
    let listen = fields.text("listen", problems);
    let announce = fields.text("announce", problems);
    fields.finish(problems);
    let listen = listen.and_then(|text| {
        let parsed = text.parse().ok();
        if parsed.is_none() {
            problems.note(
                Diagnostic::new(&text.span, format!("invalid listen address `{}`", *text))
                    .hint("an IP address and a port, such as 127.0.0.1:8931"),
            );
        }
        parsed
    });
    let announce = announce.and_then(|text| match Url::parse(&text) {
        Ok(url) if url.has_host() => Some(text.value),
        _ => {
            problems.note(Diagnostic::new(&text.span, format!("invalid URL `{}`", *text)));
            None
        }
    });
    HostAddress { listen, announce }
}

fn read_route(node: &Node, problems: &mut Problems) -> RouteOverride {
    let mut fields = Fields::new(node, &ROUTE, problems);
    let base = fields.text("base", problems).map(|text| text.value);
    let method = fields.text("method", problems).map(|text| text.value);
    let path = fields.text("path", problems).map(|text| text.value);
    let query = fields.take("query").map(|node| texts(node, "query", problems));
    let body = fields.take("body").map(plain);
    let headers = fields.take("headers").map(|node| texts(node, "headers", problems)).unwrap_or_default();
    fields.finish(problems);
    RouteOverride { base, method, path, query, body, headers }
}

/// Reads a map from names to texts.
fn texts(node: &Node, key: &str, problems: &mut Problems) -> Vec<(String, String)> {
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(&node.span, format!("`{key}` must be a map from names to texts")));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, value) in members {
        match &value.value {
            Yaml::Text(text) => found.push((name.name.clone(), text.clone())),
            _ => problems.note(Diagnostic::new(&value.span, format!("a value of `{key}` must be text"))),
        }
    }
    found
}

fn read_statuses(fields: &mut Fields<'_>, target: &mut Target, problems: &mut Problems) {
    let Some(node) = fields.take("statuses") else { return };
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(&node.span, "`statuses` must be a map such as { 400: [400, 422] }"));
        return;
    };
    for (key, value) in members {
        let aliases: Option<Vec<u16>> = match &value.value {
            Yaml::Sequence(items) => items
                .iter()
                .map(|item| match &item.value {
                    Yaml::Number(number) => number.as_integer().and_then(|status| u16::try_from(status).ok()),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        match (key.name.parse(), aliases) {
            (Ok(status), Some(aliases)) => {
                target.statuses.insert(status, aliases);
            }
            _ => problems.note(Diagnostic::new(&key.span, "expected a status and the list of its replacements")),
        }
    }
}

fn read_limits(fields: &mut Fields<'_>, target: &mut Target, problems: &mut Problems) {
    let Some(node) = fields.take("limits") else { return };
    let mut fields = Fields::new(node, &LIMITS, problems);
    let limits = &mut target.limits;
    for (key, slot) in [
        ("request", &mut limits.request),
        ("reply", &mut limits.reply),
        ("collect-for", &mut limits.settle),
        ("case", &mut limits.case),
        ("run", &mut limits.run),
        ("clock-skew", &mut limits.clock_skew),
    ] {
        if let Some(text) = fields.text(key, problems)
            && let Some(duration) = read_duration(&text, problems)
        {
            *slot = duration;
        }
    }
    for (key, slot) in [("body", &mut limits.body), ("jobs", &mut limits.jobs)] {
        if let Some(number) = fields.number(key, problems) {
            *slot = usize::try_from(number.value).unwrap_or(usize::MAX).max(1);
        }
    }
    fields.finish(problems);
}

fn read_waiver(node: &Node, problems: &mut Problems) -> Option<Waiver> {
    let mut fields = Fields::new(node, &WAIVER, problems);
    let case = fields.text("case", problems);
    let requirement = fields.text("requirement", problems);
    let reason = fields.required_text("reason", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    let what = match (case, requirement) {
        (Some(Located { value, .. }), None) => WaiverSubject::Case(value),
        (None, Some(Located { value, .. })) => WaiverSubject::Requirement(value),
        _ => {
            problems.note(Diagnostic::new(&span, "a waiver needs either `case` or `requirement`"));
            return None;
        }
    };
    Some(Waiver { what, reason: reason?.value, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target, Vec<Diagnostic>> {
        load(&Arc::new(Source { name: "target.yaml".into(), text: text.to_owned().into() }), &[])
    }

    #[test]
    fn a_target_file_is_read() {
        let target = read(
            "protocol: agentic\nurl: http://127.0.0.1:1\nstatuses: { 400: [400, 422] }\nlimits: { request: 250ms, jobs: 4 }\nroutes: { export: { path: '/dump/{project}' } }\n",
        )
        .unwrap();
        assert_eq!(target.status(422), 400);
        assert_eq!(target.limits.jobs, 4);
        assert_eq!(target.routes["export"].path.as_deref(), Some("/dump/{project}"));
    }

    #[test]
    fn an_unknown_field_and_a_bad_url_are_reported_together() {
        let problems = read("url: ftp://x\nlevle: L1\n").unwrap_err();
        let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|line| line.contains("target.yaml:1:6")), "{shown:?}");
        assert!(shown.iter().any(|line| line.contains("no key `levle`")), "{shown:?}");
    }

    #[test]
    fn a_secret_in_the_file_is_rejected() {
        assert!(read("url: http://h\ncredentials: { a: { value: s3cret } }\n").is_err());
    }
}
