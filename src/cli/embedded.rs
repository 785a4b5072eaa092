//! The embedded reference implementation as the subject of a proof.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use super::exit::Failure;
use super::reference::{self, Reference, Start};
use crate::exchange::TargetClass;
use crate::plan::Knowledge;
use crate::prove::{Fault, Running, Setting, Subject};
use crate::target::Target;
use crate::template::Clock;

/// The embedded reference implementation of one protocol.
pub(super) struct Embedded<'k> {
    implementation: &'static dyn proofmark_reference::Implementation,
    knowledge: &'k Knowledge,
    clock: Clock,
    begun: Instant,
    settings: Vec<Setting>,
}

impl<'k> Embedded<'k> {
    /// The reference implementation in each of its setups.
    pub(super) fn new(
        implementation: &'static dyn proofmark_reference::Implementation,
        knowledge: &'k Knowledge,
        clock: Clock,
        begun: Instant,
    ) -> Result<Self, Failure> {
        let setting = |setup: &proofmark_reference::Setup| {
            let mut target = Target::new(TargetClass::Reference, "the embedded reference implementation");
            // Each start uses new addresses.
            reference::stand_in(implementation, &mut target)?;
            reference::describe(knowledge, implementation, setup, &mut target);
            let tolerated = setup.variant.is_other_as_declared();
            Ok(Setting { name: setup.name.to_owned(), about: setup.about.to_owned(), tolerated, target })
        };
        let settings = implementation.setups().iter().map(setting).collect::<Result<_, Failure>>()?;
        Ok(Self { implementation, knowledge, clock, begun, settings })
    }
}

impl Subject for Embedded<'_> {
    fn faults(&self) -> Vec<Fault> {
        let also = |fault: &proofmark_reference::Fault| {
            let rows = self.implementation.also().iter().filter(|also| also.faults.contains(&fault.name));
            let reasons = rows.flat_map(|also| also.breaks.iter().map(|id| ((*id).to_owned(), also.why.to_owned())));
            reasons.collect()
        };
        let setup = |fault| self.implementation.setup_of(fault).map_or("", |setup| setup.name);
        self.implementation
            .faults()
            .iter()
            .map(|fault| Fault {
                name: fault.name.to_owned(),
                summary: fault.summary.to_owned(),
                level: fault.level.to_owned(),
                breaks: fault.breaks.iter().map(|id| (*id).to_owned()).collect(),
                also: also(fault),
                setting: setup(fault).to_owned(),
            })
            .collect()
    }

    fn settings(&self) -> Vec<Setting> {
        self.settings.clone()
    }

    fn start<'s>(
        &'s self,
        setting: &'s Setting,
        fault: Option<&'s str>,
    ) -> Pin<Box<dyn Future<Output = Result<Running, String>> + 's>> {
        Box::pin(async move {
            let mut target = setting.target.clone();
            let setup =
                reference::setup(self.implementation, Some(&setting.name)).map_err(|failure| failure.message())?;
            let start = Start {
                implementation: self.implementation,
                knowledge: self.knowledge,
                setup,
                fault: fault.map(str::to_owned),
                variant: setup.variant,
                clock: self.clock,
                in_memory: true,
                begun: self.begun,
            };
            let started = Reference::start(&start, &mut target).await;
            let (reference, connections) = started.map_err(|failure| failure.message())?;
            let keep: Box<dyn Any> = Box::new(());
            Ok(Running { connections, stop: Box::pin(reference.stop()), keep })
        })
    }
}
