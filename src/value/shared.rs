//! Lists that are shared until one of their owners changes them.

use std::ops::{Deref, DerefMut};

use ecow::EcoVec;

/// A list whose clones share its elements, so that cloning a large value takes no time. Changing it through one clone copies
/// the list first, if there are others.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared<T>(EcoVec<T>);

impl<T> Shared<T> {
    /// Whether both share the same elements. Lists with equal elements may return false.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && std::ptr::eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

impl<T: Clone> Shared<T> {
    /// The list as a vector of its own.
    pub fn into_vec(self) -> Vec<T> {
        self.0.into_iter().collect()
    }

    /// The elements, to be changed in place.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.make_mut().iter_mut()
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(EcoVec::new())
    }
}

impl<T> Deref for Shared<T> {
    type Target = EcoVec<T>;

    fn deref(&self) -> &EcoVec<T> {
        &self.0
    }
}

impl<T> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut EcoVec<T> {
        &mut self.0
    }
}

impl<T: Clone> From<Vec<T>> for Shared<T> {
    fn from(items: Vec<T>) -> Self {
        Self(EcoVec::from(items))
    }
}

impl<T: Clone> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(EcoVec::from_iter(items))
    }
}

impl<T: Clone> IntoIterator for Shared<T> {
    type Item = T;
    type IntoIter = ecow::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
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
