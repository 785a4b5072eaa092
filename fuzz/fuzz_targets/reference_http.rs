//! Under libFuzzer: see `proofmark_fuzz::reference_http`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(reference_http);
