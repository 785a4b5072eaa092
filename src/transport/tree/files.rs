//! The files of a tree, read and written within bounds. The target can change everything between two looks.
//!
//! Every path is opened one component at a time below the root, by a library that lets no path out of a directory.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path};
use std::time::{Instant, UNIX_EPOCH};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use crate::exchange::TreeAction;

/// Components of a path.
pub(crate) const DEPTH: usize = 16;

/// Bytes of one component (NAME_MAX of the usual file systems).
const NAME_BYTES: usize = 255;

/// Entries of directories that are looked at for one answer.
const ENTRIES: usize = 50_000;

/// Files of one answer.
pub(crate) const FILES: usize = 1_000;

/// How often a file that changes while it is read is read again.
const READS: usize = 3;

/// Why an operation on a tree failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// A path that no operation may have.
    Path(String),
    /// There is a file of that name.
    Exists,
    /// The system refused.
    System(String),
}

/// The result of reading a tree.
#[derive(Default)]
pub(crate) struct Found {
    /// The files that match.
    pub(crate) files: Vec<File>,
    /// The number of matching entries that are not regular files.
    pub(crate) skipped: u64,
    /// Whether a bound was reached, so that there may be more.
    pub(crate) more: bool,
    entries: usize,
    bytes: usize,
}

/// A file that was found.
pub(crate) struct File {
    /// Its path from the root, with `/` between components.
    pub(crate) path: String,
    /// When it was last changed, in milliseconds since 1970.
    pub(crate) modified_ms: i128,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Its content, or why that is left out.
    pub(crate) content: Result<Vec<u8>, &'static str>,
}

/// A file that was written.
pub(crate) struct Written {
    folder: Dir,
    name: String,
}

impl Written {
    /// Its whole content, or why that is left out.
    pub(crate) fn content(&self, limit: usize) -> Result<Result<Vec<u8>, &'static str>, Failed> {
        read_file(&self.folder, OsStr::new(&self.name), limit).map(|(_, content)| content)
    }
}

/// The files that match a pattern, read until the deadline. `limit` is the number of bytes of all their content.
///
/// # Errors
///
/// [`Failed`] if the pattern leaves the tree or the root cannot be read.
pub(crate) fn find(root: &Path, pattern: &str, limit: usize, deadline: Instant) -> Result<Found, Failed> {
    let components = components(pattern)?;
    let mut found = Found::default();
    visit(&open_root(root)?, &components, &mut Vec::new(), limit, deadline, &mut found)?;
    Ok(found)
}

/// Writes one file, and the folders above it. `number` makes its temporary name unique in this process.
///
/// # Errors
///
/// [`Failed`] if the path leaves the tree, the file exists and is to be new, or the system refuses.
pub(crate) fn write(root: &Path, path: &str, action: TreeAction, body: &[u8], number: u64) -> Result<Written, Failed> {
    let components = components(path)?;
    if path.contains('*') {
        return Err(Failed::Path(format!("`{path}` is a pattern, not the path of one file")));
    }
    let Some((name, folders)) = components.split_last() else {
        return Err(Failed::Path("the path is empty".to_owned()));
    };
    let mut folder = open_root(root)?;
    for component in folders {
        folder = make_folder(&folder, component)?;
    }
    write_file(action, &folder, name, body, number)?;
    Ok(Written { folder, name: name.clone() })
}

fn system(what: &str, name: &OsStr, error: &std::io::Error) -> Failed {
    Failed::System(format!("cannot {what} `{}`: {error}", name.to_string_lossy()))
}

/// The components of a path or pattern, if it is one that stays inside.
fn components(text: &str) -> Result<Vec<String>, Failed> {
    let wrong = |why: &str| Failed::Path(format!("`{text}` is not a path in the tree: {why}"));
    let components: Vec<&str> = text.split('/').collect();
    if components.len() > DEPTH {
        return Err(wrong("it is too deep"));
    }
    let one = |component: &&str| match *component {
        "" => Err(wrong("a component is empty")),
        "." | ".." => Err(wrong("it contains `.` or `..`")),
        name if name.eq_ignore_ascii_case(".git") => Err(wrong("it is inside the repository")),
        name if name.len() > NAME_BYTES => Err(wrong("a component is too long")),
        name if name.contains('\0') => Err(wrong("it contains a NUL")),
        name if !is_one_name(name) => Err(wrong("a component is no file name on this system")),
        name => Ok(name.to_owned()),
    };
    components.iter().map(one).collect()
}

/// Whether the system sees one name in a component: on some `\` separates too, and `C:` is a drive.
fn is_one_name(name: &str) -> bool {
    let mut seen = Path::new(name).components();
    matches!((seen.next(), seen.next()), (Some(Component::Normal(only)), None) if only == name)
}

fn open_root(root: &Path) -> Result<Dir, Failed> {
    // The target file configures the root, which may be a link; links below it are not followed.
    Dir::open_ambient_dir(root, cap_std::ambient_authority()).map_err(|error| system("open", root.as_os_str(), &error))
}

fn make_folder(parent: &Dir, name: &str) -> Result<Dir, Failed> {
    let failed = |what, error| system(what, OsStr::new(name), &error);
    match parent.create_dir(name) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed("make folder", error)),
        _ => parent.open_dir_nofollow(name).map_err(|error| failed("open folder", error)),
    }
}

/// Options for a file that is opened without following a link. A named pipe in the place of the file would keep an open
/// that waits for its other end.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(FollowSymlinks::No).nonblock(true);
    options
}

fn write_file(action: TreeAction, folder: &Dir, name: &str, body: &[u8], number: u64) -> Result<(), Failed> {
    let failed = |error: std::io::Error| system("write", OsStr::new(name), &error);
    if action == TreeAction::Append {
        let mut file = folder.open_with(name, options().append(true).create(true)).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Failed::System(format!("`{name}` is not a regular file")));
        }
        // One call, so that lines of several writers do not mix.
        let mut line = body.to_vec();
        line.push(b'\n');
        return file.write_all(&line).map_err(failed);
    }
    let temporary = format!(".proofmark-{}-{number}.tmp", std::process::id());
    let mut file = folder.open_with(&temporary, options().write(true).create_new(true)).map_err(failed)?;
    let placed = file.write_all(body).and_then(|()| {
        drop(file);
        match action {
            TreeAction::Replace => folder.rename(&temporary, folder, name),
            // Unlike a rename, a link never takes the place of a file that is there.
            _ => folder.hard_link(&temporary, folder, name).and_then(|()| folder.remove_file(&temporary)),
        }
    });
    placed.map_err(|error| {
        let _ = folder.remove_file(&temporary);
        if error.kind() == ErrorKind::AlreadyExists { Failed::Exists } else { failed(error) }
    })
}

/// Visits what matches the components below a folder, links and folders in the place of files left out.
fn visit(
    folder: &Dir,
    components: &[String],
    path: &mut Vec<String>,
    limit: usize,
    deadline: Instant,
    found: &mut Found,
) -> Result<(), Failed> {
    let Some((pattern, rest)) = components.split_first() else { return Ok(()) };
    let names = if pattern.contains('*') { matching(folder, pattern, found)? } else { vec![pattern.into()] };
    for name in names {
        if found.files.len() >= FILES || Instant::now() > deadline {
            found.more = true;
            return Ok(());
        }
        path.push(name.to_string_lossy().into_owned());
        if rest.is_empty() {
            take(folder, &name, path, limit, found);
        } else if let Ok(below) = folder.open_dir_nofollow(&name) {
            visit(&below, rest, path, limit, deadline, found)?;
        } else if folder.symlink_metadata(&name).is_ok() {
            // Links and files have no children.
            found.skipped += 1;
        }
        path.pop();
    }
    Ok(())
}

/// The names in a folder that match a pattern, in order.
fn matching(folder: &Dir, pattern: &str, found: &mut Found) -> Result<Vec<OsString>, Failed> {
    let entries = folder.entries().map_err(|error| system("read folder of", OsStr::new(pattern), &error))?;
    let mut names = Vec::new();
    for entry in entries {
        // A folder that is removed during the read has no more entries.
        let Ok(entry) = entry else { break };
        found.entries += 1;
        if found.entries > ENTRIES {
            found.more = true;
            break;
        }
        let name = entry.file_name();
        if !name.eq_ignore_ascii_case(".git") && matches(pattern.as_bytes(), name.as_encoded_bytes()) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a name matches a pattern with the wildcard `*`. Hidden names match only patterns that start with a dot.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while in_name < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, in_name));
            at += 1;
        } else if pattern.get(at) == Some(&name[in_name]) {
            at += 1;
            in_name += 1;
        } else if let Some((from, taken)) = star {
            at = from + 1;
            in_name = taken + 1;
            star = Some((from, taken + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

fn take(folder: &Dir, name: &OsStr, path: &[String], limit: usize, found: &mut Found) {
    let Ok(metadata) = folder.symlink_metadata(name) else { return };
    if !metadata.is_file() {
        found.skipped += 1;
        return;
    }
    let left = limit.saturating_sub(found.bytes);
    let Ok((metadata, content)) = read_file(folder, name, left) else {
        // It was removed since, or is not readable.
        return found.skipped += 1;
    };
    if let Ok(content) = &content {
        found.bytes += content.len();
    }
    found.files.push(File { path: path.join("/"), modified_ms: modified_ms(&metadata), size: metadata.len(), content });
}

/// When a file was last changed, in milliseconds since 1970.
fn modified_ms(metadata: &Metadata) -> i128 {
    let Ok(modified) = metadata.modified() else { return 0 };
    match modified.into_std().duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_millis()).unwrap_or(i128::MAX),
        Err(before) => -i128::try_from(before.duration().as_millis()).unwrap_or(i128::MAX),
    }
}

/// A file and its content, or why its content is left out.
fn read_file(folder: &Dir, name: &OsStr, limit: usize) -> Result<(Metadata, Result<Vec<u8>, &'static str>), Failed> {
    let failed = |error: std::io::Error| system("read", name, &error);
    let mut content = Err("changing");
    let mut last = None;
    for _ in 0..READS {
        let mut file = folder.open_with(name, options().read(true)).map_err(failed)?;
        let before = file.metadata().map_err(failed)?;
        if !before.is_file() {
            return Err(Failed::System(format!("`{}` is not a regular file", name.to_string_lossy())));
        }
        let version = |metadata: &Metadata| (metadata.len(), metadata.modified().ok());
        let (size, first) = (before.len(), version(&before));
        last = Some(before);
        if usize::try_from(size).unwrap_or(usize::MAX) > limit {
            content = Err("too-large");
            break;
        }
        let mut bytes = Vec::new();
        // One byte more than the size shows that it has grown.
        (&mut file).take(size + 1).read_to_end(&mut bytes).map_err(failed)?;
        if first == version(&file.metadata().map_err(failed)?) && bytes.len() as u64 == size {
            content = Ok(bytes);
            break;
        }
    }
    last.map(|metadata| (metadata, content)).ok_or_else(|| Failed::System("not read".to_owned()))
}
