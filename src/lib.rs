//! Freeze runs of test matrices into content-hashed archives, verify releases of such evidence, packed or extracted,
//! and say exactly what holds and what does not; replay recorded calls, and say what each lost reply means.
//!
//! The rooms, from the ground up: `error` and [`finding`]; [`digest`], [`name`], [`limits`], [`json`]; [`zip`]; [`tree`];
//! [`manifest`], [`policy`] and [`redact`]; [`ledger`], [`snapshot`] and [`transcript`]; [`dialect`]; [`run`],
//! `git` (feature `export`); [`history`]; [`replay`]; [`judge`]; [`challenge`]; [`archive`]; [`report`]; [`cli`]. Imports point down only.
#![forbid(unsafe_code)]

pub mod archive;
pub mod challenge;
pub mod cli;
pub mod dialect;
pub mod digest;
pub mod document;
pub mod error;
pub mod finding;
pub mod form;
#[cfg(feature = "export")]
pub mod git;
pub mod history;
pub mod json;
pub mod judge;
pub mod ledger;
pub mod limits;
pub mod manifest;
pub mod name;
pub mod policy;
pub mod redact;
pub mod replay;
pub mod report;
pub mod run;
pub mod snapshot;
pub mod transcript;
pub mod tree;
pub mod zip;
