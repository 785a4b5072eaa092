//! Answers.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use crate::json::Object;
use crate::task_amp::bus::{self, Failure};
use crate::task_amp::schema::{Code, Problem};

/// A request that is not answered as asked.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) problem: Problem,
}

impl Refusal {
    pub(super) fn new(status: u16, code: Code, message: &str) -> Self {
        Self { status, problem: Problem::new(code, "", message) }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::new(503, Code::UnresolvedRef, &failure.to_string())
    }
}

pub(super) fn json(status: u16, body: &Object) -> Response<Body> {
    let mut response = Response::new(Body::from(body.write()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let (status, body) = bus::refused(refusal.status, &refusal.problem);
    json(status, &body)
}
