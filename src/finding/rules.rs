//! Owns the table of rules: for each code its stable name, its weight, what holds where it isn't raised, and what a person
//! does about it.
//!
//! Refuses to say anything about one case: that is the finding's message. Invariant: a name is never reused or changed
//! once released; a row stands where its code stands in [`Code`].

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::code::{Code, Severity};

/// What a code stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The code.
    pub code: Code,
    /// Its stable name.
    pub name: &'static str,
    /// Its weight.
    pub severity: Severity,
    /// What holds where the code is not raised.
    pub rule: &'static str,
    /// What a person does about it.
    pub advice: &'static str,
}

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

const fn error(code: Code, name: &'static str, rule: &'static str, advice: &'static str) -> Rule {
    Rule { code, name, severity: Severity::Error, rule, advice }
}

const fn warning(code: Code, name: &'static str, rule: &'static str, advice: &'static str) -> Rule {
    Rule { code, name, severity: Severity::Warning, rule, advice }
}

/// Every code, in the order of [`Code`].
#[rustfmt::skip] // A row is a name, a rule and an advice, a line each.
pub static RULES: &[Rule] = &[
    // ZIP: the end of the file
    error(Code::ZipEndMissing, "zip-end-missing",
        "A ZIP ends with an end of central directory record (APPNOTE 4.3.16).",
        "The file was cut short or is damaged: fetch it again."),
    error(Code::ZipEndAmbiguous, "zip-end-ambiguous",
        "Just one end record reaches exactly to the end of the file.",
        "Readers would choose different directories. Ask the publisher for an archive made by one tool in one go."),
    error(Code::ZipTrailingBytes, "zip-trailing-bytes",
        "Nothing follows the end record and its comment.",
        "Something was appended. Fetch the original file again."),
    error(Code::ZipCommentOverrun, "zip-comment-overrun",
        "The archive comment is as long as the end record says.",
        "The file was cut short or the length was changed: fetch it again."),
    error(Code::ZipCommentSignature, "zip-comment-signature",
        "A comment holds no record signature (PK and a record's two bytes).",
        "A comment that looks like records misleads readers that scan. Rebuild the archive without it."),
    error(Code::ZipCommentText, "zip-comment-text",
        "A comment is UTF-8.",
        "Readers show different text. Rebuild the archive without the comment."),
    error(Code::ZipMultiDisk, "zip-multi-disk",
        "The archive is one disk: every disk number is 0 and the number of disks 1.",
        "Join the parts into one archive."),
    error(Code::ZipCount, "zip-count",
        "Every count of entries equals the number of central records.",
        "Entries are hidden from readers that trust the count. Fetch the original again."),
    error(Code::ZipDirectoryBounds, "zip-directory-bounds",
        "The central directory starts at its recorded offset and ends exactly where the end records begin.",
        "Bytes were inserted or removed, or a second directory is hidden. Fetch the original again."),
    error(Code::ZipDirectoryRecord, "zip-directory-record",
        "The central directory is a row of whole central records, nothing else.",
        "The directory is damaged. Fetch the original again."),
    error(Code::Zip64Locator, "zip64-locator",
        "A ZIP64 locator stands exactly where an end record has a field of all ones, right before it, and points at the record right before itself.",
        "Readers would choose different end records. Rebuild the archive."),
    error(Code::Zip64EndRecord, "zip64-end-record",
        "The ZIP64 end record has its signature, 44 bytes of fields and no extensible data.",
        "Rebuild the archive without extensible data."),
    error(Code::Zip64ValueDiffers, "zip64-value-differs",
        "A field of the end record that isn't all ones equals its ZIP64 copy.",
        "Readers would take one or the other. Fetch the original again."),
    // ZIP: layout
    error(Code::ZipPrefix, "zip-prefix",
        "The first local record starts at byte 0.",
        "Bytes stand before the archive (a self-extractor, an appended archive). Use the plain ZIP."),
    error(Code::ZipGap, "zip-gap",
        "Local records follow each other without a gap up to the central directory.",
        "Bytes that belong to no entry are hidden in the file. Rebuild the archive."),
    error(Code::ZipHiddenEntry, "zip-hidden-entry",
        "Every local record has its central record.",
        "A reader that streams sees an entry that others don't. Rebuild the archive."),
    error(Code::ZipOverlap, "zip-overlap",
        "No two records share a byte.",
        "Overlapping entries are how bombs and hidden contents are made. Don't open the file."),
    error(Code::ZipLocalMissing, "zip-local-missing",
        "A local record stands where its central record points.",
        "The offset was changed or the file is damaged. Fetch the original again."),
    // ZIP: two copies of a fact
    error(Code::ZipNameDiffers, "zip-name-differs",
        "Local and central name are the same bytes.",
        "Readers would extract different names. Fetch the original again."),
    error(Code::ZipMethodDiffers, "zip-method-differs",
        "Local and central compression method are the same.",
        "Readers would see different contents. Fetch the original again."),
    error(Code::ZipFlagsDiffer, "zip-flags-differ",
        "Local and central flags are the same.",
        "Readers would treat the entry differently. Rebuild the archive."),
    error(Code::ZipSizeDiffers, "zip-size-differs",
        "Every copy of a size agrees: local, central, ZIP64 and data descriptor (local ones may be zero where a descriptor follows).",
        "Readers would see different contents. Fetch the original again."),
    error(Code::ZipCrcDiffers, "zip-crc-differs",
        "Every copy of the CRC-32 agrees (the local one may be zero where a descriptor follows).",
        "Readers would accept different contents. Fetch the original again."),
    error(Code::ZipTimeDiffers, "zip-time-differs",
        "Every copy of the modification time agrees.",
        "The records come from different archives. Rebuild the archive."),
    error(Code::ZipVersionDiffers, "zip-version-differs",
        "Local and central version needed are the same.",
        "Readers choose records by it. Rebuild the archive."),
    error(Code::ZipDescriptor, "zip-descriptor",
        "After an entry with flag bit 3 comes a data descriptor with its signature, as wide as the local ZIP64 extra says.",
        "Readers that stream would lose their place. Rebuild the archive on a seekable file."),
    error(Code::ZipDescriptorStored, "zip-descriptor-stored",
        "A stored entry with data has no data descriptor.",
        "No reader that streams can tell where such an entry ends. Compress it, or write it on a seekable file."),
    error(Code::ZipExtraMalformed, "zip-extra-malformed",
        "Extra fields fill their space exactly, each with its id, length and so many bytes.",
        "Readers would see different fields. Rebuild the archive."),
    error(Code::ZipExtraRepeated, "zip-extra-repeated",
        "An extra field's id occurs once in a record.",
        "Readers take the first or the last. Rebuild the archive."),
    error(Code::ZipExtraDiffers, "zip-extra-differs",
        "An extra field that both records of an entry have says the same in both, and repeats no other field wrongly.",
        "Readers take one or the other. Rebuild the archive."),
    error(Code::Zip64Extra, "zip64-extra",
        "The ZIP64 extra holds exactly the sizes and offset whose fields are all ones; the local one both sizes.",
        "Readers would see different sizes. Rebuild the archive."),
    error(Code::ZipUnicodePath, "zip-unicode-path",
        "A Unicode path or comment extra (0x7075, 0x6375) is version 1, fresh, UTF-8 and says what the record's own field says.",
        "Readers would extract different names. Rebuild the archive with UTF-8 names."),
    // ZIP: what an entry is
    error(Code::ZipMethodUnsupported, "zip-method-unsupported",
        "An entry is stored (0) or deflated (8).",
        "Other methods are not read alike everywhere. Rebuild the archive with deflate."),
    error(Code::ZipVersionNeeded, "zip-version-needed",
        "An entry needs no version over 6.3 to extract.",
        "Rebuild the archive with an ordinary tool."),
    error(Code::ZipEncrypted, "zip-encrypted",
        "Nothing is encrypted or masked (flag bits 0, 6 and 13, extra fields 0x0017 and 0x9901).",
        "Evidence that can't be read can't be checked. Publish it in the clear, or leave it out and say so."),
    error(Code::ZipFlagsReserved, "zip-flags-reserved",
        "No flag is set but 1, 2 (deflate level), 3 (descriptor) and 11 (UTF-8).",
        "Rebuild the archive with an ordinary tool."),
    error(Code::ZipStoredSize, "zip-stored-size",
        "A stored entry's compressed and plain size are the same.",
        "Readers would see different contents. Fetch the original again."),
    error(Code::ZipDeflateBroken, "zip-deflate-broken",
        "Deflated data is a whole, valid deflate stream (RFC 1951).",
        "The data is damaged: fetch the file again."),
    error(Code::ZipDeflateEnd, "zip-deflate-end",
        "A deflate stream ends exactly at the entry's compressed size.",
        "Bytes are hidden behind the stream. Rebuild the archive."),
    error(Code::ZipContentSize, "zip-content-size",
        "Inflating an entry gives exactly its plain size.",
        "Readers would see different contents. Fetch the original again."),
    error(Code::ZipContentCrc, "zip-content-crc",
        "The content's CRC-32 is the recorded one.",
        "The data is damaged: fetch the file again."),
    error(Code::ZipFolderData, "zip-folder-data",
        "An entry whose name ends in a slash is a folder and has no data.",
        "Some readers write a file. Rebuild the archive."),
    error(Code::ZipFolderAttribute, "zip-folder-attribute",
        "Unix type and DOS attribute say folder just where the name ends in a slash.",
        "Some readers make a folder, some a file. Rebuild the archive."),
    error(Code::ZipLink, "zip-link",
        "No entry is a symbolic link.",
        "A link can lead outside. Pack the file it points to."),
    error(Code::ZipSpecialFile, "zip-special-file",
        "An entry is a regular file or a folder; no device, pipe, socket or volume label.",
        "Leave it out of the archive."),
    error(Code::ZipModeBits, "zip-mode-bits",
        "No setuid, setgid or sticky bit is set.",
        "Clear the bits and rebuild the archive."),
    // ZIP: size
    error(Code::ZipRatio, "zip-ratio",
        "Contents over 64 MiB inflate to at most 100 times their stored size.",
        "This looks like a decompression bomb. If it is real data, publish it outside the archive."),
    error(Code::ZipTooLarge, "zip-too-large",
        "An entry has at most 64 GiB, an archive 1 TiB and 1,000,000 entries.",
        "Split the archive."),
    error(Code::ZipNotCanonical, "zip-not-canonical",
        "An archive of exhibit's own form has the structural bytes that its entries imply: sorted, fixed time, Unix modes, no comment, no slack.",
        "The archive was changed or repacked. Fetch the original, or ask the publisher to freeze it again."),
    // Names
    error(Code::NameEncoding, "name-encoding",
        "A name is UTF-8, and flagged so (bit 11) where it isn't plain ASCII.",
        "Readers would see different names. Rebuild the archive with UTF-8 names."),
    error(Code::NameUnsafe, "name-unsafe",
        "A name is relative, parted by slashes, without empty, . or .. part, backslash, colon or NUL.",
        "Extracting it could write outside the folder. Don't extract the archive."),
    error(Code::NameUnportable, "name-unportable",
        "A name can exist on every common system: none of < > \" | ? *, no reserved device name, no part ending in a dot or space, parts of at most 255 bytes, 4,096 in all.",
        "Rename the file and pack again."),
    error(Code::NameControl, "name-control",
        "A name has no control, format, private or unassigned character and no line break (Unicode classes C, Zl, Zp).",
        "Such a name shows as another. Rename the file and pack again."),
    error(Code::NameNotNfc, "name-not-nfc",
        "A name is in Unicode normalization form C.",
        "macOS would change its bytes. Rename the file in NFC and pack again."),
    error(Code::NameDuplicate, "name-duplicate",
        "A name occurs once.",
        "Readers take the first or the last. Rebuild the archive."),
    error(Code::NameCollision, "name-collision",
        "No two names of files or folders are equal after NFC and full case folding.",
        "One would overwrite the other on Windows and macOS. Rename one."),
    error(Code::NameFileAndFolder, "name-file-and-folder",
        "No name is both a file and a folder.",
        "It can't be extracted. Rename one."),
    warning(Code::NameLookalike, "name-lookalike",
        "Names stay different after compatibility normalization (NFKC).",
        "Two names look alike: check that both are meant."),
    warning(Code::NameForeign, "name-foreign",
        "No resource fork (._x, __MACOSX) or git metadata (.git) lies in an archive.",
        "Such entries carry more than their author meant. Consider packing again without them."),
    warning(Code::ModeWorldWritable, "mode-world-writable",
        "No entry is writable by everyone.",
        "Consider packing again with modes 0644 and 0755."),
    // Trees
    error(Code::TreeRoot, "tree-root",
        "A packed release has exactly one folder at its root, named after the project and its content id or commit.",
        "Fetch the original archive again; don't repack it."),
    error(Code::TreeLink, "tree-link",
        "A tree has no symbolic links.",
        "Unpack the release again, or compare the folder with the release you received."),
    error(Code::TreeSpecialFile, "tree-special-file",
        "A tree has regular files and folders only.",
        "Unpack the release again."),
    error(Code::TreeGitMetadata, "tree-git-metadata",
        "A release holds no git metadata (.git).",
        "Verify the release itself, not a clone of its repository."),
    error(Code::TreeEmptyFolder, "tree-empty-folder",
        "A tree has exactly the folders that its files need.",
        "Something was removed or added. Unpack the release again."),
    error(Code::TreeMode, "tree-mode",
        "A file's mode is the recorded one (0644 or 0755).",
        "Where an unpacking tool dropped or masked the modes, verify the ZIP itself, or unpack it again with `exhibit extract`, which sets them exactly."),
    error(Code::TreeChanged, "tree-changed",
        "A file stays the same while it is read.",
        "Something writes to it. Stop that and verify again."),
    error(Code::FileMissing, "file-missing",
        "Every file that the manifest lists is there.",
        "Fetch or unpack the release again."),
    error(Code::FileExtra, "file-extra",
        "Every file that is there is listed in the manifest.",
        "The file was added later: verify the release as it was published, outside a working folder."),
    error(Code::FileSize, "file-size",
        "A file has the recorded size.",
        "Manifest and content disagree: ask the publisher."),
    error(Code::FileChanged, "file-changed",
        "A file has the recorded SHA-256.",
        "Its content isn't the published one. Fetch or unpack the release again."),
    error(Code::FileBlob, "file-blob",
        "A file has the recorded git blob id.",
        "Manifest and content disagree: ask the publisher."),
    // Manifests and receipts
    error(Code::JsonSyntax, "json-syntax",
        "A JSON document is UTF-8 text of the JSON grammar (RFC 8259), complete, not nested too deep, and nothing after it.",
        "The file is damaged or was edited by hand. Fetch it again."),
    error(Code::JsonDuplicateKey, "json-duplicate-key",
        "No object of a JSON document has a key twice.",
        "Readers take the first or the last value. Ask the publisher for a fixed document."),
    error(Code::ManifestField, "manifest-field",
        "A manifest has exactly its format's fields, each of its type and form.",
        "Ask the publisher for a manifest that follows its format."),
    error(Code::ManifestCanonical, "manifest-canonical",
        "A manifest of exhibit's own format is canonical JSON (RFC 8785), so that its SHA-256 is the content id.",
        "It was edited or reformatted. Fetch the original again."),
    error(Code::ManifestOrder, "manifest-order",
        "A manifest's files are sorted by path bytes.",
        "It was edited. Fetch the original again."),
    error(Code::ManifestCount, "manifest-count",
        "A manifest's counts equal what it lists.",
        "It was edited. Fetch the original again."),
    error(Code::ManifestPath, "manifest-path",
        "A manifest lists each path once, none that collides with another, and not the manifest itself.",
        "Ask the publisher for a fixed manifest."),
    error(Code::ManifestBlob, "manifest-blob",
        "What a manifest says of a file's original, export and transform fits its status.",
        "Ask the publisher for a fixed manifest."),
    error(Code::ManifestOmission, "manifest-omission",
        "An omission is one that the format allows, and the omitted file is not there.",
        "Ask the publisher."),
    error(Code::DerivativeSet, "derivative-set",
        "The redacted files are exactly those that the policy approved.",
        "Use the study's own policy (--policy), or ask the publisher why the set changed."),
    error(Code::DerivativeRecord, "derivative-record",
        "A redacted file's rule and digests are those that the policy approved.",
        "Ask the publisher: the redaction isn't the approved one."),
    error(Code::ReceiptDiffers, "receipt-differs",
        "The archive is the one that its receipt names: digest, size, content id and commit.",
        "This isn't the archive that was published. Fetch it again, from the publisher."),
    // Runs
    error(Code::RunMissing, "run-missing",
        "Every retained run is in the release.",
        "The evidence was left out. Ask the publisher."),
    error(Code::RunRecord, "run-record",
        "A run's documents follow their format.",
        "The run is damaged. Fetch it again."),
    error(Code::RunSpecMissing, "run-spec-missing",
        "A run's matrix is there.",
        "Without it nobody can tell which cases were asked for. Point --root at the project's root."),
    error(Code::RunSpecDiffers, "run-spec-differs",
        "A run's matrix has the digest that the run recorded.",
        "The matrix was changed after the run. Restore the one that was run."),
    error(Code::RunCaseMissing, "run-case-missing",
        "Every case that the matrix asks for has a result.",
        "The run is incomplete. Keep it as failed evidence, or run it again."),
    error(Code::RunCaseRepeated, "run-case-repeated",
        "A case has one result.",
        "Nobody can tell which result counts. Keep the run as failed evidence, or run it again."),
    error(Code::RunCaseUnrequested, "run-case-unrequested",
        "A result belongs to a case of the matrix.",
        "Results and matrix don't fit together. Check that the matrix is the one that was run."),
    error(Code::RunExpectationDiffers, "run-expectation-differs",
        "A result's expected label is the matrix's.",
        "The matrix or the results were changed. Restore what was run."),
    error(Code::RunCaseFailed, "run-case-failed",
        "Every case of the run passed, or is unsupported.",
        "The run shows a failure. Keep it as failed evidence."),
    error(Code::RunMachineryError, "run-machinery-error",
        "No case ended in an error of the test machinery.",
        "The case was not tested. Keep the run as failed evidence, or run it again."),
    error(Code::RunUnsupportedUnnamed, "run-unsupported-unnamed",
        "A case that is unsupported names the API that is missing.",
        "Say in the record (missing_api) what the SDK lacks."),
    error(Code::RunArtifactChanged, "run-artifact-changed",
        "A run's file has the SHA-256 that its result recorded.",
        "The file was changed after the run. Restore it from the original."),
    error(Code::RunArtifactAbsent, "run-artifact-absent",
        "A file that a result names is there, or its absence is disclosed.",
        "Restore the file, or freeze the run where it is complete."),
    error(Code::RunFileUnaccounted, "run-file-unaccounted",
        "Every file of a run is named by a result or is one of the run's own documents.",
        "Nobody recorded where it comes from. Move it out of the run."),
    error(Code::RunSidecar, "run-sidecar",
        "A database has exactly the journal files that the run declared.",
        "Without its journal a database tells another story. Restore the file."),
    // Exports
    error(Code::ExportName, "export-name",
        "No file of a release has the name of credentials, of a running program's own files or of build output.",
        "Take the file out of the repository, omit it in the export rules, or allow it there with a reason."),
    error(Code::ExportSecret, "export-secret",
        "No content of a release looks like a private key or a token.",
        "Revoke the secret and take it out. If it is none, allow the file in the export rules with a reason."),
    error(Code::ExportOpaque, "export-opaque",
        "Every container in a release can be looked into.",
        "Pack it as a plain ZIP or gzip, omit it, or allow it in the export rules with a reason."),
    error(Code::ExportPrivate, "export-private",
        "No private string is left in a release, in contents and names.",
        "Let a redaction cover the file, omit it, or rename it."),
    error(Code::ExportRedaction, "export-redaction",
        "A redaction matches something, can be applied, and leaves nothing that it would match again.",
        "Mend the redaction in the export rules, or take it out."),
    error(Code::ExportOmission, "export-omission",
        "An omission or an allowance applies to something.",
        "Take it out of the export rules, or mend its path."),
    // What was found later
    warning(Code::DerivativeDigest, "derivative-digest",
        "A redacted file of an early export has the digests that the policy records.",
        "The rule is the approved one, the content isn't: compare it with the file that the policy means."),
    error(Code::RunSourceChanged, "run-source-changed",
        "A recorded source that is in the tree has the digest that the run recorded, where no snapshot holds the sources.",
        "The source was changed after the run. Publish the commit that was run, or a snapshot of its sources."),
    // Source snapshots
    error(Code::SnapshotArchive, "snapshot-archive",
        "A source snapshot's archive is one gzip, whole and nothing after it, of one tar that every reader reads alike.",
        "Fetch the snapshot again, or make it again from its commit: a tar of the form ustar or pax, files only, through gzip."),
    error(Code::SnapshotMember, "snapshot-member",
        "A source snapshot has regular files only, each under one portable name.",
        "Make the snapshot again from its commit, naming files only."),
    error(Code::SnapshotSources, "snapshot-sources",
        "A source snapshot has exactly the recorded sources.",
        "It doesn't hold what was run. Make it again from the run's commit, of the recorded sources."),
    error(Code::SnapshotChanged, "snapshot-changed",
        "A source in a snapshot has the recorded SHA-256.",
        "It isn't the source that was run. Make the snapshot again from the run's commit."),
    error(Code::ExportDirty, "export-dirty",
        "Working tree and index are the commit, byte by byte.",
        "Commit or undo the change. Where git converts line ends, switch that off (core.autocrlf, .gitattributes) and check out again."),
    error(Code::ExportLink, "export-link",
        "A release holds no symbolic link.",
        "Commit the file itself in its place, or omit the link in the export rules."),
    error(Code::ExportSubmodule, "export-submodule",
        "A release holds no submodule.",
        "Commit the files that are needed, or omit the submodule in the export rules."),
    error(Code::ExportRun, "export-run",
        "Every run of the commit is retained, or the export rules say that it isn't.",
        "List it in the export rules under runs, or under not_retained with the reason."),
    error(Code::ExportUntracked, "export-untracked",
        "The evidence that a run names is committed.",
        "Perhaps git ignores it: add it with git add --force, and commit."),
    error(Code::ExportDerivative, "export-derivative",
        "A file that came redacted into the repository is still the recorded derivative.",
        "Restore the published file, or correct the record of its redaction."),
    error(Code::ExportSnapshot, "export-snapshot",
        "The sources of a run can be taken from the commit that it names.",
        "Fetch that commit, or say in the export rules why the run goes without its sources (without_snapshot)."),
    error(Code::JudgeExpectation, "judge-expectation",
        "Every expectation that the matrix has of a case is met.",
        "Compare the call or row that is named with the matrix. If the server did wrong, keep the run as failed evidence."),
    error(Code::JudgeStepMissing, "judge-step-missing",
        "Every step that the matrix schedules was sent.",
        "The case was not run to its end. Run it again, or use the matrix that was run."),
    error(Code::JudgeRequestUnscheduled, "judge-request-unscheduled",
        "Every request on the ledger is one that a step of the matrix asks for.",
        "What was sent is not what was scheduled. Use the matrix that was run, or run the case again."),
    error(Code::JudgePhase, "judge-phase",
        "A request is sent in the phase that the matrix schedules it in.",
        "The order of the case was another. Run it again as scheduled."),
    error(Code::JudgeExit, "judge-exit",
        "A process ends with the exit code that the matrix schedules.",
        "The process ended otherwise than it should. Look at its log, and run the case again."),
    error(Code::RunFactDiffers, "run-fact-differs",
        "What a run recorded of its databases is what they hold.",
        "The record or the database was changed, or the recorder erred. Restore the original."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn table_and_enum_agree_and_names_are_unique() {
        let mut names = BTreeSet::new();
        for (index, rule) in RULES.iter().enumerate() {
            assert_eq!(rule.code as usize, index, "{} stands in the wrong row", rule.name);
            assert_eq!(rule.name.parse(), Ok(rule.code));
            assert!(names.insert(rule.name), "{} twice", rule.name);
            assert!(rule.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(rule.rule.ends_with('.') && rule.advice.ends_with('.'), "{}", rule.name);
        }
    }
}
