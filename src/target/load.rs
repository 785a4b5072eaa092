//! Reading target files.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use super::{Credential, RouteOverride, SECOND_INSTANCE, Target, TcpAddress, Waiver, WaiverSubject, parse_duration};
use crate::exchange::Transport;
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Yaml, parse};
use crate::value::Value;

/// Reads a target file. Credentials are fetched from the environment and from files at once.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn load(source: &Arc<Source>) -> Result<Target, Vec<Diagnostic>> {
    let root = parse(source)?;
    let mut problems = Problems::default();
    let mut fields = Fields::new(&root, "a target file", &mut problems);
    let mut target = Target::new("endpoint", "");
    target.protocol = fields.text("protocol", &mut problems).map(|text| text.value);
    let name = fields.text("name", &mut problems);
    if let Some(text) = fields.text("url", &mut problems) {
        match parse_url(&text) {
            Ok(url) => target.url = Some(url),
            Err(message) => problems.note(Diagnostic::new(&text.span, message)),
        }
    }
    if let Some(text) = fields.text("ws", &mut problems) {
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "ws" | "wss") && url.has_host() => target.ws = Some(url),
            _ => problems.note(Diagnostic::new(&text.span, format!("`{}` is no URL with ws or wss", *text))),
        }
    }
    if let Some(text) = fields.text("tcp", &mut problems) {
        match parse_tcp(&text) {
            Ok(address) => target.tcp = Some(address),
            Err(message) => problems.note(Diagnostic::new(&text.span, message)),
        }
    }
    let chosen = fields.texts("transports", &mut problems);
    if !chosen.is_empty() {
        let known =
            |word: &Located<String>| Transport::ALL.into_iter().find(|transport| transport.name() == word.value);
        let unknown = chosen.iter().filter(|word| known(word).is_none());
        unknown.for_each(|word| {
            problems.note(
                Diagnostic::new(&word.span, format!("no transport `{}`", **word)).hint("one of http, ws, tcp, adapter"),
            );
        });
        target.transports = Some(chosen.iter().filter_map(known).collect());
    }
    target.settings = read_map(&mut fields, "settings", &mut problems, read_setting);
    if let Some(text) = fields.text("second-instance", &mut problems) {
        match parse_url(&text) {
            Ok(url) => target.second = Some(url),
            Err(message) => problems.note(Diagnostic::new(&text.span, message)),
        }
    }
    let adapter = fields.texts("adapter", &mut problems);
    if !adapter.is_empty() {
        target.kind = if target.url.is_some() { "endpoint" } else { "adapter" };
        target.adapter = Some(adapter.into_iter().map(|word| word.value).collect());
    }
    target.level = fields.text("level", &mut problems).map(|text| text.value);
    target.options = read_map(&mut fields, "options", &mut problems, |node, problems| match node.value {
        Yaml::Bool(flag) => Some(flag),
        _ => {
            problems.note(Diagnostic::new(&node.span, "an option is true or false"));
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
                    problems.note(Diagnostic::new(&item.span, "a place is text: a JSON Pointer, or `header:NAME`"));
                    None
                }
            })
            .collect(),
        _ => {
            problems.note(Diagnostic::new(&node.span, "places are texts"));
            None
        }
    });
    read_statuses(&mut fields, &mut target, &mut problems);
    read_limits(&mut fields, &mut target, &mut problems);
    target.waivers =
        fields.list("waivers", &mut problems).iter().filter_map(|node| read_waiver(node, &mut problems)).collect();
    let span = fields.span().clone();
    fields.finish(&mut problems);
    if !Transport::ALL.into_iter().any(|transport| target.is_reached_over(transport)) {
        problems.note(
            Diagnostic::new(&span, "the target cannot be reached")
                .hint("give a `url`, a `ws`, a `tcp` or an `adapter`"),
        );
    }
    let reached_by = || {
        let url = target.url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
        let ws = || target.ws.as_ref().map(ToString::to_string);
        let tcp = || target.tcp.as_ref().map(ToString::to_string);
        url.or_else(ws)
            .or_else(tcp)
            .or_else(|| target.adapter.as_ref().map(|words| words.join(" ")))
            .unwrap_or_default()
    };
    target.name = name.map_or_else(reached_by, |text| text.value);
    problems.check(target)
}

/// Reads `HOST:PORT`, `amp://HOST:PORT` or `amps://HOST:PORT`, the last with TLS.
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn parse_tcp(text: &str) -> Result<TcpAddress, String> {
    let (tls, rest) = match text.split_once("://") {
        Some(("amps", rest)) => (true, rest),
        Some(("amp" | "tcp", rest)) => (false, rest),
        Some((scheme, _)) => return Err(format!("`{scheme}` is none of amp, amps, tcp")),
        None => (false, text),
    };
    let split = rest.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    match split {
        Some((host, port)) if !host.is_empty() => Ok(TcpAddress { host: host.to_owned(), port, tls }),
        _ => Err(format!("`{text}` is no HOST:PORT")),
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
        let read = std::fs::read(&beside).map_err(|error| format!("`{name}` cannot be read: {error}"));
        let read = read.and_then(|bytes| {
            crate::wire::json::parse(&bytes).map_err(|error| format!("`{name}` is no JSON: {error}"))
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
        Ok(url) => Err(format!("`{}` is no URL of a kind that can be reached; it needs http or https", url.scheme())),
        Err(error) => Err(format!("`{text}` is no URL: {error}")),
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
            problems.note(Diagnostic::new(&other.span, format!("`{key}` is a map, not {}", other.kind())));
            BTreeMap::new()
        }
    }
}

fn read_credentials(node: &Node, problems: &mut Problems) -> Option<Vec<Credential>> {
    let mut fields = Fields::new(node, "a credential", problems);
    let header = fields.text("header", problems).map_or_else(|| "Authorization".to_owned(), |text| text.value);
    let env = fields.text("env", problems);
    let file = fields.text("file", problems);
    let prefix = fields.text("prefix", problems).map(|text| text.value).unwrap_or_default();
    let span = fields.span().clone();
    fields.finish(problems);
    let secret = match (env, file) {
        (Some(name), None) => std::env::var(&*name)
            .map_err(|_| Diagnostic::new(&name.span, format!("the environment has no variable `{}`", *name))),
        (None, Some(path)) => std::fs::read_to_string(&*path)
            .map(|text| text.trim_end().to_owned())
            .map_err(|error| Diagnostic::new(&path.span, format!("`{}` cannot be read: {error}", *path))),
        _ => Err(Diagnostic::new(&span, "a credential comes from either `env` or `file`")
            .hint("a secret never stands in the target file itself")),
    };
    match secret {
        Ok(value) => Some(vec![Credential { header, value: format!("{prefix}{value}") }]),
        Err(diagnostic) => {
            problems.note(diagnostic);
            None
        }
    }
}

fn read_route(node: &Node, problems: &mut Problems) -> RouteOverride {
    let mut fields = Fields::new(node, "a route", problems);
    let method = fields.text("method", problems).map(|text| text.value);
    let path = fields.text("path", problems).map(|text| text.value);
    let query = fields.take("query").map(|node| match &node.value {
        Yaml::Map(members) => members
            .iter()
            .filter_map(|(key, value)| match &value.value {
                Yaml::Text(text) => Some((key.name.clone(), text.clone())),
                _ => {
                    problems.note(Diagnostic::new(&value.span, "a query parameter is text"));
                    None
                }
            })
            .collect(),
        _ => {
            problems.note(Diagnostic::new(&node.span, "`query` is a map from names to texts"));
            Vec::new()
        }
    });
    fields.finish(problems);
    RouteOverride { method, path, query }
}

fn read_statuses(fields: &mut Fields<'_>, target: &mut Target, problems: &mut Problems) {
    let Some(node) = fields.take("statuses") else { return };
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(&node.span, "`statuses` is a map such as { 400: [400, 422] }"));
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
            _ => problems.note(Diagnostic::new(&key.span, "a status and the list of those that stand for it")),
        }
    }
}

fn read_limits(fields: &mut Fields<'_>, target: &mut Target, problems: &mut Problems) {
    let Some(node) = fields.take("limits") else { return };
    let mut fields = Fields::new(node, "limits", problems);
    let limits = &mut target.limits;
    for (key, slot) in [
        ("request", &mut limits.request),
        ("reply", &mut limits.reply),
        ("settle", &mut limits.settle),
        ("case", &mut limits.case),
        ("run", &mut limits.run),
        ("clock-skew", &mut limits.clock_skew),
    ] {
        if let Some(text) = fields.text(key, problems) {
            match parse_duration(&text) {
                Some(duration) => *slot = duration,
                None => problems.note(
                    Diagnostic::new(&text.span, format!("`{}` is no duration", *text)).hint("such as 250ms, 5s, 2m"),
                ),
            }
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
    let mut fields = Fields::new(node, "a waiver", problems);
    let case = fields.text("case", problems);
    let requirement = fields.text("requirement", problems);
    let reason = fields.required_text("reason", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    let what = match (case, requirement) {
        (Some(Located { value, .. }), None) => WaiverSubject::Case(value),
        (None, Some(Located { value, .. })) => WaiverSubject::Requirement(value),
        _ => {
            problems.note(Diagnostic::new(&span, "a waiver names either a `case` or a `requirement`"));
            return None;
        }
    };
    Some(Waiver { what, reason: reason?.value, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target, Vec<Diagnostic>> {
        load(&Arc::new(Source { name: "target.yaml".into(), text: text.into() }))
    }

    #[test]
    fn a_target_file_says_how_to_reach_and_read_the_target() {
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
    fn a_secret_in_the_file_is_refused() {
        assert!(read("url: http://h\ncredentials: { a: { value: s3cret } }\n").is_err());
    }
}
