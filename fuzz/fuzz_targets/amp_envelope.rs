//! Under libFuzzer: see `proofmark_fuzz::amp_envelope`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(amp_envelope);
