//! Under libFuzzer: see `proofmark_fuzz::meshai_message`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(meshai_message);
