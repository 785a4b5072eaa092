//! What an author of an adapter has to know about a protocol: the types of its methods, their errors, and example calls.

use super::shape::Shape;
use crate::value::Value;
use crate::wire::json;

/// The library side of a protocol. Tests compare it with the table of operations, and its examples with the reference.
pub struct Library {
    /// How values are written that JSON has no type for, and other rules for all methods; Markdown.
    pub conventions: &'static str,
    /// The types that several methods share.
    pub types: &'static [NamedShape],
    /// Every method, in the order of the manual.
    pub methods: &'static [Signature],
    /// Errors besides those of JSON-RPC: code and meaning.
    pub errors: &'static [(i64, &'static str)],
    /// The methods that an adapter should have first.
    pub minimal: &'static [&'static str],
    /// Why these, in one sentence.
    pub minimal_because: &'static str,
    /// A conversation with the adapter of the reference implementation in which each method is called at least once: JSON
    /// lines, a request and its answer in turn.
    pub conversation: &'static str,
}

/// A type with a name.
pub struct NamedShape {
    /// Its name, which begins with a capital letter.
    pub name: &'static str,
    /// The type, in the notation of [`Shape`].
    pub shape: &'static str,
    /// One sentence about it.
    pub about: &'static str,
}

/// The types of a method.
pub struct Signature {
    /// The method.
    pub method: &'static str,
    /// The type of its parameters: an object, or one of several.
    pub params: &'static str,
    /// The type of its result.
    pub result: &'static str,
    /// Whether two calls with the same parameters may have different results, because of new ids, nonces or the current time.
    pub varies: bool,
    /// What the types do not say; may be empty.
    pub note: &'static str,
}

/// A call and its answer, as parsed from the conversation.
pub struct Call {
    /// The method.
    pub method: String,
    /// The request.
    pub request: Value,
    /// The answer.
    pub answer: Value,
}

impl Library {
    /// The type with this name.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        let found = self.types.iter().find(|named| named.name == name)?;
        Shape::parse(found.shape).ok()
    }

    /// The types of a method.
    pub fn signature(&self, method: &str) -> Option<&'static Signature> {
        self.methods.iter().find(|signature| signature.method == method)
    }

    /// The conversation. Lines that are not JSON are left out.
    pub fn calls(&self) -> Vec<Call> {
        let lines: Vec<Value> =
            self.conversation.lines().filter_map(|line| json::parse(line.as_bytes()).ok()).collect();
        let call = |pair: &[Value]| {
            let [request, answer] = pair else { return None };
            let method = request.member("method")?.as_text()?.to_owned();
            Some(Call { method, request: request.clone(), answer: answer.clone() })
        };
        lines.chunks(2).filter_map(call).collect()
    }

    /// The shortest successful call of a method in the conversation.
    pub fn example(&self, method: &str) -> Option<Call> {
        let calls = self.calls().into_iter();
        let successful = calls.filter(|call| call.method == method && call.answer.member("result").is_some());
        successful.min_by_key(|call| json::compact(&call.request).len() + json::compact(&call.answer).len())
    }

    /// Why the result of a method does not have its type: a path and a reason.
    pub fn mismatch(&self, signature: &Signature, result: &Value) -> Option<String> {
        match Shape::parse(signature.result) {
            Ok(shape) => shape.mismatch(result, &|name| self.shape(name)),
            Err(why) => Some(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::protocol::{self, Protocol};

    fn libraries() -> Vec<(&'static dyn Protocol, &'static Library)> {
        protocol::ALL.iter().filter_map(|protocol| Some((*protocol, protocol.library()?))).collect()
    }

    #[test]
    fn every_protocol_describes_the_methods_of_its_operations_and_no_others() {
        for protocol in protocol::ALL {
            let operations = protocol.operations().iter();
            let called: BTreeSet<_> = operations.filter_map(|known| Some(known.method.as_ref()?.name)).collect();
            let described = protocol.library().map_or(Vec::new(), |library| {
                library.methods.iter().map(|signature| signature.method).collect::<Vec<_>>()
            });
            assert_eq!(called, described.iter().copied().collect(), "{}", protocol.slug());
            assert_eq!(called.len(), described.len(), "{}: a method is described twice", protocol.slug());
        }
    }

    #[test]
    fn types_name_every_parameter_that_an_operation_sends() {
        for (protocol, library) in libraries() {
            for method in protocol.operations().iter().filter_map(|operation| operation.method.as_ref()) {
                let signature = library.signature(method.name).unwrap();
                let shape = Shape::parse(signature.params).unwrap_or_else(|why| panic!("{}: {why}", method.name));
                let objects = shape.objects();
                assert!(!objects.is_empty(), "{}: the parameters are not an object", method.name);
                let named: BTreeSet<_> =
                    objects.iter().flat_map(|members| members.iter().map(|member| &*member.name)).collect();
                let sent: BTreeSet<_> = method.params.iter().map(|(name, _)| *name).collect();
                let unknown: Vec<_> = sent.difference(&named).collect();
                assert!(unknown.is_empty(), "{}: {unknown:?} have no type", method.name);
            }
        }
    }

    #[test]
    fn every_type_can_be_read_and_every_name_is_defined() {
        for (protocol, library) in libraries() {
            let texts = library.types.iter().map(|named| (named.name, named.shape));
            let methods = library
                .methods
                .iter()
                .flat_map(|method| [(method.method, method.params), (method.method, method.result)]);
            for (of, text) in texts.chain(methods) {
                let shape = Shape::parse(text).unwrap_or_else(|why| panic!("{of}: {why}"));
                names(&shape, &mut |name| {
                    let known = super::super::shape::BASIC.contains(&name) || library.shape(name).is_some();
                    assert!(known, "{}: {of}: `{name}` is not a type", protocol.slug());
                });
            }
            for method in library.minimal {
                assert!(library.signature(method).is_some(), "{method}");
            }
        }
    }

    fn names(shape: &Shape, visit: &mut dyn FnMut(&str)) {
        match shape {
            Shape::Named(name) => visit(name),
            Shape::Word(_) | Shape::Truth(_) => {}
            Shape::List(item) => names(item, visit),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| names(shape, visit)),
            Shape::Object(members) => members.iter().for_each(|member| names(&member.shape, visit)),
        }
    }

    #[test]
    fn every_method_has_an_example_whose_parameters_and_result_have_their_types() {
        for (protocol, library) in libraries() {
            for signature in library.methods {
                assert!(library.example(signature.method).is_some(), "{} has no example", signature.method);
            }
            for call in library.calls() {
                let signature = library.signature(&call.method).unwrap_or_else(|| panic!("{}", call.method));
                let params = Shape::parse(signature.params).unwrap();
                let why = params.mismatch(call.request.member("params").unwrap(), &|name| library.shape(name));
                assert_eq!(why, None, "{}: parameters of {}", protocol.slug(), json::compact(&call.request));
                let Some(result) = call.answer.member("result") else { panic!("{} is an error", call.method) };
                let why = library.mismatch(signature, result);
                assert_eq!(why, None, "{}: the result {}", call.method, json::compact(result));
            }
        }
    }
}
