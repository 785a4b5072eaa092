//! The exchanges of a case, shared between its transcript and its record.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Exchange;

/// Exchanges in order. Copies share them, since judging needs the same exchanges several times; a changed copy becomes its own.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Exchanges(Arc<Vec<Exchange>>);

impl Exchanges {
    /// The exchanges, copied if there are other copies of them.
    pub fn into_vec(self) -> Vec<Exchange> {
        Arc::unwrap_or_clone(self.0)
    }
}

impl Exchanges {
    /// Whether both are copies of the same exchanges, and none was changed.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Exchanges {
    type Target = Vec<Exchange>;

    fn deref(&self) -> &Vec<Exchange> {
        &self.0
    }
}

impl DerefMut for Exchanges {
    fn deref_mut(&mut self) -> &mut Vec<Exchange> {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<Exchange>> for Exchanges {
    fn from(mut exchanges: Vec<Exchange>) -> Self {
        // Most cases have one or two, and a vector that grows has room for four.
        exchanges.shrink_to_fit();
        Self(Arc::new(exchanges))
    }
}

impl FromIterator<Exchange> for Exchanges {
    fn from_iter<I: IntoIterator<Item = Exchange>>(exchanges: I) -> Self {
        Vec::from_iter(exchanges).into()
    }
}

impl<'e> IntoIterator for &'e Exchanges {
    type Item = &'e Exchange;
    type IntoIter = std::slice::Iter<'e, Exchange>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'e> IntoIterator for &'e mut Exchanges {
    type Item = &'e mut Exchange;
    type IntoIter = std::slice::IterMut<'e, Exchange>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl std::fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Exchanges {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Exchanges {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Exchanges {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Exchanges".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<Exchange>::json_schema(generator)
    }
}
