//! The five roles, the five types of messages, and who may send which to whom (spec, head cards 01 to 05).

/// A role of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    Admin,
    Coordinator,
    Executor,
    Reviewer,
    System,
}

impl Role {
    /// All roles, in the order of the member `from`.
    pub(crate) const ALL: [Self; 5] = [Self::Admin, Self::Coordinator, Self::Executor, Self::Reviewer, Self::System];

    /// Its name in messages.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Coordinator => "coordinator",
            Self::Executor => "executor",
            Self::Reviewer => "reviewer",
            Self::System => "system",
        }
    }

    /// The role of this name.
    #[must_use]
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A type of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Dispatch,
    Result,
    Request,
    Verdict,
    Escalation,
}

impl Kind {
    /// All types.
    pub(crate) const ALL: [Self; 5] = [Self::Dispatch, Self::Result, Self::Request, Self::Verdict, Self::Escalation];

    /// The value of the member `type`.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "task_dispatch",
            Self::Result => "task_result",
            Self::Request => "review_request",
            Self::Verdict => "review_verdict",
            Self::Escalation => "escalation",
        }
    }

    /// The type of this name.
    #[must_use]
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a message of this type must be acknowledged (title block: "required on 4/5").
    #[must_use]
    pub(crate) fn requires_ack(self) -> bool {
        self != Self::Escalation
    }

    /// The roles that may send it (head cards; E14).
    #[must_use]
    pub(crate) fn senders(self) -> &'static [Role] {
        match self {
            Self::Dispatch | Self::Request => &[Role::Coordinator],
            Self::Result => &[Role::Executor],
            Self::Verdict => &[Role::Reviewer],
            Self::Escalation => &[Role::Coordinator, Role::Executor, Role::Reviewer, Role::System],
        }
    }

    /// The role that it is addressed to (head cards).
    #[must_use]
    pub(crate) fn addressee(self) -> Role {
        match self {
            Self::Dispatch => Role::Executor,
            Self::Result | Self::Verdict => Role::Coordinator,
            Self::Request => Role::Reviewer,
            Self::Escalation => Role::Admin,
        }
    }
}
