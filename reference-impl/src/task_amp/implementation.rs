//! The row of this protocol: its settings, how proofmark starts it, and the way from a configuration to a running server.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{oneshot, watch};

use super::adapter::Adapter;
use super::bus::{Bus, Options};
use super::http::{self, Server};
use super::role::Role;
use super::roles::Settings;
use super::rules::Rules;
use super::{careless, fault, remote, tree};
use crate::config::{Config, ServeError};
use crate::fault::{Also, Fault};
use crate::handle::{Handle, bind};
use crate::implementation::{Declared, Implementation, Instance, Pairs, Setup, Work};
use crate::server::{self, pipes::Pipes};
use crate::setting::{Kind, Setting};
use crate::variant::Variant;

/// The Agent Message Protocol.
#[derive(Debug)]
pub(crate) struct TaskAmp;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "ssot-url",
        value: Kind::Url,
        default: None,
        repeats: false,
        summary: "The store of another process: this one is then a process of one role, polls that store, and has no address. \
                  Without it the environment is asked (AMP_SSOT_URL, with AMP_ROLE, AMP_TOKEN, AMP_POLL_MS, \
                  AMP_ACK_TIMEOUT_SEC, AMP_HEARTBEAT_TIMEOUT_SEC).",
    },
    Setting {
        name: "poll",
        value: Kind::Duration,
        default: Some("40ms"),
        repeats: false,
        summary: "How often a process of one role looks for new messages.",
    },
    Setting {
        name: "tree",
        value: Kind::Directory,
        default: None,
        repeats: false,
        summary: "A directory that holds the store as files, too (binding section 4): new files are taken as messages, ACKs and \
                  inputs of the admin.",
    },
    Setting {
        name: "tree-form",
        value: Kind::Choice(&["files", "git"]),
        default: Some("files"),
        repeats: false,
        summary: "Whether the tree is a directory of files, or a git repository with one commit for each file.",
    },
    Setting {
        name: "roles",
        value: Kind::Text("ROLES"),
        default: Some("coordinator,executor,reviewer,system"),
        repeats: false,
        summary: "The roles that work here, separated by commas, or `none`; the others are left to the outside.",
    },
    Setting {
        name: "prefix",
        value: Kind::Text("PATH"),
        default: Some("/api/amp/v1"),
        repeats: false,
        summary: "The path in front of all others.",
    },
    Setting {
        name: "test-hooks",
        value: Kind::Switch,
        default: Some("off"),
        repeats: false,
        summary: "Whether tests may move the clock, choose roles and reset the store under /_test.",
    },
    Setting {
        name: "token",
        value: Kind::Pair("TOKEN", "ROLE"),
        default: None,
        repeats: true,
        summary: "A bearer token and its role; if set, requests need a token. Otherwise the header X-AMP-Role says who acts.",
    },
    Setting {
        name: "ack-timeout",
        value: Kind::Duration,
        default: None,
        repeats: false,
        summary: "The timeout that the coordinator writes into its messages; without it, the default of the type applies.",
    },
    Setting {
        name: "heartbeat-timeout",
        value: Kind::Duration,
        default: None,
        repeats: false,
        summary: "How long an agent with an open assignment may be silent; without it, 30 minutes.",
    },
];

const HOOKS: (&str, &str) = ("test-hooks", "on");
const BUS: &[Instance] = &[Instance { name: "main", settings: &[HOOKS, ("roles", "system")] }];

const ORDINARY: Setup = Setup {
    name: "ssot",
    about: "bus and single source of truth",
    variant: Variant::Own,
    level: None,
    instances: BUS,
    declared: Declared { levels: &[], kinds: &["ssot", "library"], options: &[], settings: &[], tokens: &[] },
};

const WITH_ROLES: Declared = Declared { levels: &[], kinds: &["bundle"], options: &[], settings: &[], tokens: &[] };

const HOSTED: (&str, &str) = ("ssot-url", "${hosts/ssot}");
const ONE_ROLE: Declared = Declared { levels: &[], kinds: &["role"], options: &[], settings: &[], tokens: &[] };

const SETUPS: &[Setup] = &[
    ORDINARY,
    Setup {
        name: "coordinator",
        about: "with a coordinator",
        instances: &[Instance { name: "main", settings: &[HOOKS, ("roles", "coordinator,system")] }],
        declared: WITH_ROLES,
        ..ORDINARY
    },
    Setup {
        name: "executor",
        about: "with an executor",
        instances: &[Instance { name: "main", settings: &[HOOKS, ("roles", "executor,system")] }],
        declared: WITH_ROLES,
        ..ORDINARY
    },
    Setup {
        name: "reviewer",
        about: "with a reviewer",
        instances: &[Instance { name: "main", settings: &[HOOKS, ("roles", "reviewer,system")] }],
        declared: WITH_ROLES,
        ..ORDINARY
    },
    Setup {
        name: "bundle",
        about: "with all roles",
        instances: &[Instance { name: "main", settings: &[HOOKS] }],
        declared: WITH_ROLES,
        ..ORDINARY
    },
    Setup {
        name: "role-coordinator",
        about: "a process of the coordinator",
        instances: &[Instance { name: "main", settings: &[HOSTED, ("roles", "coordinator")] }],
        declared: ONE_ROLE,
        ..ORDINARY
    },
    Setup {
        name: "role-executor",
        about: "a process of the executor",
        instances: &[Instance { name: "main", settings: &[HOSTED, ("roles", "executor")] }],
        declared: ONE_ROLE,
        ..ORDINARY
    },
    Setup {
        name: "role-reviewer",
        about: "a process of the reviewer",
        instances: &[Instance { name: "main", settings: &[HOSTED, ("roles", "reviewer")] }],
        declared: ONE_ROLE,
        ..ORDINARY
    },
    Setup {
        name: "tree",
        about: "the store is a tree of files",
        instances: &[Instance { name: "main", settings: &[HOOKS, ("tree", "${folder}")] }],
        declared: Declared { levels: &[], kinds: &["tree"], options: &[], settings: &[], tokens: &[] },
        ..ORDINARY
    },
    Setup { name: "other", about: "every other reading that the errata tolerate", variant: Variant::Other, ..ORDINARY },
];

const HTTP: &str = "http";
const TREE: &str = "tree";

impl Implementation for TaskAmp {
    fn slug(&self) -> &'static str {
        "task-amp"
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
        &[(HTTP, "http://{}"), ("tree", "{}")]
    }

    fn roles(&self, setup: &str) -> &'static [&'static str] {
        match setup {
            "ssot" | "other" => &["system"],
            "coordinator" => &["coordinator", "system"],
            "executor" => &["executor", "system"],
            "reviewer" => &["reviewer", "system"],
            "role-coordinator" => &["coordinator"],
            "role-executor" => &["executor"],
            "role-reviewer" => &["reviewer"],
            _ => &[],
        }
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
            let stop = server.stop.clone();
            tokio::spawn(async move {
                ended.await;
                stop.send_replace(true);
            });
            let ticking = tokio::spawn(server.bus.clone().run());
            http::serve(server.clone(), pipes).await.ok(); // pipes cannot fail as sockets do
            ticking.abort();
            server.bus.close().await;
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
            let rules = rules(config).map_err(invalid)?;
            server::adapter::serve(Adapter::new(rules), reader, writer).await
        })
    }
}

/// The fault and the readings of a configuration.
fn rules(mut config: Config) -> Result<Rules, ServeError> {
    if let Some(name) = &config.level {
        return Err(ServeError::level(name, &[]));
    }
    Ok(Rules { fault: config.plant(&[careless::FAULTS, fault::FAULTS])?, variant: config.variant })
}

/// The roles of a list.
fn roles(config: &Config) -> Result<Vec<Role>, ServeError> {
    let text = config.settings.text("roles").unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !matches!(*name, "" | "none"));
    let unknown = |name: &str| ServeError::setting("roles", format!("`{name}` is not a role that works"));
    let role = |name: &str| Role::parse(name).filter(|role| *role != Role::Admin).ok_or_else(|| unknown(name));
    names.map(role).collect()
}

/// A setting of whole seconds, at least one.
fn seconds(config: &Config, name: &str) -> Option<i64> {
    let span = config.settings.duration(name)?;
    Some(i64::try_from(span.as_secs().max(1)).unwrap_or(i64::MAX))
}

async fn server(config: Config) -> Result<Server, ServeError> {
    let rules = rules(config.clone())?;
    let options = Options {
        rules,
        roles: roles(&config)?,
        settings: Settings { ack_timeout_sec: seconds(&config, "ack-timeout"), looks_at_files: true },
        heartbeat_sec: seconds(&config, "heartbeat-timeout"),
        clock: config.clock()?,
    };
    let prefix = config.settings.text("prefix").unwrap_or_default().trim_end_matches('/').to_owned();
    let mut tokens = Vec::new();
    for (token, name) in config.settings.pairs("token") {
        let role = Role::parse(&name);
        tokens.push((token, role.ok_or_else(|| ServeError::setting("token", format!("`{name}` is not a role")))?));
    }
    let bus = Bus::open(&config.database, options).await?;
    let hooks = config.settings.is_on("test-hooks");
    Ok(Server { bus, prefix: prefix.into(), hooks, tokens: tokens.into(), stop: watch::Sender::new(false) })
}

/// A process of one role, if the configuration or the environment names a store for it.
fn order(config: &Config) -> Result<Option<remote::Order>, ServeError> {
    let given = |name: &str, variable: &str| {
        let set = config.settings.text(name).map(str::to_owned);
        set.or_else(|| std::env::var(variable).ok()).filter(|text| !text.is_empty())
    };
    let Some(url) = given("ssot-url", "AMP_SSOT_URL") else { return Ok(None) };
    let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse::<i64>().ok());
    let named = std::env::var("AMP_ROLE").ok().and_then(|name| Role::parse(&name));
    let role = match roles(config)?[..] {
        [role] => role,
        _ => named.ok_or_else(|| ServeError::setting("roles", "a process with ssot-url has one role"))?,
    };
    let poll = number("AMP_POLL_MS").map(|ms| Duration::from_millis(ms.max(1).unsigned_abs()));
    let prefix = config.settings.text("prefix").unwrap_or_default().trim_end_matches('/').to_owned();
    Ok(Some(remote::Order {
        rules: rules(config.clone())?,
        role,
        url,
        prefix,
        token: std::env::var("AMP_TOKEN").ok().filter(|token| !token.is_empty()),
        poll: poll.or_else(|| config.settings.duration("poll")).unwrap_or(Duration::from_millis(40)),
        settings: Settings {
            ack_timeout_sec: seconds(config, "ack-timeout").or_else(|| number("AMP_ACK_TIMEOUT_SEC")),
            looks_at_files: true,
        },
        heartbeat_sec: seconds(config, "heartbeat-timeout").or_else(|| number("AMP_HEARTBEAT_TIMEOUT_SEC")),
        clock: config.clock()?,
    }))
}

/// Serves one role of another store.
fn serve_role(order: remote::Order) -> Handle {
    let (stop, stopped) = oneshot::channel::<()>();
    let ending = watch::Sender::new(false);
    let working = tokio::spawn(remote::run(order, ending.clone()));
    tokio::spawn(async move {
        stopped.await.ok(); // also if the handle is dropped
        ending.send_replace(true);
    });
    Handle::new(stop, working)
}

async fn serve(config: Config) -> Result<Handle, ServeError> {
    if let Some(order) = order(&config)? {
        return Ok(serve_role(order));
    }
    let server = server(config.clone()).await?;
    let git = config.settings.text("tree-form") == Some("git");
    let tree = match config.settings.path("tree") {
        Some(root) => {
            let refused = |error: std::io::Error| ServeError::setting("tree", format!("{}: {error}", root.display()));
            Some((tree::open(server.bus.clone(), &root, git).await.map_err(refused)?, root))
        }
        None => None,
    };
    let (listener, address) = bind(config.listen).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let ending = server.stop.clone();
    tokio::spawn(async move {
        stopped.await.ok(); // also if the handle is dropped
        ending.send_replace(true);
    });
    let (mirror, root) = tree.unzip();
    if let Some(mirror) = mirror {
        tokio::spawn(tree::run(mirror, server.stop.clone()));
    }
    let running = tokio::spawn(async move {
        let ticking = tokio::spawn(server.bus.clone().run());
        let served = http::serve(server.clone(), server::http::without_delay(listener)).await;
        ticking.abort();
        server.bus.close().await;
        served
    });
    let handle = Handle::new(stop, running).at(HTTP, format!("http://{address}"));
    Ok(match root {
        Some(root) => handle.at(TREE, root.display().to_string()),
        None => handle,
    })
}
