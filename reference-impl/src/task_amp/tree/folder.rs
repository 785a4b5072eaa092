//! Names and files of the tree. Every file is written under another name first and then renamed, so that nobody reads half.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The largest file that is read: a message and a little more.
const FILE_LIMIT: u64 = 2 * 1024 * 1024;

/// A tree of files in a directory.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    /// Files that were looked at, or written.
    known: HashSet<PathBuf>,
}

/// A file that appeared.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Its path below the root.
    pub(super) name: String,
    /// Who wrote it, if the tree knows.
    pub(super) author: Option<String>,
    pub(super) bytes: Vec<u8>,
}

impl Found {
    /// Its name without folders and ending.
    pub(super) fn stem(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// The folders in which others write.
pub(super) const INPUTS: [&str; 4] = ["ssot/control/pending", "ssot/messages", "inbox", "ssot/acks"];

/// Whether a text may be the name of a file: ids are, by their form.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && !text.starts_with('.') && text.len() < 200 && text.bytes().all(plain)
}

impl Folder {
    /// The tree below `root`, with its folders.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let inboxes = ["coordinator", "executor", "reviewer", "admin"].map(|role| format!("inbox/{role}"));
        let folders = [
            "ssot/tasks",
            "ssot/messages",
            "ssot/acks",
            "ssot/errors",
            "ssot/control/pending",
            "ssot/control/done",
            "ssot/control/failed",
            "audit",
        ];
        for folder in folders.into_iter().chain(inboxes.iter().map(String::as_str)) {
            std::fs::create_dir_all(root.join(folder))?;
        }
        Ok(Self { root: root.to_owned(), known: HashSet::new() })
    }

    /// Files that appeared since the last look, the oldest first.
    pub(super) fn added(&mut self) -> Vec<Found> {
        let mut files: Vec<(SystemTime, PathBuf)> = INPUTS.iter().flat_map(|folder| self.files(folder)).collect();
        files.retain(|(_, path)| self.known.insert(path.clone()));
        files.sort();
        let found = |(_, path): (SystemTime, PathBuf)| {
            let name = path.strip_prefix(&self.root).ok()?.to_str()?.to_owned();
            Some(Found { name, author: None, bytes: read(&path).ok()? })
        };
        files.into_iter().filter_map(found).collect()
    }

    /// The JSON files of a folder and of the folders in it.
    fn files(&self, folder: &str) -> Vec<(SystemTime, PathBuf)> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.join(folder)];
        for depth in 0..2 {
            for folder in std::mem::take(&mut folders) {
                for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                    let Ok(kind) = entry.file_type() else { continue };
                    let path = entry.path();
                    let json = path.extension().is_some_and(|ending| ending == "json");
                    if kind.is_dir() && depth == 0 {
                        folders.push(path);
                    } else if kind.is_file() && json {
                        let modified = entry.metadata().and_then(|metadata| metadata.modified());
                        found.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), path));
                    }
                }
            }
        }
        found
    }

    /// Writes a file of the tree, unless it is there and is `kept`. `false` if a name cannot be a file.
    pub(super) fn write(&mut self, names: &[&str], text: &str, kept: bool) -> io::Result<bool> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !names.iter().all(|name| name.split('/').all(is_name)) {
            return Ok(false);
        }
        let path = names.iter().fold(self.root.clone(), |path, name| path.join(name));
        if kept && path.exists() {
            return Ok(true);
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        self.known.insert(path.clone());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.root.join(format!(".{}-{number}.tmp", std::process::id()));
        std::fs::write(&temporary, text)?;
        std::fs::rename(&temporary, &path)?;
        Ok(true)
    }

    /// Adds a line to a file.
    pub(super) fn append(&self, name: &str, line: &str) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(self.root.join(name))?;
        file.write_all(format!("{line}\n").as_bytes())
    }

    /// Moves a control input to `done` or `failed`.
    pub(super) fn settle(&self, found: &Found, to: &str) {
        let to = self.root.join("ssot/control").join(to).join(found.name.rsplit('/').next().unwrap_or_default());
        // If it cannot be moved it is not looked at again.
        std::fs::rename(self.root.join(&found.name), to).ok();
    }
}

/// The bytes of a file, or as many as are looked at.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}
