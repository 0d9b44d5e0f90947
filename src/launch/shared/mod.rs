//! What several formats have in common: tables of flags, and how servers say the same things.

#![allow(clippy::unnecessary_wraps, reason = "functions of the tables have one type, whether they can fail or not")]

pub(super) mod axolotl_flags;
pub(super) mod axolotl_written;
pub(super) mod layers;
pub(super) mod megatron;
pub(super) mod megatron_flags;
pub(super) mod megatron_model;
pub(super) mod megatron_quiet;
pub(super) mod megatron_swift_flags;
pub(super) mod read;
pub(super) mod serving;
pub(super) mod tables;
pub(super) mod vllm_words;
pub(super) mod weights;
