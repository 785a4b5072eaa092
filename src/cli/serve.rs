//! `serve` and `adapter`: the reference implementation as a program.

use std::io::Write;

use reference_impl::{Config, Database, Role};

use super::args::{AdapterOptions, RoleWord, ServeOptions, Switch};
use super::exit::Failure;
use super::reference;

/// Serves until interrupted.
pub(super) fn run(options: ServeOptions) -> Result<u8, Failure> {
    let protocol = protocol(&options.protocol)?;
    let mut out = anstream::stdout();
    if options.list_faults {
        // The second table is of those that only a fuzzer finds.
        for fault in reference_impl::faults(protocol).iter().chain(reference_impl::parser_faults(protocol)) {
            writeln!(
                out,
                "{:<34} {:<3} {}\n{:<38} breaks {}",
                fault.name,
                fault.level,
                fault.summary,
                "",
                fault.breaks.join(", ")
            )?;
        }
        return Ok(0);
    }
    if let Some(fault) = &options.fault {
        reference::check_fault(protocol, fault)?;
    }
    let mut config = Config::new(protocol);
    config.listen = options.listen;
    config.database = options.db.map_or(Database::Memory, Database::File);
    config.fault = options.fault;
    config.variant = reference::variant(options.variant);
    config.level = options.level;
    config.search = options.search == Switch::On;
    config.now = options.now;
    config.load = options.load;
    config.amp.role = match options.role {
        RoleWord::Agent => Role::Agent,
        RoleWord::Relay => Role::Relay,
        RoleWord::Both => Role::Both,
    };
    config.amp.did = options.did;
    config.amp.control = options.control == Switch::On;
    config.amp.documents = vec![reference::fixture_documents()];
    config.amp.tcp = match options.tcp.as_str() {
        "off" => None,
        address => {
            let parsed = address.parse();
            Some(parsed.map_err(|_| Failure::usage(format!("`{address}` is neither an address nor `off`")))?)
        }
    };
    for pair in &options.auth {
        let (key, actor) = pair
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("`{pair}` is no KEY=ACTOR"), Some("such as s3cret=jordan".into())))?;
        config.auth.push((key.to_owned(), actor.to_owned()));
    }
    runtime()?.block_on(async {
        let handle = reference_impl::serve(config).await.map_err(|error| reference::failure(&error))?;
        let tcp = handle.tcp_address().map(|address| format!(" and amp://{address}")).unwrap_or_default();
        writeln!(out, "serving {} at {}{tcp} (stop with Ctrl-C)", protocol.slug(), handle.url())?;
        out.flush()?;
        let _ = tokio::signal::ctrl_c().await;
        handle.stop().await;
        Ok(0)
    })
}

/// Answers calls on standard input until its end.
pub(super) fn adapter(options: &AdapterOptions) -> Result<u8, Failure> {
    let protocol = protocol(&options.protocol)?;
    if let Some(fault) = &options.fault {
        reference::check_fault(protocol, fault)?;
    }
    let mut config = Config::new(protocol);
    config.fault.clone_from(&options.fault);
    config.variant = reference::variant(options.variant);
    runtime()?.block_on(async {
        reference_impl::serve_adapter(config, tokio::io::stdin(), tokio::io::stdout()).await?;
        Ok(0)
    })
}

fn protocol(slug: &str) -> Result<reference_impl::Protocol, Failure> {
    super::data::protocols(&[slug.to_owned()])?;
    reference::protocol(slug)
        .ok_or_else(|| Failure::usage(format!("there is no reference implementation of `{slug}` yet")))
}

/// The runtime of a command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Internal(format!("no asynchronous runtime: {error}")))
}
