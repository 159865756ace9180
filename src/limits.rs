//! Owns a named bound for everything that is read from outside, each with its reason.
//!
//! Refuses nothing itself: readers take a [`Limits`] and refuse what is over. Invariant: no reader allocates by a
//! number found in a file before that number was held against a field of this struct.

/// Bytes of one string in JSON as it stands there. Paths, digests and sentences are far shorter, and so is what one call
/// says; a reader has to hold a string to know it.
pub const MAX_STRING: u64 = 1 << 20;

/// Keys of one JSON object. A case names fewer files, and telling a key that stands twice takes all of them.
pub const MAX_KEYS: usize = 100_000;

/// Items of one JSON array: as many as a tree may have entries.
pub const MAX_ITEMS: usize = 1_000_000;

/// Redactions of one document. Each is one more pass over every content.
pub const MAX_REDACTIONS: usize = 100;

/// Bytes of a redaction's pattern as it is written.
pub const MAX_PATTERN: usize = 4096;

/// Bytes of a pattern's compiled form, and of the table that searching with it fills. `\w{100}` fits ten times.
pub const MAX_MATCHER: usize = 4 << 20;

/// Bytes of a content that is redacted, before and after: it is held in memory several times.
pub const MAX_REDACTED: u64 = 64 << 20;

/// Bytes of one private string. Its longest written form must fit into [`SCAN_OVERLAP`].
pub const MAX_PRIVATE: usize = 4096;

/// Private strings of one release. Each has some thirty written forms, all of which are searched for at once.
pub const MAX_PRIVATE_STRINGS: usize = 10_000;

/// Bytes of a content that are searched at a time.
pub const SCAN_WINDOW: usize = 1 << 20;

/// Bytes that are searched again with what follows them: a match that is longer can be missed.
pub const SCAN_OVERLAP: usize = 64 << 10;

/// Bytes from where a secret starts that are looked at.
pub const MAX_SECRET: usize = 8 << 10;

/// Containers within containers that are looked into. Real releases have one within another: an archive of a run.
pub const MAX_NESTING: usize = 4;

/// Bytes in a tar that give the next file its name, or other attributes. Names have 4,096 at most.
pub const MAX_TAR_NAMES: u64 = 1 << 20;

/// Forgeries of one kind in one case. The largest of the frozen cases has 7; one with a hundred workers shows the same.
pub const MAX_FORGERIES: usize = 100;

/// Columns of one table of a database. A ledger's widest has twelve.
pub const MAX_COLUMNS: i32 = 100;

/// Bounds on what is read. [`Limits::default`] is what the command uses; tests lower them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Entries of one tree. A million covers every release known; the index of that many fits in 512 MB.
    pub max_entries: u64,
    /// Bytes of one content. The largest disk image or database dump that a study publishes stays below 64 GiB.
    pub max_content: u64,
    /// Bytes of all contents of a tree.
    pub max_total: u64,
    /// Below this many plain bytes no compression ratio is suspicious: it takes a moment to inflate.
    pub ratio_floor: u64,
    /// Plain bytes to each stored byte, over [`Limits::ratio_floor`]. Deflate can reach 1032; text of a study
    /// reaches 60; `PyPI` refuses uploads over 50, `@ronomon/zip` over 100.
    pub max_ratio: u64,
    /// Bytes of a name: `PATH_MAX` on Linux.
    pub max_name: usize,
    /// Bytes of one part of a name: `NAME_MAX` of every common file system.
    pub max_component: usize,
    /// Bytes of a manifest: 512 for each of a million entries.
    pub max_manifest: u64,
    /// Bytes of a document that people write (policy, matrix) or a run's head (run.json, provenance.json).
    pub max_document: u64,
    /// Bytes of one source in a snapshot that an export makes: the sources of a run are held in memory until they are
    /// packed.
    pub max_snapshot_source: u64,
    /// Bytes of one line of a results file: a record holds a case's rows and wire facts.
    pub max_line: usize,
    /// Nested arrays and objects in JSON. Real documents stay under ten.
    pub max_depth: usize,
    /// Bytes of one extended header of a tar: the longest name fits it many times over, and all of it is kept.
    pub max_extended: u64,
    /// Bytes of a text that is compared by lines: both texts are held whole. Logs and sources stay below it.
    pub max_text: u64,
    /// Lines of such a text. Between lines that repeat without order, finding few changes takes more than linear time:
    /// seconds for so many.
    pub max_text_lines: usize,
    /// Lines shown of one file's difference. A person reads no more; a program that wants all extracts both files.
    pub max_shown_lines: usize,
    /// Lines shown of all differences between two trees. What is shown is held in memory.
    pub max_shown_lines_in_all: usize,
    /// Bytes shown of one line. Minified text has lines of megabytes.
    pub max_shown_line: usize,
    /// Files and fields that a difference names in text; JSON has them all.
    pub max_shown_files: usize,
    /// Findings kept; further ones are counted. Nobody reads more, and a hostile file could make billions.
    pub max_findings: usize,
    /// Bytes of a database, and of each of its sidecars: they are copied, checked page by page, and never longer than this
    /// after recovery. A ledger of a hundred thousand operations fits.
    pub max_database: u64,
    /// Rows of one table of a database: they are held in memory.
    pub max_rows: u64,
    /// Bytes of one text or row of a database: what one call says fits, see [`MAX_STRING`].
    pub max_cell: u64,
    /// Tables, indexes, views and triggers of a database. A ledger has under ten; SQLite holds all of them in memory.
    pub max_schema: u64,
    /// Steps of SQLite's machine for one database: half a minute at most. Checking and reading the largest that fits
    /// takes fewer.
    pub max_database_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_entries: 1_000_000,
            max_content: 64 << 30,
            max_total: 1 << 40,
            ratio_floor: 64 << 20,
            max_ratio: 100,
            max_name: 4096,
            max_component: 255,
            max_manifest: 512 << 20,
            max_document: 16 << 20,
            max_snapshot_source: 64 << 20,
            max_line: 16 << 20,
            max_depth: 64,
            max_extended: 64 << 10,
            max_text: 16 << 20,
            max_text_lines: 250_000,
            max_shown_lines: 1000,
            max_shown_lines_in_all: 10_000,
            max_shown_line: 400,
            max_shown_files: 1000,
            max_findings: 1000,
            max_database: 256 << 20,
            max_rows: 250_000,
            max_cell: 1 << 20,
            max_schema: 1000,
            max_database_steps: 1_000_000_000,
        }
    }
}
