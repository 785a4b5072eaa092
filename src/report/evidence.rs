//! Evidence: the exchanges of a record, in a compressed file beside `report.json`.
//!
//! The file is Zstandard over JSON lines, one for each probed feature and each case that ran, so that `zstdcat` and `jq`
//! read it. A record with evidence in a file lacks nothing else; [`read()`] puts both together again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, IntoInnerError, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::cause;
use super::json::{self, ReadError};
use super::printable;
use crate::exchange::{Exchange, Exchanges};
use crate::record::{CaseRecord, EvidenceFile, FeatureRecord, ProtocolRecord, RunRecord};
use crate::verdict::Verdict;

/// What replaces the extension of `report.json` in the name of its evidence.
const EXTENSION: &str = "evidence.jsonl.zst";

/// Bytes of a record, or of a file of evidence, that are read: far more than any run writes.
const SIZE_LIMIT: u64 = 1 << 30;

/// Bytes of evidence that are decompressed: a run of ten thousand cases has a twentieth of that.
const DECOMPRESSED_LIMIT: u64 = 1 << 32;

/// The window in which repetitions are found, as a power of two: 8 MiB, which holds the largest messages of a suite
/// several times.
const WINDOW: u32 = 23;

/// Bytes that are given to the compressor at a time.
const BUFFERED: usize = 64 << 10;

/// The place of a case's id in the `replay` of a protocol.
const CASE: &str = "{case}";

/// One line of the file.
#[derive(Serialize)]
struct Line<'r> {
    protocol: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feature: Option<&'r str>,
    exchanges: &'r [Exchange],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    twin: &'r [Exchange],
    /// The case that sent the twin, if another one did. Its line has it.
    #[serde(skip_serializing_if = "str::is_empty")]
    twin_of: &'r str,
}

/// The same, read.
#[derive(Deserialize)]
struct OwnedLine {
    protocol: String,
    case: Option<String>,
    feature: Option<String>,
    #[serde(default)]
    exchanges: Vec<Exchange>,
    #[serde(default)]
    twin: Vec<Exchange>,
    #[serde(default)]
    twin_of: String,
}

/// The file of evidence that belongs to the record at `report`.
pub fn beside(report: &Path) -> PathBuf {
    report.with_extension(EXTENSION)
}

/// Writes the exchanges of `record`, and returns the SHA-256 over the written bytes, in hex.
///
/// # Errors
///
/// Those of `out`.
pub fn write(record: &RunRecord, out: &mut dyn Write) -> io::Result<String> {
    let mut compressor = zstd::Encoder::new(Digesting { out, digest: Sha256::new() }, 1)?;
    compressor.long_distance_matching(true)?;
    compressor.window_log(WINDOW)?;
    compressor.include_checksum(true)?;
    // The lines come in small pieces, and each call of the compressor costs more than a piece.
    let mut lines = BufWriter::with_capacity(BUFFERED, compressor);
    for protocol in &record.protocols {
        let slug = protocol.protocol.as_str();
        for feature in protocol.features.iter().filter(|feature| !feature.exchanges.is_empty()) {
            let name = Some(feature.feature.as_str());
            let line = Line {
                protocol: slug,
                case: None,
                feature: name,
                exchanges: &feature.exchanges,
                twin: &[],
                twin_of: "",
            };
            json::write_line(&line, &mut lines)?;
        }
        let senders = senders_of_twins(protocol);
        for case in protocol.cases.iter().filter(|case| !case.exchanges.is_empty() || !case.twin.is_empty()) {
            let twin: &[Exchange] = if has_borrowed(case, &senders) { &[] } else { &case.twin };
            let line = Line {
                protocol: slug,
                case: Some(&case.id),
                feature: None,
                exchanges: &case.exchanges,
                twin,
                twin_of: &case.twin_of,
            };
            json::write_line(&line, &mut lines)?;
        }
    }
    let compressor = lines.into_inner().map_err(IntoInnerError::into_error)?;
    let digest = compressor.finish()?.digest.finalize();
    Ok(data_encoding::HEXLOWER.encode(&digest))
}

/// The cases by id, to find those that sent the twins of others.
fn senders_of_twins(protocol: &ProtocolRecord) -> HashMap<&str, &CaseRecord> {
    protocol.cases.iter().map(|case| (case.id.as_str(), case)).collect()
}

/// Whether a case has its twin from another one, which still has it: one that was retried has a new one.
fn has_borrowed(case: &CaseRecord, senders: &HashMap<&str, &CaseRecord>) -> bool {
    senders.get(case.twin_of.as_str()).is_some_and(|sender| sender.twin.is_same(&case.twin))
}

/// A writer that computes a digest of what it writes.
struct Digesting<'w> {
    out: &'w mut dyn Write,
    digest: Sha256,
}

impl Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The record without its exchanges, which are in `evidence`, and without commands that differ only in the id of the case.
pub fn without_exchanges(record: &RunRecord, evidence: EvidenceFile) -> RunRecord {
    let known = super::baseline::known(record);
    let protocols = record.protocols.iter().map(|protocol| protocol_without_exchanges(protocol, &known)).collect();
    RunRecord {
        schema: record.schema.clone(),
        proofmark: record.proofmark.clone(),
        evidence: Some(evidence),
        seed: record.seed,
        identity_seed: record.identity_seed,
        profile: record.profile,
        started_at: record.started_at.clone(),
        asked: record.asked.clone(),
        target: record.target.clone(),
        protocols,
        baseline: record.baseline.clone(),
        summary: record.summary.clone(),
    }
}

fn protocol_without_exchanges(protocol: &ProtocolRecord, known: &BTreeSet<&str>) -> ProtocolRecord {
    let commands = protocol.cases.iter().filter(|case| case.replay.contains(&case.id));
    let senders = senders_of_twins(protocol);
    let replay = commands.map(|case| case.replay.replacen(&case.id, CASE, 1)).next().unwrap_or_default();
    let features = protocol.features.iter().map(|feature| FeatureRecord {
        feature: feature.feature.clone(),
        about: feature.about.clone(),
        state: feature.state,
        advice: feature.advice.clone(),
        blocks: feature.blocks,
        explained_by: feature.explained_by.clone(),
        exchanges: Exchanges::default(),
    });
    ProtocolRecord {
        protocol: protocol.protocol.clone(),
        spec: protocol.spec.clone(),
        suite_hash: protocol.suite_hash.clone(),
        levels: protocol.levels.clone(),
        causes: cause::causes(protocol, known).iter().map(cause::Cause::record).collect(),
        features: features.collect(),
        requirements: protocol.requirements.clone(),
        cases: protocol
            .cases
            .iter()
            .map(|case| case_without_exchanges(case, &replay, has_borrowed(case, &senders)))
            .collect(),
        hosts: protocol.hosts.clone(),
        strays: protocol.strays.clone(),
        more_strays: protocol.more_strays,
        waivers: protocol.waivers.clone(),
        exploration: protocol.exploration.clone(),
        replay,
    }
}

fn case_without_exchanges(case: &CaseRecord, replay: &str, has_borrowed: bool) -> CaseRecord {
    // A case that somebody has to look at keeps its command.
    let is_plain = matches!(case.verdict, Verdict::Pass | Verdict::Warn | Verdict::NotRun)
        && !replay.is_empty()
        && case.replay == replay.replacen(CASE, &case.id, 1);
    CaseRecord {
        id: case.id.clone(),
        transport: case.transport,
        about: case.about.clone(),
        verdict: case.verdict,
        reason: case.reason,
        because: case.because.clone(),
        covers: case.covers.clone(),
        outcomes: if case.outcomes == case.plain_outcomes() { BTreeMap::new() } else { case.outcomes.clone() },
        started_ms: case.started_ms,
        // The line of the case in the evidence says whose twin it is.
        twin_started_ms: if has_borrowed { 0 } else { case.twin_started_ms },
        retry: case.retry,
        elapsed_ms: case.elapsed_ms,
        at: case.at.clone(),
        findings: case.findings.clone(),
        readings: case.readings.clone(),
        exchanges: Exchanges::default(),
        twin: Exchanges::default(),
        twin_of: String::new(),
        swept_from: case.swept_from.clone(),
        edits: case.edits.clone(),
        replay: if is_plain { String::new() } else { case.replay.clone() },
    }
}

/// Why files are not a record; print it with its source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file that is not a record.
    #[error("{}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ReadError,
    },
    /// The evidence of the record is not there.
    #[error("{}: its evidence {} is missing", path.display(), evidence.display())]
    Missing {
        /// The record.
        path: PathBuf,
        /// The file with the exchanges.
        evidence: PathBuf,
    },
    /// The evidence is that of another run, or was changed.
    #[error("{} is not the evidence of {}", evidence.display(), path.display())]
    OfAnotherRun {
        /// The record.
        path: PathBuf,
        /// The file with the exchanges.
        evidence: PathBuf,
    },
    /// The evidence is not what [`write()`] writes.
    #[error("{}: line {line}: not evidence: {why}", path.display())]
    Malformed {
        /// The file with the exchanges.
        path: PathBuf,
        /// The line of the decompressed file, from 1.
        line: usize,
        /// The reason, safe to print.
        why: String,
    },
}

/// Reads a record, and the evidence beside it if the record has some.
///
/// # Errors
///
/// [`Error`]
pub fn read(path: &Path) -> Result<RunRecord, Error> {
    let mut record = read_without(path)?;
    if let Some(evidence) = record.evidence.take() {
        let (file, bytes) = find(path, &evidence)?;
        restore(&mut record, &file, &bytes)?;
    }
    Ok(record)
}

/// Reads a record without the evidence beside it.
///
/// # Errors
///
/// [`Error::Unreadable`] and [`Error::Record`].
pub fn read_without(path: &Path) -> Result<RunRecord, Error> {
    json::read(&bytes_of(path)?).map_err(|source| Error::Record { path: path.to_owned(), source })
}

/// The file with the evidence of the record at `path`, and its bytes. Both files may have been renamed alike.
fn find(path: &Path, evidence: &EvidenceFile) -> Result<(PathBuf, Vec<u8>), Error> {
    // The name comes from a file that somebody else may have written; it stays in the folder.
    let name = Path::new(&evidence.file).file_name().unwrap_or_default();
    let (renamed, named) = (beside(path), path.with_file_name(name));
    let mut candidates = vec![renamed];
    if !name.is_empty() && !candidates.contains(&named) {
        candidates.push(named);
    }
    candidates.retain(|candidate| candidate.is_file());
    for candidate in &candidates {
        let bytes = bytes_of(candidate)?;
        if data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes)) == evidence.sha256 {
            return Ok((candidate.clone(), bytes));
        }
    }
    Err(match candidates.pop() {
        Some(other) => Error::OfAnotherRun { path: path.to_owned(), evidence: other },
        None => Error::Missing { path: path.to_owned(), evidence: path.with_file_name(name) },
    })
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(unreadable(io::Error::other(format!("it is longer than {SIZE_LIMIT} bytes"))));
    }
    Ok(bytes)
}

/// Puts the exchanges in `bytes` back into `record`, and the commands of its cases.
fn restore(record: &mut RunRecord, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let malformed =
        |line: usize, why: &str| Error::Malformed { path: path.to_owned(), line, why: printable::short(why, 300) };
    let mut cases = HashMap::new();
    let mut features = HashMap::new();
    for (at, protocol) in record.protocols.iter_mut().enumerate() {
        let replay = std::mem::take(&mut protocol.replay);
        for (index, case) in protocol.cases.iter_mut().enumerate() {
            if case.replay.is_empty() && !replay.is_empty() {
                case.replay = replay.replacen(CASE, &case.id, 1);
            }
            cases.insert((protocol.protocol.clone(), case.id.clone()), (at, index));
        }
        for (index, feature) in protocol.features.iter().enumerate() {
            features.insert((protocol.protocol.clone(), feature.feature.clone()), (at, index));
        }
    }
    let decoder = zstd::Decoder::new(bytes).map_err(|error| malformed(1, &error.to_string()))?;
    let mut lines = BufReader::with_capacity(1 << 16, decoder.take(DECOMPRESSED_LIMIT));
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let length = lines.read_until(b'\n', &mut text).map_err(|error| malformed(number, &error.to_string()))?;
        if length == 0 {
            break;
        }
        if text.pop() != Some(b'\n') {
            return Err(malformed(number, "it ends in the middle, or is longer than is read"));
        }
        let line: OwnedLine = serde_json::from_slice(&text).map_err(|error| malformed(number, &error.to_string()))?;
        match (line.case, line.feature) {
            (Some(id), None) => {
                let place = cases.get(&(line.protocol, id));
                let (at, index) = place.ok_or_else(|| malformed(number, "a case that the record lacks"))?;
                let case = &mut record.protocols[*at].cases[*index];
                (case.exchanges, case.twin, case.twin_of) = (line.exchanges.into(), line.twin.into(), line.twin_of);
            }
            (None, Some(name)) => {
                let place = features.get(&(line.protocol, name));
                let (at, index) = place.ok_or_else(|| malformed(number, "a feature that the record lacks"))?;
                record.protocols[*at].features[*index].exchanges = line.exchanges.into();
            }
            _ => return Err(malformed(number, "expected either `case` or `feature`")),
        }
    }
    for protocol in &mut record.protocols {
        share_twins(protocol);
    }
    Ok(())
}

/// Gives each case without a twin of its own that of the case that sent it.
fn share_twins(protocol: &mut ProtocolRecord) {
    let sent: HashMap<String, (Exchanges, u64)> = protocol
        .cases
        .iter()
        .filter(|case| !case.twin.is_empty())
        .map(|case| (case.id.clone(), (case.twin.clone(), case.twin_started_ms)))
        .collect();
    for case in protocol.cases.iter_mut().filter(|case| case.twin.is_empty()) {
        if let Some((twin, started_ms)) = sent.get(&case.twin_of) {
            (case.twin, case.twin_started_ms) = (twin.clone(), *started_ms);
        }
    }
}
