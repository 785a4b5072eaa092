//! Under libFuzzer: see `proofmark_fuzz::matcher_path`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(matcher_path);
