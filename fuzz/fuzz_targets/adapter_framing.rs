//! Under libFuzzer: see `proofmark_fuzz::adapter_framing`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(adapter_framing);
