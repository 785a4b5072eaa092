//! Finds the first difference between two values, for findings.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Path, Value};

/// The first place at which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The place, in both values.
    pub path: Path,
    /// The left value at the place; `None` if it is absent.
    pub left: Option<Value>,
    /// The right value at the place; `None` if it is absent.
    pub right: Option<Value>,
}

/// Finds the first difference in meaning: numbers by IEEE 754 value, members in any order.
pub fn first_difference(left: &Value, right: &Value) -> Option<Difference> {
    // Most values that are compared are equal, and finding that out needs no path.
    if left.same_as(right) { None } else { differ(left, right, &Path::default()) }
}

fn differ(left: &Value, right: &Value, path: &Path) -> Option<Difference> {
    match (left, right) {
        (Value::Map(lefts), Value::Map(rights)) => differ_in_members(lefts, rights, path),
        (Value::Array(lefts), Value::Array(rights)) => (0..lefts.len().max(rights.len())).find_map(|index| {
            let child = path.child(index.to_string());
            match (lefts.get(index), rights.get(index)) {
                (Some(left), Some(right)) => differ(left, right, &child),
                (left, right) => Some(Difference { path: child, left: left.cloned(), right: right.cloned() }),
            }
        }),
        (Value::Tag(a, left), Value::Tag(b, right)) if a == b => differ(left, right, path),
        _ => (!same_scalars(left, right)).then(|| Difference {
            path: path.clone(),
            left: Some(left.clone()),
            right: Some(right.clone()),
        }),
    }
}

fn differ_in_members(lefts: &[(Value, Value)], rights: &[(Value, Value)], path: &Path) -> Option<Difference> {
    if repeats_a_name(lefts) || repeats_a_name(rights) {
        // A receiver may use either of two repeated members, so only identical lists are equal.
        return (lefts != rights).then(|| Difference {
            path: path.clone(),
            left: Some(Value::Map(lefts.to_vec().into())),
            right: Some(Value::Map(rights.to_vec().into())),
        });
    }
    let (in_lefts, in_rights) = (Keys::of(lefts), Keys::of(rights));
    for (key, left) in lefts {
        let child = path.child(token(key));
        match in_rights.find(key) {
            Some(at) => {
                if let Some(difference) = differ(left, &rights[at].1, &child) {
                    return Some(difference);
                }
            }
            None => return Some(Difference { path: child, left: Some(left.clone()), right: None }),
        }
    }
    rights.iter().find(|(key, _)| in_lefts.find(key).is_none()).map(|(key, right)| Difference {
        path: path.child(token(key)),
        left: None,
        right: Some(right.clone()),
    })
}

fn token(key: &Value) -> String {
    match key {
        Value::Text(text) => text.to_string(),
        Value::Integer(integer) => integer.to_string(),
        other => format!("{other:?}"),
    }
}

impl Value {
    /// Whether two values are equal in meaning: numbers by IEEE 754 value, members in any order.
    ///
    /// Strings compare code point for code point, arrays element by element. A map with a repeated key equals only a
    /// map with the same repetitions in the same order.
    pub fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Map(lefts), Self::Map(rights)) => lefts.is_same(rights) || same_members(lefts, rights),
            (Self::Array(lefts), Self::Array(rights)) => {
                let pairs = || lefts.iter().zip(rights);
                lefts.is_same(rights) || lefts.len() == rights.len() && pairs().all(|(left, right)| left.same_as(right))
            }
            (Self::Tag(a, left), Self::Tag(b, right)) => a == b && left.same_as(right),
            _ => same_scalars(self, other),
        }
    }

    /// A number that is the same for values that are equal in meaning ([`Value::same_as`]), and seldom for others.
    pub fn meaning_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Map(members) => {
                // Members are equal in any order.
                let each = |(key, value): &(Self, Self)| (key.meaning_hash(), value.meaning_hash());
                let sum = members.iter().map(each).fold(0_u64, |sum, (key, value)| {
                    let mut pair = DefaultHasher::new();
                    (key, value).hash(&mut pair);
                    sum.wrapping_add(pair.finish())
                });
                ("map", sum).hash(&mut hasher);
            }
            Self::Array(items) => {
                "array".hash(&mut hasher);
                items.iter().for_each(|item| item.meaning_hash().hash(&mut hasher));
            }
            Self::Tag(tag, inner) => ("tag", tag, inner.meaning_hash()).hash(&mut hasher),
            Self::Text(text) => ("text", text).hash(&mut hasher),
            Self::Bytes(bytes) => ("bytes", bytes).hash(&mut hasher),
            Self::Bool(flag) => ("bool", flag).hash(&mut hasher),
            Self::Simple(simple) => ("simple", simple).hash(&mut hasher),
            Self::Null => "null".hash(&mut hasher),
            Self::Integer(_) | Self::Float(_) | Self::Decimal(_) => {
                // Both zeros are equal, and so are all that are not a number.
                let number = self.as_f64().filter(|number| !number.is_nan()).map(|number| (number + 0.0).to_bits());
                ("number", number).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Whether two values without elements are equal in meaning.
fn same_scalars(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
        (None, None) => left == right,
        _ => false,
    }
}

fn same_members(lefts: &[(Value, Value)], rights: &[(Value, Value)]) -> bool {
    if repeats_a_name(lefts) || repeats_a_name(rights) {
        return lefts == rights;
    }
    let (in_lefts, in_rights) = (Keys::of(lefts), Keys::of(rights));
    lefts.iter().all(|(key, left)| in_rights.find(key).is_some_and(|at| left.same_as(&rights[at].1)))
        && rights.iter().all(|(key, _)| in_lefts.find(key).is_some())
}

/// Finds members by their keys. Two answers of a target may have hundreds of thousands of them.
enum Keys<'v> {
    Few(&'v [(Value, Value)]),
    Many(&'v [(Value, Value)], ByMeaning),
}

impl<'v> Keys<'v> {
    fn of(members: &'v [(Value, Value)]) -> Self {
        match members.len() {
            0..=FEW => Self::Few(members),
            _ => Self::Many(members, ByMeaning::of(members.iter().map(|(key, _)| key))),
        }
    }

    /// Where the first member with this very key is.
    fn find(&self, wanted: &Value) -> Option<usize> {
        match self {
            Self::Few(members) => members.iter().position(|(key, _)| key == wanted),
            Self::Many(members, places) => places.alike(wanted).find(|at| members[*at].0 == *wanted),
        }
    }
}

/// So many members are compared one by one, which is faster than hashing them.
pub(crate) const FEW: usize = 32;

/// The places of values, by their [`Value::meaning_hash`].
pub(crate) struct ByMeaning(HashMap<u64, Vec<usize>>);

impl ByMeaning {
    pub(crate) fn of<'v>(values: impl Iterator<Item = &'v Value>) -> Self {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, value) in values.enumerate() {
            places.entry(value.meaning_hash()).or_default().push(at);
        }
        Self(places)
    }

    /// The places of all values that may be equal to this one in meaning, in their order.
    pub(crate) fn alike(&self, value: &Value) -> impl Iterator<Item = usize> {
        self.0.get(&value.meaning_hash()).into_iter().flatten().copied()
    }

    /// Removes and returns the last of these places that fits.
    pub(crate) fn take(&mut self, value: &Value, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let places = self.0.get_mut(&value.meaning_hash())?;
        let index = places.iter().rposition(|at| fits(*at))?;
        Some(places.swap_remove(index))
    }
}

/// Whether two members have the same text as their key.
fn repeats_a_name(members: &[(Value, Value)]) -> bool {
    let mut names: Vec<_> = members.iter().filter_map(|(key, _)| key.as_text()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(spelling: &str) -> Value {
        Value::Decimal(spelling.into())
    }

    fn members(members: &[(&str, Value)]) -> Value {
        Value::map(members.iter().cloned())
    }

    fn values() -> Vec<Value> {
        let (one, two) = (Value::Integer(1), Value::Integer(2));
        vec![
            Value::Null,
            Value::Bool(true),
            Value::Integer(0),
            number("-0"),
            one.clone(),
            number("1.0"),
            number("1e0"),
            Value::Float(f64::NAN),
            Value::text("1"),
            Value::Bytes(b"1".to_vec()),
            Value::array([]),
            Value::array([one.clone()]),
            Value::array([number("1.0")]),
            Value::array([one.clone(), two.clone()]),
            Value::array([two.clone(), one.clone()]),
            members(&[]),
            members(&[("a", one.clone())]),
            members(&[("a", number("1e0"))]),
            members(&[("a", one.clone()), ("b", two.clone())]),
            members(&[("b", two.clone()), ("a", one.clone())]),
            members(&[("a", one.clone()), ("a", two.clone())]),
            members(&[("a", two.clone()), ("a", one.clone())]),
            members(&[("a", members(&[("b", Value::array([one.clone()]))]))]),
            Value::Tag(1, Box::new(one)),
            Value::Tag(2, Box::new(two)),
        ]
    }

    #[test]
    fn many_members_are_compared_as_few_are() {
        let many = |change: &dyn Fn(usize) -> (Value, Value)| Value::Map((0..FEW + 8).map(change).collect());
        let plain = |at: usize| match at % 2 {
            0 => (Value::text(format!("m{at}")), Value::from(at as u64)),
            _ => (Value::from(at as u64), Value::Null),
        };
        let whole = many(&plain);
        let other_way = Value::Map((0..FEW + 8).rev().map(plain).collect());
        assert_eq!(first_difference(&whole, &other_way), None);
        assert!(whole.same_as(&other_way));
        let changed = many(&|at| if at == 37 { (Value::from(37_u64), Value::Bool(true)) } else { plain(at) });
        // The key 38 in the place of "m38", and a float in the place of the key 35: other keys.
        let renamed = many(&|at| if at == 38 { (Value::from(38_u64), plain(at).1) } else { plain(at) });
        let float = many(&|at| if at == 35 { (Value::Float(35.0), Value::Null) } else { plain(at) });
        for (other, place) in [(&changed, "/37"), (&renamed, "/m38"), (&float, "/35")] {
            let difference = first_difference(&whole, other).expect("a difference");
            assert_eq!(difference.path.to_string(), place);
            assert!(!whole.same_as(other) && !other.same_as(&whole));
        }
        let more = many(&|at| if at == 39 { (Value::text("new"), Value::Null) } else { plain(at) });
        assert_eq!(first_difference(&more, &whole).map(|found| found.path.to_string()).as_deref(), Some("/new"));
    }

    #[test]
    fn two_maps_of_many_members_are_compared_in_time() {
        let many = |order: &mut dyn Iterator<Item = u64>| {
            Value::Map(order.map(|at| (Value::text(format!("m{at}")), Value::from(at))).collect())
        };
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (up, down) = (many(&mut (0..200_000)), many(&mut (0..200_000).rev()));
            let _ = send.send(up.same_as(&down) && first_difference(&up, &down).is_none());
        });
        // Compared one by one, 20,000,000,000 pairs take longer.
        assert_eq!(receive.recv_timeout(std::time::Duration::from_secs(20)), Ok(true));
    }

    #[test]
    fn values_are_the_same_where_there_is_no_difference_and_then_hash_alike() {
        for left in &values() {
            // The values are made anew, so that no two of them share their elements.
            for right in &values() {
                let same = left.same_as(right);
                let difference = differ(left, right, &Path::default());
                assert_eq!(same, difference.is_none(), "{left:?} {right:?}");
                assert!(!same || left.meaning_hash() == right.meaning_hash(), "{left:?} {right:?}");
            }
        }
        let hashes: std::collections::BTreeSet<u64> = values().iter().map(Value::meaning_hash).collect();
        assert_eq!(
            hashes.len(),
            18,
            "values that differ in meaning hash differently, but for the two repetitions of a name"
        );
    }
}
