//! The claims of a target: levels (sets that include others), kinds of target, and roles.

use super::keys::{LEVEL, ROLE, TARGET_KIND};
use crate::exchange::Transport;
use crate::source::{Diagnostic, Fields, Located, Node, Problems};
use crate::suggest::nearest;

/// A set of levels, by their positions in the manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelSet(u64);

/// Levels that a manifest may have: what fits into a [`LevelSet`].
const MOST_LEVELS: usize = 64;

impl LevelSet {
    /// No level.
    pub const EMPTY: Self = Self(0);

    /// The level at one position.
    pub fn of(position: usize) -> Self {
        Self(1 << position)
    }

    /// Whether the level at `position` is in the set.
    pub fn contains(self, position: usize) -> bool {
        position < MOST_LEVELS && self.0 & (1 << position) != 0
    }

    /// Whether every level of `other` is in the set.
    pub fn includes(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The levels of either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The levels of both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The levels that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of levels.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl FromIterator<Self> for LevelSet {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        sets.into_iter().fold(Self::EMPTY, Self::union)
    }
}

/// The levels of a protocol, in the order of its manifest.
#[derive(Clone, Debug, Default)]
pub struct Levels(Vec<Level>);

/// One level, or conformance profile.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its name.
    pub name: Located<String>,
    /// Its description.
    pub about: String,
    /// The levels that it includes, as written.
    pub includes: Vec<Located<String>>,
    /// The level itself, and every level that it includes, directly or by way of another.
    pub closure: LevelSet,
}

impl Levels {
    /// Each level, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Level> {
        self.0.iter()
    }

    /// The names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|level| level.name.value.as_str())
    }

    /// Position of the level called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names().position(|known| known == name)
    }

    /// The level `name` with all levels that it includes; `None` if it is unknown.
    pub fn find(&self, name: &str) -> Option<LevelSet> {
        Some(self.0.get(self.position(name)?)?.closure)
    }

    /// As [`Levels::find`], but the empty set for a name that is not a level, such as that of a feature.
    pub fn closure(&self, name: &str) -> LevelSet {
        self.find(name).unwrap_or_default()
    }

    /// Every level.
    pub fn all(&self) -> LevelSet {
        (0..self.0.len()).map(LevelSet::of).collect()
    }

    /// The names of the levels of a set that no other level of the set includes.
    pub fn highest(&self, set: LevelSet) -> String {
        let is_included = |position: usize| {
            let others = self.0.iter().enumerate().filter(|(other, _)| *other != position && set.contains(*other));
            others.into_iter().any(|(_, level)| level.closure.contains(position))
        };
        let highest = (0..self.0.len()).filter(|position| set.contains(*position) && !is_included(*position));
        highest.map(|position| self.0[position].name.value.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The levels in `names`, with all levels that they include. Reports each unknown name.
    fn resolve(&self, names: &[Located<String>], problems: &mut Problems) -> LevelSet {
        let mut set = LevelSet::EMPTY;
        for name in names {
            match self.find(name) {
                Some(closure) => set = set.union(closure),
                None => problems.note(
                    Diagnostic::new(&name.span, format!("unknown level `{}`", name.value))
                        .did_you_mean(nearest(name, self.names())),
                ),
            }
        }
        set
    }
}

/// A kind of target: which levels it can show, which roles it can play, and how it is reached.
#[derive(Clone, Debug)]
pub struct TargetKind {
    /// Its name.
    pub name: Located<String>,
    /// Its description.
    pub about: String,
    /// The transports by which it is reached.
    pub reached_over: Vec<Transport>,
    /// The levels that it can show.
    pub levels: LevelSet,
    /// The default levels of a target of this kind; `None` means the default of the manifest.
    pub claims: Option<LevelSet>,
    /// The roles that it can play; `None` means all.
    pub roles: Option<Vec<Located<String>>>,
}

/// A role of the protocol that a target may play.
#[derive(Clone, Debug)]
pub struct Role {
    /// Its name, as the catalogue and cases have it.
    pub name: Located<String>,
    /// What it does.
    pub about: String,
}

/// Reads the levels of a manifest.
pub(super) fn read_levels(nodes: &[Node], problems: &mut Problems) -> Levels {
    let mut levels: Vec<Level> = Vec::new();
    for node in nodes {
        let mut fields = Fields::new(node, &LEVEL, problems);
        let name = fields.required_text("name", problems);
        let about = fields.text("about", problems).map(|text| text.value).unwrap_or_default();
        let includes = fields.texts("includes", problems);
        fields.finish(problems);
        let Some(name) = name else { continue };
        if levels.iter().any(|earlier| earlier.name.value == name.value) {
            problems.note(Diagnostic::new(&name.span, format!("the level `{}` is defined twice", *name)));
        } else if levels.len() == MOST_LEVELS {
            problems.note(Diagnostic::new(&name.span, format!("more than {MOST_LEVELS} levels")));
        } else {
            levels.push(Level { name, about, includes, closure: LevelSet::EMPTY });
        }
    }
    let mut levels = Levels(levels);
    for position in 0..levels.0.len() {
        levels.0[position].closure = LevelSet::of(position);
    }
    // Names are checked while each level includes itself alone.
    let direct: Vec<LevelSet> = levels.iter().map(|level| levels.resolve(&level.includes, problems)).collect();
    // A level that includes another includes what that one includes: as many rounds as a chain may have links.
    for _ in 0..levels.0.len() {
        let before: Vec<LevelSet> = levels.iter().map(|level| level.closure).collect();
        for (level, direct) in levels.0.iter_mut().zip(&direct) {
            let included = before.iter().enumerate().filter(|(position, _)| direct.contains(*position));
            level.closure = included.map(|(_, closure)| *closure).fold(level.closure, LevelSet::union);
        }
    }
    for (position, level) in levels.iter().enumerate() {
        for name in &level.includes {
            if levels.closure(name).contains(position) {
                let message = format!("circular reference: `{}` includes `{}`", *level.name, name.value);
                problems.note(Diagnostic::new(&name.span, format!("{message}, which includes `{}`", *level.name)));
            }
        }
    }
    levels
}

/// Reads the roles of a manifest.
pub(super) fn read_roles(nodes: &[Node], problems: &mut Problems) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    for node in nodes {
        let mut fields = Fields::new(node, &ROLE, problems);
        let name = fields.required_text("role", problems);
        let about = fields.text("about", problems).map(|text| text.value).unwrap_or_default();
        fields.finish(problems);
        let Some(name) = name else { continue };
        if roles.iter().any(|earlier| earlier.name.value == name.value) {
            problems.note(Diagnostic::new(&name.span, format!("the role `{}` is defined twice", *name)));
        }
        roles.push(Role { name, about });
    }
    roles
}

/// Reads the kinds of target of a manifest.
pub(super) fn read_kinds(nodes: &[Node], levels: &Levels, roles: &[Role], problems: &mut Problems) -> Vec<TargetKind> {
    let mut kinds: Vec<TargetKind> = Vec::new();
    for node in nodes {
        let Some(kind) = read_kind(node, levels, roles, problems) else { continue };
        if kinds.iter().any(|earlier| earlier.name.value == kind.name.value) {
            problems.note(Diagnostic::new(
                &kind.name.span,
                format!("the kind of target `{}` is defined twice", *kind.name),
            ));
        }
        kinds.push(kind);
    }
    kinds
}

fn read_kind(node: &Node, levels: &Levels, roles: &[Role], problems: &mut Problems) -> Option<TargetKind> {
    let mut fields = Fields::new(node, &TARGET_KIND, problems);
    let name = fields.required_text("kind", problems);
    let about = fields.text("about", problems).map(|text| text.value).unwrap_or_default();
    let over = fields.texts("reached-over", problems);
    let shown = fields.texts("levels", problems);
    let claimed = fields.texts_if_any("claims", problems);
    let played = fields.texts_if_any("roles", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    for (key, list) in [("reached-over", &over), ("levels", &shown)] {
        if list.is_empty() && node.member(key).is_some() {
            problems.note(Diagnostic::new(&span, format!("`{key}` is empty")));
        }
    }
    let transport = |word: &Located<String>| {
        let found = Transport::ALL.into_iter().find(|transport| transport.name() == word.value);
        if found.is_none() {
            let names = || Transport::ALL.into_iter().map(Transport::name);
            problems.note(
                Diagnostic::new(&word.span, format!("unknown transport `{}`", word.value))
                    .did_you_mean(nearest(word, names())),
            );
        }
        found
    };
    let reached_over = over.iter().filter_map(transport).collect();
    let (shown, claims) =
        (levels.resolve(&shown, problems), claimed.as_ref().map(|names| levels.resolve(names, problems)));
    for name in claimed.iter().flatten().filter(|name| !shown.includes(levels.closure(name))) {
        problems
            .note(Diagnostic::new(&name.span, format!("it claims `{}`, which is not among its `levels`", name.value)));
    }
    for role in played.iter().flatten() {
        let names = || roles.iter().map(|role| role.name.value.as_str());
        if !names().any(|known| known == role.value) {
            problems.note(
                Diagnostic::new(&role.span, format!("unknown role `{}`", role.value))
                    .did_you_mean(nearest(role, names())),
            );
        }
    }
    Some(TargetKind { name: name?, about, reached_over, levels: shown, claims, roles: played })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::Source;
    use crate::suite::{Manifest, read_manifest};

    fn read(text: &str) -> Result<Manifest, Vec<Diagnostic>> {
        let text = format!("protocol: p\nclaims: {{ default: A }}\n{text}");
        read_manifest(&Arc::new(Source { name: "m.yaml".into(), text: text.into() }))
    }

    fn mistakes(text: &str) -> Vec<String> {
        read(text).expect_err("mistakes").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn inclusion_of_levels_is_transitive() {
        let levels = read("levels: [{ name: A }, { name: B, includes: C }, { name: C, includes: [A] }, { name: D }]\n");
        let levels = levels.expect("a manifest").levels;
        let sets = |names: &[&str]| names.iter().map(|name| LevelSet::of(levels.position(name).unwrap())).collect();
        assert_eq!(levels.find("B"), Some(sets(&["A", "B", "C"])));
        assert_eq!(levels.find("D"), Some(sets(&["D"])));
        assert_eq!(levels.find("E"), None);
        assert_eq!(levels.highest(levels.all()), "B, D");
        assert!(!levels.closure("B").includes(levels.closure("D")));
    }

    #[test]
    fn circles_and_unknown_names_are_mistakes_at_their_place() {
        let found = mistakes(
            "levels:\n  - { name: A, includes: [C] }\n  - { name: B, includes: [A] }\n  - { name: C, includes: [B, X] }\n  - { name: A }\n  - D\n",
        );
        let expected = [
            "m.yaml:7:13: the level `A` is defined twice",
            "m.yaml:8:5: a level must be a map, not text",
            "m.yaml:6:30: unknown level `X`",
            "m.yaml:4:27: circular reference: `A` includes `C`, which includes `A`",
            "m.yaml:5:27: circular reference: `B` includes `A`, which includes `B`",
            "m.yaml:6:27: circular reference: `C` includes `B`, which includes `C`",
        ];
        for line in expected {
            assert!(found.iter().any(|found| found.starts_with(line)), "{line} is not among {found:#?}");
        }
    }

    #[test]
    fn kinds_name_known_levels_roles_and_transports() {
        let found = mistakes(
            "levels: [{ name: A }, { name: B, includes: [A] }]\nroles: [{ role: sender }]\ntarget-kinds:\n  - { kind: k, reached-over: [htp], levels: [AB], roles: [sendr] }\n  - { kind: k, reached-over: [http], levels: [A], claims: [B] }\n  - { kind: l }\n",
        );
        let expected = [
            "m.yaml:6:31: unknown transport `htp` (did you mean `http`?)",
            "m.yaml:6:46: unknown level `AB`",
            "m.yaml:6:59: unknown role `sendr` (did you mean `sender`?)",
            "m.yaml:7:13: the kind of target `k` is defined twice",
            "m.yaml:7:60: it claims `B`, which is not among its `levels`",
            "m.yaml:8:5: a kind of target needs the key `reached-over`",
            "m.yaml:8:5: a kind of target needs the key `levels`",
        ];
        for line in expected {
            assert!(found.iter().any(|found| found.starts_with(line)), "{line} is not among {found:#?}");
        }
    }
}
