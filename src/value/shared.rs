//! Lists that are shared until one of their owners changes them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A list whose clones share its elements, so that cloning a large value takes no time. Changing it through one clone copies
/// the list first, if there are others.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared<T>(Arc<Vec<T>>);

impl<T> Shared<T> {
    /// Whether both share the same elements. Lists with equal elements may return false.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Clone> Shared<T> {
    /// The list as a vector of its own.
    pub fn into_vec(self) -> Vec<T> {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::new(Vec::new()))
    }
}

impl<T> Deref for Shared<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Arc::new(items))
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from(Vec::from_iter(items))
    }
}

impl<T: Clone> IntoIterator for Shared<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'s, T> IntoIterator for &'s Shared<T> {
    type Item = &'s T;
    type IntoIter = std::slice::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'s, T: Clone> IntoIterator for &'s mut Shared<T> {
    type Item = &'s mut T;
    type IntoIter = std::slice::IterMut<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
