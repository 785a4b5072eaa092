//! Under libFuzzer: see `proofmark_fuzz::vector_parse`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(vector_parse);
