//! The embedded reference implementation as a target.

use reference_impl::{Config, Database, Protocol, ServeError, Variant};

use super::args::VariantWord;
use super::exit::Failure;
use crate::suggest::nearest;
use crate::target::Target;
use crate::transport::adapter::{Adapter, Pipes};
use crate::transport::{Connections, http};

/// The reference implementation of a protocol, started inside this process.
pub(super) struct Reference {
    handle: reference_impl::Handle,
    folder: tempfile::TempDir,
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
        fault: Option<&str>,
        variant: VariantWord,
        target: &mut Target,
    ) -> Result<(Self, Connections), Failure> {
        let folder = tempfile::tempdir()?;
        let mut config = Config::new(protocol);
        config.database = Database::File(folder.path().join("reference.sqlite"));
        config.fault = fault.map(str::to_owned);
        config.variant = self::variant(variant);
        let handle = reference_impl::serve(config).await.map_err(|error| failure(&error))?;
        let url = url::Url::parse(&handle.url()).map_err(|error| Failure::Internal(error.to_string()))?;
        target.url = Some(url.clone());
        target.adapter = Some(vec!["the reference".to_owned()]);
        let fault = fault.map(str::to_owned);
        let adapter = Adapter::in_process(move || {
            let mut config = Config::new(protocol);
            config.fault.clone_from(&fault);
            config.variant = self::variant(variant);
            start_adapter(config)
        });
        let http = http::Http::new(&url, target).map_err(|error| Failure::Internal(error.to_string()))?;
        Ok((Self { handle, folder }, Connections { http: Some(http), adapter: Some(adapter) }))
    }

    /// Stops it and removes its files.
    pub(super) async fn stop(self) {
        self.handle.stop().await;
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
