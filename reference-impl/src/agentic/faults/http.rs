//! Faults of what a server keeps between requests: methods of [`Service`].

use std::sync::PoisonError;

use crate::agentic::service::Service;
use crate::server::http::{Reply, Request};

impl Service {
    /// `answers-outlive-flags`, `answers-outlive-imports`, `answers-outlive-invalidations`: Keeps its answers to GET, and forgets
    /// those about a project or a package at every request that changes it, but for one kind. `None` without one of these faults.
    pub(in crate::agentic) async fn kept_answer(&self, request: &Request) -> Option<Reply> {
        let fault = self.rules.fault;
        let outlived = [
            (fault.is("answers-outlive-flags"), "POST", "/flag"),
            (fault.is("answers-outlive-imports"), "POST", "/import"),
            (fault.is("answers-outlive-invalidations"), "DELETE", "/facts"),
        ];
        let (_, method, end) = outlived.into_iter().find(|(planted, ..)| *planted)?;
        let asked = format!("{}?{}", request.path, request.query);
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if request.method == "GET" {
            if let Some((media_type, body)) = kept().get(&asked).cloned() {
                return Some(Reply { media_type, ..Reply::json(200, body) });
            }
            let reply = self.fresh_answer(request).await;
            if reply.status == 200 {
                kept().insert(asked, (reply.media_type, reply.body.clone()));
            }
            return Some(reply);
        }
        let reply = self.fresh_answer(request).await;
        if request.method != method || !request.path.ends_with(end) {
            let said = asked + &String::from_utf8_lossy(&request.body);
            kept().retain(|asked, (_, body)| !concerns(&said, &request.path, asked, body));
        }
        Some(reply)
    }
}

/// Whether a request that changes something, with this text and path, is about what a kept answer shows.
fn concerns(said: &str, path: &str, asked: &str, body: &str) -> bool {
    let after = |text: &str, mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        rest.split(['/', '?', '&']).next().filter(|name| !name.is_empty()).map(str::to_owned)
    };
    let project = after(asked, "/projects/").or_else(|| after(asked, "project="));
    let package = after(path, "/packages/");
    project.is_some_and(|project| said.contains(&project))
        || package.is_some_and(|package| asked.contains(&package) || body.contains(&package))
}
