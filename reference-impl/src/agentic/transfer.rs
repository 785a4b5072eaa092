//! Sections 10.1 and 10.3: export to and import from the wire formats, one record a line.
//!
//! The kind of a record follows from its members (E69, E97): `fact_id` makes a fact, `package_id` a package,
//! `session_id` with `started_at` a session, and `project_id` or `id` a project.

use rusqlite::Connection;

use super::canonical::canonical_object;
use super::fact::Fact;
use super::faults::transfer as faults;
use super::intake::{admit, complete};
use super::package::{CORE_MEMBERS, is_actor_type, is_list_of_texts, validate};
use super::refusal::{Code, Problem, Refusal};
use super::rules::Rules;
use super::tables::{facts, packages, projects, sessions};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// 10.1: everything a project holds, as NDJSON: the project, its packages, all its facts, its sessions.
pub(crate) fn export(db: &Connection, rules: Rules, project_id: &str) -> Result<String, Refusal> {
    let mut records = vec![("project", projects::demand(db, project_id)?.record)];
    let stored = packages::select(
        db,
        rules,
        "WHERE project_id = ? ORDER BY serial",
        vec![project_id.to_owned().into()],
        usize::MAX,
    )?;
    // 10.3: a backup is whole.
    let most = if rules.fault.is("export-first-page") { 2 } else { usize::MAX };
    let mut packages: Vec<Object> = stored.into_iter().take(most).map(|package| package.object).collect();
    planted!(rules.fault, "export-drops-unknown", packages.iter_mut().for_each(faults::drop_unknown));
    planted!(rules.fault, "export-first-hundred", packages.truncate(100));
    records.extend(packages.into_iter().map(|package| ("package", package)));
    let ended = if rules.fault.is("export-current-only") { "AND valid_to IS NULL" } else { "" };
    let mut history = facts::select(
        db,
        &format!("WHERE project_id = ? {ended} ORDER BY serial"),
        vec![project_id.to_owned().into()],
    )?;
    // 10.1: facts that begin at one time are facts each.
    planted!(rules.fault, "export-pages-by-start", faults::keep_page_of_each_start(&mut history));
    let most = if rules.fault.is("export-first-hundred-facts") { 100 } else { usize::MAX };
    records.extend(
        history
            .into_iter()
            .take(most)
            .map(|fact| if rules.fault.is("export-store-names") { faults::with_store_names(&fact) } else { fact })
            .map(|fact| ("fact", fact)),
    );
    let most = if rules.fault.is("export-first-hundred-sessions") { 100 } else { usize::MAX };
    let listed = sessions::of_project(db, project_id, rules)?.into_iter().take(most);
    records.extend(listed.map(|session| ("session", session)));
    let mut out = String::new();
    // 10.1: every line is a record in its wire format.
    planted!(rules.fault, "export-with-header", out.push_str("[\"agentic-backup\",1]\n"));
    for (kind, mut record) in records {
        // Other, E69: a line names the kind of its record.
        if rules.variant.is_other() {
            record = Object::from([(kind, record.into())]);
        }
        // 10.3: a record is one line, so no member is written on a line of its own.
        let mut line = rules.text(&record);
        planted!(rules.fault, "export-raw-newline", line = record.write().replace(",\"", ",\n\""));
        out.push_str(&line);
        out.push('\n');
    }
    Ok(out)
}

/// The number of imported records of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) projects: i64,
    pub(crate) packages: i64,
    pub(crate) facts: i64,
    pub(crate) sessions: i64,
}

impl From<Taken> for Object {
    fn from(taken: Taken) -> Self {
        Self::from([
            ("projects", taken.projects.into()),
            ("packages", taken.packages.into()),
            ("facts", taken.facts.into()),
            ("sessions", taken.sessions.into()),
        ])
    }
}

enum Record {
    Fact(Object),
    Package(Object),
    Project(Object),
    Session(Object),
}

/// 10.3: imports every record of `ndjson`, or none: the caller owns the transaction of `db`.
///
/// An existing record with the same content counts as imported. An archived project accepts records as well.
pub(crate) fn import(db: &Connection, rules: Rules, ndjson: &[u8], now: Instant) -> Result<Taken, Refusal> {
    let mut records = Vec::new();
    // 10.3: whatever is accepted is imported as a whole.
    let ndjson = if rules.fault.is("import-reads-plain-lines") { faults::plain_lines(ndjson) } else { ndjson };
    for (index, line) in ndjson.split(|byte| *byte == b'\n').enumerate() {
        // 5.2: a record may be long.
        planted!(rules.fault, "import-ends-at-long-line", line.len() > 65_536 => break);
        if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let record = read_record(line).map_err(|refusal| on_line(refusal, index))?;
            // 5.2: every record is imported.
            planted!(rules.fault, "import-loses-every-101st", index % 101 == 100 => continue);
            records.push((index, record));
        }
    }
    // Projects first: a project after its packages must not be replaced by an implicit one without name and state.
    let (first, then): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|(_, record)| matches!(record, Record::Project(_)));
    let mut taken = Taken::default();
    for (index, record) in first.into_iter().chain(then) {
        take(db, rules, record, &mut taken, now).map_err(|refusal| on_line(refusal, index))?;
    }
    Ok(taken)
}

fn on_line(refusal: Refusal, index: usize) -> Refusal {
    Refusal { message: format!("line {}: {}", index + 1, refusal.message), ..refusal }
}

fn read_record(line: &[u8]) -> Result<Record, Refusal> {
    let unknown = || Refusal::new(Code::InvalidSchema, "not a package, fact, session or project");
    let Value::Object(mut object) = json::read_to_depth(line, json::DEPTH_LIMIT + 1)? else {
        return Err(unknown());
    };
    let is_bare =
        ["fact_id", "package_id", "session_id", "project_id", "id"].iter().any(|name| object.get(name).is_some());
    if !is_bare {
        let wrapped =
            ["package", "fact", "session", "project", "data"].iter().find_map(|name| match object.remove(name) {
                Some(Value::Object(record)) => Some(record),
                _ => None, // unknown wrapper
            });
        object = wrapped.ok_or_else(unknown)?;
    }
    let has = |name: &str| object.get(name).is_some();
    match () {
        () if has("fact_id") => Ok(Record::Fact(object)),
        () if has("package_id") => Ok(Record::Package(object)),
        () if has("session_id") && has("started_at") => Ok(Record::Session(object)),
        () if has("project_id") || has("id") => Ok(Record::Project(object)),
        () => Err(unknown()),
    }
}

fn take(db: &Connection, rules: Rules, record: Record, taken: &mut Taken, now: Instant) -> Result<(), Refusal> {
    match record {
        Record::Project(project) => {
            take_project(db, project, now)?;
            taken.projects += 1;
        }
        Record::Package(package) => {
            take_package(db, rules, package, now)?;
            taken.packages += 1;
        }
        Record::Fact(fact) => {
            take_fact(db, rules, fact, now)?;
            taken.facts += 1;
        }
        Record::Session(session) => {
            take_session(db, rules, &session, now)?;
            taken.sessions += 1;
        }
    }
    Ok(())
}

/// A project has no wire format (E33): an id, and any further members. An existing one is not changed.
fn take_project(db: &Connection, mut project: Object, now: Instant) -> Result<(), Refusal> {
    let Some(id) = project.text("project_id").or_else(|| project.text("id")).map(str::to_owned) else {
        return Err(vec![Problem::new("/project_id", "must be a string")].into());
    };
    let mut problems = Vec::new();
    for name in ["created_at", "archived_at"] {
        let time = project.present(name);
        if time.is_some_and(|time| time.as_text().and_then(Instant::parse).is_none()) {
            problems.push(Problem::new(format!("/{name}"), "must be an RFC 3339 time in UTC or null"));
        }
    }
    if !problems.is_empty() {
        return Err(problems.into());
    }
    project.set("project_id", id.as_str());
    for (name, value) in
        [("name", Value::from(id.as_str())), ("created_at", now.to_string().into()), ("archived_at", Value::Null)]
    {
        if project.present(name).is_none() {
            project.set(name, value);
        }
    }
    if projects::find(db, &id)?.is_none() {
        projects::insert(db, &id, &project)?;
    }
    Ok(())
}

/// 10.1: a package is imported unchanged, including unknown members, so that its hash is the same.
fn take_package(db: &Connection, rules: Rules, mut package: Object, now: Instant) -> Result<(), Refusal> {
    let problems = validate(&package, rules);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    planted!(rules.fault, "import-drops-unknown", package.retain(|name, _| CORE_MEMBERS.contains(&name)));
    // 10.3: a backup of any implementation, with members of its own.
    planted!(rules.fault, "import-known-members-only", faults::refuse_unknown(&package)?);
    // 10.1, 9.3: character for character, so that the hash is the same.
    planted!(rules.fault, "import-respells-times", faults::respell_time(&mut package));
    complete(&mut package, rules);
    let mut submission = admit(rules, package, None);
    // 8.2: the order is that of created_at.
    planted!(rules.fault, "import-dates-packages", submission.created_at = now.key());
    projects::find_or_create(db, &submission.project_id, now)?;
    match packages::find(db, rules, &submission.package_id)? {
        None => packages::insert(db, &submission),
        Some(existing) if existing.hash == submission.hash => Ok(()),
        Some(_) => {
            let message = format!("package {:?} exists with other content", submission.package_id);
            Err(Refusal::new(Code::DuplicatePackageId, message))
        }
    }
}

/// 10.1: a fact is imported unchanged, including its created_at and its end.
fn take_fact(db: &Connection, rules: Rules, mut object: Object, now: Instant) -> Result<(), Refusal> {
    planted!(rules.fault, "import-restamps-facts", faults::restamp(db, &mut object, now)?);
    // 12.1: x- members of a fact are kept.
    planted!(rules.fault, "import-drops-fact-members", object.retain(|name, _| !name.starts_with("x-")));
    // 10.1: zero is a confidence.
    planted!(rules.fault, "import-rounds-confidence", faults::round_confidence(&mut object));
    let fact = Fact::new(object, rules)?;
    projects::find_or_create(db, fact.member("project_id"), now)?;
    let conflict = |message: String| Err(Refusal::new(Code::FactConflict, message));
    if let Some(existing) = facts::find(db, fact.member("fact_id"))? {
        let same = canonical_object(&existing, b"", rules) == canonical_object(&fact.object, b"", rules);
        let message = || conflict(format!("fact {:?} exists with other content", fact.member("fact_id")));
        return if same { Ok(()) } else { message() };
    }
    // 7.3: at most one fact is current for a subject and predicate.
    let pair = ["project_id", "subject", "predicate"].map(|name| fact.member(name).to_owned().into()).to_vec();
    let is_current = "WHERE project_id = ? AND subject = ? AND predicate = ? AND valid_to IS NULL";
    if fact.valid_to.is_none() && !facts::select(db, is_current, pair)?.is_empty() {
        return conflict(format!(
            "another fact is current for {:?} {:?}",
            fact.member("subject"),
            fact.member("predicate")
        ));
    }
    facts::insert(db, &fact)
}

/// 5.5: a session has these members; one that is there must be the same.
fn take_session(db: &Connection, rules: Rules, session: &Object, now: Instant) -> Result<(), Refusal> {
    let mut problems = Vec::new();
    for name in ["session_id", "project_id", "actor_id"] {
        if session.text(name).is_none() {
            problems.push(Problem::new(format!("/{name}"), "must be a string"));
        }
    }
    let mut check = |name: &str, needed: bool, expected: &str, holds: &dyn Fn(&Value) -> bool| {
        if !session.present(name).map_or(!needed, holds) {
            problems.push(Problem::new(format!("/{name}"), format!("must be {expected}")));
        }
    };
    let time = |value: &Value| value.as_text().and_then(Instant::parse);
    let started = session.get("started_at").and_then(time);
    check("actor_type", true, "one of human, agent, script", &|value| {
        value.as_text().is_some_and(|kind| is_actor_type(kind, rules))
    });
    check("callsign", false, "a string or null", &|value| value.as_text().is_some());
    check("started_at", true, "an RFC 3339 time in UTC", &|value| time(value).is_some());
    check("ended_at", false, "an RFC 3339 time in UTC, not before started_at, or null", &|value| {
        time(value).is_some_and(|ended| started.is_none_or(|started| ended >= started))
    });
    check("packages_deposited", true, "an array of strings", &is_list_of_texts);
    let (Some(started), true) = (started, problems.is_empty()) else {
        return Err(problems.into());
    };
    let member = |name| session.text(name).unwrap_or_default();
    // 5.5: a callsign is not a key.
    planted!(rules.fault, "callsign-as-key", faults::refuse_callsign(db, rules, session)?);
    projects::find_or_create(db, member("project_id"), now)?;
    match sessions::find(db, member("project_id"), member("session_id"))? {
        Some(existing) if existing != *session => Err(Refusal::new(
            Code::InvalidSchema,
            format!("session {:?} exists with other content", member("session_id")),
        )),
        Some(_) => Ok(()),
        None => sessions::insert(db, member("project_id"), member("session_id"), session, &started.key()),
    }
}
