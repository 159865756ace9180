//! Owns a code's name: how it is shown, written and read.
//!
//! Refuses names that no row has. Invariant: a name that is shown is read as the same code.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::code::Code;
use super::rules::{RULES, Rule};

impl Code {
    /// The code's row in [`RULES`].
    pub fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }

    /// The stable name, as reports and `exhibit explain` use it.
    pub fn name(self) -> &'static str {
        self.rule().name
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Code {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        RULES.iter().find(|rule| rule.name == name).map(|rule| rule.code).ok_or(())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
