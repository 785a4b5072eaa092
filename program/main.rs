//! The `proofmark` program: the library with the suites and vectors of this repository embedded.

use std::process::ExitCode;

use proofmark::bundle::Bundle;
use proofmark::cli::Program;

/// A third of the work of judging is small allocations, which the allocator of the system is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    proofmark::cli::main(&Program::new(Bundle::embedded(proofmark_data::FILES)))
}
