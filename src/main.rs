//! The `proofmark` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    proofmark::cli::main()
}
