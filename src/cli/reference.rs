//! The embedded reference implementation as a target.
//!
//! The setups, their settings and the claims of each are data of the implementation:
//! [`proofmark_reference::Implementation::setups`]. This module is independent of any protocol.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use proofmark_reference::{Config, Database, Handle, Implementation, Pairs, ServeError, Setup, Variant};
use tokio::runtime::{Builder, Runtime};

use super::args::VariantWord;
use super::exit::Failure;
use super::init;
use crate::exchange::Transport;
use crate::plan::Knowledge;
use crate::protocol::{self, Protocol};
use crate::run;
use crate::source::{Source, Span};
use crate::suggest::nearest;
use crate::target::{self, Credential, SECOND, SECOND_INSTANCE, Target, TreeRoot};
use crate::template::{Clock, Expr, Objects, Scope, Seed, Template};
use crate::transport::adapter::{Adapter, Pipes};
use crate::transport::repository::Repositories;
use crate::transport::tree::Tree;
use crate::transport::{Connections, http, session};
use crate::value::Value;
use crate::wire::json;

/// Placeholder address of a target that is not started yet. Nothing connects to it.
const STAND_IN: &str = "127.0.0.1:1";

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Start<'k> {
    /// The implementation.
    pub implementation: &'static dyn Implementation,
    /// The suites of its protocol.
    pub knowledge: &'k Knowledge,
    /// The setup, one of the implementation's.
    pub setup: &'static Setup,
    /// The fault to plant.
    pub fault: Option<String>,
    /// Which readings it uses.
    pub variant: Variant,
    /// The current time, to which the times of a fixture are relative.
    pub clock: Clock,
    /// Whether its state is in memory instead of SQLite files: quicker to start, and nothing to flush.
    pub in_memory: bool,
    /// The time at which the run began.
    pub begun: Instant,
}

/// The reference implementation of a protocol, started inside this process.
pub struct Reference {
    handles: Vec<Handle>,
    folder: tempfile::TempDir,
}

/// The setup `name`, or the default setup.
pub(super) fn setup(implementation: &dyn Implementation, name: Option<&str>) -> Result<&'static Setup, Failure> {
    let setups = implementation.setups();
    let found = match name {
        Some(name) => setups.iter().find(|setup| setup.name == name),
        None => setups.first(),
    };
    found.ok_or_else(|| {
        let names: Vec<_> = setups.iter().map(|setup| setup.name).collect();
        let slug = implementation.slug();
        let what = format!("no setup `{}` of the reference implementation of {slug}", name.unwrap_or_default());
        Failure::Usage(what, Some(format!("one of {}", names.join(", "))))
    })
}

/// Fails if no fault has this name.
pub(super) fn check_fault(implementation: &dyn Implementation, name: &str) -> Result<(), Failure> {
    let faults = || implementation.all_faults().map(|fault| fault.name);
    if faults().any(|known| known == name) {
        return Ok(());
    }
    let hint = match nearest(name, faults()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`proofmark serve --list-faults` prints them".to_owned(),
    };
    Err(Failure::Usage(format!("no fault `{name}`"), Some(hint)))
}

/// The variant that an option value names; the number is that of a mixture.
pub(super) fn variant(word: VariantWord, seed: u64) -> Variant {
    match word {
        VariantWord::Own => Variant::Own,
        VariantWord::Other => Variant::Other,
        VariantWord::Mixed => Variant::Mixed(seed),
    }
}

/// Converts an error of the reference implementation.
pub(super) fn failure(error: &ServeError) -> Failure {
    Failure::usage(error.to_string())
}

/// Gives a target placeholder addresses of an implementation that is not started yet, so that it can be planned.
///
/// # Errors
///
/// If the form of an address is invalid.
pub fn stand_in(implementation: &dyn Implementation, target: &mut Target) -> Result<(), Failure> {
    for (name, form) in implementation.addresses() {
        set_address(target, name, &form.replace("{}", STAND_IN))?;
    }
    target.adapter = Some(vec!["the reference".to_owned()]);
    Ok(())
}

/// Copies the claims, settings and credentials of a setup to a target. A setup that declares kinds of target is reached over their
/// transports only.
pub fn describe(knowledge: &Knowledge, implementation: &dyn Implementation, setup: &Setup, target: &mut Target) {
    let protocol = knowledge.protocol;
    let declared = &setup.declared;
    let kinds = knowledge.manifest.kinds.iter().filter(|kind| declared.kinds.contains(&kind.name.as_str()));
    let reached: Vec<Transport> = kinds.flat_map(|kind| kind.reached_over.iter().copied()).collect();
    if !reached.is_empty() && target.transports.is_none() {
        target.transports = Some(reached);
    }
    let roles = implementation.roles(setup.name);
    if !roles.is_empty() && target.roles.is_none() {
        target.roles = Some(roles.iter().map(|role| (*role).to_owned()).collect());
    }
    for (option, offered) in declared.options {
        target.options.insert((*option).to_owned(), *offered);
    }
    if setup.instances.iter().any(|instance| instance.name == SECOND) {
        target.options.insert(SECOND_INSTANCE.to_owned(), true);
    }
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    if target.levels.is_empty() {
        target.levels = words(declared.levels);
    }
    if target.kinds.is_empty() {
        target.kinds = words(declared.kinds);
    }
    for (name, text) in declared.settings {
        let value = json::parse(text.as_bytes()).expect("the settings of a setup are JSON");
        target.settings.entry((*name).to_owned()).or_insert(value);
    }
    for (actor, token) in declared.tokens {
        let credential = Credential { header: "authorization".to_owned(), value: format!("Bearer {token}") };
        target.credentials.insert((*actor).to_owned(), vec![credential]);
    }
    protocol::complete(protocol, target);
}

/// Sets one address of a target: `name` is a transport, or else the name of a further base URL.
fn set_address(target: &mut Target, name: &str, url: &str) -> Result<(), Failure> {
    let invalid = |error: String| Failure::Internal(format!("the address `{name}` of the reference: {error}"));
    let parsed = || url::Url::parse(url).map_err(|error| invalid(error.to_string()));
    match name {
        "http" => target.url = Some(parsed()?),
        "ws" => target.ws = Some(parsed()?),
        "tcp" => target.tcp = Some(target::parse_tcp(url, &protocol::url_schemes()).map_err(invalid)?),
        "tree" => {
            // An address of the form `file:///folder` is a folder too.
            target.tree = Some(TreeRoot::new(url.strip_prefix("file://").unwrap_or(url)));
        }
        // A further base URL.
        _ => {
            target.urls.insert(name.to_owned(), parsed()?);
        }
    }
    Ok(())
}

/// Directs the operations of a target that is itself a client only to the host that stands in for it. Returns whether that is
/// so.
pub(super) fn stand_in_host(
    protocol: &dyn Protocol,
    hosts: &BTreeMap<String, String>,
    target: &mut Target,
) -> Result<bool, Failure> {
    let Some(name) = protocol.hosting().and_then(|hosting| hosting.stands_in_for(target)) else { return Ok(false) };
    let url = hosts.get(name).ok_or_else(|| Failure::Internal(format!("no host `{name}`")))?;
    set_address(target, "http", url)?;
    Ok(true)
}

/// Applies settings, whose values are templates with the functions of the protocol: `${folder}` is the path of `folder`,
/// `${hosts/NAME}` the URL of a peer that the run hosts, and `${fixture}` the path of a file in `folder` with the fixture
/// of the suites, if they have one.
pub(super) fn configure(
    config: &mut Config,
    settings: Pairs,
    protocol: &dyn Protocol,
    suites: Option<&Knowledge>,
    folder: &Path,
    hosts: &BTreeMap<String, String>,
    clock: Clock,
) -> Result<(), Failure> {
    let none = Objects::default();
    let mut scope = Scope::new(&none, &none, Seed::new(0), clock).with(protocol.functions(), clock);
    scope.bind("folder", Value::text(folder.display().to_string()));
    scope.bind("hosts", Value::map(hosts.iter().map(|(name, url)| (name.clone(), Value::text(url)))));
    for (name, text) in settings {
        let invalid = |error: String| Failure::Internal(format!("setting `{name}` of the reference: {error}"));
        if let Some(knowledge) = suites.filter(|_| text.contains("${fixture}")) {
            let path = folder.join("fixture.ndjson");
            std::fs::write(&path, init::fixture(knowledge, clock.0)?)?;
            scope.bind("fixture", Value::text(path.display().to_string()));
        }
        let source = Arc::new(Source { name: format!("setting {name}"), text: (*text).to_owned().into() });
        let template = Template::parse(text).map_err(|error| invalid(error.to_string()))?;
        let expr = Expr::Template(template, Span::file(&source));
        let value = match scope.render(&expr, name).map_err(|error| invalid(error.message))? {
            Value::Text(text) => text,
            value => json::compact(&value).into(),
        };
        config.set(name, &value).map_err(|error| invalid(error.to_string()))?;
    }
    Ok(())
}

impl Start<'_> {
    /// The configuration of one of the servers of the setup, with its state in memory.
    fn config(&self, settings: Pairs, folder: &Path, hosts: &BTreeMap<String, String>) -> Result<Config, Failure> {
        let mut config = self.implementation.config();
        config.fault.clone_from(&self.fault);
        config.variant = self.variant;
        config.level = self.setup.level.map(str::to_owned);
        configure(&mut config, settings, self.knowledge.protocol, Some(self.knowledge), folder, hosts, self.clock)?;
        Ok(config)
    }
}

impl Reference {
    /// Starts it on free ports of the loopback interface with a fresh database. Sets the addresses of `target` and
    /// returns the connections: to the endpoint, and to the library through its adapter mode.
    ///
    /// # Errors
    ///
    /// If a server does not start.
    pub async fn start(start: &Start<'_>, target: &mut Target) -> Result<(Self, Connections), Failure> {
        let folder = tempfile::tempdir()?;
        let mut handles = Vec::new();
        // Remove the addresses of an earlier start.
        (target.url, target.ws, target.tcp, target.second, target.tree) = (None, None, None, None, None);
        target.urls.clear();
        // The hosts start first, since the servers need their addresses.
        let mut known = target.clone();
        describe(start.knowledge, start.implementation, start.setup, &mut known);
        let hosts = run::start_hosts(start.knowledge, &known, start.begun).await;
        let hosts = hosts.map_err(|why| Failure::Usage(why, None))?;
        let urls = hosts.as_ref().map(|hosts| hosts.addresses()).unwrap_or_default();
        for (index, instance) in start.setup.instances.iter().enumerate() {
            let own = folder.path().join(instance.name);
            std::fs::create_dir(&own)?;
            let mut config = start.config(instance.settings, &own, &urls)?;
            config.database = match start.in_memory {
                true => Database::Memory,
                false => Database::Scratch(own.join("reference.sqlite")),
            };
            let started = threads()?.spawn(start.implementation.serve(config)).await;
            let handle =
                started.map_err(|error| Failure::Internal(error.to_string()))?.map_err(|error| failure(&error))?;
            if index == 0 {
                for (name, url) in handle.addresses() {
                    set_address(target, name, url)?;
                }
            } else if let Some((_, url)) = handle.addresses().first() {
                let parsed = url::Url::parse(url).map_err(|error| Failure::Internal(error.to_string()))?;
                if instance.name == SECOND {
                    target.second = Some(parsed);
                } else {
                    target.urls.insert(instance.name.to_owned(), parsed);
                }
            }
            handles.push(handle);
        }
        target.adapter = Some(vec!["the reference".to_owned()]);
        describe(start.knowledge, start.implementation, start.setup, target);
        stand_in_host(start.knowledge.protocol, &urls, target)?;
        let settings = start.setup.instances.first().map_or(&[][..], |instance| instance.settings);
        let library = start.config(settings, folder.path(), &urls)?;
        let implementation = start.implementation;
        let adapter = Adapter::in_process(move || start_adapter(implementation, library.clone()));
        let http = target.url.as_ref().map(|url| http::Http::new(url, target)).transpose();
        let http = http.map_err(|error| Failure::Internal(error.to_string()))?;
        let dial = session::Dial::new(target);
        let tree = target.tree.as_ref().map(Tree::new);
        let repositories = Repositories::default();
        Ok((
            Self { handles, folder },
            Connections { http, dial, adapter: Some(adapter), tree, repositories, tamper: None, hosts },
        ))
    }

    /// Stops it and removes its files.
    pub async fn stop(self) {
        for handle in self.handles {
            handle.stop().await;
        }
        drop(self.folder);
    }
}

/// The runtime of the reference, separate from the one that runs the cases: a planted fault may block a thread, and the
/// timeouts of the cases must still fire.
fn threads() -> std::io::Result<&'static Runtime> {
    static THREADS: OnceLock<Runtime> = OnceLock::new();
    if let Some(threads) = THREADS.get() {
        return Ok(threads);
    }
    let mut made = Some(Builder::new_multi_thread().enable_all().thread_name("reference").build()?);
    let threads = THREADS.get_or_init(|| made.take().expect("the closure runs at most once"));
    // Another thread was faster: this runtime is unused.
    made.into_iter().for_each(Runtime::shutdown_background);
    Ok(threads)
}

fn start_adapter(implementation: &'static dyn Implementation, config: Config) -> Pipes {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    // Without a runtime the other end is dropped, and the case reports a closed pipe.
    if let Ok(threads) = threads() {
        threads.spawn(async move {
            // It ends when our end of the pipe closes; errors after that do not matter.
            let _ = implementation.serve_adapter(config, Box::new(read), Box::new(write)).await;
        });
    }
    let (read, write) = tokio::io::split(ours);
    (Box::new(write), Box::new(read))
}
