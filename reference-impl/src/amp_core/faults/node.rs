//! Faults of a node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::amp_core::bodies::Body;
use crate::amp_core::negotiation::Event;
use crate::amp_core::node::channel::Channel;
use crate::amp_core::receive::Authentic;
use crate::amp_core::store::streams;
use crate::cbor::Cbor;

/// `pong-echoes-body`: Returns a body in PONG.
pub(in crate::amp_core) fn echo(body: &Body) -> Cbor {
    match body {
        Body::Other(body) if *body != Cbor::Null => body.clone(),
        _ => Cbor::map([("pong", true.into())]), // nothing that could be echoed
    }
}

/// `stream-inherited-names`: Whether the objects of some languages have a member of this name from the beginning.
pub(in crate::amp_core) fn is_inherited(name: &str) -> bool {
    ["constructor", "__proto__"].contains(&name)
}

/// `stream-names-normalised`: Whether a stream of the sender is known under this name in lower case, without blanks around it.
pub(in crate::amp_core) fn is_similar_open(db: &Connection, sender: &str, name: &str) -> rusqlite::Result<bool> {
    let normal = name.trim().to_lowercase();
    Ok(normal != name && streams::find(db, sender, &normal)?.is_some())
}

/// `hello-selects-in-turn`: Whether this is the second HELLO of a sender, or the fourth, and so on.
pub(in crate::amp_core) fn is_again(sender: &str) -> bool {
    static ODD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut odd = ODD.lock().unwrap_or_else(PoisonError::into_inner);
    let again = odd.remove(sender);
    if !again {
        odd.insert(sender.to_owned());
    }
    again
}

/// `thread-id-remembered`: The first thread of a sender, once it has one.
pub(in crate::amp_core) fn first_thread(sender: &str, thread: Option<&[u8]>) -> Option<Vec<u8>> {
    static FIRST: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    match thread {
        Some(thread) => Some(first.entry(sender.to_owned()).or_insert_with(|| thread.to_vec()).clone()),
        None => first.get(sender).cloned(),
    }
}

/// `refused-version-ends-negotiation`: Ends the negotiation of a connection, as an offer without a version does.
pub(in crate::amp_core) fn end_negotiation(channel: &Channel) {
    channel.event(Event::Hello(Vec::new()));
}

/// `delegation-credential-from-ext`: Takes a credential that the body lacks from ext.
pub(in crate::amp_core) fn with_credential_of_ext(message: &Authentic) -> Authentic {
    let mut message = message.clone();
    let given = message.ext.as_ref().and_then(|ext| ext.get("credential")).cloned();
    if let Some(credential) = given.filter(|_| message.body.get("credential").is_none()) {
        message.body.set("credential", credential);
    }
    message
}
