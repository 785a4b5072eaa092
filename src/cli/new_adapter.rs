//! `new adapter`: a program that answers "unsupported" to every method of a protocol.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::args::{Language, NewOptions};
use super::exit::Failure;
use crate::protocol::{Library, Protocol};

/// A file of an adapter: its path in the folder, and its text with `{{protocol}}` and `{{methods}}`.
type File = (&'static str, &'static str);

const RUST_PACKAGE: &str = "[package]
name = \"adapter\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

[dependencies]

[workspace] # of its own
";

const GO_MODULE: &str = "module adapter\n\ngo 1.21\n";

/// The files of a language, the words that start the adapter, and a comment with the line that enables a method.
struct Template {
    files: &'static [File],
    start: &'static str,
    /// Makes a line of the table: from the method and the name of its function.
    row: fn(&str, &str) -> String,
    comment: &'static str,
    indent: &'static str,
}

fn template(language: Language) -> Template {
    match language {
        Language::Python => Template {
            files: &[("adapter.py", include_str!("../templates/adapter/adapter.py"))],
            start: "python3 adapter.py",
            row: |method, function| format!("\"{method}\": {function},"),
            comment: "# ",
            indent: "    ",
        },
        Language::Typescript => Template {
            files: &[("adapter.mjs", include_str!("../templates/adapter/adapter.mjs"))],
            start: "node adapter.mjs",
            row: |method, function| format!("[\"{method}\", {function}],"),
            comment: "// ",
            indent: "  ",
        },
        Language::Rust => Template {
            files: &[
                ("Cargo.toml", RUST_PACKAGE),
                ("src/main.rs", include_str!("../templates/adapter/main.rs")),
                ("src/json.rs", include_str!("../templates/adapter/json.rs")),
            ],
            start: "cargo run --release --quiet",
            row: |method, function| format!("(\"{method}\", {function}),"),
            comment: "// ",
            indent: "    ",
        },
        Language::Go => Template {
            files: &[("go.mod", GO_MODULE), ("main.go", include_str!("../templates/adapter/adapter.go"))],
            start: "go run .",
            row: |method, function| format!("\"{method}\": {function},"),
            comment: "// ",
            indent: "\t",
        },
    }
}

/// Writes an adapter.
pub(super) fn write(options: &NewOptions, protocol: &dyn Protocol) -> Result<u8, Failure> {
    let slug = protocol.slug();
    let Some(library) = protocol.library() else {
        return Err(Failure::usage(format!("`{slug}` has no adapters: it is checked at endpoints only")));
    };
    let language = options.language.ok_or_else(|| {
        Failure::Usage("no language given".into(), Some("give --language python, typescript, rust or go".into()))
    })?;
    let template = template(language);
    let folder = options.out.clone().unwrap_or_else(|| "adapter".into());
    let methods = table(library, &template);
    let mut out = anstream::stdout();
    for (name, _) in template.files {
        if folder.join(name).exists() {
            let hint = "nothing was written: remove it first, or name another folder with --out";
            return Err(Failure::Usage(format!("{} exists", folder.join(name).display()), Some(hint.to_owned())));
        }
    }
    for (name, text) in template.files {
        let text = text.replace("{{protocol}}", slug).replace("{{methods}}", &methods);
        file(&folder.join(name), &text)?;
        writeln!(out, "wrote {}", folder.join(name).display())?;
    }
    writeln!(
        out,
        "\nin {}:\n  proofmark adapter check '{start}'\n  proofmark check --adapter '{start}' --protocol {slug}\n\
         the methods, with types and examples:\n  proofmark adapter methods --protocol {slug}",
        folder.display(),
        start = template.start
    )?;
    Ok(0)
}

fn file(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| std::fs::write(path, text));
    written.map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

/// The rows of all methods as comments, each below its types.
fn table(library: &Library, template: &Template) -> String {
    let Template { row, comment, indent, .. } = template;
    let mut text = String::new();
    for signature in library.methods {
        let function = signature.method.rsplit('/').next().unwrap_or_default();
        let _ = writeln!(text, "{indent}{comment}{} -> {}", signature.params, signature.result);
        let _ = writeln!(text, "{indent}{comment}{}", row(signature.method, function));
    }
    text
}
