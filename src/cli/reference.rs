//! The embedded reference implementation as a target.
//!
//! What can be started, with which settings, and what its owner declares about it, is data of the implementation:
//! [`reference_impl::Implementation::setups`]. Nothing here depends on a protocol.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use reference_impl::{Config, Database, Handle, Implementation, Pairs, ServeError, Setup, Variant};
use tokio::runtime::{Builder, Runtime};

use super::args::VariantWord;
use super::exit::Failure;
use super::init;
use crate::plan::Knowledge;
use crate::protocol::{self, Protocol};
use crate::run;
use crate::source::{Source, Span};
use crate::suggest::nearest;
use crate::target::{self, Credential, SECOND, SECOND_INSTANCE, Target};
use crate::template::{Clock, Expr, Objects, Scope, Seed, Template};
use crate::transport::adapter::{Adapter, Pipes};
use crate::transport::{Connections, http, session};
use crate::value::Value;
use crate::wire::json;

/// The socket address that stands for those of a target that is not started yet. Nothing connects to it.
const STAND_IN: &str = "127.0.0.1:1";

/// What is started, and how.
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
    /// Which readings it takes.
    pub variant: Variant,
    /// The present, from which the times of a fixture count.
    pub clock: Clock,
    /// The instant from which the run counts.
    pub begun: Instant,
}

/// The reference implementation of a protocol, started inside this process.
pub struct Reference {
    handles: Vec<Handle>,
    folder: tempfile::TempDir,
}

/// The setup called `name`; the ordinary one without a name.
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

/// Gives a target the addresses of an implementation that is not started yet, for a plan.
///
/// # Errors
///
/// If the form of an address is invalid.
pub fn stand_in(implementation: &dyn Implementation, target: &mut Target) -> Result<(), Failure> {
    for (name, form) in implementation.addresses() {
        put_address(target, name, &form.replace("{}", STAND_IN))?;
    }
    target.adapter = Some(vec!["the reference".to_owned()]);
    Ok(())
}

/// Says of a target what the owner of the implementation says of it in a setup, and what follows from that.
pub fn describe(protocol: &dyn Protocol, setup: &Setup, target: &mut Target) {
    let declared = &setup.declared;
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
    for (actor, token) in declared.tokens {
        let credential = Credential { header: "authorization".to_owned(), value: format!("Bearer {token}") };
        target.credentials.insert((*actor).to_owned(), vec![credential]);
    }
    protocol::complete(protocol, target);
}

/// Puts an address where a target has it: that of a transport by the name of the transport, any other as a further base URL.
fn put_address(target: &mut Target, name: &str, url: &str) -> Result<(), Failure> {
    let invalid = |error: String| Failure::Internal(format!("the address `{name}` of the reference: {error}"));
    let parsed = || url::Url::parse(url).map_err(|error| invalid(error.to_string()));
    match name {
        "http" => target.url = Some(parsed()?),
        "ws" => target.ws = Some(parsed()?),
        "tcp" => target.tcp = Some(target::parse_tcp(url, &protocol::url_schemes()).map_err(invalid)?),
        // A further base URL.
        _ => {
            target.urls.insert(name.to_owned(), parsed()?);
        }
    }
    Ok(())
}

/// Gives a configuration settings, whose values are templates: the functions of the protocol are those of its suites,
/// `${folder}` is the path of `folder`, `${hosts/NAME}` the URL of a peer that the run hosts, and `${fixture}` that of a file in it with the fixture of the suites, if those are there.
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
        let source = Arc::new(Source { name: format!("setting {name}"), text: (*text).to_owned() });
        let template = Template::parse(text).map_err(|error| invalid(error.to_string()))?;
        let expr = Expr::Template(template, Span::file(&source));
        let value = match scope.render(&expr, name).map_err(|error| invalid(error.message))? {
            Value::Text(text) => text,
            value => json::compact(&value),
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
    /// Starts it on free ports of the loopback interface with fresh SQLite files, and points `target` and the connections at
    /// it: as an endpoint, and as a library through its adapter mode.
    ///
    /// # Errors
    ///
    /// If a server does not start.
    pub async fn start(start: &Start<'_>, target: &mut Target) -> Result<(Self, Connections), Failure> {
        let folder = tempfile::tempdir()?;
        let mut handles = Vec::new();
        // Not those of an earlier start.
        (target.url, target.ws, target.tcp, target.second) = (None, None, None, None);
        target.urls.clear();
        // The hosts are there first: the servers are told where they are.
        let mut known = target.clone();
        protocol::complete(start.knowledge.protocol, &mut known);
        let hosts = run::start_hosts(start.knowledge, &known, start.begun).await;
        let hosts = hosts.map_err(|why| Failure::Usage(why, None))?;
        let urls = hosts.as_ref().map(|hosts| hosts.addresses()).unwrap_or_default();
        for (index, instance) in start.setup.instances.iter().enumerate() {
            let own = folder.path().join(instance.name);
            std::fs::create_dir(&own)?;
            let mut config = start.config(instance.settings, &own, &urls)?;
            config.database = Database::File(own.join("reference.sqlite"));
            let started = threads()?.spawn(start.implementation.serve(config)).await;
            let handle =
                started.map_err(|error| Failure::Internal(error.to_string()))?.map_err(|error| failure(&error))?;
            if index == 0 {
                for (name, url) in handle.addresses() {
                    put_address(target, name, url)?;
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
        describe(start.knowledge.protocol, start.setup, target);
        let settings = start.setup.instances.first().map_or(&[][..], |instance| instance.settings);
        let library = start.config(settings, folder.path(), &urls)?;
        let implementation = start.implementation;
        let adapter = Adapter::in_process(move || start_adapter(implementation, library.clone()));
        let http = target.url.as_ref().map(|url| http::Http::new(url, target)).transpose();
        let http = http.map_err(|error| Failure::Internal(error.to_string()))?;
        let dial = session::Dial::new(target);
        Ok((
            Self { handles, folder },
            Connections { http, dial, adapter: Some(adapter), tree: None, tamper: None, hosts },
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

/// Where the reference runs: not on the threads that run the cases. A planted fault may keep a thread busy, and the deadlines
/// of those who wait for it have to hold all the same.
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

fn start_adapter(implementation: &'static dyn Implementation, config: Config) -> Pipes {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    // Without threads nothing reads the other end, which is closed, and that is what is reported of the library.
    if let Ok(threads) = threads() {
        threads.spawn(async move {
            // It ends with our end of the pipe; there is nobody to report an error to.
            let _ = implementation.serve_adapter(config, Box::new(read), Box::new(write)).await;
        });
    }
    let (read, write) = tokio::io::split(ours);
    (Box::new(write), Box::new(read))
}
