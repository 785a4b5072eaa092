//! Under libFuzzer: see `proofmark_fuzz::task_payload`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(task_payload);
