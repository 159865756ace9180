//! Owns every finding code; what each stands for is its row in the table of rules.
//!
//! Refuses to say anything about one case: that is the finding's message. Invariant: a code's name is never reused
//! or changed once released; the table and the enum list the same codes in the same order (tested there).

use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A rule is broken: the verdict is a refusal.
    Error,
    /// Worth a look; the verdict stands.
    Warning,
}

/// A rule that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A ZIP ends with an end of central directory record (APPNOTE 4.3.16).
    ZipEndMissing,
    /// Just one end record reaches exactly to the end of the file.
    ZipEndAmbiguous,
    /// Nothing follows the end record and its comment.
    ZipTrailingBytes,
    /// The archive comment is as long as the end record says.
    ZipCommentOverrun,
    /// A comment holds no record signature (PK and a record's two bytes).
    ZipCommentSignature,
    /// A comment is UTF-8.
    ZipCommentText,
    /// The archive is one disk: every disk number is 0 and the number of disks 1.
    ZipMultiDisk,
    /// Every count of entries equals the number of central records.
    ZipCount,
    /// The central directory starts at its recorded offset and ends exactly where the end records begin.
    ZipDirectoryBounds,
    /// The central directory is a row of whole central records, nothing else.
    ZipDirectoryRecord,
    /// A ZIP64 locator stands exactly where an end record has a field of all ones, right before it, and points at the record right before itself.
    Zip64Locator,
    /// The ZIP64 end record has its signature, 44 bytes of fields and no extensible data.
    Zip64EndRecord,
    /// A field of the end record that isn't all ones equals its ZIP64 copy.
    Zip64ValueDiffers,
    /// The first local record starts at byte 0.
    ZipPrefix,
    /// Local records follow each other without a gap up to the central directory.
    ZipGap,
    /// Every local record has its central record.
    ZipHiddenEntry,
    /// No two records share a byte.
    ZipOverlap,
    /// A local record stands where its central record points.
    ZipLocalMissing,
    /// Local and central name are the same bytes.
    ZipNameDiffers,
    /// Local and central compression method are the same.
    ZipMethodDiffers,
    /// Local and central flags are the same.
    ZipFlagsDiffer,
    /// Every copy of a size agrees: local, central, ZIP64 and data descriptor (local ones may be zero where a descriptor follows).
    ZipSizeDiffers,
    /// Every copy of the CRC-32 agrees (the local one may be zero where a descriptor follows).
    ZipCrcDiffers,
    /// Every copy of the modification time agrees.
    ZipTimeDiffers,
    /// Local and central version needed are the same.
    ZipVersionDiffers,
    /// After an entry with flag bit 3 comes a data descriptor with its signature, as wide as the local ZIP64 extra says.
    ZipDescriptor,
    /// A stored entry with data has no data descriptor.
    ZipDescriptorStored,
    /// Extra fields fill their space exactly, each with its id, length and so many bytes.
    ZipExtraMalformed,
    /// An extra field's id occurs once in a record.
    ZipExtraRepeated,
    /// An extra field that both records of an entry have says the same in both, and repeats no other field wrongly.
    ZipExtraDiffers,
    /// The ZIP64 extra holds exactly the sizes and offset whose fields are all ones; the local one both sizes.
    Zip64Extra,
    /// A Unicode path or comment extra (0x7075, 0x6375) is version 1, fresh, UTF-8 and says what the record's own field says.
    ZipUnicodePath,
    /// An entry is stored (0) or deflated (8).
    ZipMethodUnsupported,
    /// An entry needs no version over 6.3 to extract.
    ZipVersionNeeded,
    /// Nothing is encrypted or masked (flag bits 0, 6 and 13, extra fields 0x0017 and 0x9901).
    ZipEncrypted,
    /// No flag is set but 1, 2 (deflate level), 3 (descriptor) and 11 (UTF-8).
    ZipFlagsReserved,
    /// A stored entry's compressed and plain size are the same.
    ZipStoredSize,
    /// Deflated data is a whole, valid deflate stream (RFC 1951).
    ZipDeflateBroken,
    /// A deflate stream ends exactly at the entry's compressed size.
    ZipDeflateEnd,
    /// Inflating an entry gives exactly its plain size.
    ZipContentSize,
    /// The content's CRC-32 is the recorded one.
    ZipContentCrc,
    /// An entry whose name ends in a slash is a folder and has no data.
    ZipFolderData,
    /// Unix type and DOS attribute say folder just where the name ends in a slash.
    ZipFolderAttribute,
    /// No entry is a symbolic link.
    ZipLink,
    /// An entry is a regular file or a folder; no device, pipe, socket or volume label.
    ZipSpecialFile,
    /// No setuid, setgid or sticky bit is set.
    ZipModeBits,
    /// Contents over 64 MiB inflate to at most 100 times their stored size.
    ZipRatio,
    /// An entry has at most 64 GiB, an archive 1 TiB and 1,000,000 entries.
    ZipTooLarge,
    /// An archive of exhibit's own form has the structural bytes that its entries imply: sorted, fixed time, Unix modes, no comment, no slack.
    ZipNotCanonical,
    /// A name is UTF-8, and flagged so (bit 11) where it isn't plain ASCII.
    NameEncoding,
    /// A name is relative, parted by slashes, without empty, . or .. part, backslash, colon or NUL.
    NameUnsafe,
    /// A name can exist on every common system: none of < > " | ? *, no reserved device name, no part ending in a dot or space, parts of at most 255 bytes, 4,096 in all.
    NameUnportable,
    /// A name has no control, format, private or unassigned character and no line break (Unicode classes C, Zl, Zp).
    NameControl,
    /// A name is in Unicode normalization form C.
    NameNotNfc,
    /// A name occurs once.
    NameDuplicate,
    /// No two names of files or folders are equal after NFC and full case folding.
    NameCollision,
    /// No name is both a file and a folder.
    NameFileAndFolder,
    /// Names stay different after compatibility normalization (NFKC).
    NameLookalike,
    /// No resource fork (._x, __MACOSX) or git metadata (.git) lies in an archive.
    NameForeign,
    /// No entry is writable by everyone.
    ModeWorldWritable,
    /// A packed release has exactly one folder at its root, named after the project and its content id or commit.
    TreeRoot,
    /// A tree has no symbolic links.
    TreeLink,
    /// A tree has regular files and folders only.
    TreeSpecialFile,
    /// A release holds no git metadata (.git).
    TreeGitMetadata,
    /// A tree has exactly the folders that its files need.
    TreeEmptyFolder,
    /// A file's mode is the recorded one (0644 or 0755).
    TreeMode,
    /// A file stays the same while it is read.
    TreeChanged,
    /// Every file that the manifest lists is there.
    FileMissing,
    /// Every file that is there is listed in the manifest.
    FileExtra,
    /// A file has the recorded size.
    FileSize,
    /// A file has the recorded SHA-256.
    FileChanged,
    /// A file has the recorded git blob id.
    FileBlob,
    /// A JSON document is UTF-8 text of the JSON grammar (RFC 8259), complete, not nested too deep, and nothing after it.
    JsonSyntax,
    /// No object of a JSON document has a key twice.
    JsonDuplicateKey,
    /// A manifest has exactly its format's fields, each of its type and form.
    ManifestField,
    /// A manifest of exhibit's own format is canonical JSON (RFC 8785), so that its SHA-256 is the content id.
    ManifestCanonical,
    /// A manifest's files are sorted by path bytes.
    ManifestOrder,
    /// A manifest's counts equal what it lists.
    ManifestCount,
    /// A manifest lists each path once, none that collides with another, and not the manifest itself.
    ManifestPath,
    /// What a manifest says of a file's original, export and transform fits its status.
    ManifestBlob,
    /// An omission is one that the format allows, and the omitted file is not there.
    ManifestOmission,
    /// The redacted files are exactly those that the policy approved.
    DerivativeSet,
    /// A redacted file's digests are those that the policy approved.
    DerivativeRecord,
    /// The archive is the one that its receipt names: digest, size, content id and commit.
    ReceiptDiffers,
    /// Every retained run is in the release.
    RunMissing,
    /// A run's documents follow their format.
    RunRecord,
    /// A run's matrix is there.
    RunSpecMissing,
    /// A run's matrix has the digest that the run recorded.
    RunSpecDiffers,
    /// Every case that the matrix asks for has a result.
    RunCaseMissing,
    /// A case has one result.
    RunCaseRepeated,
    /// A result belongs to a case of the matrix.
    RunCaseUnrequested,
    /// A result's expected label is the matrix's.
    RunExpectationDiffers,
    /// Every case of the run passed, or is unsupported.
    RunCaseFailed,
    /// No case ended in an error of the test machinery.
    RunMachineryError,
    /// A case that is unsupported names the API that is missing.
    RunUnsupportedUnnamed,
    /// A run's file has the SHA-256 that its result recorded.
    RunArtifactChanged,
    /// A file that a result names is there, or its absence is disclosed.
    RunArtifactAbsent,
    /// Every file of a run is named by a result or is one of the run's own documents.
    RunFileUnaccounted,
    /// A database has exactly the journal files that the run declared.
    RunSidecar,
    /// No file of a release has the name of credentials, of a running program's own files or of build output.
    ExportName,
    /// No content of a release looks like a private key or a token.
    ExportSecret,
    /// Every container in a release can be looked into.
    ExportOpaque,
    /// No private string is left in a release, in contents and names.
    ExportPrivate,
    /// A redaction matches something, can be applied, and leaves nothing that it would match again.
    ExportRedaction,
    /// An omission or an allowance applies to something.
    ExportOmission,
    /// A redaction of an early export has the digests that the policy records.
    DerivativeDigest,
    /// A recorded source that is in the tree has the digest that the run recorded, where no snapshot holds the sources.
    RunSourceChanged,
    /// A source snapshot's archive is one gzip, whole and nothing after it, of one tar that every reader reads alike.
    SnapshotArchive,
    /// A source snapshot has regular files only, each under one portable name.
    SnapshotMember,
    /// A source snapshot has exactly the recorded sources.
    SnapshotSources,
    /// A source in a snapshot has the recorded SHA-256.
    SnapshotChanged,
    /// Working tree and index are the commit, byte by byte.
    ExportDirty,
    /// A release holds no symbolic link.
    ExportLink,
    /// A release holds no submodule.
    ExportSubmodule,
    /// Every run of the commit is retained, or the rules say that it isn't.
    ExportRun,
    /// The evidence that a run names is committed.
    ExportUntracked,
    /// A file that came redacted into the repository is still the recorded derivative.
    ExportDerivative,
    /// The sources of a run can be taken from the commit that it names.
    ExportSnapshot,
    /// Every line of a transcript is a frame or an event of its form.
    TranscriptLine,
    /// The last line of a transcript is whole.
    TranscriptTruncated,
    /// A frame is one JSON-RPC 2.0 message.
    TranscriptMessage,
    /// A request id is a string or a whole number.
    TranscriptId,
    /// A request id is not used again while it is open.
    TranscriptIdReused,
    /// A reply has a request.
    TranscriptReplyUnmatched,
    /// A request has one reply.
    TranscriptReplyRepeated,
    /// Sequence numbers rise from line to line.
    TranscriptOrder,
    /// A database is SQLite's, not encrypted, and passes SQLite's integrity check.
    DatabaseBroken,
    /// A database's journal or write-ahead log is whole and belongs to it: SQLite would ignore the rest without a word.
    DatabaseSidecar,
    /// A rollback journal names no super-journal.
    DatabaseSuperJournal,
    /// A ledger's database has the ledger's tables and columns as plain tables, texts in UTF-8, and nothing that computes when it is read.
    DatabaseSchema,
    /// A value in a ledger's database has the type that its column should have, and times are whole seconds.
    DatabaseValue,
    /// A database and each sidecar have at most 256 MiB, a table 250,000 rows and 100 columns, a row 1 MiB, a schema 1,000 objects, and reading takes at most 1,000,000,000 steps.
    DatabaseTooLarge,
    /// A ledger's database holds the ledger's tables and nothing else.
    DatabaseUnknown,
    /// A database that is kept with a write-ahead log has it beside it.
    DatabaseLogAbsent,
    /// Every expectation that the matrix has of a case is met.
    JudgeExpectation,
    /// Every step that the matrix schedules was sent.
    JudgeStepMissing,
    /// Every request on the ledger is one that a step of the matrix asks for.
    JudgeRequestUnscheduled,
    /// A request is sent in the phase that the matrix schedules it in.
    JudgePhase,
    /// A process ends with the exit code that the matrix schedules.
    JudgeExit,
    /// What a run recorded of its databases is what they hold.
    RunFactDiffers,
    /// A reply is of a kind that its request can get.
    ReplayReply,
    /// A state that was altered, has expired or is another's is refused before the ledger is asked.
    ReplayState,
    /// A result names its own operation and effect, in the form of its mode.
    ReplayResult,
    /// A deadline refuses once it has passed by the process's clock, and not before.
    ReplayDeadline,
    /// No status grants a fresh write.
    ReplayFreshWrite,
    /// A status is of the operation, principal and backend that asked.
    ReplayStatusIdentity,
    /// A status is one that a correct consumer accepts.
    ReplayStatusForm,
    /// An operation is applied for the first time once.
    ReplaySecond,
    /// A stored result is told again only to the same request, and as it was.
    ReplayStored,
    /// A conflict is told only for a request that differs from the one that the operation is bound to.
    ReplayConflict,
    /// An operation is in progress only between its effect and its end.
    ReplayProgress,
    /// A status tells an effect only if the operation took that effect for that principal.
    ReplayStatusEffect,
    /// An operation that is complete is not unknown to its own principal.
    ReplayStatusUnknown,
    /// What only an absent row explains is told only before the operation is bound.
    ReplayAbsent,
    /// Each effect has an id of its own, given in the order of commits.
    ReplayEffect,
    /// Each row comes from a call, and each effect that was told has its row.
    ReplayRow,
    /// Each row with an effect has its issue, and each issue its row.
    ReplayIssue,
    /// The steps of an operation are recorded once each, in their order, and agree with its row.
    ReplayEvent,
    /// A stored fingerprint is that of the request that made its row.
    ReplayFingerprint,
}
