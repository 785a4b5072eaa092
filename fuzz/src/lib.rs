//! Fuzz targets: each is a function over bytes, with a property that its file states.
//!
//! The same functions run under libFuzzer (`cargo +nightly fuzz run NAME`) and, over the corpus and the reproducers, as
//! ordinary tests on stable (`tests/program/replay.rs`). A target is one file here, one row of [`TARGETS`], two lines in
//! `fuzz_targets/`, a `[[bin]]` in `Cargo.toml`, and a folder of small inputs under `corpus/`.

pub mod adapter_framing;
pub mod agentic_message;
pub mod amp_envelope;
pub mod authcrypt_open;
pub mod canonical;
pub mod cbor_decode;
mod generate;
pub mod json_reader;
mod letter;
pub mod matcher_path;
pub mod mesh_message;
pub mod meshai_message;
mod mistakes;
pub mod observe;
mod record;
mod reference;
pub mod reference_http;
pub mod report_render;
pub mod sample;
mod server;
pub mod sig_verify;
pub mod suite_parse;
pub mod target_parse;
pub mod task_message;
pub mod task_payload;
pub mod tcp_frames;
pub mod template;
mod tree;
pub mod vector_parse;
pub mod ws_frames;

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
        name: "adapter_framing",
        property: "each request is answered in order, and each answer is found, in whatever pieces the bytes arrive",
        run: adapter_framing::run,
    },
    Target {
        name: "agentic_message",
        property: "harness and reference accept and refuse the same packages and facts, and agree on their hashes",
        run: agentic_message::run,
    },
    Target {
        name: "amp_envelope",
        property: "the harness reads every message that the reference accepts, with the same Sig_Input, and shows it as signed",
        run: amp_envelope::run,
    },
    Target {
        name: "authcrypt_open",
        property: "a valid box decrypts with the right keys, and no other box does",
        run: authcrypt_open::run,
    },
    Target {
        name: "canonical",
        property: "harness, reference and another library accept the same JSON and write the same form, which is its own",
        run: canonical::run,
    },
    Target {
        name: "cbor_decode",
        property: "harness and reference accept the same CBOR and write the same deterministic form; a truncated item is incomplete",
        run: cbor_decode::run,
    },
    Target {
        name: "json_reader",
        property: "the reader accepts what serde_json accepts, reports deviations, and reads back its output",
        run: json_reader::run,
    },
    Target {
        name: "matcher_path",
        property: "no place, matcher or value makes a check panic, and a set value is at its place",
        run: matcher_path::run,
    },
    Target {
        name: "mesh_message",
        property: "the reference refuses what the harness calls defective, and forwards nothing that the harness calls spoilt",
        run: mesh_message::run,
    },
    Target {
        name: "meshai_message",
        property: "harness and reference sign and verify the same messages, and the reference takes no token that is not signed",
        run: meshai_message::run,
    },
    Target {
        name: "observe",
        property: "whatever a target answers is observed and compared without a panic",
        run: observe::run,
    },
    Target {
        name: "reference_http",
        property: "each request is answered, none by a failure of the server, and accepted data is returned unchanged",
        run: reference_http::run,
    },
    Target {
        name: "report_render",
        property: "no report passes markup or a control character through, and programs can read theirs",
        run: report_render::run,
    },
    Target {
        name: "sig_verify",
        property: "a signed message verifies, and a mutated one only if its signed content is unchanged",
        run: sig_verify::run,
    },
    Target {
        name: "suite_parse",
        property: "any text is data or mistakes that can be printed, and data can be planned and walked",
        run: suite_parse::run,
    },
    Target {
        name: "target_parse",
        property: "any text is a target or mistakes that can be printed, written values are read back, and no secret is shown",
        run: target_parse::run,
    },
    Target {
        name: "task_message",
        property: "the reference accepts no message that every reading refuses, and the parts of an accepted one agree",
        run: task_message::run,
    },
    Target {
        name: "task_payload",
        property: "harness and reference decide the conditional rules of payloads as the rulings do",
        run: task_payload::run,
    },
    Target {
        name: "tcp_frames",
        property: "in any pieces, the frames of a stream are the same in every reader, and write back to it",
        run: tcp_frames::run,
    },
    Target {
        name: "template",
        property: "any text is rendered or refused, always in the same way, and calls give their values",
        run: template::run,
    },
    Target {
        name: "vector_parse",
        property: "any text is vectors or mistakes that can be printed, and a wrong result is not confirmed",
        run: vector_parse::run,
    },
    Target {
        name: "ws_frames",
        property: "the result for the start of a stream stays the same, agrees with another library, and writes back to it",
        run: ws_frames::run,
    },
];

/// The environment variable with the name of the target that the program `any` runs.
pub const SELECTED: &str = "PROOFMARK_FUZZ_TARGET";

/// The target that [`SELECTED`] names.
///
/// # Panics
///
/// If it names none.
pub fn selected() -> &'static Target {
    let name = std::env::var(SELECTED).unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        panic!("{SELECTED} is \"{name}\", and must be one of {}", names.join(", "))
    })
}

/// The program of a target: libFuzzer under cargo-fuzz, and empty in a plain build.
#[macro_export]
macro_rules! fuzz_main {
    ($name:ident) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(
            // One-time setup, such as loading every vector, does not count for the first input.
            init: [&[][..], &[0; 64]].into_iter().for_each($crate::$name::run),
            |data: &[u8]| $crate::$name::run(data)
        );
        #[cfg(not(fuzzing))]
        fn main() {}
    };
}
