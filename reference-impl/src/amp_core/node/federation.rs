//! Custody between relays (RFC 002, 6.5 and 6.6; RFC 003, 5.6).
//!
//! A message is handed on to the relay that the document of its recipient names, in dual custody: the copy stays until the
//! other relay reports what became of it.

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::super::codes::Code;
use super::super::did;
use super::super::document::{Document, Resolve};
use super::super::message::Headers;
use super::super::net::{COMMIT, FORWARD};
use super::super::receive::{self, Recipient};
use super::super::store::outbound::{self, Outbound};
use super::super::store::queue;
use super::super::store::transfers::{self, Key, Transfer};
use super::{Node, cose, replies};
use crate::cbor::{self, Cbor, Limits};

/// Maximum number of relays of a message (RFC 003, 5.6.2).
const HOP_LIMIT: u64 = 8;

/// The next relay on the way to a recipient.
#[derive(Debug, Clone)]
pub(super) struct Way {
    url: String,
    /// The passed relays, and how many more are permitted.
    path: Vec<String>,
    hop_limit: u64,
}

/// A refused wrapper.
struct Refused(Code, &'static str);

/// A forward wrapper whose members have their types.
struct Forward {
    message: Vec<u8>,
    from_did: String,
    recipient_did: String,
    relay_path: Vec<String>,
    hop_limit: u64,
    upstream_relay: String,
    dual: bool,
}

impl Forward {
    fn read(bytes: &[u8]) -> Result<Self, Refused> {
        let malformed = |reason| Refused(Code::InvalidMessage, reason);
        let map = cbor::read(bytes, Limits::default()).map_err(|_| malformed("not CBOR"))?.value;
        match map.get("fwd_v").and_then(Cbor::as_unsigned) {
            Some(1) => {}
            Some(_) => return Err(Refused(Code::UnsupportedVersion, "fwd_v")),
            None => return Err(malformed("fwd_v")),
        }
        let text = |name: &'static str| {
            map.get(name).and_then(Cbor::as_text).map(str::to_owned).ok_or_else(|| malformed(name))
        };
        let path = map.get("relay_path").and_then(Cbor::as_array).ok_or_else(|| malformed("relay_path"))?;
        let path = path.iter().map(|relay| relay.as_text().map(str::to_owned)).collect::<Option<_>>();
        let mode = text("transfer_mode")?;
        if mode != "single" && mode != "dual" {
            return Err(malformed("transfer_mode"));
        }
        Ok(Self {
            message: map.get("message").and_then(Cbor::as_bytes).ok_or_else(|| malformed("message"))?.to_vec(),
            from_did: text("from_did")?,
            recipient_did: text("recipient_did")?,
            relay_path: path.ok_or_else(|| malformed("relay_path"))?,
            hop_limit: map.get("hop_limit").and_then(Cbor::as_unsigned).ok_or_else(|| malformed("hop_limit"))?,
            upstream_relay: text("upstream_relay")?,
            dual: mode == "dual",
        })
    }
}

fn response(outcome: Result<Vec<u8>, Refused>, with_receipt: bool) -> (u16, Vec<u8>) {
    let (status, map) = match outcome {
        Ok(receipt) if with_receipt => (200, Cbor::map([("accepted", true.into()), ("receipt", receipt.into())])),
        Ok(_) => (200, Cbor::map([("accepted", true.into())])),
        Err(Refused(code, reason)) => {
            let map = Cbor::map([
                ("accepted", false.into()),
                ("error_code", code.number().into()),
                ("error_message", reason.into()),
            ]);
            (replies::status(code), map)
        }
    };
    (status, cbor::encode(&map))
}

impl Node {
    fn trusts(&self, relay: &str) -> bool {
        self.0.settings.trusted_relays.iter().any(|known| did::is_same(known, relay))
    }

    /// RFC 002, 6.5: takes custody of a message; status and wrapper of the answer.
    pub(crate) async fn forward(&self, bytes: &[u8], principal: Option<&str>) -> (u16, Vec<u8>) {
        // 6.5: the relay that takes custody gives a receipt.
        let with_receipt = !self.rules().fault.is("forward-without-receipt");
        response(self.take_custody(bytes, principal).await, with_receipt)
    }

    async fn take_custody(&self, bytes: &[u8], principal: Option<&str>) -> Result<Vec<u8>, Refused> {
        let (now, rules) = (self.now(), self.rules());
        let forward = Forward::read(bytes)?;
        // RFC 002, 7.3: a relay forwards in its own name, and must be trusted.
        let named = principal == Some(forward.upstream_relay.as_str()) || rules.fault.is("forward-principal-unchecked");
        if !named || !self.trusts(&forward.upstream_relay) {
            return Err(Refused(Code::Unauthorized, "upstream_relay"));
        }
        self.fetch_document(&forward.from_did, now).await;
        let (documents, settings) = (self.documents(), &self.0.settings);
        let versions = &settings.versions;
        let recipient = Recipient { rules, me: &settings.me, documents: documents.as_ref(), versions, now };
        let (message, _) = receive::in_transit(&forward.message, recipient)
            .map_err(|rejection| Refused(rejection.code, rejection.reason))?;
        let headers = message.headers;
        // 6.5: the wrapper must match the message.
        if !did::is_same(&headers.from, &forward.from_did) && !rules.fault.is("forward-sender-unchecked") {
            return Err(Refused(Code::InvalidMessage, "from_did"));
        }
        if !headers.to.all().iter().any(|to| did::is_same(to, &forward.recipient_did)) {
            return Err(Refused(Code::InvalidMessage, "recipient_did"));
        }
        // RFC 003, 5.6.5: loops first, then hops.
        if forward.relay_path.iter().any(|relay| self.is_me(relay)) {
            return Err(Refused(Code::RelayRejected, "loop"));
        }
        let way = self.way_on(&forward.recipient_did).map(|way| Way {
            path: forward.relay_path.iter().cloned().chain([self.did().to_owned()]).collect(),
            // 6.5: each hop costs one.
            hop_limit: forward.hop_limit.saturating_sub(u64::from(!rules.fault.is("forward-hops-uncounted"))),
            ..way
        });
        if way.is_some() && forward.hop_limit == 0 {
            return Err(Refused(Code::RelayRejected, "hop limit"));
        }
        let raw = bytes::Bytes::from(forward.message.clone());
        let party = did::without_fragment(&forward.recipient_did).to_owned();
        if headers.ttl == 0 && self.0.directory.hand_over(&party, &raw) == 0 {
            return Err(Refused(Code::RelayRejected, "TTL=0 requires immediate delivery"));
        }
        let node = self.clone();
        let kept = self.0.store.write(move |db| node.keep_transfer(db, &headers, &forward, way.as_ref(), now)).await;
        let receipt = kept
            .map_err(|_| Refused(Code::Unavailable, "the database failed"))?
            .map_err(|_| Refused(Code::InternalError, "the database failed"))?
            .ok_or(Refused(Code::Overloaded, "the queue is full"))?;
        self.0.directory.announce(&party);
        self.0.sending.notify_one();
        Ok(receipt)
    }

    fn keep_transfer(
        &self,
        db: &Connection,
        headers: &Headers,
        forward: &Forward,
        way: Option<&Way>,
        now: u64,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        let (sender, recipient) = (did::without_fragment(&headers.from), did::without_fragment(&forward.recipient_did));
        let key = Key { sender, id: &headers.id, recipient, upstream: true };
        // RFC 003, 5.6.3: the same again gets the same receipt.
        if let Some(Transfer { receipt: Some(receipt), .. }) = transfers::find(db, key)? {
            return Ok(Some(receipt));
        }
        if headers.ttl > 0 {
            let parcel = queue::Parcel { sender, id: &headers.id, raw: &forward.message, expires_at: headers.expiry() };
            let mode = if forward.dual { "dual" } else { "single" };
            if queue::put(db, parcel, &[recipient.to_owned()], Some(mode))?.is_err() {
                return Ok(None);
            }
            if let Some(way) = way {
                self.hand_on(db, headers, &forward.message, recipient, way, now)?;
            }
        }
        let receipt = self.receipt(&[
            ("receipt_v", 1.into()),
            ("msg_id", headers.id.as_slice().into()),
            ("from_did", forward.from_did.as_str().into()),
            ("recipient_did", forward.recipient_did.as_str().into()),
            ("upstream_relay", forward.upstream_relay.as_str().into()),
            ("downstream_relay", self.did().into()),
            ("accepted_at", now.into()),
            ("hop_limit_remaining", forward.hop_limit.into()),
            ("status", "accepted".into()),
        ]);
        let peer = forward.upstream_relay.clone();
        let transfer = Transfer { peer, state: "accepted".to_owned(), receipt: Some(receipt.clone()) };
        transfers::put(db, key, &transfer, headers.expiry())?;
        Ok(Some(receipt))
    }

    fn receipt(&self, members: &[(&str, Cbor)]) -> Vec<u8> {
        let me = &self.0.settings.me;
        let document = Document::of_identity(me, &[]);
        let kid = document.assertion.first().cloned().unwrap_or_default();
        let pairs = members.iter().map(|(name, value)| (Cbor::from(*name), value.clone())).collect();
        cose::sign(me, &kid, &Cbor::Map(pairs))
    }

    /// The relay that the document of a recipient names, if it is another one (RFC 003, 5.6.1).
    pub(super) fn way_on(&self, recipient: &str) -> Option<Way> {
        let document = self.documents().resolve(recipient)?;
        let own = self.0.services.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let named =
            document.services.iter().filter(|service| service.types.iter().any(|kind| kind == "AgentMessagingRelay"));
        let mut urls = named.filter_map(|service| service.endpoint.clone());
        let url =
            urls.find(|url| url.starts_with("http://") && !own.iter().any(|(_, mine)| url.starts_with(mine.as_str())))?;
        Some(Way { url, path: vec![self.did().to_owned()], hop_limit: HOP_LIMIT - 1 })
    }

    /// Forwards a message, for one recipient (RFC 003, 5.6). Returns whether there is something to send.
    pub(super) fn hand_on(
        &self,
        db: &Connection,
        headers: &Headers,
        raw: &[u8],
        recipient: &str,
        way: &Way,
        now: u64,
    ) -> rusqlite::Result<bool> {
        let sender = did::without_fragment(&headers.from);
        let path = way.path.iter().map(|relay| relay.as_str().into()).collect();
        let wrapper = Cbor::map([
            ("fwd_v", 1.into()),
            ("message", raw.into()),
            ("from_did", headers.from.as_str().into()),
            ("recipient_did", recipient.into()),
            ("relay_path", Cbor::Array(path)),
            ("hop_limit", way.hop_limit.into()),
            ("upstream_relay", self.did().into()),
            ("transfer_mode", "dual".into()),
        ]);
        let key = Key { sender, id: &headers.id, recipient, upstream: false };
        let transfer = Transfer { peer: String::new(), state: "pending".to_owned(), receipt: None };
        transfers::put(db, key, &transfer, headers.expiry())?;
        let new = posted(&way.url, FORWARD, recipient, cbor::encode(&wrapper), headers.expiry());
        outbound::insert(db, &new, now)
    }

    /// Processes the answer of the other relay to a wrapper (RFC 003, 5.6.4).
    pub(crate) async fn handed_over(&self, handle: &[u8], answer: &[u8], is_commit: bool) {
        let now = self.now();
        let Ok(answer) = cbor::read(answer, Limits::default()).map(|item| item.value) else { return };
        if answer.get("accepted").and_then(Cbor::as_bool) != Some(true) {
            return; // the next attempt, if any, follows later
        }
        let receipt = answer.get("receipt").and_then(Cbor::as_bytes).map(<[u8]>::to_vec);
        let content = receipt
            .map(|receipt| cose::verify(&receipt, "downstream_relay", self.documents().as_ref(), now, self.rules()));
        let (node, handle) = (self.clone(), handle.to_vec());
        let noted = self.0.store.write(move |db| {
            match content {
                // A commit report is answered without a receipt.
                None if is_commit => outbound::settle(db, &handle, "confirmed"),
                None | Some(Err(_)) => Ok(()), // no custody without proof: the copy is kept
                Some(Ok(content)) => node.transferred(db, &handle, &content),
            }
        });
        noted.await.ok(); // the next attempt gets the same answer
    }

    fn transferred(&self, db: &Connection, handle: &[u8], content: &Cbor) -> rusqlite::Result<()> {
        let text = |name| content.get(name).and_then(Cbor::as_text).unwrap_or_default();
        let id = content.get("msg_id").and_then(Cbor::as_bytes).unwrap_or_default();
        let (from, recipient, peer) = (text("from_did"), text("recipient_did"), text("downstream_relay"));
        let key = Key {
            sender: did::without_fragment(from),
            id,
            recipient: did::without_fragment(recipient),
            upstream: false,
        };
        let good = text("status") == "accepted" && self.is_me(text("upstream_relay")) && self.trusts(peer);
        if good && transfers::find(db, key)?.is_some() {
            transfers::advance(db, key, peer, "accepted")?;
            outbound::settle(db, handle, "confirmed")?;
        }
        Ok(())
    }

    /// RFC 002, 6.6: learns what became of a message that was handed on.
    pub(crate) async fn commit(&self, bytes: &[u8], principal: Option<&str>) -> (u16, Vec<u8>) {
        response(self.take_commit(bytes, principal).await.map(|()| Vec::new()), false)
    }

    async fn take_commit(&self, bytes: &[u8], principal: Option<&str>) -> Result<(), Refused> {
        let malformed = |reason| Refused(Code::InvalidMessage, reason);
        let map = cbor::read(bytes, Limits::default()).map_err(|_| malformed("not CBOR"))?.value;
        match map.get("commit_v").and_then(Cbor::as_unsigned) {
            Some(1) => {}
            Some(_) => return Err(Refused(Code::UnsupportedVersion, "commit_v")),
            None => return Err(malformed("commit_v")),
        }
        let report = map.get("commit_receipt").and_then(Cbor::as_bytes).ok_or_else(|| malformed("commit_receipt"))?;
        // 6.6: verified before anything changes.
        let content = cose::verify(report, "downstream_relay", self.documents().as_ref(), self.now(), self.rules())
            .map_err(|code| Refused(code, "commit_receipt"))?;
        let text = |name| content.get(name).and_then(Cbor::as_text).unwrap_or_default().to_owned();
        let peer = text("downstream_relay");
        let unauthorized = Refused(Code::Unauthorized, "unknown transfer, or one of another relay");
        if principal != Some(peer.as_str()) || !self.trusts(&peer) || !self.is_me(&text("upstream_relay")) {
            return Err(unauthorized);
        }
        let id = content.get("msg_id").and_then(Cbor::as_bytes).unwrap_or_default().to_vec();
        let (from, recipient, result) = (text("from_did"), text("recipient_did"), text("result"));
        let reported = self.0.store.write(move |db| {
            let (sender, recipient) = (did::without_fragment(&from), did::without_fragment(&recipient));
            let key = Key { sender, id: &id, recipient, upstream: false };
            let known = transfers::find(db, key)?;
            let accepted = known.is_some_and(|known| known.peer == peer && known.state != "pending");
            if accepted {
                transfers::advance(db, key, &peer, "commit_reported")?;
                // RFC 003, 5.6.6: only delivery ends custody.
                if result == "delivered" {
                    queue::delivered(db, sender, &id, recipient)?;
                }
            }
            Ok::<_, rusqlite::Error>(accepted)
        });
        match reported.await {
            Ok(Ok(true)) if !self.rules().fault.is("commit-never-accepted") => Ok(()),
            Ok(Ok(_)) => Err(unauthorized),
            _ => Err(Refused(Code::Unavailable, "the database failed")), // closed, or an error of SQLite
        }
    }

    /// RFC 003, 5.6.6: notifies the upstream relay that the recipient has the message.
    pub(super) fn report_commit(
        &self,
        db: &Connection,
        sender: &str,
        id: &[u8],
        recipient: &str,
        now: u64,
    ) -> rusqlite::Result<bool> {
        let key = Key { sender, id, recipient, upstream: true };
        let Some(transfer) = transfers::find(db, key)? else { return Ok(false) };
        let Some(way) = self.way_on(&transfer.peer) else { return Ok(false) };
        let receipt = self.receipt(&[
            ("commit_v", 1.into()),
            ("msg_id", id.into()),
            ("from_did", sender.into()),
            ("recipient_did", recipient.into()),
            ("upstream_relay", transfer.peer.as_str().into()),
            ("downstream_relay", self.did().into()),
            ("result", "delivered".into()),
            ("committed_at", now.into()),
        ]);
        let wrapper = Cbor::map([("commit_v", 1.into()), ("commit_receipt", receipt.into())]);
        let new = posted(&way.url, COMMIT, &transfer.peer, cbor::encode(&wrapper), now.saturating_add(60_000));
        outbound::insert(db, &new, now)
    }
}

/// A wrapper to post; it goes by a hash of itself.
fn posted(url: &str, path: &str, recipient: &str, message: Vec<u8>, expiry: u64) -> Outbound {
    Outbound {
        id: Sha256::digest(&message)[..16].to_vec(),
        url: url.to_owned(),
        path: path.to_owned(),
        recipient: recipient.to_owned(),
        message,
        attempts: 0,
        expires_at: i64::try_from(expiry).unwrap_or(i64::MAX),
        state: String::new(),
    }
}
