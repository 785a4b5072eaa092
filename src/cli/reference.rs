//! The embedded reference implementation as a target.

use std::path::PathBuf;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

use reference_impl::{Config, Database, Protocol, Role, ServeError, Variant};

use super::args::VariantWord;
use super::exit::Failure;
use crate::suggest::nearest;
use crate::target::{self, SECOND_INSTANCE, Target};
use crate::transport::adapter::{Adapter, Pipes};
use crate::transport::{Connections, http, session};

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
        config.amp.role = Role::Both;
        config.amp.control = true;
        config.amp.documents = vec![fixture_documents()];
        config.amp.trusted_relays =
            vec![crate::protocol::amp_core::identity::Identity::named("relay").did().to_owned()];
        config
    }
}

/// The reference implementation of a slug, if there is one.
pub(super) fn protocol(slug: &str) -> Option<Protocol> {
    reference_impl::protocols().iter().copied().find(|protocol| protocol.slug() == slug)
}

/// The failure for a name of a fault that there is none of.
pub(super) fn check_fault(protocol: Protocol, name: &str) -> Result<(), Failure> {
    let all = || reference_impl::faults(protocol).iter().chain(reference_impl::parser_faults(protocol));
    let faults = || all().map(|fault| fault.name);
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

/// What no probe finds out about the reference implementation, and its owner says.
fn options(protocol: Protocol) -> &'static [(&'static str, bool)] {
    match protocol {
        Protocol::AmpCore => &[("relay", true), ("federation", true), ("initiator", true), ("failing-requests", true)],
        _ => &[],
    }
}

/// The level that the reference implementation claims, where it cannot say so itself.
fn claimed(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::AmpCore => Some("full"),
        _ => None,
    }
}

/// Says of a target what the owner of the reference implementation says of it.
pub(super) fn describe(protocol: Protocol, target: &mut Target) {
    for (option, offered) in options(protocol) {
        target.options.insert((*option).to_owned(), *offered);
    }
    if let Some(level) = claimed(protocol)
        && target.level.is_none()
    {
        target.level = Some(level.to_owned());
    }
    if let Some(protocol) = crate::protocol::find(protocol.slug()) {
        protocol.complete(target);
        // It has what follows from its URL, too.
        protocol.complete(target);
    }
}

/// The documents that proofmark's parties under `did:web` have, as a target learns them.
pub(super) fn fixture_documents() -> String {
    let documents = crate::protocol::amp_core::fixtures::preload(std::iter::empty());
    crate::wire::json::compact(&documents)
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
        // What the second instance of a protocol is for, other protocols do within one.
        let files: &[&str] = match protocol {
            Protocol::AmpCore => &["reference.sqlite"],
            _ => &["reference.sqlite", "second.sqlite"],
        };
        for file in files {
            let mut config = setup.config(protocol);
            config.database = Database::File(folder.path().join(file));
            config.auth.clone_from(&setup.auth);
            // The second instance starts empty: what it holds was imported.
            config.load = setup.load.clone().filter(|_| handles.is_empty());
            let started = threads()?.spawn(reference_impl::serve(config)).await;
            let handle =
                started.map_err(|error| Failure::Internal(error.to_string()))?.map_err(|error| failure(&error))?;
            urls.push(url::Url::parse(&handle.url()).map_err(|error| Failure::Internal(error.to_string()))?);
            handles.push(handle);
        }
        let url = urls.swap_remove(0);
        target.url = Some(url.clone());
        target.second = urls.pop();
        if target.second.is_some() {
            target.options.insert(SECOND_INSTANCE.to_owned(), true);
        }
        // A stand-in has an address of its own; the path follows from the URL.
        target.ws = None;
        target.tcp = handles[0].tcp_address().and_then(|address| target::parse_tcp(&address.to_string()).ok());
        target.adapter = Some(vec!["the reference".to_owned()]);
        describe(protocol, target);
        let setup = setup.clone();
        let adapter = Adapter::in_process(move || start_adapter(setup.config(protocol)));
        let http = http::Http::new(&url, target).map_err(|error| Failure::Internal(error.to_string()))?;
        let dial = session::Dial::new(target);
        Ok((Self { handles, folder }, Connections { http: Some(http), dial, adapter: Some(adapter), tamper: None }))
    }

    /// Stops it and removes its files.
    pub(super) async fn stop(self) {
        for handle in self.handles {
            handle.stop().await;
        }
        drop(self.folder);
    }
}

/// Where the reference runs: not on the threads that put the cases. A mistake planted in it may keep a thread busy, and then
/// the deadlines of who waits for it have to hold all the same.
fn threads() -> std::io::Result<&'static Runtime> {
    static THREADS: OnceLock<Runtime> = OnceLock::new();
    if let Some(threads) = THREADS.get() {
        return Ok(threads);
    }
    let mut made = Some(Builder::new_multi_thread().enable_all().thread_name("reference").build()?);
    let threads = THREADS.get_or_init(|| made.take().expect("it is asked for once"));
    // Another thread was faster: nothing runs on this one.
    made.into_iter().for_each(Runtime::shutdown_background);
    Ok(threads)
}

fn start_adapter(config: Config) -> Pipes {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    // Without threads nobody reads the other end, which is closed, and that is what is said of the library.
    if let Ok(threads) = threads() {
        threads.spawn(async move {
            // When our end is closed, so is this one; there is nobody to tell of an error.
            let _ = reference_impl::serve_adapter(config, read, write).await;
        });
    }
    let (read, write) = tokio::io::split(ours);
    (Box::new(write), Box::new(read))
}
