//! `check`: the main job.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::watch;

use super::adapter;
use super::args::{CheckOptions, DataOptions, TargetOptions, VariantWord};
use super::data;
use super::exit::Failure;
use super::reference::{self, Reference, Setup};
use super::serve::runtime;
use crate::exchange::Transport;
use crate::judge::{self, Context, Facts, Features};
use crate::plan::{self, Knowledge, Plan, Selection, glob};
use crate::protocol;
use crate::record::{Asked, RunRecord, SCHEMA, Summary, TargetConfig, TargetRecord};
use crate::report::{self, Format};
use crate::run::{self, Event, Sink};
use crate::source::Source;
use crate::suggest::nearest;
use crate::target::{self, Target};
use crate::template::{Clock, format_time};
use crate::transport::Connections;
use crate::value::Value;
use crate::verdict::Profile;
use crate::wire;

/// Checks a target.
pub(super) fn run(options: &CheckOptions) -> Result<u8, Failure> {
    let options = &with_level(options.clone())?;
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
    let known = data::knowledge(&data)?;
    if known.len() > 1 && !options.at.reference && options.data.protocol.is_empty() {
        let slugs: Vec<_> = known.iter().map(|knowledge| knowledge.protocol.slug()).collect();
        let hint = format!("--protocol with one of {}", slugs.join(", "));
        return Err(Failure::Usage("which protocol does the target speak?".into(), Some(hint)));
    }
    routes(&target, &known)?;
    let selection = selection(options, &known)?;
    limits(options, &mut target)?;
    if options.list {
        return list(&known, &target, &selection);
    }
    let runtime = runtime()?;
    let record = runtime.block_on(check(options, &known, target, &selection))?;
    let written = report::files::write_all(&record, &reports)?;
    if !options.quiet {
        match print(&record, options.verbose, &written) {
            // The verdict stands whether or not anybody reads the summary.
            Ok(()) | Err(Failure::Unread) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(record.summary.exit_code)
}

/// The files to write: the standard ones in the folder, and those asked for by name. Old ones are gone afterwards, so that
/// a run that ends early, for whatever reason, leaves nothing that looks like its result.
fn reports(options: &CheckOptions) -> Result<Vec<(Format, PathBuf)>, Failure> {
    let standard = ["json", "html", "junit", "markdown"];
    let mut reports: Vec<(Format, PathBuf)> = report::FORMATS
        .iter()
        .filter(|format| standard.contains(&format.name))
        .map(|format| (*format, options.out.join(format.file_name)))
        .collect();
    let asked: Vec<_> = options.report.iter().map(|word| report_file(word)).collect();
    if !options.list {
        for (_, path) in reports.iter().chain(asked.iter().flatten()) {
            report::files::remove(path)?;
        }
    }
    for file in asked {
        reports.push(file?);
    }
    Ok(reports)
}

/// Reads `FORMAT=PATH`.
pub(super) fn report_file(word: &str) -> Result<(Format, PathBuf), Failure> {
    let names = || report::FORMATS.iter().map(|format| format.name);
    let (name, path) = word.split_once('=').ok_or_else(|| {
        Failure::Usage(
            format!("`{word}` is no FORMAT=PATH"),
            Some(format!("FORMAT is one of {}", names().collect::<Vec<_>>().join(", "))),
        )
    })?;
    let format = report::format(name).ok_or_else(|| {
        let hint = nearest(name, names()).map(|name| format!("did you mean `{name}`?"));
        Failure::Usage(
            format!("no report format `{name}`"),
            hint.or_else(|| Some(names().collect::<Vec<_>>().join(", "))),
        )
    })?;
    if path.is_empty() {
        return Err(Failure::usage(format!("`{word}` names no file")));
    }
    Ok((*format, PathBuf::from(path)))
}

pub(super) fn target(at: &TargetOptions) -> Result<Target, Failure> {
    if at.reference {
        return Ok(Target::new("reference", "the embedded reference implementation"));
    }
    if let Some(path) = &at.target {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
        return target::load(&Arc::new(Source { name, text })).map_err(Failure::Mistakes);
    }
    if let Some(command) = &at.adapter {
        let words = adapter::words(command)?;
        let mut target = Target::new("adapter", command);
        target.adapter = Some(words);
        return Ok(target);
    }
    let Some(url) = &at.url else {
        return Err(Failure::Usage(
            "there is no target".into(),
            Some("give a URL, --target FILE, --adapter CMD or --reference".into()),
        ));
    };
    target::parse_url(url)
        .map(Target::endpoint)
        .map_err(|message| Failure::Usage(message, Some("such as http://127.0.0.1:8787".into())))
}

/// Whether only the rulings of the errata count.
fn is_strict(options: &CheckOptions) -> bool {
    options.profile.iter().any(|word| word == "strict")
}

/// Puts a conformance profile that was given by `--profile` where a level is.
fn with_level(mut options: CheckOptions) -> Result<CheckOptions, Failure> {
    let (judging, claimed): (Vec<_>, Vec<_>) =
        options.profile.drain(..).partition(|word| ["strict", "lenient"].contains(&word.as_str()));
    if judging.iter().any(|word| word == "strict") && judging.iter().any(|word| word == "lenient") {
        return Err(Failure::usage("--profile is either strict or lenient"));
    }
    options.profile = judging;
    for level in claimed {
        if options.level.as_ref().is_some_and(|asked| *asked != level) {
            return Err(Failure::usage("only one level, or conformance profile, can be asked for"));
        }
        options.level = Some(level);
    }
    Ok(options)
}

fn selection(options: &CheckOptions, known: &[Knowledge]) -> Result<Selection, Failure> {
    if let Some(level) = &options.level {
        let levels = || known.iter().flat_map(|knowledge| &knowledge.manifest.levels).map(|level| level.value.as_str());
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
    // A pattern that matches nothing asks for nothing: that is no success.
    for pattern in &options.only {
        let ids: Vec<String> = known
            .iter()
            .flat_map(Knowledge::cases)
            .flat_map(|(suite, case)| {
                let id = format!("{}#{}", suite.name.value, case.name.value);
                [format!("{id}@ws"), format!("{id}@tcp"), format!("{id}@adapter"), id]
            })
            .collect();
        if !ids.iter().any(|id| glob(pattern, id)) {
            let hint = nearest(pattern, ids.iter().map(String::as_str)).map(|id| format!("did you mean `{id}`?"));
            return Err(Failure::Undecided(
                format!("no case matches --only '{pattern}', so nothing can be judged"),
                hint.or_else(|| Some("`proofmark list` prints the ids".into())),
            ));
        }
    }
    Ok(Selection {
        only: options.only.clone(),
        requirements: options.requirement.clone(),
        level: options.level.clone(),
        shard: options.shard,
    })
}

/// Looks up what a target file says of operations and options.
pub(super) fn routes(target: &Target, known: &[Knowledge]) -> Result<(), Failure> {
    for (name, route) in &target.routes {
        let operations = || known.iter().flat_map(|knowledge| knowledge.protocol.operations());
        let found = operations().find(|operation| operation.name == name).ok_or_else(|| {
            let hint = nearest(name, operations().map(|operation| operation.name));
            Failure::Usage(
                format!("the target file has a route for `{name}`, which is no operation"),
                hint.map_or_else(
                    || Some("`proofmark list --what operations` prints them".into()),
                    |name| Some(format!("did you mean `{name}`?")),
                ),
            )
        })?;
        let texts = route.path.iter().chain(route.query.iter().flatten().map(|(_, text)| text));
        for place in texts.flat_map(|text| protocol::places(text)) {
            if found.input(place).is_none() {
                let inputs: Vec<_> = found.inputs.iter().map(|input| input.name).collect();
                return Err(Failure::Usage(
                    format!("the route for `{name}` has a place `{{{place}}}`, which is no input of the operation"),
                    Some(format!("it has {}", inputs.join(", "))),
                ));
            }
        }
    }
    for name in target.options.keys() {
        let features = || known.iter().flat_map(|knowledge| &knowledge.manifest.features);
        if !features().any(|feature| feature.name.value == *name) {
            let hint = nearest(name, features().map(|feature| feature.name.value.as_str()));
            return Err(Failure::Usage(
                format!("the target file has an option `{name}`, which is no feature"),
                hint.map_or_else(
                    || Some("`proofmark list --what features` prints them".into()),
                    |name| Some(format!("did you mean `{name}`?")),
                ),
            ));
        }
    }
    if let Some(level) = &target.level
        && !known.iter().any(|knowledge| knowledge.manifest.levels.iter().any(|known| known.value == *level))
    {
        return Err(Failure::usage(format!("the target file claims level `{level}`, which there is not")));
    }
    Ok(())
}

fn limits(options: &CheckOptions, target: &mut Target) -> Result<(), Failure> {
    if let Some(jobs) = options.jobs {
        if jobs == 0 {
            return Err(Failure::usage("--jobs is at least 1"));
        }
        target.limits.jobs = jobs;
    }
    if let Some(text) = &options.timeout {
        target.limits.request = target::parse_duration(text)
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| Failure::Usage(format!("`{text}` is no duration"), Some("such as 500ms or 10s".into())))?;
    }
    Ok(())
}

fn list(known: &[Knowledge], target: &Target, selection: &Selection) -> Result<u8, Failure> {
    let mut target = target.clone();
    if target.kind == "reference" {
        target.adapter = Some(vec!["the reference".to_owned()]);
        // Never connected to: the plan only asks which transports there are.
        target.url = url::Url::parse("http://127.0.0.1:1").ok();
        target.ws = url::Url::parse("ws://127.0.0.1:1").ok();
        target.tcp = target::parse_tcp("127.0.0.1:1").ok();
    }
    let mut out = anstream::stdout();
    for knowledge in known {
        let plan = plan::build(knowledge, &target, selection);
        for case in plan.cases.iter().filter(|case| case.skip.is_none()) {
            writeln!(out, "{}", case.id)?;
        }
    }
    Ok(0)
}

async fn check(
    options: &CheckOptions,
    known: &[Knowledge],
    target: Target,
    selection: &Selection,
) -> Result<RunRecord, Failure> {
    let seed = options.seed.unwrap_or_else(random);
    let identity_seed = if options.new_ids { random() } else { seed };
    let profile = if is_strict(options) { Profile::Strict } else { Profile::Lenient };
    let begun = Instant::now();
    let (clock, started_at) = now();
    let facts = Facts { seed, identity_seed, clock, profile };
    let (cancel, cancelled) = watch::channel(false);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            let _ = cancel.send(true);
            // A second one does not wait for the report.
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(3);
            }
        }
        std::future::pending::<()>().await;
    });
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        identity_seed,
        profile,
        started_at,
        asked: Asked {
            level: options.level.clone(),
            only: options.only.clone(),
            requirements: options.requirement.clone(),
            shard: options.shard.map(|shard| format!("{}/{}", shard.index, shard.count)),
        },
        target: TargetRecord {
            kind: target.kind.to_owned(),
            name: target.name.clone(),
            declared: BTreeMap::new(),
            config: TargetConfig::default(),
        },
        protocols: Vec::new(),
        summary: Summary::default(),
    };
    for knowledge in known {
        let mut target = target.clone();
        let slug = knowledge.protocol.slug();
        let (reference, connections) = connect(&options.at, knowledge, &mut target).await?;
        let plan = plan::build(knowledge, &target, selection);
        record.target.config = config(&plan);
        let progress = Progress::new(options.quiet, slug, &target.name);
        let (transcript, totals) = run::run(&plan, facts, &connections, begun, cancelled.clone(), &progress).await;
        progress.finish();
        connections.close().await;
        if let Some(reference) = reference {
            reference.stop().await;
        }
        let features = Features::read(&plan, facts, &transcript);
        if let Some(declared) = &features.declared {
            let text = crate::wire::json::compact(declared);
            record.target.declared.insert(slug.to_owned(), serde_json::from_str(&text).unwrap_or_default());
        }
        let context = Context { plan: &plan, facts, features };
        let mut judged = judge::protocol(&context, &transcript);
        for case in &mut judged.cases {
            case.replay = replay(options, slug, &case.id, seed);
        }
        record.protocols.push(judged);
        record.summary.requests += totals.requests;
        if record.summary.cut_short.is_none() {
            record.summary.cut_short = transcript.cut_short;
        }
    }
    record.summary.elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    judge::conclude(&mut record);
    Ok(record)
}

/// The connections to a target, which is started first if it is the reference implementation.
pub(super) async fn connect(
    at: &TargetOptions,
    knowledge: &Knowledge,
    target: &mut Target,
) -> Result<(Option<Reference>, Connections), Failure> {
    if !at.reference {
        knowledge.protocol.complete(target);
        let connections = Connections::new(target).map_err(|error| Failure::Internal(error.to_string()))?;
        return Ok((None, connections));
    }
    let slug = knowledge.protocol.slug();
    let protocol = reference::protocol(slug)
        .ok_or_else(|| Failure::usage(format!("there is no reference implementation of `{slug}` yet")))?;
    if let Some(fault) = &at.fault {
        reference::check_fault(protocol, fault)?;
    }
    let variant = reference::variant(at.variant);
    let setup = Setup { fault: at.fault.clone(), variant, ..Setup::default() };
    let (reference, connections) = Reference::start(protocol, &setup, target).await?;
    Ok((Some(reference), connections))
}

/// What of the target's configuration a later judgement needs.
fn config(plan: &Plan<'_>) -> TargetConfig {
    let target = plan.target;
    TargetConfig {
        transports: plan.transports.clone(),
        level: target.level.clone(),
        options: target.options.clone(),
        settings: target.settings.iter().map(|(name, value)| (name.clone(), stored(value))).collect(),
        routes: target.routes.keys().cloned().collect(),
        places: target.places.clone(),
        statuses: target.statuses.iter().map(|(status, aliases)| (status.to_string(), aliases.clone())).collect(),
        clock_skew_ms: u64::try_from(target.limits.clock_skew.as_millis()).unwrap_or(u64::MAX),
    }
}

/// A setting as the record holds it.
fn stored(value: &Value) -> serde_json::Value {
    // Bytes and the like do not stand in a target file.
    serde_json::from_str(&wire::json::compact(value)).unwrap_or_default()
}

/// A seed for a run that names none. Small enough to be typed.
pub(super) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The keys of a new `RandomState` come from the operating system.
    std::collections::hash_map::RandomState::new().build_hasher().finish() % 1_000_000_000_000
}

/// Now, to the millisecond, so that the record holds it whole.
pub(super) fn now() -> (Clock, String) {
    let now = chrono::Utc::now();
    let milliseconds = i128::from(now.timestamp_millis());
    let clock = Clock(milliseconds * 1_000_000);
    (clock, format!("{}.{:03}Z", format_time(clock.0), milliseconds.rem_euclid(1000)))
}

/// The command that puts the question of one case again.
fn replay(options: &CheckOptions, slug: &str, id: &str, seed: u64) -> String {
    let mut words = check_words(&options.at, &options.data);
    let mut add = |words_to_add: &[&str]| words.extend(words_to_add.iter().map(|word| quote(word)));
    add(&["--protocol", slug, "--only", id]);
    if is_strict(options) {
        add(&["--profile", "strict"]);
    }
    add(&["--seed", &seed.to_string()]);
    if !options.at.reference && options.at.adapter.is_none() {
        // The target keeps what this run stored, so the question is put under new names.
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
        if at.variant == VariantWord::Other {
            add(&["--variant", "other"]);
        }
    } else if let Some(path) = &at.target {
        add(&["--target", &path.display().to_string()]);
    } else if let Some(command) = &at.adapter {
        add(&["--adapter", command]);
    } else if let Some(url) = &at.url {
        add(&[url]);
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
        rustix::termios::tcgetwinsize(std::io::stdout()).map_or(80, |size| usize::from(size.ws_col).max(40))
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
                    let _ = writeln!(out, "{}: putting {count} cases", self.what);
                }
            }
            Event::Done(_) => self.bar.inc(1),
        }
    }
}

/// The transports of a record, in the order in which a plan lists them.
pub(super) fn target_of_record(record: &RunRecord) -> Target {
    let config = &record.target.config;
    let mut target = Target::new("endpoint", record.target.name.clone());
    target.level.clone_from(&config.level);
    target.options.clone_from(&config.options);
    target.places.clone_from(&config.places);
    target.statuses =
        config.statuses.iter().filter_map(|(status, list)| Some((status.parse().ok()?, list.clone()))).collect();
    target.routes = config.routes.iter().map(|name| (name.clone(), target::RouteOverride::default())).collect();
    target.limits.clock_skew = std::time::Duration::from_millis(config.clock_skew_ms);
    let read = |value: &serde_json::Value| wire::json::parse(value.to_string().as_bytes()).unwrap_or(Value::Null);
    target.settings = config.settings.iter().map(|(name, value)| (name.clone(), read(value))).collect();
    target.transports = Some(config.transports.clone());
    for transport in &config.transports {
        // Nothing is asked again, so that any address does.
        match transport {
            Transport::Http => target.url = url::Url::parse("http://127.0.0.1:1").ok(),
            Transport::Ws => target.ws = url::Url::parse("ws://127.0.0.1:1").ok(),
            Transport::Tcp => target.tcp = target::parse_tcp("127.0.0.1:1").ok(),
            Transport::Adapter => target.adapter = Some(vec![record.target.name.clone()]),
        }
    }
    target
}
