//! Under libFuzzer: see `proofmark_fuzz::canonical`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(canonical);
