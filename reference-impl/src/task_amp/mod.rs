//! The Agent Message Protocol AMP v1.0: five messages between a coordinator, an executor, a reviewer and the system, with a
//! persistent single source of truth (SSOT) and an admin who decides.
//!
//! The text has no section numbers; "01.3" is the third part (the boxes) of the card of message 01, as in the catalogue.
//!
//! Reading order: [`role`] (who sends what to whom), [`schema`] (what a valid message is: the library), [`message`] and [`ack`],
//! [`ledger`] (what is known about a task), [`roles`] (what each role does), [`work`] (what the scripted agents do outside),
//! [`log`] and [`bus`] (what is stored, in one transaction with what follows), [`http`], [`remote`], [`tree`] and [`adapter`]
//! (the ways in). [`fault`] lists the mistakes that can be planted; [`variant`] lists the readings.

mod ack;
mod adapter;
mod bus;
mod careless;
mod clock;
mod engine;
mod fault;
mod faults;
mod http;
mod implementation;
mod ledger;
mod log;
mod message;
mod message_id;
mod remote;
mod role;
mod roles;
mod rules;
mod schema;
mod time;
mod tree;
mod variant;
mod work;

pub(crate) use implementation::TaskAmp;
