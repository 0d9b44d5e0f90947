//! Slots for low-rank adapters of a served model: matrices of the largest rank beside linear
//! layers, as an engine takes them at its start.

use super::ledger::{Certainty, LineItem, MemoryKind};
use super::stage::Scope;
use crate::config::{Job, Run, ServingRun};
use crate::engines::AdapterSlots;
use crate::ops::{self, Op, Role, Tensor};
use crate::units::{Bytes, Elements};

/// Label of the slots' memory.
pub const ADAPTER_SLOTS: &str = "Adapter slots";

/// The rule of a job's slots, if it has any.
fn rule(run: &ServingRun) -> Option<&'static AdapterSlots> {
    run.engine.spec().adapter_slots.as_ref().filter(|_| run.adapter_slots > 0)
}

/// Numbers that one more rank takes in one slot beside a parameter, on a tensor rank; 0 beside what
/// is no linear layer.
///
/// Beside a matrix that ranks share by its output, `A` is whole and `B` this rank's part; by its
/// input, `A` is this rank's part and `B` whole. Experts have a pair each, and an `A` for gate and
/// for up where a file has them apart.
fn beside(job: &Job, tensor: &Tensor) -> u64 {
    let sizes: Vec<u64> = tensor.shape.dims().map(|dim| dim.1.max(1)).collect();
    let (matrices, output, input) = match sizes.as_slice() {
        [output, input] => (1, *output, *input),
        [matrices, output, input] => (*matrices, *output, *input),
        _ => return 0,
    };
    if !tensor.name.contains("weight") || tensor.name == "head weight" {
        return 0;
    }
    let is_joint = job.model().family.modules().slots_of_joint_experts;
    let pairs: u64 = if tensor.name == "gate and up weights" && !is_joint { 2 } else { 1 };
    let own = tensor.elements_per_rank(job.layout().t(), false).0;
    // Whole experts are shared out by their number.
    let whole = matrices > 1 && matches!(job.run(), Run::Serving(run) if run.expert_parallel);
    let here = if whole { own / output.saturating_mul(input) } else { matrices };
    if whole {
        here.saturating_mul(pairs.saturating_mul(input).saturating_add(output))
    } else if ops::is_shared_by_input(&tensor.shape, &ops::lowering(job)) {
        (own / output).saturating_add(matrices.saturating_mul(output))
    } else {
        matrices.saturating_mul(pairs).saturating_mul(input).saturating_add(own / input)
    }
}

/// Numbers that one more rank takes in one slot beside an embedding or a head; every tensor rank
/// holds all of them.
fn at_end(job: &Job) -> u64 {
    let model = job.model();
    if model.family.modules().slots_at_both_ends {
        model.vocab_size.saturating_add(model.hidden_size)
    } else {
        0
    }
}

/// Numbers that one more rank takes in one slot on a rank of the stage.
fn per_rank(scope: &Scope) -> u64 {
    let of = |ops: &[Op]| {
        ops::tensors(ops, Role::Parameter)
            .map(|(_, tensor)| beside(scope.job, tensor))
            .fold(0, u64::saturating_add)
    };
    let of_kinds =
        scope.list.kinds.iter().map(|kind| of(&kind.ops).saturating_mul(scope.layers_of(kind)));
    let blocks = of_kinds.fold(0, u64::saturating_add);
    let ends = u64::from(scope.stage.embedding) + u64::from(scope.stage.head);
    blocks.saturating_add(ends.saturating_mul(at_end(scope.job)))
}

/// The slots of a stage's rank.
pub(super) fn line(scope: &Scope, run: &ServingRun) -> Option<LineItem> {
    let rule = rule(run)?;
    let numbers =
        per_rank(scope).saturating_mul(run.adapter_slots).saturating_mul(run.adapter_rank);
    Some(LineItem {
        kind: MemoryKind::Parameter,
        label: ADAPTER_SLOTS,
        bytes: Elements(numbers).stored_as(run.activation_dtype),
        tensors: Vec::new(),
        note: "Matrices of the largest rank beside every linear layer for each slot, whatever \
            adapters are loaded.",
        source: rule.source,
        certainty: Certainty::Modelled,
    })
}

/// Bytes of all slots beside a parameter, on a tensor rank.
pub(super) fn bytes_beside(job: &Job, run: &ServingRun, tensor: &Tensor) -> Bytes {
    if rule(run).is_none() {
        return Bytes::ZERO;
    }
    let numbers =
        beside(job, tensor).saturating_mul(run.adapter_slots).saturating_mul(run.adapter_rank);
    Elements(numbers).stored_as(run.activation_dtype)
}
