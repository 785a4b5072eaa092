//! Requirement catalogues, which are the denominator of coverage, and their errata.

mod keys;

use std::collections::HashMap;
use std::sync::Arc;

pub use keys::CATALOGUE;
use keys::REQUIREMENT;

use crate::source::{Diagnostic, Fields, Located, Problems, Source, Span, parse};

/// Every normative statement of one specification.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Slug.
    pub protocol: String,
    /// Title and version of the specification.
    pub spec: String,
    /// In the order of the file.
    pub requirements: Vec<Requirement>,
    /// The position of each id: every case is looked up many times.
    positions: HashMap<RequirementId, usize>,
}

impl Catalogue {
    fn new(protocol: String, spec: String, requirements: Vec<Requirement>) -> Self {
        let entries = requirements.iter().enumerate();
        let positions = entries.map(|(position, requirement)| (requirement.id.value.clone(), position)).collect();
        Self { protocol, spec, requirements, positions }
    }

    /// The requirement with this id.
    pub fn find(&self, id: &str) -> Option<&Requirement> {
        self.positions.get(id).and_then(|position| self.requirements.get(*position))
    }
}

/// The id of a requirement, which never changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequirementId(String);

impl RequirementId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RequirementId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::borrow::Borrow<str> for RequirementId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RequirementId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// One clause of a requirement, as a case refers to it: `ID/2`, or `ID` for the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClauseId {
    /// The requirement.
    pub requirement: RequirementId,
    /// Which of its clauses, counted from 1.
    pub clause: usize,
}

impl ClauseId {
    /// Reads `ID` or `ID/2`. `None` if the part after the slash is not a clause number.
    pub fn parse(text: &str) -> Option<Self> {
        match text.rsplit_once('/') {
            None => Some(Self { requirement: text.into(), clause: 1 }),
            Some((id, number)) => {
                let clause = number.parse().ok().filter(|clause| *clause > 0)?;
                Some(Self { requirement: id.into(), clause })
            }
        }
    }
}

impl std::fmt::Display for ClauseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.clause {
            1 => f.pad(self.requirement.as_str()),
            clause => f.pad(&format!("{}/{clause}", self.requirement)),
        }
    }
}

/// Reads a member that lists clauses of requirements.
pub fn read_clauses(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Vec<Located<ClauseId>> {
    let texts = fields.texts(key, problems);
    let read = |text: Located<String>| match ClauseId::parse(&text) {
        Some(value) => Some(Located { value, span: text.span }),
        None => {
            problems.note(
                Diagnostic::new(&text.span, format!("invalid clause `{}`", *text))
                    .hint("ID for the first clause of a requirement, ID/2 for the second"),
            );
            None
        }
    };
    texts.into_iter().filter_map(read).collect()
}

/// One normative statement.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Its id, which never changes.
    pub id: Located<RequirementId>,
    /// Section of the specification.
    pub section: String,
    /// How binding it is.
    pub keyword: Keyword,
    /// Lowest level at which it binds.
    pub level: Located<String>,
    /// The party that it binds.
    pub role: String,
    /// The party in the protocol's own terms, if `role` names only the side of an exchange.
    pub actor: Option<String>,
    /// One sentence, a paraphrase of the specification.
    pub summary: String,
    /// Where it is observable.
    pub testable: Testable,
    /// How it is checked: each clause is a demand that a case can cover.
    pub clauses: Vec<String>,
    /// Why it cannot be tested, if so.
    pub why_not: Option<String>,
    /// Entries of the errata register about it.
    pub errata: Vec<String>,
    /// The version of the specification that added it, if it is not the one that the catalogue names.
    pub since: Option<String>,
    /// The optional feature of the protocol to which it belongs.
    pub feature: Option<String>,
    /// Whether it counts only under the strict profile.
    pub strict_only: bool,
}

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keyword {
    /// RFC 2119 MUST.
    Must,
    /// RFC 2119 MUST NOT.
    MustNot,
    /// A statement without an RFC 2119 keyword; binds like a MUST.
    Shape,
    /// RFC 2119 SHOULD.
    Should,
    /// RFC 2119 SHOULD NOT.
    ShouldNot,
    /// RFC 2119 MAY: violated only by a target that rejects what is permitted.
    May,
}

impl Keyword {
    const ALL: [Self; 6] = [Self::Must, Self::MustNot, Self::Shape, Self::Should, Self::ShouldNot, Self::May];

    /// The word of the catalogue.
    pub fn word(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Shape => "SHAPE",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
            Self::May => "MAY",
        }
    }

    /// Whether a violation means that a level is not granted.
    pub fn is_demand(self) -> bool {
        matches!(self, Self::Must | Self::MustNot | Self::Shape)
    }

    /// Whether a violation is only a warning outside the strict profile.
    pub fn is_advice(self) -> bool {
        matches!(self, Self::Should | Self::ShouldNot)
    }
}

/// Where a requirement is observable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Testable {
    /// An endpoint and a library.
    Both,
    /// Only an endpoint.
    Endpoint,
    /// Only a library.
    Library,
    /// Nowhere: it cannot be tested.
    No,
}

impl Requirement {
    /// How it is checked, as one text.
    pub fn check(&self) -> String {
        self.clauses.join(" ")
    }

    /// The party that it binds, in the most specific term of the catalogue.
    pub fn binds(&self) -> &str {
        self.actor.as_deref().unwrap_or(&self.role)
    }
}

impl Testable {
    /// Whether it is observable at an endpoint.
    pub fn at_endpoint(self) -> bool {
        matches!(self, Self::Both | Self::Endpoint)
    }

    /// Whether it is observable at a library behind an adapter.
    pub fn at_adapter(self) -> bool {
        matches!(self, Self::Both | Self::Library)
    }

    /// The word of the catalogue.
    pub fn word(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Endpoint => "endpoint",
            Self::Library => "library",
            Self::No => "no",
        }
    }
}

/// Reads a catalogue.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn load(source: &Arc<Source>) -> Result<Catalogue, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    match load_partly(source, &mut problems) {
        Some(catalogue) => problems.check(catalogue),
        None => Err(problems.0),
    }
}

/// Reads the valid entries of a catalogue; `None` if an entry is invalid, so that not all ids are known.
pub fn load_partly(source: &Arc<Source>, problems: &mut Problems) -> Option<Catalogue> {
    let root = match parse(source) {
        Ok(root) => root,
        Err(found) => {
            found.into_iter().for_each(|mistake| problems.note(mistake));
            return None;
        }
    };
    let mut fields = Fields::new(&root, &CATALOGUE, problems);
    let protocol = fields.required_text("protocol", problems);
    let spec = fields.required_text("spec", problems);
    let _ = fields.text("source", problems);
    let nodes = fields.list("requirements", problems);
    fields.finish(problems);
    let mut whole = true;
    let mut requirements: Vec<Requirement> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(requirement) = one(node, problems) else {
            whole = false;
            continue;
        };
        if let Some(earlier) = requirements.iter().find(|earlier| earlier.id.value == requirement.id.value) {
            let message = format!("the id {} is used twice; first at {}", *requirement.id, earlier.id.span.place());
            problems.note(Diagnostic::new(&requirement.id.span, message));
        }
        requirements.push(requirement);
    }
    if requirements.is_empty() {
        problems.note(Diagnostic::new(&Span::file(source), "the catalogue has no requirements"));
    }
    let text = |located: Option<Located<String>>| located.map(|text| text.value).unwrap_or_default();
    let catalogue = Catalogue::new(text(protocol), text(spec), requirements);
    whole.then_some(catalogue)
}

fn one(node: &crate::source::Node, problems: &mut Problems) -> Option<Requirement> {
    let mut fields = Fields::new(node, &REQUIREMENT, problems);
    let id = fields.required_text("id", problems);
    let section = fields.required_text("section", problems);
    let keyword = fields.required_text("keyword", problems);
    let level = fields.required_text("level", problems);
    let role = fields.required_text("role", problems);
    let summary = fields.required_text("summary", problems);
    let testable = fields.required_text("testable", problems);
    let check = fields.texts("check", problems);
    let why_not = fields.text("why-not", problems);
    let errata = fields.texts("errata", problems);
    let actor = fields.text("actor", problems);
    let since = fields.text("since", problems);
    let feature = fields.text("feature", problems);
    let strict_only = fields.flag("strict-only", problems);
    let span = fields.span().clone();
    fields.finish(problems);
    let keyword = keyword.and_then(|word| {
        let found = Keyword::ALL.into_iter().find(|keyword| keyword.word() == word.value);
        if found.is_none() {
            let known = Keyword::ALL.map(Keyword::word).join(", ");
            problems.note(
                Diagnostic::new(&word.span, format!("unknown keyword `{}`", *word)).hint(format!("one of {known}")),
            );
        }
        found
    });
    let testable = testable.and_then(|word| {
        let all = [Testable::Both, Testable::Endpoint, Testable::Library, Testable::No];
        let found = all.into_iter().find(|testable| testable.word() == word.value);
        if found.is_none() {
            problems.note(
                Diagnostic::new(&word.span, format!("invalid value `{}` of `testable`", *word))
                    .hint("one of both, endpoint, library, no"),
            );
        }
        found
    });
    if testable == Some(Testable::No) && why_not.is_none() {
        problems.note(Diagnostic::new(&span, "`testable: no` needs a `why-not`"));
    }
    Some(Requirement {
        id: id.map(|id| Located { value: RequirementId(id.value), span: id.span })?,
        section: section?.value,
        keyword: keyword?,
        level: level?,
        role: role?.value,
        summary: summary?.value,
        testable: testable?,
        clauses: check.into_iter().map(|text| text.value).collect(),
        why_not: why_not.map(|text| text.value),
        errata: errata.into_iter().map(|text| text.value).collect(),
        actor: actor.map(|text| text.value),
        since: since.map(|text| text.value),
        feature: feature.map(|text| text.value),
        strict_only,
    })
}

/// One entry of an errata register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// Its number, such as `E04`.
    pub id: String,
    /// Its heading, or the places that it concerns.
    pub title: String,
    /// The ruling.
    pub ruling: String,
}

/// Reads the entries of an errata register: headings `### E04: title` (the colon is optional) or paragraphs that start with
/// `**E04 - title.**`, each with a ruling after the word `Ruling` and a colon, up to the end of the item or paragraph; and
/// rows `| E83 | bears on | ruling |` of an addendum.
pub fn errata(text: &str) -> Vec<Erratum> {
    let mut entries: Vec<Erratum> = Vec::new();
    let mut ruling = false;
    for line in text.lines() {
        let item = line.trim_start().starts_with("- ");
        ruling &= !item && !line.trim().is_empty();
        if let Some((id, title)) = entry_heading(line) {
            entries.push(Erratum { id: id.into(), title: title.into(), ruling: String::new() });
        } else if let Some(row) = line.strip_prefix("| ") {
            let cells: Vec<_> = row.trim_end_matches(['|', ' ']).split(" | ").collect();
            if let [id, title, ruling] = cells[..]
                && is_erratum_id(id)
            {
                entries.push(Erratum { id: id.into(), title: title.into(), ruling: ruling.into() });
            }
        }
        let Some(entry) = entries.last_mut() else { continue };
        let words = ["**Ruling**:", "**Ruling:**", "*Ruling:*", "- Ruling:"];
        if let Some((_, rest)) = words.iter().find_map(|word| line.split_once(word)) {
            rest.trim().clone_into(&mut entry.ruling);
            ruling = true;
        } else if ruling {
            entry.ruling.push(' ');
            entry.ruling.push_str(line.trim());
        }
    }
    entries
}

/// Number and title of the entry that a line begins.
fn entry_heading(line: &str) -> Option<(&str, &str)> {
    let heading = line.strip_prefix("### ").or_else(|| line.strip_prefix("## ")).or_else(|| line.strip_prefix("**"))?;
    let (id, title) = heading.split_once([':', ' '])?;
    let title = title.trim_start_matches(['-', ' ']);
    // The title of a paragraph ends at the end of its bold text.
    let title = if line.starts_with("**") { title.split("**").next().unwrap_or(title) } else { title };
    is_erratum_id(id).then_some((id, title.trim_end_matches(['.', ' '])))
}

fn is_erratum_id(id: &str) -> bool {
    id.strip_prefix('E').is_some_and(|digits| digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rulings_are_found_in_entries_and_addendum() {
        let text = "# Register\n\n## E04: Nulls\n\n- **Open**: x\n- **Ruling**: drop them.\n\n| no. | bears on | ruling |\n|---|---|---|\n| E83 | 10.1 | Never send it. |\n";
        let entries = errata(text);
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].id.as_str(), entries[0].ruling.as_str()), ("E04", "drop them."));
        assert_eq!((entries[1].id.as_str(), entries[1].ruling.as_str()), ("E83", "Never send it."));
        let text = "### E05 Two\n- Where: 2.1.\n- Ruling: a line\n  and another.\n- Why: x\n\n**E06 - three.** *Problem:* y.\n*Ruling:* one\nway.\n\nElse.\n";
        let entries: Vec<_> =
            errata(text).into_iter().map(|entry| [entry.id, entry.title, entry.ruling].join("|")).collect();
        assert_eq!(entries, ["E05|Two|a line and another.", "E06|three|one way."]);
    }

    #[test]
    fn every_mistake_of_a_catalogue_is_reported_at_once() {
        let text = "protocol: p\nspec: s\nrequirements:\n  - {id: A-1, section: '1', keyword: MUSTN'T, level: L0, role: server, summary: x, testable: maybe, check: c}\n  - {id: A-2, section: '1', keyword: MUST, level: L0, role: server, summary: x, testable: both, check: c}\n  - {id: A-2, section: '1', keyword: MUST, level: L0, role: server, summary: x, testable: both, check: c, sinse: '2'}\n";
        let source = Arc::new(Source { name: "r.yaml".into(), text: text.into() });
        let places: Vec<_> = load(&source).unwrap_err().iter().map(|d| d.span.line_column().0).collect();
        assert_eq!(places, [4, 4, 6, 6]);
    }
}
