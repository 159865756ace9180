//! Owns the kinds of forgeries: their names, and what each changes.
//!
//! Refuses to forge. Invariant: names and their order stay, since reports count by them.

/// What a forgery changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A replay called fresh, or a first effect called a replay.
    ReplayedFlag,
    /// A replay that took effect again.
    SecondEffect,
    /// Another effect id in one reply.
    EffectInReply,
    /// Another effect id in the rows.
    EffectInRows,
    /// Another effect id in replies and rows.
    EffectEverywhere,
    /// Another stored result.
    StoredResult,
    /// A result that names another effect.
    ResultOfAnotherEffect,
    /// Success for a changed answer.
    ChangedAnswerAccepted,
    /// Success for a changed state.
    ChangedStateAccepted,
    /// Success for another principal.
    OtherPrincipalAccepted,
    /// Success without a state.
    StatelessAccepted,
    /// Conflict for an identical request.
    FalseConflict,
    /// Success past a deadline of authority or state.
    ExpiredAccepted,
    /// A replay past its retention.
    RetentionExtended,
    /// A first effect again past a deadline.
    AppliedAgain,
    /// A status that tells an effect that nothing has.
    StatusWithoutRow,
    /// A status that no longer knows an effect.
    StatusUnknown,
    /// A status of another identity.
    StatusOfAnother,
    /// A status that grants a fresh write.
    FreshWriteGranted,
    /// A status with two effects.
    StatusOfTwoEffects,
    /// A status that shows a principal what is another's.
    ShownToAnother,
    /// A row and its effect that are gone.
    TombstoneGone,
    /// A row without its issue.
    RowWithoutIssue,
    /// An issue without its row.
    IssueWithoutRow,
    /// An issue that nobody asked for.
    ExtraIssue,
    /// A row of another principal.
    RowOfAnother,
    /// A step that was done twice.
    StepRepeated,
    /// An event that is missing.
    EventMissing,
    /// Events in another order.
    EventReordered,
    /// A compensation that is missing.
    CompensationMissing,
    /// Effect ids against the order of commits.
    EffectsReordered,
    /// A continuation where the case has none.
    ContinuationAfterStatus,
    /// A request in another phase.
    AnotherPhase,
    /// Another exit code.
    ExitCode,
    /// A reply to a request that was never sent.
    ReplyWithoutRequest,
    /// A case that is missing.
    CaseMissing,
    /// A case that stands twice.
    CaseDoubled,
    /// A case that the run was not asked for.
    CaseNotRequested,
}

/// Where a kind is forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// In a history: [`super::forgeries`] makes it.
    History,
    /// In the bytes of a transcript: a history can't hold it.
    Transcript,
    /// In the documents of a run.
    Run,
}

impl Kind {
    /// All kinds, in their order.
    pub const ALL: [Self; 38] = [
        Self::ReplayedFlag,
        Self::SecondEffect,
        Self::EffectInReply,
        Self::EffectInRows,
        Self::EffectEverywhere,
        Self::StoredResult,
        Self::ResultOfAnotherEffect,
        Self::ChangedAnswerAccepted,
        Self::ChangedStateAccepted,
        Self::OtherPrincipalAccepted,
        Self::StatelessAccepted,
        Self::FalseConflict,
        Self::ExpiredAccepted,
        Self::RetentionExtended,
        Self::AppliedAgain,
        Self::StatusWithoutRow,
        Self::StatusUnknown,
        Self::StatusOfAnother,
        Self::FreshWriteGranted,
        Self::StatusOfTwoEffects,
        Self::ShownToAnother,
        Self::TombstoneGone,
        Self::RowWithoutIssue,
        Self::IssueWithoutRow,
        Self::ExtraIssue,
        Self::RowOfAnother,
        Self::StepRepeated,
        Self::EventMissing,
        Self::EventReordered,
        Self::CompensationMissing,
        Self::EffectsReordered,
        Self::ContinuationAfterStatus,
        Self::AnotherPhase,
        Self::ExitCode,
        Self::ReplyWithoutRequest,
        Self::CaseMissing,
        Self::CaseDoubled,
        Self::CaseNotRequested,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.said().0
    }

    /// What it forges, in one sentence.
    pub fn sentence(self) -> &'static str {
        self.said().1
    }

    /// Where it is forged.
    pub fn level(self) -> Level {
        match self {
            Self::ReplyWithoutRequest => Level::Transcript,
            Self::CaseMissing | Self::CaseDoubled | Self::CaseNotRequested => Level::Run,
            Self::ReplayedFlag
            | Self::SecondEffect
            | Self::EffectInReply
            | Self::EffectInRows
            | Self::EffectEverywhere
            | Self::StoredResult
            | Self::ResultOfAnotherEffect
            | Self::ChangedAnswerAccepted
            | Self::ChangedStateAccepted
            | Self::OtherPrincipalAccepted
            | Self::StatelessAccepted
            | Self::FalseConflict
            | Self::ExpiredAccepted
            | Self::RetentionExtended
            | Self::AppliedAgain
            | Self::StatusWithoutRow
            | Self::StatusUnknown
            | Self::StatusOfAnother
            | Self::FreshWriteGranted
            | Self::StatusOfTwoEffects
            | Self::ShownToAnother
            | Self::TombstoneGone
            | Self::RowWithoutIssue
            | Self::IssueWithoutRow
            | Self::ExtraIssue
            | Self::RowOfAnother
            | Self::StepRepeated
            | Self::EventMissing
            | Self::EventReordered
            | Self::CompensationMissing
            | Self::EffectsReordered
            | Self::ContinuationAfterStatus
            | Self::AnotherPhase
            | Self::ExitCode => Level::History,
        }
    }

    fn said(self) -> (&'static str, &'static str) {
        match self {
            Self::ReplayedFlag => ("replayed-flag", "The replayed flag of a reply is flipped."),
            Self::SecondEffect => ("second-effect", "A replay took effect a second time."),
            Self::EffectInReply => ("effect-in-reply", "One reply names another effect."),
            Self::EffectInRows => ("effect-in-rows", "The rows hold another effect than was told."),
            Self::EffectEverywhere => ("effect-everywhere", "Replies and rows name another effect."),
            Self::StoredResult => ("stored-result", "A stored result is another one."),
            Self::ResultOfAnotherEffect => ("result-of-another-effect", "A result names another effect than its own."),
            Self::ChangedAnswerAccepted => ("changed-answer-accepted", "A changed request succeeds."),
            Self::ChangedStateAccepted => ("changed-state-accepted", "A changed state succeeds."),
            Self::OtherPrincipalAccepted => ("other-principal-accepted", "A request of another principal succeeds."),
            Self::StatelessAccepted => ("stateless-accepted", "A continuation that is none succeeds."),
            Self::FalseConflict => ("false-conflict", "An identical request gets a conflict."),
            Self::ExpiredAccepted => ("expired-accepted", "A write succeeds past its deadline."),
            Self::RetentionExtended => ("retention-extended", "A result is told again past its retention."),
            Self::AppliedAgain => ("applied-again-after-expiry", "An expired operation takes effect again."),
            Self::StatusWithoutRow => ("status-without-row", "A status tells an effect that no row has."),
            Self::StatusUnknown => ("status-unknown-after-effect", "A status doesn't know an effect that was told."),
            Self::StatusOfAnother => ("status-of-another", "A status speaks of another identity."),
            Self::FreshWriteGranted => ("fresh-write-granted", "A status grants a fresh write."),
            Self::StatusOfTwoEffects => ("status-of-two-effects", "A status tells two effects of one operation."),
            Self::ShownToAnother => ("shown-to-another", "A principal is shown another's effect."),
            Self::TombstoneGone => ("tombstone-gone", "An operation's row and effect are gone."),
            Self::RowWithoutIssue => ("row-without-issue", "An operation's row has no issue."),
            Self::IssueWithoutRow => ("issue-without-row", "An issue has no operation's row."),
            Self::ExtraIssue => ("extra-issue", "There is one issue too many."),
            Self::RowOfAnother => ("row-of-another", "An operation's row is another principal's."),
            Self::StepRepeated => ("step-repeated", "A replay repeated a step."),
            Self::EventMissing => ("event-missing", "A step's event is missing."),
            Self::EventReordered => ("event-reordered", "Two events stand in the other order."),
            Self::CompensationMissing => ("compensation-missing", "A compensation is missing."),
            Self::EffectsReordered => ("effects-reordered", "Effect ids are not in the order of commits."),
            Self::ContinuationAfterStatus => ("continuation-after-status", "A write follows where none may be sent."),
            Self::AnotherPhase => ("another-phase", "A request was sent in another phase."),
            Self::ExitCode => ("exit-code", "A process ended with another exit code."),
            Self::ReplyWithoutRequest => ("reply-without-request", "A reply answers a request that was never sent."),
            Self::CaseMissing => ("case-missing", "A requested case is missing."),
            Self::CaseDoubled => ("case-doubled", "A case stands twice."),
            Self::CaseNotRequested => ("case-not-requested", "A case was not requested."),
        }
    }
}
