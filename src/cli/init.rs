//! `init` and `new`: templates of target files, cases and fixtures.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::args::{DataOptions, InitOptions, NewOptions, NewWhat};
use super::data;
use super::exit::Failure;
use super::new_adapter;
use super::program::Program;
use crate::exchange::Transport;
use crate::plan::Knowledge;
use crate::protocol::{self, Input, Operation};
use crate::requirement::{Requirement, Testable};
use crate::suggest::nearest;
use crate::target::{self, Target};
use crate::template::{Clock, Scope, Seed, format_time, parse_time};
use crate::value::Value;
use crate::wire::json;

/// Width of a line of comment.
const WIDTH: usize = 78;

/// Writes a target file.
pub(super) fn run(options: &InitOptions, program: &Program) -> Result<u8, Failure> {
    let url = target::parse_url(&options.url)
        .map_err(|message| Failure::Usage(message, Some("such as http://127.0.0.1:8787".into())))?;
    let knowledge = one(&options.protocol, None, program)?;
    let text = target_file(&knowledge, url.as_str().trim_end_matches('/'));
    match &options.out {
        None => write!(anstream::stdout(), "{text}")?,
        Some(path) => write_new(path, &text)?,
    }
    Ok(0)
}

fn one(slug: &str, suites: Option<&Path>, program: &Program) -> Result<Knowledge, Failure> {
    let options =
        DataOptions { suites: suites.map(Path::to_owned), protocol: vec![slug.to_owned()], ..DataOptions::default() };
    let found = data::knowledge(&options, program)?.pop();
    found.ok_or_else(|| Failure::Internal(format!("no suites were loaded for `{slug}`")))
}

/// Writes a file that must not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let hint = exists.then(|| "the file is unchanged: remove it first, or name another file".to_owned());
        Failure::Usage(format!("cannot write {}: {error}", path.display()), hint)
    })?;
    writeln!(anstream::stdout(), "wrote {}", path.display())?;
    Ok(())
}

/// A target file with every key explained. Prose has a space after `#`; keys that can be enabled have none.
fn target_file(knowledge: &Knowledge, url: &str) -> String {
    let slug = knowledge.protocol.slug();
    let levels: Vec<_> = knowledge.manifest.levels.names().collect();
    let mut options = String::new();
    for feature in &knowledge.manifest.features {
        comment(&mut options, "    # ", &feature.about);
        let _ = writeln!(options, "#  {}: true", feature.name.value);
    }
    let mut settings = String::new();
    for setting in knowledge.protocol.settings() {
        comment(&mut settings, "    # ", setting.summary);
        let _ = writeln!(settings, "#  {}: {}", setting.name, setting.example);
    }
    if settings.is_empty() {
        settings.push_str("#  {}\n");
    }
    let mut places = String::new();
    for place in knowledge.protocol.places() {
        comment(&mut places, "    # ", place.summary);
        let _ = writeln!(places, "#  {}: {}", place.name, place.example);
    }
    if places.is_empty() {
        places.push_str("#  {}\n");
    }
    let mut names = String::new();
    for kind in knowledge.protocol.named_objects() {
        comment(&mut names, "    # ", kind.summary);
        let _ = writeln!(names, "#  {}: {}", kind.name, kind.example);
    }
    if names.is_empty() {
        names.push_str("#  {}\n");
    }
    let schemes = knowledge.protocol.url_schemes();
    let secure = schemes.iter().find(|scheme| scheme.transport == Transport::Tcp && scheme.tls);
    let secure = secure.map_or(String::new(), |scheme| format!(", or {}://HOST:PORT with TLS", scheme.name));
    let websocket = target::parse_url(url).ok().map(Target::endpoint).and_then(|mut target| {
        protocol::complete(knowledge.protocol, &mut target);
        target.channel.ws.path
    });
    let websocket = websocket.unwrap_or_else(|| "/ws".to_owned());
    let routed =
        knowledge.protocol.operations().iter().find_map(|operation| Some((operation, operation.route.as_ref()?)));
    let route = routed.map_or(String::new(), |(operation, route)| {
        format!("#  {}: {{ method: {}, path: \"{}\" }}\n", operation.name, route.method, route.path)
    });
    let top = levels.last().copied().unwrap_or_default();
    let levels = levels.join(", ");
    let kinds: Vec<_> = knowledge.manifest.kinds.iter().map(|kind| kind.name.value.as_str()).collect();
    let (kind, kinds) = (kinds.first().copied().unwrap_or("KIND"), kinds.join(", "));
    let roles: Vec<_> = knowledge.manifest.roles.iter().map(|role| role.name.value.as_str()).collect();
    let roles = roles.join(", ");
    format!(
        "# How proofmark connects to one implementation, and what the implementer claims.
# Use it with: proofmark check --target FILE
# Required are `protocol` and one of `url` and `adapter`; all else is optional.
# Remove the # in front of a key to enable it.

# The protocol of the target.
protocol: {slug}

# Base URL of its HTTP endpoint; the paths of operations are appended to it.
url: {url}

# Further base URLs by name, for operations with another base URL: set
# `base: NAME` in the route.
#urls:
#  admin: http://127.0.0.1:8789

# Other transports, if the protocol has them: the WebSocket endpoint if it is
# not at the usual path below the URL, and the TCP address
# (HOST:PORT{secure}).
#ws: ws://127.0.0.1:8080{websocket}
#tcp: 127.0.0.1:8081

# The transports to use [default: each that has an address].
#transports: [http, ws, tcp, adapter]

# Settings that the protocol defines; `file` reads JSON from a file.
# `proofmark list --what settings` prints them.
#settings:
{settings}
# Addresses of the peers that proofmark hosts for the target, if the protocol
# has any (`proofmark list --what hosts`): the address to bind, and the URL
# that the target uses [default: a free port].
#hosts:
#  peer: {{ listen: \"127.0.0.1:8931\", announce: \"http://127.0.0.1:8931\" }}

# Programs that prepare the target before a run: one empties its store, the
# other loads the fixture for read-only targets, whose file is its last
# argument.
#hooks: {{ reset: [./reset.sh], load: [./load.sh] }}

# URL of a second instance with separate state: data exported from one
# instance is imported into the other.
#second-instance: {url}

# A library instead of, or in addition to, an endpoint: the program that wraps
# it. It answers JSON-RPC 2.0 on stdin and stdout, one object per line.
#adapter: [python3, my_adapter.py]

# A directory, or with `git` a git work tree, in which the target and proofmark
# exchange files, if the protocol has operations on files.
#tree: {{ root: ../state, git: false }}

# The command that starts the target before a run; proofmark stops it after the
# run. `{{port}}` is a free port, here and in the addresses above.
#launch:
#  command: [./my_server, --port, \"{{port}}\"]
#  ready: {{ http: / }}

# Certificates (PEM) of authorities that are trusted besides those of the
# system, relative to this file. The environment variable SSL_CERT_FILE names a
# file that replaces those of the system.
#ca: test-ca.pem

# Timeouts of the protocol that differ for this target, by name.
#timeouts: {{}}

# Name of the target in reports.
#name: my implementation

# The level that you claim, or several [default: what the target declares].
# The levels are {levels}.
#level: {top}
#levels: [{top}]

# The kind of target, or several kinds: {kinds}
# [default: the first that is reachable with these addresses].
#kind: {kind}

# The roles that the target plays [default: all that its kind can play].
#roles: [{roles}]

# Optional features that the target has (true) or lacks (false); overrides what
# proofmark detects. A feature that proofmark cannot detect is off by default.
#features:
{options}
# Credentials of each party: proofmark plays the parties a and b. Secrets come
# from the environment (`env`) or from a file (`file`), and are never printed
# or stored. `prefix` is inserted before the secret.
#credentials:
#  a: {{ header: Authorization, env: TOKEN_A, prefix: \"Bearer \" }}
#  b: {{ header: X-Api-Key, file: token-b.txt }}

# Routes that differ from those of the specification, by operation. Keys that
# are left out (method, path, query, body, headers) keep their defaults. Inputs
# are written in braces (`proofmark list --what operations` prints them), and
# {{body}} is the body of the specification: body: {{ item: \"{{body}}\" }}.
#routes:
{route}
# Places of values in answers, tried before the usual ones: JSON Pointers into
# the body, or `header:NAME`.
#places:
{places}
# Names of members that differ from those of the protocol: the name of the
# protocol, and that of the target. The names themselves are then not judged.
#names:
{names}
# Status codes that the target uses instead of the specified one.
#statuses:
#  400: [422]

# Limits on time (ms, s, m), size and concurrency, with their defaults.
#limits:
    # Time for one answer, from the first byte sent to the last byte read.
#  request: 10s
    # Time for the first message on a connection without request and response.
#  reply: 5s
    # Time for further messages, after one that is not the expected answer.
#  collect-for: 1s
    # Time for one case, from its first step to its last.
#  case: 2m
    # Time for the whole run.
#  run: 15m
    # Tolerance for timestamps in answers, in both directions.
#  clock-skew: 5s
    # Maximum number of bytes that are read of one body.
#  body: 8388608
    # Number of cases that run concurrently.
#  jobs: 16

# Waivers: known failures, with the reason. A stale waiver, whose case or
# requirement passes, makes the run fail.
#waivers:
#  - case: \"{slug}/some-suite#some-case*\"
#    reason: issue 12
#  - requirement: {requirement}
#    reason: issue 13
",
        requirement =
            knowledge.catalogue.requirements.first().map_or("SOME-ID", |requirement| requirement.id.value.as_str()),
    )
}

/// Adds `text` as a comment, wrapped at [`WIDTH`].
fn comment(out: &mut String, prefix: &str, text: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && prefix.len() + line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{prefix}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(out, "{prefix}{line}");
    }
}

/// Writes a case or the fixture.
pub(super) fn new(options: &NewOptions, program: &Program) -> Result<u8, Failure> {
    let misplaced = match options.what {
        NewWhat::Case | NewWhat::Adapter if options.at.is_some() => Some("--at belongs to `proofmark new fixture`"),
        NewWhat::Fixture | NewWhat::Adapter if options.requirement.is_some() => {
            Some("--requirement belongs to `proofmark new case`")
        }
        NewWhat::Case | NewWhat::Fixture if options.language.is_some() => {
            Some("--language belongs to `proofmark new adapter`")
        }
        NewWhat::Case | NewWhat::Fixture if options.out.is_some() => Some("--out belongs to `proofmark new adapter`"),
        NewWhat::Case | NewWhat::Fixture | NewWhat::Adapter => None,
    };
    if let Some(what) = misplaced {
        return Err(Failure::usage(what));
    }
    let knowledge = one(&options.protocol, options.suites.as_deref(), program)?;
    let text = match options.what {
        NewWhat::Adapter => return new_adapter::write(options, knowledge.protocol),
        NewWhat::Case => {
            let id = options.requirement.as_deref().ok_or_else(|| {
                let hint = format!(
                    "give --requirement ID; `proofmark coverage --protocol {}` prints requirements without a case",
                    options.protocol
                );
                Failure::Usage("no requirement given".into(), Some(hint))
            })?;
            new_case(&knowledge, id)?
        }
        NewWhat::Fixture => {
            let at = match &options.at {
                None => i128::from(chrono::Utc::now().timestamp()) * 1_000_000_000,
                Some(text) => parse_time(text).ok_or_else(|| {
                    Failure::Usage(
                        format!("--at: invalid timestamp `{text}`"),
                        Some("such as 2026-01-02T03:04:05Z".into()),
                    )
                })?,
            };
            fixture(&knowledge, at)?
        }
    };
    write!(anstream::stdout(), "{text}")?;
    Ok(0)
}

fn new_case(knowledge: &Knowledge, id: &str) -> Result<String, Failure> {
    let requirement = knowledge.catalogue.find(id).ok_or_else(|| {
        let ids = knowledge.catalogue.requirements.iter().map(|requirement| requirement.id.value.as_str());
        let hint = nearest(id, ids).map(|id| format!("did you mean `{id}`?"));
        Failure::Usage(format!("no requirement has the id `{id}`"), hint)
    })?;
    if requirement.testable == Testable::No {
        let why = requirement.why_not.clone().unwrap_or_default();
        return Err(Failure::Usage(format!("{id} cannot be tested"), Some(format!("the catalogue says: {why}"))));
    }
    Ok(case_file(knowledge, requirement))
}

/// A suite of one case, with placeholders `fill-in`. It passes `lint` unchanged.
fn case_file(knowledge: &Knowledge, requirement: &Requirement) -> String {
    let slug = knowledge.protocol.slug();
    let id = &requirement.id.value;
    let mut text = format!(
        "# {id} ({}, level {}, binds the {}; section {})\n",
        requirement.keyword.word(),
        requirement.level.value,
        requirement.role,
        requirement.section
    );
    comment(&mut text, "#   ", &requirement.summary);
    if !requirement.clauses.is_empty() {
        text.push_str("# How it is checked:\n");
        comment(&mut text, "#   ", &requirement.check());
    }
    if !requirement.errata.is_empty() {
        text.push_str("# Related errata:\n");
        comment(&mut text, "#   ", &requirement.errata.join(", "));
    }
    let _ = writeln!(text, "# More: proofmark explain {id}");
    text.push_str("# Replace each `fill-in`, add the case to a suite, and run `proofmark lint`.\n");
    let _ = writeln!(text, "suite: {slug}/fill-in\nabout: fill-in, a sentence about the cases of this file.");
    let _ = writeln!(text, "cases:\n  - case: fill-in-a-sentence-about-the-target");
    let _ = writeln!(text, "    covers: [{id}]");
    let Some(operation) = operation(knowledge, requirement) else { return text };
    let manifest = &knowledge.manifest;
    let needed: Vec<&Input> =
        operation.inputs.iter().filter(|input| input.required && input.default.is_none()).collect();
    let starter = knowledge.protocol.starter().filter(|starter| {
        let free = manifest.objects.contains_key(starter.object) && !manifest.bindings.contains_key(starter.name);
        free && needed.iter().any(|input| input.name == starter.input)
    });
    if let Some(starter) = starter {
        text.push_str("    let:\n      # A well-formed message; other base objects are in protocol.yaml.\n");
        let _ = writeln!(text, "      {}: {{ base: {} }}", starter.name, starter.object);
    }
    let _ = writeln!(text, "    steps:\n      # {}\n      - send: {}", operation.summary, operation.name);
    if !needed.is_empty() {
        let inputs = needed.iter().map(|input| match starter {
            Some(starter) if starter.input == input.name => format!("{}: \"${{{}}}\"", input.name, starter.name),
            _ => format!("{}: fill-in", input.name),
        });
        let _ = writeln!(text, "        with: {{ {} }}", inputs.collect::<Vec<_>>().join(", "));
    }
    text.push_str("        # To send an invalid message, edit the valid one, which the target must accept.\n");
    text.push_str("        #edit: [{ remove: /fill-in }]\n");
    let (first, last) = operation.accepted.first().copied().unwrap_or((200, 299));
    let status =
        if first == last { format!("equals: {first}") } else { format!("within: {{ min: {first}, max: {last} }}") };
    let _ = writeln!(
        text,
        "        expect:\n          # fill-in: the expected answer (matchers: proofmark list --what matchers)"
    );
    let _ = writeln!(text, "          - {{ at: /status, {status} }}");
    text
}

/// Guesses the operation that a requirement is about, among those of a kind of target at which it is observable: one of
/// its level that its check mentions, else any that its check mentions, else one of its level.
fn operation<'k>(knowledge: &'k Knowledge, requirement: &Requirement) -> Option<&'k Operation> {
    let possible = |operation: &&Operation| {
        (requirement.testable.at_endpoint() && operation.route.is_some())
            || (requirement.testable.at_adapter() && operation.method.is_some())
    };
    let operations = || knowledge.protocol.operations().iter().filter(possible);
    let words = format!("{} {}", requirement.summary, requirement.check()).to_lowercase();
    let mentioned = |operation: &Operation| {
        let stem = operation.name.split('-').next().unwrap_or(operation.name);
        words.find(&operation.name.replace('-', " ")).or_else(|| words.find(stem))
    };
    operations()
        .filter_map(|operation| Some((mentioned(operation)?, operation)))
        .min_by_key(|(at, operation)| (operation.level != requirement.level.value, *at))
        .map(|(_, operation)| operation)
        .or_else(|| operations().find(|operation| operation.level == requirement.level.value))
        .or_else(|| operations().next())
}

/// Prefix of the objects of the manifest that form the fixture for read-only targets.
const FIXTURE: &str = "fixture_";

/// The fixture as NDJSON, one object a line, for a target that is checked soon after the instant `at`: what its operator
/// loads before a run.
pub(super) fn fixture(knowledge: &Knowledge, at: i128) -> Result<String, Failure> {
    let manifest = &knowledge.manifest;
    // The fixture must not depend on the seed of a run.
    let mut scope = Scope::new(&manifest.objects, &manifest.bindings, Seed::new(0), Clock(at))
        .with(knowledge.protocol.functions(), Clock(at));
    scope.bind("newest", Value::text(format!("{}Z", format_time(at - 3_600_000_000_000))));
    let mut lines = String::new();
    for (name, expr) in manifest.objects.iter().filter(|(name, _)| name.starts_with(FIXTURE)) {
        let value = scope.render(expr, name).map_err(|error| {
            let place = error.span.as_ref().map(|span| format!(" at {}", span.place())).unwrap_or_default();
            Failure::Usage(format!("cannot render `{name}`: {}{place}", error.message), None)
        })?;
        lines.push_str(&json::compact(&value));
        lines.push('\n');
    }
    if lines.is_empty() {
        let slug = knowledge.protocol.slug();
        return Err(Failure::Usage(
            format!("`{slug}` has no fixture"),
            Some(format!("add objects named `{FIXTURE}…` to suites/{slug}/protocol.yaml")),
        ));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::bundle::Bundle;
    use crate::plan;
    use crate::source::{Source, parse};

    fn shipped() -> Bundle {
        Bundle::new(proofmark_data::FILES)
    }

    fn agentic() -> Knowledge {
        one("agentic", None, &Program::new(shipped())).unwrap()
    }

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source { name: "target.yaml".into(), text: text.to_owned().into() })
    }

    fn load(text: &str) -> Result<target::Target, Vec<crate::source::Diagnostic>> {
        target::load_with(&source(text), &protocol::url_schemes(), &mut || Some(4_000))
    }

    #[test]
    fn the_target_file_loads_as_it_is_printed() {
        let text = target_file(&agentic(), "http://127.0.0.1:8787");
        let target = load(&text).unwrap();
        assert_eq!(target.protocol.as_deref(), Some("agentic"));
        assert_eq!(target.name, "http://127.0.0.1:8787");
        assert_eq!(target.limits, target::Limits::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn the_target_file_explains_every_key_and_each_can_be_enabled() {
        let text = target_file(&agentic(), "http://127.0.0.1:8787");
        let switched: Vec<&str> = text
            .lines()
            .map(|line| {
                line.strip_prefix('#').filter(|rest| !rest.starts_with(' ') || rest.starts_with("  ")).unwrap_or(line)
            })
            .collect();
        let switched = switched.join("\n");
        // Only the secrets and the certificate are missing.
        let problems = load(&switched).unwrap_err();
        let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 3, "{shown:#?}");
        let secrets = ["TOKEN_A", "token-b.txt", "test-ca.pem"];
        assert!(shown.iter().all(|line| secrets.iter().any(|secret| line.contains(secret))), "{shown:#?}");
        let schema = crate::schema::target();
        let document = parse(&source(&switched)).unwrap().to_value();
        let keys = |value: &Value| -> BTreeSet<String> {
            let members = value.as_map().unwrap_or_default();
            members.iter().filter_map(|(key, _)| key.as_text().map(str::to_owned)).collect()
        };
        let properties = |at: &str| -> BTreeSet<String> {
            let found = schema.pointer(at).and_then(serde_json::Value::as_object);
            found.into_iter().flat_map(|map| map.keys().cloned()).collect()
        };
        assert_eq!(keys(&document), properties("/properties"));
        assert_eq!(keys(document.member("limits").unwrap()), properties("/$defs/Limits/properties"));
        let features: BTreeSet<_> =
            agentic().manifest.features.iter().map(|feature| feature.name.value.clone()).collect();
        assert_eq!(keys(document.member("features").unwrap()), features);
        // The limits that are printed are the real ones.
        let limits = switched.replace("env: TOKEN_A", "env: PATH").replace("file: token-b.txt", "env: PATH");
        let limits = limits.replace("\nca: test-ca.pem", "");
        assert_eq!(load(&limits).unwrap().limits, target::Limits::default());
    }

    #[test]
    fn the_example_target_file_loads() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/targets/agentic.yaml");
        let target = load(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(target.url.is_some());
    }

    #[test]
    fn a_new_case_for_any_requirement_passes_lint() {
        let knowledge = agentic();
        let mut suites = String::new();
        for (number, requirement) in knowledge.catalogue.requirements.iter().enumerate() {
            if requirement.testable == Testable::No {
                assert!(new_case(&knowledge, requirement.id.as_str()).is_err());
                continue;
            }
            let text = case_file(&knowledge, requirement);
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            // One file with all cases is read much faster.
            let case = text.split_once("cases:\n").unwrap().1;
            suites.push_str(&case.replace("fill-in-a-sentence", &format!("fill-in-{number}-a-sentence")));
        }
        let text = format!("suite: agentic/fill-in\ncases:\n{suites}");
        let bundle = shipped().with_file("suites/agentic/fill-in.yaml", &text);
        let protocol = protocol::find("agentic").unwrap();
        if let Err(error) = plan::load(protocol, &bundle) {
            panic!("{error:#?}");
        }
    }

    #[test]
    fn the_operation_of_a_new_case_is_the_one_that_its_check_mentions() {
        let knowledge = agentic();
        let chosen = |id: &str| operation(&knowledge, knowledge.catalogue.find(id).unwrap()).unwrap().name;
        assert_eq!(chosen("AGENTIC-8.1-03"), "deposit");
    }

    #[test]
    fn a_fixture_lists_its_objects_by_name_with_times_one_hour_ago() {
        let manifest = shipped().file("agentic", "protocol.yaml").unwrap().text.clone();
        // Names that come before those of the shipped fixture.
        let text = manifest.replace(
            "\nobjects:\n",
            "\nobjects:\n  fixture_00b: { at: '${shift $newest -1h}' }\n  fixture_00a: { at: '${newest}', json: [1.0, \"é\"] }\n",
        );
        let bundle = shipped().with_file("suites/agentic/protocol.yaml", &text);
        let Ok(knowledge) = plan::load(protocol::find("agentic").unwrap(), &bundle) else { panic!("{text}") };
        let lines = fixture(&knowledge, parse_time("2026-01-02T03:04:05Z").unwrap()).unwrap();
        let expected = "{\"at\":\"2026-01-02T02:04:05Z\",\"json\":[1.0,\"é\"]}\n{\"at\":\"2026-01-02T01:04:05Z\"}\n";
        assert!(lines.starts_with(expected), "{lines}");
    }
}
