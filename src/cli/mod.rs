//! The command line: one file per command. The only module that uses the reference implementation.

mod adapter;
mod args;
mod baseline;
mod check;
mod compare;
mod data;
mod embedded;
mod exit;
mod explain;
mod explore;
mod exploring;
mod fuzz;
mod hooks;
mod init;
mod interrupt;
mod launch;
mod list;
mod merge;
mod new_adapter;
mod pages;
mod program;
mod prove;
mod prove_explore;
mod record;
pub mod reference;
mod report;
mod rerun;
mod schema;
mod serve;
mod spellings;
mod start;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

pub use args::Arguments;
pub use exit::{Failure, USAGE};
pub use program::Program;

/// Runs the command that the process was started with.
pub fn main(program: &Program) -> ExitCode {
    ExitCode::from(execute(std::env::args_os(), program))
}

/// Runs one command line, the name of the program included, and prints its errors. Returns the exit code.
pub fn execute(words: impl IntoIterator<Item = OsString>, program: &Program) -> u8 {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { USAGE } else { 0 };
        }
    };
    run(arguments, program).unwrap_or_else(|failure| {
        failure.print();
        failure.code()
    })
}

fn run(arguments: Arguments, program: &Program) -> Result<u8, Failure> {
    use args::Command;
    match arguments.command {
        Command::Check(options) if options.watch => rerun::run(&options),
        Command::Check(options) => check::run(&options, program),
        Command::Fuzz(options) => fuzz::run(&options, program),
        Command::Explore(options) => explore::run(&options, program),
        Command::Promote(options) => fuzz::promote(&options, program),
        Command::Serve(options) => serve::run(options, program),
        Command::Adapter(options) => match &options.command {
            Some(args::AdapterCommand::Check(check)) => adapter::check(check, program),
            Some(args::AdapterCommand::Methods(methods)) => adapter::methods(methods, program),
            None => serve::adapter(&options, program),
        },
        Command::Prove(options) => prove::run(&options, program),
        Command::Lint(options) => data::lint(&options, program),
        Command::Vectors(options) => data::vectors(&options, program),
        Command::List(options) => list::list(&options, program),
        Command::Coverage(options) => list::coverage(&options, program),
        Command::Explain(options) => explain::run(&options, program),
        Command::Schema(options) => schema::run(&options),
        Command::ReferencePages(options) => pages::run(&options, program),
        Command::Init(options) => init::run(&options, program),
        Command::New(options) => init::new(&options, program),
        Command::Rejudge(options) => report::rejudge(&options, program),
        Command::Baseline(options) => match &options.command {
            args::BaselineCommand::Update(update) => baseline::update(update),
        },
        Command::Compare(options) => compare::run(&options),
        Command::Report(options) => match &options.command {
            Some(args::ReportCommand::Merge(merge)) => merge::run(merge, program),
            None => report::run(&options),
        },
        Command::Completions(options) => {
            let mut command = <Arguments as clap::CommandFactory>::command();
            clap_complete::generate(options.shell, &mut command, "proofmark", &mut std::io::stdout());
            Ok(0)
        }
    }
}
