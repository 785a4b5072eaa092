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

    /// The id of a message in bytes, by which later messages refer to it. Default: `None`, messages have no ids.
    fn id_of(&self, _message: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// The ids of the messages that an arrival is, or refers to. One that another case has sent shows that the arrival belongs
    /// to that case: a target may send to any connection of a party. Default: none.
    fn refers_to(&self, _arrival: &Arrival) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Whether an arrival is the only answer to the message whose bytes were sent last, so that a probe waits for no other.
    /// Default: it is not known to be.
    fn is_only_answer(&self, _message: &[u8], _arrival: &Arrival) -> bool {
        false
    }
}
