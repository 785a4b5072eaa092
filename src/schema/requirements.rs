//! Catalogues of requirements.

use schemars::JsonSchema;

use super::Texts;

/// Every normative statement of one specification.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
pub(super) struct Catalogue {
    /// Slug of the protocol.
    protocol: String,
    /// Title and version of the specification.
    spec: String,
    /// The file that it was read from.
    source: Option<String>,
    /// In the order of the specification.
    #[schemars(length(min = 1))]
    requirements: Vec<Requirement>,
}

/// One normative statement. Keys besides these are kept as written.
#[derive(JsonSchema)]
#[schemars(extend("if" = { "properties": { "testable": { "const": "no" } } }, "then" = { "required": ["why_not"] }))]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Requirement {
    /// Its id, which never changes.
    id: String,
    /// Section of the specification, in quotes.
    section: String,
    /// How binding it is.
    keyword: Keyword,
    /// Lowest level at which it binds.
    level: String,
    /// Whom it binds.
    role: String,
    /// One sentence in our own words.
    summary: String,
    /// What can show it.
    testable: Testable,
    /// How it is checked, in words.
    check: Option<String>,
    /// Why it cannot be tested, where it cannot.
    why_not: Option<String>,
    /// Entries of the errata register that bear on it.
    errata: Option<Texts>,
}

/// How binding a requirement is.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Keyword {
    /// RFC 2119 MUST.
    Must,
    /// RFC 2119 MUST NOT.
    #[schemars(rename = "MUST NOT")]
    MustNot,
    /// Stated by the text without an RFC 2119 word; binds like a MUST.
    Shape,
    /// RFC 2119 SHOULD.
    Should,
    /// RFC 2119 SHOULD NOT.
    #[schemars(rename = "SHOULD NOT")]
    ShouldNot,
    /// RFC 2119 MAY.
    May,
}

/// What can show whether a requirement holds.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Testable {
    /// An endpoint and a library.
    Both,
    /// An endpoint alone.
    Endpoint,
    /// A library alone.
    Library,
    /// Nothing; `why_not` says why.
    No,
}
