//! BATCH (4.5): each item is a message of its own.

use bytes::Bytes;

use super::super::codes::Code;
use super::super::did;
use super::super::envelope;
use super::super::receive::{self, Authentic};
use super::super::rejection::{Rejection, Stage};
use super::channel::Channel;
use super::replies::{self, Cause, Complaint};
use super::{Answer, BATCH_DEPTH, Body, Node, Outcome, Taken};
use crate::fault::planted;

/// Maximum number of items of a batch.
const ITEM_LIMIT: usize = 1000;

impl Node {
    /// Takes the items one after the other, each by its own signature (E55).
    pub(super) async fn take_batch(&self, message: Authentic, channel: &Channel, depth: usize, now: u64) -> Taken {
        let (voice, cause, rules) = (self.voice(now), Cause::of(&message.headers), self.rules());
        let refuse = |rejection: Rejection, details: &str| {
            let code = rejection.code;
            let answer = Answer::refused(voice, cause, &Complaint::because(code, details));
            let Answer { replies, status, .. } = answer;
            let outcome = Outcome::Rejected(rejection);
            Taken { replies, status, refusal: Some(code), outcome, ..Taken::default() }
        };
        let items = match receive::admit(&message, rules) {
            Ok(Body::Batch(items)) => items,
            Ok(_) => return refuse(Rejection::new(Code::InvalidMessage, Stage::Schema, "items"), "items"),
            Err(rejection) => return refuse(rejection, "items"),
        };
        if depth >= BATCH_DEPTH || items.len() > ITEM_LIMIT {
            let rejection = Rejection::new(Code::BadRequest, Stage::Schema, "too deep or too long");
            return refuse(rejection, "too deep or too long");
        }
        // 4.5: a bad item does not sink the others.
        let bad_item = || refuse(Rejection::new(Code::InvalidMessage, Stage::Schema, "an item"), "an item");
        planted!(rules.fault, "batch-all-or-nothing", !self.are_valid(&items, now) => return bad_item());
        let mut taken = Taken { status: 202, ..Taken::default() };
        for (index, item) in items.into_iter().enumerate() {
            let (item, peek) = (Bytes::from(item.clone()), envelope::peek(&item));
            // 4.5: an item that cannot be decoded is named by its place in the container.
            if peek.from.is_none() || peek.id.is_none() {
                let complaint = Complaint { code: Code::InvalidMessage, details: None, batch_index: Some(index) };
                // Other, E55: or it is ignored.
                if !rules.is_other() {
                    taken.replies.push(voice.error(cause, &complaint));
                }
                continue;
            }
            // 4.5: an item may be of another sender than the container.
            let foreign = peek.from.as_deref().is_some_and(|from| !did::is_same(from, &message.headers.from));
            let of_item = Cause { id: peek.id.as_deref().unwrap_or_default(), ..cause };
            let error = foreign.then(|| voice.error(of_item, &Code::Unauthorized.into()));
            planted!(rules.fault, "batch-foreign-items-refused", foreign => { taken.replies.extend(error); continue });
            // 4.5: and each by its own signature.
            planted!(rules.fault, "batch-trusts-container", self.trust(&item, now, &mut taken.replies) => continue);
            let one = Box::pin(self.take_at_depth(item, channel, depth + 1)).await;
            taken.replies.extend(one.replies);
        }
        // 4.5: in the order of the items.
        planted!(rules.fault, "batch-replies-reversed", taken.replies.reverse());
        // Other, E55: the container may be acknowledged as well.
        if rules.is_other() {
            taken.replies.insert(0, voice.ack("recipient", cause, Vec::new()));
        }
        if !taken.replies.is_empty() {
            taken.status = 200;
        }
        taken.outcome = Outcome::Accepted(Box::new(message));
        taken
    }

    fn are_valid(&self, items: &[Vec<u8>], now: u64) -> bool {
        let (documents, settings) = (self.documents(), &self.0.settings);
        let recipient = receive::Recipient {
            rules: settings.rules,
            me: &settings.me,
            documents: documents.as_ref(),
            versions: &settings.versions,
            now,
        };
        items.iter().all(|item| receive::receive(item, recipient).is_ok())
    }

    /// Acknowledges an item without a look at its signature.
    fn trust(&self, item: &Bytes, now: u64, replies: &mut Vec<Bytes>) -> bool {
        let Ok(message) = envelope::parse(item, self.rules()) else { return false };
        let headers = message.headers;
        if !headers.to.all().iter().any(|to| self.is_me(to)) || headers.expiry() < now {
            return false;
        }
        replies.push(self.voice(now).ack("recipient", replies::Cause::of(&headers), Vec::new()));
        true
    }
}
