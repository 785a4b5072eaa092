//! Under libFuzzer: see `proofmark_fuzz::report_render`.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]
proofmark_fuzz::fuzz_main!(report_render);
