//! From an arrival to the case that it belongs to.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::{Correlate, HostSpec, PATIENCE, Rules};
use crate::exchange::{Body, HostArrival, HostReply, Stray};
use crate::value::Value;

/// How often a service looks whether it has news for a peer that waits.
const LONG_POLL: Duration = Duration::from_millis(20);

/// Arrivals that wait for one case.
const WAITING: usize = 256;

/// Strays that are kept, and bytes of each.
const STRAYS: usize = 64;
const STRAY_BYTES: usize = 2_048;

/// Messages of shared hosts that are kept for later cases.
const KEPT: usize = 64;

/// Tokens, keys and values of cases that have ended, by which late arrivals are recognised.
const FORMER: usize = 8_192;

/// The shortest value that is searched in raw bytes: a shorter one could occur by chance.
const PREFIX: usize = 8;

/// A message that belongs to a case, and the way to reply to it.
pub struct Arrived {
    /// The message.
    pub arrival: HostArrival,
    /// The reply of the protocol, or else of the host, unless the case defines one.
    pub usual: HostReply,
    answer: oneshot::Sender<HostReply>,
}

impl Arrived {
    /// Replies.
    pub fn reply(self, reply: HostReply) {
        // The peer may have disconnected.
        let _ = self.answer.send(reply);
    }
}

/// A case that takes part in a run's hosts.
pub struct Guest {
    id: u64,
    router: Arc<Router>,
    arrived: mpsc::Receiver<Arrived>,
}

impl Guest {
    /// Has messages with this key, or with these bytes anywhere in them, routed to the case.
    pub fn claim(&self, value: &[u8]) {
        self.router.claim(self.id, value);
    }

    /// Waits for the next message. Dropping the future loses no messages.
    pub async fn next(&mut self) -> Arrived {
        match self.arrived.recv().await {
            Some(arrived) => arrived,
            // The sender lives as long as the guest.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.router.leave(self.id);
    }
}

/// Maps messages to cases.
pub(super) struct Router {
    rules: Arc<dyn Rules>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// The guest that receives messages that belong to no case.
    rest: Option<u64>,
    seats: HashMap<u64, Seat>,
    tokens: HashMap<String, u64>,
    /// Keys, and values that are searched in raw bytes.
    values: Values,
    /// Names of the cases that have ended, and their ids from the oldest on.
    former: HashMap<u64, String>,
    order: VecDeque<u64>,
    /// The claims of ended cases.
    former_tokens: HashMap<String, u64>,
    former_values: Values,
    strays: Vec<Stray>,
    more_strays: u64,
    /// Messages at shared hosts that belong to no case, with the replies to them.
    kept: Vec<(HostArrival, HostReply)>,
}

struct Seat {
    case: String,
    token: String,
    claims: Vec<Vec<u8>>,
    receives: Option<mpsc::Sender<Arrived>>,
    state: Value,
}

/// Values with their cases, searched in one pass over a message.
#[derive(Default)]
struct Values {
    whole: HashMap<Vec<u8>, u64>,
    by_start: HashMap<[u8; PREFIX], Vec<Vec<u8>>>,
}

impl Values {
    fn insert(&mut self, value: &[u8], id: u64) {
        if self.whole.insert(value.to_vec(), id).is_none()
            && let Some(start) = value.first_chunk::<PREFIX>()
        {
            self.by_start.entry(*start).or_default().push(value.to_vec());
        }
    }

    fn remove(&mut self, value: &[u8], id: u64) {
        if self.whole.get(value) != Some(&id) {
            return;
        }
        self.whole.remove(value);
        if let Some(start) = value.first_chunk::<PREFIX>()
            && let Some(list) = self.by_start.get_mut(start)
        {
            list.retain(|other| other != value);
            if list.is_empty() {
                self.by_start.remove(start);
            }
        }
    }

    fn key(&self, key: &str) -> Option<u64> {
        self.whole.get(key.as_bytes()).copied()
    }

    fn search(&self, bytes: &[u8]) -> Option<u64> {
        if self.by_start.is_empty() {
            return None;
        }
        (0..bytes.len().saturating_sub(PREFIX - 1)).find_map(|at| {
            let candidates = self.by_start.get(bytes[at..].first_chunk::<PREFIX>()?)?;
            let found = candidates.iter().find(|value| bytes[at..].starts_with(value))?;
            self.whole.get(found).copied()
        })
    }
}

/// The owner of an arrival, in the ways in which the host correlates.
fn owner(tokens: &HashMap<String, u64>, values: &Values, by: Correlate, clues: &Clues<'_>) -> Option<u64> {
    let mut segments = clues.path.split(['/', '?', '&', '=']).filter(|segment| !segment.is_empty());
    let by_path = || segments.find_map(|segment| tokens.get(segment).copied());
    let by_key = || clues.keys.iter().find_map(|key| values.key(key));
    let by_bytes = || {
        let fields = clues.headers.iter().map(|(_, value)| value.as_bytes());
        std::iter::once(clues.body)
            .chain(std::iter::once(clues.path.as_bytes()))
            .chain(fields)
            .find_map(|bytes| values.search(bytes))
    };
    by.path
        .then(by_path)
        .flatten()
        .or_else(|| by.keys.then(by_key).flatten())
        .or_else(|| by.bytes.then(by_bytes).flatten())
}

/// The properties that identify the case of an arrival.
struct Clues<'a> {
    path: &'a str,
    keys: Vec<String>,
    headers: &'a [(String, String)],
    body: &'a [u8],
}

impl Router {
    pub(super) fn new(rules: Arc<dyn Rules>) -> Self {
        Self { rules, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn join(router: &Arc<Self>, case: &str, token: &str, receives: bool) -> Guest {
        let (sender, arrived) = mpsc::channel(WAITING);
        let mut state = router.lock();
        state.last += 1;
        let id = state.last;
        state.tokens.insert(token.to_owned(), id);
        if receives {
            state.kept.iter().for_each(|(arrival, reply)| copy(&sender, arrival, reply));
        }
        let seat = Seat {
            case: case.to_owned(),
            token: token.to_owned(),
            claims: Vec::new(),
            receives: receives.then_some(sender),
            state: Value::Null,
        };
        state.seats.insert(id, seat);
        Guest { id, router: Arc::clone(router), arrived }
    }

    /// Routes all messages that belong to no case to a guest.
    pub(super) fn take_all(&self, guest: &Guest) {
        self.lock().rest = Some(guest.id);
    }

    fn claim(&self, id: u64, value: &[u8]) {
        let mut state = self.lock();
        state.values.insert(value, id);
        if let Some(seat) = state.seats.get_mut(&id) {
            seat.claims.push(value.to_vec());
        }
    }

    /// Forgets a case, except for what identifies its late arrivals.
    fn leave(&self, id: u64) {
        let mut state = self.lock();
        let Some(seat) = state.seats.remove(&id) else { return };
        if state.tokens.get(&seat.token) == Some(&id) {
            state.tokens.remove(&seat.token);
        }
        for value in &seat.claims {
            state.values.remove(value, id);
            state.former_values.insert(value, id);
        }
        state.former_tokens.insert(seat.token, id);
        state.former.insert(id, seat.case);
        state.order.push_back(id);
        if state.order.len() > FORMER {
            // The claims of older cases are dropped.
            state.order.clear();
            state.former.clear();
            state.former_tokens.clear();
            state.former_values = Values::default();
        }
    }

    /// The case whose token is in a path, if the host correlates by path.
    pub(super) fn at(&self, path: &str, by_path: bool) -> Option<u64> {
        let state = self.lock();
        let mut segments = path.split(['/', '?', '&', '=']).filter(|segment| !segment.is_empty());
        let found = by_path.then(|| segments.find_map(|segment| state.tokens.get(segment).copied()));
        found.flatten().or(state.rest)
    }

    /// Delivers a message to its case, and returns the reply. `known` is the case of its connection.
    pub(super) async fn deliver(&self, spec: &HostSpec, arrival: HostArrival, known: Option<u64>) -> HostReply {
        let begun = Instant::now();
        while begun.elapsed() < self.rules.patience(&arrival).min(PATIENCE) {
            tokio::time::sleep(LONG_POLL).await;
        }
        if let Some(reply) = self.rules.resident(&arrival) {
            return reply;
        }
        let keys = if spec.correlate.keys { self.rules.keys(&arrival) } else { Vec::new() };
        let (usual, waiting) = {
            let mut state = self.lock();
            let state = &mut *state;
            let clues = Clues { path: &arrival.hosted.path, keys, headers: &arrival.headers, body: &arrival.body };
            let found = owner(&state.tokens, &state.values, spec.correlate, &clues).or(known).or(state.rest);
            let Some(seat) = found.and_then(|id| state.seats.get_mut(&id)) else {
                let former = owner(&state.former_tokens, &state.former_values, spec.correlate, &clues);
                let case = former.and_then(|id| state.former.get(&id).cloned());
                let reply = self.rules.reply(&arrival, &mut Value::Null).unwrap_or_else(|| spec.reply.clone());
                if spec.shared && case.is_none() && state.kept.len() < KEPT {
                    state.seats.values().filter_map(|seat| seat.receives.as_ref()).for_each(|sender| {
                        copy(sender, &arrival, &reply);
                    });
                    state.kept.push((arrival, reply.clone()));
                } else {
                    state.stray(&arrival, case);
                }
                return reply;
            };
            let made = self.rules.reply(&arrival, &mut seat.state);
            let usual = made.unwrap_or_else(|| spec.reply.clone());
            let Some(sender) = seat.receives.clone() else { return usual };
            let (answer, answered) = oneshot::channel();
            match sender.try_send(Arrived { arrival, usual: usual.clone(), answer }) {
                Ok(()) => (usual, answered),
                Err(error) => {
                    // Beyond the limit, messages of a peer that floods a case are recorded as strays.
                    let (mpsc::error::TrySendError::Full(lost) | mpsc::error::TrySendError::Closed(lost)) = error;
                    let case = seat.case.clone();
                    state.stray(&lost.arrival, Some(case));
                    return usual;
                }
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(Ok(reply)) => reply,
            _ => usual,
        }
    }

    pub(super) fn strays(&self) -> (Vec<Stray>, u64) {
        let state = self.lock();
        (state.strays.clone(), state.more_strays)
    }
}

/// Hands a case the copy of a message that has been replied to.
fn copy(sender: &mpsc::Sender<Arrived>, arrival: &HostArrival, reply: &HostReply) {
    let (answer, _) = oneshot::channel();
    // A case with too many messages keeps the earlier ones.
    let _ = sender.try_send(Arrived { arrival: arrival.clone(), usual: reply.clone(), answer });
}

impl State {
    fn stray(&mut self, arrival: &HostArrival, case: Option<String>) {
        if self.strays.len() >= STRAYS {
            self.more_strays += 1;
            return;
        }
        let body = Body::from(arrival.body[..arrival.body.len().min(STRAY_BYTES)].to_vec());
        self.strays.push(Stray { hosted: arrival.hosted.clone(), body, at_ms: arrival.at_ms, case });
    }
}
