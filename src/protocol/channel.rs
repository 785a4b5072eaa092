//! Connections that stay open: what arrives on them.

use crate::exchange::Arrival;
use crate::target::{ChannelProfile, Target};

/// How a protocol uses connections that stay open.
pub trait Channel: Sync {
    /// How connections are opened and framed at this target. Required. It may depend on the settings of the target file and
    /// on nothing else.
    fn profile(&self, target: &Target) -> ChannelProfile;

    /// Whether an arrival is unrelated to the message whose bytes were sent last: it answers an earlier message, or was
    /// not requested. Not called for keep-alives of the profile. Default: it is not. An arrival that may be an answer
    /// must not be called unrelated.
    fn is_unrelated(&self, _message: &[u8], _arrival: &Arrival) -> bool {
        false
    }
}
