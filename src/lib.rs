//! Headroom: does this transformer fit, what takes the memory, how many GPUs, how long, and how do
//! I know?
//!
//! A transformer and a run are lowered once into a list of operations ([`ops`]); every figure is a
//! sum over that list.
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
//! | [`view`] | everything that is shown, as words and HTML; no browser |
//! | [`worker`] | questions of the page to its workers, and their answers |
//! | `app` | the page in the browser |
//!
//! Data flows one way: a [`scenario::Scenario`] resolves to a [`config::Job`], which is estimated,
//! drawn and written down.
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
//! # Glossary
//!
//! | word | meaning here |
//! |---|---|
//! | scenario | the user's inputs: set values, the rest from model, accelerator and defaults |
//! | job | a checked scenario, the estimator's only input: model, run, layout, cluster |
//! | run | one training step, or serving |
//! | step | one optimizer step: all its micro-batches, then the optimizer's update |
//! | micro-batch | the sequences that a rank takes through the model at once |
//! | global batch | the sequences of one optimizer step, all ranks together |
//! | layout | the degrees (tensor, pipeline, context, expert, data) that spread a job over ranks |
//! | rank | one process with one accelerator; figures are those of the most loaded one |
//! | stage | the blocks and ends of the model that one pipeline rank holds |
//! | replica | a whole copy of the model: one instance that serves, or one group of ranks |
//! | sharding | a way to share model states out over data-parallel ranks: DDP, ZeRO, FSDP |
//! | family | models with one set of modules and one reading of their `config.json` |
//! | catalog row | a model or an accelerator with its values and their source |
//! | module | a part of a model with parameters and a forward, as PyTorch has it |
//! | block | one layer of the transformer: attention and feed-forward with their norms |
//! | expert | one of several feed-forward parts, of which a router chooses some for each token |
//! | tower | the encoder of images or sound beside the blocks that read text |
//! | stack | software that runs a training: its kernels, and how it splits tensors |
//! | engine | a program that serves models, such as vLLM |
//! | operation | one operator with its parameters, saved tensors, workspace and FLOPs |
//! | tape | modules run on it as PyTorch runs them, with sizes in place of numbers |
//! | record | one run of a model's modules on a tape, from which parameters and FLOPs are read |
//! | moment | a point of the step at which memory may be highest |
//! | timeline | the stretches of a step, from forward to the optimizer, with their memory |
//! | peak | the highest memory of the step, and the moment at which it is reached |
//! | ledger | the lines of memory alive at the peak, each with a source; their sum is the total |
//! | certainty | how sure a line is: exact, heuristic or assumed |
//! | allocated | bytes of the allocator's blocks in which tensors are |
//! | reserved | bytes that PyTorch's allocator holds: allocated, and kept for later |
//! | in use | bytes that the driver counts: reserved, and all outside the allocator |
//! | replay | a training's tensors, handed to PyTorch's allocator in their order |
//! | model states | weights, gradients and optimizer states, master weights among them |
//! | activation | a tensor that forward saves for backward |
//! | recomputation | forward work done again in backward, so that activations need not be saved |
//! | offload | tensors that wait in host memory instead of on the accelerator |
//! | adapter | small matrices that learn beside frozen weights |
//! | cache | keys and values (or states) of the tokens of served sequences |
//! | prefill | the engine reads a prompt, a chunk at a time, up to the first token |
//! | decode | the engine's steps that give each running sequence one further token |
//! | blocker | a rule of a framework that forbids a layout, whatever the memory |
//!
//! `docs/library.md` shows the public face with examples that run.

#[macro_use]
mod lists;

#[cfg_attr(not(target_arch = "wasm32"), path = "app/elsewhere.rs")]
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
pub mod view;
pub mod worker;

/// The examples of `docs/library.md`, which run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;
