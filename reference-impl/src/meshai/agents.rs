//! The built-in agents (binding.md, 12): what they declare, and what their capabilities do.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jsonschema::Validator;

use super::codes::Code;
use super::faults::agents as faults;
use super::refusal::Refusal;
use super::rules::Rules;
use super::schema;
use crate::fault::planted;
use crate::json::{self, Object, Value};

/// What a capability does with its parameters.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Counts characters and words of `text`.
    TextAnalysis,
    /// Always the same result.
    Fixed(Value),
    /// Returns the parameters.
    Echo,
    /// Waits, then succeeds: so many milliseconds, or as many as the parameter `ms` says.
    Sleep(u64),
    /// Runs and does not succeed.
    Fail,
    /// Lacks the resources.
    Exhaust,
    /// The parameter `tool` names one of the four above.
    Tool,
}

impl Behaviour {
    /// Reads `{kind, result?, ms?}` (binding.md, 11).
    #[must_use]
    pub(crate) fn parse(object: &Object) -> Option<Self> {
        let ms = object.present("ms").and_then(Value::as_number).and_then(json::Number::as_integer);
        Some(match object.text("kind")? {
            "fixed" => Self::Fixed(object.get("result").cloned().unwrap_or_else(|| Object::new().into())),
            "echo" => Self::Echo,
            "sleep" => Self::Sleep(ms.map_or(1000, i64::unsigned_abs)),
            "fail" => Self::Fail,
            "exhaust" => Self::Exhaust,
            _ => return None,
        })
    }
}

/// How a capability ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ended {
    Success(Value),
    /// E24: found, given valid input, and not successful.
    Failed(Value),
}

/// A capability with its schemas ready for use.
#[derive(Debug)]
pub(crate) struct Capability {
    pub(crate) id: String,
    /// As in 2.2.
    pub(crate) declaration: Object,
    input: Option<Validator>,
    output: Option<Validator>,
    behaviour: Behaviour,
}

/// An agent of this server.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) capabilities: Vec<Arc<Capability>>,
}

impl Agent {
    /// The capability of this id.
    #[must_use]
    pub(crate) fn capability(&self, id: &str) -> Option<&Arc<Capability>> {
        self.capabilities.iter().find(|capability| capability.id == id)
    }

    /// The ids of its capabilities.
    #[must_use]
    pub(crate) fn ids(&self) -> Vec<Value> {
        self.capabilities.iter().map(|capability| capability.id.as_str().into()).collect()
    }

    /// 2.1: its identity.
    #[must_use]
    pub(crate) fn identity(&self) -> Object {
        Object::from([
            ("id", self.id.as_str().into()),
            ("name", self.name.as_str().into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("framework", "custom".into()),
            ("protocol_version", "1.0".into()),
        ])
    }

    /// 2.2: what it declares.
    #[must_use]
    pub(crate) fn declarations(&self) -> Vec<Value> {
        self.capabilities.iter().map(|capability| capability.declaration.clone().into()).collect()
    }
}

impl Capability {
    #[must_use]
    pub(crate) fn new(declaration: Object, behaviour: Behaviour) -> Self {
        let schema = |name: &str| declaration.get(name).and_then(schema::compile);
        let (input, output) = (schema("input_schema"), schema("output_schema"));
        let id = declaration.text("id").unwrap_or_default().to_owned();
        Self { id, declaration, input, output, behaviour }
    }

    /// Checks parameters against the declared schema (E65) and the declared limits (E85).
    ///
    /// # Errors
    ///
    /// INVALID_SCHEMA with every problem.
    pub(crate) fn check(&self, parameters: &Object, rules: Rules) -> Result<(), Refusal> {
        // 6.2: input that does not match the schema is refused.
        planted!(rules.fault, "schema-ignored", return Ok(()));
        let instance = Value::Object(parameters.clone());
        let mut problems = self.input.as_ref().map(|input| schema::problems(input, &instance)).unwrap_or_default();
        planted!(rules.fault, "schema-required-only", problems.retain(|problem| problem.reason.contains("required")));
        planted!(rules.fault, "schema-without-required", problems.retain(|found| !found.reason.contains("required")));
        planted!(rules.fault, "schema-without-enum", problems.retain(|problem| !problem.reason.contains("one of")));
        let most = self.constraint("max_input_length").and_then(json::Number::as_integer);
        let length = parameters.text("text").map_or(0, |text| text.chars().count());
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        // E85, strict: the declared limit holds.
        let most = most.filter(|_| !rules.is_other() && !rules.fault.is("input-length-unchecked"));
        let most = most.map(|most| if rules.fault.is("input-length-off-by-one") { most - 1 } else { most });
        if most.is_some_and(|most| length > most) {
            problems.push(schema::Problem::new("/text", "is longer than max_input_length"));
        }
        if problems.is_empty() {
            return Ok(());
        }
        let shown = problems.iter().map(|problem| {
            let (path, reason) = (problem.path.as_str().into(), problem.reason.as_str().into());
            Object::from([("path", path), ("reason", reason)]).into()
        });
        let shown: Vec<Value> = shown.collect();
        planted!(rules.fault, "schema-mismatch-crashes", return Err(Refusal::crash("the parameters do not fit")));
        let code =
            if rules.fault.is("schema-mismatch-other-code") { Code::CapabilityNotFound } else { Code::InvalidSchema };
        Err(Refusal::new(code, "the parameters do not match the input schema").with("problems", shown))
    }

    /// Carries the capability out.
    ///
    /// # Errors
    ///
    /// INSUFFICIENT_RESOURCES of the fixture that lacks them, and a result that does not match the output schema.
    pub(crate) async fn run(&self, parameters: &Object, rules: Rules) -> Result<Ended, Refusal> {
        let ended = self.perform(parameters, rules).await?;
        if let (Ended::Success(result), Some(output)) = (&ended, &self.output)
            && let Some(problem) = schema::problems(output, result).first()
        {
            return Ok(Ended::Failed(Object::from([("reason", problem.reason.as_str().into())]).into()));
        }
        // 2.2: the result satisfies the declared schema.
        let ended = match ended {
            Ended::Success(result) if rules.fault.is("output-schema-broken") => Ended::Success(faults::broken(result)),
            other => other,
        };
        Ok(ended)
    }

    async fn perform(&self, parameters: &Object, rules: Rules) -> Result<Ended, Refusal> {
        let milliseconds = parameters.present("ms").and_then(Value::as_number).and_then(json::Number::as_integer);
        let behaviour = match (&self.behaviour, parameters.text("tool")) {
            (Behaviour::Tool, Some("sleep")) => Behaviour::Sleep(milliseconds.map_or(1000, i64::unsigned_abs)),
            (Behaviour::Tool, Some("fail")) => Behaviour::Fail,
            (Behaviour::Tool, Some("exhaust")) => Behaviour::Exhaust,
            (Behaviour::Tool, _) => Behaviour::Echo,
            (behaviour, _) => behaviour.clone(),
        };
        let done = |members: Object| Ok(Ended::Success(members.into()));
        match behaviour {
            Behaviour::TextAnalysis => done(analysis(parameters.text("text").unwrap_or_default())),
            Behaviour::Fixed(result) => Ok(Ended::Success(result)),
            Behaviour::Echo => {
                let mut echo = parameters.clone();
                // 3.1: the parameters reach the capability as they are.
                planted!(rules.fault, "parameters-cached", echo = faults::first_seen(&echo));
                planted!(rules.fault, "parameters-ascii-only", echo = faults::ascii(&echo));
                planted!(rules.fault, "empty-parameters-dropped", echo = faults::without_empty(&echo));
                planted!(rules.fault, "context-parameter-dropped", drop(echo.remove("context")));
                done(Object::from([("echo", echo.into())]))
            }
            Behaviour::Sleep(milliseconds) => {
                tokio::time::sleep(Duration::from_millis(milliseconds.min(60_000))).await;
                done(Object::from([("slept_ms", i64::try_from(milliseconds).unwrap_or(i64::MAX).into())]))
            }
            Behaviour::Fail => Ok(Ended::Failed(Object::from([("reason", "the tool failed".into())]).into())),
            // 6.2: the agent lacks the resources.
            Behaviour::Exhaust => {
                planted!(rules.fault, "exhaust-as-failed", return Ok(Ended::Failed(Object::new().into())));
                planted!(rules.fault, "exhaust-as-timeout", return Err(Refusal::new(Code::Timeout, "nothing is left")));
                Err(Refusal::new(Code::InsufficientResources, "no memory is left for this request"))
            }
            Behaviour::Tool => done(Object::new()),
        }
    }

    /// A declared constraint.
    fn constraint(&self, name: &str) -> Option<&json::Number> {
        self.declaration.get("constraints")?.as_object()?.present(name)?.as_number()
    }
}

/// What `text-analysis` finds.
fn analysis(text: &str) -> Object {
    let count = |count: usize| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    Object::from([("characters", count(text.chars().count())), ("words", count(text.split_whitespace().count()))])
}

/// The built-in capabilities: those of `agent-a`, and those of `agent-b`.
static BUILT_IN: LazyLock<[Vec<Arc<Capability>>; 2]> = LazyLock::new(|| {
    let text = |limit: i64| {
        Object::from([
            ("max_input_length", limit.into()),
            ("supported_languages", vec!["en".into()].into()),
            ("response_time_ms", 100.into()),
        ])
    };
    let quick = || Object::from([("response_time_ms", 100.into())]);
    let make = |id: &str, description: &str, input: &str, output: &str, constraints: Object, behaviour: Behaviour| {
        let declaration = Object::from([
            ("id", id.into()),
            ("version", "1.0".into()),
            ("description", description.into()),
            ("input_schema", read(input)),
            ("output_schema", read(output)),
            ("constraints", constraints.into()),
        ]);
        Arc::new(Capability::new(declaration, behaviour))
    };
    let needs = |name: &str| {
        format!(r#"{{"type":"object","properties":{{"{name}":{{"type":"string"}}}},"required":["{name}"]}}"#)
    };
    let returns = |name: &str, kind: &str| {
        format!(r#"{{"type":"object","properties":{{"{name}":{{"type":"{kind}"}}}},"required":["{name}"]}}"#)
    };
    let counts = r#"{"type":"object","properties":{"characters":{"type":"integer","minimum":0},
        "words":{"type":"integer","minimum":0}},"required":["characters","words"]}"#;
    let tool = r#"{"type":"object","properties":{"tool":{"enum":["echo","sleep","fail","exhaust"]},
        "ms":{"type":"integer","minimum":0,"maximum":60000}},"required":["tool"]}"#;
    [
        vec![
            make(
                "text-analysis",
                "Counts characters and words.",
                &needs("text"),
                counts,
                text(10_000),
                Behaviour::TextAnalysis,
            ),
            make(
                "summarization",
                "Summarises any text in the same words.",
                &needs("text"),
                &returns("summary", "string"),
                text(10_000),
                Behaviour::Fixed(read(r#"{"summary":"A text was summarised."}"#)),
            ),
            make(
                "question-answering",
                "Answers any question with the capital of France.",
                &needs("question"),
                &returns("answer", "string"),
                quick(),
                Behaviour::Fixed(read(
                    r#"{"answer":"The capital of France is Paris.","confidence":0.99,"sources":["general-knowledge"]}"#,
                )),
            ),
        ],
        vec![
            make(
                "data-extraction",
                "Extracts the same records from any text.",
                &needs("text"),
                &returns("records", "array"),
                quick(),
                Behaviour::Fixed(read(r#"{"records":[{"name":"first","value":1},{"name":"second","value":2}]}"#)),
            ),
            make(
                "web-search",
                "Finds the same pages for any query.",
                &needs("query"),
                &returns("results", "array"),
                quick(),
                Behaviour::Fixed(read(r#"{"results":[{"title":"A page","url":"https://example.com/"}]}"#)),
            ),
            make("tool-use", "Runs one of four tools.", tool, r#"{"type":"object"}"#, quick(), Behaviour::Tool),
        ],
    ]
});

fn read(text: &str) -> Value {
    json::read(text.as_bytes()).unwrap_or(Value::Null)
}

/// The two agents of a mesh.
#[must_use]
pub(crate) fn of_mesh() -> Vec<Agent> {
    let [a, b] = &*BUILT_IN;
    let agent = |id: &str, name: &str, capabilities: &[Arc<Capability>]| Agent {
        id: id.to_owned(),
        name: name.to_owned(),
        capabilities: capabilities.to_vec(),
    };
    vec![agent("agent-a", "Text agent", a), agent("agent-b", "Tool agent", b)]
}

/// A lone agent with all capabilities.
#[must_use]
pub(crate) fn alone(id: &str) -> Agent {
    Agent { id: id.to_owned(), name: "Reference agent".to_owned(), capabilities: BUILT_IN.concat() }
}
