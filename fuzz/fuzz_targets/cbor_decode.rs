//! Under libFuzzer: see `proofmark_fuzz::cbor_decode`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(cbor_decode);
