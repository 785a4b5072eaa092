//! HTTP by reqwest, without defaults that could change a verdict: no proxy, no retry, no redirect
//! of its own, no decompression.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use url::Url;

use super::spelled::{Spelled, frames_itself};
use super::{ConnectError, Delivery};
use crate::exchange::{Body, ChannelAction, Encoded, Ended, Incoming, Outgoing, Transport, mask};
use crate::spelling::{Kind, Spelling};
use crate::target::{Credential, Limits, SECOND, Target, credentials_of};

/// Idle connections of one actor that are kept.
const IDLE: usize = 64;

/// Maximum number of actors with separate connections; further actors share connections.
const POOLS: usize = 32;

/// Maximum number of redirects of a GET, all to the target itself.
const REDIRECTS: usize = 5;

/// Maximum number of header bytes kept of one answer.
const HEADER_BYTES: usize = 64 << 10;

/// Maximum number of bytes kept of a body beyond the limit.
const EVIDENCE_BYTES: usize = 64 << 10;

/// The shortest credential that is masked in the bodies that are sent.
const SHORTEST_TOKEN: usize = 12;

/// Size of a body above which it waits for a permit.
const LARGE: usize = 1 << 20;

/// The pieces of a body that is sent slowly.
const PIECES: u8 = 10;

/// The number of large bodies read concurrently: the memory that a hostile target can use does not grow with the
/// number of requests that are under way.
static TURNS: Semaphore = Semaphore::const_new(2);

/// An HTTP endpoint.
pub struct Http {
    base: Option<Url>,
    /// Further base URLs, by name.
    urls: BTreeMap<String, Url>,
    /// Another instance of the target, used by one of the parties.
    second: Option<Url>,
    /// Whether no address needs TLS.
    without_tls: bool,
    /// Each actor has its own connections that stay open between messages, so that the observations of one actor are
    /// not those another one's connection saw. Made when the actor first sends something.
    pools: Mutex<BTreeMap<String, reqwest::Client>>,
    /// For actors beyond [`POOLS`].
    shared: reqwest::Client,
    /// Opens a connection for each message.
    fresh: reqwest::Client,
    /// Certificates of authorities besides those of the system.
    authorities: Vec<reqwest::Certificate>,
    credentials: BTreeMap<String, Vec<Credential>>,
    /// For messages in another than the usual spelling.
    spelled: Spelled,
}

impl Http {
    /// An endpoint at `base`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Client`] if TLS cannot be set up on this machine.
    pub fn new(base: &Url, target: &Target) -> Result<Self, ConnectError> {
        // reqwest panics without a provider; a second installation returns an error, which is ignored.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plain = |target: &Url| target.scheme() == "http";
        let without_tls = plain(base) && target.second.iter().chain(target.urls.values()).all(plain);
        let authorities = match &target.ca {
            Some(pem) => reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|error| ConnectError::Client(format!("the certificates under `ca`: {}", reason(&error))))?,
            None => Vec::new(),
        };
        Ok(Self {
            base: Some(base.clone()),
            urls: target.urls.clone(),
            second: target.second.clone(),
            without_tls,
            pools: Mutex::default(),
            shared: client(without_tls, IDLE, &authorities)?,
            fresh: client(without_tls, 0, &authorities)?,
            authorities,
            credentials: target.credentials.clone(),
            spelled: Spelled::new(target.ca.clone().unwrap_or_default()),
        })
    }

    /// As [`Http::new`] with the base URLs of `target`; `None` without base URLs.
    ///
    /// # Errors
    ///
    /// As [`Http::new`].
    pub fn of(target: &Target) -> Result<Option<Self>, ConnectError> {
        let Some(any) = target.url.as_ref().or_else(|| target.urls.values().next()) else { return Ok(None) };
        let http = Self::new(any, target)?;
        Ok(Some(Self { base: target.url.clone(), ..http }))
    }

    /// The connections of an actor.
    fn pool(&self, actor: &str) -> reqwest::Client {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(actor) {
            return pool.clone();
        }
        if pools.len() >= POOLS {
            return self.shared.clone();
        }
        let Ok(pool) = client(self.without_tls, IDLE, &self.authorities) else { return self.shared.clone() };
        pools.entry(actor.to_owned()).or_insert(pool).clone()
    }

    /// Sends a message and reads its answer.
    pub async fn carry(&self, actor: &str, message: Encoded, limits: &Limits) -> (Outgoing, Incoming) {
        let elsewhere = self.second.as_ref().filter(|_| actor == SECOND);
        let named = message.base.as_ref().and_then(|name| self.urls.get(name));
        let Some(base) = elsewhere.or(named).or(self.base.as_ref()) else {
            let delivery = Delivery::unsent(message, "the target does not configure this base URL");
            return (delivery.sent, delivery.received);
        };
        let url = format!("{}{}", base.as_str().trim_end_matches('/'), message.path);
        let mut headers = message.headers.clone();
        // The second instance accepts the credentials of `a`.
        let who = if elsewhere.is_some() { "a" } else { actor };
        for credential in credentials_of(&self.credentials, who) {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(&credential.header)) {
                headers.push((credential.header.clone(), credential.value.clone()));
            }
        }
        let outgoing = Outgoing {
            transport: Transport::Http,
            method: message.method.clone(),
            url,
            headers,
            body: Body::from(message.body.clone()),
        };
        let pace = match message.action {
            ChannelAction::Paced(ms) => Some(Duration::from_millis(ms)),
            _ => None,
        };
        if let Some(spelling) = message.spelling.filter(|spelling| !spelling.is_plain() && pace.is_none())
            && !frames_itself(&message.headers)
        {
            let (outgoing, incoming) = self.in_spelling(actor, outgoing, spelling, limits).await;
            return (self.redact(outgoing), incoming);
        }
        let mut incoming = self.send(&self.pool(actor), &outgoing, pace, limits).await;
        if matches!(incoming.ended, Ended::Closed(_)) && incoming.status.is_none() {
            // A server may close an idle connection in the very moment in which it is used again, and is in its right.
            // On a new connection the same message cannot meet that.
            let again = self.send(&self.fresh, &outgoing, pace, limits).await;
            match (&mut incoming.ended, &again.ended) {
                // The target has ended: it closed the connection as its answer, and not because it was idle.
                (Ended::Closed(first), Ended::Unreachable(then)) => first.push_str(&format!(", and then {then}")),
                _ => incoming = again,
            }
        }
        (self.redact(outgoing), incoming)
    }

    /// Sends a message in a spelling, and once more without what the target is in its right to refuse: `Expect`, and the chunked
    /// transfer coding as a whole. A target that takes one chunk knows the coding, so it has to take several, and to ignore
    /// extensions.
    async fn in_spelling(
        &self,
        actor: &str,
        outgoing: Outgoing,
        mut spelling: Spelling,
        limits: &Limits,
    ) -> (Outgoing, Incoming) {
        loop {
            let mut sent = outgoing.clone();
            let incoming = self.spelled.send(actor, &mut sent, &spelling, limits).await;
            let is_redirect = matches!(incoming.status, Some(301 | 302 | 303 | 307 | 308)) && sent.method == "GET";
            if is_redirect && incoming.header("location").is_some() {
                let incoming = self.send(&self.pool(actor), &outgoing, None, limits).await;
                return (outgoing, incoming);
            }
            match incoming.status {
                // RFC 9110 section 15.5.18.
                Some(417) if spelling.has(Kind::Expect) => spelling = spelling.without(Kind::Expect),
                // HTTP/1.0 has no such coding, and any server may demand a length (RFC 9110 section 15.5.12).
                Some(status) if refuses_chunks(status) && spelling.is_chunked() && !sent.body.is_empty() => {
                    let mut whole = outgoing.clone();
                    let simple = spelling.clone().in_one_chunk();
                    let other = self.spelled.send(actor, &mut whole, &simple, limits).await;
                    if other.status.is_some_and(|status| !refuses_chunks(status)) {
                        return (sent, bounded(incoming));
                    }
                    spelling = spelling.without(Kind::Chunked).without(Kind::ChunkExtensions);
                }
                _ => return (sent, bounded(incoming)),
            }
        }
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        outgoing: &Outgoing,
        pace: Option<Duration>,
        limits: &Limits,
    ) -> Incoming {
        let mut incoming = Incoming::nothing(Ended::TimedOut);
        // The limit is for the answer.
        let limit = limits.request + pace.unwrap_or_default();
        let result = tokio::time::timeout(limit, self.follow(client, outgoing, pace, limits, &mut incoming)).await;
        match result {
            Ok(ended) => incoming.ended = ended,
            Err(_) => incoming.ended = Ended::TimedOut,
        }
        if incoming.ended != Ended::Complete {
            // A truncated body cannot be read as a message, so only its start is kept, as evidence.
            incoming.body.to_mut().truncate(EVIDENCE_BYTES);
            incoming.body.to_mut().shrink_to_fit();
        }
        incoming
    }

    async fn follow(
        &self,
        client: &reqwest::Client,
        outgoing: &Outgoing,
        pace: Option<Duration>,
        limits: &Limits,
        incoming: &mut Incoming,
    ) -> Ended {
        let mut url = match Url::parse(&outgoing.url) {
            Ok(url) => url,
            Err(error) => return Ended::Unreachable(format!("no URL: {error}")),
        };
        let own = url.origin();
        for _ in 0..=REDIRECTS {
            let ended = once(client, outgoing, pace, url.clone(), limits, incoming).await;
            let redirected = matches!(incoming.status, Some(301 | 302 | 303 | 307 | 308)) && outgoing.method == "GET";
            let next = incoming.header("location").and_then(|location| url.join(location).ok());
            match next {
                // Requests only go to the target itself.
                Some(next) if redirected && ended == Ended::Complete && next.origin() == own => {
                    url = next;
                }
                _ => return ended,
            }
        }
        Ended::Complete
    }

    /// The message as it is stored: without secrets.
    fn redact(&self, mut outgoing: Outgoing) -> Outgoing {
        let secret = |name: &str| {
            ["authorization", "proxy-authorization", "cookie", "x-api-key"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
                || self.credentials.values().flatten().any(|credential| credential.header.eq_ignore_ascii_case(name))
        };
        for (name, value) in &mut outgoing.headers {
            if secret(name) {
                "<redacted>".clone_into(value);
            }
        }
        for token in self.tokens() {
            mask(outgoing.body.to_mut(), token.as_bytes());
        }
        outgoing
    }

    /// The credentials that a body may repeat; not those short enough to occur in one by chance.
    fn tokens(&self) -> impl Iterator<Item = &str> {
        self.credentials
            .values()
            .flatten()
            .map(|credential| credential.token().unwrap_or(&credential.value))
            .filter(|token| token.len() >= SHORTEST_TOKEN)
    }

    /// Every secret that is sent, so that answers that repeat one can be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.credentials.values().flatten().map(|credential| credential.value.as_str()).filter(|value| value.len() > 3)
    }
}

/// A client that keeps at most `idle` connections open between messages and trusts `authorities` beside those of the system.
fn client(
    without_tls: bool,
    idle: usize,
    authorities: &[reqwest::Certificate],
) -> Result<reqwest::Client, ConnectError> {
    let builder = reqwest::Client::builder();
    // Reading the certificates of the system takes longer than some runs, and is only needed for TLS.
    let builder = match without_tls {
        true => builder.tls_certs_only([]),
        false if authorities.is_empty() => builder,
        false => builder.tls_certs_merge(authorities.iter().cloned()),
    };
    builder
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(idle)
        .user_agent(concat!("proofmark/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ConnectError::Client(error.to_string()))
}

async fn once(
    client: &reqwest::Client,
    outgoing: &Outgoing,
    pace: Option<Duration>,
    url: Url,
    limits: &Limits,
    incoming: &mut Incoming,
) -> Ended {
    let Ok(method) = reqwest::Method::from_bytes(outgoing.method.as_bytes()) else {
        return Ended::Unreachable(format!("invalid HTTP method `{}`", outgoing.method));
    };
    let mut headers = HeaderMap::new();
    for (name, value) in &outgoing.headers {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                headers.append(name, value);
            }
            _ => return Ended::Unreachable(format!("the header {name} cannot be sent")),
        }
    }
    let mut request = client.request(method, url).headers(headers);
    if let Some(pace) = pace {
        request = request.header(reqwest::header::CONTENT_LENGTH, outgoing.body.len());
        request = request.body(reqwest::Body::wrap_stream(in_pieces(&outgoing.body.0, pace)));
    } else if !outgoing.body.is_empty() || outgoing.method == "POST" {
        request = request.body(outgoing.body.0.to_vec());
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => return classify(&error),
    };
    incoming.status = Some(response.status().as_u16());
    incoming.headers.clear();
    let mut room = HEADER_BYTES;
    for (name, value) in response.headers() {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        room = room.saturating_sub(name.as_str().len() + value.len());
        if room == 0 {
            break;
        }
        incoming.headers.push((name.as_str().to_owned(), value));
    }
    incoming.body.to_mut().clear();
    if response.content_length().is_some_and(|declared| declared > limits.body as u64) {
        return Ended::TooLong;
    }
    let mut stream = response.bytes_stream();
    let mut turn = None;
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => {
                if turn.is_none() && incoming.body.len() + chunk.len() > LARGE {
                    // The semaphore is never closed, so this only waits for a permit.
                    turn = TURNS.acquire().await.ok();
                }
                let room = limits.body - incoming.body.len();
                incoming.body.to_mut().extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return Ended::TooLong;
                }
            }
            Err(error) => return Ended::Closed(reason(&error)),
        }
    }
    Ended::Complete
}

/// A body in pieces, spread over a time.
fn in_pieces(
    body: &[u8],
    pace: Duration,
) -> impl futures_util::Stream<Item = Result<Vec<u8>, std::io::Error>> + Send + 'static {
    let pieces: Vec<Vec<u8>> =
        body.chunks(body.len().div_ceil(usize::from(PIECES)).max(1)).map(<[u8]>::to_vec).collect();
    let pause = pace / u32::from(PIECES);
    futures_util::stream::iter(pieces).then(move |piece| async move {
        tokio::time::sleep(pause).await;
        Ok(piece)
    })
}

fn classify(error: &reqwest::Error) -> Ended {
    if error.is_timeout() {
        Ended::TimedOut
    } else if error.is_connect() {
        Ended::Unreachable(reason(error))
    } else {
        Ended::Closed(reason(error))
    }
}

/// The innermost cause: the outer ones repeat the URL.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
/// Whether a status may say that a target does not know the chunked transfer coding.
fn refuses_chunks(status: u16) -> bool {
    matches!(status, 400 | 411 | 501 | 505)
}

/// An answer of which no more is kept than evidence needs, if it did not arrive whole.
fn bounded(mut incoming: Incoming) -> Incoming {
    if incoming.ended != Ended::Complete {
        incoming.body.to_mut().truncate(EVIDENCE_BYTES);
        incoming.body.to_mut().shrink_to_fit();
    }
    incoming
}
