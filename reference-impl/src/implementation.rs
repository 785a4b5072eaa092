//! The interface of an implementation of a protocol, for programs that run it.

use std::fmt::Debug;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::config::{Config, ServeError};
use crate::fault::{Also, Fault, Needs};
use crate::handle::Handle;
use crate::setting::Setting;
use crate::variant::Variant;

/// A future that is compiled in this crate. What an `async fn` does is compiled where it is polled, so without the box every
/// program and every test that starts a server would compile the whole of it again.
pub type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Names with values, as text.
pub type Pairs = &'static [(&'static str, &'static str)];

/// The implementation of one protocol: a server, and a library behind an adapter. One row of [`crate::ALL`].
pub trait Implementation: Debug + Send + Sync {
    /// The name in data, folders and commands.
    fn slug(&self) -> &'static str;

    /// The faults that can be planted.
    fn faults(&self) -> &'static [Fault];

    /// What those faults break besides the requirements that they are planted for, with the reason.
    fn also(&self) -> &'static [Also] {
        &[]
    }

    /// The faults of careless parsers: no case of the suites looks for them, a fuzzer has to find them.
    fn parser_faults(&self) -> &'static [Fault] {
        &[]
    }

    /// The levels to which a server can be limited, the lowest first; empty if the protocol has none.
    fn levels(&self) -> &'static [&'static str] {
        &[]
    }

    /// The settings of its server and its adapter.
    fn settings(&self) -> &'static [Setting];

    /// The names of the addresses that a [`Handle`] may have, the main one first, each with its form: a URL with `{}` in the
    /// place of the socket address. `http`, `ws` and `tcp` are the addresses of these transports; any other name is that of
    /// a further base URL, such as the path of a relay.
    fn addresses(&self) -> Pairs;

    /// The ways in which proofmark starts it as its own target; the first is the ordinary one.
    fn setups(&self) -> &'static [Setup];

    /// The roles that the target of a setup plays; empty for all that its kind can play.
    fn roles(&self, _setup: &str) -> &'static [&'static str] {
        &[]
    }

    /// Settings that `proofmark serve` starts with, before those of the command line. Values as in [`Instance::settings`].
    fn served(&self) -> Pairs {
        &[]
    }

    /// Starts a server; the future resolves when it is ready.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if the configuration, the database or an address cannot be used.
    fn serve(&self, config: Config) -> Work<Result<Handle, ServeError>>;

    /// Serves HTTP, and with it WebSocket, on connections that are handed in instead of a socket: pipes in memory, for tests
    /// and fuzzers. Resolves when the sender of connections is dropped and the exchanges are done.
    ///
    /// # Errors
    ///
    /// As [`Implementation::serve`]; addresses of the configuration are ignored.
    fn serve_connections(
        &self,
        config: Config,
        connections: UnboundedReceiver<DuplexStream>,
    ) -> Work<Result<(), ServeError>>;

    /// Answers the calls of the library adapter on a pair of pipes until the input ends.
    ///
    /// # Errors
    ///
    /// An invalid configuration as [`std::io::ErrorKind::InvalidInput`], and errors of the pipes.
    fn serve_adapter(
        &self,
        config: Config,
        reader: Box<dyn AsyncRead + Unpin + Send>,
        writer: Box<dyn AsyncWrite + Unpin + Send>,
    ) -> Work<std::io::Result<()>>;
}

impl dyn Implementation + '_ {
    /// A configuration with the defaults of this implementation.
    #[must_use]
    pub fn config(&self) -> Config {
        Config::new(self.settings())
    }

    /// Every fault, those of careless parsers last.
    pub fn all_faults(&self) -> impl Iterator<Item = &'static Fault> + use<> {
        self.faults().iter().chain(self.parser_faults())
    }

    /// The setup in which a fault shows.
    #[must_use]
    pub fn setup_of(&self, fault: &Fault) -> Option<&'static Setup> {
        match fault.needs {
            Needs::Setup(name) => self.setups().iter().find(|setup| setup.name == name),
            Needs::Nothing | Needs::Level(_) | Needs::Setting(..) => self.setups().first(),
        }
    }
}

/// One way in which proofmark starts an implementation as its own target, and what its owner declares about it then.
#[derive(Debug)]
pub struct Setup {
    /// Its name.
    pub name: &'static str,
    /// The difference from the default setup, in a few words.
    pub about: &'static str,
    /// Which readings are taken.
    pub variant: Variant,
    /// The served level; `None` is the highest.
    pub level: Option<&'static str>,
    /// The servers to start, the target first. The settings of the target are those of its adapter, too.
    pub instances: &'static [Instance],
    /// The declarations of the target file.
    pub declared: Declared,
}

/// One server of a [`Setup`], with a database and addresses of its own.
#[derive(Debug)]
pub struct Instance {
    /// Its name. The first is the target; `second` is its second instance, any other a further base URL of this name.
    pub name: &'static str,
    /// Settings. A value is a template of proofmark: `${did relay}` is a function of the protocol's templates, `${fixture}` the
    /// path of a file with the fixture of the suite, `${folder}` the path of a directory that lives as long as the target,
    /// `${hosts/NAME}` the URL of a peer that the run hosts.
    pub settings: Pairs,
}

/// The declarations of a target file: facts that neither probes nor the target itself reveal.
#[derive(Debug)]
pub struct Declared {
    /// The claimed levels; empty if the target declares them itself.
    pub levels: &'static [&'static str],
    /// The kinds of target of the protocol that it is; empty for the usual one.
    pub kinds: &'static [&'static str],
    /// Options that it has or lacks.
    pub options: &'static [(&'static str, bool)],
    /// Settings of the target file, in JSON.
    pub settings: Pairs,
    /// The bearer token of each actor.
    pub tokens: Pairs,
}

impl Declared {
    /// None.
    pub const NOTHING: Self = Self { levels: &[], kinds: &[], options: &[], settings: &[], tokens: &[] };
}
