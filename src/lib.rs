//! proofmark: the conformance test harness and fuzzer for agent protocols.

pub mod exchange;
pub mod matcher;
pub mod record;
pub mod suggest;
pub mod value;
pub mod verdict;
pub mod wire;
