//! Owns `exhibit explain`.
//!
//! Invariant: every code that a report can show is explained.

use std::io::{self, Write};

use super::Outcome;
use crate::finding::{Code, RULES, Rule, Severity};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A finding code; without one, all are listed
    code: Option<String>,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Outcome> {
    let Some(name) = &arguments.code else {
        RULES.iter().try_for_each(|rule| writeln!(out, "{:<24} {}", rule.name, rule.rule))?;
        return Ok(Outcome::Held);
    };
    match name.parse::<Code>() {
        Ok(code) => explain(code.rule(), out).map(|()| Outcome::Held),
        Err(()) => {
            writeln!(err, "error: there is no code {name:?}: `exhibit explain` lists them all")?;
            Ok(Outcome::CouldNotCheck)
        }
    }
}

fn explain(rule: &Rule, out: &mut dyn Write) -> io::Result<()> {
    let weight = match rule.severity {
        Severity::Error => "a finding: the verdict is a refusal",
        Severity::Warning => "a warning: the verdict stands",
    };
    writeln!(out, "{} ({weight})", rule.name)?;
    writeln!(out, "  Rule: {}", rule.rule)?;
    writeln!(out, "  Where it is broken: {}", rule.advice)
}
