//! Report files on disk: old files are removed first, and each new file is written atomically.

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Format, evidence};
use crate::parallel;
use crate::record::{EvidenceFile, RunRecord};

/// A report that could not be written or removed; print it with its source.
#[derive(Debug, thiserror::Error)]
#[error("{action} {}", path.display())]
pub struct WriteError {
    /// The failed action, `write` or `remove`.
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// Removes the files that `formats` would write to `dir`, so that a run that ends early leaves no outdated report.
/// Returns the removed files.
///
/// # Errors
///
/// An existing file cannot be removed.
pub fn remove_old(dir: &Path, formats: &[Format]) -> Result<Vec<PathBuf>, WriteError> {
    let mut removed = Vec::new();
    for format in formats {
        removed.extend(remove_report(format, &dir.join(format.file_name))?);
    }
    Ok(removed)
}

/// Removes the report of a format at `path`, with its evidence. Returns the removed files.
///
/// # Errors
///
/// An existing file cannot be removed.
pub fn remove_report(format: &Format, path: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let mut removed = Vec::new();
    let beside = format.has_evidence.then(|| evidence::beside(path));
    // A record without evidence is of no use, evidence without a record does no harm.
    for path in [Some(path.to_owned()), beside].into_iter().flatten() {
        if remove(&path)? {
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Removes `path` if it exists, and returns whether it did. Does not remove devices and pipes.
///
/// # Errors
///
/// The path exists and cannot be removed; directories are never removed.
pub fn remove(path: &Path) -> Result<bool, WriteError> {
    if in_place(path) {
        return Ok(false);
    }
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        // If the parent is not a directory, the write reports it with a better message.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(source) => Err(WriteError { action: "remove", path: path.to_owned(), source }),
    }
}

/// Makes sure that files can be written to each of `paths` before a run that would be lost otherwise. Creates directories.
///
/// # Errors
///
/// The first path that cannot be written.
pub fn check_writable<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<(), WriteError> {
    for path in paths.into_iter().filter(|path| !in_place(path)) {
        let failed = |source| WriteError { action: "write", path: path.to_owned(), source };
        fs::create_dir_all(directory_of(path)).map_err(failed)?;
        builder().tempfile_in(directory_of(path)).map_err(failed)?;
        if path.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
    }
    Ok(())
}

/// Writes `record` to each of `targets`, creating directories as needed, and returns the paths written.
///
/// Old files are removed first. All reports are written to temporary files in the same folders before the first is
/// renamed, so that a full disk leaves no incomplete set. Devices and pipes are written last, and directly.
///
/// # Errors
///
/// The first step that fails, with the path that it concerns.
pub fn write_all(record: &RunRecord, targets: &[(Format, PathBuf)]) -> Result<Vec<PathBuf>, WriteError> {
    for (format, path) in targets {
        remove_report(format, path)?;
    }
    let failed = |path: &Path, source| WriteError { action: "write", path: path.to_owned(), source };
    let kept: Vec<&(Format, PathBuf)> = targets.iter().filter(|(_, path)| !in_place(path)).collect();
    let staged = parallel::map(parallel::processors(), &kept, |(format, path)| {
        let mut staged = Vec::with_capacity(2);
        let of_record;
        let mut shown = record;
        if format.has_evidence {
            let beside = evidence::beside(path);
            let (file, sha256) =
                stage(&beside, &|out| evidence::write(record, out)).map_err(|source| failed(&beside, source))?;
            let name = beside.file_name().unwrap_or_default().to_string_lossy().into_owned();
            of_record = evidence::without_exchanges(record, EvidenceFile { file: name, sha256 });
            shown = &of_record;
            staged.push((file, beside));
        }
        let (file, ()) = stage(path, &|out| (format.write)(shown, out)).map_err(|source| failed(path, source))?;
        staged.push((file, path.clone()));
        Ok(staged)
    });
    let staged: Vec<Vec<_>> = staged.into_iter().collect::<Result<_, WriteError>>()?;
    for (file, path) in staged.into_iter().flatten() {
        file.persist(&path).map_err(|error| failed(&path, error.error))?;
        sync_directory(directory_of(&path));
    }
    for (format, path) in targets.iter().filter(|(_, path)| in_place(path)) {
        write_in_place(record, format, path).map_err(|source| failed(path, source))?;
    }
    Ok(targets.iter().map(|(_, path)| path.clone()).collect())
}

/// Writes bytes to a file atomically, creating directories as needed.
///
/// # Errors
///
/// The first step that fails.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let failed = |source| WriteError { action: "write", path: path.to_owned(), source };
    let dir = directory_of(path);
    fs::create_dir_all(dir).map_err(failed)?;
    let mut file = builder().tempfile_in(dir).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    sync_directory(dir);
    Ok(())
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".proofmark-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Other users (a CI step, a web server) may read a report, as far as the umask permits.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// A temporary file beside `path` with what `write` writes, and what it returns.
fn stage<T>(path: &Path, write: &dyn Fn(&mut dyn io::Write) -> io::Result<T>) -> io::Result<(NamedTempFile, T)> {
    let dir = directory_of(path);
    fs::create_dir_all(dir)?;
    let mut file = builder().tempfile_in(dir)?;
    let mut out = BufWriter::with_capacity(1 << 16, &mut file);
    let result = write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    Ok((file, result))
}

/// Whether `path` names something that must neither be removed nor replaced, such as `/dev/stdout` or a named pipe.
fn in_place(path: &Path) -> bool {
    // `/dev/stdout` may link to an ordinary file, but the link itself must not be replaced.
    let special = |meta: fs::Metadata| !meta.is_file() && !meta.is_dir();
    path.starts_with("/dev") || path.starts_with("/proc") || fs::metadata(path).is_ok_and(special)
}

fn write_in_place(record: &RunRecord, format: &Format, path: &Path) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).open(path)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    (format.write)(record, &mut out)?;
    out.flush()
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// Makes the rename durable if the system supports it; the file is complete in any case.
fn sync_directory(dir: &Path) {
    if let Ok(dir) = fs::File::open(dir) {
        let _ = dir.sync_all();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn system_files_are_never_replaced() {
        for path in ["/dev/stdout", "/dev/null", "/proc/self/fd/1"] {
            assert!(in_place(Path::new(path)), "{path}");
        }
        let dir = tempfile::tempdir().expect("a directory");
        assert!(!in_place(dir.path()));
        assert!(!in_place(&dir.path().join("report.json")));
    }
}
