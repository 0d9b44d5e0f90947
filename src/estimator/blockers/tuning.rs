//! Combinations that fine-tuning is not modelled with, and rules for an optimizer that steps in
//! backward.

use super::{
    ADAPTED_EXPERTS_APART, ADAPTED_EXPERTS_SPLIT, ADAPTED_LATENT, ADAPTED_OTHERWISE,
    ADAPTED_SHARED, AUTOCAST_SHARED, BYTES_SHARED, Blocker, DROPOUT_ELSEWHERE,
    EXPERTS_ADAPTED_IN_HALVES, EXPERTS_ADAPTED_PLAINLY, EXPERTS_ADAPTED_SHARED, EXPERTS_PACKED,
    GRADIENTS_KEPT, LOSS_OF_TORCHTITAN, NOTHING_LEARNS, PACKED_ELSEWHERE, PACKED_SCORES,
    PREFIX_ELSEWHERE, PREFIX_RECOMPUTED, SAVED_SHARED, SAVED_TIED, STATES_ADAPTED,
    STEPS_IN_BACKWARD, TUNING_ELSEWHERE, TUNING_MEGATRON, TUNING_SPLIT, UPCAST_SHARED,
};
use crate::config::{
    AttentionKernel, BaseFormat, Job, Method, Objective, Recompute, Targets, TrainingPrecision,
    TrainingRun, Tuning,
};
use crate::sharding::{CarriedOutBy, FrameworkRule, GatheredInto, With};
use crate::stacks::GroupsOfEnds;

/// True if the order of a step whose optimizer runs within backward is known.
fn may_step_in_backward(job: &Job, run: &TrainingRun) -> bool {
    let recipe = run.recipe();
    let plain = recipe.master.is_none()
        && recipe.gradient_copy.is_none()
        && recipe.gradient == recipe.parameter;
    let alone = job.layout().world_size() == 1 && job.gradient_accumulation_steps() == 1;
    let fused = run.optimizer_implementation.is_one_kernel();
    run.stack.is_played() && plain && alone && fused && !job.layout().offload.any()
}

/// True if gradients may live on from step to step. This needs the training loop itself to call
/// `zero_grad`, not a library.
fn may_keep_gradients(job: &Job, run: &TrainingRun) -> bool {
    let layout = job.layout();
    let by_engine =
        run.stack.is_played() && layout.shards() > 1 && layout.sharding.buckets.is_of_stated_size();
    let plain = !run.optimizer_in_backward
        && !layout.reduce_once
        && !layout.offload.any()
        && layout.p() == 1;
    run.stack.is_played() && !by_engine && plain
}

/// True if torchtitan's loss in chunks is known for a run: FSDP2 must hold the head in a group of
/// its own that takes part in nothing else.
fn may_chunk_loss(job: &Job, run: &TrainingRun) -> bool {
    let (layout, model) = (job.layout(), job.model());
    let is_gathered = run.precision == TrainingPrecision::FsdpMixed || layout.shards() > 1;
    let is_fsdp2 = layout
        .sharding
        .gathers
        .as_ref()
        .is_some_and(|gathers| gathers.into == GatheredInto::BufferAndTensors);
    let by_torchtitan = run.stack.groups_of_ends == GroupsOfEnds::Apart && !run.compile;
    let plain = !model.tie_word_embeddings
        && !layout.reduce_once
        && run.zero_grad_to_none
        && !layout.offload.any();
    by_torchtitan && is_fsdp2 && is_gathered && plain && run.loss.divides(run.seq_length)
}

/// Settings that Megatron-LM's adapters are not modelled with.
fn under_megatron(
    job: &Job,
    run: &TrainingRun,
    mut forbid: impl FnMut(bool, &'static FrameworkRule),
) {
    let (layout, tuning) = (job.layout(), &run.tuning);
    let is_lora = tuning.method == Method::Lora
        && !tuning.copies_ends()
        && tuning.objective == Objective::NextToken
        && !tuning.base.is_quantised();
    if !is_lora {
        return forbid(true, &TUNING_MEGATRON);
    }
    forbid(!run.megatron.transformer_engine, &ADAPTED_OTHERWISE);
    forbid(job.model().mla.is_some(), &ADAPTED_LATENT);
    forbid(
        layout.sharding.shards_gradients() && layout.shards().saturating_mul(layout.cp()) > 1,
        &ADAPTED_SHARED,
    );
    let inner = Targets::GATE.and(Targets::UP).and(Targets::DOWN);
    let experts = job.model().moe.is_some() && tuning.target_modules.meets(inner);
    forbid(experts && layout.etp() > 1, &ADAPTED_EXPERTS_SPLIT);
    forbid(experts && !run.megatron.moe_grouped_gemm, &ADAPTED_EXPERTS_APART);
}

/// Adds every combination of the job with its fine-tuning method that is not modelled.
pub(super) fn add(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let (layout, tuning) = (job.layout(), &run.tuning);
    let mut forbid = |when: bool, rule| {
        if when {
            found.push(Blocker::Framework(rule));
        }
    };
    let (elsewhere, own) = (!run.stack.is_played(), run.stack.has_own_schedule());
    forbid(run.optimizer_in_backward && !may_step_in_backward(job, run), &STEPS_IN_BACKWARD);
    forbid(!run.zero_grad_to_none && !may_keep_gradients(job, run), &GRADIENTS_KEPT);
    forbid(run.loss.is_of_torchtitan() && !may_chunk_loss(job, run), &LOSS_OF_TORCHTITAN);
    let unknown = run.compile || elsewhere || job.model().family.modules().drops.lacks(run.dropout);
    forbid(run.dropout.any() && unknown, &DROPOUT_ELSEWHERE);
    let other = !tuning.is_full() || tuning.objective != Objective::NextToken;
    forbid(other && elsewhere && !own, &TUNING_ELSEWHERE);
    if other && own {
        under_megatron(job, run, &mut forbid);
    }
    forbid(other && !elsewhere && (layout.t() > 1 || layout.p() > 1), &TUNING_SPLIT);
    weights(job, run, &mut forbid);
    let shared = layout.sharding.shards_optimizer() && layout.shards() > 1;
    forbid(tuning.autocast && shared, &AUTOCAST_SHARED);
    forbid(tuning.upcasts_rest() && shared, &UPCAST_SHARED);
    let inner = Targets::GATE.and(Targets::UP).and(Targets::DOWN);
    let experts = job.model().moe.is_some() && !elsewhere && tuning.method.adapts_linears();
    let modules = job.model().family.modules();
    let wrapped = experts
        && modules.peft_finds_experts
        && tuning.target_modules.meets(inner.and(Targets::OTHERS));
    forbid(packs_experts(job, tuning) && (wrapped || elsewhere), &EXPERTS_PACKED);
    let half =
        tuning.target_modules.meets(Targets::GATE) != tuning.target_modules.meets(Targets::UP);
    forbid(wrapped && half, &EXPERTS_ADAPTED_IN_HALVES);
    forbid(wrapped && (tuning.method == Method::Dora || tuning.dropout), &EXPERTS_ADAPTED_PLAINLY);
    forbid(
        wrapped && layout.shards() > 1 && layout.sharding.shards_optimizer(),
        &EXPERTS_ADAPTED_SHARED,
    );
    forbid(
        modules.peft_spares_states
            && tuning.method.adapts_linears()
            && tuning.target_modules.meets(Targets::OTHERS),
        &STATES_ADAPTED,
    );
    forbid(tuning.copies_ends() && job.model().tie_word_embeddings, &SAVED_TIED);
    forbid(
        tuning.copies_ends() && layout.shards() > 1 && layout.sharding.shards_optimizer(),
        &SAVED_SHARED,
    );
    let prefix = tuning.method == Method::Prefix;
    let takes_none = !modules.takes_prefix || job.model().mla.is_some();
    forbid(prefix && run.recompute != Recompute::None, &PREFIX_RECOMPUTED);
    forbid(prefix && takes_none, &PREFIX_ELSEWHERE);
    let learns = || super::super::trainable(job, 1) > 0;
    let counted = !elsewhere || (own && tuning.method.adapts_linears());
    forbid(!tuning.is_full() && counted && !learns(), &NOTHING_LEARNS);
    if run.packed_text().is_some() {
        packed(run, elsewhere, found);
    }
}

/// True if experts are kept in few bits.
const fn packs_experts(job: &Job, tuning: &Tuning) -> bool {
    tuning.packs_weights() && tuning.packs_experts && job.model().moe.is_some()
}

/// Settings that frozen weights of few bits are not modelled with.
fn weights(job: &Job, run: &TrainingRun, mut forbid: impl FnMut(bool, &'static FrameworkRule)) {
    let (layout, tuning) = (job.layout(), &run.tuning);
    if tuning.base.is_quantised()
        && layout.shards() > 1
        && let Some(rule) = layout.sharding.forbidden(With::PackedWeights, CarriedOutBy::Anyone)
    {
        forbid(true, rule);
    }
    let is_in_bytes = tuning.packs_weights() && tuning.base == BaseFormat::Int8;
    let gathers = layout.sharding.shards_parameters() && layout.shards() > 1;
    forbid((is_in_bytes || packs_experts(job, tuning)) && gathers, &BYTES_SHARED);
}

/// Adds every combination that is not modelled where several texts share one sequence.
fn packed(run: &TrainingRun, elsewhere: bool, found: &mut Vec<Blocker>) {
    let tuning = &run.tuning;
    let before = tuning.tokens_before() + tuning.keys_before() > 0;
    if elsewhere || before || tuning.objective != Objective::NextToken {
        found.push(Blocker::Framework(&PACKED_ELSEWHERE));
    }
    if run.attention == AttentionKernel::Standard {
        found.push(Blocker::Framework(&PACKED_SCORES));
    }
}
