//! The context service (section 5, 3.4): create, get, update, merge and fork, as functions of database, rules, input and time.
//!
//! Shared memory is open to all agents unless access lists restrict it (E49). Private memory is shown only to its owner
//! (E52).

use rusqlite::Connection;

use super::codes::Code;
use super::faults::context as faults;
use super::refusal::Refusal;
use super::rules::Rules;
use super::store::contexts::{self, Context};
use super::{ids, shapes, time};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// The five operations (5.2), by the ids that they have as capabilities (E47).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Get,
    Update,
    Merge,
    Fork,
}

impl Operation {
    /// The operation of a capability id.
    #[must_use]
    pub(crate) fn of(capability: &str) -> Option<Self> {
        Self::named(capability.strip_prefix("context-")?)
    }

    /// The operation of a short name.
    #[must_use]
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "create" => Self::Create,
            "get" => Self::Get,
            "update" => Self::Update,
            "merge" => Self::Merge,
            "fork" => Self::Fork,
            _ => return None,
        })
    }
}

/// Who asks, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) agent: &'a str,
    pub(crate) now: Instant,
    pub(crate) rules: Rules,
}

/// Carries an operation out and returns the context as the asking agent may see it.
///
/// # Errors
///
/// CONTEXT_NOT_FOUND, a denied access, parameters of a wrong shape.
pub(crate) fn operate(
    db: &Connection,
    operation: Operation,
    parameters: &Object,
    asking: Asking<'_>,
) -> Result<Object, Refusal> {
    // E58: an expired context no longer exists.
    let spared = asking.rules.fault.is("expired-can-be-updated") && operation == Operation::Update;
    if !asking.rules.fault.is("expiry-ignored") && !spared {
        let read = matches!(operation, Operation::Get | Operation::Update);
        sweep(db, parameters.text("context_id").filter(|_| read), asking)?;
    }
    match operation {
        Operation::Create => create(db, parameters, asking),
        Operation::Get => get(db, parameters, asking),
        Operation::Update => {
            let changes = changes(parameters.get("context"), asking.rules);
            // 5.1: an error shows nothing of what an agent keeps.
            planted!(asking.rules.fault, "schema-error-shows-context", refusal in changes.as_ref().err() => return Err(faults::with_state(db, refusal.clone(), parameters)));
            let changes = changes?;
            let context = named(db, parameters, asking)?;
            update(db, context, &changes, asking, false)
        }
        Operation::Merge => merge(db, parameters, asking),
        Operation::Fork => fork(db, parameters, asking),
    }
}

/// Removes the contexts that have expired; `read` is the one that the operation reads.
fn sweep(db: &Connection, read: Option<&str>, asking: Asking<'_>) -> Result<(), Refusal> {
    let now = asking.now.unix_milliseconds();
    planted!(asking.rules.fault, "expired-until-read", return faults::sweep_one(db, read, now));
    Ok(contexts::sweep(db, now)?)
}

/// 3.4: a context_update event.
///
/// # Errors
///
/// As [`operate`].
pub(crate) fn event(db: &Connection, payload: &Object, asking: Asking<'_>) -> Result<Object, Refusal> {
    sweep(db, None, asking)?;
    let changes = changes(payload.get("context"), asking.rules)?;
    // E53: the id, or else the session.
    let found = match (changes.text("id"), changes.text("session_id")) {
        (Some(id), _) => contexts::find(db, id)?,
        (None, Some(session)) => contexts::of_session(db, session)?,
        (None, None) => {
            return Err(Refusal::schema("/message/payload/context/session_id", "session_id must be a string"));
        }
    };
    let context = found.ok_or_else(|| missing("the session has no context"))?;
    update(db, context, &changes, asking, true)
}

/// The changes that an update or event names.
fn changes(context: Option<&Value>, rules: Rules) -> Result<Object, Refusal> {
    let wrong = || Refusal::schema("/message/payload/context", "context must be an object");
    let context = context.and_then(Value::as_object).ok_or_else(wrong)?;
    match shapes::context(context, rules).first() {
        Some(problem) => Err(Refusal::schema(&problem.path, format!("{} {}", problem.path, problem.reason))),
        None => Ok(context.clone()),
    }
}

fn missing(message: &str) -> Refusal {
    Refusal::new(Code::ContextNotFound, message)
}

/// The context that `context_id` names.
fn named(db: &Connection, parameters: &Object, asking: Asking<'_>) -> Result<Context, Refusal> {
    let id = parameters.text("context_id").filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| Refusal::schema("/context_id", "context_id must be a string"))?;
    by_id(db, id, asking)
}

fn by_id(db: &Connection, id: &str, asking: Asking<'_>) -> Result<Context, Refusal> {
    if let Some(context) = contexts::find(db, id)? {
        return Ok(context);
    }
    let refusal = missing("no context has this id");
    // 5.1: what one agent keeps is not shown to another.
    planted!(asking.rules.fault, "not-found-lists-contexts", return Err(faults::with_contexts(db, refusal)));
    planted!(asking.rules.fault, "not-found-as-invalid", return Err(Refusal::schema("/context_id", "is unknown")));
    // 6.2: an unknown context is not made.
    planted!(asking.rules.fault, "update-upserts", return Ok(faults::invented(db, id, asking.now)));
    planted!(asking.rules.fault, "get-invents", return Ok(faults::empty(id, asking.now)));
    Err(refusal)
}

/// Whether an agent is on a list of the context. Without the list everybody is (E49).
fn permits(context: &Context, list: &str, asking: Asking<'_>) -> bool {
    let Some(listed) = context.access.as_ref().and_then(|access| access.present(list)).and_then(Value::as_list) else {
        return true;
    };
    let agents = listed.iter().filter_map(Value::as_text);
    let fault = asking.rules.fault;
    // 3.4: only who is listed can read.
    planted!(fault, "read-list-ignored", list == "read" => return true);
    planted!(fault, "reader-by-prefix", list == "read" => return faults::common_prefix(agents, asking.agent));
    planted!(fault, "list-by-part-of-an-id", return faults::part_of_one(agents, asking.agent));
    planted!(fault, "read-list-first-only", list == "read" => return listed.first().and_then(Value::as_text) == Some(asking.agent));
    planted!(fault, "readers-can-write", list == "write" => return permits(context, "read", asking));
    planted!(fault, "write-list-ignored", list == "write" => return true);
    planted!(fault, "nobody-can-write", list == "write" => return false);
    planted!(fault, "write-list-by-count", list == "write" => return !listed.is_empty());
    let mut agents = listed.iter().filter_map(Value::as_text);
    agents.any(|agent| agent == asking.agent)
}

fn demand(context: &Context, list: &str, asking: Asking<'_>) -> Result<(), Refusal> {
    if permits(context, list, asking) {
        return Ok(());
    }
    let verb = if list == "read" { "read" } else { "change" };
    let mut refusal = Refusal::access(&format!("{} may not {verb} this context", asking.agent));
    // E50: a denial shows nothing of what it protects.
    planted!(asking.rules.fault, "denial-quotes-memory", refusal.message = faults::quoted(&refusal, context));
    planted!(asking.rules.fault, "denial-details-context", refusal.details.set("context", context.shared.clone()));
    planted!(asking.rules.fault, "denial-lists-keys", refusal.details.set("known", faults::values(&context.shared)));
    Err(refusal)
}

/// 5.2: a new context with the given content.
fn create(db: &Connection, parameters: &Object, asking: Asking<'_>) -> Result<Object, Refusal> {
    let Asking { agent, now, rules } = asking;
    let empty = Value::Object(Object::new());
    let wanted = changes(Some(parameters.get("context").unwrap_or(&empty)), rules)?;
    // 5.2: a create makes a context, also in a session that has one.
    planted!(rules.fault, "create-joins-session", known in faults::of_session(db, &wanted)? => return faults::with_everyones(db, show(db, &known, asking)?, &known.id));
    let expires_at = wanted.text("expires_at").map(str::to_owned).filter(|_| !rules.fault.is("expiry-lost"));
    // E106: the instant that a time with an offset names.
    let expires_at =
        if rules.fault.is("expiry-offset-dropped") { faults::without_offset(expires_at) } else { expires_at };
    let expiry = expires_at.as_deref().and_then(time::parse).map(Instant::unix_milliseconds);
    // 5.1: an expiry may be as distant as the creator says.
    let expiry = if rules.fault.is("expiry-beyond-timer") { faults::within_a_timer(expiry, now) } else { expiry };
    // E97: a context that has already expired is refused. Other: it is gone at once.
    let past = expiry.is_some_and(|expiry| expiry <= now.unix_milliseconds());
    if past && !rules.is_other() && !rules.fault.is("past-expiry-accepted") {
        return Err(Refusal::schema("/context/expires_at", "expires_at is in the past"));
    }
    let expiry = expiry.filter(|_| !(past && rules.fault.is("past-expiry-accepted")));
    let id = if rules.is_other() { format!("ctx-{}", &ids::fresh()[..18]) } else { ids::fresh() };
    // 5.2: each create makes another context.
    let id = if rules.fault.is("create-same-id") { faults::id_of(&wanted) } else { id };
    let session = wanted.text("session_id").map_or_else(ids::fresh, str::to_owned);
    // 5.1: the session is the given one.
    let session = if rules.fault.is("session-lost") { ids::fresh() } else { session };
    let shared = wanted.get("shared_memory").and_then(Value::as_object).cloned().unwrap_or_default();
    // E48: lists that are given at the creation count.
    let access = wanted.get("access_control").and_then(Value::as_object).cloned();
    let (created_at, root) = (time::stamp(now, rules), id.clone());
    let context = Context { id, session, created_at, expires_at, expiry, shared, access, parent: None, root };
    own_memory(db, None, &wanted, agent, rules)?;
    contexts::put(db, &context)?;
    own_memory(db, Some(&context.id), &wanted, agent, rules)?;
    show(db, &context, asking)
}

/// 5.2: the data of a context.
fn get(db: &Connection, parameters: &Object, asking: Asking<'_>) -> Result<Object, Refusal> {
    // E47: by its session as well. Other: only by its id.
    let session = parameters.text("session_id").filter(|_| parameters.present("context_id").is_none());
    let session = session.filter(|_| !asking.rules.is_other() && !asking.rules.fault.is("get-by-id-only"));
    let context = match session {
        Some(session) => contexts::of_session(db, session)?.ok_or_else(|| missing("the session has no context"))?,
        None => named(db, parameters, asking)?,
    };
    // 3.4: whichever way it is found.
    let free = session.is_some() && asking.rules.fault.is("session-bypasses-read-list");
    if !free {
        demand(&context, "read", asking)?;
    }
    show(db, &context, asking)
}

/// 5.2, 3.4: changes shared and private state.
fn update(
    db: &Connection,
    mut context: Context,
    changes: &Object,
    asking: Asking<'_>,
    event: bool,
) -> Result<Object, Refusal> {
    let Asking { agent, rules, .. } = asking;
    let shared = changes.get("shared_memory").and_then(Value::as_object);
    let access = changes.get("access_control").and_then(Value::as_object);
    let expires_at = changes.text("expires_at").filter(|_| !event);
    // Private memory belongs to its agent: reading suffices to keep it.
    let only_private =
        changes.present("agent_memory").is_some() && shared.is_none() && access.is_none() && expires_at.is_none();
    let list = if only_private { "read" } else { "write" };
    // 3.4: events are checked as requests are.
    let unchecked =
        event && rules.fault.is("event-bypasses-write-list") || !event && rules.fault.is("update-bypasses-write-list");
    // 3.4: what is denied has no effect.
    planted!(rules.fault, "denied-update-moves-expiry", faults::move_expiry(db, &context, changes));
    planted!(rules.fault, "denied-update-sets-lists", faults::set_lists(db, &context, changes));
    if !unchecked {
        let denied = |refusal| faults::denied_update(db, refusal, &context, event, rules.fault);
        demand(&context, list, asking).map_err(denied)?;
    }
    own_memory(db, Some(&context.id), changes, agent, rules)?;
    planted!(rules.fault, "private-update-clears-shared", only_private => context.shared = Object::new());
    if let Some(named) = shared {
        // E54: named keys are set, the others stay. Other: an event replaces.
        let replaced = rules.fault.is("update-replaces") && !event
            || (rules.is_other() || rules.fault.is("event-replaces")) && event;
        context.shared = if replaced { Object::new() } else { context.shared };
        let known = |name: &str| context.shared.get(name).is_some();
        let left_out = |name: &str| match known(name) {
            true => rules.fault.is("update-new-keys-only"),
            false => rules.fault.is("update-known-keys-only"),
        };
        let taken = |name: &str| !left_out(name);
        // 5.2: every value is one.
        let lost = |value: &Value| rules.fault.is("update-drops-empty-values") && faults::is_empty(value);
        let named: Vec<(&str, &Value)> = named.iter().filter(|(name, value)| taken(name) && !lost(value)).collect();
        named.into_iter().for_each(|(name, value)| context.shared.set(name, value.clone()));
        // 5.2: a write to the child is not one to the parent, and the other way round.
        planted!(rules.fault, "fork-shares-memory", faults::write_to_parent(db, &context)?);
        planted!(rules.fault, "fork-shows-parent", faults::write_to_children(db, &context)?);
    }
    if let Some(access) = access {
        context.access = Some(access.clone());
    }
    // 5.1: what an update does not name stays.
    planted!(rules.fault, "update-drops-lineage", context.parent = None);
    planted!(rules.fault, "update-renews-creation", context.created_at = time::stamp(asking.now, rules));
    planted!(rules.fault, "update-renews-session", context.session = ids::fresh());
    // 3.4: lists stay until others are given.
    planted!(rules.fault, "update-clears-lists", !event && access.is_none() => context.access = None);
    if let Some(expires_at) = expires_at {
        let expiry = time::parse(expires_at).map(Instant::unix_milliseconds);
        context.expiry = expiry.filter(|_| !rules.fault.is("expiry-of-update-shown-only")).or(context.expiry);
        context.expires_at = Some(expires_at.to_owned());
    }
    // 3.4: what is acknowledged is done.
    planted!(rules.fault, "event-dropped", event => return show(db, &context, asking));
    planted!(rules.fault, "update-dropped", !event => return show(db, &context, asking));
    contexts::put(db, &context)?;
    // E51: a writer who may not read sees nothing.
    if !permits(&context, "read", asking) {
        return Ok(Object::from([("id", context.id.into()), ("session_id", context.session.into())]));
    }
    let shown = show(db, &context, asking)?;
    planted!(rules.fault, "event-reply-shows-private", event => return faults::with_everyones(db, shown, &context.id));
    planted!(rules.fault, "update-reply-shows-private", return faults::with_everyones(db, shown, &context.id));
    Ok(shown)
}

/// E52: an agent writes its own private memory and no other. Without a context, only checks.
fn own_memory(db: &Connection, id: Option<&str>, changes: &Object, agent: &str, rules: Rules) -> Result<(), Refusal> {
    let Some(memory) = changes.get("agent_memory").and_then(Value::as_object) else { return Ok(()) };
    for (owner, entry) in memory.iter() {
        let entry = entry.as_object().cloned().unwrap_or_default();
        // Other, E52: what is written for others is ignored.
        let others = owner != agent && !rules.fault.is("private-memory-writable");
        // 5.1: nor where its agent has none yet.
        let others = others && !(rules.fault.is("private-memory-given") && faults::keeps_nothing(db, id, owner));
        if others && rules.is_other() {
            continue;
        }
        if others {
            let refusal = Refusal::access("an agent writes only its own private memory");
            // 5.1: an error shows nothing of it.
            planted!(rules.fault, "private-denial-quotes", return Err(faults::with_private(db, refusal, id, owner)));
            return Err(refusal);
        }
        let Some(id) = id else { continue };
        let mut kept = contexts::private(db, id, owner)?.unwrap_or_default();
        entry.iter().for_each(|(name, value)| kept.set(name, value.clone()));
        planted!(rules.fault, "private-update-dropped", continue);
        contexts::put_private(db, id, owner, &kept)?;
        // 5.2: nor that of the parent.
        planted!(rules.fault, "fork-shares-private", faults::private_to_parent(db, id, owner, &kept)?);
        // 5.1: private memory is not shared memory.
        planted!(rules.fault, "private-copied-to-shared", faults::copy_to_shared(db, id, &entry)?);
    }
    Ok(())
}

/// 5.2: a new context with the state of several; the later value of a key wins (E55).
fn merge(db: &Connection, parameters: &Object, asking: Asking<'_>) -> Result<Object, Refusal> {
    let Asking { agent, now, rules } = asking;
    let named = parameters.get("context_ids").and_then(Value::as_list).unwrap_or_default();
    let wrong = || Refusal::schema("/context_ids", "context_ids must be an array of two or more strings");
    let named = named
        .iter()
        .map(Value::as_text)
        .collect::<Option<Vec<&str>>>()
        .filter(|ids| ids.len() > 1)
        .ok_or_else(wrong)?;
    // 5.2: every input counts.
    let named = if rules.fault.is("merge-first-two-only") { named[..2].to_vec() } else { named };
    let mut sources = Vec::new();
    for id in named {
        // 6.2: each of them must exist.
        let found = by_id(db, id, asking);
        // 5.1: nor does the error of a merge.
        planted!(rules.fault, "merge-error-shows-sources", refusal in found.as_ref().err() => return Err(faults::with_sources(db, refusal.clone(), &sources)));
        planted!(rules.fault, "merge-skips-missing", found.is_err() => continue);
        let found = found?;
        // 3.4: merging is reading.
        if !rules.fault.is("merge-ignores-read-list") {
            demand(&found, "read", asking)?;
        }
        sources.push(found);
    }
    let first = sources.first().ok_or_else(|| missing("no context has these ids"))?;
    let mut shared = Object::new();
    // Other, E55: the first one wins.
    let first_wins = rules.is_other() || rules.fault.is("merge-first-wins");
    for (name, value) in sources.iter().flat_map(|source| source.shared.iter()) {
        let conflict = shared.get(name).is_some_and(|known| known != value);
        planted!(rules.fault, "merge-drops-empty-values", faults::is_empty(value) => continue);
        planted!(rules.fault, "merge-conflict-is-null", conflict => shared.set(name, Value::Null));
        planted!(rules.fault, "merge-conflict-is-null", conflict => continue);
        planted!(rules.fault, "merge-conflict-drops-key", conflict => drop(shared.remove(name)));
        planted!(rules.fault, "merge-conflict-drops-key", conflict => continue);
        if !(conflict && first_wins) {
            shared.set(name, value.clone());
        }
    }
    let earliest = sources.iter().filter_map(|source| Some((source.expiry?, source.expires_at.clone()?))).min();
    let id = if rules.fault.is("merge-into-first") { first.id.clone() } else { ids::fresh() };
    let one_session = sources.iter().all(|source| source.session == first.session);
    let merged = Context {
        session: if one_session { first.session.clone() } else { ids::fresh() },
        created_at: time::stamp(now, rules),
        expiry: earliest.as_ref().map(|(expiry, _)| *expiry),
        expires_at: earliest.map(|(_, text)| text),
        shared,
        // E55: an agent that was excluded gains no access.
        access: if rules.fault.is("merge-drops-lists") { None } else { common_lists(&sources, agent) },
        parent: Some(first.id.clone()),
        root: first.root.clone(),
        id,
    };
    contexts::put(db, &merged)?;
    // 3.4: a source keeps its own lists.
    planted!(rules.fault, "merge-shares-lists", faults::share_lists(db, first, &merged)?);
    for source in &sources {
        // 5.1: private memory stays private in a combination.
        keep_private(db, source, &merged.id, asking, rules.fault.is("merge-leaks-private"))?;
        planted!(rules.fault, "merge-removes-sources", source.id != merged.id => faults::remove(db, &source.id)?);
    }
    let shown = show(db, &merged, asking)?;
    planted!(rules.fault, "merge-leaks-private", return faults::with_everyones(db, shown, &merged.id));
    Ok(shown)
}

/// The access lists of a combination: who is on every list that a source has, and the agent that made it.
fn common_lists(sources: &[Context], agent: &str) -> Option<Object> {
    let list = |name: &str| {
        let lists = sources.iter().filter_map(|source| source.access.as_ref()?.present(name)?.as_list());
        let mut common = lists.map(<[Value]>::to_vec).reduce(|mut kept, list| {
            kept.retain(|item| list.contains(item));
            kept
        })?;
        if !common.iter().any(|item| item.as_text() == Some(agent)) {
            common.push(agent.into());
        }
        Some((name.to_owned(), Value::List(common)))
    };
    let lists: Object = ["read", "write"].into_iter().filter_map(list).collect();
    (!lists.is_empty()).then_some(lists)
}

/// Copies the private memory of the asking agent to a context that it makes from another.
fn keep_private(db: &Connection, from: &Context, to: &str, asking: Asking<'_>, leaks: bool) -> Result<(), Refusal> {
    if leaks {
        return faults::copy_private(db, &from.id, to);
    }
    let Some(memory) = contexts::private(db, &from.id, asking.agent)? else { return Ok(()) };
    let mut kept = contexts::private(db, to, asking.agent)?.unwrap_or_default();
    memory.iter().for_each(|(name, value)| kept.set(name, value.clone()));
    Ok(contexts::put_private(db, to, asking.agent, &kept)?)
}

/// 5.2: a child with the state of its parent, and independent of it (E56).
fn fork(db: &Connection, parameters: &Object, asking: Asking<'_>) -> Result<Object, Refusal> {
    let Asking { agent, now, rules } = asking;
    let parent = named(db, parameters, asking)?;
    // 3.4: forking is reading.
    if !rules.fault.is("fork-ignores-read-list") {
        demand(&parent, "read", asking)?;
    }
    let access = parent.access.clone().map(|mut access| {
        let writers = access.get_mut("write").and_then(|list| match list {
            Value::List(writers) => Some(writers),
            _ => None, // only arrays are stored
        });
        if let Some(writers) = writers.filter(|writers| !writers.iter().any(|writer| writer.as_text() == Some(agent))) {
            writers.push(agent.into());
        }
        access
    });
    // 5.1: the root of a grandchild is the first ancestor.
    let root = if rules.fault.is("fork-root-is-parent") { parent.id.clone() } else { parent.root.clone() };
    let id = if rules.is_other() { format!("ctx-{}", &ids::fresh()[..18]) } else { ids::fresh() };
    let child = Context {
        parent: Some(if rules.fault.is("fork-parent-is-root") { parent.root.clone() } else { parent.id.clone() }),
        created_at: time::stamp(now, rules),
        shared: if rules.fault.is("fork-empty") { Object::new() } else { parent.shared.clone() },
        id,
        access,
        root,
        ..parent.clone()
    };
    // 5.2: the child has an id of its own.
    planted!(rules.fault, "fork-returns-parent", return show(db, &parent, asking));
    contexts::put(db, &child)?;
    // 3.4: nor do the lists of the child become those of the parent.
    planted!(rules.fault, "fork-shares-lists", faults::share_lists(db, &parent, &child)?);
    // 5.1: private memory stays private in the child.
    keep_private(db, &parent, &child.id, asking, rules.fault.is("fork-leaks-private"))?;
    planted!(rules.fault, "fork-removes-parent", faults::remove(db, &parent.id)?);
    let shown = show(db, &child, asking)?;
    planted!(rules.fault, "fork-leaks-private", return faults::with_everyones(db, shown, &child.id));
    planted!(rules.fault, "fork-reply-shows-private", return faults::with_everyones(db, shown, &parent.id));
    Ok(shown)
}

/// 5.1: a context as an agent may see it: private memory only its own.
fn show(db: &Connection, context: &Context, asking: Asking<'_>) -> Result<Object, Refusal> {
    let Asking { agent, now, rules } = asking;
    let mut shown = Object::from([
        ("id", context.id.as_str().into()),
        ("session_id", context.session.as_str().into()),
        ("created_at", context.created_at.as_str().into()),
    ]);
    planted!(rules.fault, "created-at-moves", shown.set("created_at", time::stamp(now, rules)));
    planted!(rules.fault, "created-at-epoch", shown.set("created_at", now.unix_milliseconds() / 1000));
    if let Some(expires_at) = &context.expires_at {
        shown.set("expires_at", expires_at.as_str());
        planted!(rules.fault, "expiry-without-seconds", shown.set("expires_at", faults::without_seconds(expires_at)));
    }
    let mut shared = context.shared.clone();
    faults::shared(&mut shared, rules.fault);
    shown.set("shared_memory", shared);
    planted!(rules.fault, "empty-memory-is-null", context.shared.is_empty() => shown.set("shared_memory", Value::Null));
    let own = contexts::private(db, &context.id, agent)?;
    let mut memory = Object::new();
    // 5.1: its owner sees it.
    if let Some(own) = own.filter(|_| !rules.fault.is("private-memory-hidden-from-owner")) {
        memory.set(agent, own);
    }
    shown.set("agent_memory", memory);
    // 5.1: no other agent does.
    planted!(rules.fault, "private-memory-returned", shown = faults::with_everyones(db, shown, &context.id)?);
    planted!(rules.fault, "private-memory-by-prefix", shown = faults::with_prefix(db, shown, &context.id, agent)?);
    planted!(rules.fault, "private-values-listed", shown.set("private_values", faults::all_values(db, &context.id)?));
    planted!(rules.fault, "private-memory-counted", shown = faults::with_counts(db, shown, &context.id)?);
    let mut lineage = Object::new();
    if let Some(parent) = &context.parent {
        lineage.set("parent_context", parent.as_str());
    }
    lineage.set("root_context", context.root.as_str());
    // Other, E57: a context without parent has no lineage.
    if (context.parent.is_some() || !rules.is_other()) && !rules.fault.is("lineage-missing") {
        shown.set("lineage", lineage);
    }
    planted!(rules.fault, "lineage-invents-parent", context.parent.is_none() => shown.set("lineage", faults::invented_lineage()));
    if let Some(access) = &context.access {
        shown.set("access_control", access.clone());
    }
    planted!(rules.fault, "context-id-number", shown.set("id", 4711));
    Ok(shown)
}
