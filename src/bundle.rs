//! The data files of a run: those that the program embeds, or a folder that replaces them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::Source;

/// Suite and vector files by name, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    files: Vec<Arc<Source>>,
    cases: Vec<Arc<Source>>,
}

/// Why a folder of data files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The folder contains no suite.
    #[error("{} contains no suite: expected a folder <protocol>/ with a protocol.yaml", .0.display())]
    Empty(PathBuf),
}

impl Bundle {
    /// Files given by name and text, in the order of their names. A name starts with `suites/` or `vectors/`.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::of(files.iter().map(|(name, text)| (*name, (*text).to_owned().into())))
    }

    /// As [`Bundle::new`], for files that are part of the program: their texts are not copied.
    pub fn embedded(files: &[(&str, &'static str)]) -> Self {
        Self::of(files.iter().map(|(name, text)| (*name, Cow::Borrowed(*text))))
    }

    fn of<'f>(files: impl Iterator<Item = (&'f str, Cow<'static, str>)>) -> Self {
        let source = |(name, text): (&str, _)| Arc::new(Source { name: name.into(), text });
        Self { files: files.map(source).collect(), cases: Vec::new() }
    }

    /// Replaces the suites by those in `folder`, which has the layout of `suites/`: a folder for each protocol.
    ///
    /// # Errors
    ///
    /// [`BundleError`] if the folder cannot be read or contains no suite.
    pub fn with_suites(self, folder: &Path) -> Result<Self, BundleError> {
        let bundle = self.replace("suites/", folder)?;
        if bundle.files.iter().any(|file| file.name.ends_with("protocol.yaml")) {
            Ok(bundle)
        } else {
            Err(BundleError::Empty(folder.to_owned()))
        }
    }

    /// Replaces the vectors by those in `folder`, which has the layout of `vectors/`.
    ///
    /// # Errors
    ///
    /// [`BundleError`] if the folder cannot be read.
    pub fn with_vectors(self, folder: &Path) -> Result<Self, BundleError> {
        self.replace("vectors/", folder)
    }

    fn replace(mut self, prefix: &str, folder: &Path) -> Result<Self, BundleError> {
        self.files.retain(|file| !self_named(file, prefix));
        read_folder(folder, &mut self.files)?;
        self.files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(self)
    }

    /// Adds a file of cases from any folder.
    ///
    /// # Errors
    ///
    /// [`BundleError`] if the file cannot be read.
    pub fn with_cases(mut self, path: &Path) -> Result<Self, BundleError> {
        let unreadable = |error| BundleError::Unreadable { path: path.to_owned(), error };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        self.cases.push(Arc::new(Source { name: path.to_string_lossy().replace('\\', "/"), text: text.into() }));
        Ok(self)
    }

    /// The additional files of cases; each names its protocol.
    pub fn cases(&self) -> &[Arc<Source>] {
        &self.cases
    }

    /// Adds one file.
    #[must_use]
    pub fn with_file(mut self, name: &str, text: &str) -> Self {
        self.files.retain(|file| file.name != name);
        self.files.push(Arc::new(Source { name: name.to_owned(), text: text.to_owned().into() }));
        self.files.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// The files of a protocol whose name has this ending.
    pub fn files(&self, slug: &str, ending: &str) -> Vec<&Arc<Source>> {
        let wanted = |file: &&Arc<Source>| {
            let mut parts = file.name.rsplit('/');
            let name = parts.next().unwrap_or_default();
            // `regressions/` is one level deeper.
            name.ends_with(ending) && parts.take(2).any(|folder| folder == slug)
        };
        self.files.iter().filter(wanted).collect()
    }

    /// The slugs of all protocols that have a catalogue, in the order of their names.
    pub fn slugs(&self) -> Vec<&str> {
        let catalogues = self.files.iter().filter_map(|file| file.name.strip_suffix("/requirements.yaml"));
        catalogues.filter_map(|folder| folder.rsplit('/').next()).collect()
    }

    /// The slugs of all protocols that have a manifest, in the order of their names.
    pub fn manifests(&self) -> impl Iterator<Item = &str> {
        let manifests = self.files.iter().filter_map(|file| file.name.strip_suffix("/protocol.yaml"));
        manifests.filter_map(|folder| folder.rsplit('/').next())
    }

    /// The file of a protocol with exactly this name.
    pub fn file(&self, slug: &str, name: &str) -> Option<&Arc<Source>> {
        self.files(slug, name).into_iter().find(|file| file.name.rsplit('/').next() == Some(name))
    }
}

fn self_named(file: &Source, prefix: &str) -> bool {
    file.name.starts_with(prefix)
}

fn read_folder(folder: &Path, files: &mut Vec<Arc<Source>>) -> Result<(), BundleError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| BundleError::Unreadable { path, error }
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        if path.is_dir() {
            read_folder(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "yaml" || ending == "json" || ending == "md") {
            let text = std::fs::read_to_string(&path).map_err(unreadable(&path))?;
            let name = path.to_string_lossy().replace('\\', "/");
            files.push(Arc::new(Source { name, text: text.into() }));
        }
    }
    Ok(())
}
