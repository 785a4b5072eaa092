//! A node: processes incoming bytes, and returns the replies.
//!
//! [`Node::take`] is the way of a message: [`receive`](super::receive) decides whether it is one for this node, `seen`
//! whether it was there before (16.2), [`apply`] does what its type asks in one transaction with the entry that
//! remembers the replies. So an answer survives a crash of the process together with its effects. [`outbound`] is the
//! sending side, [`relay`] and [`federation`] are the functions of a relay.

mod apply;
mod batch;
mod capabilities;
pub(crate) mod channel;
pub(crate) mod clock;
pub(crate) mod companions;
mod cose;
mod credential;
mod delegation;
mod documents;
mod federation;
mod handshake;
mod load;
pub(crate) mod outbound;
mod relay;
mod replies;
mod request;
mod streams;
mod welcome;

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::bodies::Body;
use super::codes::{Code, typ};
use super::did;
use super::document::Documents;
use super::envelope;
use super::faults::node as faults;
use super::keys::Identity;
use super::message::Headers;
use super::negotiation::Event;
use super::receive::{self, Authentic, Recipient};
use super::rejection::{Rejection, Stage};
use super::role::Role;
use super::rules::Rules;
use super::store::{self, seen};

use crate::cbor::Cbor;
use crate::fault::planted;
use crate::store::{Database, OpenError, Store, StoreError};

use channel::{Carrier, Channel, Directory};
use clock::Clock;
use companions::Companions;
use load::{Load, Slot};
use replies::{Cause, Complaint, Voice};

/// Maximum nesting of BATCH (E55).
const BATCH_DEPTH: usize = 4;

/// The status of an entry for an unverified message; only a planted fault creates it.
const PLACEHOLDER: u16 = 102;

/// The constants of a node.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) me: Identity,
    pub(crate) rules: Rules,
    pub(crate) role: Role,
    /// Trusted relays (E44).
    pub(crate) trusted_relays: Vec<String>,
    /// The majors that are supported (13.1).
    pub(crate) versions: Vec<u64>,
    /// The timeout of a confirmation before the message is sent again, in milliseconds.
    pub(crate) ack_timeout: u64,
    /// Whether the node has a transport of its own; a library hands everything to its caller.
    pub(crate) serves: bool,
    /// What it does beyond that.
    pub(crate) companions: Companions,
}

/// An answer that is given later.
#[derive(Debug)]
pub(crate) struct Later {
    pub(crate) after: Duration,
    /// The answered message; kept whole, since its sender may require encryption.
    pub(crate) message: Box<Authentic>,
    /// The body of the RESPONSE, or why there is none.
    pub(crate) outcome: Result<Cbor, Code>,
    /// The place that the work takes until then.
    pub(crate) slot: Option<Slot>,
}

/// A node. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    store: Store,
    clock: Mutex<Clock>,
    documents: RwLock<Arc<Documents>>,
    directory: Directory,
    load: Load,
    /// Notified when there is something new to send.
    sending: Notify,
    /// Types and endpoints of the services in the document of this node.
    services: Mutex<Vec<(&'static str, String)>>,
}

/// What became of a message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    /// The replies, in order.
    pub(crate) replies: Vec<Bytes>,
    /// The status of an HTTP answer (binding.md, 4).
    pub(crate) status: u16,
    /// Why it was refused, if it was.
    pub(crate) refusal: Option<Code>,
    /// Whether the connection should end.
    pub(crate) close: bool,
    /// Whether a refusal is to be kept to ourselves: an ERROR answers no ERROR (E32).
    pub(crate) silent: bool,
    /// The outcome, for the adapter.
    pub(crate) outcome: Outcome,
}

/// The outcome of a message.
#[derive(Debug, Clone, Default)]
pub(crate) enum Outcome {
    /// Forwarded by a relay.
    #[default]
    Passed,
    /// Accepted, for the first time.
    Accepted(Box<Authentic>),
    /// Known; answered as before.
    Cached,
    /// Refused.
    Rejected(Rejection),
}

/// The result of the work on the database.
pub(crate) struct Answer {
    pub(crate) replies: Vec<Bytes>,
    pub(crate) status: u16,
    pub(crate) refusal: Option<Code>,
    /// Whether the replies were given before.
    pub(crate) cached: bool,
    /// The delayed answers.
    pub(crate) later: Option<Later>,
    /// Whether something is to be sent or looked after.
    pub(crate) wakes: bool,
}

impl Answer {
    /// No replies.
    pub(crate) fn none() -> Self {
        Self { replies: Vec::new(), status: 202, refusal: None, cached: false, later: None, wakes: false }
    }

    /// Replies of a message that was accepted.
    pub(crate) fn of(replies: Vec<Bytes>) -> Self {
        let status = if replies.is_empty() { 202 } else { 200 };
        Self { replies, status, ..Self::none() }
    }

    /// An ERROR.
    pub(crate) fn refused(voice: Voice<'_>, cause: Cause<'_>, complaint: &Complaint) -> Self {
        let (code, replies) = (complaint.code, vec![voice.error(cause, complaint)]);
        Self { replies, status: replies::status(code), refusal: Some(code), ..Self::none() }
    }
}

impl Node {
    /// Opens a node on a database.
    pub(crate) async fn open(database: &Database, settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let store = Store::open(database, store::SCHEMA)?;
        let node = Self(Arc::new(Inner {
            settings,
            store,
            clock: Mutex::new(clock),
            documents: RwLock::default(),
            directory: Directory::default(),
            load: Load::default(),
            sending: Notify::new(),
            services: Mutex::default(),
        }));
        node.recall().await;
        Ok(node)
    }

    /// Waits for the work in hand and closes the database.
    pub(crate) async fn close(&self) {
        self.0.store.close().await;
    }

    pub(crate) fn rules(&self) -> Rules {
        self.0.settings.rules
    }

    pub(crate) fn did(&self) -> &str {
        &self.0.settings.me.did
    }

    /// Whether messages for others are taken.
    pub(crate) fn relays(&self) -> bool {
        self.0.settings.role != Role::Agent
    }

    /// The present time in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.0.clock.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    pub(crate) fn set_clock(&self, clock: Clock) {
        *self.0.clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
    }

    fn voice(&self, now: u64) -> Voice<'_> {
        Voice { me: &self.0.settings.me, rules: self.rules(), now }
    }

    fn is_me(&self, party: &str) -> bool {
        did::is_same(party, self.did())
    }

    /// Processes bytes that arrived on `channel`.
    pub(crate) async fn take(&self, bytes: Bytes, channel: &Channel) -> Taken {
        self.take_at_depth(bytes, channel, 0).await
    }

    async fn take_at_depth(&self, bytes: Bytes, channel: &Channel, depth: usize) -> Taken {
        let (now, rules) = (self.now(), self.rules());
        let peek = envelope::peek(&bytes);
        if let Some(from) = &peek.from {
            self.fetch_document(from, now).await;
        }
        if let Some(cached) = self.seen_before_verification(&peek, now).await {
            return cached;
        }
        if self.relays()
            && let Ok(message) = envelope::parse(&bytes, rules)
            && let others = self.others(&message.headers)
            && !others.is_empty()
        {
            let for_me = others.len() < message.headers.to.all().len();
            let passed = self.pass_on(&bytes, others, channel, depth, now).await;
            // A message that a relay rejects is invalid for a recipient too; the error is that of the recipient, if
            // present.
            if !for_me {
                return passed;
            }
        }
        self.take_as_recipient(bytes, channel, depth, now).await
    }

    /// The way of a message for this node.
    async fn take_as_recipient(&self, bytes: Bytes, channel: &Channel, depth: usize, now: u64) -> Taken {
        let documents = self.documents();
        let settings = &self.0.settings;
        let recipient = Recipient {
            rules: settings.rules,
            me: &settings.me,
            documents: documents.as_ref(),
            versions: &settings.versions,
            now,
        };
        // 16.1: only messages addressed to this node are acknowledged.
        let mut authenticated = receive::authenticate(&bytes, recipient);
        planted!(settings.rules.fault, "ack-for-others", authenticated = receive::for_anybody(&bytes, recipient));
        let message = match authenticated {
            Ok(message) => message,
            Err(rejection) => {
                let of_version = rejection.stage == Stage::Version;
                // 13.5: the selected version remains.
                planted!(settings.rules.fault, "refused-version-ends-negotiation", of_version => faults::end_negotiation(channel));
                return self.refuse(&bytes, rejection, now).await;
            }
        };
        if let Some(taken) = self.out_of_turn(&message.headers, channel, depth, now) {
            return taken;
        }
        if let Some(code) = self.unwelcome(&message.headers) {
            return self.turn_away(&message.headers, code, false, now);
        }
        // 4.5: the items of a batch are messages of their own.
        if message.headers.typ == typ::BATCH {
            return self.take_batch(message, channel, depth, now).await;
        }
        let cause_of_later = (message.headers.from.clone(), message.headers.id.clone());
        let node = self.clone();
        let authentic = message.clone();
        let carrier = channel.carrier;
        let answered = self.0.store.write(move |db| node.answer(db, &authentic, carrier, now)).await;
        let answer = match answered {
            Ok(Ok(answer)) => answer,
            Ok(Err(Trouble::Rejected(rejection))) => return self.refuse(&bytes, rejection, now).await,
            Ok(Err(Trouble::Sqlite)) | Err(StoreError::Panicked | StoreError::Transaction(_)) => {
                return self.failed(&message, Code::InternalError, now);
            }
            Err(StoreError::Closed) => return self.failed(&message, Code::Unavailable, now),
        };
        self.settle_handshake(&message, channel, answer.refusal);
        if answer.wakes {
            self.0.sending.notify_one();
        }
        if let Some(later) = answer.later {
            self.answer_later(cause_of_later, later, channel);
        }
        let outcome = if answer.cached { Outcome::Cached } else { Outcome::Accepted(Box::new(message)) };
        let Answer { replies, status, refusal, .. } = answer;
        let outcome = match refusal {
            Some(code) => Outcome::Rejected(Rejection::new(code, Stage::Schema, "refused by the application")),
            None => outcome,
        };
        Taken { replies, status, refusal, outcome, ..Taken::default() }
    }

    /// Principal and order: the transport requirements on a valid message (RFC 002, 3.3 and 7.1).
    fn out_of_turn(&self, headers: &Headers, channel: &Channel, depth: usize, now: u64) -> Option<Taken> {
        // RFC 002, 7.1: the sender is the authenticated peer. The items of a batch may be by others (E55).
        let lenient = self.rules().fault.is("principal-unchecked");
        let other = |principal: &String| !lenient && !did::is_same(principal, &headers.from);
        if depth == 0 && channel.principal.as_ref().is_some_and(other) {
            return Some(self.turn_away(headers, Code::Unauthorized, true, now));
        }
        // RFC 002, 3.3: the first message on a connection is HELLO.
        if !channel.needs_hello() || super::codes::is_handshake(headers.typ) || depth > 0 {
            return None;
        }
        let out_of_order = channel.event(Event::Message(headers.v)).error;
        let code = out_of_order.filter(|_| !self.rules().fault.is("ws-hello-not-required"))?;
        // Other, E72: the connection ends.
        Some(self.turn_away(headers, code, self.rules().is_other(), now))
    }

    /// The answer to a valid message that is not taken.
    fn turn_away(&self, headers: &Headers, code: Code, close: bool, now: u64) -> Taken {
        let answer = Answer::refused(self.voice(now), Cause::of(headers), &code.into());
        // E32: an ERROR is not answered by an ERROR.
        let silent = headers.typ == typ::ERROR;
        let replies = if silent { Vec::new() } else { answer.replies };
        let outcome = Outcome::Rejected(Rejection::new(code, Stage::Recipient, "out of order"));
        Taken { replies, status: answer.status, refusal: Some(code), close, silent, outcome }
    }

    /// Steps 9 to 11 of E31 and their effects, in one transaction.
    fn answer(&self, db: &Connection, message: &Authentic, carrier: Carrier, now: u64) -> Result<Answer, Trouble> {
        let (rules, headers) = (self.rules(), &message.headers);
        let mut sender = self.cache_key(&headers.from);
        planted!(rules.fault, "replay-key-with-ext", message.ext.is_some() => sender.push_str(" ext"));
        // RFC 002, 8.3: whatever carried the copy.
        planted!(rules.fault, "replay-by-transport", carrier != Carrier::Http => sender.push_str(" connection"));
        planted!(rules.fault, "replay-key-with-form", message.encrypted => sender.push_str(" enc"));
        let mut id = headers.id.to_vec();
        planted!(rules.fault, "replay-key-cut", id.truncate(12));
        // 8.4: an id is sixteen bytes, whatever they are as text.
        planted!(rules.fault, "replay-key-as-text", id = String::from_utf8_lossy(&id).into_owned().into_bytes());
        planted!(rules.fault, "replay-key-without-time", drop(id.drain(..8)));
        planted!(rules.fault, "replay-key-of-seven-bits", id.iter_mut().for_each(|byte| *byte &= 0x7f));
        planted!(rules.fault, "replay-key-ignores-case", id.make_ascii_lowercase());
        planted!(rules.fault, "replay-key-cut-at-zero", end in id[8..].iter().position(|byte| *byte == 0) => id.truncate(8 + end));
        // An entry created before verification has no answer yet.
        let seen = self.find_seen(db, &sender, &id, now)?.filter(|seen| seen.status != PLACEHOLDER);
        if let Some(seen) = seen {
            let replies = seen.replies.into_iter().map(Bytes::from).collect();
            return Ok(Answer { status: seen.status, cached: true, ..Answer::of(replies) });
        }
        // 7.1, 8.7: only the signed body counts.
        let extended =
            rules.fault.is("delegation-credential-from-ext").then(|| faults::with_credential_of_ext(message));
        let message = extended.as_ref().unwrap_or(message);
        let body = receive::admit(message, rules).map_err(Trouble::Rejected)?;
        let answer = self.apply(db, message, body, now)?;
        // E47: a failed message leaves no entry, so that it can be retried.
        if answer.refusal.is_none() {
            // 8.4, 16.2, E46: as long as the message is valid, and at least its ttl from now.
            let mut until = headers.expiry().max(now.saturating_add(headers.ttl));
            planted!(rules.fault, "replay-forgets-early", until = now.saturating_add(1000));
            let long = headers.ttl > i32::MAX.unsigned_abs().into();
            planted!(rules.fault, "replay-forgets-long-lifetimes", long => until = 0);
            let replies = answer.replies.iter().map(|reply| reply.to_vec()).collect();
            let entry = seen::Seen { status: answer.status, replies };
            seen::remember(db, &sender, &id, until, &entry)?;
        }
        Ok(answer)
    }

    fn find_seen(&self, db: &Connection, sender: &str, id: &[u8], now: u64) -> rusqlite::Result<Option<seen::Seen>> {
        let fault = self.rules().fault;
        match () {
            // 8.4, 16.2: a message is processed only once.
            () if fault.is("replay-not-remembered") => Ok(None),
            // 16.2: ids are unique for a sender only.
            () if fault.is("replay-key-id-only") => seen::find_by_id(db, id, now),
            // 16.5: every id is remembered for its time, however many there are.
            () if fault.is("replay-remembers-few") => seen::find_recent(db, sender, id),
            () => seen::find(db, sender, id, now),
        }
    }

    /// The key of a sender in the cache (16.2, E21).
    fn cache_key(&self, from: &str) -> String {
        // Other, E21: the DID as written.
        if self.rules().is_other() { from.to_owned() } else { did::without_fragment(from).to_owned() }
    }

    /// 16.2, E47: the cache is consulted after verification, and contains only verified messages.
    async fn seen_before_verification(&self, peek: &envelope::Peek, now: u64) -> Option<Taken> {
        let fault = self.rules().fault;
        let (early_look, early_entry) = (fault.is("replay-served-unverified"), fault.is("replay-cache-before-verify"));
        if !early_look && !early_entry {
            return None;
        }
        let (sender, id) = (self.cache_key(peek.from.as_deref()?), peek.id.clone()?);
        let node = self.clone();
        let found = self.0.store.write(move |db| {
            let found = node.find_seen(db, &sender, &id, now)?;
            if early_entry && found.is_none() {
                let nothing = seen::Seen { status: PLACEHOLDER, replies: Vec::new() };
                seen::remember(db, &sender, &id, now.saturating_add(60_000), &nothing)?;
            }
            Ok::<_, rusqlite::Error>(found)
        });
        let found = found.await.ok()?.ok()??;
        let replies = found.replies.into_iter().map(Bytes::from).collect();
        Some(Taken { replies, status: found.status.max(200), outcome: Outcome::Cached, ..Taken::default() })
    }

    /// The answer to a message that was refused before anything happened (E32).
    async fn refuse(&self, bytes: &Bytes, rejection: Rejection, now: u64) -> Taken {
        let (code, peek) = (rejection.code, envelope::peek(bytes));
        let mut taken = Taken { status: replies::status(code), refusal: Some(code), ..Taken::default() };
        let complaint = Complaint { code, details: rejection.details.clone(), batch_index: None };
        taken.outcome = Outcome::Rejected(rejection);
        // 1.5, 13.4: unknown types are answered.
        let dropped = |taken| Taken { refusal: None, status: 202, ..taken };
        planted!(self.rules().fault, "type-unknown-dropped", code == Code::UnknownType => return dropped(taken));
        // E32: an ERROR is not answered by an ERROR.
        if peek.typ == Some(typ::ERROR) {
            taken.silent = true;
            return taken;
        }
        // E32, E83: an answer needs somebody to go to and something to refer to.
        if let (Some(from), Some(id)) = (&peek.from, &peek.id) {
            let cause = Cause { from, id, several: false, thread: None };
            taken.replies.push(self.voice(now).error(cause, &complaint));
        }
        taken
    }

    fn failed(&self, message: &Authentic, code: Code, now: u64) -> Taken {
        let answer = Answer::refused(self.voice(now), Cause::of(&message.headers), &code.into());
        let rejection = Rejection::new(code, Stage::Schema, "the node failed");
        let Answer { replies, status, refusal, .. } = answer;
        Taken { replies, status, refusal, outcome: Outcome::Rejected(rejection), ..Taken::default() }
    }

    /// Several replies in one message (E70).
    pub(crate) fn batch(&self, replies: &[Bytes]) -> Bytes {
        let to = replies.first().and_then(|reply| envelope::parse(reply, self.rules()).ok());
        let to = to.and_then(|first| first.headers.to.all().first().cloned()).unwrap_or_default();
        self.voice(self.now()).batch(&to, replies)
    }

    /// Counts how often the application ran; for the adapter.
    pub(crate) async fn effects(&self) -> u64 {
        let counted = self.0.store.read(|db| store::kept::counted(db, store::kept::RUNS)).await;
        counted.ok().and_then(Result::ok).unwrap_or_default()
    }
}

/// Why a transaction did not end with an answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Steps 10 and 11 of E31.
    Rejected(Rejection),
    /// The database failed; its error is not useful to the peer.
    Sqlite,
}

impl From<rusqlite::Error> for Trouble {
    fn from(_: rusqlite::Error) -> Self {
        Self::Sqlite
    }
}

/// Lower-case hexadecimal digits.
#[must_use]
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// The bytes behind hexadecimal digits.
#[must_use]
pub(crate) fn from_hex(digits: &str) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(digits.trim().as_bytes()).ok()
}
