//! Under libFuzzer: see `proofmark_fuzz::mesh_message`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(mesh_message);
