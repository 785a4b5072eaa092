//! Codecs: how the bodies of messages are written and read.

use crate::value::Value;
use crate::wire::canonical::Form;
use crate::wire::json::{self, Layout};

/// How a protocol writes and reads the bodies of its messages.
pub trait Codec: Sync {
    /// The layouts in which the same value may be written, the usual one first. Required, never empty.
    fn layouts(&self) -> &'static [&'static str];

    /// Writes a value in one of [`Codec::layouts`]; any other word selects the default layout. Required. Never
    /// fails: a value that the format cannot express is written as near as it can be.
    fn encode(&self, body: &Value, layout: &str) -> Vec<u8>;

    /// Reads the output of [`Codec::encode`], and possibly malformed data of a target. Required; `None` if it is
    /// unreadable.
    fn decode(&self, bytes: &[u8]) -> Option<Value>;

    /// Whether reading `bytes` stops at a limit of levels or of items, so that their content is unknown. Required.
    fn is_beyond_limits(&self, bytes: &[u8]) -> bool;

    /// The canonical JSON form that hashes of content are computed over. Default: `None`, no such form; vectors of
    /// kinds that need one are then refused.
    fn canonical_form(&self) -> Option<Form> {
        None
    }
}

/// JSON in three layouts: `compact`, `pretty`, and `reversed`, with the members of every object in reverse order.
pub struct Json {
    /// The canonical form of the protocol.
    pub canonical_form: Option<Form>,
}

impl Codec for Json {
    fn layouts(&self) -> &'static [&'static str] {
        &["compact", "pretty", "reversed"]
    }

    fn encode(&self, body: &Value, layout: &str) -> Vec<u8> {
        let layout = match layout {
            "pretty" => Layout::Pretty,
            "reversed" => Layout::Reversed,
            _ => Layout::Compact,
        };
        json::write(body, layout).into_bytes()
    }

    fn decode(&self, bytes: &[u8]) -> Option<Value> {
        json::parse(bytes).ok()
    }

    fn is_beyond_limits(&self, bytes: &[u8]) -> bool {
        json::parse(bytes).is_err_and(|error| error.is_limit())
    }

    fn canonical_form(&self) -> Option<Form> {
        self.canonical_form
    }
}
