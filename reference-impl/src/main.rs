//! The reference implementation as a program: `proofmark-reference [OPTION VALUE]...`.
//!
//! It prints `listening on URL` when it is ready, and serves until it is killed. With `--adapter` it is a library
//! behind stdin and stdout instead. The `proofmark` program offers the same as `proofmark serve`.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use proofmark_reference::{ALL, Config, Database, Implementation, Variant};

const USAGE: &str = "usage: proofmark-reference [--protocol SLUG] [--listen ADDRESS] [--db FILE] [--fault NAME]
       [--variant own|other] [--level LEVEL] [--clock INSTANT] [--set NAME=VALUE]... [--adapter]
";

/// The protocol without `--protocol`.
const DEFAULT: &str = "agentic";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // If even the message cannot be written, there is no way to report it.
            writeln!(std::io::stderr(), "proofmark-reference: {message}").ok();
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<(), String> {
    let mut adapter = false;
    let mut slug = DEFAULT.to_owned();
    let mut options = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        match option.as_str() {
            "--help" => return std::io::stdout().write_all(usage().as_bytes()).map_err(|error| error.to_string()),
            "--adapter" => adapter = true,
            _ => {
                let value = arguments.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"))?;
                if option == "--protocol" { slug = value } else { options.push((option, value)) }
            }
        }
    }
    let implementation = proofmark_reference::find(&slug).ok_or_else(|| format!("unknown protocol `{slug}`"))?;
    let mut config = implementation.config();
    for (option, value) in options {
        set(&mut config, &option, value)?;
    }
    if adapter {
        let (input, output) = (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()));
        return implementation.serve_adapter(config, input, output).await.map_err(|error| error.to_string());
    }
    let handle = implementation.serve(config).await.map_err(|error| error.to_string())?;
    let mut out = std::io::stdout();
    let urls: Vec<&str> = handle.addresses().iter().map(|(_, url)| url.as_str()).collect();
    let announced = writeln!(out, "listening on {}", urls.join(" and ")).and_then(|()| out.flush());
    announced.map_err(|error| error.to_string())?;
    handle.wait().await;
    Ok(())
}

fn set(config: &mut Config, option: &str, value: String) -> Result<(), String> {
    match option {
        "--listen" => config.listen = value.parse().map_err(|_| format!("--listen: invalid address `{value}`"))?,
        "--db" => config.database = Database::File(value.into()),
        "--fault" => config.fault = Some(value),
        "--variant" => {
            let known = Variant::ALL.into_iter().find(|variant| variant.name() == value);
            config.variant = known.ok_or_else(|| format!("--variant: expected own or other, got `{value}`"))?;
        }
        "--level" => config.level = Some(value),
        "--clock" => config.clock = Some(value),
        "--set" => {
            let (name, value) = value.split_once('=').ok_or("--set: expected NAME=VALUE")?;
            config.set(name, value).map_err(|error| error.to_string())?;
        }
        _ => return Err(format!("unknown option {option}\n{USAGE}")),
    }
    Ok(())
}

/// How the program is called, with the settings of each protocol.
fn usage() -> String {
    let mut text = USAGE.to_owned();
    for implementation in ALL {
        settings(&mut text, *implementation);
    }
    text
}

fn settings(text: &mut String, implementation: &dyn Implementation) {
    let slug = implementation.slug();
    let levels = implementation.levels().join(", ");
    let levels = if levels.is_empty() { levels } else { format!(" (levels {levels})") };
    // Writing to a string cannot fail.
    writeln!(text, "\n{slug}{levels}").ok();
    for setting in implementation.settings() {
        let repeats = if setting.repeats { "; may be repeated" } else { "" };
        let default = setting.default.map_or_else(String::new, |value| format!(" [default: {value}]"));
        let summary = setting.summary.trim_end_matches('.');
        writeln!(text, "  --set {}={}\n      {summary}{repeats}{default}", setting.name, setting.value.placeholder())
            .ok();
    }
}
