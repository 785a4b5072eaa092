//! Reading suites: from a YAML tree to cases, with every mistake noted.

use std::sync::Arc;

use super::keys::{CASE, EXPECTATION, LAYOUTS, REPLY, REQUEST, ROW, STEP, SUITE};
use super::table::{fill, note_unused};
use super::twin;
use super::{Action, Case, Expectation, HostReplyPlan, Receive, RequestBody, Step, Suite, TimeSpan};
use crate::edit::Edit;
use crate::requirement::{ClauseId, read_clauses};
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Span, Yaml, parse};
use crate::template::{Expr, read_path};
use crate::value::{Path, Value};

/// Reads a file of cases.
///
/// # Errors
///
/// Every mistake in the file.
pub fn read_suite(source: &Arc<Source>) -> Result<Suite, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let suite = read_suite_partly(source, &mut problems);
    problems.check(suite)
}

/// Reads a case that is in no file: the map that a file of cases would have for it.
///
/// # Errors
///
/// Every mistake in it.
pub fn case_of(value: &Value, name: &str) -> Result<Case, Vec<Diagnostic>> {
    let source = Arc::new(Source { name: name.to_owned(), text: String::new().into() });
    let mut problems = Problems::default();
    let read = read_cases(&Node::of(value, &Span::file(&source)), &mut problems);
    let cases = problems.check(read)?;
    let none = || vec![Diagnostic::new(&Span::file(&source), "no case")];
    cases.into_iter().next().ok_or_else(none)
}

/// Reads what can be read of a file of cases: a case with a mistake in it is left out.
pub fn read_suite_partly(source: &Arc<Source>, problems: &mut Problems) -> Suite {
    let nameless = Located { value: String::new(), span: Span::file(source) };
    let root = match parse(source) {
        Ok(root) => root,
        Err(found) => {
            found.into_iter().for_each(|mistake| problems.note(mistake));
            return Suite { name: nameless, about: String::new(), cases: Vec::new() };
        }
    };
    let mut fields = Fields::new(&root, &SUITE, problems);
    let name = fields.required_text("suite", problems);
    let about = fields.text("about", problems);
    let nodes = fields.list("cases", problems);
    fields.finish(problems);
    if nodes.is_empty() {
        problems.note(Diagnostic::new(&Span::file(source), "the suite has no cases"));
    }
    note_unused(nodes, problems);
    let mut cases: Vec<Case> = Vec::new();
    for node in nodes {
        let before = problems.0.len();
        let read = read_cases(node, problems);
        // The lookup of names would report the unread parts of a case as further mistakes.
        let sound = problems.0.len() == before;
        for case in read.into_iter().filter(|_| sound) {
            if let Some(earlier) = cases.iter().find(|earlier| earlier.name.value == case.name.value) {
                let message =
                    format!("the case id `{}` is used twice; first at {}", *case.name, earlier.name.span.place());
                problems.note(Diagnostic::new(&case.name.span, message));
            }
            cases.push(case);
        }
    }
    let name = name.unwrap_or(nameless);
    Suite { name, about: about.map(|text| text.value).unwrap_or_default(), cases }
}

/// The cases of a file as they are written, by their ids: each row of a table as a case of its own, which has taken over what
/// its row defines.
///
/// # Errors
///
/// Every mistake in the file.
pub fn written(source: &Arc<Source>) -> Result<Vec<(String, Value)>, Vec<Diagnostic>> {
    let root = parse(source)?;
    let mut problems = Problems::default();
    let mut cases = Vec::new();
    let nodes = root.member("cases").map(|node| &node.value);
    for node in nodes.into_iter().flat_map(|cases| match cases {
        Yaml::Sequence(cases) => cases.as_slice(),
        _ => &[],
    }) {
        let name = |node: &Node| node.member("case").and_then(text_of).unwrap_or_default();
        let Some(Node { value: Yaml::Sequence(rows), .. }) = node.member("for-each") else {
            cases.push((name(node), node.to_value()));
            continue;
        };
        for row in rows {
            let filled = fill(node, row, &mut problems);
            let id = format!("{}[{}]", name(&filled), row.member("row").and_then(text_of).unwrap_or_default());
            let mut value = filled.to_value();
            if let Value::Map(members) = &mut value {
                members.retain(|(key, _)| key.as_text() != Some("for-each"));
            }
            for key in ["needs", "roles"] {
                let words: Vec<Value> = [&filled, row].into_iter().flat_map(|node| texts_of(node, key)).collect();
                if !words.is_empty() {
                    value.set_member(key, Value::Array(words.into()));
                }
            }
            cases.push((id, value));
        }
    }
    problems.check(cases)
}

fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Yaml::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// The texts of a member that is one text or several.
fn texts_of(node: &Node, name: &str) -> Vec<Value> {
    match node.member(name).map(Node::to_value) {
        Some(Value::Array(items)) => items.into_vec(),
        Some(one @ Value::Text(_)) => vec![one],
        _ => Vec::new(),
    }
}

fn read_cases(node: &Node, problems: &mut Problems) -> Vec<Case> {
    let Some(table) = node.member("for-each") else {
        return read_case(node, None, problems).into_iter().collect();
    };
    let Yaml::Sequence(rows) = &table.value else {
        problems.note(Diagnostic::new(&table.span, format!("`for-each` is a list of rows, not {}", table.kind())));
        return Vec::new();
    };
    if rows.is_empty() {
        problems.note(Diagnostic::new(&table.span, "the table has no rows"));
    }
    rows.iter()
        .filter_map(|row| {
            let template = match &node.value {
                Yaml::Map(members) => Node {
                    value: Yaml::Map(members.iter().filter(|(key, _)| key.name != "for-each").cloned().collect()),
                    span: node.span.clone(),
                },
                _ => node.clone(),
            };
            let filled = fill(&template, row, problems);
            read_case(&filled, Some(row), problems)
        })
        .collect()
}

/// The keys that a row of a table adds to its case.
struct Row {
    name: Located<String>,
    about: Option<String>,
    covers: Vec<Located<ClauseId>>,
    needs: Vec<Located<String>>,
    roles: Vec<Located<String>>,
    strict_only: bool,
}

fn read_row(node: &Node, problems: &mut Problems) -> Option<Row> {
    let mut fields = Fields::new(node, &ROW, problems);
    let name = fields.required_text("row", problems);
    let row = Row {
        about: fields.text("about", problems).map(|text| text.value),
        covers: read_clauses(&mut fields, "covers", problems),
        needs: fields.texts("needs", problems),
        roles: fields.texts("roles", problems),
        strict_only: fields.flag("strict-only", problems),
        name: name?,
    };
    // The other members are values that the case references by name.
    Some(row)
}

fn read_case(node: &Node, row: Option<&Node>, problems: &mut Problems) -> Option<Case> {
    let row = row.map(|row| read_row(row, problems));
    let mut fields = Fields::new(node, &CASE, problems);
    let name = fields.required_text("case", problems);
    let about = fields.text("about", problems);
    let mut covers = read_clauses(&mut fields, "covers", problems);
    let mut needs = fields.texts("needs", problems);
    let reach = fields.texts("runs-on", problems);
    let mut roles = fields.texts("roles", problems);
    let mut strict_only = fields.flag("strict-only", problems);
    let without_setup = fields.flag("no-setup", problems);
    let stands_alone = fields.flag("counts-without-twin", problems);
    let without_prerequisites = fields.flag("counts-without-prerequisites", problems);
    let twin_first = fields.flag("twin-first", problems);
    let ends_target = fields.flag("ends-target", problems);
    let _ = fields.take("for-each");
    let bindings = read_bindings(&mut fields, "let", problems);
    let mut number = 0;
    let written = fields.list("steps", problems);
    let steps = read_steps(written, &mut number, problems);
    let last_edited = steps.iter().rposition(Step::has_edits);
    let twin_key = last_edited.map(|last| twin::key(node, &written[..written.len().min(last + 1)]));
    let span = fields.span().clone();
    fields.finish(problems);
    let mut name = name?;
    if !is_id(&name) {
        problems.note(
            Diagnostic::new(&name.span, format!("invalid case id `{}`", *name))
                .hint("name what the target does, in lower case with hyphens: rejects-missing-title"),
        );
    }
    let mut about = about.map(|text| text.value);
    if let Some(row) = row {
        let row = row?;
        name.value = format!("{}[{}]", name.value, row.name.value);
        name.span = row.name.span;
        about = row.about.or(about);
        covers.extend(row.covers);
        needs.extend(row.needs);
        roles.extend(row.roles);
        strict_only |= row.strict_only;
    }
    if covers.is_empty() {
        problems
            .note(Diagnostic::new(&name.span, "the case covers no requirement").hint("name its ids under `covers`"));
    }
    if steps.is_empty() {
        problems.note(Diagnostic::new(&name.span, "the case has no steps"));
    }
    [&mut needs, &mut roles].into_iter().for_each(Vec::shrink_to_fit);
    covers.shrink_to_fit();
    Some(Case {
        name,
        about: about.unwrap_or_default(),
        covers,
        needs,
        reach,
        roles,
        strict_only,
        without_setup,
        stands_alone,
        without_prerequisites,
        twin_first,
        ends_target,
        twin_key,
        bindings,
        steps,
        span,
    })
}

fn is_id(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Reads a map of names and expressions.
pub(super) fn read_bindings(
    fields: &mut Fields<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Vec<(Located<String>, Expr)> {
    let Some(node) = fields.take(key) else { return Vec::new() };
    let Yaml::Map(members) = &node.value else {
        problems
            .note(Diagnostic::new(&node.span, format!("`{key}` is a map from names to values, not {}", node.kind())));
        return Vec::new();
    };
    members
        .iter()
        .map(|(name, value)| {
            (Located { value: name.name.clone(), span: name.span.clone() }, Expr::read(value, problems))
        })
        .collect()
}

/// Reads a list of steps, numbering them from `number` on.
pub(super) fn read_steps(nodes: &[Node], number: &mut usize, problems: &mut Problems) -> Vec<Step> {
    exact(nodes.iter().filter_map(|node| read_step(node, number, problems)))
}

/// A vector without spare room. A suite has tens of thousands of short ones, and room for four elements is the least that
/// a growing one takes.
fn exact<T>(elements: impl Iterator<Item = T>) -> Vec<T> {
    let mut elements: Vec<T> = elements.collect();
    elements.shrink_to_fit();
    elements
}

fn read_step(node: &Node, number: &mut usize, problems: &mut Problems) -> Option<Step> {
    let own_number = *number;
    *number += 1;
    let mut fields = Fields::new(node, &STEP, problems);
    let span = fields.span().clone();
    let actor = fields.text("as", problems).unwrap_or_else(|| Located { value: "a".to_owned(), span: span.clone() });
    let operation = fields.text("send", problems);
    let request = fields.take("request");
    let parallel = fields.list("parallel", problems);
    let pause = read_time(&mut fields, "pause", problems);
    let with = read_bindings(&mut fields, "with", problems);
    let headers = read_bindings(&mut fields, "headers", problems);
    let headers = headers.into_iter().map(|(name, value)| (name.value, value)).collect::<Vec<_>>();
    let edits = exact(fields.list("edit", problems).iter().filter_map(|edit| Edit::read(edit, problems)));
    let layout =
        fields.text("layout", problems).filter(|word| {
            let known = LAYOUTS.iter().any(|(layout, _)| *layout == word.value);
            if !known {
                problems.note(Diagnostic::new(&word.span, format!("unknown layout `{}`", **word)).hint(format!(
                    "one of {}",
                    LAYOUTS.iter().map(|(layout, _)| *layout).collect::<Vec<_>>().join(", ")
                )));
            }
            known
        });
    let over = match (fields.take("for"), fields.number("repeat", problems)) {
        (Some(node), None) => Some(Expr::read(node, problems)),
        (None, Some(count)) => {
            let indices = (0..count.value.min(10_000)).map(Value::from).collect();
            Some(Expr::Constant(Value::Array(indices)))
        }
        (None, None) => None,
        (Some(node), Some(_)) => {
            problems.note(Diagnostic::new(&node.span, "a step has `for` or `repeat`, not both"));
            None
        }
    };
    let at_once = fields.flag("concurrent", problems);
    let advance = read_time(&mut fields, "advance", problems);
    let until = read_time(&mut fields, "until", problems).map(Box::new);
    let settle = read_time(&mut fields, "collect-for", problems).map(Box::new);
    let sweep = fields.flag("sweep", problems);
    let without_waiting = fields.flag("no-wait", problems);
    let quiet = read_time(&mut fields, "quiet", problems).map(Box::new);
    let assume = read_expectations(fields.list("assume", problems), problems);
    let expect = read_expectations(fields.list("expect", problems), problems);
    let expect_all = read_expectations(fields.list("expect-all", problems), problems);
    let capture = read_capture(&mut fields, problems);
    let must_answer = fields.flag("must-answer", problems);
    let receive = read_receive(&mut fields, problems);
    let correlate = fields.list("correlate", problems).iter().map(|node| Expr::read(node, problems)).collect();
    let optional = fields.flag("optional", problems);
    fields.finish(problems);
    let mut actions = Vec::new();
    if let Some(by) = advance {
        actions.push(Action::Advance { by, with: with.clone() });
    }
    if let Some(operation) = operation {
        actions.push(Action::Send { operation, with, headers, edits, layout });
    }
    if let Some(node) = request {
        actions.extend(read_request(node, problems));
    }
    if !parallel.is_empty() {
        actions.push(Action::Parallel(read_steps(parallel, number, problems)));
    }
    actions.extend(pause.map(Action::Pause));
    if sweep {
        actions.push(Action::Sweep);
    }
    actions.extend(receive.map(Action::Receive));
    if actions.len() != 1 {
        problems.note(
            Diagnostic::new(&span, format!("a step does one thing, not {}", actions.len()))
                .hint(format!("one of {}", STEP.choice.list())),
        );
        return None;
    }
    Some(Step {
        actor,
        action: actions.pop()?,
        over: over.map(Box::new),
        at_once,
        until,
        quiet,
        settle,
        without_waiting,
        assume,
        expect,
        expect_all,
        capture,
        correlate,
        must_answer,
        optional,
        number: own_number,
        span,
    })
}

fn read_capture(fields: &mut Fields<'_>, problems: &mut Problems) -> Vec<(Located<String>, Path)> {
    read_bindings(fields, "capture", problems)
        .into_iter()
        .filter_map(|(name, expr)| {
            let text = expr.constant().and_then(|value| value.as_text().map(str::to_owned));
            let Some(text) = text else {
                problems.note(Diagnostic::new(&name.span, "a capture is a name and a path"));
                return None;
            };
            read_path(&text, &name.span, problems).map(|path| (name, path))
        })
        .collect()
}

/// Reads a step that receives a message at a host.
fn read_receive(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Receive> {
    let host = fields.text("receive", problems);
    let count = fields.number("count", problems);
    let within = read_time(fields, "within", problems);
    let selects = read_expectations(fields.list("where", problems), problems);
    let fence = read_expectations(fields.list("fence", problems), problems);
    let reply = fields.take("reply");
    let Some(host) = host else {
        let misplaced = [
            ("count", count.as_ref().map(|count| &count.span)),
            ("within", within.as_ref().map(|within| &within.span)),
            ("where", selects.first().map(|expectation| &expectation.span)),
            ("fence", fence.first().map(|expectation| &expectation.span)),
            ("reply", reply.map(|node| &node.span)),
        ];
        for (key, span) in misplaced {
            if let Some(span) = span {
                problems.note(Diagnostic::new(span, format!("`{key}` belongs to a step with `receive`")));
            }
        }
        return None;
    };
    let count = count.map_or(1, |count| count.value);
    if let Some(first) = fence.first().filter(|_| count > 0) {
        problems.note(
            Diagnostic::new(&first.span, "`fence` applies only where no message is expected").hint("add `count: 0`"),
        );
    }
    let reply = reply.and_then(|node| read_reply(node, problems));
    Some(Receive { host, count, within, selects, fence, reply })
}

/// Reads the reply of a host.
pub(super) fn read_reply(node: &Node, problems: &mut Problems) -> Option<HostReplyPlan> {
    let mut fields = Fields::new(node, &REPLY, problems);
    let status = fields.number("status", problems);
    let headers = read_bindings(&mut fields, "headers", problems);
    let body = read_body(&mut fields, problems);
    let silence = fields.flag("silence", problems);
    let close = fields.flag("close", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    let answers = status.is_some() || !headers.is_empty() || body.is_some();
    if [answers, silence, close].into_iter().filter(|one| *one).count() > 1 {
        problems.note(Diagnostic::new(&span, "a reply is an answer, `silence` or `close`"));
        return None;
    }
    if silence {
        return Some(HostReplyPlan::Silence);
    }
    if close {
        return Some(HostReplyPlan::Close);
    }
    let code = status.as_ref().map_or(200, |status| status.value);
    let Some(code) = u16::try_from(code).ok().filter(|code| (200..600).contains(code)) else {
        problems.note(Diagnostic::new(&status.map_or(span, |status| status.span), format!("invalid status {code}")));
        return None;
    };
    let headers = headers.into_iter().map(|(name, value)| (name.value, value)).collect();
    Some(HostReplyPlan::Message { status: code, headers, body })
}

/// Reads a body: at most one of `json`, `body`, `text` and `hex`.
fn read_body(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<RequestBody> {
    let json = fields.take("json").map(|node| RequestBody::Value(Expr::json(node, problems)));
    let body = fields.take("body").map(|node| RequestBody::Value(Expr::read(node, problems)));
    let text = fields.text("text", problems).map(|text| RequestBody::Bytes(text.value.into_bytes()));
    let hex = fields.text("hex", problems).and_then(|hex| {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes());
        if let Err(error) = &bytes {
            problems.note(Diagnostic::new(&hex.span, format!("invalid hex: {error}")));
        }
        bytes.ok().map(RequestBody::Bytes)
    });
    json.or(body).or(text).or(hex)
}

fn read_request(node: &Node, problems: &mut Problems) -> Option<Action> {
    let mut fields = Fields::new(node, &REQUEST, problems);
    let base = fields.text("base", problems).map(|text| text.value);
    let method = fields.required_text("method", problems);
    let path = fields.take("path").map(|node| Expr::read(node, problems));
    let headers = read_bindings(&mut fields, "headers", problems);
    let body = read_body(&mut fields, problems);
    fields.finish(problems);
    Some(Action::Request {
        base,
        method: method?.value,
        path: path?,
        headers: headers.into_iter().map(|(name, value)| (name.value, value)).collect(),
        body,
    })
}

/// Reads `250ms`, `5s` or `2m`, or the name of a time in the manifest.
fn read_time(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<Located<TimeSpan>> {
    let text = fields.text(key, problems)?;
    let value = match crate::target::parse_duration(&text) {
        Some(duration) => TimeSpan::Fixed(duration),
        None if is_id(&text) && text.starts_with(|first: char| first.is_ascii_lowercase()) => {
            TimeSpan::Named(text.value.clone())
        }
        None => {
            problems.note(Diagnostic::new(&text.span, format!("invalid duration `{}`", *text)).hint(
                "expected a number with ms, s or m, such as 250ms or 5s, or a name under `timeouts` of the manifest",
            ));
            return None;
        }
    };
    Some(Located { value, span: text.span })
}

/// Reads a list of expectations.
pub(super) fn read_expectations(nodes: &[Node], problems: &mut Problems) -> Vec<Expectation> {
    exact(nodes.iter().filter_map(|node| read_expectation(node, problems)))
}

fn read_expectation(node: &Node, problems: &mut Problems) -> Option<Expectation> {
    let mut fields = Fields::new(node, &EXPECTATION, problems);
    let span = fields.span().clone();
    let at = fields.text("at", problems).unwrap_or_else(|| Located { value: String::new(), span: span.clone() });
    let path = read_path(&at, &at.span, problems)?;
    let covers = read_clauses(&mut fields, "covers", problems);
    let strict_only = fields.flag("strict-only", problems);
    let note = fields.text("note", problems);
    let of = fields.take("of").map(|node| Expr::read(node, problems));
    let rest = fields.rest();
    let [(key, argument)] = rest.as_slice() else {
        let names: Vec<_> = rest.iter().map(|(key, _)| key.name.as_str()).collect();
        let message = match names.as_slice() {
            [] => "the expectation has no matcher".to_owned(),
            _ => format!("the expectation has {} matchers: {}", names.len(), names.join(", ")),
        };
        problems.note(
            Diagnostic::new(&span, message)
                .hint("an expectation has `at`, one matcher, and may have covers, strict-only, note"),
        );
        return None;
    };
    Some(Expectation {
        at: Located { value: path, span: at.span },
        of,
        matcher: Located { value: key.name.clone(), span: key.span.clone() },
        argument: Expr::read(argument, problems),
        node: (*argument).clone(),
        covers,
        strict_only,
        note: note.map(|text| text.value).unwrap_or_default(),
        span,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Suite, Vec<Diagnostic>> {
        read_suite(&Arc::new(Source { name: "s.yaml".into(), text: text.to_owned().into() }))
    }

    const GOOD: &str = "
suite: p/area
cases:
  - case: refuses-a-bad-member
    covers: [P-0]
    for-each:
      - { row: no-title, covers: [P-1], edit: [{ remove: /title }], status: 400 }
      - { row: bad-title, covers: [P-2], strict-only: true, edit: [{ set: /title, to: 5 }], status: 422 }
    steps:
      - send: deposit
        with: { package: { base: min } }
        edit: '${row.edit}'
        expect:
          - { at: /status, equals: '${row.status}' }
";

    #[test]
    fn cases_that_send_the_same_without_their_edits_have_the_same_twin() {
        let keys = |text: &str| read(text).unwrap().cases.iter().map(|case| case.twin_key).collect::<Vec<_>>();
        let two = keys(GOOD);
        assert!(two[0].is_some() && two[0] == two[1]);
        let expected = GOOD.replace("status: 422", "status: 400").replace("covers: [P-0]", "covers: [P-9]");
        assert_eq!(keys(&expected), two, "what is expected is not sent");
        assert_ne!(keys(&GOOD.replace("base: min", "base: max")), two);
        let later = GOOD.replace("    steps:", "    let: { word: '${row.status}' }\n    steps:");
        let [first, second] = keys(&later)[..] else { panic!("two cases") };
        assert_ne!(first, second, "a name may be used in a message");
        let repeated =
            keys(&GOOD.replace("        edit: '${row.edit}'", "        edit: '${row.edit}'\n        until: 1s"));
        assert_ne!(repeated[0], repeated[1], "what is expected decides how often the step is repeated");
        let after =
            keys(&format!("{GOOD}      - send: deposit\n        with: {{ package: {{ base: '${{row.row}}' }} }}\n"));
        assert_eq!(after, two, "steps after the last edit are not of the twin");
        let unedited = GOOD
            .replace("edit: [{ remove: /title }]", "about: a")
            .replace("edit: [{ set: /title, to: 5 }]", "about: b");
        assert_eq!(keys(&unedited.replace("        edit: '${row.edit}'\n", "")), [None, None]);
    }

    #[test]
    fn a_table_gives_one_case_a_row() {
        let suite = read(GOOD).unwrap();
        let names: Vec<_> = suite.cases.iter().map(|case| case.name.value.as_str()).collect();
        assert_eq!(names, ["refuses-a-bad-member[no-title]", "refuses-a-bad-member[bad-title]"]);
        assert_eq!(suite.cases[1].covers.len(), 2);
        assert!(suite.cases[1].strict_only && !suite.cases[0].strict_only);
        assert!(suite.cases[0].has_edits());
        assert_eq!(suite.cases[1].steps[0].expect[0].argument.constant(), Some(&crate::value::Value::Integer(422)));
    }

    #[test]
    fn every_mistake_is_reported_at_once_with_its_place() {
        let text = GOOD
            .replace("covers: [P-0]", "cover: [P-0]")
            .replace("remove: /title", "remove: title")
            .replace("at: /status", "att: /status");
        let problems = read(&text).unwrap_err();
        let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|line| line.starts_with("s.yaml:5:5: a case has no key `cover`")), "{shown:#?}");
        assert!(
            shown.iter().any(|line| line.starts_with("s.yaml:7:") && line.contains("invalid path `title`")),
            "{shown:#?}"
        );
        assert!(shown.iter().any(|line| line.starts_with("s.yaml:14:")), "{shown:#?}");
    }

    #[test]
    fn a_row_without_a_referenced_value_is_reported() {
        let problems = read(&GOOD.replace(", status: 422", "")).unwrap_err();
        assert!(problems[0].to_string().contains("the row has no `status`"), "{problems:?}");
    }

    #[test]
    fn a_value_of_a_row_that_no_case_uses_is_reported() {
        let with = |more: &str| GOOD.replace("status: 422", &format!("status: 422, {more}"));
        for (more, hint) in [("statu: 1", "use it as"), ("need: facts", "did you mean `needs`?")] {
            let problems = read(&with(more)).unwrap_err();
            let name = more.split_once(':').unwrap().0;
            let [one] = &problems[..] else { panic!("{problems:#?}") };
            assert!(one.to_string().contains(&format!("no case uses `{name}` of this row")), "{one}");
            assert!(one.hint.as_deref().is_some_and(|text| text.contains(hint)), "{one:?}");
        }
        // Cases that share rows use some of their values each.
        let shared = |used: &str| {
            format!(
                "suite: p/a\ncases:\n  - case: one\n    covers: [P-0]\n    for-each: &rows\n      - {{ row: x, a: 1, b: 2 }}\n    \
                 steps: [{{ send: s, with: {{ v: '${{row.a}}' }} }}]\n  - case: two\n    covers: [P-0]\n    for-each: *rows\n    \
                 steps: [{{ send: s, with: {{ v: '{used}' }} }}]\n"
            )
        };
        assert!(read(&shared("${row.b}")).is_ok());
        assert_eq!(read(&shared("x ${row.b} y")).map_err(|problems| problems.len()).err(), None);
        assert_eq!(read(&shared("${row.a}")).unwrap_err().len(), 1, "a value is reported once");
    }

    #[test]
    fn an_empty_suite_is_an_error() {
        assert!(read("suite: p/a\ncases: []\n").is_err());
    }
}
