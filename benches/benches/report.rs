//! Writing each report of a large record, compared with serializing the record.

#![expect(clippy::print_stdout, reason = "the ratio is the result")]

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use proofmark::judge;
use proofmark::protocol::report_formats;
use proofmark::record::{Asked, RunRecord, SCHEMA, Summary, TargetConfig, TargetRecord};
use proofmark::report::Format;
use proofmark::verdict::Profile;
use proofmark_benches::{CASES, Cost, Server, Work, knowledge, run, side_by_side, target};

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let (live, record) = record();
    let mut group = criterion.benchmark_group("report");
    let mut lines = Vec::new();
    for format in &report_formats() {
        let size = write(format, &record).len();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format.name, |bencher| bencher.iter(|| write(format, &record)));
        let ratio = side_by_side(
            11,
            || Cost::of_thread(|| write(format, &record)).0,
            || Cost::of_thread(|| serialize(&record)).0,
        );
        lines.push((format.name, size, ratio));
    }
    group.finish();
    println!("writing a record of {CASES} cases, compared with serializing it (less is better)");
    let mut total = 0.0;
    for (name, size, ratio) in lines {
        let first = ratio.processor.first.as_secs_f64();
        total += first;
        println!("  {name:<9} {ratio}: {:.1} MB at {:.0} MB/s", size as f64 / 1e6, size as f64 / 1e6 / first);
    }
    println!(
        "  all of them take {:.0} % of the processor time of the run that they report on, server included",
        100.0 * total / live
    );
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

/// A record as `check` makes it, and the seconds of processor time that the run took.
fn record() -> (f64, RunRecord) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started");
    let knowledge = knowledge(Work::Write, CASES);
    let server = Server::start();
    let (cost, _, judged) = run(&runtime, &knowledge, &target(&server.url));
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: env!("CARGO_PKG_VERSION").to_owned(),
        evidence: None,
        seed: 1,
        identity_seed: 1,
        profile: Profile::Lenient,
        started_at: "2026-01-02T03:04:05.000Z".to_owned(),
        asked: Asked::default(),
        target: TargetRecord {
            kind: proofmark::exchange::TargetClass::Endpoint,
            name: server.url.to_string(),
            declared: BTreeMap::new(),
            config: TargetConfig::default(),
        },
        protocols: vec![judged],
        baseline: None,
        summary: Summary::default(),
    };
    judge::conclude(&mut record);
    (cost.processor.as_secs_f64(), record)
}
