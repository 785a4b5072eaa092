//! Faults of the context service.

use rusqlite::Connection;

use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::{Object, Value};
use crate::meshai::refusal::Refusal;
use crate::meshai::store::contexts::{self, Context};
use crate::meshai::time;

/// The entries of every agent, as one object.
fn everyones(db: &Connection, id: &str) -> Object {
    let entries = contexts::everyones(db, id).unwrap_or_default();
    entries.into_iter().map(|(agent, memory)| (agent, memory.into())).collect()
}

/// `private-memory-returned`, `fork-leaks-private` and the like: Shows the private memory of everybody.
pub(in crate::meshai) fn with_everyones(db: &Connection, mut shown: Object, id: &str) -> Result<Object, Refusal> {
    shown.set("agent_memory", everyones(db, id));
    Ok(shown)
}

/// `expiry-offset-dropped`: The time without its offset, as if it were UTC.
pub(in crate::meshai) fn without_offset(time: Option<String>) -> Option<String> {
    time.map(|text| text.get(..19).map_or_else(|| text.clone(), |local| format!("{local}Z")))
}

/// `expiry-beyond-timer`: A time that is too distant for a timer of 32 bits comes a moment after now.
pub(in crate::meshai) fn within_a_timer(expiry: Option<i64>, now: Instant) -> Option<i64> {
    let now = now.unix_milliseconds();
    expiry.map(|expiry| if expiry - now > i64::from(i32::MAX) { now + 1 } else { expiry })
}

/// `expiry-without-seconds`: A time at a full minute without its seconds.
pub(in crate::meshai) fn without_seconds(time: &str) -> String {
    time.strip_suffix(":00Z").map_or_else(|| time.to_owned(), |minute| format!("{minute}Z"))
}

/// `fork-shares-lists`, `merge-shares-lists`: Source and result have the same lists.
pub(in crate::meshai) fn share_lists(db: &Connection, source: &Context, made: &Context) -> Result<(), Refusal> {
    Ok(contexts::put(db, &Context { access: made.access.clone(), ..source.clone() })?)
}

/// `private-memory-given`: Whether an agent keeps nothing in a context.
pub(in crate::meshai) fn keeps_nothing(db: &Connection, id: Option<&str>, agent: &str) -> bool {
    id.is_some_and(|id| contexts::private(db, id, agent).is_ok_and(|memory| memory.is_none()))
}

/// `update-drops-empty-values`, `merge-drops-empty-values`: What counts as false in some languages.
pub(in crate::meshai) fn is_empty(value: &Value) -> bool {
    matches!(value.write().as_str(), "0" | "false" | "\"\"" | "[]" | "{}")
}

/// `denied-update-moves-expiry`: Stores the expiry of an update that may be denied.
pub(in crate::meshai) fn move_expiry(db: &Connection, context: &Context, changes: &Object) {
    let Some(text) = changes.text("expires_at") else { return };
    let expiry = time::parse(text).map(Instant::unix_milliseconds);
    store_anyway(db, &Context { expiry, expires_at: Some(text.to_owned()), ..context.clone() });
}

/// `denied-update-sets-lists`: Stores the access lists of an update that may be denied.
pub(in crate::meshai) fn set_lists(db: &Connection, context: &Context, changes: &Object) {
    let Some(access) = changes.get("access_control").and_then(Value::as_object) else { return };
    store_anyway(db, &Context { access: Some(access.clone()), ..context.clone() });
}

/// Stores a context although the request is refused, whose transaction is rolled back.
fn store_anyway(db: &Connection, context: &Context) {
    db.execute_batch("RELEASE request; SAVEPOINT request").ok();
    contexts::put(db, context).ok();
    db.execute_batch("RELEASE request; SAVEPOINT request").ok();
}

/// `private-memory-by-prefix`: Shows the private memory of agents whose id begins as that of the asking one does.
pub(in crate::meshai) fn with_prefix(
    db: &Connection,
    mut shown: Object,
    id: &str,
    agent: &str,
) -> Result<Object, Refusal> {
    let stem = agent.rsplit_once('-').map_or(agent, |(stem, _)| stem);
    let mut entries = everyones(db, id);
    entries.retain(|owner, _| owner == agent || owner.starts_with(stem));
    shown.set("agent_memory", entries);
    Ok(shown)
}

/// `private-memory-counted`: Shows how many keys each agent keeps.
pub(in crate::meshai) fn with_counts(db: &Connection, mut shown: Object, id: &str) -> Result<Object, Refusal> {
    let own = shown.get("agent_memory").and_then(Value::as_object).cloned().unwrap_or_default();
    let count = |memory: &Value| memory.as_object().map_or(0, Object::len);
    let entries = everyones(db, id);
    let counted = entries.iter().map(|(owner, memory)| {
        let count = i64::try_from(count(memory)).unwrap_or_default();
        let shown = own.get(owner).cloned();
        (owner.to_owned(), shown.unwrap_or_else(|| Object::from([("keys", count.into())]).into()))
    });
    let counted: Object = counted.collect();
    shown.set("agent_memory", counted);
    Ok(shown)
}

/// The values at the top of a memory.
pub(in crate::meshai) fn values(memory: &Object) -> Vec<Value> {
    memory.iter().map(|(_, value)| value.clone()).collect()
}

/// `private-values-listed`: The values of everybody's private memory, without names.
pub(in crate::meshai) fn all_values(db: &Connection, id: &str) -> Result<Vec<Value>, Refusal> {
    let entries = contexts::everyones(db, id)?;
    Ok(entries.iter().flat_map(|(_, memory)| values(memory)).collect())
}

/// `not-found-lists-contexts`: Suggests other contexts, with their content.
pub(in crate::meshai) fn with_contexts(db: &Connection, refusal: Refusal) -> Refusal {
    let known = contexts::all(db).unwrap_or_default();
    let shown = known.into_iter().take(50).map(|context| {
        let private = everyones(db, &context.id);
        Object::from([
            ("id", context.id.into()),
            ("shared_memory", context.shared.into()),
            ("agent_memory", private.into()),
        ])
        .into()
    });
    let shown: Vec<Value> = shown.collect();
    refusal.with("available_contexts", shown)
}

/// `schema-error-shows-context`: Says what the context that was to be changed holds.
pub(in crate::meshai) fn with_state(db: &Connection, refusal: Refusal, parameters: &Object) -> Refusal {
    let known = parameters.text("context_id").and_then(|id| contexts::find(db, id).ok().flatten());
    match known {
        Some(context) => with_sources(db, refusal, &[context]),
        None => refusal,
    }
}

/// `merge-error-shows-sources`: Says what was read before the error.
pub(in crate::meshai) fn with_sources(db: &Connection, refusal: Refusal, sources: &[Context]) -> Refusal {
    let shown = sources.iter().map(|context| {
        let private = everyones(db, &context.id);
        Object::from([("shared_memory", context.shared.clone().into()), ("agent_memory", private.into())]).into()
    });
    refusal.with("read", shown.collect::<Vec<Value>>())
}

/// `create-joins-session`: The context that the session of a new one has already.
pub(in crate::meshai) fn of_session(db: &Connection, wanted: &Object) -> Result<Option<Context>, Refusal> {
    Ok(wanted.text("session_id").map(|session| contexts::of_session(db, session)).transpose()?.flatten())
}

/// `denial-quotes-memory`: Says what the agent may not read.
pub(in crate::meshai) fn quoted(refusal: &Refusal, context: &Context) -> String {
    format!("{}: {}", refusal.message, context.shared.write())
}

/// `update-denial-shows-context`, `event-denial-shows-context`: Answers a denied change with the present state.
pub(in crate::meshai) fn denied_update(
    db: &Connection,
    refusal: Refusal,
    context: &Context,
    event: bool,
    fault: Planted,
) -> Refusal {
    let planted = if event { fault.is("event-denial-shows-context") } else { fault.is("update-denial-shows-context") };
    if planted {
        let private = everyones(db, &context.id);
        return refusal.with("current", context.shared.clone()).with("agent_memory", private);
    }
    refusal
}

/// `private-denial-quotes`: Answers a write to the private memory of another agent with its content.
pub(in crate::meshai) fn with_private(db: &Connection, refusal: Refusal, id: Option<&str>, owner: &str) -> Refusal {
    let kept = id.and_then(|id| contexts::private(db, id, owner).ok().flatten()).unwrap_or_default();
    refusal.with("current", kept)
}

/// `private-copied-to-shared`: Keeps private memory in shared memory as well.
pub(in crate::meshai) fn copy_to_shared(db: &Connection, id: &str, entry: &Object) -> Result<(), Refusal> {
    if let Some(mut context) = contexts::find(db, id)? {
        entry.iter().for_each(|(name, value)| context.shared.set(name, value.clone()));
        contexts::put(db, &context)?;
    }
    Ok(())
}

/// `fork-leaks-private`, `merge-leaks-private`: Copies the private memory of everybody.
pub(in crate::meshai) fn copy_private(db: &Connection, from: &str, to: &str) -> Result<(), Refusal> {
    for (agent, memory) in contexts::everyones(db, from)? {
        contexts::put_private(db, to, &agent, &memory)?;
    }
    Ok(())
}

/// `reader-by-prefix`: Whether the id of an agent begins as a listed one does.
pub(in crate::meshai) fn common_prefix<'a>(mut listed: impl Iterator<Item = &'a str>, agent: &str) -> bool {
    let stem = agent.rsplit_once('-').map_or(agent, |(stem, _)| stem);
    listed.any(|known| known == agent || known.starts_with(stem))
}

/// `list-by-part-of-an-id`: Whether the id of an agent is a part of a listed one.
pub(in crate::meshai) fn part_of_one<'a>(mut listed: impl Iterator<Item = &'a str>, agent: &str) -> bool {
    listed.any(|known| known.contains(agent))
}

/// `get-invents`: An empty context of an unknown id.
pub(in crate::meshai) fn empty(id: &str, now: Instant) -> Context {
    Context {
        id: id.to_owned(),
        session: id.to_owned(),
        created_at: now.with_milliseconds(),
        expires_at: None,
        expiry: None,
        shared: Object::new(),
        access: None,
        parent: None,
        root: id.to_owned(),
    }
}

/// `update-upserts`: The same, and stores it.
pub(in crate::meshai) fn invented(db: &Connection, id: &str, now: Instant) -> Context {
    let context = empty(id, now);
    contexts::put(db, &context).ok();
    context
}

/// `create-same-id`: An id that depends on the content alone.
pub(in crate::meshai) fn id_of(wanted: &Object) -> String {
    use sha2::Digest;
    let hex = data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(wanted.write()));
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
}

/// `fork-shares-memory`: Writes to the parent what is written to the child.
pub(in crate::meshai) fn write_to_parent(db: &Connection, child: &Context) -> Result<(), Refusal> {
    let parent = child.parent.as_deref().map(|id| contexts::find(db, id)).transpose()?.flatten();
    if let Some(parent) = parent {
        contexts::put(db, &Context { shared: child.shared.clone(), ..parent })?;
    }
    Ok(())
}

/// `fork-shares-private`: Writes to the parent the private memory that is written to the child.
pub(in crate::meshai) fn private_to_parent(
    db: &Connection,
    id: &str,
    owner: &str,
    kept: &Object,
) -> Result<(), Refusal> {
    let parent = contexts::find(db, id)?.and_then(|child| child.parent);
    Ok(parent.map_or(Ok(()), |parent| contexts::put_private(db, &parent, owner, kept))?)
}

/// `fork-shows-parent`: Writes to the children what is written to the parent.
pub(in crate::meshai) fn write_to_children(db: &Connection, parent: &Context) -> Result<(), Refusal> {
    for child in contexts::all(db)? {
        if child.parent.as_ref() == Some(&parent.id) {
            contexts::put(db, &Context { shared: parent.shared.clone(), ..child })?;
        }
    }
    Ok(())
}

/// `merge-removes-sources`, `fork-removes-parent`: Removes a context.
pub(in crate::meshai) fn remove(db: &Connection, id: &str) -> Result<(), Refusal> {
    Ok(db.execute("DELETE FROM context WHERE id = ?", [id]).map(drop)?)
}

/// `expired-until-read`: Removes the context that is read, if it has expired, and no other.
pub(in crate::meshai) fn sweep_one(db: &Connection, read: Option<&str>, now: i64) -> Result<(), Refusal> {
    let found = read.map(|id| contexts::find(db, id)).transpose()?.flatten();
    match found.filter(|context| context.expiry.is_some_and(|expiry| expiry <= now)) {
        Some(expired) => remove(db, &expired.id),
        None => Ok(()),
    }
}

/// `lineage-invents-parent`: The lineage of a context that nobody made.
pub(in crate::meshai) fn invented_lineage() -> Object {
    Object::from([("parent_context", "00000000-0000-4000-8000-000000000000".into())])
}

/// Faults of the values in shared memory.
pub(in crate::meshai) fn shared(memory: &mut Object, fault: Planted) {
    fn each(value: &mut Value, change: &impl Fn(&mut Value)) {
        match value {
            Value::List(items) => items.iter_mut().for_each(|item| each(item, change)),
            Value::Object(members) => members.retain(|_, value| {
                each(value, change);
                true
            }),
            _ => {}
        }
        change(value);
    }
    let change = |value: &mut Value| match value {
        Value::Number(_) if fault.is("memory-numbers-as-text") => *value = Value::Text(value.write()),
        Value::Number(number) if fault.is("memory-integers-of-32-bits") => {
            if let Some(whole) = number.as_integer().filter(|_| !number.spelling().contains('.')) {
                #[expect(clippy::cast_possible_truncation, reason = "this is the mistake")]
                let half = whole as i32;
                *value = i64::from(half).into();
            }
        }
        Value::Text(text) if fault.is("memory-trimmed") => *text = text.trim().to_owned(),
        Value::Bool(bool) if fault.is("memory-booleans-as-numbers") => *value = i64::from(*bool).into(),
        Value::List(items) if fault.is("memory-lists-reversed") => items.reverse(),
        Value::Text(text) if fault.is("memory-ascii-only") => text.retain(|c| c.is_ascii()),
        Value::Object(_) if fault.is("memory-nested-as-text") => *value = Value::Text(value.write()),
        Value::Text(text) if text.is_empty() && fault.is("memory-empty-text-is-null") => *value = Value::Null,
        _ => {}
    };
    memory.retain(|_, value| {
        each(value, &change);
        true
    });
}
