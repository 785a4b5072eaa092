//! The bodies of answers that a run keeps: equal ones once.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::exchange::{Body, Incoming};

/// Bytes of a body from which on it is compared with earlier ones: most answers are short, and no two of them are equal.
const LONG: usize = 1 << 10;

/// Bytes of bodies that are compared with later ones at most.
const COMPARED: usize = 16 << 20;

/// Long bodies that arrived lately.
#[derive(Default)]
pub(super) struct Kept {
    known: HashSet<Arc<Vec<u8>>>,
    /// The same, the oldest first.
    order: VecDeque<Arc<Vec<u8>>>,
    bytes: usize,
}

impl Kept {
    /// Shares the memory of bodies that arrived before. Returns the bytes that this answer adds to the memory of the run.
    pub(super) fn keep(&mut self, received: &mut Incoming) -> u64 {
        let bodies =
            std::iter::once(&mut received.body).chain(received.arrived.iter_mut().map(|arrival| &mut arrival.body));
        bodies.map(|body| self.body(body) as u64).sum()
    }

    fn body(&mut self, body: &mut Body) -> usize {
        // Room that reading left over would be kept as long as the body.
        if Arc::get_mut(&mut body.0).is_some_and(|bytes| bytes.capacity() > bytes.len()) {
            body.to_mut().shrink_to_fit();
        }
        if body.len() < LONG {
            return body.len();
        }
        if let Some(known) = self.known.get(&body.0) {
            body.0 = Arc::clone(known);
            return 0;
        }
        let added = body.len();
        while self.bytes + added > COMPARED
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= oldest.len();
            self.known.remove(&oldest);
        }
        self.bytes += added;
        self.known.insert(Arc::clone(&body.0));
        self.order.push_back(Arc::clone(&body.0));
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Ended;

    fn answer(body: Vec<u8>) -> Incoming {
        Incoming { body: body.into(), ..Incoming::nothing(Ended::Complete) }
    }

    #[test]
    fn equal_bodies_are_kept_once() {
        let mut kept = Kept::default();
        let (mut one, mut same, mut other) = (answer(vec![1; 5000]), answer(vec![1; 5000]), answer(vec![2; 5000]));
        assert_eq!((kept.keep(&mut one), kept.keep(&mut same), kept.keep(&mut other)), (5000, 0, 5000));
        assert!(Arc::ptr_eq(&one.body.0, &same.body.0));
        assert_eq!(other.body.0[0], 2);
    }

    #[test]
    fn what_is_compared_is_bounded() {
        let mut kept = Kept::default();
        for byte in 0..100 {
            kept.keep(&mut answer(vec![byte; 1 << 20]));
            assert!(kept.bytes <= COMPARED && kept.order.len() == kept.known.len());
        }
        assert_eq!(kept.keep(&mut answer(vec![99; 1 << 20])), 0);
        assert_eq!(kept.keep(&mut answer(vec![0; 1 << 20])), 1 << 20, "it was forgotten");
    }
}
