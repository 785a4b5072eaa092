//! proofmark: the conformance test harness and fuzzer for agent protocols.
//!
//! A run goes from data to a verdict in one direction: files become cases, cases become a plan for one target, the plan is
//! put to the target, the exchanges are judged, and reports are drawn from the record. Start with [`suite`] for what an
//! author writes, [`plan`] for what is put, [`walk`] for how a case is taken, [`judge`] for what is made of the answers.
//!
//! # The map
//!
//! Each module imports only what the last column names; "above" means every row further up. `tests/layers.rs` reads this
//! table and holds the source files against it.
//!
//! | modules | what lives there | may import |
//! |---|---|---|
//! | [`value`] | one value for JSON and CBOR, paths into it, the first difference of two | nothing |
//! | [`suggest`] | the nearest of several names | nothing |
//! | [`parallel`] | the same work for many items, in several threads | nothing |
//! | [`wire`] | bytes to values and back: JSON with its oddities, canonical form | value |
//! | [`source`] | places in data files, and everything that can be wrong at one | above |
//! | [`bundle`] | the data files of a run: embedded, or from a folder | source |
//! | [`requirement`] | the catalogue of a specification, and its errata | value, source |
//! | [`template`] | `${…}` in values: bindings, captures, seeded ids and times | above but bundle, requirement |
//! | [`exchange`] | what was sent and what came back, as bytes | value |
//! | [`verdict`] | the words for what came of a question | nothing |
//! | [`edit`] | one way to be wrong on purpose | value, wire, source, template |
//! | [`target`] | the implementation under test: how to reach it, claims, limits, waivers | value, wire, source, exchange |
//! | [`suite`] | cases, steps and expectations as written, and the manifest of a protocol | above but bundle |
//! | [`matcher`] | what an expectation may say about one value | value, suggest, wire |
//! | [`record`] | everything that a report may know about a run | exchange, verdict |
//! | [`report`] | every format, drawn from the record and from nothing else | value, wire, exchange, verdict, record, requirement |
//! | [`vector`] | examples with a declared result, as cases | value, wire, source, requirement, template, suite, suggest |
//! | [`protocol`] | operations, and how answers are read; pure | above but bundle, edit, suite |
//! | [`plan`] | everything looked up, checked and made ready for one target | above but record |
//! | [`walk`] | the one interpreter of a case: what to send next, and what the answers show; pure | above but bundle |
//! | [`judge`] | from transcripts to verdicts; pure | above but bundle |
//! | [`transport`] | the only module that opens sockets and starts processes | value, wire, exchange, target |
//! | [`run`] | sends what the plan asks for, side by side and within limits | above but bundle |
//! | [`adapter_rules`] | whether an adapter keeps to the adapter protocol | value, wire, exchange, target, protocol, transport |
//! | [`trivial`] | targets that are no implementation: what nothing may pass at | value, wire, exchange, target, transport |
//! | [`prove`] | what the suites catch and what they miss | above but bundle |
//! | [`fuzz`] | messages that nobody has thought of, put to any target, and cases made of what they find | above but bundle, prove, adapter_rules, trivial |
//! | [`schema`] | JSON Schemas of the data files, for editors | above |
//! | [`cli`] | the command line, and the only place that names the reference implementation | above |

pub mod adapter_rules;
pub mod bundle;
pub mod cli;
pub mod edit;
pub mod exchange;
pub mod fuzz;
pub mod judge;
pub mod matcher;
pub mod parallel;
pub mod plan;
pub mod protocol;
pub mod prove;
pub mod record;
pub mod report;
pub mod requirement;
pub mod run;
pub mod schema;
pub mod source;
pub mod suggest;
pub mod suite;
pub mod target;
pub mod template;
pub mod transport;
pub mod trivial;
pub mod value;
pub mod vector;
pub mod verdict;
pub mod walk;
pub mod wire;
