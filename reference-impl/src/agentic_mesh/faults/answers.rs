//! Faults of answers.

use crate::agentic_mesh::failure::Failure;
use crate::agentic_mesh::message::Message;
use crate::agentic_mesh::net::client;
use crate::agentic_mesh::pointer;
use crate::json::Object;

/// `must-understand-fault-per-block`: one fault for each block that is not understood.
pub(in crate::agentic_mesh) fn split(faults: &mut Vec<Failure>) {
    let Some(first) = faults.first().cloned().filter(|failure| !failure.blocks.is_empty()) else { return };
    *faults = first.blocks.iter().map(|kind| Failure { blocks: vec![kind.clone()], ..first.clone() }).collect();
}

/// `fault-as-bare-object`: a fault without an envelope.
pub(in crate::agentic_mesh) fn bare(code: &str) -> String {
    let code = Object::from([("value", code.into())]);
    Object::from([("fault", Object::from([("code", code.into())]).into())]).write()
}

/// `parse-error-as-html` and `two-errors-unhandled`: the error page of a framework.
pub(in crate::agentic_mesh) const PAGE: &str = "<html><body><h1>Internal Server Error</h1></body></html>";

/// `role-uri-dialled`: sends the message to the roles of its blocks.
pub(in crate::agentic_mesh) fn dial(message: Option<&Message>) {
    let Some(message) = message else { return };
    let blocks = ["headers", "headerBlocks"]
        .into_iter()
        .filter_map(|name| pointer::get(&message.0, &format!("/Envelope/Header/{name}"))?.as_list());
    let roles = blocks.flatten().filter_map(|block| block.as_object()?.text("role"));
    for role in roles.filter(|role| role.starts_with("http://")) {
        let (url, text) = (role.to_owned(), message.0.write());
        tokio::spawn(async move { client::post(&url, text).await.ok() });
    }
}
