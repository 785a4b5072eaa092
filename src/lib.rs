//! proofmark: the conformance test harness and fuzzer for agent protocols.

pub mod exchange;
pub mod record;
pub mod report;
pub mod verdict;
