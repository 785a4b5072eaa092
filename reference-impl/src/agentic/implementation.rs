//! The row of this protocol: its settings, how proofmark starts it, and the way from a configuration to a running server.

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::adapter::Adapter;
use super::level::Level;
use super::rules::Rules;
use super::service::Service;
use super::{careless, fault};
use crate::config::{Config, ServeError};
use crate::fault::{Also, Fault};
use crate::handle::{Handle, bind};
use crate::implementation::{Declared, Implementation, Instance, Pairs, Setup, Work};
use crate::instant::Clock;
use crate::server::{self, pipes::Pipes};
use crate::setting::{Kind, Setting};
use crate::variant::Variant;

/// The Agentic Protocol.
#[derive(Debug)]
pub(crate) struct Agentic;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "search",
        value: Kind::Switch,
        default: Some("on"),
        repeats: false,
        summary: "Whether pull in mode relevant is offered; off: both search capabilities are false, relevant answers 501.",
    },
    Setting {
        name: "sessions",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether a session starts with the first package that names it; off: sessions come with an import only.",
    },
    Setting {
        name: "auth",
        value: Kind::Pair("KEY", "ACTOR"),
        default: None,
        repeats: true,
        summary: "A key and its actor: requests need `Authorization: Bearer KEY`, the descriptor stays public.",
    },
    Setting {
        name: "load",
        value: Kind::File,
        default: None,
        repeats: false,
        summary: "An NDJSON file whose records are imported before the first request, at any level.",
    },
];

/// A separate database, for importing what the other one exports.
const SECOND: Instance = Instance { name: "second", settings: &[] };

const ORDINARY: Setup = Setup {
    name: "default",
    about: "as it is",
    variant: Variant::Own,
    level: None,
    instances: &[Instance { name: "main", settings: &[] }, SECOND],
    declared: Declared::NOTHING,
};

const SETUPS: &[Setup] = &[
    ORDINARY,
    Setup {
        name: "auth",
        about: "credentials are required",
        instances: &[Instance { name: "main", settings: KEYS }, Instance { name: "second", settings: KEYS }],
        declared: Declared {
            options: &[("auth", true)],
            tokens: &[("a", "key-a"), ("b", "key-b"), ("wrong", "not-a-key")],
            ..Declared::NOTHING
        },
        ..ORDINARY
    },
    Setup {
        name: "no-search",
        about: "no search is offered",
        instances: &[
            Instance { name: "main", settings: &[("search", "off")] },
            Instance { name: "second", settings: &[("search", "off")] },
        ],
        ..ORDINARY
    },
    Setup {
        name: "sessions",
        about: "a session starts with the first package that names it",
        instances: &[Instance { name: "main", settings: &[("sessions", "on")] }, SECOND],
        ..ORDINARY
    },
    Setup {
        name: "read-only",
        about: "level L0, with the fixture",
        level: Some("L0"),
        instances: &[Instance { name: "main", settings: &[("load", "${fixture}")] }, SECOND],
        ..ORDINARY
    },
    Setup { name: "other", about: "every other reading that the errata tolerate", variant: Variant::Other, ..ORDINARY },
];

/// The keys of the actors in the suites.
const KEYS: Pairs = &[("auth", "key-a=pm-actor-a"), ("auth", "key-b=pm-actor-b")];

impl Implementation for Agentic {
    fn slug(&self) -> &'static str {
        "agentic"
    }

    fn faults(&self) -> &'static [Fault] {
        fault::FAULTS
    }

    fn also(&self) -> &'static [Also] {
        fault::ALSO
    }

    fn parser_faults(&self) -> &'static [Fault] {
        careless::FAULTS
    }

    fn levels(&self) -> &'static [&'static str] {
        Level::NAMES
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn addresses(&self) -> Pairs {
        &[("http", "http://{}")]
    }

    fn setups(&self) -> &'static [Setup] {
        SETUPS
    }

    fn serve(&self, config: Config) -> Work<Result<Handle, ServeError>> {
        Box::pin(serve(config))
    }

    fn serve_connections(
        &self,
        config: Config,
        connections: UnboundedReceiver<DuplexStream>,
    ) -> Work<Result<(), ServeError>> {
        Box::pin(async move {
            let (pipes, ended) = Pipes::new(connections);
            let service = service(config).await?;
            server::http::serve(pipes, service.clone(), ended).await.ok(); // pipes cannot fail as sockets do
            service.close().await;
            Ok(())
        })
    }

    fn serve_adapter(
        &self,
        config: Config,
        reader: Box<dyn AsyncRead + Unpin + Send>,
        writer: Box<dyn AsyncWrite + Unpin + Send>,
    ) -> Work<std::io::Result<()>> {
        Box::pin(async move {
            let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
            let (rules, clock, _) = rules(config).map_err(invalid)?;
            server::adapter::serve(Adapter::new(rules, clock), reader, writer).await
        })
    }
}

/// The rules of a configuration, including the changes of the planted fault.
fn rules(mut config: Config) -> Result<(Rules, Clock, Config), ServeError> {
    let fault = config.plant(&[careless::FAULTS, fault::FAULTS])?;
    let level = match &config.level {
        Some(name) => Level::parse(name).ok_or_else(|| ServeError::level(name, Level::NAMES))?,
        None => Level::HIGHEST,
    };
    let clock = config.clock()?;
    let rules = Rules::new(fault, level, config.settings.is_on("search"), clock.now());
    let sessions = config.settings.is_on("sessions");
    Ok((Rules { variant: config.variant, sessions, ..rules }, clock, config))
}

/// A service with the records that it is to have from the start.
async fn service(config: Config) -> Result<Service, ServeError> {
    let (rules, clock, config) = rules(config)?;
    let service = Service::open(&config.database, rules, clock, &config.settings.pairs("auth"))?;
    if let Some(path) = config.settings.path("load") {
        let refused = |reason: String| ServeError::setting("load", format!("{}: {reason}", path.display()));
        let ndjson = tokio::fs::read(&path).await.map_err(|error| refused(error.to_string()))?;
        service.load(ndjson).await.map_err(refused)?;
    }
    Ok(service)
}

async fn serve(config: Config) -> Result<Handle, ServeError> {
    let listen = config.listen;
    let service = service(config).await?;
    let (listener, address) = bind(listen).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let handler = service.clone();
    let server = tokio::spawn(async move {
        let stopped = async {
            stopped.await.ok(); // also if the handle is dropped
        };
        let served = server::http::serve(server::http::without_delay(listener), handler, stopped).await;
        service.close().await;
        served
    });
    Ok(Handle::new(stop, server).at("http", format!("http://{address}")))
}
