//! Confirmation: a suspicion runs again as a case with its twin, and is minimised as long as the result is the same.

use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::campaign::{Campaign, State, Trial, words};
use super::input::{self, Edits, Shape, Title};
use super::oracle::{self, Suspicion};
use super::seeds::Seed;
use super::{End, Finding, Kind, minimise};
use crate::judge::{self, Gate, Swept};
use crate::plan::ReadyCase;
use crate::record::CaseRecord;
use crate::verdict::Verdict;
use crate::walk::{CaseTranscript, Transcript};

/// Attempts to minimise a finding.
const SHRINKS: usize = 64;

/// How long that may take.
const SHRINKING: Duration = Duration::from_secs(10);

/// Maximum number of findings of one kind, operation and requirement; further ones are probably the same bug.
const ALIKE: usize = 6;

/// How often a case must fail before it is a finding.
const TIMES: usize = 2;

enum Confirmed {
    /// The case failed, each time.
    Yes(Suspicion),
    /// The case failed, and the target is gone.
    Gone(Suspicion),
    /// It did not fail, or failed for another reason.
    No,
}

impl Campaign<'_> {
    /// Confirms the inputs of a batch one by one: first the suspicious ones, and all of them if the target stopped answering
    /// without a suspicious one.
    pub(super) async fn look_again(
        &self,
        suspects: Vec<(Trial<'_>, Vec<String>, Option<Suspicion>)>,
        state: &mut State,
        cancel: &watch::Receiver<bool>,
    ) -> Option<End> {
        if !self.comes_back(state).await {
            return Some(self.lost(suspects, state));
        }
        let any = suspects.iter().any(|(.., suspicion)| suspicion.is_some());
        let silent = || Suspicion {
            kind: Kind::Survival,
            requirement: None,
            is_gone: false,
            words: "stopped answering".to_owned(),
        };
        for (trial, words, suspicion) in suspects {
            if *cancel.borrow() {
                return Some(End::Interrupted);
            }
            let Some(suspicion) = suspicion.or_else(|| (!any).then(silent)) else { continue };
            let signature = self.signature(&trial, &suspicion, &trial.edits);
            let alike = format!("{:?} {} {:?}", suspicion.kind, trial.seed.operation, suspicion.requirement);
            if state.known.contains(&signature) || state.alike.get(&alike).is_some_and(|count| *count >= ALIKE) {
                state.progress.repeated += 1;
                continue;
            }
            let mut confirmed = self.confirmed(&trial, &suspicion, &trial.edits, state, TIMES).await;
            let unclear = matches!(confirmed, Confirmed::No) && suspicion.kind == Kind::Survival;
            if unclear && !self.is_alive(state).await {
                // It crashed after it had answered the probe.
                if !self.comes_back(state).await {
                    return Some(self.lost(vec![(trial, words, Some(suspicion))], state));
                }
                confirmed = self.confirmed(&trial, &suspicion, &trial.edits, state, TIMES).await;
            }
            match confirmed {
                Confirmed::No => state.progress.unfounded += 1,
                Confirmed::Yes(suspicion) => {
                    let (edits, suspicion) = self.shrunk(&trial, suspicion, state).await;
                    let small = self.signature(&trial, &suspicion, &edits);
                    let seen = small != signature && state.known.contains(&small);
                    state.known.extend([signature, small.clone()]);
                    if seen {
                        state.progress.repeated += 1;
                        continue;
                    }
                    *state.alike.entry(alike).or_default() += 1;
                    let words = if edits == trial.edits { words } else { self.words(&trial, &edits) };
                    self.found(&trial, &suspicion, &edits, words, small, true, state);
                }
                Confirmed::Gone(suspicion) => {
                    self.found(&trial, &suspicion, &trial.edits, words, signature, true, state);
                    if !self.comes_back(state).await {
                        return Some(End::Gone("the target crashed and did not recover in time".to_owned()));
                    }
                }
            }
            if state.findings.len() >= self.options.findings {
                return Some(End::Enough);
            }
        }
        None
    }

    /// The target did not recover, so it cannot be determined which of these inputs is the cause.
    fn lost(&self, suspects: Vec<(Trial<'_>, Vec<String>, Option<Suspicion>)>, state: &mut State) -> End {
        let why = "the target stopped answering and did not recover in time".to_owned();
        let mut any = false;
        for (trial, words, suspicion) in suspects {
            // Inputs after the end are only reported as such.
            let broken = suspicion.filter(|suspicion| suspicion.kind == Kind::Survival && !suspicion.is_gone);
            if let Some(suspicion) = broken {
                let signature = self.signature(&trial, &suspicion, &trial.edits);
                if state.known.insert(signature.clone()) {
                    let edits = trial.edits.clone();
                    self.found(&trial, &suspicion, &edits, words, signature, false, state);
                    any = true;
                }
            }
        }
        if any { End::Gone(why) } else { End::Gone(format!("{why}; it answered all of the last inputs")) }
    }

    #[expect(clippy::too_many_arguments, reason = "they are the parts of a finding")]
    fn found(
        &self,
        trial: &Trial<'_>,
        suspicion: &Suspicion,
        edits: &Edits,
        words: Vec<String>,
        signature: String,
        confirmed: bool,
        state: &mut State,
    ) {
        let mut hash = Sha256::new();
        hash.update(signature.as_bytes());
        let short = data_encoding::HEXLOWER.encode(&hash.finalize()[..4]);
        let requirement = self.requirement(trial.seed, suspicion);
        let what = format!("{} {}: the target {}", trial.seed.operation, trial.seed.transport.name(), suspicion.words);
        let case = match suspicion.kind {
            Kind::Refusal => format!("refuses-{}-with-{short}", trial.seed.operation),
            Kind::Survival => format!("survives-{}-with-{short}", trial.seed.operation),
        };
        let about = format!(
            "Found by fuzzing (seed {}, input {}), from {}: {}.",
            self.options.seed,
            trial.number,
            trial.seed.id,
            words.join("; ")
        );
        let suite = format!("fuzz-{short}");
        let title = Title { suite: &suite, case: &case, about: &about, requirement: &requirement };
        let knowledge = self.context.plan.knowledge;
        let text = input::text(knowledge, trial.seed, Shape::Case(suspicion.kind, edits), &title);
        let finding = Finding {
            input: trial.number,
            seed: trial.seed.id.clone(),
            kind: suspicion.kind,
            requirement,
            operation: trial.seed.operation.clone(),
            transport: trial.seed.transport.name().to_owned(),
            what,
            edits: words,
            signature,
            case: format!("{}/{suite}#{case}", knowledge.protocol.slug()),
            text,
            confirmed,
        };
        self.watcher.finding(&finding);
        state.findings.push(finding);
        state.progress.findings = state.findings.len();
    }

    fn signature(&self, trial: &Trial<'_>, suspicion: &Suspicion, edits: &Edits) -> String {
        let requirement = self.requirement(trial.seed, suspicion);
        format!("{:?} {} {requirement}: {}", suspicion.kind, trial.seed.operation, input::skeleton(edits))
    }

    /// Runs the case of a suspicion `times` times.
    async fn confirmed(
        &self,
        trial: &Trial<'_>,
        suspicion: &Suspicion,
        edits: &Edits,
        state: &State,
        times: usize,
    ) -> Confirmed {
        let requirement = self.requirement(trial.seed, suspicion);
        let Some(case) = self.case(trial.seed, Shape::Case(suspicion.kind, edits), &requirement) else {
            return Confirmed::No;
        };
        let mut found = suspicion.clone();
        for _ in 0..times {
            let ready = self.ready(&case, trial.seed.transport);
            let transcript = self.runner.run_case(self.context, &ready).await;
            let edited = case.steps.iter().find(|step| step.has_edits()).map(|step| step.number);
            let exchange = transcript.exchanges.iter().find(|exchange| Some(exchange.step) == edited).cloned();
            let record = self.judged(&ready, &transcript);
            if record.verdict != Verdict::Fail && record.verdict != Verdict::Warn {
                return Confirmed::No;
            }
            // Evaluated again: minimised edits may leave a valid message.
            match exchange.as_ref().and_then(|exchange| oracle::suspect(self.context, exchange)) {
                Some(now) if now.kind == suspicion.kind => {
                    if self.requirement(trial.seed, &now) != requirement {
                        return Confirmed::No;
                    }
                    found = now;
                }
                // The answer itself could not be observed, but a later one could.
                None if suspicion.kind == Kind::Survival => {
                    "stopped answering afterwards".clone_into(&mut found.words);
                }
                _ => return Confirmed::No,
            }
            if suspicion.kind == Kind::Survival && !self.is_alive(state).await && !self.comes_back(state).await {
                return Confirmed::Gone(found);
            }
        }
        Confirmed::Yes(found)
    }

    pub(super) fn judged(&self, ready: &ReadyCase<'_>, transcript: &CaseTranscript) -> CaseRecord {
        let nothing = Transcript::default();
        let swept = Swept::new(self.context, &nothing);
        judge::case(self.context, ready, &Gate::Open, Some(transcript), &swept, None)
    }

    /// Smaller edits that show the same, and what they show.
    async fn shrunk(&self, trial: &Trial<'_>, mut suspicion: Suspicion, state: &State) -> (Edits, Suspicion) {
        let begun = Instant::now();
        let mut best = trial.edits.clone();
        let mut tries = 0;
        'again: loop {
            for smaller in minimise::smaller(&best) {
                tries += 1;
                if tries > SHRINKS || begun.elapsed() > SHRINKING {
                    return (best, suspicion);
                }
                match self.confirmed(trial, &suspicion, &smaller, state, 1).await {
                    Confirmed::Yes(found) => {
                        (best, suspicion) = (smaller, found);
                        continue 'again;
                    }
                    Confirmed::No => {}
                    Confirmed::Gone(found) => return (smaller, found),
                }
            }
            return (best, suspicion);
        }
    }

    /// The requirement that a suspicion is about: its own, or that of the operation.
    fn requirement(&self, seed: &Seed, suspicion: &Suspicion) -> String {
        let fuzz = self.context.plan.knowledge.manifest.fuzz.as_ref();
        let named = fuzz.and_then(|fuzz| fuzz.operations.iter().find(|(name, _)| name.value == seed.operation));
        let of_operation = named.map(|(_, requirement)| requirement.value.as_str()).unwrap_or_default();
        suspicion.requirement.unwrap_or(of_operation).to_owned()
    }

    fn words(&self, trial: &Trial<'_>, edits: &Edits) -> Vec<String> {
        self.case(trial.seed, Shape::Trial(edits), "").map(|case| words(self.context, &case, edits)).unwrap_or_default()
    }
}
