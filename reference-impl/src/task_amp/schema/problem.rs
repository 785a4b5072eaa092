//! Why a message is refused (binding.md, section 5).

use crate::json::{Object, Value};

/// The codes of binding.md, section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidJson,
    NotAnObject,
    MissingField,
    WrongType,
    BadEnum,
    BadFormat,
    IncompatibleVersion,
    RouteNotAllowed,
    MsgIdMismatch,
    DuplicateMsgId,
    BranchForbidden,
    CriteriaEmpty,
    BlockersRequired,
    IssuesRequired,
    DirectFixesRequired,
    FixOutOfRange,
    OutOfRange,
    SuspendRequired,
    WriterMismatch,
    UnresolvedRef,
    UnknownTask,
    TaskSuspended,
    TaskLocked,
    TooLarge,
}

impl Code {
    /// Its name.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::NotAnObject => "not_an_object",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::BadEnum => "bad_enum",
            Self::BadFormat => "bad_format",
            Self::IncompatibleVersion => "incompatible_version",
            Self::RouteNotAllowed => "route_not_allowed",
            Self::MsgIdMismatch => "msg_id_mismatch",
            Self::DuplicateMsgId => "duplicate_msg_id",
            Self::BranchForbidden => "branch_forbidden",
            Self::CriteriaEmpty => "criteria_empty",
            Self::BlockersRequired => "blockers_required",
            Self::IssuesRequired => "issues_required",
            Self::DirectFixesRequired => "direct_fixes_required",
            Self::FixOutOfRange => "fix_out_of_range",
            Self::OutOfRange => "out_of_range",
            Self::SuspendRequired => "suspend_required",
            Self::WriterMismatch => "writer_mismatch",
            Self::UnresolvedRef => "unresolved_ref",
            Self::UnknownTask => "unknown_task",
            Self::TaskSuspended => "task_suspended",
            Self::TaskLocked => "task_locked",
            Self::TooLarge => "too_large",
        }
    }
}

/// One reason to refuse a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    /// A JSON pointer into the message; empty for the whole of it.
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: path.into(), message: message.into() }
    }

    /// As it is shown in answers.
    #[must_use]
    pub(crate) fn to_json(&self) -> Value {
        Value::Object(Object::from([
            ("code", self.code.name().into()),
            ("path", self.path.as_str().into()),
            ("message", self.message.as_str().into()),
        ]))
    }
}
