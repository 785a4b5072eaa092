//! Mutators: random edits of a message.
//!
//! Every choice comes from a [`Rng`], which comes from the seed of the campaign and the number of the input: the same
//! numbers make the same input, in any order of inputs. A mutator is a row in [`MUTATORS`].

mod bytes;
mod subject;
mod values;

use super::input::Edits;
use super::rng::Rng;
use crate::value::Value;
use bytes::{append, cut, flip, header, insert, nest, overwrite, truncate};
pub(super) use subject::Subject;
pub(crate) use values::odd_text;
use values::{
    foreign, known_member, near, nested, odd, other_type, remove, rename, repeat, unknown_member, whole, wide, wrapped,
};

type Mutator = fn(&Subject<'_>, &mut Rng) -> Option<Value>;

/// Every mutator with its weight.
const MUTATORS: &[(usize, Mutator)] = &[
    (2, remove),
    (8, near),
    (8, odd),
    (2, nested),
    (2, wide),
    (4, other_type),
    (3, wrapped),
    (2, rename),
    (2, repeat),
    (3, foreign),
    (2, unknown_member),
    (4, known_member),
    (1, whole),
    (3, flip),
    (1, truncate),
    (2, insert),
    (1, cut),
    (3, overwrite),
    (1, append),
    (1, nest),
    (1, header),
];

/// The edits of one input: mostly one, because the joint effect of two is hard to read.
pub(super) fn edits(subject: &Subject<'_>, rng: &mut Rng) -> Edits {
    let count = match rng.below(10) {
        0 => 3,
        1 | 2 => 2,
        _ => 1,
    };
    let total: usize = MUTATORS.iter().map(|(weight, _)| weight).sum();
    let mut edits = Vec::new();
    for _ in 0..count * 8 {
        if edits.len() == count {
            break;
        }
        let mut at = rng.below(total);
        let chosen = MUTATORS.iter().find(|(weight, _)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        edits.extend(chosen.and_then(|(_, mutator)| mutator(subject, rng)));
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Edit;
    use crate::exchange::Transport;
    use crate::source::{Located, Problems, Source, parse};
    use crate::wire::json;

    fn subject() -> (Value, Vec<u8>) {
        let value = json::parse(br#"{"a":"text","n":5,"list":[1,{"b":true}],"empty":null}"#).unwrap();
        let bytes = json::compact(&value).into_bytes();
        (value, bytes)
    }

    #[test]
    fn the_same_numbers_make_the_same_edits() {
        let (value, bytes) = subject();
        let subject = Subject::new(Some(&value), &bytes, Transport::Http, &[], &[]);
        let make = |seed, input| edits(&subject, &mut Rng::new(seed, input));
        let first: Vec<Edits> = (0..200).map(|input| make(7, input)).collect();
        // In another order, too.
        let again: Vec<Edits> = (0..200).rev().map(|input| make(7, input)).collect();
        assert!(first.iter().eq(again.iter().rev()));
        assert!(first.iter().zip(0..).any(|(edits, input)| *edits != make(8, input)));
    }

    #[test]
    fn every_edit_can_be_read_and_every_mutator_makes_some() {
        let (value, bytes) = subject();
        let cbor =
            Value::map([("id", Value::Bytes(vec![1; 16])), ("typ", Value::Integer(16)), ("body", value.clone())]);
        let cbor_bytes = crate::wire::cbor::write(&cbor);
        for (value, bytes) in [(&value, &bytes), (&cbor, &cbor_bytes)] {
            let source = std::sync::Arc::new(Source { name: "m.yaml".into(), text: "a".into() });
            let name = Located { value: "thread".to_owned(), span: parse(&source).unwrap().span };
            let members = [(name, Value::text("usual"))];
            let subject = Subject::new(Some(value), bytes, Transport::Http, &members, &[]);
            for (position, (_, mutator)) in MUTATORS.iter().enumerate() {
                let made: Vec<Value> =
                    (0..400).filter_map(|input| mutator(&subject, &mut Rng::new(1, input))).collect();
                assert!(made.len() > 20, "mutator {position} makes {}", made.len());
                for edit in made {
                    let text = crate::fuzz::yaml::write(&edit);
                    let source = std::sync::Arc::new(Source { name: "e.yaml".into(), text: text.clone().into() });
                    let node = parse(&source).unwrap_or_else(|problems| panic!("{problems:?}: {text}"));
                    let mut problems = Problems::default();
                    let read = Edit::read(&node, &mut problems);
                    assert!(read.is_some() && problems.0.is_empty(), "{:?}: {text}", problems.0);
                }
            }
        }
    }
}
