//! Sizes of groups, of all buckets together, and of the parameters that a rank's part of the long
//! vector cuts.

use super::GRADIENT_BUCKETS;
use crate::estimator::timeline::plan::{Movement, Plan};
use crate::ops::modules::BESIDE;
use crate::ops::tape::{Kind, Parameter, Tape, Var};
use crate::sharding::GatheredInto;
use crate::sources;
use crate::stacks::GroupsOfEnds;
use crate::units::DType;

/// The buckets of `DistributedDataParallel`, in the format of the parameters that learn.
///
/// The reducer sorts parameters into buckets of 1 MiB, then 25 MiB each
/// (`torch/nn/parallel/distributed.py`); their sum is one value per parameter that learns.
pub(super) fn buckets_of_all<'t>(tape: &'t Tape, plan: &Plan<'_>) -> Var<'t> {
    let bits = |parameter: &Parameter| {
        parameter
            .kept
            .saturating_mul(plan.times(parameter.layer))
            .saturating_mul(parameter.dtype.bits())
    };
    let state = tape.state();
    let learned = state.parameters.iter().filter(|parameter| !parameter.idle);
    let bits = learned.map(bits).fold(0, u64::saturating_add);
    drop(state);
    // A bucket holds one format. The widths of all are added up in that of most.
    let dtype = plan.with.parameter;
    tape.at(GRADIENT_BUCKETS, sources::PYTORCH_DDP);
    tape.lump("flat buckets", (Kind::Gathered, bits / dtype.bits().max(1), dtype))
}

/// Elements of the largest parameter that learns.
pub(super) fn largest(tape: &Tape) -> u64 {
    let state = tape.state();
    let learned = state.parameters.iter().filter(|parameter| !parameter.idle);
    learned.map(|parameter| parameter.kept).max().unwrap_or(0)
}

/// The first rank's rest of parameters beyond its part of the long vector: gradients of the
/// parameter that the part ends in are kept whole (`copy_grads_in_partition` in
/// deepspeed/runtime/zero/stage_1_and_2.py). The vector begins with the embedding.
pub(in crate::estimator::timeline) fn cut(tape: &Tape, plan: &Plan<'_>) -> u64 {
    let state = tape.state();
    let learned = || state.parameters.iter().filter(|parameter| !parameter.idle);
    let of_layer = |tag: u16| {
        learned().filter(move |parameter| parameter.layer == tag).map(|parameter| parameter.kept)
    };
    let layers = 0..=plan.head();
    let sum = |tag: u16| of_layer(tag).fold(0, u64::saturating_add);
    let all = layers
        .clone()
        .map(|tag| sum(tag).saturating_mul(plan.times(tag)))
        .fold(0, u64::saturating_add);
    let mut left = all.div_ceil(plan.ranks.max(1));
    for tag in layers {
        let (block, times) = (sum(tag), plan.times(tag));
        if block.saturating_mul(times) < left {
            left -= block.saturating_mul(times);
            continue;
        }
        left = left.checked_rem(block).filter(|rest| *rest > 0).unwrap_or(block.min(left));
        for elements in of_layer(tag) {
            if elements >= left {
                return elements - left;
            }
            left -= elements;
        }
    }
    0
}

/// Elements of a group in the format in which it is gathered: what a rank keeps, and the padded
/// whole.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::estimator::timeline) struct Size {
    pub kept: u64,
    pub padded: u64,
    /// Of these, the elements that learn.
    pub learned: [u64; 2],
}

/// The group of a layer that is not the head: of a vision tower every block is one behind those of
/// the text, and the rest is the root's.
pub(in crate::estimator::timeline) const fn of_layer(layer: u16, head: u16) -> u16 {
    match layer.checked_sub(BESIDE) {
        None => layer,
        Some(0) => 0,
        // Behind the head comes a loss behind the model.
        Some(block) => head.saturating_add(1).saturating_add(block),
    }
}

/// Sizes of all groups, the root's first.
pub(in crate::estimator::timeline) fn sizes(tape: &Tape, plan: &Plan<'_>) -> Vec<Size> {
    let head = plan.head();
    // The gradient of a flat parameter is whole, whatever of it learns.
    let is_flat = matches!(plan.movement, Movement::Weights { into: GatheredInto::FlatTensor, .. });
    let apart = plan.ends == GroupsOfEnds::Apart;
    let last = tape
        .state()
        .parameters
        .iter()
        .map(|parameter| of_layer(parameter.layer, head))
        .max()
        .unwrap_or(0);
    let mut sizes =
        vec![Size::default(); usize::from(last.max(head.saturating_sub(u16::from(!apart)))) + 1];
    for parameter in &tape.state().parameters {
        let is_of_root = plan.is_one_group || (parameter.layer == head && !apart);
        let tag = if is_of_root { 0 } else { of_layer(parameter.layer, head) };
        if let Some(size) = sizes.get_mut(usize::from(tag)) {
            // Weights of four bits are gathered as they are kept, others as they are multiplied.
            let width = |elements: u64| match parameter.dtype {
                _ if parameter.narrow => {
                    elements.saturating_mul(DType::Fp8.bits()) / plan.with.parameter.bits()
                }
                DType::Int4 => {
                    elements.saturating_mul(DType::Int4.bits()) / plan.with.parameter.bits()
                }
                _ => elements,
            };
            if parameter.beside {
                continue;
            }
            let moves = !plan.keeps_gathered(tape.state().elements(parameter.form));
            size.kept = size.kept.saturating_add(width(parameter.kept));
            size.padded =
                size.padded.saturating_add(if moves { width(parameter.padded) } else { 0 });
            // Nothing reads a tower where there are no images.
            let unread = parameter.layer >= BESIDE && parameter.idle;
            if (!parameter.frozen && !unread) || is_flat {
                let [kept, padded] = &mut size.learned;
                *kept = kept.saturating_add(parameter.kept);
                *padded = padded.saturating_add(parameter.padded);
            }
        }
    }
    if plan.movement == Movement::Gradients {
        for size in &mut sizes {
            size.kept = size.padded.div_ceil(plan.ranks.max(1));
            size.learned[0] = size.learned[1].div_ceil(plan.ranks.max(1));
        }
    }
    sizes
}
