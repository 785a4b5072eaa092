//! The processing model (section 4.7): the nine steps in order, one fault per message, the same function for every kind of
//! node, so that an intermediary skips nothing (4.8.2).

use super::block::{self, Block};
use super::body::{self, Delivery};
use super::code::Code;
use super::failure::Failure;
use super::message::{MEMORYGRAM, Message};
use super::modules::{self, Done};
use super::node::Node;
use super::rules::Rules;
use super::{envelope, faults, forward, header, memorygram, originate, role, ttl, understanding, version};
use crate::fault::planted;
use crate::json::{Object, Value};

/// A step of processing, in the order of binding.md, 11: the steps of section 4.7, with those checks in between that have
/// no number there (E26).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The Envelope is there (1).
    Envelope,
    /// The version is supported (4.9).
    Version,
    /// The three components are there (1).
    Components,
    /// The roles of the node (2).
    Roles,
    /// The fields of Header (3).
    Header,
    /// ttl is lowered (4).
    Ttl,
    /// The header blocks are read (5).
    Blocks,
    /// The mandatory ones are understood (5 and 6).
    Understanding,
    /// The MemoryGram is processed (7).
    MemoryGram,
    /// Header blocks are processed (8).
    Modules,
    /// The fields of Body (8, E26).
    BodyFields,
    /// The task (8).
    Task,
}

/// The order of the steps; forwarding (9) follows.
const ORDER: [Step; 12] = [
    Step::Envelope,
    Step::Version,
    Step::Components,
    Step::Roles,
    Step::Header,
    Step::Ttl,
    Step::Blocks,
    Step::Understanding,
    Step::MemoryGram,
    Step::Modules,
    Step::BodyFields,
    Step::Task,
];

/// What became of a message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    /// The fault; at most one (4.7).
    pub(crate) faults: Vec<Failure>,
    /// What is sent to the next hop.
    pub(crate) copies: Vec<String>,
    /// Whether every next hop gets it (1.6, broadcast).
    pub(crate) broadcast: bool,
    /// The reply of an ultimate receiver.
    pub(crate) reply: Option<String>,
    /// The processed body.
    pub(crate) delivery: Option<Delivery>,
    /// The roles in which the node acted.
    pub(crate) roles: Vec<String>,
    /// The places of the processed header blocks.
    pub(crate) processed: Vec<usize>,
    /// Whether the MemoryGram was processed.
    pub(crate) memorygram_used: bool,
    /// The lowered ttl.
    pub(crate) ttl_after: Option<i128>,
    /// The message, if it could be read at all.
    pub(crate) message: Option<Message>,
}

/// A message while it is processed.
struct Work<'n> {
    node: &'n Node,
    rules: &'n Rules,
    message: Message,
    roles: Vec<String>,
    ttl: Option<i128>,
    blocks: Vec<Block>,
    done: Done,
    memorygram_valid: bool,
    /// Whether step 6 is done: before it no MemoryGram is used, even if it has been validated.
    understood: bool,
    delivered: Option<(Delivery, Option<Object>)>,
}

/// Processes one message in isolation (section 4).
#[must_use]
pub(crate) fn process(text: &[u8], node: &Node, rules: &Rules) -> Report {
    let message = match envelope::decode(text, rules) {
        Ok(message) => message,
        Err(failure) => return Report { faults: vec![failure], ..Report::default() },
    };
    let inbound = message.clone();
    let mut work = Work {
        node,
        rules,
        message,
        roles: Vec::new(),
        ttl: None,
        blocks: Vec::new(),
        done: Done::default(),
        memorygram_valid: false,
        understood: false,
        delivered: None,
    };
    let failure = work.run();
    work.report(failure, inbound)
}

/// The message after the steps up to the header fields, with its blocks, for the functions of a library.
///
/// # Errors
///
/// The fault of the first step that fails.
pub(crate) fn examine(text: &[u8], node: &Node, rules: &Rules) -> Result<(Message, Vec<Block>), Failure> {
    let mut message = envelope::decode(text, rules)?;
    envelope::open(&mut message, rules)?;
    version::check(&message, node, rules)?;
    envelope::components(&message, rules)?;
    header::check(&mut message, rules)?;
    let blocks = block::all(&message, node, rules)?;
    Ok((message, blocks))
}

impl Work<'_> {
    /// Runs the steps until one fails.
    fn run(&mut self) -> Option<Failure> {
        let mut failure = None;
        for step in order(self.node, self.rules) {
            let Err(found) = self.step(step) else { continue };
            failure = Some(found);
            // 4.7: a fault of an earlier step wins, and ends the processing.
            if !self.rules.fault.is("last-error-reported") {
                break;
            }
        }
        failure
    }

    fn step(&mut self, step: Step) -> Result<(), Failure> {
        let (node, rules) = (self.node, self.rules);
        match step {
            Step::Envelope => envelope::open(&mut self.message, rules)?,
            Step::Version => version::check(&self.message, node, rules)?,
            Step::Components => envelope::components(&self.message, rules)?,
            Step::Roles => self.roles = role::assumed(&self.message, node, rules),
            Step::Header => header::check(&mut self.message, rules)?,
            Step::Ttl => ttl::lower(&self.message, node, rules, &mut self.ttl)?,
            Step::Blocks => {
                self.blocks = block::all(&self.message, node, rules)?;
                // 4.6: the MemoryGram does not change the processing model.
                let large = faults::memorygram::nodes(&self.message) > 100;
                planted!(rules.fault, "large-memorygram-skips-blocks", large => self.blocks.clear());
                let broadcast = self.message.header_text("routingIntent") == Some("broadcast");
                planted!(rules.fault, "broadcast-skips-blocks", broadcast => self.blocks.clear());
            }
            Step::Understanding => {
                understanding::check(&self.blocks, &self.roles, node, rules)?;
                self.understood = true;
            }
            Step::MemoryGram => self.memorygram()?,
            Step::Modules => {
                self.done = modules::process(&mut self.message, &self.blocks, &self.roles, node, rules)?;
            }
            // Other, E62: a relay checks the fields of the body too.
            Step::BodyFields if node.is_receiver() || rules.is_other() => body::check(&self.message, node, rules)?,
            Step::Task if node.is_receiver() => {
                self.delivered = Some(body::process(&self.message, node, rules)?);
            }
            // 4.5: the body is for the ultimate receiver (E27).
            Step::BodyFields | Step::Task => {
                // 4.5: further members of Body are no error.
                let extra = self.message.body().and_then(body::unknown);
                planted!(rules.fault, "body-closed-schema", name in extra => return Err(Failure::sender(name)));
                // E27: a relay need not know the task.
                let foreign = faults::structure::has_foreign_task(&self.message);
                planted!(rules.fault, "relay-knows-echo-only", foreign => return Err(Failure::sender("unknown task")));
            }
        }
        Ok(())
    }

    /// 4.7, step 7: the content of the MemoryGram, unless this node ignores it (4.6), or it may be encrypted (E40, E85).
    fn memorygram(&mut self) -> Result<(), Failure> {
        let rules = self.rules;
        let Some(Value::Object(graph)) = self.message.component(MEMORYGRAM) else { return Ok(()) };
        if self.message.is_encrypted() {
            // Other, E40: what is not a graph is refused.
            let unreadable = rules.is_other() && graph.get("nodes").is_none();
            let refused = || Failure::new(Code::InvalidMemoryGram, "the MemoryGram cannot be read");
            return if unreadable { Err(refused()) } else { Ok(()) };
        }
        if !self.node.validates {
            return Ok(());
        }
        // Other, E11: a malformed MemoryGram is a malformation of the message.
        let mut code = if rules.is_other() { Code::Sender } else { Code::InvalidMemoryGram };
        // 4.10: a code of its own.
        planted!(rules.fault, "memorygram-fault-as-receiver", code = Code::Receiver);
        if let Some(failure) = Failure::of(code, memorygram::problems(graph, rules)) {
            return Err(failure);
        }
        self.memorygram_valid = true;
        Ok(())
    }

    fn report(self, failure: Option<Failure>, inbound: Message) -> Report {
        let (node, rules) = (self.node, self.rules);
        let delivery = self.delivered.as_ref().map(|(delivery, _)| delivery.clone());
        let reply = self.delivered.and_then(|(_, reply)| reply).filter(|_| failure.is_none());
        let mut report = Report {
            broadcast: inbound.header_text("routingIntent") == Some("broadcast"),
            reply: reply.map(|body| originate::reply(&inbound, body, rules)),
            delivery,
            processed: self.done.processed.clone(),
            memorygram_used: self.memorygram_valid && self.understood,
            ttl_after: self.ttl,
            ..Report::default()
        };
        // 4.7, step 9: a message that led to a fault is not sent on.
        let unknown = failure.as_ref().is_some_and(|failure| failure.code == Code::MustUnderstand);
        let despite =
            rules.fault.is("forward-despite-fault") || unknown && rules.fault.is("must-understand-after-forward");
        if !node.is_receiver() && (failure.is_none() || despite) {
            let copy = forward::construct(self.message, &self.blocks, &self.done, &self.roles, self.ttl, node, rules);
            let mut copy = originate::text(&copy, rules);
            // References: each name once.
            planted!(rules.fault, "ttl-written-twice", copy = faults::text::with_two_ttls(&copy));
            report.copies.push(copy);
        }
        // 4.7, step 9: once, to the next hop.
        planted!(rules.fault, "never-forwards", report.copies.clear());
        planted!(rules.fault, "forwards-twice", report.copies.extend(report.copies.clone()));
        // 4.7: more than one fault must not be generated.
        report.faults.extend(failure);
        planted!(rules.fault, "must-understand-fault-per-block", faults::answers::split(&mut report.faults));
        let fault = || originate::fault(&report.faults, Some(&inbound), node, rules);
        let to_relay = !report.faults.is_empty() && !node.is_receiver();
        planted!(rules.fault, "fault-also-to-next-hop", to_relay => report.copies = vec![fault()]);
        report.roles = self.roles;
        report.message = Some(inbound);
        report
    }
}

/// The steps in order.
fn order(node: &Node, rules: &Rules) -> Vec<Step> {
    let mut steps = ORDER.to_vec();
    // 4.7: the order of the list (E25).
    planted!(rules.fault, "ttl-checked-before-structure", place(&mut steps, &[Step::Ttl], Step::Components));
    planted!(rules.fault, "ttl-checked-after-blocks", place(&mut steps, &[Step::Ttl], Step::MemoryGram));
    planted!(rules.fault, "blocks-checked-before-header", place(&mut steps, &BLOCKS, Step::Header));
    planted!(rules.fault, "blocks-processed-one-by-one", place(&mut steps, &[Step::Modules], Step::Understanding));
    planted!(rules.fault, "body-processed-before-blocks", place(&mut steps, &BODY, Step::Blocks));
    planted!(rules.fault, "body-before-ttl", place(&mut steps, &BODY, Step::Ttl));
    planted!(rules.fault, "body-before-memorygram", place(&mut steps, &BODY, Step::MemoryGram));
    planted!(rules.fault, "memorygram-checked-first", place(&mut steps, &[Step::MemoryGram], Step::Version));
    planted!(rules.fault, "version-checked-last", place(&mut steps, &[Step::Version], Step::Task));
    planted!(rules.fault, "relay-skips-validation", !node.is_receiver() => steps.retain(|step| UNCHECKED.contains(step)));
    // Other, E12, E26: MemoryGram content and body fields belong to step 1, the version is looked at later.
    if rules.is_other() {
        place(&mut steps, &[Step::MemoryGram], Step::Roles);
        place(&mut steps, &[Step::BodyFields], Step::Roles);
        place(&mut steps, &[Step::Version], Step::Ttl);
    }
    steps
}

const BLOCKS: [Step; 2] = [Step::Blocks, Step::Understanding];
const BODY: [Step; 2] = [Step::BodyFields, Step::Task];
/// The steps of a relay that checks nothing but ttl.
const UNCHECKED: [Step; 5] = [Step::Roles, Step::Ttl, Step::Blocks, Step::Modules, Step::Task];

/// Moves steps in front of another one.
fn place(steps: &mut Vec<Step>, moved: &[Step], before: Step) {
    steps.retain(|step| !moved.contains(step));
    let at = steps.iter().position(|step| *step == before).unwrap_or(steps.len());
    steps.splice(at..at, moved.iter().copied());
}
