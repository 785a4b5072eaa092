//! Fuzz targets: each is a function over bytes, with a property that its file states.
//!
//! The same functions run under libFuzzer (`cargo +nightly fuzz run NAME`) and, over the corpus and the reproducers, as
//! ordinary tests on stable (`tests/replay.rs`). A target is one file here, one row of [`TARGETS`], two lines in
//! `fuzz_targets/`, a `[[bin]]` in `Cargo.toml`, and a folder of small inputs under `corpus/`.

pub mod canonical;
pub mod json_reader;
pub mod matcher_path;
pub mod observe;
mod reference;
pub mod suite_parse;
mod tree;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use libfuzzer_sys;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its file, its program and its corpus.
    pub name: &'static str,
    /// What must hold for every input.
    pub property: &'static str,
    /// Panics if the property does not hold for an input.
    pub run: fn(&[u8]),
}

/// Every target, in the order of their names.
pub const TARGETS: &[Target] = &[
    Target {
        name: "canonical",
        property: "harness and reference accept the same JSON and write the same canonical form, which is its own",
        run: canonical::run,
    },
    Target {
        name: "json_reader",
        property: "the reader accepts what serde_json accepts, says what is odd, and reads back what it wrote",
        run: json_reader::run,
    },
    Target {
        name: "matcher_path",
        property: "no place, matcher or value makes a check panic, and a place is where it was put",
        run: matcher_path::run,
    },
    Target {
        name: "observe",
        property: "whatever a target answers is observed and compared without a panic",
        run: observe::run,
    },
    Target {
        name: "suite_parse",
        property: "any text is data or mistakes that can be printed, and what is data can be planned and walked",
        run: suite_parse::run,
    },
];

/// The program of a target: libFuzzer under cargo-fuzz, and nothing at all in a plain build.
#[macro_export]
macro_rules! fuzz_main {
    ($name:ident) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$name::run(data));
        #[cfg(not(fuzzing))]
        fn main() {}
    };
}
