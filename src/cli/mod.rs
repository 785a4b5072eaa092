//! The command line: one file a command. The only place that names the reference implementation.

mod adapter;
mod args;
mod check;
mod data;
mod exit;
mod explain;
mod fuzz;
mod init;
mod list;
mod prove;
mod reference;
mod report;
mod schema;
mod serve;

use std::process::ExitCode;

use clap::Parser;

pub use args::Arguments;
pub use exit::{Failure, USAGE};

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match run(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code())
        }
    }
}

fn run(arguments: Arguments) -> Result<u8, Failure> {
    use args::Command;
    match arguments.command {
        Command::Check(options) => check::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Promote(options) => fuzz::promote(&options),
        Command::Serve(options) => serve::run(options),
        Command::Adapter(options) => match &options.command {
            Some(args::AdapterCommand::Check(check)) => adapter::check(check),
            None => serve::adapter(&options),
        },
        Command::Prove(options) => prove::run(&options),
        Command::Lint(options) => data::lint(&options),
        Command::Vectors(options) => data::vectors(&options),
        Command::List(options) => list::list(&options),
        Command::Coverage(options) => list::coverage(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::Init(options) => init::run(&options),
        Command::New(options) => init::new(&options),
        Command::Rejudge(options) => report::rejudge(&options),
        Command::Report(options) => report::run(&options),
        Command::Completions(options) => {
            let mut command = <Arguments as clap::CommandFactory>::command();
            clap_complete::generate(options.shell, &mut command, "proofmark", &mut std::io::stdout());
            Ok(0)
        }
    }
}
