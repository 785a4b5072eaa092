//! The speed of the targets without a fuzzer: each runs over its corpus for a second, and then only its
//! decoder.
//!
//!     cargo run --manifest-path fuzz/Cargo.toml --example rate [TARGET...]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark::protocol::amp_core::frame::{Framing, decode};
use proofmark::source::Source;
use proofmark::suite::read_suite;
use proofmark::template::Template;
use proofmark::transport::frame::{self, Side};
use proofmark::wire::{cbor, json};
use proofmark::{target, vector};
use proofmark_fuzz::TARGETS;

/// How long each loop runs.
const TIME: Duration = Duration::from_secs(1);

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    println!("{:16} {:>10} {:>12} {:>8}", "target", "runs/s", "decoder/s", "ratio");
    for target in TARGETS.iter().filter(|target| asked.is_empty() || asked.iter().any(|name| name == target.name)) {
        let inputs = inputs(target.name);
        let whole = rate(&inputs, target.run);
        match bare(target.name) {
            Some(decoder) => {
                let alone = rate(&inputs, decoder);
                println!("{:16} {whole:>10.0} {alone:>12.0} {:>8.0}", target.name, alone / whole);
            }
            None => println!("{:16} {whole:>10.0} {:>12} {:>8}", target.name, "-", "-"),
        }
    }
}

fn inputs(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = std::fs::read_dir(folder).expect("a target has seeds");
    entries.flatten().filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
}

/// Inputs a second.
fn rate(inputs: &[Vec<u8>], run: fn(&[u8])) -> f64 {
    // One-time setup, such as a reference, happens here.
    inputs.iter().take(1).for_each(|input| run(input));
    let (begun, mut runs) = (Instant::now(), 0_u32);
    for input in inputs.iter().cycle() {
        run(input);
        runs += 1;
        if begun.elapsed() >= TIME {
            break;
        }
    }
    f64::from(runs) / begun.elapsed().as_secs_f64()
}

/// The decoder of a target, if it has a single one.
fn bare(name: &str) -> Option<fn(&[u8])> {
    fn source(data: &[u8]) -> Arc<Source> {
        Arc::new(Source { name: "x".to_owned(), text: String::from_utf8_lossy(data).into_owned().into() })
    }
    Some(match name {
        "agentic_message" | "canonical" | "json_reader" => |data| drop(json::read(data)),
        "amp_envelope" | "cbor_decode" => |data| drop(cbor::read(data, cbor::Limits::default())),
        "suite_parse" => |data| drop(read_suite(&source(data))),
        "target_parse" => |data| drop(target::load(&source(data), &proofmark::protocol::url_schemes())),
        "tcp_frames" => |data| drop(decode(data, Framing::Typed, 1 << 20)),
        "template" => |data| drop(Template::parse(&String::from_utf8_lossy(data))),
        "vector_parse" => |data| drop(vector::load(&source(data), &proofmark::protocol::vector_kinds())),
        "ws_frames" => |data| drop(frame::decode(data, Side::Client, 1 << 20)),
        _ => return None,
    })
}
