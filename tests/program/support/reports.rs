//! Reports as text, whatever their file.

use std::path::Path;

/// A whole record, with the exchanges that lie compressed beside it.
pub(crate) fn whole_record(path: &Path) -> String {
    let record = proofmark::report::evidence::read(path).unwrap_or_else(|error| panic!("{error}"));
    serde_json::to_string_pretty(&record).expect("JSON")
}

/// Every file in a folder of reports, by name; compressed files as what is in them.
pub(crate) fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).expect("reports").flatten() {
        let bytes = std::fs::read(entry.path()).expect("a report");
        let is_compressed = entry.path().extension().is_some_and(|extension| extension == "zst");
        let bytes = if is_compressed { zstd::decode_all(&bytes[..]).expect("compressed") } else { bytes };
        texts.push((entry.path().display().to_string(), String::from_utf8(bytes).expect("text")));
    }
    texts
}
