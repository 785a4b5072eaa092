//! HTTP/1.1 messages on a custom socket, for cases that HTTP libraries hide: any answer to an upgrade,
//! and requests of peers that may be anything.

use tokio::time::Instant;

use super::socket::{End, Fill, Socket};
use crate::exchange::Ended;

/// Bytes that a start line with its header fields may have.
const HEAD: usize = 64 << 10;

/// Header fields that are read.
const FIELDS: usize = 128;

/// Bytes that the line in front of a chunk, or behind the last one, may have.
const CHUNK_LINE: usize = 1_024;

/// Provisional responses before the final one.
const PROVISIONAL: usize = 8;

/// Header fields in the order received.
pub(super) type Fields = Vec<(String, String)>;

/// The first value of a field, in any letter case of its name.
pub(super) fn field<'f>(fields: &'f Fields, name: &str) -> Option<&'f str> {
    fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Whether one of the comma-separated members of a field is `token`, in any letter case.
pub(super) fn has_token(fields: &Fields, name: &str, token: &str) -> bool {
    let values = fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    values.flat_map(|(_, value)| value.split(',')).any(|member| member.trim().eq_ignore_ascii_case(token))
}

/// Whether bytes are safe in a header field or a request line (no line breaks).
pub(super) fn is_plain(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

/// The start of a request.
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// 0 or 1, of HTTP/1.0 or HTTP/1.1.
    pub(super) minor: u8,
    pub(super) fields: Fields,
}

/// The start of a response.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) fields: Fields,
}

/// How the length of a body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Fixed(u64),
    Chunked,
    UntilEnd,
}

/// Reads the start of a request.
pub(super) async fn read_request(socket: &mut Socket, deadline: Instant) -> Result<Request, Ended> {
    read_head(socket, deadline, |bytes| {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let httparse::Status::Complete(size) = request.parse(bytes)? else { return Ok(None) };
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let (method, target) = (text(request.method), text(request.path));
        let minor = request.version.unwrap_or(1);
        Ok(Some((size, Request { method, target, minor, fields: owned(request.headers) })))
    })
    .await
}

/// Reads the start of a response, skipping provisional ones; 101 is final here.
pub(super) async fn read_response(socket: &mut Socket, deadline: Instant) -> Result<Response, Ended> {
    for _ in 0..PROVISIONAL {
        let response = read_head(socket, deadline, |bytes| {
            let mut fields = [httparse::EMPTY_HEADER; FIELDS];
            let mut response = httparse::Response::new(&mut fields);
            let httparse::Status::Complete(size) = response.parse(bytes)? else { return Ok(None) };
            let status = response.code.unwrap_or_default();
            Ok(Some((size, Response { status, fields: owned(response.headers) })))
        })
        .await?;
        if response.status == 101 || response.status >= 200 {
            return Ok(response);
        }
    }
    Err(Ended::Closed("received only provisional responses".to_owned()))
}

fn owned(fields: &[httparse::Header<'_>]) -> Fields {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    fields.iter().map(|field| (field.name.to_owned(), text(field.value))).collect()
}

async fn read_head<T>(
    socket: &mut Socket,
    deadline: Instant,
    parse: impl Fn(&[u8]) -> Result<Option<(usize, T)>, httparse::Error>,
) -> Result<T, Ended> {
    // Parsing again from the start for each byte of a trickle would cost the square of its length: only a line can end it.
    let mut parsed = 0;
    loop {
        let bytes = socket.bytes();
        if bytes[parsed..].contains(&b'\n') || bytes.len() >= HEAD {
            parsed = bytes.len();
            match parse(&bytes[..bytes.len().min(HEAD)]) {
                Ok(Some((size, head))) => {
                    socket.skip(size);
                    return Ok(head);
                }
                Ok(None) if bytes.len() >= HEAD => return Err(Ended::TooLong),
                Ok(None) => {}
                Err(httparse::Error::TooManyHeaders) => return Err(Ended::TooLong),
                Err(error) => return Err(Ended::Closed(format!("invalid HTTP/1.1: {error}"))),
            }
        }
        fill(socket, deadline, "the header fields").await?;
    }
}

async fn fill(socket: &mut Socket, deadline: Instant, what: &str) -> Result<(), Ended> {
    match socket.fill(deadline).await {
        Fill::More => Ok(()),
        Fill::Nothing => Err(Ended::TimedOut),
        Fill::Ended => Err(Ended::Closed(match socket.end() {
            Some(End::Failed(how)) => how.clone(),
            _ => format!("the connection was closed before the end of {what}"),
        })),
    }
}

/// The length of the body of a request (RFC 9112 section 6.3), or why it is undefined.
pub(super) fn request_length(fields: &Fields) -> Result<Length, String> {
    let chunked = has_token(fields, "transfer-encoding", "chunked");
    let mut length = None;
    for (_, value) in fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse::<u64>().ok().filter(|_| digits);
        let number = number.ok_or_else(|| "invalid Content-Length".to_owned())?;
        if length.replace(number).is_some_and(|before| before != number) {
            return Err("there are two lengths".to_owned());
        }
    }
    match (field(fields, "transfer-encoding"), length) {
        (Some(_), Some(_)) => Err("there is both a length and a transfer coding".to_owned()),
        (Some(_), None) if chunked => Ok(Length::Chunked),
        (Some(coding), None) => Err(format!("unsupported transfer coding `{coding}`")),
        (None, length) => Ok(Length::Fixed(length.unwrap_or(0))),
    }
}

/// The length of the body of a response to a GET.
pub(super) fn response_length(response: &Response) -> Length {
    if matches!(response.status, 204 | 304) {
        return Length::Fixed(0);
    }
    match request_length(&response.fields) {
        Ok(Length::Fixed(0)) if field(&response.fields, "content-length").is_none() => Length::UntilEnd,
        Ok(length) => length,
        Err(_) => Length::UntilEnd,
    }
}

/// Reads a body of at most `limit` bytes into `body`, and returns how it ended. A partial body is kept.
pub(super) async fn read_body(
    socket: &mut Socket,
    length: Length,
    limit: usize,
    deadline: Instant,
    body: &mut Vec<u8>,
) -> Ended {
    let read = match length {
        Length::Fixed(length) => take(socket, Some(length), limit, deadline, body).await,
        Length::UntilEnd => take(socket, None, limit, deadline, body).await,
        Length::Chunked => take_chunks(socket, limit, deadline, body).await,
    };
    read.err().unwrap_or(Ended::Complete)
}

/// Takes `length` bytes, or all there are.
async fn take(
    socket: &mut Socket,
    length: Option<u64>,
    limit: usize,
    deadline: Instant,
    body: &mut Vec<u8>,
) -> Result<(), Ended> {
    let mut left = length.unwrap_or(u64::MAX);
    while left > 0 {
        if socket.bytes().is_empty() {
            match fill(socket, deadline, "the body").await {
                Err(Ended::Closed(_)) if length.is_none() && socket.end() == Some(&End::Finished) => return Ok(()),
                filled => filled?,
            }
        }
        let count = socket.bytes().len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let room = limit.saturating_sub(body.len());
        body.extend_from_slice(&socket.bytes()[..count.min(room)]);
        socket.skip(count.min(room));
        if count > room {
            return Err(Ended::TooLong);
        }
        left -= count as u64;
    }
    Ok(())
}

async fn take_chunks(socket: &mut Socket, limit: usize, deadline: Instant, body: &mut Vec<u8>) -> Result<(), Ended> {
    let broken = || Ended::Closed("the body is not in chunks".to_owned());
    loop {
        let line = take_line(socket, deadline).await?;
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let digits = std::str::from_utf8(digits).map_err(|_| broken())?.trim();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(broken());
        }
        // A length of more than 64 bits is too long in any case.
        let length = u64::from_str_radix(digits, 16).unwrap_or(u64::MAX);
        if length == 0 {
            for _ in 0..FIELDS {
                if take_line(socket, deadline).await?.is_empty() {
                    return Ok(());
                }
            }
            return Err(Ended::TooLong);
        }
        take(socket, Some(length), limit, deadline, body).await?;
        if !take_line(socket, deadline).await?.is_empty() {
            return Err(broken());
        }
    }
}

/// Takes a line without its end.
async fn take_line(socket: &mut Socket, deadline: Instant) -> Result<Vec<u8>, Ended> {
    loop {
        let bytes = socket.bytes();
        if let Some(end) = bytes.iter().take(CHUNK_LINE).position(|byte| *byte == b'\n') {
            let (mut line, _) = socket.take(end + 1);
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(line);
        }
        if bytes.len() >= CHUNK_LINE {
            return Err(Ended::Closed("the body is not in chunks".to_owned()));
        }
        fill(socket, deadline, "the body").await?;
    }
}
