//! The manifest of a protocol (`suites/<slug>/protocol.yaml`): its levels, the objects that cases build on, the setup
//! up for each case, and how to find out which options a target offers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::keys::{CLAIMS, CLOCK, FEATURE, FUZZ, HOST, LEVEL_CLAIM, MANIFEST, SETUP, TIMEOUT};
use super::levels::{Levels, Role, TargetKind, read_kinds, read_levels, read_roles};
use super::read::{read_bindings, read_expectations, read_reply, read_steps};
use super::{Action, Expectation, HostReplyPlan, Step};
use crate::exchange::Transport;
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Span, Yaml, parse};
use crate::template::{Clock, Expr, Objects, Scope, Seed, read_path};
use crate::value::{Path, Value};

/// What all cases of a protocol share.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Slug.
    pub protocol: Located<String>,
    /// The levels, each with those that it includes.
    pub levels: Levels,
    /// The kinds of target; if empty, every target can show every level.
    pub kinds: Vec<TargetKind>,
    /// The roles that a target may play; if empty, every target plays every role.
    pub roles: Vec<Role>,
    /// Whether any target may show a requirement on a role, so that only the roles that a case names limit the case.
    pub roles_bind_cases: bool,
    /// The feature that shows that a target may have a level which it does not claim. Then the cases of that level run as
    /// well, and the report shows whether the level is met.
    pub beyond: Vec<(Located<String>, Located<String>)>,
    /// How to read the levels that a target declares.
    pub claims: Claims,
    /// Named values that cases build on.
    pub objects: Objects,
    /// Bindings of every case, rendered at first use.
    pub bindings: Objects,
    /// Where the names of the bindings are written.
    pub binding_names: Vec<Located<String>>,
    /// Transports that a target need not offer, and the feature that shows that it does.
    pub transports: Vec<(Located<String>, Located<String>)>,
    /// The setup of every case.
    pub setup: Vec<Setup>,
    /// Options that a target may offer.
    pub features: Vec<Feature>,
    /// The configuration of the fuzzer, if the protocol can be fuzzed.
    pub fuzz: Option<Fuzzing>,
    /// Times of the protocol, by name.
    pub timeouts: BTreeMap<String, Timeout>,
    /// How the clock of a target is advanced; the first that fits a transport is used.
    pub clock: Vec<ClockWay>,
    /// The peers that proofmark hosts for the target.
    pub hosts: Vec<HostDecl>,
}

/// A time of the protocol that the owner of a target may change.
#[derive(Clone, Debug)]
pub struct Timeout {
    /// The default, which a target file may override.
    pub default: Duration,
    /// Its description.
    pub about: String,
}

/// A way to advance the clock of a target.
#[derive(Clone, Debug)]
pub struct ClockWay {
    /// The kinds of target and the transports that it is for; empty means all.
    pub reach: Vec<Located<String>>,
    /// Features that show that the target has such a clock.
    pub needs: Vec<Located<String>>,
    /// Whether each case has a clock of its own, so that cases need not run alone.
    pub per_case: bool,
    /// The step, with `advance_ms` bound and the present already advanced.
    pub step: Step,
}

impl ClockWay {
    /// Whether it is for a transport.
    pub fn is_for(&self, transport: Transport) -> bool {
        self.reach.is_empty() || self.reach.iter().any(|word| transport.is_meant_by(&word.value))
    }
}

/// A peer that proofmark hosts for the target.
#[derive(Clone, Debug)]
pub struct HostDecl {
    /// Its name, for `receive` and `${host NAME}`.
    pub name: Located<String>,
    /// The role that it plays.
    pub about: String,
    /// The transports over which the target reaches it.
    pub transports: Vec<Transport>,
    /// Its path.
    pub path: String,
    /// Whether a token in the path, keys that the protocol finds in a message, and values of the case in the raw bytes tell
    /// which case a message belongs to.
    pub correlate: [bool; 3],
    /// Values that every case claims.
    pub values: Vec<Expr>,
    /// Whether each case gets a copy of every message that belongs to no case.
    pub shared: bool,
    /// The default reply, if neither the case nor the protocol has one.
    pub reply: HostReplyPlan,
}

/// The configuration of the fuzzer.
#[derive(Clone, Debug)]
pub struct Fuzzing {
    /// For an operation, the requirement that a target breaks which fails at a message instead of answering it.
    pub operations: Vec<(Located<String>, Located<String>)>,
    /// What holds for an answer that is not a failure of the target.
    pub answered: Vec<Expectation>,
    /// What holds for an answer that accepts the message.
    pub accepted: Vec<Expectation>,
    /// Steps that show that the target still answers.
    pub alive: Vec<Step>,
    /// Members that a message may have, each with a value that is usual for it.
    pub members: Vec<(Located<String>, Value)>,
    /// The whole section as a node, for the cases that are generated from it.
    pub node: Node,
}

/// The source of the levels that a target declares.
#[derive(Clone, Debug)]
pub struct Claims {
    /// The probe and the place that name the levels.
    pub level: Option<LevelClaim>,
    /// The probe and the place that list features by name; those without a probe of their own are offered if listed.
    pub features: Option<LevelClaim>,
    /// The levels of a target that does not declare any.
    pub default: Vec<Located<String>>,
}

/// The probe whose answer names the level or a list of levels, and the place in it.
#[derive(Clone, Debug)]
pub struct LevelClaim {
    /// Name of a feature.
    pub feature: Located<String>,
    /// Place in the observation of the last step of its probe.
    pub at: Path,
}

/// A step that is taken before a case.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Runs once for each of these bindings that the case uses, with `it` bound to the value; if empty, runs once.
    pub uses: Vec<Located<String>>,
    /// Runs once for each party that proofmark plays in the case.
    pub each_actor: bool,
    /// Taken only if the target offers this feature.
    pub needs: Vec<Located<String>>,
    /// Taken only at this kind of target.
    pub reach: Vec<Located<String>>,
    /// The step.
    pub steps: Vec<Step>,
    /// Steps that run after the case, whatever its verdict; they are never judged.
    pub after: Vec<Step>,
}

/// An option of the protocol.
#[derive(Clone, Debug)]
pub struct Feature {
    /// Its name, for `needs`.
    pub name: Located<String>,
    /// Its description.
    pub about: String,
    /// The kinds of target and the transports at which it is looked for. Over any other it is absent.
    pub reach: Vec<Located<String>>,
    /// The effect of its absence on the cases that need it.
    pub absent: Absent,
    /// What to configure where it is not found.
    pub advice: String,
    /// Whether it is probed before all others, because the other probes use what its steps capture.
    pub first: bool,
    /// How to find out.
    pub steps: Vec<Step>,
    /// The target offers it if all of these hold for the last answer.
    pub offered: Vec<Expectation>,
    /// The target does not offer it if all of these hold for the last answer. Checked first.
    pub missing: Vec<Expectation>,
    /// The kinds of target at which no case passes unless this is offered: without it, correct answers prove
    /// nothing.
    pub floor: Vec<Located<String>>,
    /// The operations whose answers depend on it. The features with the same list are one group. What no group names
    /// passes if some group is offered whole.
    pub floor_of: Vec<Located<String>>,
    /// Operations, objects and matchers: a case that uses one of them is inconclusive unless the feature is there.
    pub prerequisite_of: Vec<Located<String>>,
    /// Patterns of the requirements that are about the prerequisite: their cases run without it.
    pub judged_by: Vec<Located<String>>,
    /// The operation whose configured route makes the feature offered regardless of the probe.
    pub operation: Option<Located<String>>,
}

/// The effect of the absence of a feature on the cases that need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// They are not run: the option is the target's to leave out.
    NotClaimed,
    /// They are inconclusive: it is required, but the specification does not define how to reach it.
    Inconclusive,
    /// They run, and fail: the specification defines how to reach it.
    Run,
}

/// Reads a manifest.
///
/// # Errors
///
/// Every mistake in the file.
pub fn read_manifest(source: &Arc<Source>) -> Result<Manifest, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    match read_manifest_partly(source, &mut problems) {
        Some(manifest) => problems.check(manifest),
        None => Err(problems.0),
    }
}

/// Reads as much of a manifest as possible; `None` if it is not a map.
pub fn read_manifest_partly(source: &Arc<Source>, problems: &mut Problems) -> Option<Manifest> {
    let root = match parse(source) {
        Ok(root) => root,
        Err(found) => {
            found.into_iter().for_each(|mistake| problems.note(mistake));
            return None;
        }
    };
    if !matches!(root.value, Yaml::Map(_)) {
        let _ = Fields::new(&root, &MANIFEST, problems);
        return None;
    }
    let mut fields = Fields::new(&root, &MANIFEST, problems);
    let protocol = fields.required_text("protocol", problems);
    let levels = read_levels(fields.list("levels", problems), problems);
    let roles = read_roles(fields.list("roles", problems), problems);
    let roles_bind = fields.text("roles-bind", problems);
    for word in roles_bind.iter().filter(|word| !["requirements", "cases"].contains(&word.as_str())) {
        problems.note(
            Diagnostic::new(&word.span, format!("unknown value `{}` of `roles-bind`", **word))
                .hint("one of requirements, cases"),
        );
    }
    let kinds = read_kinds(fields.list("target-kinds", problems), &levels, &roles, problems);
    let beyond = read_features_of(&mut fields, "unclaimed-levels", "levels", problems);
    let transports = read_features_of(&mut fields, "transports", "transports", problems);
    let claims = fields.require("claims", problems).and_then(|node| read_claims(node, problems));
    let objects = read_bindings(&mut fields, "objects", problems);
    let bindings = read_bindings(&mut fields, "let", problems);
    let setup = fields.list("setup", problems).iter().map(|node| read_setup(node, problems)).collect();
    let features: Vec<Feature> =
        fields.list("features", problems).iter().filter_map(|node| read_feature(node, problems)).collect();
    let hosts: Vec<HostDecl> =
        fields.list("hosts", problems).iter().filter_map(|node| read_host(node, problems)).collect();
    for (index, host) in hosts.iter().enumerate() {
        if hosts[..index].iter().any(|earlier| earlier.name.value == host.name.value) {
            problems.note(Diagnostic::new(&host.name.span, format!("the host `{}` is defined twice", *host.name)));
        }
    }
    let fuzz = fields.take("fuzz").map(|node| read_fuzzing(node, problems));
    let timeouts = fields.take("timeouts").map(|node| read_timeouts(node, problems)).unwrap_or_default();
    let clock = fields.list("clock", problems).iter().filter_map(|node| read_clock(node, problems)).collect();
    fields.finish(problems);
    for (index, feature) in features.iter().enumerate() {
        if features[..index].iter().any(|earlier| earlier.name.value == feature.name.value) {
            problems
                .note(Diagnostic::new(&feature.name.span, format!("the feature `{}` is defined twice", *feature.name)));
        }
    }
    if let Some(claim) = claims.as_ref().and_then(|claims| claims.level.as_ref())
        && !features.iter().any(|feature| feature.name.value == claim.feature.value)
    {
        let names = features.iter().map(|feature| feature.name.value.as_str());
        problems.note(
            Diagnostic::new(&claim.feature.span, format!("no feature `{}`", *claim.feature))
                .did_you_mean(crate::suggest::nearest(&claim.feature, names)),
        );
    }
    let collect =
        |list: Vec<(Located<String>, Expr)>| list.into_iter().map(|(name, expr)| (name.value, expr)).collect();
    // They are required; a missing one was reported above.
    let nothing = || Located { value: String::new(), span: Span::file(source) };
    let protocol = protocol.unwrap_or_else(nothing);
    let claims = claims.unwrap_or(Claims { level: None, features: None, default: Vec::new() });
    Some(Manifest {
        protocol,
        levels,
        kinds,
        roles,
        roles_bind_cases: roles_bind.is_some_and(|word| word.value == "cases"),
        beyond,
        claims,
        objects: collect(objects),
        binding_names: bindings.iter().map(|(name, _)| name.clone()).collect(),
        bindings: collect(bindings),
        transports,
        setup,
        features,
        fuzz,
        hosts,
        timeouts,
        clock,
    })
}

fn read_host(node: &Node, problems: &mut Problems) -> Option<HostDecl> {
    /// The ways to correlate, in the order of [`HostDecl::correlate`].
    const WAYS: [&str; 3] = ["path", "keys", "bytes"];
    let mut fields = Fields::new(node, &HOST, problems);
    let name = fields.required_text("host", problems);
    let about = fields.required_text("about", problems);
    let transports = fields.texts("transports", problems);
    let path = fields.text("path", problems);
    let ways = fields.texts("correlate", problems);
    let values: Vec<Expr> = fields.list("values", problems).iter().map(|node| Expr::read(node, problems)).collect();
    let shared = fields.flag("shared", problems);
    let reply = fields.take("reply").map(|node| read_reply(node, problems));
    fields.finish(problems);
    let offered = [Transport::Http, Transport::Ws, Transport::Tcp];
    let known = |word: &Located<String>| offered.into_iter().find(|transport| transport.name() == word.value);
    for word in transports.iter().filter(|word| known(word).is_none()) {
        problems.note(
            Diagnostic::new(&word.span, format!("a host cannot be reached over `{}`", **word))
                .hint("one of http, ws, tcp"),
        );
    }
    for word in ways.iter().filter(|word| !WAYS.contains(&word.as_str())) {
        problems.note(
            Diagnostic::new(&word.span, format!("unknown way to correlate `{}`", **word))
                .hint(format!("one of {}", WAYS.join(", "))),
        );
    }
    let path = path.map_or_else(
        || "/".to_owned(),
        |path| {
            if !path.starts_with('/') {
                problems.note(Diagnostic::new(&path.span, format!("the path `{}` does not begin with a slash", *path)));
            }
            path.value
        },
    );
    let transports: Vec<Transport> = transports.iter().filter_map(known).collect();
    let has = |way: &str| ways.iter().any(|word| word.value == way);
    let name = name?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        problems.note(
            Diagnostic::new(&name.span, format!("invalid host name `{}`", *name))
                .hint("lower-case letters, digits and hyphens"),
        );
    }
    Some(HostDecl {
        name,
        about: about?.value,
        transports: if transports.is_empty() { vec![Transport::Http] } else { transports },
        path,
        correlate: if ways.is_empty() { [true, false, false] } else { WAYS.map(has) },
        values,
        shared,
        reply: reply.unwrap_or(Some(HostReplyPlan::Message { status: 200, headers: Vec::new(), body: None }))?,
    })
}

fn read_timeouts(node: &Node, problems: &mut Problems) -> BTreeMap<String, Timeout> {
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(&node.span, "`timeouts` is a map from names to times"));
        return BTreeMap::new();
    };
    let mut timeouts = BTreeMap::new();
    for (key, node) in members {
        let mut fields = Fields::new(node, &TIMEOUT, problems);
        let default = fields.required_text("default", problems);
        let about = fields.required_text("about", problems);
        fields.finish(problems);
        let (Some(default), Some(about)) = (default, about) else { continue };
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !key.name.bytes().all(plain) || !key.name.starts_with(|first: char| first.is_ascii_lowercase()) {
            problems.note(
                Diagnostic::new(&key.span, format!("invalid name `{}`", key.name))
                    .hint("lower-case letters, digits and hyphens"),
            );
        }
        match crate::target::parse_duration(&default) {
            Some(default) => drop(timeouts.insert(key.name.clone(), Timeout { default, about: about.value })),
            None => problems.note(
                Diagnostic::new(&default.span, format!("invalid duration `{}`", *default))
                    .hint("expected for example 250ms, 5s or 2m"),
            ),
        }
    }
    timeouts
}

fn read_clock(node: &Node, problems: &mut Problems) -> Option<ClockWay> {
    let mut fields = Fields::new(node, &CLOCK, problems);
    let reach = fields.texts("runs-on", problems);
    let needs = fields.texts("needs", problems);
    let per_case = fields.flag("per-case", problems);
    let step = fields.require("step", problems);
    fields.finish(problems);
    let step = read_steps(std::slice::from_ref(step?), &mut 0, problems).pop()?;
    if !matches!(step.action, Action::Send { .. }) {
        problems.note(Diagnostic::new(&step.span, "a clock is advanced by a step with `send`"));
        return None;
    }
    Some(ClockWay { reach, needs, per_case, step })
}

fn read_fuzzing(node: &Node, problems: &mut Problems) -> Fuzzing {
    let mut fields = Fields::new(node, &FUZZ, problems);
    let operations = read_features_of(&mut fields, "operations", "operations", problems);
    let mut expectations = |key| read_expectations(fields.list(key, problems), problems);
    let (answered, accepted) = (expectations("answered"), expectations("accepted"));
    let mut number = 0;
    let alive = read_steps(fields.list("alive", problems), &mut number, problems);
    let members = read_members(&mut fields, problems);
    fields.finish(problems);
    for (key, empty) in [
        ("operations", operations.is_empty()),
        ("answered", answered.is_empty()),
        ("accepted", accepted.is_empty()),
        ("alive", alive.is_empty()),
    ] {
        if let Some(list) = node.member(key).filter(|_| empty) {
            problems.note(Diagnostic::new(&list.span, format!("`{key}` is empty")));
        }
    }
    Fuzzing { operations, answered, accepted, alive, members, node: node.clone() }
}

/// Members with their values. Their templates use no names of a case, because they are rendered before any case.
fn read_members(fields: &mut Fields<'_>, problems: &mut Problems) -> Vec<(Located<String>, Value)> {
    let (objects, lazy) = (Objects::default(), Objects::default());
    let mut scope = Scope::new(&objects, &lazy, Seed::new(0), Clock(0));
    let mut members = Vec::new();
    for (name, written) in read_bindings(fields, "members", problems) {
        match scope.render(&written, &name.value) {
            Ok(value) => members.push((name, value)),
            Err(error) => problems.note(Diagnostic::new(&name.span, format!("`{}`: {error}", name.value))),
        }
    }
    members
}

fn read_features_of(
    fields: &mut Fields<'_>,
    key: &'static str,
    what: &str,
    problems: &mut Problems,
) -> Vec<(Located<String>, Located<String>)> {
    let Some(node) = fields.take(key) else { return Vec::new() };
    let Yaml::Map(members) = &node.value else {
        problems.note(Diagnostic::new(
            &node.span,
            format!("`{key}` is a map from {what} to features, not {}", node.kind()),
        ));
        return Vec::new();
    };
    let read = |(key, value): &(crate::source::Key, crate::source::Node)| match &value.value {
        Yaml::Text(text) => Some((
            Located { value: key.name.clone(), span: key.span.clone() },
            Located { value: text.clone(), span: value.span.clone() },
        )),
        _ => {
            problems.note(Diagnostic::new(&value.span, format!("a feature must be text, not {}", value.kind())));
            None
        }
    };
    members.iter().filter_map(read).collect()
}

/// Reads where the description of a target stands.
fn read_declaration(node: &crate::source::Node, problems: &mut Problems) -> Option<LevelClaim> {
    let mut fields = Fields::new(node, &LEVEL_CLAIM, problems);
    let feature = fields.required_text("feature", problems);
    let at = fields.required_text("at", problems);
    fields.finish(problems);
    let at = at.and_then(|text| read_path(&text, &text.span, problems));
    Some(LevelClaim { feature: feature?, at: at? })
}

fn read_claims(node: &crate::source::Node, problems: &mut Problems) -> Option<Claims> {
    let mut fields = Fields::new(node, &CLAIMS, problems);
    let level = fields.take("level").and_then(|node| read_declaration(node, problems));
    let features = fields.take("features").and_then(|node| read_declaration(node, problems));
    let default = fields.texts("default", problems);
    fields.finish(problems);
    Some(Claims { level, features, default })
}

fn read_setup(node: &crate::source::Node, problems: &mut Problems) -> Setup {
    let mut fields = Fields::new(node, &SETUP, problems);
    let uses = fields.texts("for-each-binding", problems);
    let each_actor = fields.flag("for-each-actor", problems);
    let needs = fields.texts("needs", problems);
    let reach = fields.texts("runs-on", problems);
    let mut number = 0;
    let steps = read_steps(fields.list("steps", problems), &mut number, problems);
    let after = read_steps(fields.list("cleanup", problems), &mut number, problems);
    fields.finish(problems);
    Setup { uses, each_actor, needs, reach, steps, after }
}

fn read_feature(node: &crate::source::Node, problems: &mut Problems) -> Option<Feature> {
    let mut fields = Fields::new(node, &FEATURE, problems);
    let name = fields.required_text("feature", problems);
    let about = fields.required_text("about", problems);
    let reach = fields.texts("runs-on", problems);
    let absent = fields.required_text("if-missing", problems);
    let advice = fields.text("hint", problems);
    let operation = fields.text("operation", problems);
    let floor = fields.texts("floor", problems);
    let prerequisite_of = fields.texts("prerequisite-of", problems);
    let judged_by = fields.texts("judged-by", problems);
    let floor_of = fields.texts("floor-of", problems);
    let first = fields.flag("probe-first", problems);
    let mut number = 0;
    let steps = read_steps(fields.list("probe", problems), &mut number, problems);
    let offered = read_expectations(fields.list("offered", problems), problems);
    let missing = read_expectations(fields.list("missing", problems), problems);
    fields.finish(problems);
    let absent = absent.and_then(|word| match word.as_str() {
        "not-claimed" => Some(Absent::NotClaimed),
        "inconclusive" => Some(Absent::Inconclusive),
        "run" => Some(Absent::Run),
        _ => {
            problems.note(
                Diagnostic::new(&word.span, format!("unknown value `{}` of `if-missing`", *word))
                    .hint("one of not-claimed, inconclusive, run"),
            );
            None
        }
    });
    // A feature with a name counts as defined, even if other keys are invalid.
    Some(Feature {
        name: name?,
        about: about.map(|text| text.value).unwrap_or_default(),
        reach,
        absent: absent.unwrap_or(Absent::Run),
        advice: advice.map(|text| text.value).unwrap_or_default(),
        first,
        steps,
        offered,
        missing,
        floor,
        prerequisite_of,
        judged_by,
        floor_of,
        operation,
    })
}
