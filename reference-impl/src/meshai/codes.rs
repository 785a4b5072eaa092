//! The error codes of section 6.2, and the HTTP status of each (E63).

/// A condition that is reported with an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The target agent does not exist.
    AgentNotFound,
    /// The requested capability is unavailable.
    CapabilityNotFound,
    /// Invalid credentials; also a denied access (E50).
    AuthenticationFailed,
    /// Too many requests.
    RateLimitExceeded,
    /// The request exceeded its timeout.
    Timeout,
    /// The input does not match its schema; also a malformed message (E65).
    InvalidSchema,
    /// The context does not exist.
    ContextNotFound,
    /// The agent lacks the resources.
    InsufficientResources,
    /// A registered agent gives no usable answer. Not a standard code: the list is open for other conditions (E62).
    AgentUnavailable,
    /// The server failed. Not a standard code either.
    Internal,
}

impl Code {
    /// The eight standard codes.
    pub(crate) const STANDARD: [Self; 8] = [
        Self::AgentNotFound,
        Self::CapabilityNotFound,
        Self::AuthenticationFailed,
        Self::RateLimitExceeded,
        Self::Timeout,
        Self::InvalidSchema,
        Self::ContextNotFound,
        Self::InsufficientResources,
    ];

    /// Its spelling on the wire.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AgentNotFound => "AGENT_NOT_FOUND",
            Self::CapabilityNotFound => "CAPABILITY_NOT_FOUND",
            Self::AuthenticationFailed => "AUTHENTICATION_FAILED",
            Self::RateLimitExceeded => "RATE_LIMIT_EXCEEDED",
            Self::Timeout => "TIMEOUT",
            Self::InvalidSchema => "INVALID_SCHEMA",
            Self::ContextNotFound => "CONTEXT_NOT_FOUND",
            Self::InsufficientResources => "INSUFFICIENT_RESOURCES",
            Self::AgentUnavailable => "AGENT_UNAVAILABLE",
            Self::Internal => "INTERNAL_ERROR",
        }
    }

    /// The HTTP status of a reply with it (E63, strict).
    #[must_use]
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::AgentNotFound | Self::CapabilityNotFound | Self::ContextNotFound => 404,
            Self::AuthenticationFailed => 401,
            Self::RateLimitExceeded => 429,
            Self::Timeout => 504,
            Self::InvalidSchema => 400,
            Self::InsufficientResources => 503,
            Self::AgentUnavailable => 502,
            Self::Internal => 500,
        }
    }
}
