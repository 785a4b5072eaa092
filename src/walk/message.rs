//! Builds the messages of a step: renders them, edits them before and after signing, and encodes them.

use super::interpreter::Walk;
use super::parts::{Part, Planned, Stop};
use crate::edit::{Change, Edit, Stage};
use crate::exchange::{ChannelAction, Encoded, Transport};
use crate::plan::SETUP_STEPS;
use crate::protocol::{Inputs, Message, MessageBody, Operation, build, header_fields, own_body};
use crate::source::Located;
use crate::suite::{Action, RequestBody};
use crate::target::RouteOverride;
use crate::template::{Expr, RenderError};
use crate::value::Value;

/// Why a message cannot be built.
enum BuildError {
    /// A template has no value.
    Render(RenderError),
    /// Another reason, in words.
    Other(String),
}

impl From<RenderError> for BuildError {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

/// How the body of a message is written.
#[derive(Clone, Copy)]
struct Form<'f> {
    /// One of the layouts of the protocol.
    layout: &'f str,
    /// The body of the target file, in the place of that of the protocol.
    own_body: Option<&'f Value>,
}

/// The distance between the numbers of repetitions of one set-up and those of the next.
const REBUILT: usize = 1 << 20;

/// The operation name of a raw request.
const RAW_REQUEST: Operation = Operation {
    name: "request",
    summary: "",
    level: "",
    inputs: &[],
    route: None,
    channel: None,
    tree: None,
    method: None,
    accepted: &[],
};

impl<'p> Walk<'p> {
    /// The messages of a step, one for each repetition over a list.
    ///
    /// # Errors
    ///
    /// [`Stop::Broken`] if a message cannot be built from the suite.
    pub fn messages(&mut self, planned: Planned<'_>) -> Result<Vec<Encoded>, Stop> {
        self.messages_from(planned, 0)
    }

    /// The message of a step that repeats until something shows, for a later attempt: what is generated in it, such as its id, is
    /// new, since a target may refuse a repeated message.
    pub fn message_again(&mut self, planned: Planned<'_>, attempt: usize) -> Option<Encoded> {
        self.messages_from(planned, attempt).ok()?.into_iter().next()
    }

    /// The messages of the set-up of a party for a new connection, with new ids.
    pub fn rebuild_setup(&self, actor: &str, times: usize) -> Vec<(Planned<'p>, Vec<Encoded>)> {
        let mut walk = Walk::retry(self.context, self.ready, self.part, self.begun_ms, self.retry);
        walk.set_clock(self.clock_ms);
        let steps = walk.steps().into_iter().filter(|planned| {
            let sends = matches!(planned.step.action, Action::Send { .. });
            sends && planned.number >= SETUP_STEPS && planned.actor() == actor
        });
        let steps: Vec<_> = steps.collect();
        steps.into_iter().filter_map(|step| Some((step, walk.messages_from(step, times * REBUILT).ok()?))).collect()
    }

    /// The messages of a step, whose repetitions are counted from a number on.
    fn messages_from(&mut self, planned: Planned<'_>, first: usize) -> Result<Vec<Encoded>, Stop> {
        let items = self.items(planned).map_err(|error| self.unbuilt(&error))?;
        let mut messages = Vec::with_capacity(items.len());
        for (index, item) in (first..).zip(&items) {
            self.bind_round(planned, index, item).map_err(|error| self.unbuilt(&error))?;
            messages.push(self.message(planned, index).map_err(|error| match error {
                BuildError::Render(error) => self.unbuilt(&error),
                BuildError::Other(text) => {
                    Stop::Broken(format!("cannot build the request: {text} at {}", planned.step.span.place()))
                }
            })?);
        }
        Ok(messages)
    }

    fn message(&mut self, planned: Planned<'_>, index: usize) -> Result<Encoded, BuildError> {
        let stream = format!("step {} round {index}", planned.number);
        let protocol = self.context.plan.knowledge.protocol;
        match &planned.step.action {
            Action::Send { operation, with, headers, edits, layout } => {
                let layout = layout.as_ref().map(|word| word.value.as_str());
                self.operation_message(operation, with.iter(), headers, edits, layout, &stream)
            }
            Action::Advance { by, with: own } => {
                let way = self.context.plan.clock(self.ready.transport).map(|way| &way.step.action);
                let Some(Action::Send { operation, with, headers, .. }) = way else {
                    return Err(BuildError::Other("the target has no clock that can be advanced".to_owned()));
                };
                let (before, after) = (self.clock_ms, self.advanced(by));
                self.scope.bind("advance_ms", Value::from(after - before));
                // The message has the new time of the clock; the clock of the walk advances once the message was answered.
                self.set_clock(after);
                let message = self.operation_message(operation, with.iter().chain(own), headers, &[], None, &stream);
                self.set_clock(before);
                message
            }
            Action::Request { base, method, path, headers, body } => {
                let path = match self.scope.render(path, &format!("{stream} path"))? {
                    Value::Text(path) => path.into(),
                    other => crate::wire::json::compact(&other),
                };
                let mut message = Message {
                    transport: Transport::Http,
                    action: ChannelAction::Message,
                    base: base.clone(),
                    method: method.clone(),
                    path,
                    headers: vec![("accept".to_owned(), "application/json".to_owned())],
                    body: MessageBody::None,
                };
                match body {
                    None => {}
                    Some(RequestBody::Value(expr)) => {
                        message.headers.push(("content-type".to_owned(), "application/json".to_owned()));
                        message.body = MessageBody::Value(self.scope.render(expr, &format!("{stream} body"))?);
                    }
                    Some(RequestBody::Bytes(bytes)) => {
                        message.headers.push(("content-type".to_owned(), "application/json".to_owned()));
                        message.body = MessageBody::Bytes(bytes.clone());
                    }
                }
                self.set_headers(&mut message, headers, &stream)?;
                let layout = protocol.codec().layouts().first().copied().unwrap_or_default();
                self.encode(&RAW_REQUEST, &Inputs::new(), message, &[], Form { layout, own_body: None }, &stream)
            }
            Action::Parallel(_) | Action::Pause(_) | Action::Sweep | Action::Receive(_) => {
                Err(BuildError::Other("the step has no message".to_owned()))
            }
        }
    }

    /// A message of an operation. A later input replaces an earlier one with the same name.
    fn operation_message<'e>(
        &mut self,
        operation: &str,
        with: impl Iterator<Item = &'e (Located<String>, Expr)>,
        headers: &[(String, Expr)],
        edits: &[Edit],
        layout: Option<&str>,
        stream: &str,
    ) -> Result<Encoded, BuildError> {
        let protocol = self.context.plan.knowledge.protocol;
        let found = protocol
            .operation(operation)
            .ok_or_else(|| BuildError::Other(format!("unknown operation `{operation}`")))?;
        let mut inputs = Inputs::new();
        for (name, expr) in with {
            let value = self.scope.render(expr, &format!("{stream} {}", **name))?;
            inputs.insert(name.value.clone(), value);
        }
        for input in found.inputs {
            if let Some(default) = input.default
                && !inputs.contains_key(input.name)
                && self.scope.knows(default)
            {
                inputs.insert(input.name.to_owned(), self.scope.lookup(default)?);
            }
        }
        let target = self.context.plan.target;
        let route = if self.ready.transport == Transport::Tree && found.tree.is_some() {
            let path = target.tree.as_ref().and_then(|tree| tree.paths.get(found.name)).cloned();
            path.map(|path| RouteOverride { path: Some(path), ..RouteOverride::default() })
        } else {
            let route = target.routes.get(found.name).cloned();
            route.or_else(|| protocol.target_knowledge()?.route(found.name, target))
        };
        let mut message = build(protocol, found, &inputs, self.ready.transport, route.as_ref())
            .map_err(|error| BuildError::Other(error.to_string()))?;
        for (name, value) in route.iter().flat_map(|route| header_fields(route, &inputs)) {
            set_header(&mut message.headers, &name, Some(&value));
        }
        self.set_headers(&mut message, headers, stream)?;
        let edits: &[Edit] = if self.part == Part::Twin { &[] } else { edits };
        let usual = protocol.codec().layouts().first().copied().unwrap_or_default();
        let layout = layout.unwrap_or(usual);
        let own_body = route.as_ref().and_then(|route| route.body.as_ref());
        self.encode(found, &inputs, message, edits, Form { layout, own_body }, stream)
    }

    fn set_headers(
        &mut self,
        message: &mut Message,
        headers: &[(String, Expr)],
        stream: &str,
    ) -> Result<(), BuildError> {
        for (name, expr) in headers {
            let value = header_text(self.scope.render(expr, &format!("{stream} header {name}"))?);
            set_header(&mut message.headers, name, Some(&value));
        }
        Ok(())
    }

    /// Edits, protects and encodes a message.
    fn encode(
        &mut self,
        operation: &Operation,
        inputs: &Inputs,
        mut message: Message,
        edits: &[Edit],
        form: Form<'_>,
        stream: &str,
    ) -> Result<Encoded, BuildError> {
        let layout = form.layout;
        let protocol = self.context.plan.knowledge.protocol;
        let context = self.context;
        for stage in [Stage::Built, Stage::Protected] {
            if stage == Stage::Protected
                && let Some(security) = protocol.security()
                && let Some(value) = payload(&mut message.body)
            {
                let body = std::mem::replace(value, Value::Null);
                *value = security
                    .protect(operation, body, inputs, &context.observation_context(self.ready.transport))
                    .map_err(BuildError::Other)?;
            }
            if stage == Stage::Protected
                && let Some(security) = protocol.security()
            {
                let seen_in = context.observation_context(self.ready.transport);
                let body = payload(&mut message.body).map(|body| &*body);
                for (name, value) in security.header_fields(operation, body, inputs, &seen_in) {
                    if !message.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                        message.headers.push((name, value));
                    }
                }
            }
            for (position, edit) in edits.iter().enumerate().filter(|(_, edit)| edit.stage == stage) {
                let rendered = self.rendered(edit, position, stream)?;
                if let Change::Header(name, _) = &edit.change {
                    let value = rendered.map(header_text);
                    set_header(&mut message.headers, name, value.as_deref());
                    continue;
                }
                let edited =
                    match &mut message.body {
                        // In a call without a document the parameters are edited, which correspond to the body of a request.
                        MessageBody::Params { ready, payload: None } => {
                            let members = ready.drain(..).map(|(name, value)| (Value::text(name), value)).collect();
                            let mut params = Value::Map(members);
                            let edited = edit.apply(&mut params, rendered);
                            ready.extend(params.as_map().into_iter().flatten().filter_map(|(name, value)| {
                                name.as_text().map(|name| (name.to_owned(), value.clone()))
                            }));
                            edited
                        }
                        body => {
                            let value = payload(body)
                                .ok_or_else(|| BuildError::Other("the request has no body to edit".to_owned()))?;
                            edit.apply(value, rendered)
                        }
                    };
                edited.map_err(|error| BuildError::Other(error.to_string()))?;
            }
        }
        if message.transport == Transport::Http {
            let target = self.context.plan.target;
            message.body = match message.body {
                MessageBody::Value(value) => MessageBody::Value(target.names.to_own(operation.name, value)),
                other => other,
            };
            if let Some(own) = form.own_body {
                message.body = own_body(own, operation, inputs, message.body);
                set_header(&mut message.headers, "content-type", Some(&target.channel.http.media_type));
            }
        }
        let mut encoded = Encoded {
            transport: message.transport,
            action: message.action,
            base: message.base,
            operation: operation.name.to_owned(),
            method: message.method,
            path: message.path,
            headers: message.headers,
            body: Vec::new(),
            params: Vec::new(),
            payload: None,
            spelling: None,
        };
        match message.body {
            MessageBody::None => {}
            MessageBody::Value(value) => encoded.body = protocol.codec().encode(&value, layout),
            MessageBody::Bytes(bytes) => encoded.body = bytes,
            MessageBody::Params { ready, payload } => {
                encoded.params = ready;
                if let Some((name, value)) = payload {
                    encoded.body = protocol.codec().encode(&value, layout);
                    encoded.payload = Some(name);
                }
            }
        }
        for (position, edit) in edits.iter().enumerate().filter(|(_, edit)| edit.stage == Stage::Encoded) {
            let rendered = self.rendered(edit, position, stream)?;
            edit.apply_to_bytes(&mut encoded.body, rendered.as_ref())
                .map_err(|error| BuildError::Other(error.to_string()))?;
        }
        Ok(encoded)
    }

    pub(super) fn rendered(
        &mut self,
        edit: &Edit,
        position: usize,
        stream: &str,
    ) -> Result<Option<Value>, RenderError> {
        edit.expr().map(|expr| self.scope.render(expr, &format!("{stream} edit {position}"))).transpose()
    }
}

fn payload(body: &mut MessageBody) -> Option<&mut Value> {
    match body {
        MessageBody::Value(value) => Some(value),
        MessageBody::Params { payload, .. } => payload.as_mut().map(|(_, value)| value),
        MessageBody::None | MessageBody::Bytes(_) => None,
    }
}

/// A rendered value as the value of a header.
fn header_text(value: Value) -> String {
    match value {
        Value::Text(text) => text.into(),
        other => crate::wire::json::compact(&other),
    }
}

fn set_header(headers: &mut Vec<(String, String)>, name: &str, value: Option<&str>) {
    headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    if let Some(value) = value {
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}
