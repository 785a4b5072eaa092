//! Resolves the names in templates.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

use super::error::RenderError;
use super::expr::{Expr, Part, Template};
use super::function::{Arguments, FUNCTIONS, Function};
use super::time::Clock;
use crate::source::Span;
use crate::value::{self, Path, Value};

/// The source of generated values: the seed of the run and the names of case and binding.
#[derive(Clone, Debug)]
pub struct Seed(Sha256);

impl Seed {
    /// The stream of a run.
    pub fn new(seed: u64) -> Self {
        Self(Sha256::new_with_prefix(seed.to_be_bytes()))
    }

    /// The stream of a named part, independent of all others.
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        let mut hash = self.0.clone();
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name.as_bytes());
        Self(hash)
    }

    /// A token of 32 hex digits that identifies the part.
    pub fn token(&self) -> String {
        let mut digits = data_encoding::HEXLOWER.encode(&self.0.clone().finalize());
        digits.truncate(32);
        digits
    }

    fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::from_seed(self.0.clone().finalize().into())
    }
}

/// The named objects of a protocol, and the bindings that every case has.
pub type Objects = BTreeMap<String, Expr>;

/// The bindings of one case while it runs.
#[derive(Clone)]
pub struct Scope<'p> {
    objects: &'p Objects,
    lazy: &'p Objects,
    seed: Seed,
    clock: Clock,
    now: Clock,
    functions: &'static [Function],
    /// The URLs of each host, by name and transport.
    hosts: BTreeMap<String, Value>,
    bound: BTreeMap<String, Value>,
}

/// Maximum depth of references between names: a circular reference reaches this limit.
const DEPTH: usize = 32;

impl<'p> Scope<'p> {
    /// A scope with the named `objects` of a protocol and its `lazy` bindings, which are rendered at first use.
    pub fn new(objects: &'p Objects, lazy: &'p Objects, seed: Seed, clock: Clock) -> Self {
        Self { objects, lazy, seed, clock, now: clock, functions: &[], hosts: BTreeMap::new(), bound: BTreeMap::new() }
    }

    /// Adds the functions of a protocol, and sets the start of the case.
    #[must_use]
    pub fn with(mut self, functions: &'static [Function], now: Clock) -> Self {
        self.functions = functions;
        self.now = now;
        self
    }

    /// Adds the URLs of the hosts of the run: for each a map from transports to URLs.
    #[must_use]
    pub fn with_hosts(mut self, hosts: BTreeMap<String, Value>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Advances the clock and the start of the run by this many nanoseconds.
    pub fn shift(&mut self, nanoseconds: i128) {
        self.clock.0 += nanoseconds;
        self.now.0 += nanoseconds;
    }

    /// Binds `name` to a value.
    pub fn bind(&mut self, name: &str, value: Value) {
        self.bound.insert(name.to_owned(), value);
    }

    /// The value of `name`, if it is already bound.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.bound.get(name)
    }

    /// The value of a binding; renders a lazy one.
    ///
    /// # Errors
    ///
    /// [`RenderError`] if the name is undefined.
    pub fn lookup(&mut self, name: &str) -> Result<Value, RenderError> {
        self.binding(name, 0)
    }

    /// Whether `name` is defined, lazy bindings included.
    pub fn knows(&self, name: &str) -> bool {
        self.bound.contains_key(name) || self.lazy.contains_key(name)
    }

    /// Renders `expr` for the binding or place `name`, which seeds its generated values.
    ///
    /// # Errors
    ///
    /// [`RenderError`] if a name is undefined or a function cannot be called with its arguments.
    pub fn render(&mut self, expr: &Expr, name: &str) -> Result<Value, RenderError> {
        let mut rng = self.seed.part(name).rng();
        self.value(expr, &mut rng, 0)
    }

    fn binding(&mut self, name: &str, depth: usize) -> Result<Value, RenderError> {
        if let Some(value) = self.bound.get(name) {
            return Ok(value.clone());
        }
        // A named object that is referenced by its name alone stays the same throughout a case.
        let (lazy, objects) = (self.lazy, self.objects);
        let found = lazy.get(name).or_else(|| objects.get(name));
        let expr = found.ok_or_else(|| RenderError::new(format!("undefined name `{name}`")))?;
        let mut rng = self.seed.part(name).rng();
        let value = self.value(expr, &mut rng, depth + 1)?;
        self.bound.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    fn value(&mut self, expr: &Expr, rng: &mut ChaCha8Rng, depth: usize) -> Result<Value, RenderError> {
        if depth > DEPTH {
            return Err(RenderError::new("circular reference"));
        }
        match expr {
            Expr::Constant(value) => Ok(value.clone()),
            Expr::Template(template, span) => self.template(template, rng, depth).map_err(|error| at(error, span)),
            Expr::List(items) => {
                items.iter().map(|item| self.value(item, rng, depth)).collect::<Result<_, _>>().map(Value::Array)
            }
            Expr::Map(members) => members
                .iter()
                .map(|(name, value)| {
                    let name = match self.value(name, rng, depth)? {
                        Value::Text(name) => name,
                        other => text_of(&other).into(),
                    };
                    Ok((Value::Text(name), self.value(value, rng, depth)?))
                })
                .collect::<Result<_, _>>()
                .map(Value::Map),
            Expr::Built { base, set, remove, span } => {
                let objects = self.objects;
                let mut value = match objects.get(base) {
                    Some(object) => self.value(object, rng, depth + 1),
                    None => self.binding(base, depth),
                }
                .map_err(|error| at(error, span))?;
                for (path, expr) in set {
                    let new = self.value(expr, rng, depth)?;
                    value::set(&mut value, path, new).map_err(|error| at(RenderError::new(error.to_string()), span))?;
                }
                for path in remove {
                    value::remove(&mut value, path).map_err(|error| at(RenderError::new(error.to_string()), span))?;
                }
                Ok(value)
            }
        }
    }

    fn template(&mut self, template: &Template, rng: &mut ChaCha8Rng, depth: usize) -> Result<Value, RenderError> {
        // A template that is a single call keeps the type of its value.
        if let [Part::Call(words)] = template.parts.as_slice() {
            return self.call(words, rng, depth);
        }
        let mut text = String::new();
        for part in &template.parts {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Call(words) => text.push_str(&text_of(&self.call(words, rng, depth)?)),
            }
        }
        Ok(Value::text(text))
    }

    fn call(&mut self, words: &[String], rng: &mut ChaCha8Rng, depth: usize) -> Result<Value, RenderError> {
        let (first, rest) = words.split_first().ok_or_else(|| RenderError::new("empty template"))?;
        let mut functions = FUNCTIONS.iter().chain(self.functions);
        if let Some(function) = functions.find(|function| function.name == first) {
            // An argument `$name` is the value of the binding of that name.
            let mut values = Vec::with_capacity(rest.len());
            for word in rest {
                values.push(match word.strip_prefix('$') {
                    Some(reference) => self.reference(reference, depth)?,
                    None => Value::text(word),
                });
            }
            let resolved: Vec<String> = values.iter().map(text_of).collect();
            let mut below = |limit: u64| if limit == 0 { 0 } else { rng.next_u64() % limit };
            let (clock, now) = (self.clock, self.now);
            let (hosts, bound) = (&self.hosts, &self.bound);
            let mut arguments =
                Arguments { words: &resolved, values: &values, clock, now, hosts, bound, below: &mut below };
            return (function.call)(&mut arguments)
                .map_err(|error| RenderError::new(format!("`{}`: {}", words.join(" "), error.message)));
        }
        self.reference(first, depth)
    }

    fn reference(&mut self, name: &str, depth: usize) -> Result<Value, RenderError> {
        let (binding, path) = match name.find('/') {
            Some(slash) => (&name[..slash], Path::parse(&name[slash..]).map_err(|e| RenderError::new(e.to_string()))?),
            None => (name, Path::default()),
        };
        let value = self.binding(binding, depth)?;
        path.resolve(&value).cloned().ok_or_else(|| RenderError::absent(format!("`{binding}` has no value at {path}")))
    }
}

/// A value as part of a text.
fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Bytes(bytes) => data_encoding::HEXLOWER.encode(bytes),
        other => crate::wire::json::compact(other),
    }
}

fn at(mut error: RenderError, span: &Span) -> RenderError {
    error.span.get_or_insert_with(|| span.clone());
    error
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::{Problems, Source, parse};

    fn expr(yaml: &str) -> Expr {
        let source = Arc::new(Source { name: "t".into(), text: yaml.to_owned().into() });
        let mut problems = Problems::default();
        let expr = Expr::read(&parse(&source).unwrap(), &mut problems);
        assert!(problems.0.is_empty(), "{problems:?}");
        expr
    }

    fn render(yaml: &str, seed: u64) -> Result<Value, RenderError> {
        let objects =
            Objects::from([("min".to_owned(), expr("{ json: '{\"id\":\"x_${hex 8}\",\"n\":1.0,\"d\":{}}' }"))]);
        let lazy = Objects::from([("project".to_owned(), expr("p_${hex 4}"))]);
        let mut scope = Scope::new(&objects, &lazy, Seed::new(seed), Clock(1_767_323_045_000_000_000));
        scope.bind("n", Value::Integer(7));
        scope.bind("o", Value::map([("k", Value::text("v"))]));
        scope.render(&expr(yaml), "here")
    }

    #[test]
    fn a_lone_call_keeps_its_type_and_a_mixed_one_is_text() {
        assert_eq!(render("'${n}'", 1), Ok(Value::Integer(7)));
        assert_eq!(render("'a${n}b'", 1), Ok(Value::text("a7b")));
        assert_eq!(render("'${o/k}'", 1), Ok(Value::text("v")));
        assert_eq!(render("'$${n}'", 1), Ok(Value::text("${n}")));
    }

    #[test]
    fn the_name_of_a_member_is_a_text_with_templates_too() {
        let named = |name: &str, value: Value| Ok(Value::map([(name, value)]));
        assert_eq!(render("{ '${n}': 1 }", 1), named("7", Value::Integer(1)));
        assert_eq!(render("{ 'x-${o/k}': '${n}' }", 1), named("x-v", Value::Integer(7)));
        assert_eq!(render("{ json: '{\"a${n}\":\"${n}\"}' }", 1), named("a7", Value::Integer(7)));
        assert_eq!(render("{ '$${n}': x }", 1), named("${n}", Value::text("x")));
        assert!(render("{ '${nobody}': 1 }", 1).is_err());
    }

    #[test]
    fn a_template_in_a_place_is_a_mistake() {
        for yaml in ["{ base: min, set: { '/${n}': 1 } }", "{ base: min, remove: ['/a/${n}'] }"] {
            let source = Arc::new(Source { name: "t".into(), text: yaml.to_owned().into() });
            let mut problems = Problems::default();
            Expr::read(&parse(&source).unwrap(), &mut problems);
            let texts: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
            assert!(matches!(&texts[..], [one] if one.contains("a place has no expressions")), "{yaml}: {texts:?}");
        }
    }

    #[test]
    fn a_text_is_repeated_within_bounds() {
        assert_eq!(render("'${repeat 3 ab}'", 1), Ok(Value::text("ababab")));
        assert!(render("'${repeat 10000000 0123456789}'", 1).is_err());
    }

    #[test]
    fn generated_values_depend_on_the_seed() {
        let yaml = "['${project}', '${hex 16}', '${hex 16}', { base: min }]";
        assert_eq!(render(yaml, 1), render(yaml, 1));
        assert_ne!(render(yaml, 1), render(yaml, 2));
        let Ok(Value::Array(items)) = render(yaml, 1) else { panic!() };
        assert_ne!(items[1], items[2]);
    }

    #[test]
    fn built_values_are_changed_copies() {
        let Ok(value) = render("{ base: min, set: { /d/x: '${n}', /e: [1] }, remove: [/n] }", 1) else { panic!() };
        assert_eq!(value.member("d"), Some(&Value::map([("x", Value::Integer(7))])));
        assert_eq!(value.member("n"), None);
    }

    #[test]
    fn times_are_relative_to_the_start_of_the_run() {
        assert_eq!(render("'${time}'", 1), Ok(Value::text("2026-01-02T03:04:05Z")));
        assert_eq!(render("'${second -1h}.5Z'", 1), Ok(Value::text("2026-01-02T02:04:05.5Z")));
        assert_eq!(render("'${repeat 3 é}'", 1), Ok(Value::text("ééé")));
    }

    #[test]
    fn undefined_names_are_errors() {
        assert!(render("'${nobody}'", 1).is_err());
        assert!(render("'${o/z}'", 1).is_err());
        assert!(render("'${time soon}'", 1).is_err());
        assert!(render("'${hex}'", 1).is_err());
    }

    #[test]
    fn functions_read_numbers_bytes_and_offsets() {
        for (yaml, expected) in [
            ("'${plus $n 1001 -3}'", Value::Integer(1005)),
            ("'${plus 500.0 500.00}'", Value::Integer(1000)),
            ("'${quotient -7 2}'", Value::Integer(-4)),
            ("'${bytes 00ff 0A}'", Value::Bytes(vec![0, 255, 10])),
            ("'${slice 00010203 1 3}'", Value::Bytes(vec![1, 2])),
            ("'${hex_of 0A0b}'", Value::text("0a0b")),
            ("'${ms}'", Value::Integer(1_767_323_045_000)),
            ("'${ms 250ms}'", Value::Integer(1_767_323_045_250)),
            ("'${ms -5s}'", Value::Integer(1_767_323_040_000)),
            ("'${time +30m}'", Value::text("2026-01-02T03:34:05Z")),
            ("'${time -4h}'", Value::text("2026-01-01T23:04:05Z")),
            ("'${day -2d}'", Value::text("2025-12-31")),
        ] {
            assert_eq!(render(yaml, 1), Ok(expected), "{yaml}");
        }
        for yaml in [
            "'${plus 1 x}'",
            "'${plus 1 0.5}'",
            "'${plus 1 1.}'",
            "'${quotient 1}'",
            "'${bytes 0}'",
            "'${hex_of}'",
            "'${ms 1w}'",
            "'${ms s}'",
        ] {
            assert!(render(yaml, 1).is_err(), "{yaml}");
        }
    }

    #[test]
    fn random_bytes_are_as_many_as_asked_for() {
        for count in [0, 1, 16, 100] {
            let Ok(Value::Bytes(bytes)) = render(&format!("'${{random_bytes {count}}}'"), 1) else { panic!("{count}") };
            assert_eq!(bytes.len(), count);
        }
        assert_ne!(render("'${random_bytes 16}'", 1), render("'${random_bytes 16}'", 2));
    }

    /// Functions as a protocol adds them: an argument as it is, and the value of a binding.
    static OWN: [Function; 2] = [
        Function {
            name: "same",
            summary: "",
            example: "",
            call: |a| a.value(0).cloned().ok_or_else(|| RenderError::new("missing argument")),
        },
        Function {
            name: "bound",
            summary: "",
            example: "",
            call: |a| {
                let value = a.word(0).and_then(|name| a.binding(name));
                value.cloned().ok_or_else(|| RenderError::new("no value yet"))
            },
        },
    ];

    #[test]
    fn functions_of_a_protocol_see_values_and_bindings() {
        let (objects, lazy) = (Objects::new(), Objects::from([("later".to_owned(), expr("[a]"))]));
        let mut scope = Scope::new(&objects, &lazy, Seed::new(1), Clock(0)).with(&OWN, Clock(0));
        let value = Value::map([("k", Value::Null)]);
        scope.bind("o", value.clone());
        assert_eq!(scope.render(&expr("'${same $o}'"), "here"), Ok(value.clone()));
        assert_eq!(scope.render(&expr("'${bound o}'"), "here"), Ok(value));
        assert!(scope.render(&expr("'${same}'"), "here").is_err());
        let later = expr("'${bound later}'");
        assert!(scope.render(&later, "here").is_err(), "no one has used it");
        let value = Value::array([Value::text("a")]);
        assert_eq!(scope.lookup("later"), Ok(value.clone()));
        assert_eq!(scope.render(&later, "here"), Ok(value));
    }

    #[test]
    fn the_start_of_the_run_and_of_the_case_are_shifted_alike() {
        let none = Objects::new();
        let mut scope = Scope::new(&none, &none, Seed::new(1), Clock(7_000_000_000)).with(&[], Clock(9_000_000_000));
        scope.shift(60_000_000_000);
        assert_eq!(scope.render(&expr("'${time}'"), "here"), Ok(Value::text("1970-01-01T00:01:07Z")));
        assert_eq!(scope.render(&expr("'${ms}'"), "here"), Ok(Value::Integer(69_000)));
    }

    #[test]
    fn a_name_is_known_if_it_is_bound_or_lazy() {
        let (objects, lazy) =
            (Objects::from([("min".to_owned(), expr("1"))]), Objects::from([("l".into(), expr("2"))]));
        let mut scope = Scope::new(&objects, &lazy, Seed::new(1), Clock(0));
        scope.bind("b", Value::Null);
        assert_eq!(["b", "l", "min", "x"].map(|name| scope.knows(name)), [true, true, false, false]);
    }

    #[test]
    fn references_are_followed_to_a_limit() {
        let none = Objects::new();
        let chain = |length: usize| -> Objects {
            let next = |at| if at < length { format!("'${{b{}}}'", at + 1) } else { "the end".to_owned() };
            (1..=length).map(|at| (format!("b{at}"), expr(&next(at)))).collect()
        };
        let circular = Objects::from([("b1".to_owned(), expr("'${b2}'")), ("b2".to_owned(), expr("{ base: b1 }"))]);
        let refused = || Err("circular reference".to_owned());
        for (lazy, expected) in
            [(chain(DEPTH), Ok(Value::text("the end"))), (chain(DEPTH + 1), refused()), (circular, refused())]
        {
            let mut scope = Scope::new(&none, &lazy, Seed::new(1), Clock(0));
            assert_eq!(scope.render(&expr("'${b1}'"), "here").map_err(|error| error.message), expected);
        }
        let objects = Objects::from([("loop".to_owned(), expr("{ base: loop }"))]);
        let mut scope = Scope::new(&objects, &none, Seed::new(1), Clock(0));
        assert_eq!(scope.render(&expr("{ base: loop }"), "here").map_err(|error| error.message), refused());
    }
}
