//! The state machines by handle: negotiations (13.5) and both ends of a stream (6.3).

use std::collections::HashMap;

use super::params::{bad, bytes, cbor, hex, number, text, texts, unsigned, unsigned_value};
use super::params::{refusal, system_now};
use crate::amp_core::bodies::{Ack, AckSource, Body};
use crate::amp_core::codes::{Code, typ};
use crate::amp_core::negotiation::{Event, Negotiation, Step};
use crate::amp_core::rules::Rules;
use crate::amp_core::stream::{End, Receiver, Sender, SenderEvent};
use crate::cbor::{self as wire, Cbor, Limits};
use crate::json::{Object, Value};
use crate::server::adapter::RpcError;

/// Maximum number of machines; each keeps the data of its stream.
const LIMIT: usize = 4096;

/// A machine behind a handle.
#[derive(Debug)]
enum Machine {
    Negotiation(Negotiation),
    Receiver(Receiver),
    Sender(Sender),
}

/// All that were opened.
#[derive(Debug)]
pub(super) struct Machines {
    rules: Rules,
    machines: HashMap<String, Machine>,
    opened: u64,
}

impl Machines {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, machines: HashMap::new(), opened: 0 }
    }

    /// The answer of the method `name`; `None` if it is not one of these.
    pub(super) fn call(&mut self, name: &str, params: &Object) -> Result<Option<Object>, RpcError> {
        let answer = match name {
            "negotiation_open" => self.negotiation_open(params),
            "negotiation_event" => self.negotiation_event(params),
            "stream_open" => self.stream_open(params),
            "stream_chunk" => self.stream_chunk(params),
            "stream_end" => self.stream_end(params),
            "stream_sender_open" => self.stream_sender_open(params),
            "stream_sender_event" => self.stream_sender_event(params),
            _ => return Ok(None), // none of these
        };
        answer.map(Some)
    }

    fn keep(&mut self, kind: &str, machine: Machine) -> Result<String, RpcError> {
        if self.machines.len() >= LIMIT {
            return Err(RpcError { code: -32002, message: "too many machines".to_owned(), data: None });
        }
        self.opened += 1;
        let handle = format!("{kind}-{}", self.opened);
        self.machines.insert(handle.clone(), machine);
        Ok(handle)
    }

    fn find(&mut self, params: &Object, name: &str) -> Result<&mut Machine, RpcError> {
        let unknown = || RpcError { code: -32001, message: format!("unknown {name}"), data: None };
        self.machines.get_mut(text(params, name)?).ok_or_else(unknown)
    }

    fn negotiation_open(&mut self, params: &Object) -> Result<Object, RpcError> {
        if !matches!(text(params, "role")?, "initiator" | "responder") {
            return Err(bad("role", "\"initiator\" or \"responder\""));
        }
        let negotiation = Negotiation::new(texts(params, "supported")?, self.rules);
        let state = negotiation.state().name();
        let handle = self.keep("negotiation", Machine::Negotiation(negotiation))?;
        Ok(Object::from([("negotiation", handle.into()), ("state", state.into())]))
    }

    fn negotiation_event(&mut self, params: &Object) -> Result<Object, RpcError> {
        let (rules, data) = (self.rules, params.present("data"));
        let Machine::Negotiation(negotiation) = self.find(params, "negotiation")? else {
            return Err(RpcError { code: -32001, message: "the handle is not a negotiation".to_owned(), data: None });
        };
        let event = match text(params, "event")? {
            "send_hello" => Event::SendHello,
            "message" => Event::Message(version_of(data)?),
            word => match handshake(word, data, rules)? {
                Ok(event) => event,
                Err(code) => return Ok(step(&Step { state: negotiation.state(), send: None, error: Some(code) })),
            },
        };
        Ok(step(&negotiation.event(event)))
    }

    fn stream_open(&mut self, params: &Object) -> Result<Object, RpcError> {
        text(params, "sender")?; // the scope of the stream_id (E60), and a handle is its own scope
        let start = match Body::read(typ::STREAM_START, &cbor(params, "start")?, self.rules) {
            Ok(Body::StreamStart(start)) => start,
            Ok(_) => return Ok(refusal(Code::InvalidMessage)),
            Err(violation) => return Ok(refusal(violation.code)),
        };
        match Receiver::open(start, self.rules) {
            Ok(receiver) => {
                let handle = self.keep("stream", Machine::Receiver(receiver))?;
                Ok(Object::from([("stream", handle.into())]))
            }
            Err(code) => Ok(refusal(code)),
        }
    }

    fn receiver(&mut self, params: &Object) -> Result<&mut Receiver, RpcError> {
        match self.find(params, "stream")? {
            Machine::Receiver(receiver) => Ok(receiver),
            _ => Err(RpcError { code: -32001, message: "the handle is not a receiving stream".to_owned(), data: None }),
        }
    }

    fn stream_chunk(&mut self, params: &Object) -> Result<Object, RpcError> {
        let receiver = self.receiver(params)?;
        Ok(match receiver.chunk(unsigned(params, "index")?, &bytes(params, "data")?) {
            Ok(()) => Object::from([
                ("state", receiver.state().name().into()),
                ("received", number(receiver.chunks_received())),
            ]),
            Err(code) => refusal(code),
        })
    }

    fn stream_end(&mut self, params: &Object) -> Result<Object, RpcError> {
        let rules = self.rules;
        let receiver = self.receiver(params)?;
        let end = match receiver.end(&bytes(params, "hash")?) {
            Ok(end) => end,
            Err(code) => return Ok(refusal(code)),
        };
        let End { verified, data, chunks_received, code, .. } = end;
        // 6.2: complete is a document that the application gets.
        let mut answer = Object::from([
            ("state", receiver.state().name().into()),
            ("complete", data.is_some().into()),
            ("verified", verified.into()),
        ]);
        if let Some(data) = data {
            answer.set("data", hex(&data));
        }
        // 6.3: success is an ACK with the stream_id, failure an ERROR. Other, E56: failure is an ACK as well.
        if verified || rules.is_other() {
            let ack = Ack {
                stream_id: Some(receiver.start().stream_id.clone()),
                chunks_received: Some(chunks_received),
                verified: Some(verified),
                ..Ack::new(AckSource::Recipient, system_now())
            };
            answer.set("ack", hex(&wire::encode(&ack.cbor())));
        } else if let Some(code) = code {
            answer.set("code", number(code.number()));
        }
        Ok(answer)
    }

    fn stream_sender_open(&mut self, params: &Object) -> Result<Object, RpcError> {
        let (data, size) = (bytes(params, "data")?, unsigned(params, "chunk_size")?);
        let (filename, content_type) = (text(params, "filename")?, text(params, "content_type")?);
        let sender = Sender::open(text(params, "stream_id")?, data, size, filename, content_type, self.rules);
        let mut sender = match sender {
            Ok(sender) => sender,
            Err(code) => return Ok(refusal(code)),
        };
        let mut messages = Vec::new();
        while let Some((typ, body)) = sender.next() {
            messages.push(Object::from([("typ", number(typ)), ("body", hex(&wire::encode(&body)))]).into());
        }
        let handle = self.keep("sender", Machine::Sender(sender))?;
        Ok(Object::from([("stream", handle.into()), ("messages", Value::List(messages))]))
    }

    fn stream_sender_event(&mut self, params: &Object) -> Result<Object, RpcError> {
        let Machine::Sender(sender) = self.find(params, "stream")? else {
            return Err(RpcError {
                code: -32001,
                message: "the handle is not a sending stream".to_owned(),
                data: None,
            });
        };
        let event = match text(params, "event")? {
            "error" => SenderEvent::Error,
            "timeout" => SenderEvent::Timeout,
            "ack" => {
                let body = params.present("data").map(|_| cbor(params, "data")).transpose()?.unwrap_or(Cbor::Null);
                let stream_id = body.get("stream_id").and_then(Cbor::as_text).map(str::to_owned);
                SenderEvent::Ack { stream_id, verified: body.get("verified").and_then(Cbor::as_bool) }
            }
            _ => return Err(bad("event", "\"ack\", \"error\" or \"timeout\"")),
        };
        let state = sender.event(&event).name();
        Ok(Object::from([("state", state.into()), ("failed", sender.failed().into())]))
    }
}

/// `data` of a handshake event: the body of the message, as CBOR; what breaks its schema is an error of the peer.
fn handshake(word: &str, data: Option<&Value>, rules: Rules) -> Result<Result<Event, Code>, RpcError> {
    let typ = match word {
        "hello" => typ::HELLO,
        "hello_ack" => typ::HELLO_ACK,
        "hello_reject" => typ::HELLO_REJECT,
        _ => return Err(bad("event", "an event of 13.5")),
    };
    let empty = || Cbor::Map(Vec::new());
    let body = match data {
        None => empty(),
        Some(value) => {
            let bytes = super::params::bytes_value(value).ok_or_else(|| bad("data", "hexadecimal digits"))?;
            match wire::read(&bytes, Limits::default()) {
                Ok(item) => item.value,
                Err(_) => return Ok(Err(Code::InvalidMessage)),
            }
        }
    };
    Ok(match Body::read(typ, &body, rules) {
        Ok(Body::Hello(versions)) => Ok(Event::Hello(versions)),
        Ok(Body::HelloAck(selected)) => Ok(Event::HelloAck(selected)),
        Ok(_) => Ok(Event::HelloReject),
        Err(violation) => Err(violation.code),
    })
}

/// `data` of a message event: its v, alone or as a member; 1 if absent.
fn version_of(data: Option<&Value>) -> Result<u64, RpcError> {
    let v = match data {
        None => return Ok(1),
        Some(Value::Object(message)) => message.get("v").and_then(unsigned_value),
        Some(value) => unsigned_value(value),
    };
    v.ok_or_else(|| bad("data", "the v of a message"))
}

fn step(step: &Step) -> Object {
    let mut answer = Object::from([("state", step.state.name().into())]);
    if let Some(send) = &step.send {
        let body = hex(&wire::encode(&send.body));
        answer.set("send", Object::from([("typ", number(send.typ)), ("v", number(send.v)), ("body", body)]));
    }
    if let Some(code) = step.error {
        answer.set("error", number(code.number()));
    }
    answer
}
