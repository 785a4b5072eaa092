//! Under libFuzzer: see `proofmark_fuzz::template`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(template);
