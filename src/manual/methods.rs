//! The page for authors of adapters: form, `describe`, errors, limits, and each method with its types and an example.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;

use super::page::{Page, cell, code};
use super::unlocks;
use crate::adapter_rules::RULES;
use crate::plan::{self, Knowledge};
use crate::protocol::{Library, Signature};
use crate::target::Limits;
use crate::value::Value;
use crate::wire::json::compact;

/// Strings longer than this are cut in examples; the whole conversation is in the JSON form.
const SHOWN: usize = 120;

/// The file of the page of a protocol.
pub fn file(slug: &str) -> String {
    format!("adapter-{slug}.md")
}

/// The page that holds for adapters of every protocol.
pub fn conventions_page(known: &[Knowledge]) -> Page {
    let mut text = conventions(&Limits::default());
    let _ = writeln!(text, "\n## The protocols\n\n| protocol | specification | methods |\n|---|---|---|");
    for knowledge in known {
        let Some(library) = knowledge.protocol.library() else { continue };
        let (slug, spec) = (knowledge.protocol.slug(), cell(&knowledge.catalogue.spec));
        let _ = writeln!(text, "| [`{slug}`]({}) | {spec} | {} |", file(slug), library.methods.len());
    }
    Page { file: "adapter.md".to_owned(), title: "Adapters".to_owned(), text }
}

/// What every adapter does.
fn conventions(limits: &Limits) -> String {
    let mut text = String::from(
        "# Adapters

An adapter is a program that you write around your library. proofmark starts it, writes requests to its standard input and
reads answers from its standard output. Its standard error is shown and never judged, so logs belong there.

    proofmark new adapter --language python --protocol SLUG --out my-adapter
    proofmark adapter check 'python3 my-adapter/adapter.py'
    proofmark check --adapter 'python3 my-adapter/adapter.py' --protocol SLUG

The first command writes an adapter that answers \"unsupported\" to everything; `rust`, `go` and `typescript` are the other
languages. Add one method after the other: every method that you add unlocks the cases that need it.

## Form

[JSON-RPC 2.0](https://www.jsonrpc.org/specification), one object per line, UTF-8, each line ended by U+000A and no line end
inside an object. A request and its answer:

```json
{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"describe\",\"params\":{}}
{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":\"my library\",\"version\":\"1.0.0\",\"protocols\":[\"SLUG\"],\"operations\":[]}}
```

- `params` is an object. `id` is a number or a string; the answer has the same one.
- An answer has either `result` or `error`, an object with an integer `code` and a string `message`.
- One request after the other is sent and answered. Flush standard output after each answer.
- At the end of its input the adapter exits with code 0. proofmark may start it several times.
- Bytes are lower-case hex without a prefix: `\"00ff\"`. The empty byte string is `\"\"`.
- Members of `params` that a method does not know are ignored, and so are those of a result.

## describe

`describe` has no parameters. It says what the adapter offers. `proofmark adapter check` compares it with what the adapter answers, and counts
the cases that the offered methods unlock. `proofmark check` does not rest on it: it calls the methods that a case needs.

| member | type | meaning |
|---|---|---|
| `name` | string | name of the library |
| `version` | string | version of the library |
| `protocols` | list of strings | slugs of the protocols that the adapter speaks, one or more |
| `operations` | list of strings | every method that it answers, with the prefix of the protocol, without `describe` |

## Unsupported

The error -32601 means that the library does not have the method. Leave such a method out of `operations` as well. Do not make
up an answer: a made-up answer is judged like any other and fails.

| code | meaning | what proofmark makes of it |
|---|---|---|
| -32700 | the line is not JSON; the id of the answer is null | |
| -32600 | the JSON is not a request | |
| -32601 | unsupported: no such method | the cases that need it are not claimed |
| -32602 | the parameters are not those of the method | a refusal, where the case sends an invalid input; never right for a valid one |
| -32603 | the library failed | never what a case expects |

Each protocol adds errors of its own.

## Limits

",
    );
    let _ = writeln!(text, "| limit | value | option |\n|---|---|---|");
    let _ = writeln!(
        text,
        "| time for one answer | {} s | `--timeout`, or `limits: {{ request: 10s }}` in a target file |",
        limits.request.as_secs()
    );
    let _ = writeln!(text, "| length of one answer | {} MiB | `limits: {{ body: 8388608 }}` |", limits.body >> 20);
    text.push_str(
        "| length of one request | none; `adapter check` sends 4 MiB | |

An adapter that crashes, hangs or writes something else is ended and started again for the next call, and the case that it
happened in is judged by that. Limits are the same for every protocol.

## Rules

`proofmark adapter check CMD` checks these rules, and prints which methods are offered and what they unlock. `CMD` is split into words as by a
shell: blanks separate words, quotes keep them together, a backslash escapes a character.

| rule | what the adapter does |
|---|---|
",
    );
    for rule in RULES {
        let _ = writeln!(text, "| `{}` | {} |", rule.name, cell(rule.rule));
    }
    text.push_str(
        "
## Types

The pages of the protocols write types as follows.

| type | meaning |
|---|---|
| `string`, `integer`, `number`, `boolean`, `null` | a JSON value of this type |
| `hex` | bytes: a string of pairs of lower-case hexadecimal digits |
| `object` | an object whose members the specification defines |
| `any` | any JSON value |
| `\"text\"`, `true`, `false` | exactly this value |
| `T[]` | an array of `T` |
| `A \\| B` | either `A` or `B` |
| `{ name: T, name?: T }` | an object; a member with `?` may be absent |
| a name with a capital letter | a type of the table on the same page |

An optional parameter is absent if a case does not set it. An optional member of a result is judged if it is present, and not
required.
",
    );
    text
}

/// The page of a protocol that has adapters.
pub fn page(knowledge: &Knowledge) -> Option<Page> {
    let library = knowledge.protocol.library()?;
    let slug = knowledge.protocol.slug();
    let mut text = format!("# Methods of {slug}\n\n{}.\n", knowledge.catalogue.spec.trim_end_matches('.'));
    let _ = writeln!(
        text,
        "\nForm, `describe`, errors and limits are on the page [Adapters](adapter.md). `proofmark adapter check` prints how many cases each of \
         the methods below is needed for.\n\n## Conventions\n\n{}",
        library.conventions
    );
    let names: Vec<_> = library.minimal.iter().map(|method| format!("`{method}`")).collect();
    let _ = writeln!(text, "\n## A minimal adapter\n\nStart with {}. {}", names.join(", "), library.minimal_because);
    baseline(&mut text, knowledge);
    if !library.errors.is_empty() {
        let _ = writeln!(text, "\n## Errors\n\nBesides those of JSON-RPC:\n\n| code | meaning |\n|---|---|");
        for (number, meaning) in library.errors {
            let _ = writeln!(text, "| {number} | {} |", cell(meaning));
        }
    }
    if !library.types.is_empty() {
        let _ = writeln!(text, "\n## Types\n\n| name | type | meaning |\n|---|---|---|");
        for named in library.types {
            let _ = writeln!(text, "| `{}` | {} | {} |", named.name, code(named.shape), cell(named.about));
        }
    }
    let _ = writeln!(
        text,
        "\n## Methods\n\nIn the examples, long strings are cut; `proofmark adapter methods --protocol {slug} --format json` prints them whole, as one \
         conversation with the reference implementation.\n\n| method | does |\n|---|---|"
    );
    for signature in library.methods {
        let anchor = signature.method.replace('/', "");
        let does = summaries(knowledge, signature.method).first().copied().unwrap_or_default();
        let _ = writeln!(text, "| [`{}`](#{anchor}) | {} |", signature.method, cell(does));
    }
    for signature in library.methods {
        method(&mut text, knowledge, library, signature);
    }
    Some(Page { file: file(slug), title: format!("Methods of {slug}"), text })
}

/// The checks that other cases rest on.
fn baseline(text: &mut String, knowledge: &Knowledge) {
    let mut rows = String::new();
    for feature in &knowledge.manifest.features {
        let others_rest_on_it = !feature.prerequisite_of.is_empty() || !feature.floor.is_empty();
        let probe = knowledge.probes.iter().find(|probe| probe.name.value == feature.name.value);
        let Some(probe) = probe.filter(|_| others_rest_on_it) else { continue };
        let operations = plan::operations(knowledge.protocol, probe);
        let methods: Option<BTreeSet<_>> =
            operations.iter().map(|operation| Some(operation.method.as_ref()?.name)).collect();
        let Some(methods) = methods.filter(|methods| !methods.is_empty()) else { continue };
        let methods: Vec<_> = methods.into_iter().map(|method| format!("`{method}`")).collect();
        let _ = writeln!(rows, "| `{}` | {} | {} |", feature.name.value, cell(&feature.about), methods.join(", "));
    }
    if !rows.is_empty() {
        let _ = writeln!(
            text,
            "\n## Baseline checks\n\nOther cases rest on these checks. Where the library fails one, or does not have its methods, the cases \
             that rest on it are inconclusive.\n\n| check | what the library does | methods |\n|---|---|---|\n{}",
            rows.trim_end()
        );
    }
}

fn method(text: &mut String, knowledge: &Knowledge, library: &Library, signature: &Signature) {
    let _ = writeln!(text, "\n### {}\n", signature.method);
    for about in summaries(knowledge, signature.method) {
        let _ = writeln!(text, "{about}");
    }
    if !signature.note.is_empty() {
        let _ = writeln!(text, "\n{}", signature.note);
    }
    let _ = writeln!(text, "\n```text\nparams  {}\nresult  {}\n```", signature.params, signature.result);
    if let Some(call) = library.example(signature.method) {
        let varies = if signature.varies { " The result differs from call to call." } else { "" };
        let _ = writeln!(
            text,
            "\nExample.{varies}\n\n```json\n{}\n{}\n```",
            compact(&shortened(&call.request)),
            compact(&shortened(&call.answer))
        );
    }
}

/// What the operations that call a method do, each once.
fn summaries(knowledge: &Knowledge, method: &str) -> Vec<&'static str> {
    let operations = knowledge.protocol.operations().iter();
    operations
        .filter(|operation| operation.method.as_ref().is_some_and(|known| known.name == method))
        .map(|operation| operation.summary)
        .collect()
}

/// The same value with long strings cut.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.chars().count() > SHOWN => {
            let cut: String = text.chars().take(SHOWN / 2).collect();
            Value::text(format!("{cut}… ({} characters)", text.chars().count()))
        }
        Value::Array(items) => Value::array(items.iter().map(shortened)),
        Value::Map(members) => {
            Value::map(members.iter().map(|(name, value)| (name.as_text().unwrap_or_default(), shortened(value))))
        }
        other => other.clone(),
    }
}

/// The methods of a protocol, for programs.
pub fn data(knowledge: &Knowledge) -> Option<serde_json::Value> {
    let library = knowledge.protocol.library()?;
    let counts = unlocks::of_methods(&unlocks::library_cases(knowledge));
    let parsed = |value: &Value| serde_json::from_str::<serde_json::Value>(&compact(value)).unwrap_or_default();
    let methods: Vec<_> = library
        .methods
        .iter()
        .map(|signature| {
            let count = counts.get(signature.method).copied().unwrap_or_default();
            let example = library.example(signature.method);
            json!({
                "method": signature.method,
                "about": summaries(knowledge, signature.method),
                "note": signature.note,
                "params": signature.params,
                "result": signature.result,
                "varies": signature.varies,
                "minimal": library.minimal.contains(&signature.method),
                "cases": count.cases,
                "requirements": count.requirements,
                "example": example.map(|call| json!({ "request": parsed(&call.request), "answer": parsed(&call.answer) })),
            })
        })
        .collect();
    let types: Vec<_> = library
        .types
        .iter()
        .map(|named| json!({ "name": named.name, "type": named.shape, "about": named.about }))
        .collect();
    let errors: Vec<_> = library.errors.iter().map(|(code, about)| json!({ "code": code, "about": about })).collect();
    let conversation: Vec<_> = library
        .calls()
        .iter()
        .map(|call| json!({ "request": parsed(&call.request), "answer": parsed(&call.answer) }))
        .collect();
    Some(json!({
        "protocol": knowledge.protocol.slug(), "conventions": library.conventions, "types": types, "errors": errors,
        "methods": methods, "conversation": conversation,
    }))
}

/// The methods of a protocol, for a terminal.
pub fn text(knowledge: &Knowledge) -> Option<String> {
    let library = knowledge.protocol.library()?;
    let counts = unlocks::of_methods(&unlocks::library_cases(knowledge));
    let mut text = format!("{} ({})\n", knowledge.protocol.slug(), knowledge.catalogue.spec);
    for signature in library.methods {
        let count = counts.get(signature.method).copied().unwrap_or_default();
        let _ = writeln!(text, "\n{}", signature.method);
        for about in summaries(knowledge, signature.method) {
            let _ = writeln!(text, "    {about}");
        }
        let _ = writeln!(text, "    params  {}\n    result  {}", signature.params, signature.result);
        let _ = writeln!(text, "    needed by {} cases, which decide {} requirements", count.cases, count.requirements);
    }
    if !library.types.is_empty() {
        let _ = writeln!(text, "\nTypes");
        for named in library.types {
            let _ = writeln!(text, "    {} = {}", named.name, named.shape);
        }
    }
    Some(text)
}
