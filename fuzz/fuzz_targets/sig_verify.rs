//! Under libFuzzer: see `proofmark_fuzz::sig_verify`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(sig_verify);
