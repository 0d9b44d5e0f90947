//! What several formats have in common: tables of flags, and how servers say the same things.

pub(super) mod serving;
pub(super) mod tables;
pub(super) mod vllm_words;
pub(super) mod weights;
