//! The `proofmark` program.

use std::process::ExitCode;

/// A third of the work of judging is small allocations, which the allocator of the system is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    proofmark::cli::main()
}
