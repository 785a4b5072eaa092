//! Under libFuzzer: see `proofmark_fuzz::json_reader`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(json_reader);
