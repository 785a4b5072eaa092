//! The row of this protocol: its settings, how proofmark starts it, and the way from a configuration to a running server.

use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::adapter::Adapter;
use super::keys::{AgreementKey, Identity};
use super::node::clock::Clock;
use super::node::companions::{Companions, Contact};
use super::node::{Node, Settings};
use super::role::Role;
use super::rules::Rules;
use super::{careless, did, fault, net, version};
use crate::config::{Config, ServeError};
use crate::fault::{Also, Fault};
use crate::handle::{Handle, bind};
use crate::implementation::{Declared, Implementation, Instance, Pairs, Setup, Work};
use crate::instant;
use crate::json;
use crate::server::{self, pipes::Pipes};
use crate::setting::{Kind, Setting};
use crate::variant::Variant;

/// The Agent Messaging Protocol.
#[derive(Debug)]
pub(crate) struct AmpCore;

/// The seed of the identity `target` (binding.md, 6): public, never to be trusted outside tests.
const TARGET_SEED: [u8; 32] = [
    0xe2, 0x2b, 0xf1, 0x7c, 0x5a, 0x38, 0x02, 0xf5, 0x92, 0x2c, 0x13, 0x64, 0x85, 0x2e, 0xe8, 0x83, 0xd2, 0xc5, 0x12,
    0xac, 0x44, 0x1d, 0xdb, 0x8c, 0x71, 0xb7, 0x8e, 0x67, 0xb0, 0xd4, 0x18, 0x90,
];

/// The seed of the X25519 key of a node with a DID of another method.
const AGREEMENT: &str = "proofmark/amp-core/agreement/target";

const SETTINGS: &[Setting] = &[
    Setting {
        name: "tcp",
        value: Kind::AddressOrOff,
        default: Some("127.0.0.1:0"),
        repeats: false,
        summary: "Where frames are taken over TCP (RFC 002 section 4).",
    },
    Setting {
        name: "role",
        value: Kind::Choice(Role::NAMES),
        default: Some("both"),
        repeats: false,
        summary: "The role of the node (RFC 001 section 1.6): an agent accepts messages that are addressed to it, \
                  a relay stores messages for others, `both` is an agent for its own DID and a relay for all others.",
    },
    Setting {
        name: "control",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether POST /amp/v1/control makes it send, sets its clock, gives it documents and stops it; only for tests, \
                  since any client of it can send in the name of the node.",
    },
    Setting {
        name: "documents",
        value: Kind::Json,
        default: None,
        repeats: true,
        summary: "DID documents that are known from the start: an object from DIDs to documents, an array, or one document.",
    },
    Setting {
        name: "trusted-relay",
        value: Kind::Text("DID"),
        default: None,
        repeats: true,
        summary: "A relay whose acknowledgements and transfers are trusted (RFC 001 section 16.1).",
    },
    Setting {
        name: "seed",
        value: Kind::Bytes(32),
        default: None,
        repeats: false,
        summary: "The Ed25519 seed of the node; without it, the public test key of the identity `target`.",
    },
    Setting {
        name: "did",
        value: Kind::Text("DID"),
        default: None,
        repeats: false,
        summary: "The DID of the node, such as did:web:agent.example.com; without it, the did:key of the seed.",
    },
    Setting {
        // RFC 001, 16.4 suggests 10 s. A peer on the same machine is quick, and a test waits for every repeat.
        name: "ack-timeout",
        value: Kind::Duration,
        default: Some("1s"),
        repeats: false,
        summary: "The timeout of a confirmation before a message is sent again.",
    },
    Setting {
        name: "auth",
        value: Kind::Pair("TOKEN", "DID"),
        default: None,
        repeats: true,
        summary: "A bearer token and its principal (RFC 002 section 7.1); if set, requests need a token.",
    },
    Setting {
        name: "companions",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether it handles capabilities (RFC 004), checks delegations (RFC 005), reports slow work (RFC 006) and \
                  answers requests for contact (RFC 008).",
    },
    Setting {
        name: "contact",
        value: Kind::Pair("active|required|denied", "DID"),
        default: None,
        repeats: true,
        summary: "The state of contact with a party (RFC 008 section 7): an active contact has no rate limit, and authority \
                  over the guarded capability; a party without a state may send without asking.",
    },
    Setting {
        name: "rate-limit",
        value: Kind::Number,
        default: None,
        repeats: false,
        summary: "How many messages of one sender are taken at once, and in a minute after that (RFC 001 section 15.3: 3005).",
    },
    Setting {
        name: "capacity",
        value: Kind::Number,
        default: None,
        repeats: false,
        summary: "How many slow requests of one sender are worked on at once (RFC 001 section 15.3: 5004).",
    },
    Setting {
        name: "deadline",
        value: Kind::Duration,
        default: None,
        repeats: false,
        summary: "How long a slow request is worked on (RFC 001 section 15.3: 5003).",
    },
    Setting {
        name: "maintenance",
        value: Kind::Text("OP"),
        default: None,
        repeats: true,
        summary: "An operation of the application that is out of service (RFC 001 section 15.3: 5002).",
    },
    Setting {
        name: "webhook",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether trusted relays may push messages to /amp/v1/webhook (RFC 002 section 6.3).",
    },
    Setting {
        name: "former-agreement-key",
        value: Kind::Bytes(32),
        default: None,
        repeats: false,
        summary: "A private X25519 key that was replaced, and still decrypts (RFC 001 section 8.9); only with `did`.",
    },
];

/// The parties of proofmark that a server must know.
const DOCUMENTS: (&str, &str) = ("documents", "${documents}");
const BOTH: (&str, &str) = ("role", "both");
const CONTROL: (&str, &str) = ("control", "on");
const RELAY: (&str, &str) = ("trusted-relay", "${did relay}");

const ORDINARY: Setup = Setup {
    name: "default",
    about: "as it is",
    variant: Variant::Own,
    level: None,
    instances: &[Instance { name: "main", settings: &[DOCUMENTS, BOTH, CONTROL, RELAY] }],
    declared: Declared {
        levels: &["full"],
        kinds: &[],
        options: &[
            ("relay", true),
            ("federation", true),
            ("initiator", true),
            ("failing-requests", true),
            ("stoppable", true),
            ("stopped-clock", true),
            ("given-documents", true),
        ],
        settings: &[],
        tokens: &[],
    },
};

const SETUPS: &[Setup] = &[
    ORDINARY,
    Setup {
        name: "auth",
        about: "credentials are required",
        instances: &[Instance {
            name: "main",
            settings: &[
                DOCUMENTS,
                BOTH,
                CONTROL,
                RELAY,
                ("auth", "token-of-alice=${did alice}"),
                ("auth", "token-of-bob=${did bob}"),
                ("auth", "token-of-carol=${did carol}"),
            ],
        }],
        declared: Declared {
            levels: ORDINARY.declared.levels,
            kinds: &[],
            options: &[
                ("relay", true),
                ("federation", true),
                ("initiator", true),
                ("failing-requests", true),
                ("principals", true),
            ],
            settings: &[],
            tokens: &[
                ("alice", "token-of-alice"),
                ("bob", "token-of-bob"),
                ("carol", "token-of-carol"),
                ("wrong", "not-a-key"),
            ],
        },
        ..ORDINARY
    },
    COMPANION,
    Setup { name: "other", about: "every other reading that the errata tolerate", variant: Variant::Other, ..ORDINARY },
];

/// A party that has to request contact, and one whose request was denied, for the feature `contact-gate`.
const COMPANION: Setup = Setup {
    name: "companion",
    about: "the optional features of companion documents, and limits",
    instances: &[Instance {
        name: "main",
        settings: &[
            DOCUMENTS,
            BOTH,
            CONTROL,
            RELAY,
            // A did:key has one agreement key; a document may have several.
            ("did", "did:web:companion.proofmark.test"),
            ("former-agreement-key", "a8c1f6d0c2e94b7f8a36e1d05b7c4f2e9d3a6b81c5e07f42d9b8a3c6e1f05d74"),
            ("companions", "on"),
            ("contact", "active=${did alice}"),
            ("contact", "active=${did bob}"),
            ("contact", "active=${did carol}"),
            ("contact", "active=${did relay}"),
            // Many cases use these names.
            ("contact", "active=${did me}"),
            ("contact", "active=${did reader}"),
            ("contact", "required=${did stranger}"),
            ("contact", "denied=${did unwanted}"),
            ("rate-limit", "220"),
            ("capacity", "4"),
            ("deadline", "400ms"),
            ("maintenance", "archive"),
            ("webhook", "on"),
        ],
    }],
    declared: Declared {
        levels: ORDINARY.declared.levels,
        kinds: &[],
        options: &[
            ("relay", true),
            ("federation", true),
            ("initiator", true),
            ("failing-requests", true),
            ("capabilities", true),
            ("delegation-evidence", true),
            ("delegation-rules", true),
            ("provisional", true),
            ("webhook", true),
            ("maximum", true),
            ("rate-limit", true),
            ("second-agreement-key", true),
            ("contact-gate", true),
            ("unavailable-requests", true),
            ("slow-requests", true),
            ("limited-requests", true),
            ("rare-errors", true),
        ],
        settings: &[("max_message", "4194304")],
        tokens: &[],
    },
    ..ORDINARY
};

impl Implementation for AmpCore {
    fn slug(&self) -> &'static str {
        "amp-core"
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
        &[(HTTP, "http://{}"), (WS, "ws://{}/amp/v1/ws"), (TCP, "amp://{}")]
    }

    fn setups(&self) -> &'static [Setup] {
        SETUPS
    }

    fn served(&self) -> Pairs {
        &[DOCUMENTS]
    }

    fn serve(&self, config: Config) -> Work<Result<Handle, ServeError>> {
        Box::pin(serve(config))
    }

    /// A node served this way has no reachable address.
    fn serve_connections(
        &self,
        config: Config,
        connections: UnboundedReceiver<DuplexStream>,
    ) -> Work<Result<(), ServeError>> {
        Box::pin(async move {
            let (pipes, ended) = Pipes::new(connections);
            let server = server(&node(config.clone()).await?, &config);
            net::serve_connections(server, pipes, ended).await;
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
            // The caller of a library decides how much it has to do.
            let contacts = companions(&config).map_err(invalid)?.contacts;
            let rules = rules(config).map_err(invalid)?;
            let adapter = Adapter::new(rules, Companions { contacts, ..Companions::default() });
            server::adapter::serve(adapter, reader, writer).await
        })
    }
}

const HTTP: &str = "http";
const WS: &str = "ws";
const TCP: &str = "tcp";

/// The fault and the readings of a configuration.
fn rules(mut config: Config) -> Result<Rules, ServeError> {
    if let Some(name) = &config.level {
        return Err(ServeError::level(name, &[]));
    }
    let fault = config.plant(&[careless::FAULTS, fault::FAULTS])?;
    Ok(Rules { fault, variant: config.variant, companions: config.settings.is_on("companions") })
}

fn role(config: &Config) -> Role {
    config.settings.text("role").and_then(Role::parse).unwrap_or(Role::Both)
}

fn settings(config: &Config) -> Result<Settings, ServeError> {
    let given = &config.settings;
    let seed = given.bytes("seed").and_then(|bytes| bytes.try_into().ok()).unwrap_or(TARGET_SEED);
    let mut me = match given.text("did") {
        Some(name) if !did::is_did(name) => return Err(ServeError::setting("did", format!("`{name}` is not a DID"))),
        Some(name) if did::key_of(name).is_some() => {
            return Err(ServeError::setting("did", format!("`{name}` is given by its seed")));
        }
        // Not the derived key, so that deriving it instead of reading the document is detected (binding.md, 6).
        Some(name) => Identity::new(name.to_owned(), seed, Some(Sha256::digest(AGREEMENT).into())),
        None => Identity::of_seed(seed),
    };
    if let Some(private) = given.bytes("former-agreement-key").and_then(|bytes| bytes.try_into().ok()) {
        if did::key_of(&me.did).is_some() {
            return Err(ServeError::setting("former-agreement-key", "a did:key has one agreement key".to_owned()));
        }
        // Behind the id of the current key, which is the smaller one (8.9).
        let id = format!("{}#key-agreement-former", did::bare(&me.did));
        me.agreement.push(AgreementKey { id, private });
    }
    let trusted_relays: Vec<String> = given.all("trusted-relay").into_iter().map(str::to_owned).collect();
    if let Some(relay) = trusted_relays.iter().find(|relay| !did::is_did(relay)) {
        return Err(ServeError::setting("trusted-relay", format!("`{relay}` is not a DID")));
    }
    let ack_timeout =
        given.duration("ack-timeout").map_or(u64::MAX, |span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    let (rules, role) = (rules(config.clone())?, role(config));
    let versions = version::VERSIONS.to_vec();
    Ok(Settings {
        me,
        rules,
        role,
        trusted_relays,
        versions,
        ack_timeout,
        serves: true,
        companions: companions(config)?,
    })
}

/// The optional behaviour of a node.
fn companions(config: &Config) -> Result<Companions, ServeError> {
    let given = &config.settings;
    let contact = |(state, party): (String, String)| match Contact::parse(&state) {
        Some(contact) if did::is_did(&party) => Ok((contact, party)),
        Some(_) => Err(ServeError::setting("contact", format!("`{party}` is not a DID"))),
        None => Err(ServeError::setting("contact", format!("`{state}` is not active, required or denied"))),
    };
    Ok(Companions {
        contacts: given.pairs("contact").into_iter().map(contact).collect::<Result<_, _>>()?,
        rate: given.number("rate-limit"),
        capacity: given.number("capacity"),
        deadline: given.duration("deadline"),
        maintenance: given.all("maintenance").into_iter().map(str::to_owned).collect(),
    })
}

fn clock(config: &Config) -> Result<Clock, ServeError> {
    Ok(match config.clock()? {
        instant::Clock::System => Clock::SYSTEM,
        instant::Clock::Fixed(now) => Clock::Frozen(now.unix_milliseconds().max(0).unsigned_abs()),
    })
}

/// A node with the documents of its configuration.
async fn node(config: Config) -> Result<Node, ServeError> {
    let node = Node::open(&config.database, settings(&config)?, clock(&config)?).await?;
    for text in config.settings.all("documents") {
        let refused = |reason: String| ServeError::setting("documents", reason);
        let documents = json::read(text.as_bytes()).map_err(|error| refused(error.to_string()))?;
        node.learn(&documents).await.map_err(refused)?;
    }
    Ok(node)
}

fn server(node: &Node, config: &Config) -> net::Server {
    let given = &config.settings;
    net::Server::new(node.clone(), &given.pairs("auth"), given.is_on("control"), given.is_on("webhook"))
}

async fn serve(config: Config) -> Result<Handle, ServeError> {
    let node = node(config.clone()).await?;
    let (http, address) = bind(config.listen).await?;
    let tcp = match config.settings.address("tcp") {
        Some(asked) => Some(bind(asked).await?),
        None => None,
    };
    let (base, ws) = (format!("http://{address}"), format!("ws://{address}/amp/v1/ws"));
    let frames = tcp.as_ref().map(|(_, address)| format!("amp://{address}"));
    // In the order of preference (RFC 002, 3.5).
    let mut services: Vec<_> = frames.iter().map(|url| ("AgentMessaging", url.clone())).collect();
    services.extend([("AgentMessaging", ws.clone()), ("AgentMessaging", base.clone())]);
    if role(&config) != Role::Agent {
        services.push(("AgentMessagingRelay", base.clone()));
    }
    node.set_services(services);
    let did = node.did().to_owned();
    let server = server(&node, &config);
    let (stop, stopped) = oneshot::channel::<()>();
    let ending = server.stop.clone();
    tokio::spawn(async move {
        stopped.await.ok(); // also if the handle is dropped
        ending.send_replace(true);
    });
    let server = tokio::spawn(net::serve(server, http, tcp.map(|(listener, _)| listener)));
    let handle = Handle::new(stop, server).at(HTTP, base).at(WS, ws).knows("did", did);
    Ok(match frames {
        Some(frames) => handle.at(TCP, frames),
        None => handle,
    })
}
