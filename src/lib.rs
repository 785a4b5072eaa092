//! proofmark: the conformance test harness and fuzzer for agent protocols.

pub mod bundle;
pub mod cli;
pub mod edit;
pub mod exchange;
pub mod judge;
pub mod matcher;
pub mod plan;
pub mod protocol;
pub mod record;
pub mod report;
pub mod requirement;
pub mod run;
pub mod source;
pub mod suggest;
pub mod suite;
pub mod target;
pub mod template;
pub mod transport;
pub mod value;
pub mod vector;
pub mod verdict;
pub mod wire;
