//! Faults of TCP.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::amp_core::frame::{Frame, FrameError, kind};
use crate::cbor::{self, Cbor, Limits};

/// `tcp-maximum-shared`: A frame, if the latest handshake permits its size, on whichever connection that was.
pub(in crate::amp_core) fn within_latest_maximum(
    next: Result<Option<Frame>, FrameError>,
) -> Result<Option<Frame>, FrameError> {
    static LATEST: AtomicU64 = AtomicU64::new(u64::MAX);
    let Some(frame) = next? else { return Ok(None) };
    if frame.kind == kind::HANDSHAKE {
        let request = cbor::read(&frame.payload, Limits::default()).ok();
        let declared = request.and_then(|item| item.value.get("max_msg_size").and_then(Cbor::as_unsigned));
        LATEST.store(declared.unwrap_or(u64::MAX), Ordering::Relaxed);
        return Ok(Some(frame));
    }
    let length = u64::try_from(frame.payload.len()).unwrap_or(u64::MAX);
    if length > LATEST.load(Ordering::Relaxed) { Err(FrameError::TooLarge) } else { Ok(Some(frame)) }
}
