//! Megatron-Core with Transformer Engine. Until its own list is written it shares the one of Korthikanti et al.

use super::builder::Lowering;
use super::{OpList, listed};
use crate::config::Kernels;

/// The whole model as Megatron-Core's modules run it.
pub(super) fn lower(with: &Lowering) -> OpList {
    listed(&Lowering { kernels: Kernels::Korthikanti, ..*with })
}
