//! The control interface (binding.md, 5.2, 5.4 and 5.5), for tests: any client of it can set the node up.

use crate::agentic_mesh::node::Kind;
use crate::agentic_mesh::service::Service;
use crate::agentic_mesh::store;
use crate::json::{self, Object, Value};
use crate::server::http::Reply;

impl Service {
    /// Answers a call; `name` is the path below `/control/`.
    pub(super) async fn control(&self, method: &str, name: &str, body: &[u8]) -> Reply {
        let allowed = match name {
            "node" => "DELETE, GET, PUT",
            "deliveries" => "DELETE, GET",
            "faults" | "health" => "GET",
            _ => return refused(404, "unknown path"),
        };
        match (method, name) {
            ("GET", "health") => Reply::json(200, "{\"status\":\"ok\"}".to_owned()),
            ("GET", "node") => self.shown(),
            ("PUT", "node") => match self.configure(body).await {
                Ok(()) => self.shown(),
                Err(reason) => refused(400, &reason),
            },
            ("DELETE", "node") => {
                let forgotten = self.write(store::delete_nodes).await;
                self.restore();
                done(forgotten)
            }
            ("GET", "deliveries") => listed(self.read(store::deliveries).await),
            ("DELETE", "deliveries") => done(self.write(store::clear_deliveries).await),
            ("GET", "faults") => listed(self.read(store::faults).await),
            _ => Reply { allow: Some(allowed.to_owned()), ..refused(405, "the method is not allowed") },
        }
    }

    /// Sets up the node of the kind that the node object states, or both without one.
    async fn configure(&self, body: &[u8]) -> Result<(), String> {
        let object = match json::read(body) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err("expected a node object".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let nodes = self.nodes();
        let there = |kind: &Kind| match kind {
            Kind::UltimateReceiver => nodes.receiver.is_some(),
            Kind::Intermediary => nodes.relay.is_some(),
        };
        let stated = |kind: &Kind| object.present("kind").is_none_or(|name| name.as_text() == Some(kind.name()));
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| stated(kind) && there(kind)).collect();
        if kinds.is_empty() {
            return Err("kind: this server has no such node".to_owned());
        }
        for kind in kinds {
            self.apply(kind, &object)?;
            let kept = object.clone();
            self.write(move |db| store::put_node(db, kind, &kept)).await?;
        }
        Ok(())
    }

    fn shown(&self) -> Reply {
        let nodes = self.nodes();
        let object = |node: Option<crate::agentic_mesh::node::Node>| Value::from(node.map(|node| node.object()));
        let hops = nodes.next_hops.iter().map(|hop| hop.as_str().into()).collect();
        let shown = Object::from([
            ("receiver", object(nodes.receiver)),
            ("relay", object(nodes.relay)),
            ("next_hops", Value::List(hops)),
        ]);
        Reply::json(200, shown.write())
    }
}

fn refused(status: u16, reason: &str) -> Reply {
    Reply::json(status, Object::from([("error", reason.into())]).write())
}

fn done(outcome: Result<(), String>) -> Reply {
    match outcome {
        Ok(()) => Reply::json(204, String::new()),
        Err(reason) => refused(500, &reason),
    }
}

fn listed(rows: Result<Vec<Value>, String>) -> Reply {
    match rows {
        Ok(rows) => Reply::json(200, Value::List(rows).write()),
        Err(reason) => refused(500, &reason),
    }
}
