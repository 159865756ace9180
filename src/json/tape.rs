//! Owns reading one JSON text in memory, many times a second: a flat list of its values, used again for the next text.
//!
//! Refuses what [`super::check`] refuses: a key twice in one object, deep nesting, text after the document. Invariant: a
//! [`View`] is one value of a text that passed whole; nothing of the text is copied but strings that have escapes.

use std::cmp::Ordering;
use std::fmt;
use std::io::Write as _;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Fault, Pointer, without_position};
use crate::finding::Code;
use crate::form::MAX_INTEGER;

/// Up to so many keys each is compared with each; more are sorted.
const FEW_KEYS: usize = 8;

/// The values of one text, in its order. Room is kept from one text to the next.
#[derive(Debug, Default)]
pub struct Tape {
    nodes: Vec<Node>,
    /// Strings that have escapes, as they are meant.
    unescaped: String,
    /// Keys of the objects that are open.
    keys: Vec<Node>,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    /// A string as it stands in the text.
    Plain(u32, u32),
    /// A string in [`Tape::unescaped`].
    Unescaped(u32, u32),
    /// Up to this node.
    Array(u32),
    /// Keys and values in turn, up to this node.
    Object(u32),
}

/// One value of a text.
#[derive(Clone, Copy)]
pub struct View<'a> {
    text: &'a str,
    tape: &'a Tape,
    at: usize,
}

impl Tape {
    /// Reads a text.
    ///
    /// # Errors
    /// The first fault: grammar, depth over `max_depth`, a key twice, something after the document.
    pub fn read<'a>(&'a mut self, text: &'a str, max_depth: usize) -> Result<View<'a>, Fault> {
        self.nodes.clear();
        self.unescaped.clear();
        self.keys.clear();
        let mut walk = Walk { tape: self, text, depth: 0, max_depth, twice: None };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let outcome = Value(&mut walk).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        let twice = walk.twice;
        match outcome {
            Ok(()) => Ok(View { text, tape: self, at: 0 }),
            Err(error) => Err(Fault {
                code: if twice.is_some() { Code::JsonDuplicateKey } else { Code::JsonSyntax },
                pointer: String::new(),
                line: None,
                message: twice.map_or_else(
                    || without_position(&error),
                    |key| format!("the key {key} stands twice in one object"),
                ),
            }),
        }
    }

    fn string<'a>(&'a self, text: &'a str, node: Node) -> Option<&'a str> {
        let part = |text: &'a str, from: u32, to: u32| text.get(from as usize..to as usize);
        match node {
            Node::Plain(from, to) => part(text, from, to),
            Node::Unescaped(from, to) => part(&self.unescaped, from, to),
            Node::Null
            | Node::Bool(_)
            | Node::Unsigned(_)
            | Node::Negative(_)
            | Node::Float(_)
            | Node::Array(_)
            | Node::Object(_) => None,
        }
    }

    /// The node behind a value.
    fn after(&self, at: usize) -> usize {
        match self.nodes.get(at) {
            Some(Node::Array(end) | Node::Object(end)) => *end as usize,
            Some(
                Node::Null
                | Node::Bool(_)
                | Node::Unsigned(_)
                | Node::Negative(_)
                | Node::Float(_)
                | Node::Plain(..)
                | Node::Unescaped(..),
            )
            | None => at.saturating_add(1),
        }
    }
}

impl<'a> View<'a> {
    fn node(self) -> Node {
        self.tape.nodes.get(self.at).copied().unwrap_or(Node::Null)
    }

    /// The string that it is.
    pub fn text(self) -> Option<&'a str> {
        self.tape.string(self.text, self.node())
    }

    /// Whether it is true or false.
    pub fn boolean(self) -> Option<bool> {
        if let Node::Bool(value) = self.node() { Some(value) } else { None }
    }

    /// The whole number that it is, written as one: `1.0` is none.
    pub fn integer(self) -> Option<i64> {
        match self.node() {
            Node::Unsigned(number) => i64::try_from(number).ok(),
            Node::Negative(number) => Some(number),
            Node::Null
            | Node::Bool(_)
            | Node::Float(_)
            | Node::Plain(..)
            | Node::Unescaped(..)
            | Node::Array(_)
            | Node::Object(_) => None,
        }
    }

    /// The smallest whole number that is not below the number that it is, as far as floats hold whole numbers exactly.
    pub fn ceiling(self) -> Option<i64> {
        match self.node() {
            Node::Unsigned(number) => i64::try_from(number).ok(),
            Node::Negative(number) => Some(number),
            Node::Float(number) => whole(number.ceil()),
            Node::Null | Node::Bool(_) | Node::Plain(..) | Node::Unescaped(..) | Node::Array(_) | Node::Object(_) => {
                None
            }
        }
    }

    /// The whole number that it is, however it is written: `1.0` is 1.
    pub fn whole(self) -> Option<i64> {
        if let Node::Float(number) = self.node() { whole(number) } else { self.integer() }
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        matches!(self.node(), Node::Null)
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        matches!(self.node(), Node::Object(_))
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        matches!(self.node(), Node::Array(_))
    }

    /// The keys and values of an object, in the text's order; nothing of anything else.
    pub fn fields(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let (mut at, end) = match self.node() {
            Node::Object(end) => (self.at.saturating_add(1), end as usize),
            Node::Null
            | Node::Bool(_)
            | Node::Unsigned(_)
            | Node::Negative(_)
            | Node::Float(_)
            | Node::Plain(..)
            | Node::Unescaped(..)
            | Node::Array(_) => (0, 0),
        };
        std::iter::from_fn(move || {
            let key = self.tape.nodes.get(at).filter(|_| at < end).copied()?;
            let value = View { at: at.saturating_add(1), ..self };
            at = self.tape.after(value.at);
            Some((self.tape.string(self.text, key)?, value))
        })
    }

    /// The items of an array, in order; nothing of anything else.
    pub fn items(self) -> impl Iterator<Item = View<'a>> {
        let (mut at, end) = match self.node() {
            Node::Array(end) => (self.at.saturating_add(1), end as usize),
            Node::Null
            | Node::Bool(_)
            | Node::Unsigned(_)
            | Node::Negative(_)
            | Node::Float(_)
            | Node::Plain(..)
            | Node::Unescaped(..)
            | Node::Object(_) => (0, 0),
        };
        std::iter::from_fn(move || {
            let item = View { at, ..self };
            (at < end).then(|| at = self.tape.after(at)).map(|()| item)
        })
    }

    /// A field of an object.
    pub fn get(self, key: &str) -> Option<View<'a>> {
        self.fields().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The value at a pointer below it.
    pub fn find(self, pointer: &Pointer) -> Option<View<'a>> {
        pointer.steps().iter().try_fold(self, |value, step| {
            if value.is_array() { value.items().nth(step.parse().ok()?) } else { value.get(step) }
        })
    }

    /// Appends its canonical form: keys in the order of their bytes, which is that of Unicode scalar values; no space;
    /// only what must be escaped is. A whole number is written as one, `1.0` as `1`. Other numbers have no canonical form
    /// in a ledger; they are written as they are read, so that equal ones stay equal.
    pub fn canonical(self, out: &mut Vec<u8>) {
        match self.node() {
            Node::Null => out.extend_from_slice(b"null"),
            Node::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Node::Unsigned(number) => number_to(out, format_args!("{number}")),
            Node::Negative(number) => number_to(out, format_args!("{number}")),
            Node::Float(number) => match whole(number) {
                Some(number) => number_to(out, format_args!("{number}")),
                None => number_to(out, format_args!("{number:e}")),
            },
            Node::Plain(..) | Node::Unescaped(..) => quote(self.text().unwrap_or_default(), out),
            Node::Array(_) => {
                out.push(b'[');
                for (index, item) in self.items().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.canonical(out);
                }
                out.push(b']');
            }
            Node::Object(_) => {
                let mut fields: Vec<_> = self.fields().collect();
                fields.sort_unstable_by_key(|(key, _)| *key);
                out.push(b'{');
                for (index, (key, value)) in fields.into_iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    quote(key, out);
                    out.push(b':');
                    value.canonical(out);
                }
                out.push(b'}');
            }
        }
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at node {}", self.node(), self.at)
    }
}

/// Appends a string in quotes, escaped where it must be.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    // Writing a string to memory can't fail.
    let _ = serde_json::to_writer(out, text);
}

fn number_to(out: &mut Vec<u8>, number: fmt::Arguments<'_>) {
    // Writing to memory can't fail.
    let _ = out.write_fmt(number);
}

/// The whole number that a float is, as far as floats hold whole numbers exactly.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
#[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= MAX_INTEGER as f64).then_some(number as i64)
}

struct Walk<'t, 'a> {
    tape: &'t mut Tape,
    text: &'a str,
    depth: usize,
    max_depth: usize,
    /// The key that stands twice.
    twice: Option<String>,
}

impl Walk<'_, '_> {
    fn enter<E: serde::de::Error>(&mut self) -> Result<usize, E> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > self.max_depth {
            return Err(E::custom(format!("nested deeper than {} arrays and objects", self.max_depth)));
        }
        Ok(self.tape.nodes.len())
    }

    fn leave<E: serde::de::Error>(&mut self, at: usize, node: fn(u32) -> Node) -> Result<(), E> {
        self.depth = self.depth.saturating_sub(1);
        let end = number(self.tape.nodes.len())?;
        if let Some(opened) = self.tape.nodes.get_mut(at) {
            *opened = node(end);
        }
        Ok(())
    }

    fn unescaped<E: serde::de::Error>(&mut self, text: &str) -> Result<Node, E> {
        let from = number(self.tape.unescaped.len())?;
        self.tape.unescaped.push_str(text);
        Ok(Node::Unescaped(from, number(self.tape.unescaped.len())?))
    }

    /// A string that stands in the text as it is meant: where it stands.
    fn plain<E: serde::de::Error>(&mut self, text: &str) -> Result<Node, E> {
        let from = text.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        Ok(Node::Plain(number(from)?, number(from.wrapping_add(text.len()))?))
    }

    /// Takes the keys of the object that ends here, which start at `mark`, and tells one that stands twice.
    fn unique<E: serde::de::Error>(&mut self, mark: usize) -> Result<(), E> {
        let Tape { unescaped, keys, .. } = &mut *self.tape;
        let string = |node: &Node| match *node {
            Node::Plain(from, to) => self.text.get(from as usize..to as usize),
            Node::Unescaped(from, to) => unescaped.get(from as usize..to as usize),
            Node::Null
            | Node::Bool(_)
            | Node::Unsigned(_)
            | Node::Negative(_)
            | Node::Float(_)
            | Node::Array(_)
            | Node::Object(_) => None,
        };
        let own = keys.get_mut(mark..).unwrap_or_default();
        let twice = if own.len() <= FEW_KEYS {
            let before = |index: usize| own.get(..index).unwrap_or_default();
            own.iter().enumerate().find(|(index, key)| before(*index).iter().any(|other| string(other) == string(key)))
        } else {
            own.sort_unstable_by(|a, b| match string(a).map(str::len).cmp(&string(b).map(str::len)) {
                Ordering::Equal => string(a).cmp(&string(b)),
                ordering @ (Ordering::Less | Ordering::Greater) => ordering,
            });
            own.iter().enumerate().skip(1).find(|(index, key)| own.get(index - 1).and_then(string) == string(key))
        };
        if let Some((_, key)) = twice {
            self.twice = Some(format!("{:?}", string(key).unwrap_or_default()));
            return Err(E::custom("a key stands twice"));
        }
        keys.truncate(mark);
        Ok(())
    }
}

fn number<E: serde::de::Error>(count: usize) -> Result<u32, E> {
    u32::try_from(count).map_err(|_| E::custom("the text is longer than 4 GiB"))
}

struct Value<'w, 't, 'a>(&'w mut Walk<'t, 'a>);

impl Value<'_, '_, '_> {
    fn push(self, node: Node) {
        self.0.tape.nodes.push(node);
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.push(Node::Bool(value));
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.push(Node::Negative(value));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.push(Node::Unsigned(value));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.push(Node::Float(value));
        Ok(())
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<(), E> {
        let node = self.0.plain(text)?;
        self.push(node);
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        let node = self.0.unescaped(text)?;
        self.push(node);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.push(Node::Null);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let at = self.0.enter()?;
        self.0.tape.nodes.push(Node::Array(0));
        while items.next_element_seed(Value(self.0))?.is_some() {}
        self.0.leave(at, Node::Array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let at = self.0.enter()?;
        let mark = self.0.tape.keys.len();
        self.0.tape.nodes.push(Node::Object(0));
        while fields.next_key_seed(Value(self.0))?.is_some() {
            self.0.tape.keys.extend(self.0.tape.nodes.last().copied());
            fields.next_value_seed(Value(self.0))?;
        }
        self.0.unique(mark)?;
        self.0.leave(at, Node::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Result<String, Code> {
        let mut tape = Tape::default();
        let mut out = Vec::new();
        tape.read(text, 64).map_err(|fault| fault.code)?.canonical(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_text_is_read_as_strictly_as_by_check() {
        let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
        let deeper = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        let many: Vec<String> = (0..20).map(|n| format!("\"k{n}\":{n}")).collect();
        let (all, twice) = (format!("{{{}}}", many.join(",")), format!("{{{},\"k\\u0037\":1}}", many.join(",")));
        for text in [
            "{}",
            "[]",
            "1",
            "-0",
            "1e5",
            "\"\"",
            "null",
            " [1 , {\"a\" : [ ] } ]\n",
            "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
            &deep,
            &all,
            "{\"a\":1,\"a\":1}",
            "{\"a\":1,\"\\u0061\":1}",
            &twice,
            "{\"a\":{\"b\":1,\"b\":2}}",
            &deeper,
            "",
            "{",
            "1 2",
            "[1,]",
            "\"\\ud800\"",
            "nan",
            "\u{feff}1",
            "01",
            "{\"a\"}",
            "'a'",
        ] {
            let walked = super::super::check(text.as_bytes(), 64).map_err(|fault| fault.code);
            assert_eq!(canonical(text).map(drop), walked, "{text}");
        }
    }

    #[test]
    fn values_are_found_and_have_one_canonical_form() {
        for (text, wanted) in [
            (
                r#" {"b": [1.0, -0.0, 1e2, "\u00e9\n\"" ], "a": {"\u20ac":null,"z":true}, "": -5 } "#,
                "{\"\":-5,\"a\":{\"z\":true,\"€\":null},\"b\":[1,0,100,\"é\\n\\\"\"]}",
            ),
            (
                "[\"\u{10000}\",\"\u{e000}\",{\"\u{10000}\":1,\"\u{e000}\":2}]",
                "[\"\u{10000}\",\"\u{e000}\",{\"\u{e000}\":2,\"\u{10000}\":1}]",
            ),
            ("[18446744073709551615,9007199254740993]", "[18446744073709551615,9007199254740993]"),
        ] {
            assert_eq!(canonical(text).unwrap(), wanted);
            assert_eq!(canonical(wanted).unwrap(), wanted);
        }
        let mut tape = Tape::default();
        let view = tape.read(r#"{"a/b":[{"x~":"y"},2],"t":true,"s":"\u0041"}"#, 64).unwrap();
        let find = |pointer: &str| view.find(&pointer.parse().unwrap());
        assert_eq!(find("/a~1b/0/x~0").unwrap().text(), Some("y"));
        assert_eq!(find("/a~1b/1").unwrap().integer(), Some(2));
        assert_eq!((find("/t").unwrap().boolean(), find("/s").unwrap().text()), (Some(true), Some("A")));
        assert!(find("").unwrap().is_object());
        for absent in ["/a~1b/2", "/a~1b/x", "/t/0", "/x", "/"] {
            assert!(find(absent).is_none(), "{absent}");
        }
    }

    #[test]
    fn a_tape_keeps_nothing_of_the_text_before() {
        let mut tape = Tape::default();
        assert!(tape.read("{\"a\\n\":1,\"a\\n\":2}", 64).is_err());
        assert_eq!(tape.read("{\"a\\n\":\"b\\n\"}", 64).unwrap().get("a\n").unwrap().text(), Some("b\n"));
        assert!(tape.read("[", 64).is_err());
        assert_eq!(tape.read("[3]", 64).unwrap().items().map(View::integer).collect::<Vec<_>>(), [Some(3)]);
    }
}
