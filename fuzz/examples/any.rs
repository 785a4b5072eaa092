//! Every target in one program, which is linked once instead of once for each: `PROOFMARK_FUZZ_TARGET` names the one that runs.
#![cfg_attr(fuzzing, no_main, allow(unsafe_code))]

#[cfg(fuzzing)]
use std::sync::OnceLock;

#[cfg(fuzzing)]
static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

#[cfg(fuzzing)]
proofmark_fuzz::libfuzzer_sys::fuzz_target!(
    // One-time setup, such as loading every vector, does not count for the first input.
    init: [&[][..], &[0; 64]].into_iter().for_each(|data| RUN.get_or_init(|| proofmark_fuzz::selected().run)(data)),
    |data: &[u8]| RUN.get_or_init(|| proofmark_fuzz::selected().run)(data)
);

#[cfg(not(fuzzing))]
fn main() {}
