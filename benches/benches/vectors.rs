//! Confirming every vector, compared with the SHA-256 of the same bytes.

#![expect(clippy::print_stdout, reason = "the ratio is the result")]

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use proofmark::bundle::Bundle;
use proofmark::protocol::{self, Protocol};
use proofmark::vector::{self, VectorFile};
use proofmark_benches::{Cost, side_by_side};
use sha2::{Digest, Sha256};

/// One pass is too short for the clock.
const PASSES: usize = 20;

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let bundle = Bundle::new(proofmark_data::FILES);
    let files: Vec<(&dyn Protocol, VectorFile)> = protocol::ALL
        .iter()
        .flat_map(|protocol| bundle.files(protocol.slug(), ".json").into_iter().map(|file| (*protocol, file)))
        .map(|(protocol, file)| {
            (protocol, vector::load(file, protocol.vector_kinds()).expect("the embedded vectors have no mistakes"))
        })
        .collect();
    let inputs: Vec<&str> = files.iter().flat_map(|(_, file)| &file.vectors).map(input).collect();
    let bytes: usize = inputs.iter().map(|input| input.len()).sum();
    let confirm = || {
        let work = || {
            for _ in 0..PASSES {
                let confirmed: usize = files.iter().map(|(protocol, file)| confirm_all(file, *protocol)).sum();
                assert_eq!(black_box(confirmed), inputs.len(), "a vector is not confirmed");
            }
        };
        Cost::of_thread(work).0
    };
    let hash = || {
        let work = || {
            for input in inputs.iter().cycle().take(PASSES * inputs.len()) {
                black_box(Sha256::digest(input));
            }
        };
        Cost::of_thread(work).0
    };
    let mut group = criterion.benchmark_group("vectors");
    group.throughput(Throughput::Elements((PASSES * inputs.len()) as u64));
    group.bench_function("confirm", |bencher| bencher.iter_custom(|rounds| (0..rounds).map(|_| confirm().wall).sum()));
    group.bench_function("sha256", |bencher| bencher.iter_custom(|rounds| (0..rounds).map(|_| hash().wall).sum()));
    group.finish();
    let ratio = side_by_side(21, confirm, hash);
    println!(
        "confirming {} vectors ({bytes} bytes), compared with SHA-256 of their bytes (less is better)",
        inputs.len()
    );
    println!(
        "  {ratio}\n  {:.0} vectors/s, {:.0} hashes/s",
        (PASSES * inputs.len()) as f64 / ratio.processor.first.as_secs_f64(),
        (PASSES * inputs.len()) as f64 / ratio.processor.second.as_secs_f64(),
    );
    criterion.final_summary();
}

fn confirm_all(file: &VectorFile, protocol: &dyn Protocol) -> usize {
    let form = protocol.codec().canonical_form();
    file.vectors.iter().filter(|vector| file.kind.confirm(vector, form).is_ok()).count()
}

/// The input of a vector, as in its file.
fn input(vector: &vector::Vector) -> &str {
    ["input", "input_hex"].into_iter().find_map(|key| vector.text(key).ok()).expect("every kind has an input")
}
