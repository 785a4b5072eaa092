//! proofmark: the conformance test harness and fuzzer for agent protocols.
//!
//! A run goes from data to a verdict in one direction: files become cases, cases become a plan for one target, the plan runs
//! against the target, the exchanges are judged, and reports are rendered from the record. Start with [`suite`] for the
//! format of cases, [`plan`] for the selection, [`walk`] for the steps of a case, [`judge`] for the verdicts.
//!
//! # The map
//!
//! Each module imports only what the last column names; "above" means every row further up. `tests/layers.rs` reads this
//! table and checks the source files against it.
//!
//! | modules | contents | may import |
//! |---|---|---|
//! | [`value`] | a value type for JSON and CBOR, paths into values, the first difference of two values | nothing |
//! | [`suggest`] | the nearest of several names | nothing |
//! | [`parallel`] | parallel map over items with threads | nothing |
//! | [`wire`] | decoders and encoders: JSON with its oddities, CBOR, canonical form | value |
//! | [`source`] | locations in data files, and the diagnostics about them | above |
//! | [`bundle`] | the data files of a run: embedded, or from a folder | source |
//! | [`requirement`] | the catalogue of a specification, and its errata | value, source |
//! | [`template`] | `${…}` in values: bindings, captures, seeded ids and times | above but bundle, requirement |
//! | [`spelling`] | the ways in which standards let a client write the same message | nothing |
//! | [`exchange`] | messages that were sent and received, as bytes | value, spelling |
//! | [`verdict`] | verdicts of cases, requirements and levels | nothing |
//! | [`edit`] | edits that make a message invalid | value, wire, source, template |
//! | [`target`] | the implementation under test: how to reach it, claims, limits, waivers | value, wire, source, exchange |
//! | [`suite`] | cases, steps and expectations as written, and the manifest of a protocol | above but bundle |
//! | [`matcher`] | checks of an expectation on one value | value, suggest, wire |
//! | [`record`] | the record of a run, from which reports are rendered | exchange, verdict |
//! | [`report`] | the report formats, rendered from the record alone | value, wire, exchange, verdict, record, requirement, parallel |
//! | [`vector`] | examples with a declared result, as cases | value, wire, source, requirement, template, suite, suggest |
//! | [`protocol`] | operations, and how answers are observed; pure | above but bundle, edit, suite |
//! | [`plan`] | suites and catalogue, checked and ready to run against one target | above but record |
//! | [`baseline`] | the known failures of a target, and which of a run are known | above but bundle |
//! | [`walk`] | the interpreter of a case: what to send next, and which expectations hold; pure | above but bundle |
//! | [`judge`] | from transcripts to verdicts; pure | above but bundle |
//! | [`transport`] | the only module that opens sockets and starts processes | value, wire, spelling, exchange, target |
//! | [`run`] | runs the cases of a plan concurrently and within limits | above but bundle |
//! | [`adapter_rules`] | whether an adapter follows the adapter protocol | value, wire, exchange, target, protocol, transport |
//! | [`trivial`] | trivial targets, at which no case may pass | value, wire, exchange, target, transport |
//! | [`prove`] | which planted faults the suites catch and miss | above but bundle |
//! | [`fuzz`] | fuzzing: generated messages for any target, and cases made of the findings | above but bundle, prove, adapter_rules, trivial |
//! | [`explore`] | sequences of operations that no one wrote, judged by a model, and cases made of the findings | above but bundle, prove, adapter_rules, trivial |
//! | [`schema`] | JSON Schemas of the data files, for editors | above |
//! | [`manual`] | the reference pages, generated from the tables | above but bundle |
//! | [`cli`] | the command line, and the only module that uses the reference implementation | above |

pub mod adapter_rules;
pub mod baseline;
pub mod bundle;
pub mod cli;
pub mod edit;
pub mod exchange;
pub mod explore;
pub mod fuzz;
pub mod judge;
pub mod manual;
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
pub mod spelling;
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
