//! Owns errors: something could not be checked or done, so no verdict is possible.
//!
//! Refuses to describe what was checked and is wrong: that is [`crate::finding::Finding`]. Invariant: each error's
//! text is one sentence that says what, where and what to do; causes are reached through `source()` only.

use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be checked or done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arguments don't make sense together.
    #[error("{0}")]
    Usage(String),
    /// The operating system refused.
    #[error("cannot {action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried: `read`, `write`, `open`.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no ZIP at all.
    #[error("{} is not a ZIP but {found}: give the release or archive as it was published (.zip), or the folder it was unpacked to", path.display())]
    NotAZip {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: &'static str,
    },
    /// Nothing to compare the tree with.
    #[error("{} holds no {manifest}: {hint}", path.display())]
    NoManifest {
        /// The tree.
        path: PathBuf,
        /// The manifest's name.
        manifest: &'static str,
        /// Where it might be instead.
        hint: String,
    },
    /// A format that this version doesn't know.
    #[error("{place} has the format {found:?}, which this version of exhibit does not know ({known}): {advice}")]
    UnknownFormat {
        /// Which document.
        place: String,
        /// The format it names.
        found: String,
        /// What is known.
        known: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A document that people write has faults; all of them are listed.
    #[error("{} is not a valid {kind}: {}: fix the document and try again", path.display(), faults.join("; "))]
    Document {
        /// The document.
        path: PathBuf,
        /// What it should be.
        kind: &'static str,
        /// Each fault with its JSON pointer.
        faults: Vec<String>,
    },
    /// The output is there already. Outputs never overwrite.
    #[error("{} exists already: choose another output folder, or remove it", path.display())]
    OutputExists {
        /// The file that would be overwritten.
        path: PathBuf,
    },
    /// A git repository that can't be exported from.
    #[error("{}: {problem}", path.display())]
    Repository {
        /// The repository, or where it was looked for.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Something changed between two readings.
    #[error("{} changed while it was being read: stop what writes to it and try again", path.display())]
    Changed {
        /// The file that changed.
        path: PathBuf,
    },
    /// The archive that was written does not pass its own verification; it was removed.
    #[error("the archive would not verify: {0}: nothing was written")]
    WouldNotVerify(String),
}

/// A content that is another than when it was hashed, as a reader has to say it.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("it changed since it was hashed")]
struct ChangedContent;

/// What a reader says at the end of a content that is another than when it was hashed.
pub fn changed() -> io::Error {
    io::Error::other(ChangedContent)
}

/// What to do about what the system says.
fn advice(source: &io::Error) -> &'static str {
    let known = [
        (io::ErrorKind::NotFound, ": check the path"),
        (io::ErrorKind::PermissionDenied, ": check who may read and write there"),
        (io::ErrorKind::StorageFull, ": make room and try again"),
    ];
    known
        .iter()
        .find(|(kind, _)| *kind == source.kind())
        .map_or(": check the path and the disk it is on", |(_, advice)| advice)
}

impl Error {
    /// Wraps an I/O error with what was tried on which path; for use in `map_err`. One made by [`changed`] says what it is.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let path = path.to_path_buf();
            if let Some(inner) = source.get_ref()
                && inner.is::<ChangedContent>()
            {
                return Self::Changed { path };
            }
            Self::Io { action, path, source }
        }
    }

    /// Whether something changed between two readings.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::Changed { .. })
    }

    /// A short stable name of the kind, for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Io { .. } => "io",
            Self::NotAZip { .. } => "not_a_zip",
            Self::NoManifest { .. } => "no_manifest",
            Self::UnknownFormat { .. } => "unknown_format",
            Self::Document { .. } => "document",
            Self::OutputExists { .. } => "output_exists",
            Self::Repository { .. } => "repository",
            Self::Changed { .. } => "changed",
            Self::WouldNotVerify(_) => "would_not_verify",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_says_what_where_and_what_to_do() {
        let path = PathBuf::from("a.zip");
        let errors = [
            Error::io("read", &path)(io::Error::from(io::ErrorKind::NotFound)),
            Error::NotAZip { path: path.clone(), found: "a tar archive" },
            Error::NoManifest { path: path.clone(), manifest: "EXPORT-MANIFEST.json", hint: "look elsewhere".into() },
            Error::OutputExists { path: path.clone() },
            Error::Changed { path },
        ];
        for error in &errors {
            let text = error.to_string();
            assert!(text.contains("a.zip") && text.contains(": ") && !text.contains('\n'), "{text}");
            assert!(!error.kind().is_empty());
        }
    }
}
