//! Under libFuzzer: see `proofmark_fuzz::authcrypt_open`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(authcrypt_open);
