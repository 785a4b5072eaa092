//! `serve` and `adapter`: the reference implementation as a program.

use std::collections::BTreeMap;
use std::io::Write;

use proofmark_reference::{Config, Database, Implementation};

use super::args::{AdapterOptions, ReferenceOptions, ServeOptions};
use super::data;
use super::exit::Failure;
use super::program::Program;
use super::reference;
use super::start::{now, server_runtime};
use crate::protocol::Protocol;

/// Serves until interrupted.
pub(super) fn run(options: ServeOptions, program: &Program) -> Result<u8, Failure> {
    let (protocol, implementation) = implementation(&options.reference, program)?;
    let mut out = anstream::stdout();
    if options.list_faults {
        list_faults(implementation, &mut out)?;
        return Ok(0);
    }
    let mut config = implementation.config();
    let folder = tempfile::tempdir()?;
    let hosts = BTreeMap::new();
    reference::configure(&mut config, implementation.served(), protocol, None, folder.path(), &hosts, now().0)?;
    configure(&mut config, implementation, &options.reference)?;
    config.listen = options.listen;
    config.database = options.db.map_or(Database::Memory, Database::File);
    server_runtime()?.block_on(async {
        let handle = implementation.serve(config).await.map_err(|error| reference::failure(&error))?;
        let urls: Vec<&str> = handle.addresses().iter().map(|(_, url)| url.as_str()).collect();
        writeln!(out, "serving {} at {} (stop with Ctrl-C)", implementation.slug(), urls.join(" and "))?;
        out.flush()?;
        let _ = tokio::signal::ctrl_c().await;
        handle.stop().await;
        Ok(0)
    })
}

fn list_faults(implementation: &dyn Implementation, out: &mut dyn Write) -> Result<(), Failure> {
    // Faults that only a fuzzer finds come last.
    for fault in implementation.all_faults() {
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
    Ok(())
}

/// Answers calls on standard input until its end.
pub(super) fn adapter(options: &AdapterOptions, program: &Program) -> Result<u8, Failure> {
    let (_, implementation) = implementation(&options.reference, program)?;
    let mut config = implementation.config();
    configure(&mut config, implementation, &options.reference)?;
    server_runtime()?.block_on(async {
        let (input, output) = (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()));
        implementation.serve_adapter(config, input, output).await?;
        Ok(0)
    })
}

type Known = (&'static dyn Protocol, &'static dyn Implementation);

fn implementation(options: &ReferenceOptions, program: &Program) -> Result<Known, Failure> {
    let implementation = program.implementation(&options.protocol);
    match data::protocols(program, std::slice::from_ref(&options.protocol))?.first() {
        Some(protocol) => Ok((*protocol, implementation?)),
        None => Err(Failure::Internal(format!("no implementation found for `{}`", options.protocol))),
    }
}

/// Applies the options of the command line.
fn configure(
    config: &mut Config,
    implementation: &dyn Implementation,
    options: &ReferenceOptions,
) -> Result<(), Failure> {
    if let Some(fault) = &options.fault {
        reference::check_fault(implementation, fault)?;
    }
    config.fault.clone_from(&options.fault);
    config.variant = reference::variant(options.variant, options.variant_seed);
    config.level.clone_from(&options.level);
    config.clock.clone_from(&options.clock);
    for pair in &options.set {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::Usage(format!("--set {pair}: expected NAME=VALUE"), settings_hint(implementation))
        })?;
        config.set(name, value).map_err(|error| {
            let known = implementation.settings().iter().any(|setting| setting.name == name);
            Failure::Usage(format!("--set: {error}"), settings_hint(implementation).filter(|_| !known))
        })?;
    }
    Ok(())
}

/// The settings of an implementation, for a message.
fn settings_hint(implementation: &dyn Implementation) -> Option<String> {
    let names: Vec<_> = implementation.settings().iter().map(|setting| setting.name).collect();
    let slug = implementation.slug();
    Some(if names.is_empty() {
        format!("{slug} has no settings")
    } else {
        format!("settings of {slug}: {}", names.join(", "))
    })
}
