//! Adapter protocol rules: whether a program follows JSON-RPC 2.0, one object per line (DESIGN section 4), independent of what
//! its library does.
//!
//! Each rule is checked in its own conversation with its own process, so that one bad answer does not affect the others.
//! Start with [`RULES`], then [`check`].

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;

use crate::protocol::{self, Protocol};
use crate::transport::lines::{Conversation, ProgramOutput};
use crate::value::Value;
use crate::wire::json;

/// Requests that are written without waiting for an answer in between.
const PIPELINED: usize = 64;

/// Bytes of the text in a large request: larger than any buffer, smaller than the largest package.
const LARGE: usize = 4 << 20;

/// Bytes of an answer that are read.
const LIMIT: usize = 32 << 20;

/// How long the adapter must stay silent where no request was sent.
const QUIET: Duration = Duration::from_millis(300);

/// A rule that every adapter must follow.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What a well-behaved adapter does.
    pub rule: &'static str,
    /// A hint for an adapter that breaks the rule.
    pub advice: &'static str,
    check: for<'a> fn(&'a Adapter) -> RuleCheck<'a>,
}

/// A future that checks a rule: `Err` is the observation that breaks it.
type RuleCheck<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// The result of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name.
    pub name: &'static str,
    /// What a well-behaved adapter does.
    pub rule: &'static str,
    /// Whether the adapter follows the rule.
    pub kept: bool,
    /// The observation that breaks the rule.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub observed: String,
    /// A hint.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub advice: &'static str,
}

/// The program under test.
pub struct Adapter {
    /// Its command and arguments.
    pub command: Vec<String>,
    /// How long each answer may take.
    pub patience: Duration,
}

macro_rules! rule {
    ($name:literal, $rule:literal, $advice:literal, $check:expr) => {
        Rule { name: $name, rule: $rule, advice: $advice, check: |adapter| Box::pin($check(adapter)) }
    };
}

/// Every rule, in the order in which they are checked.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!("silent-before-first-request", "Nothing is written to standard output before the first request.",
        "Write banners and logs to standard error.", silent_before_first_request),
    rule!("describes-itself", "`describe` is answered with `name`, `version`, `protocols` and `operations`.",
        "Answer `describe` with an object of these members; `name` and `version` are strings, the others lists of strings.", describes_itself),
    rule!("answers-in-form", "An answer is one line with one JSON object: `jsonrpc` \"2.0\", the id, and either `result` or `error`.",
        "Write exactly one of `result` and `error`, and no line end inside the object.", answers_in_the_form),
    rule!("returns-ids-unchanged", "An answer has the id of the request with the same JSON type: number or string.",
        "Copy the id as a JSON value.", gives_back_ids),
    rule!("rejects-unknown-methods", "An unknown method is answered with error -32601.",
        "This is how an operation is declared unsupported; any other error is a failure of the library.", refuses_unknown_methods),
    rule!("offers-described-operations", "A call of an operation that `describe` lists is not answered with -32601.",
        "Do not list operations that the library does not have.", offers_what_it_describes),
    rule!("rejects-undescribed-operations", "An operation of the protocol that `describe` does not list is answered with -32601.",
        "List in `operations` everything that is answered.", hides_what_it_does_not_offer),
    rule!("survives-invalid-json", "A line that is not JSON is answered with error -32700 and the id null, and the next request is answered as usual.",
        "Catch the parser's error, answer it, and continue with the next line.", survives_invalid_json),
    rule!("survives-invalid-requests", "JSON that is not a request is answered with error -32600 or -32602, and the next request is answered as usual.",
        "Check that the line is an object with a text `method` before dispatching.", survives_invalid_requests),
    rule!("survives-bad-parameters", "Parameters that are not an object are answered with error -32602 or -32600, and the next request is answered as usual.",
        "Check that `params` is an object; catch exceptions of the library.", survives_bad_parameters),
    rule!("keeps-order", "Requests that are written at once are answered in order, each exactly once.",
        "Answer one request after the other, and flush after each answer.", keeps_order),
    rule!("accepts-large-requests", "A request of four megabytes is answered, with a result or an error, and the next request is answered as usual.",
        "Read whole lines, however long, and do not write while the request is still being read.", takes_large_requests),
    rule!("accepts-requests-in-pieces", "A request that arrives in pieces is answered once it is complete.",
        "Read up to the line end, not the bytes of a single read.", takes_requests_in_pieces),
    rule!("accepts-non-ascii-text", "Text outside ASCII, including U+2028 and escapes, does not split or corrupt a line.",
        "Read and write UTF-8, and split lines at U+000A only.", takes_text_of_any_script),
    rule!("is-silent-on-notifications", "A request without an id is not answered.",
        "Write nothing if the request has no id.", is_silent_on_notifications),
    rule!("can-be-restarted", "A second instance returns the same description.",
        "Keep no state outside the process, such as a lock file or a port.", can_be_started_again),
    rule!("exits-at-end-of-input", "When standard input is closed, the adapter exits with code 0 and writes nothing more.",
        "Leave the loop at the end of standard input.", ends_with_its_input),
];

/// What an adapter says about itself: the protocols that it speaks, of those that proofmark supports, and its methods.
///
/// # Errors
/// Says why `describe` cannot be used.
pub async fn described(adapter: &Adapter) -> Result<(Vec<&'static dyn Protocol>, Vec<String>), String> {
    description(&mut Session::start(adapter)?).await
}

/// Checks every rule.
pub async fn check(adapter: &Adapter) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        let observed = (rule.check)(adapter).await.err().unwrap_or_default();
        let kept = observed.is_empty();
        let advice = if kept { "" } else { rule.advice };
        findings.push(Finding { name: rule.name, rule: rule.rule, kept, observed, advice });
    }
    findings
}

/// A conversation with one process of the adapter.
struct Session<'a> {
    adapter: &'a Adapter,
    conversation: Conversation,
}

impl<'a> Session<'a> {
    fn start(adapter: &'a Adapter) -> Result<Self, String> {
        Ok(Self { adapter, conversation: Conversation::start(&adapter.command)? })
    }

    /// Writes a line and reads the answer.
    async fn ask(&mut self, line: &str) -> Result<Value, String> {
        let bytes = format!("{line}\n").into_bytes();
        let mut outputs = self.conversation.exchange_lines(&bytes, 1, LIMIT, self.adapter.patience).await;
        let output = outputs.pop().unwrap_or(ProgramOutput::Timeout);
        self.read(output).await
    }

    /// Reads a line as an answer.
    async fn read(&mut self, output: ProgramOutput) -> Result<Value, String> {
        match output {
            ProgramOutput::Line(line) => {
                json::parse(&line).map_err(|error| format!("a line that is not JSON ({error}): {}", shown(&line)))
            }
            ProgramOutput::TooLong => Err(format!("a line of more than {LIMIT} bytes")),
            ProgramOutput::Timeout => Err(format!("no answer within {:?}", self.adapter.patience)),
            ProgramOutput::End => Err(match self.conversation.ended().await {
                Some(status) => format!("the adapter exited ({status})"),
                None => "the adapter closed its standard output".to_owned(),
            }),
        }
    }

    /// Checks that it still answers `describe`.
    async fn still_answers(&mut self, after: &str) -> Result<(), String> {
        let answer = self.ask(&describe(97)).await.map_err(|why| format!("after {after}: {why}"))?;
        let id = answer.member("id").and_then(Value::as_integer);
        if id == Some(97) { Ok(()) } else { Err(format!("after {after}, the next request got {}", brief(&answer))) }
    }

    /// Expects an error with one of the codes, and a null id if the id of the request could not be read.
    async fn refused(&mut self, line: &str, codes: &[i128], null_id: bool) -> Result<(), String> {
        let what = shown(line.as_bytes());
        let answer = self.ask(line).await.map_err(|why| format!("the answer to {what}: {why}"))?;
        let code = answer.member("error").and_then(|error| error.member("code")).and_then(Value::as_integer);
        let id_is_null = answer.member("id") == Some(&Value::Null);
        if !code.is_some_and(|code| codes.contains(&code)) || (null_id && !id_is_null) {
            return Err(format!("the answer to {what} is {}", brief(&answer)));
        }
        self.still_answers(&what).await
    }

    async fn quiet(&mut self, when: &str) -> Result<(), String> {
        match self.conversation.read_line(LIMIT, QUIET).await {
            ProgramOutput::Timeout => Ok(()),
            ProgramOutput::Line(line) => Err(format!("{when} the adapter writes {}", shown(&line))),
            other => Err(format!("{when}: {}", self.read(other).await.err().unwrap_or_default())),
        }
    }
}

fn request(id: u64, method: &str, params: Value) -> String {
    json::compact(&Value::map([
        ("jsonrpc", Value::text("2.0")),
        ("id", Value::from(id)),
        ("method", Value::text(method)),
        ("params", params),
    ]))
}

fn describe(id: u64) -> String {
    request(id, "describe", Value::map::<&str>([]))
}

fn empty() -> Value {
    Value::map::<&str>([])
}

/// A line, safe to print.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let short: String = text.chars().take(100).flat_map(char::escape_debug).collect();
    let rest = if text.chars().count() > 100 { "..." } else { "" };
    format!("`{short}{rest}` ({} bytes)", line.len())
}

fn brief(value: &Value) -> String {
    shown(json::compact(value).as_bytes())
}

/// What is wrong with the form of an answer to the request with `id`.
fn fault_in_form(answer: &Value, id: &Value) -> Option<&'static str> {
    let error = answer.member("error").filter(|error| **error != Value::Null);
    let result = answer.member("result").is_some();
    if answer.as_map().is_none() {
        Some("the answer is not an object")
    } else if answer.member("jsonrpc").and_then(Value::as_text) != Some("2.0") {
        Some("`jsonrpc` is not \"2.0\"")
    } else if !answer.member("id").is_some_and(|found| found.same_as(id)) {
        Some("the id differs from that of the request")
    } else if result == error.is_some() {
        Some("the answer does not have exactly one of `result` and `error`")
    } else if error.is_some_and(|error| {
        error.member("code").and_then(Value::as_integer).is_none()
            || error.member("message").and_then(Value::as_text).is_none()
    }) {
        Some("`error` needs an integer `code` and a string `message`")
    } else {
        None
    }
}

/// The names in a list, or of a map.
fn names(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::Array(items) => items.iter().map(|item| item.as_text().map(str::to_owned)).collect(),
        Value::Map(members) => members.iter().map(|(name, _)| name.as_text().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// The protocols and operations of an adapter, read with the methods of the binding if it has no `describe`.
async fn description(session: &mut Session<'_>) -> Result<(Vec<&'static dyn Protocol>, Vec<String>), String> {
    let answer = session.ask(&describe(1)).await?;
    let result = answer.member("result").ok_or_else(|| format!("the answer to `describe` is {}", brief(&answer)))?;
    for name in ["name", "version"] {
        if result.member(name).and_then(Value::as_text).is_none_or(str::is_empty) {
            return Err(format!("the result of `describe` has no string `{name}`: {}", brief(result)));
        }
    }
    let protocols = names(result.member("protocols"))
        .ok_or_else(|| format!("the result of `describe` has no list `protocols`: {}", brief(result)))?;
    let operations = names(result.member("operations"))
        .ok_or_else(|| format!("the result of `describe` has no list `operations`: {}", brief(result)))?;
    let known: Vec<_> = protocols.iter().filter_map(|slug| protocol::find(slug)).collect();
    if known.is_empty() {
        let slugs: Vec<_> = protocol::ALL.iter().map(|protocol| protocol.slug()).collect();
        return Err(format!(
            "`protocols` names no supported protocol ({}): {}",
            slugs.join(", "),
            protocols.join(", ")
        ));
    }
    Ok((known, operations))
}

async fn silent_before_first_request(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    // Programs in some languages write unexpected output only after a moment.
    match session.conversation.read_line(LIMIT, Duration::from_secs(1)).await {
        ProgramOutput::Timeout => session.still_answers("the start").await,
        ProgramOutput::Line(line) => Err(format!("before the first request the adapter writes {}", shown(&line))),
        other => Err(session.read(other).await.err().unwrap_or_default()),
    }
}

async fn describes_itself(adapter: &Adapter) -> Result<(), String> {
    description(&mut Session::start(adapter)?).await.map(drop)
}

async fn answers_in_the_form(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    for (id, line) in [(1, describe(1)), (2, request(2, "proofmark/no-such-method", empty()))] {
        let answer = session.ask(&line).await?;
        if let Some(fault) = fault_in_form(&answer, &Value::from(id)) {
            return Err(format!("{fault}: {}", brief(&answer)));
        }
    }
    session.quiet("after the last answer").await
}

async fn gives_back_ids(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let ids = [
        Value::from(0_u64),
        Value::from(9_007_199_254_740_991_u64),
        Value::text("id-7"),
        Value::text("7"),
        Value::text("é\u{2028}\""),
    ];
    for id in ids {
        let line = json::compact(&Value::map([
            ("jsonrpc", Value::text("2.0")),
            ("id", id.clone()),
            ("method", Value::text("describe")),
            ("params", empty()),
        ]));
        let answer = session.ask(&line).await?;
        let found = answer.member("id");
        if found.is_none_or(|found| !found.same_as(&id) || found.type_name() != id.type_name()) {
            return Err(format!("the id {} is answered with {}", json::compact(&id), brief(&answer)));
        }
    }
    Ok(())
}

async fn refuses_unknown_methods(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let near = protocol::ALL.iter().map(|protocol| format!("{}/no_such_operation", protocol.slug()));
    let far = ["proofmark/no-such-method", "", "__proto__", "rpc.discover", "constructor"].map(str::to_owned);
    for method in near.chain(far) {
        session.refused(&request(5, &method, empty()), &[-32601], false).await?;
    }
    Ok(())
}

async fn offers_what_it_describes(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let (protocols, operations) = description(&mut session).await?;
    let methods = methods(&protocols);
    for name in operations.iter().filter(|name| methods.contains(&name.as_str())) {
        // The call lacks parameters, so any answer but -32601 shows that the method exists.
        let answer = session
            .ask(&request(6, name, empty()))
            .await
            .map_err(|why| format!("the answer to `{name}` without parameters: {why}"))?;
        let code = answer.member("error").and_then(|error| error.member("code")).and_then(Value::as_integer);
        if code == Some(-32601) {
            return Err(format!("`describe` lists `{name}`, but a call is answered with {}", brief(&answer)));
        }
    }
    Ok(())
}

fn methods(protocols: &[&'static dyn Protocol]) -> Vec<&'static str> {
    let operations = protocols.iter().flat_map(|protocol| protocol.operations());
    operations.filter_map(|operation| operation.method.as_ref()).map(|method| method.name).collect()
}

async fn hides_what_it_does_not_offer(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let (protocols, operations) = description(&mut session).await?;
    for name in methods(&protocols).into_iter().filter(|name| !operations.iter().any(|known| known == name)) {
        let answer =
            session.ask(&request(6, name, empty())).await.map_err(|why| format!("the answer to `{name}`: {why}"))?;
        let code = answer.member("error").and_then(|error| error.member("code")).and_then(Value::as_integer);
        // A greeting under the protocol's own name has the same content as `describe`.
        if code != Some(-32601) && !name.ends_with("/hello") {
            return Err(format!("`describe` does not list `{name}`, but a call is answered with {}", brief(&answer)));
        }
    }
    Ok(())
}

async fn survives_invalid_json(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    for line in ["this is not JSON", "{\"jsonrpc\":\"2.0\",\"id\":1,", "{'id':1}", "\u{0}\u{1}"] {
        session.refused(line, &[-32700], true).await?;
    }
    Ok(())
}

async fn survives_invalid_requests(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    for line in [
        "5",
        "null",
        "\"describe\"",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"id\":4}",
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}",
    ] {
        // An object without an id may be taken for a notification, which gets no answer (JSON-RPC 2.0 section 4.1).
        if line == "{}" {
            let bytes = format!("{line}\n{}\n", describe(97)).into_bytes();
            let outputs =
                session.conversation.exchange_lines(&bytes, 2, LIMIT, session.adapter.patience.min(QUIET * 4)).await;
            let answers = outputs.into_iter().filter_map(|output| match output {
                ProgramOutput::Line(line) => json::parse(&line).ok(),
                _ => None,
            });
            let ids: Vec<_> = answers.map(|answer| answer.member("id").cloned()).collect();
            if ids.last() != Some(&Some(Value::from(97_u64))) {
                return Err("the request after `{}` is not answered".to_owned());
            }
            continue;
        }
        session.refused(line, &[-32600, -32602, -32700], false).await?;
    }
    Ok(())
}

async fn survives_bad_parameters(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let (protocols, operations) = description(&mut session).await?;
    let known = methods(&protocols);
    let named = operations
        .iter()
        .find(|name| known.contains(&name.as_str()) && !name.ends_with("/hello") && !name.ends_with("/open"));
    let Some(name) = named else { return Ok(()) };
    for params in [Value::text("x"), Value::from(5_u64), Value::array([Value::Null]), Value::Bool(true)] {
        session.refused(&request(8, name, params), &[-32602, -32600], false).await?;
    }
    let odd = Value::map([("json_hex", Value::text("zz")), ("store", Value::map::<&str>([]))]);
    let answer = session.ask(&request(9, name, odd)).await?;
    match fault_in_form(&answer, &Value::from(9_u64)) {
        Some(fault) => Err(format!("the answer to parameters of the wrong types: {fault}: {}", brief(&answer))),
        None => session.still_answers("parameters of the wrong types").await,
    }
}

async fn keeps_order(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let line = |id: usize| {
        let method = if id.is_multiple_of(3) { "proofmark/no-such-method" } else { "describe" };
        request(id as u64, method, empty()) + "\n"
    };
    let lines: String = (1..=PIPELINED).map(line).collect();
    let outputs = session.conversation.exchange_lines(lines.as_bytes(), PIPELINED, LIMIT, adapter.patience).await;
    for (position, output) in outputs.into_iter().enumerate() {
        let answer =
            session.read(output).await.map_err(|why| format!("answer {} of {PIPELINED}: {why}", position + 1))?;
        if answer.member("id").and_then(Value::as_integer) != Some(position as i128 + 1) {
            return Err(format!("answer {} of {PIPELINED} is {}", position + 1, brief(&answer)));
        }
    }
    session.quiet("after the last answer").await
}

async fn takes_large_requests(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let large = || Value::map([("padding", Value::text("x".repeat(LARGE)))]);
    for method in ["describe", "proofmark/no-such-method"] {
        let answer = session.ask(&request(11, method, large())).await?;
        if let Some(fault) = fault_in_form(&answer, &Value::from(11_u64)) {
            return Err(format!("{fault}: {}", brief(&answer)));
        }
    }
    session.still_answers("a large request").await
}

async fn takes_requests_in_pieces(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let line = describe(12) + "\n";
    let (first, rest) = line.split_at(line.len() / 2);
    if !session.conversation.write(first.as_bytes(), adapter.patience).await {
        return Err("the adapter does not read standard input".to_owned());
    }
    session.quiet("after half a request").await?;
    let answer = session.ask(rest.trim_end()).await?;
    fault_in_form(&answer, &Value::from(12_u64)).map_or(Ok(()), |fault| Err(format!("{fault}: {}", brief(&answer))))
}

async fn takes_text_of_any_script(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    for text in ["größe 長さ 🚀", "one\u{2028}two\u{2029}three\u{85}four", "\\u000a \\\\n", "\u{7f}\u{80}\u{a0}"]
    {
        let answer = session.ask(&request(13, "describe", Value::map([("note", Value::text(text))]))).await?;
        if let Some(fault) = fault_in_form(&answer, &Value::from(13_u64)) {
            return Err(format!(
                "the answer to a text such as {}: {fault}: {}",
                shown(text.as_bytes()),
                brief(&answer)
            ));
        }
    }
    session.quiet("after the last answer").await
}

async fn is_silent_on_notifications(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"describe\",\"params\":{}}";
    let bytes = format!("{line}\n{}\n", describe(14)).into_bytes();
    let outputs = session.conversation.exchange_lines(&bytes, 1, LIMIT, adapter.patience).await;
    let answer = session.read(outputs.into_iter().next().unwrap_or(ProgramOutput::Timeout)).await?;
    if answer.member("id").and_then(Value::as_integer) != Some(14) {
        return Err(format!("the notification {} is answered with {}", shown(line.as_bytes()), brief(&answer)));
    }
    Ok(())
}

async fn can_be_started_again(adapter: &Adapter) -> Result<(), String> {
    let mut first = Session::start(adapter)?;
    let one = first.ask(&describe(1)).await?;
    let mut second = Session::start(adapter)?;
    let two = second.ask(&describe(1)).await.map_err(|why| format!("while another instance runs: {why}"))?;
    if one.member("result").map(json::compact) != two.member("result").map(json::compact) {
        return Err(format!("the first instance returns {}, the second {}", brief(&one), brief(&two)));
    }
    Ok(())
}

async fn ends_with_its_input(adapter: &Adapter) -> Result<(), String> {
    let mut session = Session::start(adapter)?;
    session.ask(&describe(1)).await?;
    let (rest, status) = session.conversation.finish(LIMIT, adapter.patience).await;
    if let Some(ProgramOutput::Line(line)) = rest.first() {
        return Err(format!("after the end of standard input the adapter writes {}", shown(line)));
    }
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("the adapter exits with {status}")),
        None => Err(format!("the adapter is still running {:?} after the end of standard input", adapter.patience)),
    }
}
