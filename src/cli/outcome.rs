//! Owns the exit codes.
//!
//! Invariant: an outcome never gets better by adding another to it.

use std::process::ExitCode;

/// What the process says at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was checked held.
    Held,
    /// Something was checked and is wrong.
    Findings,
    /// Something could not be checked.
    CouldNotCheck,
    /// Something was not judged.
    Undecided,
}

/// The table for `--help`.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 everything checked held; 1 findings; 2 could not check; 3 undecided; 101 a bug. \
     Several at once: 2 before 1 before 3 before 0.";

impl Outcome {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Findings => 1,
            Self::CouldNotCheck => 2,
            Self::Undecided => 3,
        }
    }

    /// The one of two that the process ends with: 2 before 1 before 3 before 0.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        let weight = |outcome| match outcome {
            Self::CouldNotCheck => 3,
            Self::Findings => 2,
            Self::Undecided => 1,
            Self::Held => 0,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_before_one_before_three_before_zero() {
        use Outcome::{CouldNotCheck, Findings, Held, Undecided};
        let order = [Held, Undecided, Findings, CouldNotCheck];
        for (weight, a) in order.iter().enumerate() {
            for (other, b) in order.iter().enumerate() {
                assert_eq!(a.worst(*b), order[weight.max(other)]);
            }
        }
        assert_eq!(order.map(Outcome::code), [0, 3, 1, 2]);
    }
}
