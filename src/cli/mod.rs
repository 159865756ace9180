//! Owns the command line: arguments, streams, clock, progress, exit codes; one file a command.
//!
//! Refuses to decide: commands call the rooms below and show what they say. Invariant: only this room prints, and only
//! it reads the environment; the exit code is the worst of all that was asked for, by [`Outcome::worst`].

mod challenge;
mod diff;
mod explain;
#[cfg(feature = "export")]
mod export;
mod extract;
mod freeze;
mod list;
mod outcome;
mod progress;
mod replay;
mod show;
mod verify_export;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::name::escape;

pub use outcome::Outcome;

/// Freeze, verify and cite evidence of tool calls.
#[derive(Debug, Parser)]
#[command(name = "exhibit", version, about, max_term_width = 100, after_help = outcome::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List a ZIP's entries and everything that readers could take differently
    List(list::Arguments),
    /// Verify a release or an archive, packed or extracted: inventory, receipt, retained runs
    VerifyExport(verify_export::Arguments),
    /// Decide recorded calls against the ledger's rules, starting no server: what each lost reply means
    Replay(replay::Arguments),
    /// Forge a run in memory in every known way, and show which forgeries the evidence would give away
    Challenge(challenge::Arguments),
    /// Freeze a run's folder into an archive and a receipt
    Freeze(freeze::Arguments),
    /// Export a clean commit as a release and a receipt
    #[cfg(feature = "export")]
    Export(export::Arguments),
    /// Verify a release's ZIP and unpack it with exact modes, all or nothing
    Extract(extract::Arguments),
    /// Write one verified file of a release, archive or folder to standard output
    Show(show::Arguments),
    /// Say what differs between two trees, in ZIPs or folders, down to lines
    Diff(diff::Arguments),
    /// Say what a finding code means and what to do about it
    Explain(explain::Arguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// How a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person
    Text,
    /// One object a line, for a program
    Json,
}

/// A path as it was typed; escaped where it is not UTF-8.
fn given(path: &Path) -> String {
    path.to_str().map_or_else(|| escape(path.as_os_str().as_encoded_bytes()), str::to_owned)
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "this is the room that reads the arguments")]
    let arguments = std::env::args_os();
    run_with(arguments, &mut io::stdout().lock(), &mut io::stderr().lock()).into()
}

/// Runs a command with streams of the caller's: reports go to `out`, complaints to `err`.
pub fn run_with(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Outcome {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            // Nothing is left to tell where even this can't be written.
            let _ = write!(err, "{}", error.render());
            return Outcome::CouldNotCheck;
        }
        Err(help) => return shown(write!(out, "{}", help.render()), err),
    };
    let mut buffered = io::BufWriter::new(out);
    let outcome = match arguments.command {
        Command::List(arguments) => list::run(&arguments, &mut buffered),
        Command::VerifyExport(arguments) => verify_export::run(&arguments, &mut buffered),
        Command::Replay(arguments) => replay::run(&arguments, &mut buffered),
        Command::Challenge(arguments) => challenge::run(&arguments, &mut buffered),
        Command::Freeze(arguments) => freeze::run(&arguments, &mut buffered),
        #[cfg(feature = "export")]
        Command::Export(arguments) => export::run(&arguments, &mut buffered),
        Command::Extract(arguments) => extract::run(&arguments, &mut buffered),
        Command::Show(arguments) => show::run(&arguments, &mut buffered, err),
        Command::Diff(arguments) => diff::run(&arguments, &mut buffered),
        Command::Explain(arguments) => explain::run(&arguments, &mut buffered, err),
        Command::Completions { shell } => completions(shell, &mut buffered),
    };
    let flushed = outcome.and_then(|outcome| buffered.flush().map(|()| outcome));
    flushed.unwrap_or_else(|error| shown(Err(error), err))
}

fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "exhibit", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Held)
}

/// A report that was not written in full is no report: a closed pipe is never a pass.
fn shown(written: io::Result<()>, err: &mut dyn Write) -> Outcome {
    match written {
        Ok(()) => Outcome::Held,
        Err(error) => {
            let _ = writeln!(err, "error: cannot write the report: {error}: nothing was decided");
            Outcome::CouldNotCheck
        }
    }
}
