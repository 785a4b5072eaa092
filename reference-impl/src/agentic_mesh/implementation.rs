//! The row of this protocol: its settings, how proofmark starts it, and the way from a configuration to a running server.

use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::adapter::Adapter;
use super::node::{self, Behaviour, HEADER_BLOCKS, HEADERS, Kind as NodeKind, Node};
use super::pointer;
use super::rules::Rules;
use super::service::{Nodes, Options, Service};
use super::{careless, fault};
use crate::config::{Config, ServeError};
use crate::fault::{Also, Fault};
use crate::handle::{Handle, bind};
use crate::implementation::{Declared, Implementation, Instance, Pairs, Setup, Work};
use crate::json;
use crate::server::{self, pipes::Pipes};
use crate::setting::{Kind, Setting};
use crate::variant::Variant;

/// The Agentic Mesh Protocol.
#[derive(Debug)]
pub(crate) struct AgenticMesh;

/// The seed of the default key for encrypted fields: public, never to be trusted outside tests.
const KEY: &str = "proofmark/agentic-mesh/key/target";

const SETTINGS: &[Setting] = &[
    Setting {
        name: "kind",
        value: Kind::Choice(&["both", "ultimateReceiver", "intermediary"]),
        default: Some("both"),
        repeats: false,
        summary: "What the node is: an ultimate receiver at /amp, an intermediary at /amp/relay, or both (section 4.1).",
    },
    Setting {
        name: "node-uri",
        value: Kind::Text("URI"),
        default: Some("urn:proofmark:mesh:node:target"),
        repeats: false,
        summary: "The URI of the node (section 4.1).",
    },
    Setting {
        name: "role",
        value: Kind::Text("URI"),
        default: Some("urn:proofmark:mesh:role:assumed"),
        repeats: true,
        summary: "A user-defined role in which the node acts (section 4.2), besides the core roles of its kind.",
    },
    Setting {
        name: "blocks",
        value: Kind::Json,
        default: None,
        repeats: false,
        summary: "The types of header blocks that it understands (section 4.4): an array of {type, behaviour}, where behaviour \
                  is noop, reinsert, fail, annotate, augment or redact; without it, one type for each behaviour, \
                  urn:proofmark:mesh:block:noop and so on.",
    },
    Setting {
        name: "memorygram",
        value: Kind::Choice(&["validates", "ignores"]),
        default: Some("validates"),
        repeats: false,
        summary: "Whether the content of MemoryGrams is checked (section 4.6).",
    },
    Setting {
        name: "next-hop",
        value: Kind::Url,
        default: Some("http://127.0.0.1:8931/next-hop"),
        repeats: true,
        summary: "Where an intermediary sends messages; a message with the intent broadcast goes to all, any other to the first.",
    },
    Setting {
        name: "next-hop-header",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether a request may name the next hop in the header AMP-Next-Hop; only hosts of this machine, only for tests.",
    },
    Setting {
        name: "active",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether the intermediary is an active one (section 4.8.4): it stamps the body and adds a block that says so.",
    },
    Setting {
        name: "chain",
        value: Kind::Choice(&["0", "1", "2", "3", "4", "5", "6", "7", "8"]),
        default: Some("3"),
        repeats: false,
        summary: "The number of intermediaries at /amp/chain/1, /amp/chain/2 and so on; each sends to the following one, \
                  the last to the next hop.",
    },
    Setting {
        name: "header-blocks-at",
        value: Kind::Text("POINTER"),
        default: None,
        repeats: false,
        summary: "The JSON Pointer of the array of header blocks, which the text leaves open [/Envelope/Header/headers].",
    },
    Setting {
        name: "control",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether /control sets the node up and shows its logs; only on a loopback address, only for tests, \
                  since any client of it can redirect messages.",
    },
    Setting {
        name: "key",
        value: Kind::Bytes(32),
        default: None,
        repeats: false,
        summary: "The key with which fields and MemoryGrams are encrypted; without it, a public test key.",
    },
];

const CONTROL: (&str, &str) = ("control", "on");
const NEXT_HOP: (&str, &str) = ("next-hop", "${hosts/next-hop}");

/// Both nodes and the chain, validating.
const ORDINARY: Setup = Setup {
    name: "node",
    about: "an ultimate receiver, an intermediary and a chain of three",
    variant: Variant::Own,
    level: None,
    instances: &[Instance { name: "main", settings: &[CONTROL, NEXT_HOP] }],
    declared: Declared {
        levels: &["message", "node", "intermediary", "security"],
        kinds: &["node", "library"],
        options: OPTIONS,
        settings: &[],
        tokens: &[],
    },
};

const OPTIONS: &[(&str, bool)] = &[
    ("echoes", true),
    ("delivery-log", true),
    ("validates-memorygram", true),
    ("relay-validates-memorygram", true),
    ("chain", true),
    ("declared-blocks", true),
];

const SETUPS: &[Setup] = &[
    ORDINARY,
    Setup {
        name: "other",
        about: "every other reading that the errata tolerate",
        variant: Variant::Other,
        declared: Declared {
            options: &[
                ("echoes", false),
                ("delivery-log", true),
                ("validates-memorygram", true),
                ("relay-validates-memorygram", true),
                ("chain", true),
                ("declared-blocks", true),
            ],
            ..ORDINARY.declared
        },
        ..ORDINARY
    },
    Setup {
        name: "receiver",
        about: "an ultimate receiver alone",
        instances: &[Instance {
            name: "main",
            settings: &[CONTROL, NEXT_HOP, ("kind", "ultimateReceiver"), ("chain", "0")],
        }],
        declared: Declared {
            levels: &["message", "node", "security"],
            kinds: &["receiver"],
            options: &[
                ("echoes", true),
                ("delivery-log", true),
                ("validates-memorygram", true),
                ("declared-blocks", true),
            ],
            settings: &[],
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "relay",
        about: "an intermediary alone",
        instances: &[Instance {
            name: "main",
            settings: &[CONTROL, NEXT_HOP, ("kind", "intermediary"), ("chain", "0")],
        }],
        declared: Declared {
            kinds: &["relay"],
            options: &[("relay-validates-memorygram", true), ("declared-blocks", true)],
            ..ORDINARY.declared
        },
        ..ORDINARY
    },
    Setup {
        name: "active",
        about: "the intermediary is an active one",
        instances: &[Instance { name: "main", settings: &[CONTROL, NEXT_HOP, ("active", "on")] }],
        declared: Declared {
            options: &[
                ("active", true),
                ("echoes", true),
                ("delivery-log", true),
                ("validates-memorygram", true),
                ("relay-validates-memorygram", true),
                ("chain", true),
                ("declared-blocks", true),
            ],
            ..ORDINARY.declared
        },
        ..ORDINARY
    },
    Setup {
        name: "ignoring",
        about: "MemoryGram content is ignored",
        instances: &[Instance { name: "main", settings: &[CONTROL, NEXT_HOP, ("memorygram", "ignores")] }],
        declared: Declared {
            options: &[
                ("echoes", true),
                ("delivery-log", true),
                ("validates-memorygram", false),
                ("relay-validates-memorygram", false),
                ("chain", true),
                ("declared-blocks", true),
            ],
            ..ORDINARY.declared
        },
        ..ORDINARY
    },
];

impl Implementation for AgenticMesh {
    fn slug(&self) -> &'static str {
        "agentic-mesh"
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
            let service = service(&config).await?;
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
            let node = node(&config, NodeKind::UltimateReceiver).map_err(invalid)?;
            server::adapter::serve(Adapter::new(rules(config).map_err(invalid)?, node), reader, writer).await
        })
    }
}

/// The fault and the readings of a configuration.
fn rules(mut config: Config) -> Result<Rules, ServeError> {
    if let Some(name) = &config.level {
        return Err(ServeError::level(name, &[]));
    }
    let fault = config.plant(&[careless::FAULTS, fault::FAULTS])?;
    let key = config.settings.bytes("key").and_then(|bytes| bytes.try_into().ok());
    let key = key.unwrap_or_else(|| Sha256::digest(KEY).into());
    Ok(Rules::new(fault, config.variant, config.clock()?, key))
}

/// The node of a configuration, as one of this kind.
fn node(config: &Config, kind: NodeKind) -> Result<Node, ServeError> {
    let given = &config.settings;
    let uri = given.text("node-uri").unwrap_or_default();
    if !node::is_uri(uri) {
        return Err(ServeError::setting("node-uri", format!("`{uri}` is not an absolute URI")));
    }
    let mut node = Node::new(uri, kind);
    node.roles = given.all("role").into_iter().map(str::to_owned).collect();
    if let Some(role) = node.roles.iter().find(|role| !node::is_uri(role)) {
        return Err(ServeError::setting("role", format!("`{role}` is not an absolute URI")));
    }
    if let Some(text) = given.text("blocks") {
        let refused = |reason: String| ServeError::setting("blocks", reason);
        let blocks = json::read(text.as_bytes()).map_err(|error| refused(error.to_string()))?;
        node.understands = node::understands(&blocks).map_err(refused)?;
    }
    node.validates = given.text("memorygram") == Some("validates");
    node.active = given.is_on("active") && kind == NodeKind::Intermediary;
    // Other, E01: another place for header blocks.
    let place = if config.variant.is_other_as_declared() { HEADER_BLOCKS } else { HEADERS };
    let place = given.text("header-blocks-at").unwrap_or(place);
    if pointer::tokens(place).is_none_or(|tokens| tokens.len() < 2 || tokens[0] != "Envelope") {
        return Err(ServeError::setting(
            "header-blocks-at",
            format!("`{place}` is not a JSON Pointer below /Envelope"),
        ));
    }
    node.blocks_at = place.to_owned();
    Ok(node)
}

/// The hops of the chain (binding.md, 8): each has a URI and a role of its own, and its annotations are reinserted.
fn chain(config: &Config) -> Result<Vec<Node>, ServeError> {
    let hops = config.settings.text("chain").and_then(|text| text.parse().ok()).unwrap_or(0);
    let hop = |number: u32| {
        let mut hop = node(config, NodeKind::Intermediary)?;
        hop.uri = format!("urn:proofmark:mesh:node:hop-{number}");
        hop.roles.push(format!("urn:proofmark:mesh:role:hop-{number}"));
        for (_, behaviour) in hop.understands.iter_mut().filter(|(_, behaviour)| *behaviour == Behaviour::Annotate) {
            *behaviour = Behaviour::AnnotateReinsert;
        }
        Ok(hop)
    };
    (1..=hops).map(hop).collect()
}

async fn service(config: &Config) -> Result<Service, ServeError> {
    let given = &config.settings;
    let kind = given.text("kind").unwrap_or_default();
    let of = |wanted: NodeKind| {
        let there = kind == "both" || kind == wanted.name();
        there.then(|| node(config, wanted)).transpose()
    };
    let nodes = Nodes {
        receiver: of(NodeKind::UltimateReceiver)?,
        relay: of(NodeKind::Intermediary)?,
        next_hops: given.all("next-hop").into_iter().map(str::to_owned).collect(),
    };
    let options = Options { next_hop_header: given.is_on("next-hop-header"), control: given.is_on("control") };
    if options.control && !config.listen.ip().is_loopback() {
        return Err(ServeError::setting("control", "the control interface is for loopback addresses only"));
    }
    Service::open(&config.database, rules(config.clone())?, nodes, chain(config)?, options).await
}

async fn serve(config: Config) -> Result<Handle, ServeError> {
    let service = service(&config).await?;
    let (listener, address) = bind(config.listen).await?;
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
    let uri = config.settings.text("node-uri").unwrap_or_default().to_owned();
    Ok(Handle::new(stop, server).at("http", format!("http://{address}")).knows("node_uri", uri))
}
