//! Target files: any text is a target or mistakes that can be printed, written values are read back, and no secret is shown.
//!
//! The input is used twice: as a text, and as the choices for a target file, once as YAML and once as JSON, which is
//! YAML too.

use std::fmt::Write as _;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use proofmark::exchange::Transport;
use proofmark::protocol;
use proofmark::target::{self, Target, parse_duration, parse_tcp};
use serde_json::json;

use crate::{generate, mistakes};

/// An environment variable that is always set, used as a secret.
const SECRET: &str = "PATH";

/// Checks one input.
///
/// # Panics
///
/// If a mistake has no message or place, a target cannot be reached, a value is read differently than it was written, or the
/// secret is shown.
pub fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        // A target file may name other files, and not every file ends.
        if !text.contains("/dev/") && !text.contains("/proc/") {
            look(text);
            let _ = (parse_tcp(text, &protocol::url_schemes()), parse_duration(text));
        }
    }
    if let Ok(wanted) = made(&mut Unstructured::new(data)) {
        for text in [wanted.yaml(), wanted.json()] {
            let target = look(&text).unwrap_or_else(|| panic!("a good target file is refused:\n{text}"));
            wanted.check(&target, &text);
        }
    }
}

fn look(text: &str) -> Option<Target> {
    let mut target = mistakes::none(target::load(&mistakes::source("target.yaml", text), &protocol::url_schemes()))?;
    let reached = |target: &Target| Transport::ALL.into_iter().any(|transport| target.is_reached_over(transport));
    assert!(reached(&target), "it cannot be reached:\n{text}");
    for slug in ["agentic", "amp-core"] {
        protocol::complete(protocol::find(slug).expect("it is implemented"), &mut target);
    }
    assert!(reached(&target), "it cannot be reached any more:\n{text}");
    for credential in target.credentials.values().flatten() {
        let secret = std::env::var(SECRET).unwrap_or_default();
        assert!(secret.is_empty() || !format!("{credential:?}").contains(&secret), "a secret is shown");
    }
    Some(target)
}

/// A target file, and the values to be read from it.
#[derive(Debug)]
struct Wanted {
    name: String,
    host: String,
    port: u16,
    tls: bool,
    request: (u32, &'static str),
    status: u16,
    aliases: Vec<u16>,
    reason: String,
    option: bool,
}

fn made(u: &mut Unstructured<'_>) -> Result<Wanted> {
    Ok(Wanted {
        name: generate::printable(u.arbitrary()?),
        host: (*u.choose(&["localhost", "127.0.0.1", "[::1]", "agent.example.com", "a-b.c"])?).to_owned(),
        port: u.arbitrary()?,
        tls: u.arbitrary()?,
        request: (u.arbitrary()?, *u.choose(&["ms", "s", "m"])?),
        status: u.arbitrary()?,
        aliases: u.arbitrary()?,
        reason: generate::printable(u.arbitrary()?),
        option: u.arbitrary()?,
    })
}

impl Wanted {
    fn tcp(&self) -> String {
        format!("{}://{}:{}", if self.tls { "amps" } else { "amp" }, self.host, self.port)
    }

    fn request(&self) -> Duration {
        let (number, unit) = self.request;
        Duration::from_millis(
            u64::from(number)
                * match unit {
                    "ms" => 1,
                    "s" => 1000,
                    _ => 60_000,
                },
        )
    }

    fn json(&self) -> String {
        json!({
            "name": self.name,
            "tcp": self.tcp(),
            "features": { "batch": self.option },
            "statuses": { self.status.to_string(): self.aliases },
            "limits": { "request": format!("{}{}", self.request.0, self.request.1) },
            "credentials": { "a": { "env": SECRET, "prefix": "Bearer " } },
            "waivers": [{ "case": "*", "reason": self.reason }],
        })
        .to_string()
    }

    fn yaml(&self) -> String {
        let mut text = format!("tcp: \"{}\"\nlimits:\n  request: {}{}\n", self.tcp(), self.request.0, self.request.1);
        // A JSON string is a double-quoted scalar of YAML.
        let (name, reason) = (json!(self.name), json!(self.reason));
        write!(text, "name: {name}\nwaivers:\n- case: '*'\n  reason: {reason}\nstatuses:\n  {}: [", self.status)
            .expect("a string grows");
        for alias in &self.aliases {
            write!(text, "{alias}, ").expect("a string grows");
        }
        write!(
            text,
            "]\nfeatures: {{ batch: {} }}\ncredentials:\n  a:\n    env: {SECRET}\n    prefix: 'Bearer '\n",
            self.option
        )
        .expect("a string grows");
        text
    }

    fn check(&self, target: &Target, text: &str) {
        let tcp = target.tcp.as_ref().map(|tcp| (tcp.host.as_str(), tcp.port, tcp.tls));
        assert_eq!(tcp, Some((self.host.as_str(), self.port, self.tls)), "{text}");
        assert_eq!(target.name, self.name, "{text}");
        assert_eq!(target.limits.request, self.request(), "{text}");
        assert_eq!(target.statuses.get(&self.status), Some(&self.aliases), "{text}");
        assert!(self.aliases.iter().all(|alias| target.status(*alias) == self.status), "{text}");
        assert_eq!(target.options.get("batch"), Some(&self.option), "{text}");
        assert_eq!(
            target.waivers.iter().map(|waiver| waiver.reason.as_str()).collect::<Vec<_>>(),
            [&self.reason],
            "{text}"
        );
        let secret = std::env::var(SECRET).unwrap_or_default();
        let credentials = target.credentials.get("a").map_or(&[][..], Vec::as_slice);
        assert!(credentials.iter().any(|credential| credential.value == format!("Bearer {secret}")), "{text}");
    }
}
