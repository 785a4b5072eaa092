//! Message ids (4.2): eight bytes of time, eight of chance, both big-endian.

use rand_core::{OsRng, TryRngCore};

use super::rules::Rules;
use crate::fault::planted;

/// The length of an id in bytes.
pub(crate) const LENGTH: usize = 16;

/// Eight unpredictable bytes.
#[must_use]
pub(crate) fn random() -> [u8; 8] {
    let mut bytes = [0; 8];
    random_bytes(&mut bytes);
    bytes
}

/// Fills `bytes` from the secure generator of the system. Without it, signing would be unsafe, so
/// its failure ends the program.
pub(crate) fn random_bytes(bytes: &mut [u8]) {
    OsRng.try_fill_bytes(bytes).unwrap_or_else(|error| panic!("no secure randomness: {error}"));
}

/// The id of a message created at `ts`.
#[must_use]
pub(crate) fn make(ts: u64, random: [u8; 8], rules: Rules) -> Vec<u8> {
    // 4.2: big-endian, so that ids sort by time.
    let time = if rules.fault.is("id-little-endian") { ts.to_le_bytes() } else { ts.to_be_bytes() };
    // 4.2: the time is that of ts, in milliseconds.
    let time = if rules.fault.is("id-time-in-seconds") { (ts / 1000).to_be_bytes() } else { time };
    // 4.2: so ids sort in the order of creation.
    let earlier = ts.saturating_sub(u64::from(random[0]) * 3).to_be_bytes();
    let time = if rules.fault.is("id-time-scattered") { earlier } else { time };
    [time, random].concat()
}

/// Several ids of the same time. They differ, since each has chance of its own.
#[must_use]
pub(crate) fn several(ts: u64, count: usize, rules: Rules) -> Vec<Vec<u8>> {
    (0..count).map(|_| make(ts, tail(rules), rules)).collect()
}

/// A fresh id.
#[must_use]
pub(crate) fn fresh(ts: u64, rules: Rules) -> Vec<u8> {
    make(ts, tail(rules), rules)
}

/// 4.2: the second half comes from a cryptographically secure generator.
fn tail(rules: Rules) -> [u8; 8] {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNTER: AtomicU64 = AtomicU64::new(1);
    planted!(rules.fault, "id-counter-tail", return COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    random()
}

/// The time inside an id; `None` if the id is too short to have one.
#[must_use]
pub(crate) fn time(id: &[u8]) -> Option<u64> {
    id.first_chunk().map(|time| u64::from_be_bytes(*time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_time_and_chance() {
        let id = make(1_760_000_000_000, [7; 8], Rules::PLAIN);
        assert_eq!(data_encoding::HEXLOWER.encode(&id), "00000199c82cc0000707070707070707");
        assert_eq!((time(&id), time(&id[..7])), (Some(1_760_000_000_000), None));
        let several = several(5, 100, Rules::PLAIN);
        let different: std::collections::HashSet<_> = several.iter().collect();
        assert_eq!((different.len(), several[0].len()), (100, LENGTH));
    }
}
