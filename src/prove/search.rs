//! Searches for a change of one member of the clean subject's answers that makes a case fail, for cases and requirements that no
//! planted fault makes fail. Judging is pure, so this needs no target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::baseline::{Baseline, failed, is_open};
use super::mutate::{self, Change, Member, Stock};
use super::proof::{CaseRow, FaultRow, RequirementRow};
use super::subject::{Options, Progress};
use super::wanted::Wanted;
use crate::exchange::{Ended, Exchange, Incoming, Outgoing, Transport};
use crate::judge::{self, Gate, Swept};
use crate::parallel;
use crate::plan::{Knowledge, ReadyCase, Selection};
use crate::protocol::Protocol;
use crate::requirement::{RequirementId, Testable};
use crate::value::Value;
use crate::verdict::Profile;
use crate::walk::{CaseTranscript, Context};
use crate::wire::json;

/// Maximum number of changes that are tried for one case.
const TRIES: usize = 2_000;

/// Number of changes that are tried first, in all answers.
const GENERAL: usize = 3;

/// Number of sample exchanges of a transport for a sweeping case.
const SAMPLE: usize = 48;

/// Number of answers of each kind that replace others.
const ANSWERS: usize = 40;

/// Number of exchanges that are searched for a case that sweeps for rare messages.
const RARE: usize = 6;

/// Number of messages that proofmark sends which are judged as if the target had sent them, over each transport.
const REFLECTED: usize = 800;

/// The delays of a late answer, in milliseconds: after the longest a message may have expired, so that it decides nothing.
const LATE_MS: [u64; 3] = [6_000, 15_000, 60_000];

/// Number of elements at the start of a list that are removed in turn.
const ELEMENTS: usize = 4;

/// Objects of other answers that are inserted into lists.
const OBJECTS: usize = 24;

/// A case of one of the benches.
struct Candidate<'b, 'k> {
    baseline: &'b Baseline<'b, 'k>,
    index: usize,
    /// Whether no planted fault makes it fail.
    idle: bool,
    /// Requirements for which it must fail, in addition to failing at all.
    wanted: Vec<String>,
}

/// When the search for a case ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Once it fails.
    Any,
    /// Once it, or another case, has failed for each wanted requirement.
    Wanted,
}

/// The result for a candidate.
struct Found {
    case: String,
    any: Option<String>,
    by_requirement: BTreeMap<String, String>,
}

/// Rows of cases and requirements.
pub(super) fn rows(
    knowledge: &Knowledge,
    benches: &[Baseline<'_, '_>],
    faults: &[FaultRow],
    options: &Options,
    progress: &dyn Progress,
) -> (Vec<CaseRow>, Vec<RequirementRow>) {
    let mut kills: BTreeMap<&str, usize> = BTreeMap::new();
    let mut proven: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for fault in faults {
        for (case, ids) in &fault.killers {
            *kills.entry(case).or_default() += 1;
            for id in ids {
                let caught = proven.entry(id).or_default();
                if !caught.contains(&fault.fault) {
                    caught.push(fault.fault.clone());
                }
            }
        }
    }
    let mut candidates = Vec::new();
    let mut settings: BTreeMap<&str, &str> = BTreeMap::new();
    for baseline in benches {
        for index in &baseline.own {
            let ready = &baseline.plan.cases[*index];
            // The same case over another transport in a later setting has the same id.
            if settings.contains_key(ready.id.as_str()) || !options.is_chosen(&ready.id) {
                continue;
            }
            settings.insert(&ready.id, &baseline.setting.name);
            let wanted: Vec<String> =
                ready.covers.iter().map(ToString::to_string).filter(|id| !proven.contains_key(id.as_str())).collect();
            let idle = !kills.contains_key(ready.id.as_str());
            if idle || !wanted.is_empty() {
                candidates.push(Candidate { baseline, index: *index, idle, wanted });
            }
        }
    }
    let reflected: Vec<Reflected<'_, '_>> =
        benches.iter().map(|baseline| Reflected { baseline, exchanges: reflect(baseline, options) }).collect();
    let pool = Pool::new(benches, &reflected, options);
    // One case that fails for a requirement is enough, so a case does not search for what another one has found. Many are found
    // while a case searches for any change that makes it fail; only then is searched for the rest.
    let shown = Mutex::new(BTreeSet::new());
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for goal in [Goal::Any, Goal::Wanted] {
        let seen = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_open = |candidate: &&Candidate<'_, '_>| match goal {
            Goal::Any => candidate.idle,
            Goal::Wanted => candidate.wanted.iter().any(|id| !seen.contains(id)),
        };
        let open: Vec<&Candidate<'_, '_>> = candidates.iter().filter(is_open).collect();
        let part = match goal {
            Goal::Any => "cases that catch no fault",
            Goal::Wanted => "requirements for which no fault makes a case fail",
        };
        progress.part(part, open.len());
        let results = parallel::map(parallel::processors(), &open, |candidate| {
            let found = search(candidate, goal, &pool, &shown, options);
            progress.piece();
            found
        });
        for result in results {
            match found.get_mut(&result.case) {
                Some(known) => known.by_requirement.extend(result.by_requirement),
                None => drop(found.insert(result.case.clone(), result)),
            }
        }
    }
    let cases = benches[0]
        .plan
        .cases
        .iter()
        .filter(|ready| options.is_chosen(&ready.id))
        .map(|ready| {
            let id = ready.id.as_str();
            let kills = kills.get(id).copied().unwrap_or(0);
            CaseRow {
                case: id.to_owned(),
                setting: settings.get(id).copied().unwrap_or_default().to_owned(),
                kills,
                mutation: found.get(id).filter(|_| kills == 0).and_then(|found| found.any.clone()),
            }
        })
        .collect();
    let covering = |id: &RequirementId| {
        let chosen = benches[0].plan.cases.iter().filter(|ready| options.is_chosen(&ready.id));
        chosen.filter(|ready| ready.covers.contains(&id)).count()
    };
    let requirements = knowledge
        .catalogue
        .requirements
        .iter()
        .filter(|requirement| requirement.testable != Testable::No)
        .filter(|requirement| options.only.is_empty() || covering(&requirement.id.value) > 0)
        .map(|requirement| {
            let id = requirement.id.value.as_str();
            let covering = covering(&requirement.id.value);
            let faults = proven.get(id).cloned().unwrap_or_default();
            let mutation = found.values().find_map(|found| found.by_requirement.get(id)).cloned();
            RequirementRow {
                requirement: id.to_owned(),
                keyword: requirement.keyword.word().to_owned(),
                cases: covering,
                mutation: mutation.filter(|_| faults.is_empty()),
                faults,
            }
        })
        .collect();
    (cases, requirements)
}

/// A value that is invalid for almost every member.
const ODD: Value = Value::Integer(-7);

/// A change of recorded answers.
enum Mutation<'m> {
    /// Changes one member in one way.
    Member(&'m Member, Change),
    /// Adds a member that other answers of the kind have.
    Graft(&'m Member, &'m str, &'m Value),
    /// Removes an element of an array.
    Drop(&'m Member, usize),
    /// Adds an object of another answer to an array.
    Append(&'m Member, &'m Value),
    /// Sets a member to a value that the case expects somewhere.
    Set(&'m Member, &'m Value),
    /// Both: the value of one member selects the messages that the case judges by another one.
    Both(&'m Member, &'m Value, &'m Member, Change),
    /// The operation is missing.
    Missing,
    /// Another answer to the operation, by its index among the kept ones. The first are of the other kind: a rejection instead
    /// of a success, or vice versa.
    Swap(usize),
    /// So many milliseconds later.
    Late(u64),
    /// No answer until the timeout.
    Silence,
    /// The same answer in another layout.
    Laid(&'m str),
    /// The previous answer to the same operation, or the next one for the first.
    Stale,
}

impl Mutation<'_> {
    /// How far it is from what the expectations of a case name; the least is tried first.
    fn distance(&self, wished: &Wanted) -> u8 {
        match self {
            Self::Swap(0) | Self::Stale | Self::Missing | Self::Set(..) => 0,
            Self::Member(member, _) if wished.names(&member.place) => 1,
            Self::Graft(_, name, _) if wished.names(name) => 1,
            _ => 2,
        }
    }

    /// Changes an answer. `others` are the other answers of the case.
    fn apply(&self, exchange: &mut Exchange, others: &[Exchange], pool: &Pool<'_>) -> bool {
        let Exchange { operation, sent, received, elapsed_ms, .. } = exchange;
        let protocol = pool.protocol;
        match self {
            Self::Member(member, change) => {
                mutate::apply(protocol, member, *change, operation, sent.transport, received)
            }
            Self::Graft(at, name, value) => {
                mutate::graft(protocol, at, name, value, operation, sent.transport, received)
            }
            Self::Drop(at, position) => {
                mutate::drop_element(protocol, at, *position, operation, sent.transport, received)
            }
            Self::Set(at, value) => mutate::set(protocol, at, value, operation, sent.transport, received),
            Self::Both(at, value, member, change) => {
                mutate::set(protocol, at, value, operation, sent.transport, received)
                    && mutate::apply(protocol, member, *change, operation, sent.transport, received)
            }
            Self::Append(at, element) => mutate::append(protocol, at, element, operation, sent.transport, received),
            Self::Missing => {
                received.status = received.status.map(|_| 501);
                let refusal: &[u8] = match sent.transport {
                    Transport::Http | Transport::Ws | Transport::Tcp | Transport::Tree => {
                        br#"{"error":{"code":"not_implemented","message":"no"}}"#
                    }
                    Transport::Adapter => br#"{"jsonrpc":"2.0","id":0,"error":{"code":-32006,"message":"no"}}"#,
                };
                received.body = (refusal.to_vec()).into();
                true
            }
            Self::Swap(place) => {
                let of = |refusal: bool| pool.answers.get(&(operation.clone(), sent.transport, refusal));
                let refused = mutate::is_refusal(received);
                let mut others = [of(!refused), of(refused)].into_iter().flatten().flatten();
                let other = others.nth(*place).filter(|other| other.received != *received);
                other.is_some_and(|other| replace(received, other, sent, protocol))
            }
            Self::Late(by_ms) => {
                received.arrived.iter_mut().for_each(|arrival| arrival.at_ms += by_ms);
                *elapsed_ms += by_ms;
                true
            }
            Self::Silence => {
                let nothing = Incoming::nothing(Ended::TimedOut);
                sent.transport.is_channel() && std::mem::replace(received, nothing.clone()) != nothing
            }
            Self::Laid(layout) => mutate::lay(protocol, received, layout),
            Self::Stale => {
                let same = |other: &&Exchange| other.operation == *operation && other.received.body != received.body;
                let stale = others.iter().rev().find(same).cloned();
                stale.is_some_and(|stale| replace(received, &stale, sent, protocol))
            }
        }
    }
}

impl std::fmt::Display for Mutation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Member(member, change) => write!(f, "{member} {}", change.word()),
            Self::Graft(at, name, _) => write!(f, "{at} with additional `{name}`"),
            Self::Drop(at, position) => write!(f, "{at} without element {position}"),
            Self::Set(at, value) => write!(f, "{at} with {}", json::compact(value)),
            Self::Both(at, value, member, change) => {
                write!(f, "{at} with {}, and {member} {}", json::compact(value), change.word())
            }
            Self::Append(at, _) => write!(f, "{at} with an object of another answer"),
            Self::Missing => f.write_str("a missing operation"),
            Self::Late(by_ms) => write!(f, "the same answer {} s later", by_ms / 1_000),
            Self::Silence => f.write_str("silence"),
            Self::Laid(layout) => write!(f, "the same answer in the layout {layout}"),
            Self::Stale => f.write_str("the answer to another call of the same operation"),
            Self::Swap(_) => f.write_str("another answer to the operation"),
        }
    }
}

/// Replaces an answer by the one to another message, as an answer to the same message.
fn replace(received: &mut Incoming, other: &Exchange, sent: &Outgoing, protocol: &dyn Protocol) -> bool {
    let id = json::parse(&received.body.0).ok().and_then(|body| body.member("id").cloned());
    received.clone_from(&other.received);
    if let (Transport::Adapter, Some(id), Ok(mut body)) = (sent.transport, id, json::parse(&received.body.0)) {
        body.set_member("id", id);
        received.body = (json::compact(&body).into_bytes()).into();
    }
    let asked = |sent: &Outgoing| mutate::message(&sent.body, sent.transport);
    if let (Some(from), Some(to)) = (asked(&other.sent), asked(sent)) {
        mutate::readdress(protocol, received, &from, &to);
    }
    true
}

/// Answers of the clean subject in one setting that carry what proofmark sent: messages that the subject does not send by itself,
/// for sweeping cases.
struct Reflected<'b, 'k> {
    baseline: &'b Baseline<'b, 'k>,
    exchanges: Vec<Exchange>,
}

/// Messages of different shapes that proofmark sent over each transport, each in place of the message in one answer.
fn reflect(baseline: &Baseline<'_, '_>, options: &Options) -> Vec<Exchange> {
    let plan = baseline.plan;
    let protocol = plan.knowledge.protocol;
    let context = baseline.context(options.facts);
    let mut reflected = Vec::new();
    for transport in &plan.transports {
        let sweeps =
            |ready: &&ReadyCase<'_>| ready.transport == *transport && ready.case.is_sweep() && ready.skip.is_none();
        let cases = || {
            let ran =
                plan.cases.iter().zip(&baseline.transcript.cases).filter(|(ready, _)| ready.transport == *transport);
            ran.filter_map(|(_, case)| case.as_ref()).flat_map(|case| &case.exchanges)
        };
        let seen_in = context.observation_context(*transport);
        let asked = |exchange: &Exchange| mutate::message(&exchange.sent.body, *transport);
        let carries = |exchange: &&Exchange| {
            let received = &exchange.received;
            received.body.len() + received.arrived.len() > 0
                && (asked(exchange).is_some() || *transport == Transport::Adapter)
                && protocol.emitted(exchange, &seen_in).len() == 1
        };
        if !plan.cases.iter().any(|ready| sweeps(&ready)) {
            continue;
        }
        let Some(carrier) = cases().find(carries) else { continue };
        let to = asked(carrier).unwrap_or(Value::Null);
        let mut shapes = BTreeSet::new();
        // A library is given messages by cases over any transport.
        let all = plan.cases.iter().zip(&baseline.transcript.cases).filter_map(|(_, case)| case.as_ref());
        for exchange in all.flat_map(|case| &case.exchanges) {
            let Some(request) = mutate::message(&exchange.sent.body, exchange.sent.transport) else { continue };
            let size = exchange.sent.body.len();
            if size > 10_000 || shapes.len() >= REFLECTED || !shapes.insert(mutate::shape(&request)) {
                continue;
            }
            let mut one = carrier.clone();
            if mutate::reflect(protocol, &mut one.received, &to, &request) {
                reflected.push(one);
            }
        }
    }
    reflected
}

/// The recorded answers from which changes are made.
struct Pool<'b> {
    stock: Stock,
    /// Answers to each operation over each transport, rejections and successes, of different shapes.
    answers: BTreeMap<(String, Transport, bool), Vec<Exchange>>,
    /// All messages of the clean subject, for sweeping cases, by setting.
    swept: BTreeMap<&'b str, Swept<'b>>,
    /// The same for messages that it does not send by itself.
    reflected: BTreeMap<&'b str, Vec<Swept<'b>>>,
    protocol: &'static dyn Protocol,
}

impl<'b> Pool<'b> {
    fn new(benches: &'b [Baseline<'_, '_>], reflected: &'b [Reflected<'b, '_>], options: &Options) -> Self {
        let protocol = benches[0].plan.knowledge.protocol;
        let mirrored = |one: &'b Reflected<'b, '_>| {
            let context = one.baseline.context(options.facts);
            let of = |transport: &Transport| {
                let over = one.exchanges.iter().filter(|exchange| exchange.sent.transport == *transport);
                Swept::of(&context, *transport, over.collect())
            };
            (one.baseline.setting.name.as_str(), one.baseline.plan.transports.iter().map(of).collect())
        };
        let reflected = reflected.iter().map(mirrored).collect();
        let swept = |baseline: &'b Baseline<'_, '_>| {
            (baseline.setting.name.as_str(), Swept::new(&baseline.context(options.facts), &baseline.transcript))
        };
        let swept = benches.iter().map(swept).collect();
        let mut pool = Self { stock: Stock::new(), answers: BTreeMap::new(), swept, reflected, protocol };
        let mut shapes = BTreeSet::new();
        for exchange in benches
            .iter()
            .flat_map(|baseline| &baseline.transcript.cases)
            .flatten()
            .flat_map(|case| case.exchanges.iter().chain(&case.twin))
        {
            mutate::store(exchange, &mut pool.stock);
            let received = &exchange.received;
            let kind = (exchange.operation.clone(), exchange.sent.transport, mutate::is_refusal(received));
            let whole = received.ended == Ended::Complete && received.body.len() < 10_000;
            // Answers of the same shape have the same members and the same number of parts.
            let shape = (received.status, mutate::members(exchange), received.arrived.len());
            let answers = pool.answers.entry(kind.clone()).or_default();
            if whole && answers.len() < ANSWERS && shapes.insert((kind, shape)) {
                answers.push(exchange.clone());
            }
        }
        pool
    }
}

/// Changes the answers of a case until the goal is reached.
fn search(
    candidate: &Candidate<'_, '_>,
    goal: Goal,
    pool: &Pool<'_>,
    shown: &Mutex<BTreeSet<String>>,
    options: &Options,
) -> Found {
    let Candidate { baseline, index, wanted, .. } = candidate;
    let ready = &baseline.plan.cases[*index];
    let mut found = Found { case: ready.id.clone(), any: None, by_requirement: BTreeMap::new() };
    let sampled;
    let transcript = if ready.case.is_sweep() {
        sampled = sample(baseline, ready, pool, options);
        &sampled
    } else {
        let Some(transcript) = baseline.transcript.cases[*index].as_ref() else { return found };
        transcript
    };
    // The strict profile counts everything that the lenient profile counts.
    let context = baseline.context(crate::walk::Facts { profile: Profile::Strict, ..options.facts });
    let answers = || transcript.exchanges.iter().chain(&transcript.twin);
    let wished = &Wanted::of(ready.case);
    let members: BTreeSet<Member> = answers().flat_map(mutate::members).collect();
    let mut own = Stock::new();
    answers().for_each(|exchange| mutate::store(exchange, &mut own));
    let changes = members.iter().flat_map(|member| {
        let all = Change::ALL.into_iter().chain([Change::Float]);
        all.map(move |change| Mutation::Member(member, change))
    });
    let grafts = own.keys().flat_map(|at| {
        let names = pool.stock.get(at).into_iter().flatten();
        names.flat_map(move |(name, value)| [Mutation::Graft(at, name, value), Mutation::Graft(at, name, &ODD)])
    });
    let sets = members
        .iter()
        .filter(|member| wished.names(&member.place))
        .flat_map(move |member| wished.values().iter().map(move |value| Mutation::Set(member, value)));
    let both = members.iter().filter(|at| ready.case.is_sweep() && wished.names(&at.place)).flat_map(|at| {
        let others = members.iter().filter(move |member| member.place != at.place && wished.names(&member.place));
        let with =
            move |member| wished.values().iter().map(move |value| Mutation::Both(at, value, member, Change::Value));
        others.flat_map(with)
    });
    let general: [Mutation<'_>; GENERAL] = [Mutation::Swap(0), Mutation::Stale, Mutation::Missing];
    let mut mutations: Vec<Mutation<'_>> = general
        .into_iter()
        .chain(changes)
        .chain(sets)
        .chain(both)
        .chain(LATE_MS.map(Mutation::Late))
        .chain([Mutation::Silence])
        .chain(pool.protocol.codec().layouts().iter().map(|layout| Mutation::Laid(layout)))
        .chain((1..2 * ANSWERS).map(Mutation::Swap))
        .chain(grafts)
        .collect();
    // Each is applied to a whole sample of messages there.
    if ready.case.is_sweep() {
        mutations.sort_by_key(|mutation| mutation.distance(wished));
    }
    // Lists with a missing or an additional element, one answer at a time; last, since there are many.
    let objects: Vec<Value> = transcript.exchanges.iter().flat_map(mutate::documents).take(OBJECTS).collect();
    let drops = members.iter().flat_map(|member| (0..ELEMENTS).map(move |position| Mutation::Drop(member, position)));
    let appends = members.iter().flat_map(|member| objects.iter().map(move |object| Mutation::Append(member, object)));
    let lists: Vec<Mutation<'_>> = drops.chain(appends).collect();
    let count = answers().count();
    // Such a case judges each message by itself, so only the changed ones count.
    let compares = ready.case.all_steps().into_iter().any(|step| !step.expect_all.is_empty());
    let one_by_one = ready.case.is_sweep() && !compares;
    // First in all answers, as a bug would; then in one answer only, starting with the last: a case that compares answers with
    // each other fails only then.
    let everywhere = mutations.iter().map(|mutation| (mutation, None));
    // A single answer, and answers that are judged one by one, are changed alone already.
    let places = if count == 1 || one_by_one { 0 } else { count };
    let alone = (0..places).rev().flat_map(|place| mutations.iter().map(move |mutation| (mutation, Some(place))));
    // One answer that is another one altogether, or none, makes most cases fail, so that is tried before thousands of members.
    let whole = [Mutation::Swap(0), Mutation::Stale, Mutation::Missing, Mutation::Silence];
    let rest = everywhere.clone().skip(GENERAL);
    let places = if ready.case.is_sweep() { 0 } else { places };
    let first = everywhere
        .take(GENERAL)
        .chain((0..places).rev().flat_map(|place| whole.iter().map(move |mutation| (mutation, Some(place)))));
    let in_lists = (0..count).rev().flat_map(|place| lists.iter().map(move |mutation| (mutation, Some(place))));
    if ready.case.is_sweep() {
        // Some of these the subject has not sent itself.
        for id in judged_failed(&context, *index, transcript) {
            let words = "a message that proofmark sends".to_owned();
            if wanted.contains(&id) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
                found.by_requirement.insert(id, words.clone());
            }
            found.any = Some(words);
        }
    }
    let is_done = |found: &Found| match goal {
        Goal::Any => found.any.is_some(),
        Goal::Wanted => {
            let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.iter().all(|id| shown.contains(id))
        }
    };
    for (mutation, place) in first.chain(rest.chain(alone).take(TRIES)).chain(in_lists.take(TRIES)) {
        if is_done(&found) {
            return found;
        }
        let affects = |position: usize| place.is_none_or(|place| place == position);
        let changed = match one_by_one {
            true => {
                let affected = transcript.exchanges.iter().enumerate().filter(|(position, _)| affects(*position));
                let apply = |(_, exchange): (usize, &Exchange)| {
                    let mut one = exchange.clone();
                    mutation.apply(&mut one, &transcript.exchanges, pool).then_some(one)
                };
                let exchanges: Vec<Exchange> = affected.filter_map(apply).collect();
                (!exchanges.is_empty())
                    .then(|| CaseTranscript { exchanges: exchanges.into(), ..CaseTranscript::default() })
            }
            false => {
                let mut changed = transcript.clone();
                let mut any = false;
                for (position, exchange) in changed.exchanges.iter_mut().chain(&mut changed.twin).enumerate() {
                    if affects(position) {
                        any |= mutation.apply(exchange, &transcript.exchanges, pool);
                    }
                }
                any.then_some(changed)
            }
        };
        let ids = changed.map(|changed| judged_failed(&context, *index, &changed)).unwrap_or_default();
        if ids.is_empty() {
            continue;
        }
        let words = match place {
            Some(place) => format!("{mutation} (in answer {} only)", place + 1),
            None => mutation.to_string(),
        };
        for id in ids.into_iter().filter(|id| wanted.contains(id)) {
            shown.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
            found.by_requirement.entry(id).or_insert_with(|| words.clone());
        }
        found.any.get_or_insert(words);
    }
    if !is_done(&found) {
        in_the_open(&mut found, candidate, transcript, options);
    }
    found
}

/// Judges the same answers as if they came from another machine without TLS.
fn in_the_open(found: &mut Found, candidate: &Candidate<'_, '_>, transcript: &CaseTranscript, options: &Options) {
    let baseline = candidate.baseline;
    let mut target = baseline.setting.target.clone();
    // An address for documentation (RFC 5737): no request is sent.
    target.url = url::Url::parse("http://192.0.2.1").ok();
    let selection = Selection { only: vec![found.case.clone()], ..Selection::default() };
    let plan = crate::plan::build(baseline.plan.knowledge, &target, &selection);
    let facts = crate::walk::Facts { profile: Profile::Strict, ..options.facts };
    let context = Context { plan: &plan, facts, features: baseline.features.clone() };
    let ids = judged_failed(&context, candidate.index, transcript);
    let words = "an endpoint without TLS";
    if !ids.is_empty() {
        found.any = Some(words.to_owned());
        let wanted = ids.into_iter().filter(|id| candidate.wanted.contains(id));
        found.by_requirement.extend(wanted.map(|id| (id, words.to_owned())));
    }
}

/// A sample of the exchanges over a transport: a few of each operation for each first byte and length of the answer, so that
/// every kind of message is included.
fn sample(baseline: &Baseline<'_, '_>, ready: &ReadyCase<'_>, pool: &Pool<'_>, options: &Options) -> CaseTranscript {
    let transport = ready.transport;
    const EACH: usize = 1;
    let mut taken: BTreeMap<(String, usize, usize), usize> = BTreeMap::new();
    let mut sample = CaseTranscript::default();
    let cases = baseline.plan.cases.iter().zip(&baseline.transcript.cases);
    let exchanges = cases
        .filter(|(ready, _)| ready.transport == transport)
        .filter_map(|(_, case)| case.as_ref())
        .flat_map(|case| &case.exchanges);
    for exchange in exchanges {
        let received = &exchange.received;
        let size = received.body.len() + received.arrived.iter().map(|arrival| arrival.body.len()).sum::<usize>();
        let count = taken.entry((exchange.operation.clone(), size / 16, received.arrived.len())).or_default();
        if size > 0 && size < 10_000 && *count < EACH && sample.exchanges.len() < SAMPLE {
            *count += 1;
            sample.exchanges.push(exchange.clone());
        }
    }
    // Those that matter last: the search begins with the last answer.
    let context = baseline.context(crate::walk::Facts { profile: Profile::Strict, ..options.facts });
    let swept = pool.swept.get(baseline.setting.name.as_str());
    let rare = swept.map(|swept| swept.concerning(&context, ready, RARE)).unwrap_or_default();
    sample.exchanges.extend(rare.into_iter().cloned());
    for swept in pool.reflected.get(baseline.setting.name.as_str()).into_iter().flatten() {
        sample.exchanges.extend(swept.concerning(&context, ready, RARE).into_iter().cloned());
    }
    sample
}

fn judged_failed(context: &Context<'_>, index: usize, transcript: &CaseTranscript) -> Vec<String> {
    let ready = &context.plan.cases[index];
    let swept = match ready.case.is_sweep() {
        true => Swept::of(context, ready.transport, transcript.exchanges.iter().collect()),
        false => Swept::default(),
    };
    failed(&judge::case(context, ready, &Gate::Open, Some(transcript), &swept, None))
}

/// The requirements for which a case fails once a member of the answers is changed; with `alternate`, of every second one.
pub(super) fn fails(
    context: &Context<'_>,
    index: usize,
    transcript: &CaseTranscript,
    member: &Member,
    change: Change,
    alternate: bool,
) -> Vec<String> {
    if !is_open(context, index) {
        return Vec::new();
    }
    let mut changed = transcript.clone();
    let mut any = false;
    let mut count = 0;
    for exchange in changed.exchanges.iter_mut().chain(&mut changed.twin) {
        if exchange.operation == member.operation {
            count += 1;
            if alternate && count % 2 == 1 {
                continue;
            }
        }
        any |= mutate::apply(
            context.plan.knowledge.protocol,
            member,
            change,
            &exchange.operation,
            exchange.sent.transport,
            &mut exchange.received,
        );
    }
    if any { judged_failed(context, index, &changed) } else { Vec::new() }
}
