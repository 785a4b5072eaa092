//! Judging a stored transcript, compared with reading the bodies of its answers once as JSON.

#![expect(clippy::print_stdout, reason = "the ratio is the result")]

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use proofmark::judge;
use proofmark::plan::{self, Selection};
use proofmark::walk::{Context, Features};
use proofmark_benches::{CASES, Cost, Server, Work, clock, knowledge, run, side_by_side, target};

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started");
    let knowledge = knowledge(Work::Write, CASES);
    let (live, transcript, target) = {
        let server = Server::start();
        let target = target(&server.url);
        let (cost, transcript, _) = run(&runtime, &knowledge, &target);
        (cost, transcript, target)
    };
    let plan = plan::build(&knowledge, &target, &Selection::default());
    let bodies: Vec<&[u8]> = transcript
        .cases
        .iter()
        .flatten()
        .flat_map(|case| &case.exchanges)
        .map(|exchange| exchange.received.body.0.as_slice())
        .collect();
    let judge = || {
        let work = || {
            let features = Features::read(&plan, clock(), &transcript);
            judge::protocol(&Context { plan: &plan, facts: clock(), features }, &transcript)
        };
        black_box(Cost::of_thread(work)).0
    };
    let parse = || {
        let work = || bodies.iter().filter(|body| serde_json::from_slice::<serde_json::Value>(body).is_ok()).count();
        black_box(Cost::of_thread(work)).0
    };
    let mut group = criterion.benchmark_group("judge");
    group.throughput(Throughput::Elements(CASES as u64));
    group.bench_function("proofmark", |bencher| bencher.iter_custom(|rounds| (0..rounds).map(|_| judge().wall).sum()));
    group.bench_function("reading the answers", |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| parse().wall).sum());
    });
    group.finish();
    let ratio = side_by_side(11, judge, parse);
    println!(
        "judging {CASES} stored cases, {} answers, compared with reading the answers once (less is better)",
        bodies.len()
    );
    println!(
        "  {ratio}\n  {:.0} cases/s, {:.0} exchanges/s; {:.0} % of the processor time of the live run, server included",
        CASES as f64 / ratio.processor.first.as_secs_f64(),
        bodies.len() as f64 / ratio.processor.first.as_secs_f64(),
        100.0 * ratio.processor.first.as_secs_f64() / live.processor.as_secs_f64(),
    );
    criterion.final_summary();
}
