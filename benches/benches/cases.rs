//! Declared cases per second against a local server, compared with the raw client library for the same requests.

#![expect(clippy::print_stdout, reason = "the ratio is the result")]

use std::cell::RefCell;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, measurement::WallTime};
use proofmark_benches::{CASES, Client, Ratios, Server, Work, knowledge, run, side_by_side, target};
use tokio::runtime::Runtime;

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started");
    let mut group = criterion.benchmark_group("cases");
    group.sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_secs(1));
    let mut ratios = Vec::new();
    for work in [Work::Read, Work::Write] {
        ratios.push(one(&runtime, &mut group, work));
    }
    group.finish();
    println!(
        "declared cases compared with the raw client ({CASES} cases, both against the same server; less is better)"
    );
    for (work, requests, ratio) in ratios {
        let rate = |time: Duration, what: usize| format!("{:.0}/s", what as f64 / time.as_secs_f64());
        println!(
            "  {:<6} {ratio}\n         {} cases and {} requests of proofmark, {} requests of the client alone",
            work.name(),
            rate(ratio.wall.first, CASES),
            rate(ratio.wall.first, requests),
            rate(ratio.wall.second, requests),
        );
    }
    criterion.final_summary();
}

fn one(runtime: &Runtime, group: &mut BenchmarkGroup<'_, WallTime>, work: Work) -> (Work, usize, Ratios) {
    let knowledge = knowledge(work, CASES);
    // Each run has its own server: one run's packages would conflict with those of the next.
    let declared = || {
        let server = Server::start();
        let (cost, transcript, _) = run(runtime, &knowledge, &target(&server.url));
        (cost, transcript)
    };
    let (_, transcript) = declared();
    let requests = RefCell::new(0);
    let alone = || {
        let server = Server::start();
        let (cost, sent) = Client::new().send_again(runtime, &transcript, &server.url);
        *requests.borrow_mut() = sent;
        cost
    };
    alone();
    group.throughput(Throughput::Elements(CASES as u64));
    group.bench_function(format!("{}/proofmark", work.name()), |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| declared().0.wall).sum());
    });
    group.throughput(Throughput::Elements(*requests.borrow() as u64));
    group.bench_function(format!("{}/client alone", work.name()), |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| alone().wall).sum());
    });
    let ratio = side_by_side(11, || declared().0, alone);
    (work, requests.into_inner(), ratio)
}
