//! Members that a package may have, each with values that every reading permits, and flaws that no reading permits.

use super::expect::{literal, map, number, text};
use crate::protocol::Choices;
use crate::value::Value;

/// Types of packages (sections 6.3 and 12.2).
const TYPES: &[&str] = &[
    "standard",
    "milestone",
    "decision",
    "handoff",
    "auto_deposit",
    "analysis",
    "question",
    "orchestrator_report",
    "x-model-eval",
    "x-review-response",
];

/// Texts that stores change: white space, letters with two forms, letters beyond the basic plane, quotes.
const TEXTS: &[&str] = &[
    " a  b ",
    "e\u{301}\u{e9}",
    "\u{1f680} \u{1d4b3}",
    "a\nb\tc\r\n",
    "it's \"so\" \\ 100% <b> &amp; $1",
    "\u{2028}\u{7f}\u{feff}z",
    "STATUS status \u{df}SS",
    "null",
    "0042",
    "1e3",
];

/// A package that a search for [`VOLCANO_WORDS`] has to find.
pub(super) const VOLCANO: [(&str, &str); 2] = [
    ("/title", "Volcano eruption report"),
    ("/description", "Lava and magma rose from the crater of the volcano, ash covered the slopes."),
];

/// Words of [`VOLCANO`].
pub(super) const VOLCANO_WORDS: &str = "magma volcano lava";

/// A text that may stand anywhere: none is empty, and none has U+0000, which some stores cannot hold (E101).
pub(super) fn any_text(choices: &mut dyn Choices) -> Value {
    let chosen = if choices.one_in(2) { choices.odd_text() } else { String::new() };
    let kept: String = chosen.chars().filter(|c| *c != '\0').collect();
    if kept.is_empty() { literal(choices.pick(TEXTS).copied().unwrap_or("a")) } else { literal(&kept) }
}

/// A title: within 200 characters under every way to count them (E56).
fn title(choices: &mut dyn Choices) -> Value {
    let any = any_text(choices);
    let short: String = any.as_text().unwrap_or("a").chars().take(60).collect();
    // Half of an escape for a template is not one.
    // The letter counts under every reading; a combining mark need not.
    Value::text(format!("t{}", short.replace('$', "S")))
}

/// A list of texts, sometimes a long one; the order and repetitions count.
fn list(choices: &mut dyn Choices) -> Value {
    if choices.one_in(6) {
        return Value::Array((0..120).rev().map(|index| text(format!("t{index}"))).collect());
    }
    let count = choices.below(4);
    let mut items: Vec<Value> = (0..count).map(|_| any_text(choices)).collect();
    if choices.one_in(3) {
        items.extend([text("b"), text("a"), text("b")]);
    }
    Value::Array(items.into())
}

/// Values on which JSON writers differ, as JSON text: numbers, names of members in another order, members that are null.
const JSON: &[&str] = &[
    "[1.0, 100e-2, 1E2, -7, 1e20, 9007199254740991, -9007199254740991]",
    "[1e21, 1e-7, 0.000001, 1.25e-7, 1.5e300]",
    "[0, -0, 0.0, -0.0, 0e5]",
    "[0.1, 0.30000000000000004, 1.50, 123.456, 5e-324, 1.7976931348623157e308]",
    "{\"s\": \"\", \"l\": [], \"o\": {}, \"n\": 0, \"f\": false, \"d\": {\"b\": [[]], \"a\": [{}]}}",
    "{\"b\": 1, \"10\": 2, \"9\": 3, \"01\": 4, \"1\": 5}",
    "{\"b\": 1, \"B\": 2, \"a\": 3, \"A\": 4, \"aa\": 5, \"_\": 6, \"-\": 7}",
    "{\"\u{e9}\": 1, \"z\": 2, \"Z\": 3, \"e\u{301}\": 4, \"\u{df}\": 5, \"\u{65e5}\": 6}",
    "{\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}",
    "{\"gone\": null, \"kept\": {\"gone\": null}}",
    "[[\"zeta\", \"alpha\", \"mid\", \"alpha\"], [3, 1, 2, 10]]",
    "\"C:\\\\n \\u007f \\u0080\"",
];

/// A value of any JSON type.
fn anything(choices: &mut dyn Choices) -> Value {
    if choices.one_in(4)
        && let Some(json) = choices.pick(JSON)
    {
        return map([("json", text(*json))]);
    }
    match choices.below(9) {
        0 => number(choices.below(1000)),
        1 => Value::Integer(-7),
        2 => Value::Decimal("0.875".into()),
        3 => Value::Bool(choices.one_in(2)),
        4 => list(choices),
        5 => map([("k", any_text(choices)), ("inner", map([("z", number(1)), ("a", Value::array([number(2)]))]))]),
        6 => Value::Map(Vec::new().into()),
        7 => map([("title", text("inner")), ("status", text("open"))]),
        _ => any_text(choices),
    }
}

/// Members of a new package besides those of its base: places, and values that section 6 permits.
pub(super) fn members(choices: &mut dyn Choices) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    for _ in 0..choices.below(5) {
        let member = match choices.below(24) {
            0 | 1 => ("/title", title(choices)),
            2 => ("/description", any_text(choices)),
            3 => ("/tags", list(choices)),
            4 => ("/decisions_made", list(choices)),
            5 => ("/open_questions", list(choices)),
            6 => ("/handoff_note", any_text(choices)),
            7 => ("/estimated_next_actor", text(*choices.pick(&["human", "agent"]).unwrap_or(&"human"))),
            8 => ("/significance", number(1 + choices.below(10))),
            9 => ("/content_md", any_text(choices)),
            10 => ("/topic", any_text(choices)),
            11 => ("/artifact_type", any_text(choices)),
            12 | 13 => ("/package_type", text(*choices.pick(TYPES).unwrap_or(&"standard"))),
            14 => ("/created_by/type", text(*choices.pick(&["human", "agent", "script"]).unwrap_or(&"agent"))),
            15 => ("/created_by/git_commit", anything(choices)),
            16 => ("/x-trust", anything(choices)),
            17 => ("/future_field", anything(choices)),
            18 => ("/x-title", anything(choices)),
            19 | 20 => ("/package_id", package_id(choices)),
            21 => ("/created_by/session_id", Value::Null),
            22 if !choices.one_in(3) => ("/x-count", number(1)),
            22 => (*choices.pick(NULLABLE).unwrap_or(&"/x-nothing"), Value::Null),
            _ => ("/deliverables", deliverables(choices)),
        };
        if !found.iter().any(|(place, _)| *place == member.0) {
            found.push(member);
        }
    }
    found
}

/// Members that may be null (section 6.4, E48), and an unknown one.
const NULLABLE: &[&str] = &["/estimated_next_actor", "/topic", "/artifact_type", "/x-nothing"];

/// An id of a package that a project has, too.
pub(super) const ID_OF_PROJECT: &str = "${project}";

/// An id is any text (section 6.1): white space, capitals, other letters, punctuation.
fn package_id(choices: &mut dyn Choices) -> Value {
    const IDS: &[&str] = &[
        "PM ${hex 24} Note",
        "release:${hex 24}:2026.01",
        "\u{43f}\u{430}\u{43a}\u{435}\u{442}-${hex 24}",
        "\u{1f680}-${hex 24}",
        "${hex 24}.json",
        "${hex 255}",
        "pkg_${hex 24}+a;b=c",
        ID_OF_PROJECT,
    ];
    text(*choices.pick(IDS).unwrap_or(&"pkg_${hex 32}"))
}

fn deliverables(choices: &mut dyn Choices) -> Value {
    let one = |choices: &mut dyn Choices, path: &str| {
        let mut found = vec![("path", text(path)), ("type", text("md"))];
        if choices.one_in(2) {
            found.push(("size_bytes", number(choices.below(100_000))));
        }
        if choices.one_in(2) {
            found.push(("x-lang", anything(choices)));
        }
        Value::map(found)
    };
    let paths = ["docs/b.md", "docs/a.md", "https://example.org/c.md"];
    let count = 1 + choices.below(3);
    Value::Array(paths.iter().take(count).map(|path| one(choices, path)).collect())
}

/// A flaw of a package that no reading permits: its name, the place, the value there (`None`: the member is missing), and the
/// requirement that it breaks (sections 6.1 to 6.5).
pub(super) type Flaw = (&'static str, &'static str, fn() -> Option<Value>, &'static str);

/// Flaws of packages.
pub(super) const FLAWS: &[Flaw] = &[
    ("no title", "/title", || None, "AGENTIC-6.1-19"),
    ("empty title", "/title", || Some(text("")), "AGENTIC-6.1-21"),
    ("long title", "/title", || Some(text("a".repeat(201))), "AGENTIC-6.1-22"),
    ("number as title", "/title", || Some(number(5)), "AGENTIC-6.1-20"),
    ("null title", "/title", || Some(Value::Null), "AGENTIC-6.1-44"),
    ("no version", "/relay_version", || None, "AGENTIC-6.1-15"),
    ("far version", "/relay_version", || Some(text("9.9")), "AGENTIC-6.1-16"),
    ("no status", "/status", || None, "AGENTIC-6.1-25"),
    ("unknown status", "/status", || Some(text("done")), "AGENTIC-6.1-26"),
    ("capital status", "/status", || Some(text("Complete")), "AGENTIC-6.1-26"),
    ("unknown type", "/package_type", || Some(text("note")), "AGENTIC-6.3-11"),
    ("type without hyphen", "/package_type", || Some(text("xray")), "AGENTIC-6.3-11"),
    ("unknown review", "/review_type", || Some(text("robot")), "AGENTIC-6.1-34"),
    ("no review", "/review_type", || None, "AGENTIC-6.1-30"),
    ("no time", "/created_at", || None, "AGENTIC-6.1-36"),
    ("month 13", "/created_at", || Some(text("2026-13-01T00:00:00Z")), "AGENTIC-6.1-37"),
    ("date alone", "/created_at", || Some(text("2026-01-02")), "AGENTIC-6.1-37"),
    ("no actor", "/created_by", || None, "AGENTIC-6.1-42"),
    ("actor as text", "/created_by", || Some(text("kim")), "AGENTIC-6.1-43"),
    ("actor without id", "/created_by/id", || None, "AGENTIC-6.2-02"),
    ("actor without type", "/created_by/type", || None, "AGENTIC-6.2-05"),
    ("unknown actor type", "/created_by/type", || Some(text("robot")), "AGENTIC-6.2-09"),
    ("session as number", "/created_by/session_id", || Some(number(7)), "AGENTIC-6.2-12"),
    ("significance 0", "/significance", || Some(number(0)), "AGENTIC-6.4-20"),
    ("significance 11", "/significance", || Some(number(11)), "AGENTIC-6.4-21"),
    ("significance as text", "/significance", || Some(text("5")), "AGENTIC-6.4-18"),
    ("tags as text", "/tags", || Some(text("a")), "AGENTIC-6.4-04"),
    ("number in tags", "/tags", || Some(Value::array([text("a"), number(1)])), "AGENTIC-6.4-04"),
    ("number in questions", "/open_questions", || Some(Value::array([number(1)])), "AGENTIC-6.4-08"),
    ("note as number", "/handoff_note", || Some(number(1)), "AGENTIC-6.4-10"),
    ("topic as number", "/topic", || Some(number(1)), "AGENTIC-6.4-24"),
    ("unknown next actor", "/estimated_next_actor", || Some(text("robot")), "AGENTIC-6.4-12"),
    (
        "deliverable without path",
        "/deliverables",
        || Some(Value::array([map([("type", text("md"))])])),
        "AGENTIC-6.5-01",
    ),
    (
        "deliverable without type",
        "/deliverables",
        || Some(Value::array([map([("path", text("a.md"))])])),
        "AGENTIC-6.5-04",
    ),
    ("no project", "/project_id", || None, "AGENTIC-6.1-10"),
    ("null project", "/project_id", || Some(Value::Null), "AGENTIC-6.1-44"),
    ("number as project", "/project_id", || Some(number(7)), "AGENTIC-6.1-11"),
    ("number as id", "/package_id", || Some(number(42)), "AGENTIC-6.1-03"),
    ("null version", "/relay_version", || Some(Value::Null), "AGENTIC-6.1-44"),
    ("version as list", "/relay_version", || Some(Value::array([text("0.1")])), "AGENTIC-6.1-17"),
    ("title as list", "/title", || Some(Value::array([text("x")])), "AGENTIC-6.1-20"),
    ("null status", "/status", || Some(Value::Null), "AGENTIC-6.1-44"),
    ("status with more", "/status", || Some(text("complete_with_notes")), "AGENTIC-6.1-26"),
    ("status as list", "/status", || Some(Value::array([text("complete")])), "AGENTIC-6.1-26"),
    ("null review", "/review_type", || Some(Value::Null), "AGENTIC-6.1-44"),
    ("type as number", "/package_type", || Some(number(1)), "AGENTIC-6.3-12"),
    ("null time", "/created_at", || Some(Value::Null), "AGENTIC-6.1-44"),
    ("time as number", "/created_at", || Some(number(1_767_323_045)), "AGENTIC-6.1-37"),
    ("time without zone", "/created_at", || Some(text("2026-01-02T03:04:05")), "AGENTIC-6.1-37"),
    ("30 February", "/created_at", || Some(text("2026-02-30T00:00:00Z")), "AGENTIC-6.1-37"),
    ("null actor", "/created_by", || Some(Value::Null), "AGENTIC-6.1-44"),
    (
        "actor in a list",
        "/created_by",
        || Some(Value::array([map([("id", text("kim")), ("type", text("human"))])])),
        "AGENTIC-6.1-43",
    ),
    ("null actor id", "/created_by/id", || Some(Value::Null), "AGENTIC-6.2-03"),
    ("number as actor id", "/created_by/id", || Some(number(12)), "AGENTIC-6.2-03"),
    ("actor type in a list", "/created_by/type", || Some(Value::array([text("agent")])), "AGENTIC-6.2-09"),
    ("session as object", "/created_by/session_id", || Some(map([("id", text("s"))])), "AGENTIC-6.2-12"),
    ("description as list", "/description", || Some(Value::array([])), "AGENTIC-6.4-02"),
    ("tags as object", "/tags", || Some(map([("a", number(1))])), "AGENTIC-6.4-04"),
    ("decisions as text", "/decisions_made", || Some(text("a")), "AGENTIC-6.4-06"),
    ("object in decisions", "/decisions_made", || Some(Value::array([map([("text", text("a"))])])), "AGENTIC-6.4-06"),
    ("questions as text", "/open_questions", || Some(text("a")), "AGENTIC-6.4-08"),
    ("next actor in a list", "/estimated_next_actor", || Some(Value::array([text("human")])), "AGENTIC-6.4-12"),
    ("deliverables as object", "/deliverables", || Some(map([])), "AGENTIC-6.4-14"),
    ("text in deliverables", "/deliverables", || Some(Value::array([text("docs/a.md")])), "AGENTIC-6.4-14"),
    ("number as parent", "/parent_package_id", || Some(number(3)), "AGENTIC-6.4-16"),
    ("half significance", "/significance", || Some(Value::Decimal("5.5".into())), "AGENTIC-6.4-18"),
    ("significance as list", "/significance", || Some(Value::array([number(5)])), "AGENTIC-6.4-18"),
    ("content as object", "/content_md", || Some(map([])), "AGENTIC-6.4-22"),
    ("artifact type as number", "/artifact_type", || Some(number(1)), "AGENTIC-6.4-26"),
    (
        "deliverable with a number as path",
        "/deliverables",
        || Some(deliverable([("path", number(1)), ("type", text("md"))])),
        "AGENTIC-6.5-02",
    ),
    (
        "deliverable with a number as type",
        "/deliverables",
        || Some(deliverable([("path", text("a.md")), ("type", number(1))])),
        "AGENTIC-6.5-05",
    ),
    (
        "deliverable with a text as size",
        "/deliverables",
        || Some(deliverable([("path", text("a.md")), ("type", text("md")), ("size_bytes", text("2"))])),
        "AGENTIC-6.5-10",
    ),
    (
        "deliverable with a number as hash",
        "/deliverables",
        || Some(deliverable([("path", text("a.md")), ("type", text("md")), ("hash", number(1))])),
        "AGENTIC-6.5-07",
    ),
];

fn deliverable<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    Value::array([map(members)])
}

/// JSON that is no package (section 6): the value that is sent in its place, and the requirement that it breaks.
pub(super) type NoPackage = (&'static str, fn() -> Value, &'static str);

pub(super) const NO_PACKAGES: &[NoPackage] = &[
    ("list", || Value::array([]), "AGENTIC-6-01"),
    ("text", || text("package"), "AGENTIC-6-01"),
    ("number", || number(42), "AGENTIC-6-01"),
    ("null", || Value::Null, "AGENTIC-6-01"),
];
