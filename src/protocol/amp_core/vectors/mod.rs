//! Kinds of vectors of this protocol: each calls one method of a library (binding, section 10).
//!
//! The inputs of a question are the keys of the vector under the names that the operation has for them.

mod build;
mod common;
mod encoding;
mod framing;
mod keys;
mod receive;
mod tables;

use crate::vector::Kind;

pub(super) use build::envelope;

/// Every kind.
pub(super) const ALL: &[&dyn Kind] = &[
    &receive::Receive,
    &encoding::Deterministic,
    &encoding::SigInput,
    &keys::Verify,
    &keys::Sign,
    &keys::PublicKey,
    &keys::BoxOpen,
    &build::BuildPlain,
    &build::BuildEncrypted,
    &keys::SelectKey,
    &framing::FrameDecode,
    &framing::FrameEncode,
    &framing::Wrapper,
    &tables::Type,
    &tables::ErrorCode,
    &tables::Version,
    &tables::Id,
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::common::requires_rejection;
    use crate::source::Source;
    use crate::vector::{load, suite};

    fn files() -> Vec<Arc<Source>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/amp-core");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| {
            let name = format!("vectors/amp-core/{}", path.file_name().unwrap().to_str().unwrap());
            Arc::new(Source { name, text: std::fs::read_to_string(&path).unwrap().into() })
        };
        paths.map(read).collect()
    }

    #[test]
    fn every_vector_is_a_case_and_proofmark_has_the_same_answer() {
        let protocol = crate::protocol::find("amp-core").unwrap();
        let form = protocol.codec().canonical_form();
        let mut differ = Vec::new();
        for source in files() {
            let file =
                load(&source, super::ALL).unwrap_or_else(|mistakes| panic!("{}: {}", source.name, mistakes[0].message));
            let cases =
                suite(&file).unwrap_or_else(|mistakes| panic!("{}: {}", source.name, mistakes[0].message)).cases;
            assert_eq!(cases.len(), file.vectors.len(), "{}", source.name);
            for vector in &file.vectors {
                let operation = file.kind.library_call(vector).unwrap().operation;
                assert!(protocol.operation(operation).is_some(), "{operation}");
                if let Err(made) = file.kind.confirm(vector, form) {
                    differ.push(format!("{}: {}: {made}", source.name, *vector.id));
                }
            }
        }
        assert!(differ.is_empty(), "{} differ\n{}", differ.len(), differ.join("\n"));
    }

    #[test]
    fn a_refusal_has_a_twin() {
        for source in files() {
            let file = load(&source, super::ALL).unwrap();
            for vector in file.vectors.iter().filter(|vector| requires_rejection(vector)) {
                assert!(file.kind.library_call(vector).unwrap().twin.is_some(), "{}: {}", source.name, *vector.id);
            }
        }
    }
}
