//! Owns what differs between the lines of two texts, as unified hunks.
//!
//! Refuses to call a content text that isn't UTF-8, holds a NUL or is over the bounds. Invariant: the lines shown are a
//! prefix of all hunks; where it is the whole, applying them to the one text gives the other, byte for byte.

use gix_imara_diff::{Algorithm, Diff, InternedInput};

use crate::limits::Limits;

/// Lines around a change that both texts have.
const CONTEXT: usize = 3;

/// What differs between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// In the order of the texts.
    pub hunks: Vec<Hunk>,
    /// Lines of the first text that the second doesn't have.
    pub removed: u64,
    /// Lines of the second text that the first doesn't have.
    pub added: u64,
    /// Changed lines that no hunk shows, because of a bound.
    pub not_shown: u64,
}

/// Changes that lie near each other, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its first line in the first text, from 1; the line before it where it has none there.
    pub a_start: usize,
    /// Its lines in the first text.
    pub a_lines: usize,
    /// As [`Hunk::a_start`], in the second text.
    pub b_start: usize,
    /// Its lines in the second text.
    pub b_lines: usize,
    /// The lines; fewer than the counts say only where a bound was met.
    pub lines: Vec<Line>,
}

/// Whose a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Both texts have it.
    Both,
    /// The first only.
    A,
    /// The second only.
    B,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Whose it is.
    pub of: Of,
    /// It, without the line feed at its end.
    pub text: String,
    /// Bytes that were cut off its end to show it.
    pub cut: usize,
    /// Whether a line feed ends it; only a text's last line may have none.
    pub newline: bool,
}

/// A content as text, where it is one and not over the bounds; otherwise in a word why not.
pub(super) fn text<'a>(bytes: &'a [u8], limits: &Limits) -> Result<&'a str, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "binary")?;
    if bytes.contains(&0) {
        return Err("binary");
    }
    if text.split_inclusive('\n').nth(limits.max_text_lines).is_some() {
        return Err("large");
    }
    Ok(text)
}

/// Compares two texts and shows at most `left` lines, which it takes off.
pub(super) fn compare(a: &str, b: &str, limits: &Limits, left: &mut usize) -> Lines {
    // Not sized by the crate's own guess, which a text can mislead.
    let mut input = InternedInput::default();
    input.update_before(a.split_inclusive('\n'));
    input.update_after(b.split_inclusive('\n'));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split_inclusive('\n').collect(), b.split_inclusive('\n').collect());
    let (removed, added) = (u64::from(diff.count_removals()), u64::from(diff.count_additions()));
    let wanted = limits.max_shown_lines.min(*left);
    let mut shown = Showing { a: &a, b: &b, left: wanted, changed: 0, max: limits.max_shown_line };
    let mut hunks = Vec::new();
    let mut group: Vec<Change> = Vec::new();
    for change in diff.hunks().map(Change::from) {
        if group.last().is_some_and(|last| change.a.0 - last.a.1 > 2 * CONTEXT) {
            hunks.extend(shown.hunk(&group));
            group.clear();
        }
        if shown.left == 0 {
            break;
        }
        group.push(change);
    }
    hunks.extend(shown.hunk(&group));
    *left -= wanted - shown.left;
    Lines { hunks, removed, added, not_shown: (removed + added) - shown.changed }
}

/// Lines `[start, end)` of each text that stand for each other.
#[derive(Clone, Copy)]
struct Change {
    a: (usize, usize),
    b: (usize, usize),
}

impl From<gix_imara_diff::Hunk> for Change {
    fn from(hunk: gix_imara_diff::Hunk) -> Self {
        let range = |range: std::ops::Range<u32>| (range.start as usize, range.end as usize);
        Self { a: range(hunk.before), b: range(hunk.after) }
    }
}

/// Hunks as they are gathered, up to a bound on their lines.
struct Showing<'a> {
    a: &'a [&'a str],
    b: &'a [&'a str],
    left: usize,
    /// Changed lines shown.
    changed: u64,
    max: usize,
}

impl Showing<'_> {
    fn hunk(&mut self, group: &[Change]) -> Option<Hunk> {
        let (first, last) = (group.first()?, group.last()?);
        if self.left == 0 {
            return None;
        }
        let before = CONTEXT.min(first.a.0);
        let after = CONTEXT.min(self.a.len() - last.a.1);
        let (a_from, a_to) = (first.a.0 - before, last.a.1 + after);
        let (b_from, b_to) = (first.b.0 - before, last.b.1 + after);
        let mut lines = Vec::new();
        let mut at = a_from;
        for change in group {
            self.show(Of::Both, (at, change.a.0), &mut lines);
            self.show(Of::A, change.a, &mut lines);
            self.show(Of::B, change.b, &mut lines);
            at = change.a.1;
        }
        self.show(Of::Both, (at, a_to), &mut lines);
        let start = |from: usize, to: usize| if from == to { from } else { from + 1 };
        Some(Hunk {
            a_start: start(a_from, a_to),
            a_lines: a_to - a_from,
            b_start: start(b_from, b_to),
            b_lines: b_to - b_from,
            lines,
        })
    }

    fn show(&mut self, of: Of, (from, to): (usize, usize), lines: &mut Vec<Line>) {
        let text = match of {
            Of::Both | Of::A => self.a,
            Of::B => self.b,
        };
        let shown = text.get(from..to).unwrap_or_default().iter().take(self.left);
        let before = lines.len();
        lines.extend(shown.map(|line| cut(of, line, self.max)));
        let count = lines.len() - before;
        self.left -= count;
        self.changed += if of == Of::Both { 0 } else { count as u64 };
    }
}

fn cut(of: Of, line: &str, max: usize) -> Line {
    let (whole, newline) = line.strip_suffix('\n').map_or((line, false), |line| (line, true));
    let mut end = whole.len().min(max);
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    let text = whole.get(..end).unwrap_or_default().to_owned();
    Line { of, cut: whole.len() - text.len(), text, newline }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn joined(range: std::ops::Range<u32>, end: &str) -> String {
        range.flat_map(|n| [n.to_string(), end.to_owned()]).collect()
    }

    fn lines(a: &str, b: &str) -> Lines {
        compare(a, b, &Limits::default(), &mut usize::MAX.clone())
    }

    /// As `diff -U3` writes it, with escapes for what doesn't show.
    fn shown(lines: &Lines) -> String {
        let mut out = String::new();
        for hunk in &lines.hunks {
            write!(out, "@{},{} {},{}", hunk.a_start, hunk.a_lines, hunk.b_start, hunk.b_lines).unwrap();
            for line in &hunk.lines {
                let mark = match line.of {
                    Of::Both => ' ',
                    Of::A => '-',
                    Of::B => '+',
                };
                let end = if line.newline { "" } else { "~" };
                write!(out, "|{mark}{}{end}", line.text.escape_debug()).unwrap();
            }
            out.push(';');
        }
        out
    }

    #[test]
    fn hunks_are_those_of_a_unified_diff() {
        let numbers = |range: std::ops::Range<u32>| joined(range, "\n");
        let twenty = numbers(1..21);
        for (a, b, says) in [
            ("", "a\n", "@0,0 1,1|+a;"),
            ("a\n", "", "@1,1 0,0|-a;"),
            ("a", "a\n", "@1,1 1,1|-a~|+a;"),
            ("a\r\n", "a\n", "@1,1 1,1|-a\\r|+a;"),
            ("a\nb\nc\n", "a\nB\nc\n", "@1,3 1,3| a|-b|+B| c;"),
            (&twenty, &twenty.replace("\n10\n", "\nx\n"), "@7,7 7,7| 7| 8| 9|-10|+x| 11| 12| 13;"),
            (&twenty, &format!("{}x\n20\n", numbers(1..20)), "@17,4 17,5| 17| 18| 19|+x| 20;"),
            (
                &twenty,
                &twenty.replace("\n2\n", "\nx\n").replace("\n9\n", "\ny\n"),
                "@1,12 1,12| 1|-2|+x| 3| 4| 5| 6| 7| 8|-9|+y| 10| 11| 12;",
            ),
            (
                &twenty,
                &twenty.replace("\n2\n", "\nx\n").replace("\n10\n", "\ny\n"),
                "@1,5 1,5| 1|-2|+x| 3| 4| 5;@7,7 7,7| 7| 8| 9|-10|+y| 11| 12| 13;",
            ),
        ] {
            assert_eq!(shown(&lines(a, b)), says, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_is_over_a_bound_is_counted() {
        let limits = Limits { max_shown_lines: 5, max_shown_line: 4, max_text_lines: 3, ..Limits::default() };
        let (a, b) = ("a\n".repeat(10), "b\n".repeat(20));
        let mut left = 7;
        let first = compare(&a, &b, &limits, &mut left);
        assert_eq!((first.removed, first.added, first.not_shown, left), (10, 20, 25, 2));
        assert_eq!((first.hunks[0].a_lines, first.hunks[0].b_lines, first.hunks[0].lines.len()), (10, 20, 5));
        let second = compare("a\n", "b\n", &limits, &mut left);
        assert_eq!((second.not_shown, left), (0, 0));
        let third = compare("a\n", "b\n", &limits, &mut left);
        assert_eq!((third.not_shown, third.hunks.len()), (2, 0));
        let long = compare("", "abc\u{e9}f", &limits, &mut 1);
        assert_eq!((long.hunks[0].lines[0].text.as_str(), long.hunks[0].lines[0].cut), ("abc", 3));
        assert_eq!(text(b"a\nb\nc", &limits), Ok("a\nb\nc"));
        assert_eq!(text(b"a\nb\nc\n", &limits), Ok("a\nb\nc\n"));
        assert_eq!(text(b"a\nb\nc\nd", &limits), Err("large"));
        assert_eq!((text(b"a\0", &limits), text(b"a\xff", &limits)), (Err("binary"), Err("binary")));
    }

    #[test]
    fn long_and_repetitive_texts_take_no_time_worth_telling() {
        // Two kinds of lines in an order without order: the worst for finding the fewest changes.
        let noise = |mut seed: u32| {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if seed >> 31 == 0 { "a\n" } else { "b\n" }
            };
            (0..100_000).map(|_| next()).collect::<String>()
        };
        let same = "a\n".repeat(200_000);
        let (ours, theirs) = (joined(0..100_000, "\n"), joined(0..100_000, ".\n"));
        for (a, b) in [(noise(1), noise(2)), (same.clone(), format!("{same}b\n{same}")), (ours, theirs)] {
            let found = lines(&a, &b);
            assert!(found.removed + found.added > 0);
            assert!(found.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() <= 1000);
        }
    }
}
