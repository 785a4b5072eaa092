//! The reference implementation as a program: `proofmark-reference [OPTION VALUE]...`.
//!
//! It prints `listening on URL` when it is ready, and serves until it is killed. With `--adapter` it is a library
//! behind stdin and stdout instead. The `proofmark` program offers the same as `proofmark serve`.

use std::io::Write;
use std::process::ExitCode;

use reference_impl::{Config, Database, Protocol, Variant};

const USAGE: &str = "usage: proofmark-reference [--listen ADDRESS] [--db FILE] [--fault NAME] [--variant own|other]
       [--level L0..L3] [--search on|off] [--auth KEY=ACTOR]... [--now INSTANT] [--load FILE] [--adapter]
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
    let announced = writeln!(out, "listening on {}", handle.url()).and_then(|()| out.flush());
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
        "--level" => config.level = Some(value),
        "--search" => config.search = on_or_off(&value)?,
        "--auth" => {
            let (key, actor) = value.split_once('=').ok_or("--auth wants KEY=ACTOR")?;
            config.auth.push((key.to_owned(), actor.to_owned()));
        }
        "--now" => config.now = Some(value),
        "--load" => config.load = Some(value.into()),
        _ => return Err(format!("no option {option}\n{USAGE}")), // not one of ours
    }
    Ok(())
}

fn on_or_off(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("neither on nor off: {value:?}")), // any other word
    }
}
