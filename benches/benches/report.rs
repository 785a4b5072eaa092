//! Writing each report of a large record, beside serializing the record.

#![expect(clippy::print_stdout, reason = "the ratio is the result")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use proofmark::judge;
use proofmark::record::{Asked, RunRecord, SCHEMA, Summary, TargetConfig, TargetRecord};
use proofmark::report::{FORMATS, Format};
use proofmark::verdict::Profile;
use proofmark_benches::{CASES, Server, Work, knowledge, run, side_by_side, target};

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let (live, record) = record();
    let mut group = criterion.benchmark_group("report");
    let mut lines = Vec::new();
    for format in FORMATS {
        let size = write(format, &record).len();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format.name, |bencher| bencher.iter(|| write(format, &record)));
        let ratio = side_by_side(11, || time(|| write(format, &record)), || time(|| serialize(&record)));
        lines.push((format.name, size, ratio));
    }
    group.finish();
    println!("writing a record of {CASES} cases, beside serializing it (less is better)");
    let mut total = 0.0;
    for (name, size, ratio) in lines {
        total += ratio.first.as_secs_f64();
        println!(
            "  {name:<9} {ratio}: {:.1} MB at {:.0} MB/s",
            size as f64 / 1e6,
            size as f64 / 1e6 / ratio.first.as_secs_f64()
        );
    }
    println!("  all of them take {:.0} % of the time of the run that they report on", 100.0 * total / live);
    criterion.final_summary();
}

fn write(format: &Format, record: &RunRecord) -> Vec<u8> {
    let mut out = Vec::new();
    (format.write)(record, &mut out).expect("memory can be written to");
    black_box(out)
}

fn serialize(record: &RunRecord) -> Vec<u8> {
    black_box(serde_json::to_vec(record).expect("a record is JSON"))
}

fn time(work: impl Fn() -> Vec<u8>) -> std::time::Duration {
    let begun = Instant::now();
    drop(work());
    begun.elapsed()
}

/// A record as `check` makes it, and the seconds that the run took.
fn record() -> (f64, RunRecord) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started");
    let knowledge = knowledge(Work::Write, CASES);
    let server = Server::start();
    let (elapsed, _, judged) = run(&runtime, &knowledge, &target(&server.url));
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 1,
        identity_seed: 1,
        profile: Profile::Lenient,
        started_at: "2026-01-02T03:04:05.000Z".to_owned(),
        asked: Asked::default(),
        target: TargetRecord {
            kind: "endpoint".to_owned(),
            name: server.url.to_string(),
            declared: BTreeMap::new(),
            config: TargetConfig::default(),
        },
        protocols: vec![judged],
        summary: Summary::default(),
    };
    judge::conclude(&mut record);
    (elapsed.as_secs_f64(), record)
}
