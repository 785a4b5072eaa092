//! The row of this protocol: its settings, how proofmark starts it, and the way from a configuration to a running server.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::adapter::Adapter;
use super::agents::{self, Behaviour};
use super::auth::Auth;
use super::canonical::Recipe;
use super::keyed::{Encoding, Signing};
use super::net::{self, Server};
use super::node::{Features, Node, Role, Settings};
use super::outward::Outward;
use super::rules::Rules;
use super::{careless, fault};
use crate::config::{Config, ServeError};
use crate::fault::{Also, Fault};
use crate::handle::{Handle, bind};
use crate::implementation::{Declared, Implementation, Instance, Pairs, Setup, Work};
use crate::json::{self, Value};
use crate::server::http::without_delay;
use crate::server::{self, pipes::Pipes};
use crate::setting::{Kind, Setting};
use crate::variant::Variant;

/// The Agent Mesh Protocol of the MeshAI ecosystem.
#[derive(Debug)]
pub(crate) struct Meshai;

const fn setting(name: &'static str, value: Kind, default: Option<&'static str>, summary: &'static str) -> Setting {
    Setting { name, value, default, repeats: false, summary }
}

const fn repeated(name: &'static str, value: Kind, summary: &'static str) -> Setting {
    Setting { name, value, default: None, repeats: true, summary }
}

const SETTINGS: &[Setting] = &[
    setting(
        "kind",
        Kind::Choice(Role::NAMES),
        Some("mesh"),
        "What the server is: one agent, a registry, or both with a router (E34).",
    ),
    setting("agent-id", Kind::Text("ID"), Some("agent-a"), "The id of the agent of kind agent."),
    setting("registry", Kind::Url, None, "Kind agent: the base URL of the registry where it registers itself (4.1)."),
    setting(
        "token",
        Kind::Text("TOKEN"),
        None,
        "Kind agent: its key or token, sent with its own requests and its registration.",
    ),
    setting(
        "advertise",
        Kind::Url,
        None,
        "The base URL that the agent registers [default: the address it listens on].",
    ),
    repeated("api-key", Kind::Text("KEY"), "A key that is accepted (7.1); if there is one, requests need credentials."),
    setting("jwt-key", Kind::Text("KEY"), None, "The key of HS256 tokens (7.1); with it, requests need credentials."),
    setting(
        "hmac-key",
        Kind::Text("KEY"),
        None,
        "The key of signatures (7.2); with it, signatures are checked and replies are signed.",
    ),
    setting("hmac-required", Kind::Switch, Some("off"), "Whether unsigned messages are refused (E72)."),
    setting("hmac-canonical", Kind::Choice(Recipe::NAMES), Some("jcs"), "The canonical form that is signed (E71)."),
    setting("hmac-encoding", Kind::Choice(&["base64", "hex"]), Some("base64"), "How signatures are written (E71)."),
    setting(
        "rate-limit",
        Kind::Text("COUNT"),
        None,
        "So many capability requests of each source are served within the window (E99).",
    ),
    setting("rate-window", Kind::Duration, Some("1s"), "The window of the rate limit."),
    setting(
        "enforce-registration",
        Kind::Switch,
        Some("off"),
        "Whether sources that never registered are refused (E35).",
    ),
    repeated(
        "without",
        Kind::Choice(&["context", "negotiation", "delegation"]),
        "An optional service that is not offered.",
    ),
    repeated(
        "capability",
        Kind::Json,
        "A capability of the first agent: {capability, behaviour: {kind, result?, ms?}}.",
    ),
    setting("lease", Kind::Duration, None, "How long a registration lasts; without it, for ever (E40)."),
    setting(
        "callbacks",
        Kind::Choice(&["loopback", "any"]),
        Some("loopback"),
        "Which hosts are called: callbacks, and agents that messages are forwarded to.",
    ),
    setting("workers", Kind::Text("COUNT"), Some("4"), "How many delegations are worked on at once."),
    setting("body-limit", Kind::Text("BYTES"), Some("4194304"), "The largest message."),
    setting(
        "control",
        Kind::Switch,
        Some("off"),
        "Whether POST /aip/v1/control makes it send and sets its clock; only for tests, since any client of it can send in the name of the agent.",
    ),
];

const CONTROL: (&str, &str) = ("control", "on");
const KEY: &str = "proofmark-meshai-api-key-0001";
const SECRET: &str = "proofmark-meshai-hmac-key-32byte";

const SERVICES: &[(&str, bool)] =
    &[("context", true), ("negotiation", true), ("delegation", true), ("routing", true), ("websocket", true)];

/// The requests of a target file that have another result, repeat their parameters, take a given time and lack resources, and
/// parameters that no request has.
const AGENT_FIXTURES: Pairs = &[
    ("second", r#"{"capability":"web-search","parameters":{"query":"proofmark"}}"#),
    ("echo", r#"{"capability":"tool-use","parameters":{"tool":"echo"}}"#),
    ("slow", r#"{"capability":"tool-use","parameters":{"tool":"sleep"}}"#),
    ("exhaust", r#"{"capability":"tool-use","parameters":{"tool":"exhaust"}}"#),
    ("invalid_parameters", INVALID),
];

/// The same in a mesh, where the second agent serves them.
const MESH_FIXTURES: Pairs = &[
    ("second", r#"{"capability":"web-search","parameters":{"query":"proofmark"},"agent_id":"agent-b"}"#),
    ("echo", r#"{"capability":"tool-use","parameters":{"tool":"echo"},"agent_id":"agent-b"}"#),
    ("slow", r#"{"capability":"tool-use","parameters":{"tool":"sleep"},"agent_id":"agent-b"}"#),
    ("exhaust", r#"{"capability":"tool-use","parameters":{"tool":"exhaust"},"agent_id":"agent-b"}"#),
    ("invalid_parameters", INVALID),
];

const INVALID: &str = r#"[{},{"text":5}]"#;

const ORDINARY: Setup = Setup {
    name: "default",
    about: "registry, router, context store and two agents",
    variant: Variant::Own,
    level: None,
    instances: &[Instance { name: "main", settings: &[CONTROL] }],
    declared: Declared {
        levels: &[],
        kinds: &["mesh", "websocket", "library"],
        options: SERVICES,
        settings: MESH_FIXTURES,
        tokens: &[],
    },
};

const AGENT: Setup = Setup {
    name: "agent",
    about: "one agent",
    instances: &[Instance { name: "main", settings: &[CONTROL, ("kind", "agent")] }],
    declared: Declared {
        levels: &[],
        kinds: &["agent"],
        options: &[("context", true), ("negotiation", true), ("delegation", true), ("websocket", true)],
        settings: AGENT_FIXTURES,
        tokens: &[],
    },
    ..ORDINARY
};

const SETUPS: &[Setup] = &[
    ORDINARY,
    AGENT,
    Setup {
        name: "registry",
        about: "registration and discovery only",
        instances: &[Instance { name: "main", settings: &[CONTROL, ("kind", "registry")] }],
        declared: Declared {
            levels: &[],
            kinds: &["registry"],
            options: &[("websocket", true)],
            settings: &[],
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "client",
        about: "one agent that registers itself and is made to send",
        instances: &[Instance {
            name: "main",
            settings: &[CONTROL, ("kind", "agent"), ("registry", "${hosts/registry}"), ("token", KEY)],
        }],
        declared: Declared {
            levels: &[],
            kinds: &["agent"],
            options: &[
                ("context", true),
                ("negotiation", true),
                ("delegation", true),
                ("websocket", true),
                ("client", true),
                ("control", true),
                ("client-token", true),
            ],
            settings: AGENT_FIXTURES,
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "bare",
        about: "one agent without optional services",
        instances: &[Instance {
            name: "main",
            settings: &[
                CONTROL,
                ("kind", "agent"),
                ("without", "context"),
                ("without", "negotiation"),
                ("without", "delegation"),
            ],
        }],
        declared: Declared {
            levels: &[],
            kinds: &["agent"],
            options: &[("context", false), ("negotiation", false), ("delegation", false), ("websocket", true)],
            settings: AGENT_FIXTURES,
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "api-key",
        about: "an API key is required",
        instances: &[Instance { name: "main", settings: &[CONTROL, ("api-key", KEY)] }],
        declared: Declared {
            levels: &[],
            kinds: &["mesh"],
            options: &[
                ("context", true),
                ("negotiation", true),
                ("delegation", true),
                ("routing", true),
                ("websocket", true),
                ("api-key", true),
            ],
            settings: MESH_FIXTURES,
            tokens: &[("a", KEY), ("b", KEY), ("c", KEY)],
        },
        ..ORDINARY
    },
    Setup {
        name: "jwt",
        about: "a token is required",
        instances: &[Instance { name: "main", settings: &[CONTROL, ("jwt-key", SECRET)] }],
        declared: Declared {
            levels: &[],
            kinds: &["mesh"],
            options: &[
                ("context", true),
                ("negotiation", true),
                ("delegation", true),
                ("routing", true),
                ("websocket", true),
                ("jwt", true),
            ],
            settings: MESH_FIXTURES,
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "hmac",
        about: "a signature is required",
        instances: &[Instance { name: "main", settings: &[CONTROL, ("hmac-key", SECRET), ("hmac-required", "on")] }],
        declared: Declared {
            levels: &[],
            kinds: &["mesh"],
            options: &[
                ("context", true),
                ("negotiation", true),
                ("delegation", true),
                ("routing", true),
                ("websocket", true),
                ("hmac", true),
                ("required-signatures", true),
            ],
            settings: MESH_FIXTURES,
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "rate-limit",
        about: "five capability requests a second",
        instances: &[Instance { name: "main", settings: &[CONTROL, ("rate-limit", "5"), ("rate-window", "1s")] }],
        declared: Declared {
            levels: &[],
            kinds: &["mesh"],
            options: &[
                ("context", true),
                ("negotiation", true),
                ("delegation", true),
                ("routing", true),
                ("websocket", true),
                ("rate-limit", true),
            ],
            settings: MESH_FIXTURES,
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup {
        name: "enforce",
        about: "only registered agents take part",
        instances: &[Instance { name: "main", settings: &[CONTROL, ("enforce-registration", "on")] }],
        declared: Declared {
            levels: &[],
            kinds: &["mesh"],
            options: &[
                ("context", true),
                ("negotiation", true),
                ("delegation", true),
                ("routing", true),
                ("websocket", true),
                ("enforce_registration", true),
            ],
            settings: MESH_FIXTURES,
            tokens: &[],
        },
        ..ORDINARY
    },
    Setup { name: "other", about: "every other reading that the errata tolerate", variant: Variant::Other, ..ORDINARY },
    Setup {
        name: "other-agent",
        about: "one agent in every other reading that the errata tolerate",
        variant: Variant::Other,
        ..AGENT
    },
];

impl Implementation for Meshai {
    fn slug(&self) -> &'static str {
        "meshai"
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
        &[(HTTP, "http://{}"), (WS, "ws://{}/aip/v1/ws")]
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
            let server = server(config).await?;
            settle(&server.node, "http://127.0.0.1").await?;
            let stop = server.stop.clone();
            tokio::spawn(async move {
                ended.await;
                stop.send_replace(true);
            });
            net::serve(server, pipes).await.ok(); // pipes cannot fail as sockets do
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
            let clock = config.clock().map_err(invalid)?;
            let settings = settings(config).map_err(invalid)?;
            let adapter = Adapter::open(settings, clock.into()).await.map_err(invalid)?;
            server::adapter::serve(adapter, reader, writer).await
        })
    }
}

const HTTP: &str = "http";
const WS: &str = "ws";

/// A number that a setting holds as text.
fn number(config: &Config, name: &'static str) -> Result<Option<i64>, ServeError> {
    let Some(text) = config.settings.text(name) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| ServeError::setting(name, format!("expected a number above 0, got `{text}`")))
}

fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The settings of a configuration, with the changes of the planted fault.
fn settings(mut config: Config) -> Result<Settings, ServeError> {
    if let Some(name) = &config.level {
        return Err(ServeError::level(name, &[]));
    }
    let rules = Rules { fault: config.plant(&[careless::FAULTS, fault::FAULTS])?, variant: config.variant };
    let given = &config.settings;
    let owned = |name: &str| given.text(name).map(str::to_owned);
    let role = match given.text("kind") {
        Some("agent") => Role::Agent,
        Some("registry") => Role::Registry,
        _ => Role::Mesh,
    };
    let agents = match role {
        Role::Agent => vec![agents::alone(given.text("agent-id").unwrap_or("agent-a"))],
        Role::Registry => Vec::new(),
        Role::Mesh => agents::of_mesh(),
    };
    let without = given.all("without");
    let offers = |name: &str| !without.contains(&name) && role != Role::Registry;
    let signing = owned("hmac-key").map(|key| Signing {
        key: key.into_bytes(),
        recipe: given.text("hmac-canonical").and_then(Recipe::parse).unwrap_or(Recipe::Jcs),
        encoding: if given.text("hmac-encoding") == Some("hex") { Encoding::Hex } else { Encoding::Base64 },
        required: given.is_on("hmac-required"),
    });
    let window = given.duration("rate-window").map_or(1000, milliseconds);
    Ok(Settings {
        rules,
        role,
        agents,
        features: Features {
            context: offers("context"),
            negotiation: offers("negotiation"),
            delegation: offers("delegation"),
        },
        auth: Auth {
            api_keys: given.all("api-key").into_iter().map(str::to_owned).collect(),
            jwt_key: owned("jwt-key").map(String::into_bytes),
            signing,
        },
        rate: number(&config, "rate-limit")?.map(|most| (most, window)),
        enforce: given.is_on("enforce-registration"),
        lease: given.duration("lease").map(milliseconds),
        registry: owned("registry").filter(|_| role == Role::Agent),
        token: owned("token"),
        workers: number(&config, "workers")?.and_then(|count| usize::try_from(count).ok()).unwrap_or(4),
    })
}

/// A server with its capabilities.
async fn server(config: Config) -> Result<Server, ServeError> {
    let outward = Outward::Network { anywhere: config.settings.text("callbacks") == Some("any") };
    let limit = number(&config, "body-limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let settings = settings(config.clone())?;
    let node = Node::open(&config.database, settings, config.clock()?.into(), outward).await?;
    for text in config.settings.all("capability") {
        let refused = || ServeError::setting("capability", "expected {capability, behaviour: {kind}}");
        let Ok(Value::Object(defined)) = json::read(text.as_bytes()) else { return Err(refused()) };
        let capability =
            defined.get("capability").and_then(Value::as_object).filter(|given| given.text("id").is_some());
        let behaviour = defined.get("behaviour").and_then(Value::as_object).and_then(Behaviour::parse);
        let (capability, behaviour) = capability.zip(behaviour).ok_or_else(refused)?;
        node.define(capability.clone(), behaviour);
    }
    Ok(Server::new(node, config.settings.is_on("control"), limit))
}

/// Enters the agents of a server.
async fn settle(node: &Node, base: &str) -> Result<(), ServeError> {
    node.settle(base).await.map_err(|refusal| ServeError::setting("kind", refusal.message))
}

async fn serve(config: Config) -> Result<Handle, ServeError> {
    let (listen, advertised) = (config.listen, config.settings.text("advertise").map(str::to_owned));
    let server = server(config).await?;
    let (listener, address) = bind(listen).await?;
    let base = format!("http://{address}");
    let advertised = advertised.map_or_else(|| base.clone(), |url| url.trim_end_matches('/').to_owned());
    settle(&server.node, &advertised).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let ending = server.stop.clone();
    tokio::spawn(async move {
        stopped.await.ok(); // also if the handle is dropped
        ending.send_replace(true);
    });
    // 4.1: an agent registers before it takes part. It serves meanwhile, since a registry may look at its health first.
    let node = server.node.clone();
    let ending = server.stop.subscribe();
    if node.settings().registry.is_some() {
        let registering = async move {
            node.register(None).await.ok(); // control calls tell if it failed
        };
        tokio::spawn(until(registering, ending));
    }
    let running = tokio::spawn(net::serve(server, without_delay(listener)));
    Ok(Handle::new(stop, running).at(HTTP, base).at(WS, format!("ws://{address}/aip/v1/ws")))
}

/// Does something unless the server ends first.
async fn until(work: impl Future<Output = ()>, mut ending: tokio::sync::watch::Receiver<bool>) {
    tokio::select! {
        () = work => {}
        _ = ending.wait_for(|stop| *stop) => {}
    }
}
