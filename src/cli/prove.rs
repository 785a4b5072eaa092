//! `prove`: what the suites catch, with the reference implementation as the subject.

use std::any::Any;
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::pin::Pin;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::{DataFormat, ProveOptions};
use super::check::{now, random};
use super::exit::Failure;
use super::reference::{self, Reference, Setup};
use super::{data, init};
use crate::judge::Facts;
use crate::protocol::amp_core::identity::Identity;
use crate::prove::{self, Fault, Options, Progress, Running, Setting, Subject};
use crate::report::files;
use crate::target::{self, Credential, SECOND_INSTANCE, Target};
use crate::verdict::Profile;

/// The files that a proof is written to.
const FILES: [&str; 3] = ["proof.json", "proof.md", "matrix.csv"];

/// Proves the suites of each protocol that has a reference implementation.
pub(super) fn run(options: &ProveOptions) -> Result<u8, Failure> {
    let known = data::knowledge(&options.data)?;
    let mut code = 0;
    for knowledge in &known {
        let slug = knowledge.protocol.slug();
        let folder = options.out.join(slug);
        for name in FILES {
            files::remove(&folder.join(name))?;
        }
        let Some(protocol) = reference::protocol(slug) else {
            return Err(Failure::usage(format!("there is no reference implementation of `{slug}` yet")));
        };
        for fault in &options.fault {
            reference::check_fault(protocol, fault)?;
        }
        let begun = Instant::now();
        let (clock, _) = now();
        let seed = options.seed.unwrap_or_else(random);
        let lines = init::fixture(knowledge, clock.0).unwrap_or_default();
        let fixture = tempfile::NamedTempFile::new()?;
        std::fs::write(fixture.path(), lines)?;
        let subject = Embedded { protocol, fixture: fixture.path() };
        let proof = prove::prove(
            knowledge,
            &subject,
            &Options {
                facts: Facts { seed, identity_seed: seed, clock, profile: Profile::Lenient },
                begun,
                faults: options.fault.clone(),
                all_cases: options.all_cases,
                wire: options.wire,
                jobs: options
                    .jobs
                    .unwrap_or_else(|| 4 * std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get)),
            },
            &Bar::new(options.quiet, slug),
        )
        .map_err(Failure::Internal)?;
        let mut json = serde_json::to_vec_pretty(&proof).map_err(|error| Failure::Internal(error.to_string()))?;
        json.push(b'\n');
        let mut markdown = Vec::new();
        prove::write_markdown(&proof, &mut markdown)?;
        let mut csv = Vec::new();
        prove::write_csv(&proof, &mut csv)?;
        for (name, bytes) in FILES.iter().zip([&json, &markdown, &csv]) {
            files::write_bytes(&folder.join(name), bytes)?;
        }
        let mut out = anstream::stdout();
        match options.format {
            DataFormat::Json => out.write_all(&json)?,
            DataFormat::Text => {
                writeln!(out, "{slug}: {} cases, {} faults", proof.cases.len(), proof.faults.len())?;
                prove::write_text(&proof, &mut out)?;
                let names: Vec<String> = FILES.iter().map(|name| folder.join(name).display().to_string()).collect();
                writeln!(out, "Written: {}", names.join("  "))?;
            }
        }
        if !proof.problems.is_empty() {
            code = 1;
        }
    }
    Ok(code)
}

/// The embedded reference implementation of one protocol.
struct Embedded<'f> {
    protocol: reference_impl::Protocol,
    /// NDJSON for a server that takes no writes.
    fixture: &'f Path,
}

/// The ordinary setting.
const DEFAULT: &str = "default";
/// Credentials are demanded.
const AUTH: &str = "auth";
/// There is no search.
const NO_SEARCH: &str = "no-search";
/// Level L0, with a fixture.
const READ_ONLY: &str = "read-only";

/// Other readings.
const OTHER: &str = "other";

/// Who has which key where credentials are demanded: the actor of a case, the key, and who the subject takes its owner for.
fn keys(protocol: reference_impl::Protocol) -> Vec<(&'static str, &'static str, String)> {
    match protocol {
        reference_impl::Protocol::AmpCore => {
            ["alice", "bob", "carol"].map(|name| (name, name, Identity::named(name).did().to_owned())).into()
        }
        _ => vec![("a", "key-a", "pm-actor-a".to_owned()), ("b", "key-b", "pm-actor-b".to_owned())],
    }
}

/// The setting in which credentials are demanded of everybody.
fn with_credentials(protocol: reference_impl::Protocol, mut setting: Setting) -> Setting {
    let target = &mut setting.target;
    let option = if protocol == reference_impl::Protocol::AmpCore { "principals" } else { "auth" };
    target.options.insert(option.to_owned(), true);
    let all = keys(protocol).into_iter().map(|(actor, key, _)| (actor, key)).chain([("wrong", "not-a-key")]);
    for (actor, key) in all {
        let credential = Credential { header: "authorization".to_owned(), value: format!("Bearer {key}") };
        target.credentials.insert(actor.to_owned(), vec![credential]);
    }
    reference::describe(protocol, target);
    setting
}

impl Subject for Embedded<'_> {
    fn faults(&self) -> Vec<Fault> {
        reference_impl::faults(self.protocol)
            .iter()
            .map(|fault| Fault {
                name: fault.name.to_owned(),
                summary: fault.summary.to_owned(),
                level: fault.level.to_owned(),
                breaks: fault.breaks.iter().map(|id| (*id).to_owned()).collect(),
                setting: match fault.needs {
                    reference_impl::Needs::Credentials => AUTH,
                    _ => DEFAULT,
                }
                .to_owned(),
            })
            .collect()
    }

    fn settings(&self) -> Vec<Setting> {
        let setting = |name: &str, about: &str| {
            let mut target = Target::new("reference", "the embedded reference implementation");
            // Every start of it has addresses of its own.
            target.url = url::Url::parse("http://127.0.0.1:1").ok();
            target.tcp = target::parse_tcp("127.0.0.1:1").ok();
            target.adapter = Some(vec!["the reference".to_owned()]);
            target.options.insert(SECOND_INSTANCE.to_owned(), true);
            reference::describe(self.protocol, &mut target);
            Setting { name: name.to_owned(), about: about.to_owned(), tolerated: false, target }
        };
        let mut settings = vec![setting(DEFAULT, "as it is")];
        let other = Setting { tolerated: true, ..setting(OTHER, "every other reading that the errata tolerate") };
        settings.push(with_credentials(self.protocol, setting(AUTH, "credentials are demanded")));
        if self.protocol == reference_impl::Protocol::Agentic {
            settings.push(setting(NO_SEARCH, "neither search is there"));
            settings.push(setting(READ_ONLY, "level L0, with the fixture"));
        }
        settings.push(other);
        settings
    }

    fn start<'s>(
        &'s self,
        setting: &'s Setting,
        fault: Option<&'s str>,
    ) -> Pin<Box<dyn Future<Output = Result<Running, String>> + 's>> {
        Box::pin(async move {
            let mut target = setting.target.clone();
            let mut setup = Setup { fault: fault.map(str::to_owned), ..Setup::default() };
            match setting.name.as_str() {
                AUTH => {
                    let keys = keys(self.protocol).into_iter();
                    setup.auth = keys.map(|(_, key, who)| (key.to_owned(), who)).collect();
                }
                NO_SEARCH => setup.no_search = true,
                OTHER => setup.variant = reference_impl::Variant::Other,
                READ_ONLY => {
                    setup.level = Some("L0".to_owned());
                    setup.load = Some(self.fixture.to_owned());
                }
                _ => {}
            }
            let started = Reference::start(self.protocol, &setup, &mut target).await;
            let (reference, connections) = started.map_err(|failure| failure.message())?;
            let keep: Box<dyn Any> = Box::new(());
            Ok(Running { connections, stop: Box::pin(reference.stop()), keep })
        })
    }
}

/// Shows how far a proof is.
struct Bar {
    bar: ProgressBar,
    slug: String,
    plain: bool,
}

impl Bar {
    fn new(quiet: bool, slug: &str) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = if terminal && !quiet {
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg} {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(slug.to_owned());
        Self { bar, slug: slug.to_owned(), plain: !terminal && !quiet }
    }
}

impl Progress for Bar {
    fn part(&self, what: &str, pieces: usize) {
        self.bar.set_position(0);
        self.bar.set_length(pieces as u64);
        self.bar.set_message(what.to_owned());
        if self.plain {
            let _ = writeln!(anstream::stderr(), "{}: {what} ({pieces})", self.slug);
        }
    }

    fn piece(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
