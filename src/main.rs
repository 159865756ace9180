//! The command: hands the arguments to the library and its answer to the shell. It decides nothing.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    exhibit::cli::run()
}
