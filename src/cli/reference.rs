//! The embedded reference implementation as a target.

use std::path::PathBuf;

use reference_impl::{Config, Database, Protocol, ServeError, Variant};

use super::args::VariantWord;
use super::exit::Failure;
use crate::suggest::nearest;
use crate::target::{SECOND_INSTANCE, Target};
use crate::transport::adapter::{Adapter, Pipes};
use crate::transport::{Connections, http};

/// The reference implementation of a protocol, started inside this process.
pub(super) struct Reference {
    handles: Vec<reference_impl::Handle>,
    folder: tempfile::TempDir,
}

/// How it is set up.
#[derive(Clone, Debug, Default)]
pub(super) struct Setup {
    /// The fault to plant.
    pub fault: Option<String>,
    /// Which readings it takes.
    pub variant: Variant,
    /// The level to serve; the highest if not said.
    pub level: Option<String>,
    /// Whether it has no search.
    pub no_search: bool,
    /// Keys and the actors that they belong to; the endpoint demands one of them.
    pub auth: Vec<(String, String)>,
    /// NDJSON that the endpoint takes before the first request.
    pub load: Option<PathBuf>,
}

impl Setup {
    /// What an endpoint and a library have in common.
    fn config(&self, protocol: Protocol) -> Config {
        let mut config = Config::new(protocol);
        config.fault.clone_from(&self.fault);
        config.variant = self.variant;
        config.level.clone_from(&self.level);
        config.search = !self.no_search;
        config
    }
}

/// The reference implementation of a slug, if there is one.
pub(super) fn protocol(slug: &str) -> Option<Protocol> {
    reference_impl::protocols().iter().copied().find(|protocol| protocol.slug() == slug)
}

/// The failure for a name of a fault that there is none of.
pub(super) fn check_fault(protocol: Protocol, name: &str) -> Result<(), Failure> {
    let faults = || reference_impl::faults(protocol).iter().map(|fault| fault.name);
    if faults().any(|known| known == name) {
        return Ok(());
    }
    let hint = match nearest(name, faults()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`proofmark serve --list-faults` prints them".to_owned(),
    };
    Err(Failure::Usage(format!("no fault `{name}`"), Some(hint)))
}

/// The variant that a word of the command line means.
pub(super) fn variant(word: VariantWord) -> Variant {
    match word {
        VariantWord::Own => Variant::Own,
        VariantWord::Other => Variant::Other,
    }
}

/// The failure that an error of the reference implementation is.
pub(super) fn failure(error: &ServeError) -> Failure {
    Failure::usage(error.to_string())
}

impl Reference {
    /// Starts it on a free port of the loopback interface with a fresh SQLite file, and points `target` and the
    /// connections at it: as an endpoint, and as a library through its adapter mode.
    pub(super) async fn start(
        protocol: Protocol,
        setup: &Setup,
        target: &mut Target,
    ) -> Result<(Self, Connections), Failure> {
        let folder = tempfile::tempdir()?;
        let mut handles = Vec::new();
        let mut urls = Vec::new();
        for file in ["reference.sqlite", "second.sqlite"] {
            let mut config = setup.config(protocol);
            config.database = Database::File(folder.path().join(file));
            config.auth.clone_from(&setup.auth);
            // The second instance starts empty: what it holds was imported.
            config.load = setup.load.clone().filter(|_| handles.is_empty());
            let handle = reference_impl::serve(config).await.map_err(|error| failure(&error))?;
            urls.push(url::Url::parse(&handle.url()).map_err(|error| Failure::Internal(error.to_string()))?);
            handles.push(handle);
        }
        let url = urls.swap_remove(0);
        target.url = Some(url.clone());
        target.second = urls.pop();
        target.options.insert(SECOND_INSTANCE.to_owned(), true);
        target.adapter = Some(vec!["the reference".to_owned()]);
        let setup = setup.clone();
        let adapter = Adapter::in_process(move || start_adapter(setup.config(protocol)));
        let http = http::Http::new(&url, target).map_err(|error| Failure::Internal(error.to_string()))?;
        Ok((Self { handles, folder }, Connections { http: Some(http), adapter: Some(adapter), tamper: None }))
    }

    /// Stops it and removes its files.
    pub(super) async fn stop(self) {
        for handle in self.handles {
            handle.stop().await;
        }
        drop(self.folder);
    }
}

fn start_adapter(config: Config) -> Pipes {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    tokio::spawn(async move {
        // When our end is closed, so is this one; there is nobody to tell of an error.
        let _ = reference_impl::serve_adapter(config, read, write).await;
    });
    let (read, write) = tokio::io::split(ours);
    (Box::new(write), Box::new(read))
}
