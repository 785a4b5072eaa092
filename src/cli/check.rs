//! `check`: runs the cases against a target, judges them and writes the reports.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::adapter;
use super::args::{CheckOptions, DataOptions, TargetOptions, VariantWord};
use super::data;
use super::exit::Failure;
use super::program::Program;
use super::reference::{self, Reference, Start};
use super::start::{now, runtime};
use super::watch::finding_file;
use super::{exploring, hooks, interrupt, launch, spellings};
use crate::exchange::{TargetClass, Transport};
use crate::explore::Finding;
use crate::judge;
use crate::plan::{self, Knowledge, Plan, Selection, TargetScope, glob};
use crate::protocol;
use crate::record::{Asked, BaselineRecord, CaseRecord, RunRecord, SCHEMA, Summary, TargetConfig, TargetRecord};
use crate::report::{self, Format};
use crate::run::{self, Event, Runner, Sink};
use crate::source::Source;
use crate::spelling::CaseSpelling;
use crate::suggest::nearest;
use crate::suite::CaseId;
use crate::target::{self, Credential, EVERY_PARTY, Target};
use crate::transport::launch::free_port;
use crate::transport::{Connections, http};
use crate::value::Value;
use crate::verdict::{Profile, Verdict};
use crate::walk::{Context, Facts, Features};
use crate::wire;

/// What a target says about itself is in the record up to this length, in bytes: a description takes hundreds.
const DECLARED_BYTES: usize = 64 << 10;

/// Checks a target.
pub(super) fn run(options: &CheckOptions, program: &Program) -> Result<u8, Failure> {
    let options = &with_failed(with_level(options.clone())?)?;
    let reports = reports(options)?;
    let mut target = target(&options.at)?;
    let mut data = options.data.clone();
    match (&target.protocol, data.protocol.as_slice()) {
        (Some(protocol), []) => data.protocol = vec![protocol.clone()],
        (Some(protocol), asked) if !asked.contains(protocol) => {
            return Err(Failure::usage(format!("the target file is for protocol `{protocol}`")));
        }
        _ => {}
    }
    let known = data::knowledge(&data, program)?;
    if known.len() > 1 && !options.at.reference && options.data.protocol.is_empty() {
        let slugs: Vec<_> = known.iter().map(|knowledge| knowledge.protocol.slug()).collect();
        let hint = format!("give --protocol with one of {}", slugs.join(", "));
        return Err(Failure::Usage("no protocol given".into(), Some(hint)));
    }
    routes(&target, &known)?;
    let selection = selection(options, &known)?;
    let baseline = options.baseline.as_deref().map(super::baseline::read).transpose()?;
    limits(options, &mut target)?;
    if options.list {
        return list(program, &known, &target, &selection);
    }
    report::files::check_writable(reports.iter().map(|(_, path)| path.as_path()))?;
    let runtime = runtime()?;
    let record = runtime.block_on(check(program, options, &known, target, &selection, baseline))?;
    // Reports need the record alone, and the suites are large.
    drop(known);
    let written = report::files::write_all(&record, &reports);
    if !options.quiet {
        match print(&record, options.verbose, written.as_deref().unwrap_or_default()) {
            // The exit code does not depend on whether the summary could be printed.
            Ok(()) | Err(Failure::Unread) => {}
            Err(failure) => return Err(failure),
        }
    }
    written.map_err(|error| {
        // The run is over, so that its result must not be lost.
        let result = format!("the result of the run, which is in no report: {}", record.summary.conclusion);
        Failure::Usage(format!("cannot {error}: {}", error.source), Some(result))
    })?;
    Ok(record.summary.exit_code)
}

/// The reports to write: the standard files in the folder, and those of `--report`. Removes old files, so that a run that
/// ends early leaves no outdated report behind.
fn reports(options: &CheckOptions) -> Result<Vec<(Format, PathBuf)>, Failure> {
    let standard = ["json", "html", "junit", "markdown"];
    let mut reports: Vec<(Format, PathBuf)> = report::FORMATS
        .iter()
        .filter(|format| standard.contains(&format.name))
        .map(|format| (*format, options.out.join(format.file_name)))
        .collect();
    let asked: Vec<_> = options.report.iter().map(|word| report_file(word)).collect();
    if !options.list {
        for (format, path) in reports.iter().chain(asked.iter().flatten()) {
            report::files::remove_report(format, path)?;
        }
    }
    for file in asked {
        reports.push(file?);
    }
    Ok(reports)
}

/// Reads `FORMAT=PATH`.
pub(super) fn report_file(word: &str) -> Result<(Format, PathBuf), Failure> {
    let formats = protocol::report_formats();
    let names = || formats.iter().map(|format| format.name);
    let (name, path) = word.split_once('=').ok_or_else(|| {
        Failure::Usage(
            format!("--report `{word}`: expected FORMAT=PATH"),
            Some(format!("FORMAT is one of {}", names().collect::<Vec<_>>().join(", "))),
        )
    })?;
    let format = formats.iter().find(|format| format.name == name).ok_or_else(|| {
        let hint = nearest(name, names()).map(|name| format!("did you mean `{name}`?"));
        Failure::Usage(
            format!("no report format `{name}`"),
            hint.or_else(|| Some(names().collect::<Vec<_>>().join(", "))),
        )
    })?;
    if path.is_empty() {
        return Err(Failure::usage(format!("--report `{word}`: expected a path after `=`")));
    }
    Ok((*format, PathBuf::from(path)))
}

pub(super) fn target(at: &TargetOptions) -> Result<Target, Failure> {
    let mut target = target_itself(at)?;
    let shared = shared_credentials(at)?;
    if !shared.is_empty() {
        target.credentials.insert(EVERY_PARTY.to_owned(), shared);
    }
    Ok(target)
}

/// The header fields of `--header` and `--bearer-env`.
fn shared_credentials(at: &TargetOptions) -> Result<Vec<Credential>, Failure> {
    let mut shared = Vec::new();
    for word in &at.header {
        let wrong = || {
            Failure::Usage(
                "--header: expected a name, a colon and a value".to_owned(),
                Some("such as --header 'X-Api-Key: k'".to_owned()),
            )
        };
        let (name, value) = word.split_once(':').ok_or_else(wrong)?;
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || !name.chars().all(is_token) || value.chars().any(char::is_control) {
            return Err(wrong());
        }
        shared.push(Credential { header: name.to_owned(), value: value.to_owned() });
    }
    if let Some(variable) = &at.bearer_env {
        let token = std::env::var(variable).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            Failure::Usage(
                format!("--bearer-env: the environment variable `{variable}` is not set"),
                Some(format!("export {variable}=TOKEN")),
            )
        })?;
        shared.push(Credential { header: "authorization".to_owned(), value: format!("Bearer {token}") });
    }
    Ok(shared)
}

fn target_itself(at: &TargetOptions) -> Result<Target, Failure> {
    if at.reference {
        return Ok(Target::new(TargetClass::Reference, "the embedded reference implementation"));
    }
    if let Some(path) = &at.target {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
        return target::load_with(
            &Arc::new(Source { name, text: text.into() }),
            &protocol::url_schemes(),
            &mut free_port,
        )
        .map_err(Failure::Mistakes);
    }
    if let Some(command) = &at.adapter {
        let words = adapter::words(command)?;
        let mut target = Target::new(TargetClass::Adapter, command);
        target.adapter = Some(words);
        return Ok(target);
    }
    let Some(url) = &at.url else {
        return Err(Failure::Usage(
            "no target given".into(),
            Some("give a URL, --target FILE, --adapter CMD or --reference".into()),
        ));
    };
    target::parse_url(url)
        .map(Target::endpoint)
        .map_err(|message| Failure::Usage(message, Some("such as http://127.0.0.1:8787".into())))
}

/// Whether `--profile strict` was given.
fn is_strict(options: &CheckOptions) -> bool {
    options.profile.iter().any(|word| word == "strict")
}

/// Moves the conformance profiles that were given by `--profile` to the levels.
fn with_level(mut options: CheckOptions) -> Result<CheckOptions, Failure> {
    let (judging, claimed): (Vec<_>, Vec<_>) =
        options.profile.drain(..).partition(|word| ["strict", "lenient"].contains(&word.as_str()));
    if judging.iter().any(|word| word == "strict") && judging.iter().any(|word| word == "lenient") {
        return Err(Failure::usage("--profile is either strict or lenient"));
    }
    options.profile = judging;
    options.level.extend(claimed);
    let mut seen = Vec::new();
    options.level.retain(|level| {
        !seen.contains(level) && {
            seen.push(level.clone());
            true
        }
    });
    Ok(options)
}

/// Selects the cases of `--failed`, and their protocols if none is given.
fn with_failed(mut options: CheckOptions) -> Result<CheckOptions, Failure> {
    let Some(path) = &options.failed else { return Ok(options) };
    let record = super::record::read_without_evidence(path)?;
    let is_open = |verdict| matches!(verdict, Verdict::Fail | Verdict::Inconclusive | Verdict::Error);
    let mut protocols = Vec::new();
    for protocol in &record.protocols {
        let before = options.only.len();
        let open = protocol.cases.iter().filter(|case| is_open(case.verdict));
        options.only.extend(open.map(|case| case.id.clone()));
        if options.only.len() > before {
            protocols.push(protocol.protocol.clone());
        }
    }
    if options.only.is_empty() {
        let hint = "run the check without --failed";
        let what = format!("{}: no case failed or stayed undecided, so nothing can be judged", path.display());
        return Err(Failure::Undecided(what, Some(hint.to_owned())));
    }
    if options.data.protocol.is_empty() {
        options.data.protocol = protocols;
    }
    Ok(options)
}

fn selection(options: &CheckOptions, known: &[Knowledge]) -> Result<Selection, Failure> {
    for level in &options.level {
        let levels = || known.iter().flat_map(|knowledge| knowledge.manifest.levels.names());
        if !levels().any(|name| name == level) {
            let hint = format!("one of {}", levels().collect::<Vec<_>>().join(", "));
            return Err(Failure::Usage(format!("no level `{level}`"), Some(format!("{hint}; or strict"))));
        }
    }
    for id in &options.requirement {
        if !known.iter().any(|knowledge| knowledge.catalogue.find(id).is_some()) {
            let ids = known.iter().flat_map(|knowledge| &knowledge.catalogue.requirements);
            let hint = nearest(id, ids.map(|requirement| requirement.id.value.as_str()));
            return Err(Failure::Usage(
                format!("no requirement has the id `{id}`"),
                hint.map(|id| format!("did you mean `{id}`?")),
            ));
        }
    }
    // A pattern that matches no case is not a success.
    for pattern in &options.only {
        let ids: Vec<String> = known
            .iter()
            .flat_map(Knowledge::cases)
            .flat_map(|(suite, case)| {
                let id = CaseId::of(suite, case);
                Transport::ALL.map(|transport| id.over(transport).to_string())
            })
            .collect();
        if !ids.iter().any(|id| glob(pattern, id)) {
            let hint = wider(pattern, &ids)
                .or_else(|| nearest(pattern, ids.iter().map(String::as_str)).map(str::to_owned))
                .map(|pattern| format!("did you mean `{pattern}`?"));
            return Err(Failure::Undecided(
                format!("no case matches --only '{pattern}', so nothing can be judged"),
                hint.or_else(|| Some("`proofmark list` prints the ids".into())),
            ));
        }
    }
    Ok(Selection {
        only: options.only.clone(),
        requirements: options.requirement.iter().map(|id| id.as_str().into()).collect(),
        levels: options.level.clone(),
        shard: options.shard,
    })
}

/// A pattern that matches cases, for one that is the name of a suite or a part of their ids.
fn wider(pattern: &str, ids: &[String]) -> Option<String> {
    if pattern.is_empty() || pattern.contains(['*', '?']) {
        return None;
    }
    let mut suites = ids.iter().filter_map(|id| id.split_once('#')).map(|(suite, _)| suite);
    let suite = suites.find(|suite| *suite == pattern || suite.rsplit('/').next() == Some(pattern));
    let part = || ids.iter().any(|id| id.contains(pattern)).then(|| format!("*{pattern}*"));
    suite.map(|suite| format!("{suite}#*")).or_else(part)
}

/// Checks the names of operations, timeouts and options in a target file.
pub(super) fn routes(target: &Target, known: &[Knowledge]) -> Result<(), Failure> {
    for (name, route) in &target.routes {
        let operations = || known.iter().flat_map(|knowledge| knowledge.protocol.operations());
        let found = operations().find(|operation| operation.name == name).ok_or_else(|| {
            let hint = nearest(name, operations().map(|operation| operation.name));
            Failure::Usage(
                format!("the target file has a route for an unknown operation `{name}`"),
                hint.map_or_else(
                    || Some("`proofmark list --what operations` prints them".into()),
                    |name| Some(format!("did you mean `{name}`?")),
                ),
            )
        })?;
        let texts = route.path.iter().chain(route.query.iter().flatten().map(|(_, text)| text));
        let texts = texts.chain(route.headers.iter().map(|(_, text)| text));
        let mut places: Vec<&str> = texts.flat_map(|text| protocol::places(text)).collect();
        let in_body = route.body.iter().flat_map(body_places);
        places.extend(in_body.filter(|place| *place != "body"));
        for place in places {
            if found.input(place).is_none() {
                let inputs: Vec<_> = found.inputs.iter().map(|input| input.name).collect();
                return Err(Failure::Usage(
                    format!(
                        "the route for `{name}` has a placeholder `{{{place}}}`, which is not an input of the operation"
                    ),
                    Some(format!("the inputs are {}", inputs.join(", "))),
                ));
            }
        }
    }
    for (name, path) in target.tree.iter().flat_map(|tree| &tree.paths) {
        let operations = || known.iter().flat_map(|knowledge| knowledge.protocol.operations());
        let found = operations().find(|operation| operation.name == name && operation.tree.is_some());
        let unknown = found.map(|found| protocol::places(path).into_iter().find(|place| found.input(place).is_none()));
        match unknown {
            None => {
                return Err(Failure::usage(format!(
                    "the target file has a path for `{name}`, which is not an operation on files"
                )));
            }
            Some(Some(place)) => {
                return Err(Failure::usage(format!(
                    "the path for `{name}` has a placeholder `{{{place}}}`, which is not an input of the operation"
                )));
            }
            Some(None) => {}
        }
    }
    for name in target.timeouts.keys() {
        let names = || known.iter().flat_map(|knowledge| knowledge.manifest.timeouts.keys());
        if !names().any(|known| known == name) {
            let hint = nearest(name, names().map(String::as_str));
            return Err(Failure::Usage(
                format!("the target file has an unknown time `{name}` under `timeouts`"),
                hint.map(|name| format!("did you mean `{name}`?")),
            ));
        }
    }
    for name in target.options.keys() {
        let features = || known.iter().flat_map(|knowledge| &knowledge.manifest.features);
        if !features().any(|feature| feature.name.value == *name) {
            let hint = nearest(name, features().map(|feature| feature.name.value.as_str()));
            return Err(Failure::Usage(
                format!("the target file has an unknown option `{name}`"),
                hint.map_or_else(
                    || Some("`proofmark list --what features` prints them".into()),
                    |name| Some(format!("did you mean `{name}`?")),
                ),
            ));
        }
    }
    let kinds = || known.iter().flat_map(|knowledge| knowledge.protocol.named_objects()).map(|kind| kind.name);
    for name in target.names.own.keys() {
        if !kinds().any(|kind| kind == name) {
            let hint = nearest(name, kinds()).map(|name| format!("did you mean `{name}`?"));
            let known =
                (kinds().next().is_some()).then(|| format!("one of {}", kinds().collect::<Vec<_>>().join(", ")));
            return Err(Failure::Usage(
                format!("the target file has names of members of an unknown kind of object `{name}`"),
                hint.or(known),
            ));
        }
    }
    claims(target, known)
}

/// The placeholders in the body of a route.
fn body_places(body: &Value) -> Vec<&str> {
    match body {
        Value::Text(text) => protocol::places(text),
        Value::Array(items) => items.iter().flat_map(body_places).collect(),
        Value::Map(members) => members.iter().flat_map(|(_, value)| body_places(value)).collect(),
        _ => Vec::new(),
    }
}

/// Checks the levels, kinds and roles that a target file claims.
fn claims(target: &Target, known: &[Knowledge]) -> Result<(), Failure> {
    let manifests = || known.iter().map(|knowledge| &knowledge.manifest);
    let levels = || manifests().flat_map(|manifest| manifest.levels.names()).collect::<Vec<_>>();
    let kinds =
        || manifests().flat_map(|manifest| &manifest.kinds).map(|kind| kind.name.value.as_str()).collect::<Vec<_>>();
    let roles =
        || manifests().flat_map(|manifest| &manifest.roles).map(|role| role.name.value.as_str()).collect::<Vec<_>>();
    named("level", &target.levels, &levels())?;
    named("kind", &target.kinds, &kinds())?;
    named("role", target.roles.iter().flatten(), &roles())?;
    for knowledge in known {
        let mut transports = knowledge.protocol.transports().to_vec();
        if target.class != TargetClass::Reference {
            transports.retain(|transport| target.is_reached_over(*transport));
        }
        let scope = TargetScope::new(knowledge, target, &transports);
        let kinds = transports.iter().map(|transport| scope.kind_names(*transport)).collect::<BTreeSet<_>>();
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
        let refused = |claimed: &str, why: &str, without: &str| {
            if transports.is_empty() {
                let message = format!("the target file claims {claimed}, and gives no address over which it shows");
                let hint = "give its `url`; a role at a store that proofmark hosts has the address of that host";
                return Failure::Usage(message, Some(hint.into()));
            }
            let message = format!("the target file claims {claimed}, which {why}");
            Failure::Usage(message, Some(format!("give its `kind`, or leave the {without} out")))
        };
        for name in &target.levels {
            if knowledge.manifest.levels.find(name).is_some_and(|level| !scope.observable_levels().includes(level)) {
                let why = format!("is not observable at a target of kind {kinds}");
                return Err(refused(&format!("level `{name}`"), &why, "level"));
            }
        }
        for name in target.roles.iter().flatten() {
            let is_of_this = knowledge.manifest.roles.iter().any(|role| role.name.value == *name);
            let is_played =
                transports.iter().any(|transport| scope.playable_roles(*transport).contains(&name.as_str()));
            if is_of_this && !is_played {
                let why = format!("a target of kind {kinds} cannot play");
                return Err(refused(&format!("role `{name}`"), &why, "role"));
            }
        }
    }
    Ok(())
}

/// Checks that each name from a target file is one of `known`.
fn named<'n>(what: &str, names: impl IntoIterator<Item = &'n String>, known: &[&str]) -> Result<(), Failure> {
    for name in names {
        if !known.contains(&name.as_str()) {
            let hint = match nearest(name, known.iter().copied()) {
                Some(name) => Some(format!("did you mean `{name}`?")),
                None if known.is_empty() => None,
                None => Some(format!("one of {}", known.join(", "))),
            };
            return Err(Failure::Usage(format!("unknown {what} `{name}` in the target file"), hint));
        }
    }
    Ok(())
}

fn limits(options: &CheckOptions, target: &mut Target) -> Result<(), Failure> {
    if let Some(jobs) = options.jobs {
        if jobs == 0 {
            return Err(Failure::usage("--jobs must be at least 1"));
        }
        target.limits.jobs = jobs;
    }
    if let Some(text) = &options.timeout {
        target.limits.request = target::parse_duration(text)
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| Failure::Usage(format!("invalid duration `{text}`"), Some("such as 500ms or 10s".into())))?;
    }
    Ok(())
}

fn list(program: &Program, known: &[Knowledge], target: &Target, selection: &Selection) -> Result<u8, Failure> {
    let mut out = anstream::stdout();
    for knowledge in known {
        let mut target = target.clone();
        if target.class == TargetClass::Reference {
            let implementation = program.implementation(knowledge.protocol.slug())?;
            reference::stand_in(implementation, &mut target)?;
            reference::describe(knowledge, implementation, reference::setup(implementation, None)?, &mut target);
        }
        let plan = plan::build(knowledge, &target, selection);
        for case in plan.cases.iter().filter(|case| case.skip.is_none()) {
            writeln!(out, "{}", case.id)?;
        }
    }
    Ok(0)
}

async fn check(
    program: &Program,
    options: &CheckOptions,
    known: &[Knowledge],
    target: Target,
    selection: &Selection,
    baseline: Option<BaselineRecord>,
) -> Result<RunRecord, Failure> {
    let seed = options.seed.unwrap_or_else(random);
    let identity_seed = if options.new_ids { random() } else { seed };
    let profile = if is_strict(options) { Profile::Strict } else { Profile::Lenient };
    let begun = Instant::now();
    let (clock, started_at) = now();
    let facts = Facts { seed, identity_seed, clock, profile };
    let (_cancel, cancelled) = interrupt::flag();
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: env!("CARGO_PKG_VERSION").to_owned(),
        evidence: None,
        seed,
        identity_seed,
        profile,
        started_at,
        asked: Asked {
            levels: options.level.clone(),
            only: options.only.clone(),
            requirements: options.requirement.clone(),
            shard: options.shard.map(|shard| format!("{}/{}", shard.index, shard.count)),
            joined: Vec::new(),
        },
        target: TargetRecord {
            kind: target.class,
            name: target.name.clone(),
            declared: BTreeMap::new(),
            config: TargetConfig::default(),
        },
        protocols: Vec::new(),
        baseline,
        summary: Summary::default(),
    };
    let explore = options.explore.as_deref().map(exploring::time).transpose()?;
    for knowledge in known {
        let found = OnceCell::new();
        let mut target = target.clone();
        let slug = knowledge.protocol.slug();
        let (reference, mut connections) = connect(program, &options.at, knowledge, &mut target, begun).await?;
        let addresses = start_hosts(knowledge, &mut target, &mut connections, begun).await?;
        let (running, cancelled) = launch::start(&target, &addresses, &cancelled).await?;
        if let Err(failure) = hooks::run(knowledge, &target, now().0).await {
            if let Some(running) = running {
                running.stop().await;
            }
            return Err(failure);
        }
        hooks::claim(knowledge, &mut target);
        let mut plan = plan::build(knowledge, &target, selection);
        // A model may use what the selected cases do not.
        plan.is_narrow &= explore.is_none() || knowledge.protocol.model().is_none();
        let spellings = spellings::chosen(options.spellings.as_deref(), knowledge.protocol, seed)?;
        if let Some(spellings) = &spellings {
            for case in &mut plan.cases {
                case.spelling = Some(CaseSpelling { spellings: spellings.clone(), key: case.id.clone() });
            }
        }
        record.target.config = config(&plan);
        let progress = Progress::new(options.quiet, slug, &target.name);
        let runner = Runner::new(&connections, &target.limits, begun);
        let mut transcript = runner.run_all(&plan, facts, cancelled.clone(), &progress).await;
        let features = Features::read(&plan, facts, &transcript);
        let context = Context { plan: &plan, facts, features };
        let mut dependences = runner.spellings_that_fail(&context, &transcript).await;
        let time = explore.filter(|_| transcript.cut_short.is_none() && knowledge.protocol.model().is_some());
        let explored = match time {
            Some(time) => {
                progress.explores(time);
                let spellings = spellings.clone();
                Some(exploring::run(&context, &connections, time, spellings, begun, cancelled).await)
            }
            None => None,
        };
        let findings = explored.as_ref().map_or(&[][..], |outcome| &outcome.findings);
        if explored.is_some() {
            exploring::write(&options.out, findings)?;
        }
        let ran = plan.cases.len();
        let features = context.features;
        exploring::add(
            &mut plan,
            knowledge,
            &target,
            findings,
            found.get_or_init(|| exploring::cases(&options.out, findings)),
            spellings.as_ref(),
        );
        let context = Context { plan: &plan, facts, features };
        exploring::run_added(&runner, &context, &mut transcript).await;
        for (index, finding) in findings.iter().enumerate().filter(|(_, finding)| !finding.spellings.is_empty()) {
            dependences.insert(ran + index, format!("only in these spellings: {}", finding.spellings.join(",")));
        }
        progress.finish();
        connections.close().await;
        let ended = match running {
            Some(running) => running.stop().await,
            None => None,
        };
        // The first reason that the run noticed counts.
        transcript.cut_short = transcript.cut_short.map(|why| ended.unwrap_or(why));
        if let Some(reference) = reference {
            reference.stop().await;
        }
        if let Some(declared) = &context.features.declared {
            if let Some(name) = own_name(&target, declared) {
                record.target.name = name;
            }
            let text = crate::wire::json::compact(declared);
            if text.len() <= DECLARED_BYTES {
                record.target.declared.insert(slug.to_owned(), serde_json::from_str(&text).unwrap_or_default());
            }
        }
        let mut judged = judge::protocol_of_run(&context, &transcript, runner.walks());
        for (index, case) in judged.cases.iter_mut().enumerate() {
            if let Some(dependence) = dependences.get(&index) {
                note(case, dependence);
            }
            let found = index.checked_sub(ran).and_then(|index| findings.get(index));
            case.replay = replay(options, slug, case, seed, found);
        }
        judged.exploration = explored.as_ref().map(exploring::record);
        record.protocols.push(judged);
        record.summary.requests += runner.requests() + explored.as_ref().map_or(0, |outcome| outcome.progress.requests);
        if record.summary.cut_short.is_none() {
            record.summary.cut_short = transcript.cut_short;
        }
    }
    record.summary.elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    judge::conclude(&mut record);
    Ok(record)
}

/// Notes with each violation of a case on which spelling it depends.
fn note(case: &mut CaseRecord, dependence: &str) {
    for finding in case.findings.iter_mut().filter(|finding| finding.verdict == Verdict::Fail) {
        if !finding.note.is_empty() {
            finding.note.push_str("; ");
        }
        finding.note.push_str(dependence);
    }
}

/// The name and version by which a library describes itself, for a target file without a `name`.
fn own_name(target: &Target, declared: &Value) -> Option<String> {
    let command = target.adapter.as_ref().filter(|_| target.class == TargetClass::Adapter)?.join(" ");
    let declared = declared.member("implementation").filter(|inner| inner.as_map().is_some()).unwrap_or(declared);
    let text = |name: &str| declared.member(name).and_then(Value::as_text).filter(|text| !text.is_empty());
    let name = text("name").filter(|_| target.name == command)?;
    Some(format!("{} ({command})", [Some(name), text("version")].into_iter().flatten().collect::<Vec<_>>().join(" ")))
}

/// Starts the peers that the run hosts. Returns their addresses, which a launched target receives.
pub(super) async fn start_hosts(
    knowledge: &Knowledge,
    target: &mut Target,
    connections: &mut Connections,
    begun: Instant,
) -> Result<BTreeMap<String, String>, Failure> {
    // Those of the embedded reference implementation started before it.
    if connections.hosts.is_none() {
        let started = run::start_hosts(knowledge, target, begun).await;
        connections.hosts = started.map_err(|why| Failure::Usage(why, None))?;
    }
    let addresses = connections.hosts.as_ref().map(|hosts| hosts.addresses()).unwrap_or_default();
    if reference::stand_in_host(knowledge.protocol, &addresses, target)? {
        connections.http = http::Http::of(target).map_err(|error| Failure::Internal(error.to_string()))?;
    }
    Ok(addresses)
}

/// Connects to a target; starts it first if it is the reference implementation.
pub(super) async fn connect(
    program: &Program,
    at: &TargetOptions,
    knowledge: &Knowledge,
    target: &mut Target,
    begun: Instant,
) -> Result<(Option<Reference>, Connections), Failure> {
    if !at.reference {
        protocol::complete(knowledge.protocol, target);
        let connections = Connections::new(target).map_err(|error| Failure::Internal(error.to_string()))?;
        return Ok((None, connections));
    }
    let implementation = program.implementation(knowledge.protocol.slug())?;
    if let Some(fault) = &at.fault {
        reference::check_fault(implementation, fault)?;
    }
    // The other readings are declared in a setup of their own.
    let of_variant = implementation.setups().iter().find(|setup| setup.variant.is_other_as_declared());
    let setup = match of_variant.filter(|_| at.setup.is_none() && at.variant == VariantWord::Other) {
        Some(setup) => setup,
        None => reference::setup(implementation, at.setup.as_deref())?,
    };
    let variant = match at.variant {
        VariantWord::Own => setup.variant,
        other => reference::variant(other, at.variant_seed),
    };
    let fault = at.fault.clone();
    let start = Start { implementation, knowledge, setup, fault, variant, clock: now().0, in_memory: false, begun };
    let (reference, connections) = Reference::start(&start, target).await?;
    Ok((Some(reference), connections))
}

/// The part of the target's configuration that `rejudge` needs.
fn config(plan: &Plan<'_>) -> TargetConfig {
    let target = plan.target;
    TargetConfig {
        transports: plan.transports.clone(),
        levels: target.levels.clone(),
        kinds: target.kinds.clone(),
        roles: target.roles.clone(),
        options: target.options.clone(),
        settings: target.settings.iter().map(|(name, value)| (name.clone(), stored(value))).collect(),
        routes: target.routes.keys().cloned().collect(),
        places: target.places.clone(),
        names: target.names.own.clone(),
        statuses: target.statuses.iter().map(|(status, aliases)| (status.to_string(), aliases.clone())).collect(),
        timeouts_ms: target.timeouts.iter().map(|(name, time)| (name.clone(), to_ms(*time))).collect(),
        clock_skew_ms: to_ms(target.limits.clock_skew),
    }
}

fn to_ms(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A setting as the record holds it.
fn stored(value: &Value) -> serde_json::Value {
    // A target file cannot contain bytes and other values that JSON lacks.
    serde_json::from_str(&wire::json::compact(value)).unwrap_or_default()
}

/// A random seed for a run without `--seed`, short enough to be typed.
pub(super) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The keys of a new `RandomState` come from the operating system.
    std::collections::hash_map::RandomState::new().build_hasher().finish() % 1_000_000_000_000
}

/// The command that runs one case again, also one that the exploration of the run found. With a sweep run the cases whose messages
/// it found wrong.
fn replay(options: &CheckOptions, slug: &str, case: &CaseRecord, seed: u64, found: Option<&Finding>) -> String {
    let mut data = options.data.clone();
    data.cases.extend(found.map(|found| finding_file(&options.out, &found.case)));
    let mut words = check_words(&options.at, &data);
    let mut add = |words_to_add: &[&str]| words.extend(words_to_add.iter().map(|word| quote(word)));
    add(&["--protocol", slug]);
    for id in [&case.id].into_iter().chain(&case.swept_from) {
        add(&["--only", id]);
    }
    if is_strict(options) {
        add(&["--profile", "strict"]);
    }
    add(&["--seed", &seed.to_string()]);
    let of_finding = found.map(|found| found.spellings.join(","));
    match of_finding.as_deref().or(options.spellings.as_deref()) {
        Some("") if found.is_some() => {}
        Some("") => add(&["--spellings"]),
        Some(kinds) => add(&[&format!("--spellings={kinds}")]),
        None => {}
    }
    if !options.at.reference && options.at.adapter.is_none() {
        // The target keeps what this run stored, so the case must run with new identities.
        add(&["--new-ids"]);
    }
    words.join(" ")
}

/// The words of a command that checks the same target with the same data files.
pub(super) fn check_words(at: &TargetOptions, data: &DataOptions) -> Vec<String> {
    let mut words = vec!["proofmark".to_owned(), "check".to_owned()];
    let mut add = |words_to_add: &[&str]| words.extend(words_to_add.iter().map(|word| quote(word)));
    if at.reference {
        add(&["--reference"]);
        if let Some(fault) = &at.fault {
            add(&["--fault", fault]);
        }
        match at.variant {
            VariantWord::Own => {}
            VariantWord::Other => add(&["--variant", "other"]),
            VariantWord::Mixed => add(&["--variant", "mixed", "--variant-seed", &at.variant_seed.to_string()]),
        }
        if let Some(setup) = &at.setup {
            add(&["--setup", setup]);
        }
    } else if let Some(path) = &at.target {
        add(&["--target", &path.display().to_string()]);
    } else if let Some(command) = &at.adapter {
        add(&["--adapter", command]);
    } else if let Some(url) = &at.url {
        add(&[url]);
    }
    for name in at.header.iter().filter_map(|word| word.split_once(':')).map(|(name, _)| name) {
        // The value may be a secret.
        add(&["--header", &format!("{name}: VALUE")]);
    }
    if let Some(variable) = &at.bearer_env {
        add(&["--bearer-env", variable]);
    }
    if let Some(folder) = &data.suites {
        add(&["--suites", &folder.display().to_string()]);
    }
    if let Some(folder) = &data.vectors {
        add(&["--vectors", &folder.display().to_string()]);
    }
    for file in &data.cases {
        add(&["--cases", &file.display().to_string()]);
    }
    words
}

/// A word as a POSIX shell reads it back.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Prints the summary and where the reports are.
pub(super) fn print(record: &RunRecord, verbose: bool, written: &[PathBuf]) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    let width = if terminal { terminal_width() } else { 80 };
    let style = report::text::TerminalStyle { colour, width, verbose };
    report::text::write_terminal(record, &mut out, &style)?;
    if !written.is_empty() {
        let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        writeln!(out, "Reports: {}", names.join("  "))?;
    }
    Ok(())
}

fn terminal_width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        console::Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns).max(40))
    })
}

/// Shows how far a run is: a bar on a terminal, one line in a pipe.
struct Progress {
    bar: ProgressBar,
    plain: bool,
    what: String,
}

impl Progress {
    fn new(quiet: bool, slug: &str, target: &str) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = if terminal && !quiet {
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} cases {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(slug.to_owned());
        let what = format!("{slug}: {}", report::printable::line(target));
        Self { bar, plain: !terminal && !quiet, what }
    }

    fn explores(&self, time: std::time::Duration) {
        self.bar.suspend(|| {
            if self.plain {
                let _ = writeln!(anstream::stderr(), "{}: exploring for {time:?}", self.what);
            }
        });
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Sink for Progress {
    fn event(&self, event: Event) {
        match event {
            Event::Planned(count) => {
                self.bar.set_length(count as u64);
                if self.plain {
                    let mut out = anstream::stderr();
                    let _ = writeln!(out, "{}: running {count} cases", self.what);
                }
            }
            Event::Done(_) => self.bar.inc(1),
        }
    }
}

/// The transports of a record, in the order in which a plan lists them.
pub(super) fn target_of_record(record: &RunRecord) -> Target {
    let config = &record.target.config;
    let mut target = Target::new(TargetClass::Endpoint, record.target.name.clone());
    target.levels.clone_from(&config.levels);
    target.kinds.clone_from(&config.kinds);
    target.roles.clone_from(&config.roles);
    target.options.clone_from(&config.options);
    target.places.clone_from(&config.places);
    target.names.own.clone_from(&config.names);
    target.statuses =
        config.statuses.iter().filter_map(|(status, list)| Some((status.parse().ok()?, list.clone()))).collect();
    target.routes = config.routes.iter().map(|name| (name.clone(), target::RouteOverride::default())).collect();
    target.limits.clock_skew = std::time::Duration::from_millis(config.clock_skew_ms);
    let times = config.timeouts_ms.iter();
    target.timeouts = times.map(|(name, ms)| (name.clone(), std::time::Duration::from_millis(*ms))).collect();
    let read = |value: &serde_json::Value| wire::json::parse(value.to_string().as_bytes()).unwrap_or(Value::Null);
    target.settings = config.settings.iter().map(|(name, value)| (name.clone(), read(value))).collect();
    target.transports = Some(config.transports.clone());
    for transport in &config.transports {
        // Nothing is sent again, so any address will do.
        match transport {
            Transport::Http => target.url = url::Url::parse("http://127.0.0.1:1").ok(),
            Transport::Ws => target.ws = url::Url::parse("ws://127.0.0.1:1").ok(),
            Transport::Tcp => target.tcp = target::parse_tcp("127.0.0.1:1", &[]).ok(),
            Transport::Tree => target.tree = Some(target::TreeRoot::new("")),
            Transport::Adapter => target.adapter = Some(vec![record.target.name.clone()]),
        }
    }
    target
}
