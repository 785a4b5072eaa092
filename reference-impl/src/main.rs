//! The reference implementation as a program: `proofmark-reference [OPTION VALUE]...`.
//!
//! It prints `listening on URL` when it is ready, and serves until it is killed. With `--adapter` it is a library
//! behind stdin and stdout instead. The `proofmark` program offers the same as `proofmark serve`.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use reference_impl::{Config, Database, Protocol, Role, Variant};

const USAGE: &str = "usage: proofmark-reference [--protocol agentic|amp-core] [--listen ADDRESS] [--db FILE]
       [--fault NAME] [--variant own|other] [--auth KEY=ACTOR]... [--now INSTANT] [--adapter]
   agentic: [--level L0..L3] [--search on|off] [--load FILE]
   amp-core: [--tcp ADDRESS|off] [--role agent|relay|both] [--control on|off] [--documents FILE]...
       [--trusted-relay DID]... [--seed HEX] [--did DID] [--ack-timeout MILLISECONDS]
";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Nothing is left to do if even the message cannot be written.
            writeln!(std::io::stderr(), "proofmark-reference: {message}").ok();
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<(), String> {
    let mut config = Config::new(Protocol::Agentic);
    let mut adapter = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        if option == "--help" {
            return std::io::stdout().write_all(USAGE.as_bytes()).map_err(|error| error.to_string());
        }
        if option == "--adapter" {
            adapter = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"))?;
        set(&mut config, &option, value)?;
    }
    if adapter {
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        return reference_impl::serve_adapter(config, input, output).await.map_err(|error| error.to_string());
    }
    let handle = reference_impl::serve(config).await.map_err(|error| error.to_string())?;
    let mut out = std::io::stdout();
    let frames = handle.tcp_address().map_or_else(String::new, |address| format!(" and amp://{address}"));
    let announced = writeln!(out, "listening on {}{frames}", handle.url()).and_then(|()| out.flush());
    announced.map_err(|error| error.to_string())?;
    handle.wait().await;
    Ok(())
}

fn set(config: &mut Config, option: &str, value: String) -> Result<(), String> {
    match option {
        "--listen" => {
            let address = value.parse();
            config.listen = address.map_err(|_| format!("not an address: {value:?}"))?;
        }
        "--db" => config.database = Database::File(value.into()),
        "--fault" => config.fault = Some(value),
        "--variant" => {
            let known = Variant::ALL.into_iter().find(|variant| variant.name() == value);
            config.variant = known.ok_or_else(|| format!("neither own nor other: {value:?}"))?;
        }
        "--protocol" => {
            let known = reference_impl::protocols().iter().find(|protocol| protocol.slug() == value);
            config.protocol = *known.ok_or_else(|| format!("no protocol {value:?}"))?;
        }
        "--level" => config.level = Some(value),
        "--search" => config.search = on_or_off(&value)?,
        "--auth" => {
            let (key, actor) = value.split_once('=').ok_or("--auth wants KEY=ACTOR")?;
            config.auth.push((key.to_owned(), actor.to_owned()));
        }
        "--now" => config.now = Some(value),
        "--load" => config.load = Some(value.into()),
        _ => return set_amp(config, option, value),
    }
    Ok(())
}

fn set_amp(config: &mut Config, option: &str, value: String) -> Result<(), String> {
    let amp = &mut config.amp;
    match option {
        "--tcp" if value == "off" => amp.tcp = None,
        "--tcp" => amp.tcp = Some(value.parse().map_err(|_| format!("not an address: {value:?}"))?),
        "--role" => {
            let known = Role::ALL.into_iter().find(|role| role.name() == value);
            amp.role = known.ok_or_else(|| format!("neither agent nor relay nor both: {value:?}"))?;
        }
        "--control" => amp.control = on_or_off(&value)?,
        "--documents" => {
            let text = std::fs::read_to_string(&value);
            amp.documents.push(text.map_err(|error| format!("{value}: {error}"))?);
        }
        "--trusted-relay" => amp.trusted_relays.push(value),
        "--seed" => amp.seed = Some(seed(&value).ok_or_else(|| format!("not 64 hexadecimal digits: {value:?}"))?),
        "--did" => amp.did = Some(value),
        "--ack-timeout" => {
            let milliseconds = value.parse().map_err(|_| format!("not a number of milliseconds: {value:?}"))?;
            amp.ack_timeout = Duration::from_millis(milliseconds);
        }
        _ => return Err(format!("no option {option}\n{USAGE}")), // not one of ours
    }
    Ok(())
}

fn seed(digits: &str) -> Option<[u8; 32]> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?.try_into().ok()
}

fn on_or_off(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("neither on nor off: {value:?}")), // any other word
    }
}
