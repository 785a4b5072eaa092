//! The manifest of a protocol (`suites/<slug>/protocol.yaml`): its levels, the objects that cases build on, what is set
//! up for each case, and how to find out which options a target offers.

use std::sync::Arc;

use super::read::{read_bindings, read_expectations, read_steps};
use super::{Expectation, Step};
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Yaml, parse};
use crate::template::{Clock, Expr, Objects, Scope, Seed, read_path};
use crate::value::{Path, Value};

/// What all cases of a protocol share.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Slug.
    pub protocol: Located<String>,
    /// The levels, lowest first; each includes the ones before it.
    pub levels: Vec<Located<String>>,
    /// The feature that shows that a target may have a level which it does not claim; then the cases of that level are put
    /// as well, and the report says whether the level is met.
    pub beyond: Vec<(Located<String>, Located<String>)>,
    /// How to learn what a target says of itself.
    pub claims: Claims,
    /// Named values that cases build on.
    pub objects: Objects,
    /// Bindings that every case has, made when first asked for.
    pub bindings: Objects,
    /// Transports that a target need not offer, and the feature that shows that it does.
    pub transports: Vec<(Located<String>, Located<String>)>,
    /// What is done before a case.
    pub setup: Vec<Setup>,
    /// Options that a target may offer.
    pub features: Vec<Feature>,
    /// What a fuzzer goes by, if the protocol can be fuzzed.
    pub fuzz: Option<Fuzzing>,
}

/// What a fuzzer goes by.
#[derive(Clone, Debug)]
pub struct Fuzzing {
    /// For an operation, the requirement that a target breaks which fails at a message instead of answering it.
    pub operations: Vec<(Located<String>, Located<String>)>,
    /// What holds for an answer that is no failure of the target.
    pub answered: Vec<Expectation>,
    /// What holds for an answer that takes the message.
    pub accepted: Vec<Expectation>,
    /// Steps that show that the target still answers.
    pub alive: Vec<Step>,
    /// Members that a message may have, each with a value that is usual for it.
    pub members: Vec<(Located<String>, Value)>,
    /// All of it as written, for the cases that are made of it.
    pub node: Node,
}

/// Where a target says which level it has.
#[derive(Clone, Debug)]
pub struct Claims {
    /// Where it says so.
    pub level: Option<LevelClaim>,
    /// What is assumed of a target that says nothing.
    pub default: Located<String>,
}

/// The probe whose answer names the level, and the place in it.
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
    /// Taken once for each of these bindings that the case uses, with `it` bound to the value; empty means once always.
    pub uses: Vec<Located<String>>,
    /// Taken once for each party that proofmark plays in the case.
    pub each_actor: bool,
    /// Taken only if the target offers this feature.
    pub needs: Vec<Located<String>>,
    /// Taken only at this kind of target.
    pub reach: Vec<Located<String>>,
    /// The step.
    pub steps: Vec<Step>,
    /// Steps that are taken after the case, whatever came of it, and never judged.
    pub after: Vec<Step>,
}

/// An option of the protocol.
#[derive(Clone, Debug)]
pub struct Feature {
    /// Its name, for `needs`.
    pub name: Located<String>,
    /// What it is.
    pub about: String,
    /// What its absence means for the cases that need it.
    pub absent: Absent,
    /// What to configure where it is not found.
    pub advice: String,
    /// Whether it is found out before all others, because what its steps capture is needed to ask for them.
    pub first: bool,
    /// How to find out.
    pub steps: Vec<Step>,
    /// The target offers it if all of these hold for the last answer.
    pub offered: Vec<Expectation>,
    /// The target does not offer it if all of these hold for the last answer. Checked first.
    pub missing: Vec<Expectation>,
    /// The kinds of target at which nothing passes unless this is offered: a target that does not do even this much
    /// shows nothing by agreeing.
    pub floor: Vec<Located<String>>,
    /// The operation whose configured route makes the feature offered whatever the probe finds.
    pub operation: Option<Located<String>>,
}

/// What the absence of a feature means for the cases that need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// They are not run: the option is the target's to leave out.
    NotClaimed,
    /// They are inconclusive: it is demanded, but the specification names no way to reach it.
    Inconclusive,
    /// They are run, and fail: the specification says where it is.
    Run,
}

/// Reads a manifest.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn read_manifest(source: &Arc<Source>) -> Result<Manifest, Vec<Diagnostic>> {
    let root = parse(source)?;
    let mut problems = Problems::default();
    let mut fields = Fields::new(&root, "a manifest", &mut problems);
    let protocol = fields.required_text("protocol", &mut problems);
    let levels = fields.texts("levels", &mut problems);
    let beyond = read_features_of(&mut fields, "beyond", "levels", &mut problems);
    let transports = read_features_of(&mut fields, "transports", "transports", &mut problems);
    let claims = fields.require("claims", &mut problems).and_then(|node| read_claims(node, &mut problems));
    let objects = read_bindings(&mut fields, "objects", &mut problems);
    let bindings = read_bindings(&mut fields, "let", &mut problems);
    let setup = fields.list("setup", &mut problems).iter().map(|node| read_setup(node, &mut problems)).collect();
    let features: Vec<Feature> =
        fields.list("features", &mut problems).iter().filter_map(|node| read_feature(node, &mut problems)).collect();
    let fuzz = fields.take("fuzz").map(|node| read_fuzzing(node, &mut problems));
    fields.finish(&mut problems);
    for (index, feature) in features.iter().enumerate() {
        if features[..index].iter().any(|earlier| earlier.name.value == feature.name.value) {
            problems
                .note(Diagnostic::new(&feature.name.span, format!("the feature `{}` is there twice", *feature.name)));
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
    match (protocol, claims) {
        (Some(protocol), Some(claims)) => problems.check(Manifest {
            protocol,
            levels,
            beyond,
            claims,
            objects: collect(objects),
            bindings: collect(bindings),
            transports,
            setup,
            features,
            fuzz,
        }),
        _ => Err(problems.0),
    }
}

fn read_fuzzing(node: &Node, problems: &mut Problems) -> Fuzzing {
    let mut fields = Fields::new(node, "what a fuzzer goes by", problems);
    let operations = read_features_of(&mut fields, "operations", "operations", problems);
    let mut expectations = |key| read_expectations(fields.list(key, problems), problems);
    let (answered, accepted) = (expectations("answered"), expectations("accepted"));
    let mut number = 0;
    let alive = read_steps(fields.list("alive", problems), &mut number, problems);
    let members = read_members(&mut fields, problems);
    fields.finish(problems);
    for (key, missing) in [
        ("operations", operations.is_empty()),
        ("answered", answered.is_empty()),
        ("accepted", accepted.is_empty()),
        ("alive", alive.is_empty()),
    ] {
        if missing {
            problems.note(Diagnostic::new(&node.span, format!("what a fuzzer goes by has no `{key}`")));
        }
    }
    Fuzzing { operations, answered, accepted, alive, members, node: node.clone() }
}

/// Members with their values: templates without a name of a case, since there is no case yet.
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
            problems.note(Diagnostic::new(&value.span, format!("a feature is text, not {}", value.kind())));
            None
        }
    };
    members.iter().filter_map(read).collect()
}

fn read_claims(node: &crate::source::Node, problems: &mut Problems) -> Option<Claims> {
    let mut fields = Fields::new(node, "claims", problems);
    let level = fields.take("level").and_then(|node| {
        let mut fields = Fields::new(node, "a level claim", problems);
        let feature = fields.required_text("feature", problems);
        let at = fields.required_text("at", problems);
        fields.finish(problems);
        let at = at.and_then(|text| read_path(&text, &text.span, problems));
        Some(LevelClaim { feature: feature?, at: at? })
    });
    let default = fields.required_text("default", problems);
    fields.finish(problems);
    Some(Claims { level, default: default? })
}

fn read_setup(node: &crate::source::Node, problems: &mut Problems) -> Setup {
    let mut fields = Fields::new(node, "a set-up", problems);
    let uses = fields.texts("uses", problems);
    let each_actor = fields.flag("each-actor", problems);
    let needs = fields.texts("needs", problems);
    let reach = fields.texts("reach", problems);
    let mut number = 0;
    let steps = read_steps(fields.list("steps", problems), &mut number, problems);
    let after = read_steps(fields.list("after", problems), &mut number, problems);
    fields.finish(problems);
    Setup { uses, each_actor, needs, reach, steps, after }
}

fn read_feature(node: &crate::source::Node, problems: &mut Problems) -> Option<Feature> {
    let mut fields = Fields::new(node, "a feature", problems);
    let name = fields.required_text("feature", problems);
    let about = fields.required_text("about", problems);
    let absent = fields.required_text("absent", problems);
    let advice = fields.text("advice", problems);
    let operation = fields.text("operation", problems);
    let floor = fields.texts("floor", problems);
    let first = fields.flag("first", problems);
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
                Diagnostic::new(&word.span, format!("`absent` is not `{}`", *word))
                    .hint("one of not-claimed, inconclusive, run"),
            );
            None
        }
    });
    Some(Feature {
        name: name?,
        about: about?.value,
        absent: absent?,
        advice: advice.map(|text| text.value).unwrap_or_default(),
        first,
        steps,
        offered,
        missing,
        floor,
        operation,
    })
}
