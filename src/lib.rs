//! proofmark: the conformance test harness and fuzzer for agent protocols.

pub mod edit;
pub mod exchange;
pub mod matcher;
pub mod protocol;
pub mod record;
pub mod requirement;
pub mod source;
pub mod suggest;
pub mod suite;
pub mod target;
pub mod template;
pub mod value;
pub mod verdict;
pub mod wire;
