//! Why an operation was rejected, in the terms of section 8, and its form over HTTP and the adapter.

use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, ReadError, Value};
use crate::store::StoreError;

/// The name of an error; sections 8.1, 8.2, 8.5 and 10.2 name the first nine, binding.md the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    DuplicatePackageId,
    HashMismatch,
    InvalidSchema,
    InvalidTransition,
    NotImplemented,
    PackageNotFound,
    ProjectArchived,
    SearchNotSupported,
    Unauthorized,
    // Not named by the specification.
    DuplicateProjectId,
    FactConflict,
    IllegalMove,
    Internal,
    InvalidParameter,
    MethodNotAllowed,
    NotCanonicalizable,
    ProjectNotFound,
    RouteNotFound,
    Unprocessable,
}

impl Code {
    /// The name as sent in an answer.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DuplicatePackageId => "duplicate_package_id",
            Self::DuplicateProjectId => "duplicate_project_id",
            Self::FactConflict => "fact_conflict",
            Self::HashMismatch => "hash_mismatch",
            Self::IllegalMove => "illegal_move",
            Self::Internal => "internal_error",
            Self::InvalidParameter => "invalid_parameter",
            Self::InvalidSchema => "invalid_schema",
            Self::InvalidTransition => "invalid_transition",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotCanonicalizable => "not_canonicalizable",
            Self::NotImplemented => "not_implemented",
            Self::PackageNotFound => "package_not_found",
            Self::ProjectArchived => "project_archived",
            Self::ProjectNotFound => "project_not_found",
            Self::RouteNotFound => "route_not_found",
            Self::SearchNotSupported => "search_not_supported",
            Self::Unauthorized => "unauthorized",
            Self::Unprocessable => "unprocessable",
        }
    }

    /// The HTTP status.
    pub(crate) fn status(self, rules: Rules) -> u16 {
        match self {
            // Other, E31: without a key the actor is unknown.
            Self::Unauthorized if rules.variant.is_other() => 401,
            Self::InvalidParameter | Self::InvalidSchema | Self::InvalidTransition | Self::NotCanonicalizable => 400,
            Self::ProjectArchived | Self::Unauthorized => 403,
            Self::PackageNotFound | Self::ProjectNotFound | Self::RouteNotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::DuplicatePackageId | Self::DuplicateProjectId | Self::FactConflict | Self::IllegalMove => 409,
            Self::Unprocessable => 422,
            Self::HashMismatch | Self::Internal => 500,
            Self::NotImplemented | Self::SearchNotSupported => 501,
        }
    }

    /// The JSON-RPC code of binding.md section 12.
    pub(crate) fn rpc(self) -> i64 {
        match self {
            Self::InvalidSchema | Self::Unprocessable => -32001,
            Self::DuplicatePackageId | Self::DuplicateProjectId => -32002,
            Self::ProjectArchived => -32003,
            Self::Unauthorized => -32004,
            Self::PackageNotFound | Self::ProjectNotFound => -32005,
            Self::NotImplemented | Self::SearchNotSupported => -32006,
            Self::IllegalMove | Self::InvalidTransition => -32007,
            Self::HashMismatch => -32008,
            Self::NotCanonicalizable => -32009,
            Self::FactConflict => -32010,
            Self::MethodNotAllowed | Self::RouteNotFound => -32601,
            Self::InvalidParameter => -32602,
            Self::Internal => -32603,
        }
    }
}

/// A rejected operation, without effect on the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// JSON Pointer to the member at fault.
    pub(crate) pointer: Option<String>,
    /// Section 10.2: the missing capability.
    pub(crate) capability: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), pointer: None, capability: None }
    }

    pub(crate) fn at(self, pointer: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), ..self }
    }

    /// An answer for an operation that this server does not have.
    pub(crate) fn not_implemented(operation: &'static str) -> Self {
        let message = format!("{operation} is above the level of this server");
        Self { capability: Some(operation), ..Self::new(Code::NotImplemented, message) }
    }

    pub(crate) fn no_package(package_id: &str) -> Self {
        Self::new(Code::PackageNotFound, format!("no package {package_id:?}"))
    }

    pub(crate) fn no_project(project_id: &str) -> Self {
        Self::new(Code::ProjectNotFound, format!("no project {project_id:?}"))
    }

    /// The object called `error` in an answer.
    pub(crate) fn object(&self) -> Object {
        let mut error = Object::from([("code", self.code.name().into()), ("message", self.message.as_str().into())]);
        if let Some(pointer) = &self.pointer {
            error.set("pointer", pointer.as_str());
        }
        if let Some(capability) = self.capability {
            error.set("capability", capability);
        }
        error
    }

    /// The whole body of an answer: `{"error": {..}}`.
    pub(crate) fn body(&self, rules: Rules) -> Object {
        // Other, E30: the name and a text.
        if rules.variant.is_other() {
            // Other, E27: every missing capability has the same name, that of 10.2.
            let code = if self.code == Code::SearchNotSupported { Code::NotImplemented } else { self.code };
            let mut body = Object::from([("error", code.name().into()), ("detail", self.message.as_str().into())]);
            if let Some(capability) = self.capability {
                body.set("missing", capability);
            }
            return body;
        }
        let mut error = self.object();
        // 8, 10.2: errors have names.
        planted!(rules.fault, "wrong-error-names", error.set("code", format!("E{}", self.code.status(rules))));
        Object::from([("error", Value::Object(error))])
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(Code::Internal, format!("database: {error}"))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::new(Code::Internal, error.to_string())
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        Self::new(Code::InvalidSchema, format!("not acceptable JSON: {error}"))
    }
}

impl From<Vec<Problem>> for Refusal {
    /// All problems of a record in one message; the pointer is that of the first.
    fn from(problems: Vec<Problem>) -> Self {
        let message: Vec<String> =
            problems.iter().map(|problem| format!("{}: {}", problem.pointer, problem.reason)).collect();
        let refusal = Self::new(Code::InvalidSchema, message.join("; "));
        match problems.into_iter().next() {
            Some(first) => refusal.at(first.pointer),
            None => refusal,
        }
    }
}

/// One rule that a record breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// JSON Pointer to the member.
    pub(crate) pointer: String,
    /// The requirement.
    pub(crate) reason: String,
}

impl Problem {
    pub(crate) fn new(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), reason: reason.into() }
    }
}
