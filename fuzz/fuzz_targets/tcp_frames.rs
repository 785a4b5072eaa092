//! Under libFuzzer: see `proofmark_fuzz::tcp_frames`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(tcp_frames);
