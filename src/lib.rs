//! Headroom: does this transformer fit, what takes the memory, how many GPUs, how long, and how do I know?
//!
//! A transformer and a run are lowered once into a list of operations ([`ops`]); every figure is a sum over that list.
//!
//! | room | holds |
//! |---|---|
//! | [`units`] | bytes, elements, formats, FLOPs, seconds |
//! | [`sources`] | the bibliography that figures rest on |
//! | [`hardware`] | how a GPU's memory is handed out: PyTorch's caching allocator, replayed |
//! | [`engines`] | programs that serve models, one file each |
//! | [`sharding`] | ways to share model states out over data-parallel ranks, one file each |
//! | [`stacks`] | software that runs a training, one file each |
//! | [`optimizers`] | one file each: states, temporaries of a step, words |
//! | [`config`] | checked inputs, joined in a [`config::Job`] |
//! | [`catalog`] | models and accelerators with a source per row |
//! | [`models`] | the families: what each says of its files and of the modules that run it |
//! | [`import`] | a Hugging Face `config.json` into a model, with a report |
//! | [`checkpoint`] | a model's other files: `params.json`, headers of safetensors and GGUF files, what was understood of them |
//! | [`ops`] | operations with parameters, saved tensors, workspace and FLOPs |
//! | [`estimator`] | the ledger of memory at the peak, blockers, compute |
//! | [`methods`] | five published methods, each reproducing its document |
//! | [`planner`] | GPU counts, curves, fixes, inverse questions |
//! | [`diagnosis`] | an out-of-memory message beside the estimate: what was asked for, why it failed, what helps |
//! | [`explain`] | every number's formula, source and growth |
//! | [`scenario`] | what the user said: fields, links, saved records |
//! | [`launch`] | commands and files that people start runs with: read into a scenario, written from one |
//! | [`lessons`] | stories made of steps, exercises, answers of students |
//! | [`charts`] | figures as SVG text |
//! | [`app`] | the page (in the browser), and its words (everywhere) |
//!
//! Data flows one way: a [`scenario::Scenario`] resolves to a [`config::Job`], which is estimated, drawn and written down.
//!
//! ```
//! use headroom::estimator::{Verdict, estimate};
//! use headroom::scenario::codec::decode;
//!
//! let scenario = decode("v1&m=llama3-70b&n=16").scenario;
//! let job = scenario.resolve().map_err(|problems| problems.len());
//! assert_eq!(job.map(|job| estimate(&job).verdict()), Ok(Verdict::DoesNotFit));
//! ```
//!
//! `docs/library.md` shows the public face with examples that run.

#[macro_use]
mod lists;

pub mod app;
pub mod catalog;
pub mod charts;
pub mod checkpoint;
pub mod config;
pub mod diagnosis;
pub mod engines;
pub mod estimator;
pub mod explain;
pub mod hardware;
pub mod import;
pub mod launch;
pub mod lessons;
pub mod methods;
pub mod models;
pub mod ops;
pub mod optimizers;
pub mod planner;
pub mod scenario;
pub mod sharding;
pub mod sources;
pub mod stacks;
pub mod units;

/// The examples of `docs/library.md`, which run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;
