//! Owns JSON pointers (RFC 6901) that documents name.
//!
//! Refuses a text that is none. Invariant: its steps are unescaped; the empty pointer is the whole document.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::form::{NotTheForm, parsed};

/// A JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<Box<str>>);

impl Pointer {
    /// Its steps: keys, or numbers of items.
    pub fn steps(&self) -> &[Box<str>] {
        &self.0
    }
}

impl FromStr for Pointer {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let wrong =
            NotTheForm::new("a JSON pointer is empty or starts with /; in it ~ is written ~0, and / in a key ~1");
        let steps = text.strip_prefix('/').ok_or(wrong)?.split('/');
        steps.map(|step| unescape(step).ok_or(wrong)).collect::<Result<_, _>>().map(Self)
    }
}

fn unescape(step: &str) -> Option<Box<str>> {
    let bare = step.replace("~0", "").replace("~1", "");
    (!bare.contains('~')).then(|| step.replace("~1", "/").replace("~0", "~").into())
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_unescaped_once() {
        let steps = |text: &str| text.parse::<Pointer>().map(|pointer| pointer.0.join("|")).ok();
        assert_eq!(steps("").as_deref(), Some(""));
        assert_eq!(steps("/a~1b/~01/").as_deref(), Some("a/b|~1|"));
        for bad in ["a", "/~", "/~2", "/a~"] {
            assert_eq!(steps(bad), None, "{bad}");
        }
    }
}
