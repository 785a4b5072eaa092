//! The fault codes (section 4.10).

use super::rules::Rules;
use crate::fault::planted;

/// Why a message is not processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// A mandatory header block was not understood.
    MustUnderstand,
    /// The version of the envelope is not supported.
    VersionMismatch,
    /// The message is malformed.
    Sender,
    /// The node failed while it processed a valid message.
    Receiver,
    /// The ttl ran out.
    TtlExpired,
    /// The MemoryGram is malformed.
    InvalidMemoryGram,
    /// A header block was understood and its processing failed: a code of this implementation (4.10, last sentence).
    BlockFailed,
}

impl Code {
    const ALL: [Self; 7] = [
        Self::MustUnderstand,
        Self::VersionMismatch,
        Self::Sender,
        Self::Receiver,
        Self::TtlExpired,
        Self::InvalidMemoryGram,
        Self::BlockFailed,
    ];

    /// The code as section 4.10 spells it.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MustUnderstand => "amp:MustUnderstand",
            Self::VersionMismatch => "amp:VersionMismatch",
            Self::Sender => "amp:Sender",
            Self::Receiver => "amp:Receiver",
            Self::TtlExpired => "amp:TTLExpired",
            Self::InvalidMemoryGram => "amp:InvalidMemoryGram",
            Self::BlockFailed => "mesh:BlockFailed",
        }
    }

    /// The code as it is sent.
    #[must_use]
    pub(crate) fn spelled(self, rules: &Rules) -> &'static str {
        // 4.10: six codes, spelled exactly, each with its own meaning.
        planted!(rules.fault, "code-without-prefix", return self.name().trim_start_matches("amp:"));
        planted!(rules.fault, "receiver-code-for-all", return Self::Receiver.name());
        planted!(rules.fault, "ttl-code-respelled", self == Self::TtlExpired => return "amp:TtlExpired");
        self.name()
    }

    /// The code of this spelling.
    #[must_use]
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The status of the answer (binding.md, 2: recommended, never judged).
    #[must_use]
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Sender | Self::InvalidMemoryGram | Self::TtlExpired => 400,
            Self::MustUnderstand | Self::VersionMismatch | Self::Receiver | Self::BlockFailed => 500,
        }
    }
}
