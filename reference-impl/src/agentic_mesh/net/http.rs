//! The addresses of a server (binding.md, 2 and 11).

use super::client::MEDIA_TYPE;
use crate::agentic_mesh::service::{Answer, Place, Service};
use crate::fault::planted;
use crate::server::http::{Handler, Reply, Request};

/// More than the largest message, so that one that is too large gets a fault.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// The header in which a request may name the next hop (binding.md, 5.2).
const NEXT_HOP: &str = "amp-next-hop";

impl Handler for Service {
    fn body_limit(&self, _: &str) -> usize {
        BODY_LIMIT
    }

    async fn answer(&self, request: Request) -> Reply {
        // 4.9: the node serves on after invalid input.
        if self.rules().memory.is_dead() {
            return Reply { media_type: "text/plain", ..Reply::json(503, "stopped".to_owned()) };
        }
        if let Some(rest) = request.path.strip_prefix("/control/").filter(|_| self.has_control()) {
            return self.control(&request.method, rest, &request.body).await;
        }
        let Some(place) = place(&request.path).filter(|place| self.has(*place)) else {
            return Reply::json(404, "{\"error\":\"unknown path\"}".to_owned());
        };
        if request.method != "POST" {
            let reply = Reply::json(405, "{\"error\":\"a message is sent by POST\"}".to_owned());
            return Reply { allow: Some("POST".to_owned()), ..reply };
        }
        // Binding, 2: messages of up to one mebibyte are judged.
        let large = request.body.len() > 256 * 1024;
        planted!(self.rules().fault, "large-message-refused", large => return Reply::json(413, String::new()));
        let named = request.headers.get(NEXT_HOP).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut rules = self.rules().clone();
        rules.held = request.began.elapsed();
        let Answer { status, body, is_message } = self.receive(place, request.body, named, rules).await;
        Reply { media_type: if is_message { MEDIA_TYPE } else { "text/html" }, ..Reply::json(status, body) }
    }
}

fn place(path: &str) -> Option<Place> {
    match path {
        "/amp" => Some(Place::Receiver),
        "/amp/relay" => Some(Place::Relay),
        _ => Some(Place::Chain(path.strip_prefix("/amp/chain/")?.parse().ok()?)), // any other path
    }
}
