//! Server-sent events: every message that is stored, as it is stored (binding.md, section 3, `events`).

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use futures_util::stream;

use super::service::Server;
use crate::json::Value;
use crate::task_amp::log::{Filter, What};

/// How long a stream is silent at most.
const PULSE: Duration = Duration::from_secs(10);

/// How many messages are read at once.
const BATCH: i64 = 100;

struct Cursor {
    server: Server,
    filter: Filter,
    waiting: VecDeque<Value>,
}

/// The stream of the messages behind the place of the filter.
pub(super) fn stream(server: &Server, filter: Filter) -> Response<Body> {
    let cursor = Cursor { server: server.clone(), filter: Filter { limit: BATCH, ..filter }, waiting: VecDeque::new() };
    let body = Body::from_stream(stream::unfold(cursor, |mut cursor| async {
        let stopped = cursor.stopped();
        let chunk = tokio::select! {
            chunk = cursor.next() => chunk?,
            () = stopped => return None,
        };
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(chunk)), cursor))
    }));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Cursor {
    fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let server = self.server.clone();
        async move { server.stopped().await }
    }

    /// The next event, or a comment if nothing happens; `None` if the store is shut.
    async fn next(&mut self) -> Option<String> {
        if self.waiting.is_empty() {
            let page = self.server.bus.wait(What::Message, self.filter.clone(), PULSE).await.ok()?;
            self.filter.after = page.next;
            self.waiting.extend(page.items);
        }
        Some(match self.waiting.pop_front() {
            Some(record) => {
                let seq = record.as_object().and_then(|record| record.get("seq")).map(Value::write).unwrap_or_default();
                format!("id: {seq}\nevent: message\ndata: {}\n\n", record.write())
            }
            None => ": nothing new\n\n".to_owned(),
        })
    }
}
