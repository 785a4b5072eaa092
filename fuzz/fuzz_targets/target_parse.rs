//! Under libFuzzer: see `proofmark_fuzz::target_parse`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(target_parse);
