//! Confirmation: what fails runs again as a case of its own, as short and plain as shows the same.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use sha2::{Digest, Sha256};

use super::Finding;
use super::campaign::{Campaign, Ran, Sequence, State, Suspicion};
use super::section;
use super::sequence::{self, Shape, Title};
use super::shrink;
use crate::exchange::Transport;
use crate::protocol::{Move, Predicted};
use crate::spelling::Spellings;

/// How often a case must fail before it is a finding.
const TIMES: usize = 2;

/// How often a case with a section is tried for each failure.
const ROUNDS: usize = 40;

/// Attempts to shorten a sequence, and how long they may take.
const ATTEMPTS: usize = 200;
const SHRINKING: Duration = Duration::from_secs(10);

/// How long to look for the spelling on which a suspicion depends. Then it is not confirmed: what runs at the same time takes many
/// rounds for each spelling.
const DEPENDENCE: Duration = Duration::from_secs(15);

impl Campaign<'_> {
    /// Confirms and shrinks a suspicion, and notes the finding.
    pub(super) async fn look_again(
        &self,
        sequence: &Sequence,
        suspicion: &Suspicion,
        owners: &[usize],
        state: &mut State,
    ) {
        let Some(last) = owners.get(suspicion.step) else { return };
        // What comes after a section is a part of it.
        let last = if suspicion.is_of_section() { sequence.moves.len() - 1 } else { *last };
        let moves = sequence.moves[..=last].to_vec();
        if suspicion.is_of_section() {
            // What the moves show one after the other does not come of what runs at the same time.
            for moves in section::in_turn(&moves) {
                let predictions = self.predict(&moves, sequence.transport);
                let turn = Sequence { number: sequence.number, transport: sequence.transport, moves, predictions };
                let ran = self.run_whole(turn, self.fresh_id()).await;
                let Ran { sequence: turn, result: Ok((record, exchanges)) } = ran else { continue };
                if let Some(found) = Suspicion::of(&record, &exchanges) {
                    if state.known.contains(&found.signature()) {
                        state.progress.repeated += 1;
                    } else {
                        let owners = sequence::owners(&turn.predictions);
                        Box::pin(self.look_again(&turn, &found, &owners, state)).await;
                    }
                    return;
                }
            }
        }
        let Some((moves, spellings)) = self.shown(moves, sequence.transport, suspicion).await else {
            state.dismiss(suspicion);
            return;
        };
        let spellings = spellings.as_ref();
        let moves = self.shrunk(moves, sequence.transport, spellings, suspicion).await;
        let Some((predictions, text, case)) = self.written(&moves, sequence, suspicion) else { return };
        if !self.fails(&moves, sequence.transport, spellings, suspicion, TIMES).await {
            state.dismiss(suspicion);
            return;
        }
        state.known.insert(suspicion.signature());
        let bindings = predictions.iter().flatten().flat_map(|found| &found.bindings);
        let bindings = bindings.map(|(name, value)| format!("{name} = {}", crate::wire::show(value)));
        let steps = predictions.iter().flatten().flat_map(|found| &found.steps).map(sequence::line);
        let finding = Finding {
            sequence: sequence.number,
            requirement: suspicion.requirement.clone(),
            operation: suspicion.operation.clone(),
            place: suspicion.place.clone(),
            transport: sequence.transport.name().to_owned(),
            expected: suspicion.expected.clone(),
            observed: suspicion.observed.clone(),
            spellings: spellings.iter().flat_map(|found| &found.kinds).map(|kind| kind.name().to_owned()).collect(),
            steps: bindings.chain(steps).collect(),
            case,
            text,
        };
        self.watcher.finding(&finding);
        state.findings.push(finding);
    }

    /// Moves that show the same for sure, and the spellings on which that depends. What runs at the same time is left out first:
    /// with it each try takes many rounds.
    async fn shown(
        &self,
        moves: Vec<Move>,
        transport: Transport,
        suspicion: &Suspicion,
    ) -> Option<(Vec<Move>, Option<Spellings>)> {
        let predictions = self.predict(&moves, transport);
        let is_at_once = |found: &Option<Predicted>| found.as_ref().is_some_and(sequence::is_at_once);
        if !suspicion.is_of_section() && predictions.iter().any(is_at_once) {
            let kept = moves.iter().zip(&predictions).filter(|(_, found)| !is_at_once(found));
            let fewer: Vec<Move> = kept.map(|(step, _)| step.clone()).collect();
            if let Some(spellings) = self.dependence(&fewer, transport, suspicion).await {
                return Some((fewer, spellings));
            }
        }
        let spellings = self.dependence(&moves, transport, suspicion).await?;
        Some((moves, spellings))
    }

    /// The fewest spellings without which these moves do not show the same: `Some(None)` if the plain spelling shows it, `None`
    /// if nothing does for sure.
    async fn dependence(
        &self,
        moves: &[Move],
        transport: Transport,
        suspicion: &Suspicion,
    ) -> Option<Option<Spellings>> {
        if self.fails(moves, transport, None, suspicion, TIMES).await {
            return Some(None);
        }
        let begun = Instant::now();
        let all = self.options.spellings.as_ref()?;
        for kind in &all.kinds {
            if begun.elapsed() > DEPENDENCE {
                return None;
            }
            let alone = all.always([*kind]);
            if self.fails(moves, transport, Some(&alone), suspicion, TIMES).await {
                return Some(Some(alone));
            }
        }
        let mut left = all.always(all.kinds.iter().copied());
        if !self.fails(moves, transport, Some(&left), suspicion, TIMES).await {
            return None;
        }
        for kind in &all.kinds {
            let fewer = all.always(left.kinds.iter().copied().filter(|other| other != kind));
            if self.fails(moves, transport, Some(&fewer), suspicion, 1).await {
                left = fewer;
            }
        }
        Some(Some(left))
    }

    /// The file of the case of a finding, and the id of the case.
    fn written(
        &self,
        moves: &[Move],
        sequence: &Sequence,
        suspicion: &Suspicion,
    ) -> Option<(Vec<Option<Predicted>>, String, String)> {
        let knowledge = self.context.plan.knowledge;
        let digest = Sha256::digest(suspicion.signature().as_bytes());
        let short = data_encoding::HEXLOWER.encode(&digest[..4]);
        let (suite, case) =
            (format!("explore-{short}"), format!("answers-{}-as-specified-{short}", suspicion.operation));
        let about = format!("Found by exploration (seed {}, sequence {}).", self.options.seed, sequence.number);
        let title = Title { suite: &suite, case: &case, about: &about, transport: sequence.transport.name() };
        let predictions = self.predict(moves, sequence.transport);
        let text = sequence::text(knowledge, &predictions, Shape::Last(&suspicion.requirement), &title)?;
        Some((predictions, text, format!("{}/{suite}#{case}", knowledge.protocol.slug())))
    }

    /// Whether these moves show the same, each of several times on new identities.
    async fn fails(
        &self,
        moves: &[Move],
        transport: Transport,
        spellings: Option<&Spellings>,
        suspicion: &Suspicion,
        times: usize,
    ) -> bool {
        let knowledge = self.context.plan.knowledge;
        let predictions = self.predict(moves, transport);
        if self.lacks(&predictions, transport).is_some() {
            return false;
        }
        let title = Title { suite: "explore", case: "sequence", about: "", transport: transport.name() };
        let text = sequence::text(knowledge, &predictions, Shape::Last(&suspicion.requirement), &title);
        let Some(case) = text.and_then(|text| sequence::read(knowledge, &text).ok()) else { return false };
        let shows = async || {
            let (record, exchanges) = self.judged(&case, transport, self.fresh_id(), spellings).await;
            let found = Suspicion::of(&record, &exchanges);
            found.is_some_and(|found| found.signature() == suspicion.signature())
        };
        if sequence::has_section(&predictions) {
            // What happens at the same time may go wrong rarely, and only while much else happens.
            let jobs = self.context.plan.target.limits.jobs.max(1);
            let shown = stream::iter(0..times * ROUNDS).map(|_| shows()).buffer_unordered(jobs);
            return shown.filter(|shown| std::future::ready(*shown)).take(times).count().await == times;
        }
        for _ in 0..times {
            if !shows().await {
                return false;
            }
        }
        true
    }

    /// The shortest and plainest moves that show the same, as far as the attempts reach.
    async fn shrunk(
        &self,
        mut best: Vec<Move>,
        transport: Transport,
        spellings: Option<&Spellings>,
        suspicion: &Suspicion,
    ) -> Vec<Move> {
        let begun = Instant::now();
        let mut attempts = 0;
        'again: loop {
            for moves in shrink::shorter(&best).into_iter().chain(shrink::plainer(&best)) {
                attempts += 1;
                if attempts > ATTEMPTS || begun.elapsed() > SHRINKING {
                    return best;
                }
                if self.fails(&moves, transport, spellings, suspicion, 1).await {
                    best = moves;
                    continue 'again;
                }
            }
            return best;
        }
    }
}
