//! The Agentic Protocol, version 0.1 (draft): packages, facts, bundles and reviews.
//!
//! Implemented are all levels, L0 to L3, with projects, export, import and sessions as `binding.md` gives them routes;
//! not implemented are realtime subscriptions and blob storage, which the text leaves to each implementation.
//!
//! Reading order: [`package`] and [`fact`] (what is valid), [`canonical`] and [`hash`] (what identifies a package),
//! [`intake`], [`deposit`], [`pull`], [`orient`], [`mod@assert`], [`invalidate`], [`query`], [`review`], [`session`],
//! [`transfer`]
//! (the operations, each a function of database, rules, input and time), [`tables`] (what is stored). [`service`] runs
//! an operation on the store; [`http`] and [`adapter`] translate it for the two ways in. [`fault`] lists the mistakes
//! that can be planted.

mod adapter;
mod assert;
mod canonical;
mod careless;
mod deposit;
mod fact;
mod fault;
mod faults;
mod hash;
mod http;
mod implementation;
mod intake;
mod invalidate;
mod level;
mod operation;
mod orient;
mod package;
mod project;
mod pull;
mod query;
mod refusal;
mod review;
mod rules;
mod service;
mod session;
mod shown;
mod tables;
mod transfer;
mod variant;

pub(crate) use implementation::Agentic;
