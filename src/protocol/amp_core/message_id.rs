//! Message ids (RFC 001 section 4.2): eight bytes of time, eight of randomness.

/// Bytes of an id.
pub const LENGTH: usize = 16;

/// The id for a time in milliseconds since 1970 and eight random bytes.
pub fn new(ts: u64, random: [u8; 8]) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&ts.to_be_bytes());
    id[8..].copy_from_slice(&random);
    id
}

/// The time in an id, in milliseconds since 1970; `None` if it does not have 16 bytes.
pub fn time(id: &[u8]) -> Option<u64> {
    halves(id).map(|(time, _)| time)
}

/// The random half of an id; `None` if it does not have 16 bytes.
pub fn tail(id: &[u8]) -> Option<u64> {
    halves(id).map(|(_, tail)| tail)
}

fn halves(id: &[u8]) -> Option<(u64, u64)> {
    let id = u128::from_be_bytes(id.try_into().ok()?).to_be_bytes();
    let (time, tail) = id.split_at(8);
    Some((u64::from_be_bytes(time.try_into().ok()?), u64::from_be_bytes(tail.try_into().ok()?)))
}

/// Milliseconds between the time in an id and `ts`, whichever is later; `None` if the id does not have 16 bytes.
pub fn distance(id: &[u8], ts: u64) -> Option<u64> {
    time(id).map(|time| time.abs_diff(ts))
}

/// Patterns in the random halves of many ids that show that they are not random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TailFlaw {
    /// Two are the same.
    #[error("two ids have the same random half")]
    Repeated,
    /// Each is the previous one plus a constant.
    #[error("the random half is a counter")]
    Counter,
    /// The upper 32 bits are always zero.
    #[error("no random half is above 2^32")]
    Small,
}

/// Checks the random halves of ids in the order of creation. Fewer than three are not significant: `None`.
pub fn tail_flaw(tails: &[u64]) -> Option<TailFlaw> {
    if tails.len() < 3 {
        return None;
    }
    let step = tails[1].wrapping_sub(tails[0]);
    let mut sorted = tails.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        Some(TailFlaw::Repeated)
    } else if tails.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step)
        || sorted.windows(2).all(|pair| pair[1] - pair[0] < 1 << 16)
    {
        // Replies may overtake each other, so close neighbours count as a counter in any order.
        Some(TailFlaw::Counter)
    } else if tails.iter().all(|tail| *tail < 1 << 32) {
        Some(TailFlaw::Small)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 001 A.2.
    #[test]
    fn the_published_id() {
        let id = new(1_707_055_200_000, [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(data_encoding::HEXLOWER.encode(&id), "0000018d746b37000000000000000001");
        assert_eq!((time(&id), tail(&id)), (Some(1_707_055_200_000), Some(1)));
        assert_eq!(distance(&id, 1_707_055_199_000), Some(1000));
        assert_eq!(distance(&id, 1_707_055_201_001), Some(1001));
        assert_eq!((time(&id[..15]), time(&[id.as_slice(), &[0]].concat()), distance(&[], 0)), (None, None, None));
        assert_eq!(distance(&new(u64::MAX, [0; 8]), 0), Some(u64::MAX));
    }

    #[test]
    fn tails_that_cannot_be_random() {
        assert_eq!(tail_flaw(&[1, 2, 3, 4]), Some(TailFlaw::Counter));
        assert_eq!(tail_flaw(&[3, 1, 2]), Some(TailFlaw::Counter));
        assert_eq!(tail_flaw(&[u64::MAX, 0, 1]), Some(TailFlaw::Counter));
        assert_eq!(tail_flaw(&[5 << 50, 7, 5 << 50]), Some(TailFlaw::Repeated));
        assert_eq!(tail_flaw(&[1_000_000, 5, 90_000_000]), Some(TailFlaw::Small));
        assert_eq!(tail_flaw(&[0x7c83_f01a_5d1c_2ca0, 0x6e63_6df8_5f9d_85a8, 0x4c1e_7cd9_2e49_b7e8]), None);
        assert_eq!(tail_flaw(&[1, 2]), None);
    }
}
