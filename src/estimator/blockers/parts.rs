//! Parts of models that some trainings are not modelled with.

use super::{
    FrameworkRule, INDEXED_BY_MASKS, LAYERS_ELSEWHERE, STATES_OTHERWISE, STREAMS_IN_STAGES,
    STREAMS_TUNED, encoders, towers,
};
use crate::config::{
    AttentionKernel, EmbeddedParts, Job, Objective, Recompute, TaskKind, TrainingRun,
};

rules! {
    /// Blocks that layers share, in other runs.
    SHARED_ELSEWHERE: TRANSFORMERS_TRAINER,
        "Blocks that layers share before a state of their own are modelled whole on every rank, as transformers' own code runs them; choose transformers' eager code without pipeline stages";
    /// Blocks that are one, and shards.
    SHARED_IN_SHARDS: TRANSFORMERS_TRAINER,
        "Blocks that share their weights are modelled where every rank has all of them; share out optimizer states and gradients alone, or choose another model";
}

/// Forbids a rule where something holds.
type Forbid<'a> = dyn FnMut(bool, &dyn Fn() -> Option<&'static FrameworkRule>) + 'a;

/// Forbids combinations that the model's parts are not modelled with.
pub(super) fn forbidden(job: &Job, run: &TrainingRun, forbid: &mut Forbid<'_>) {
    let (layout, model) = (job.layout(), job.model());
    let is_encoder = model.encoder.is_some();
    forbid(model.has_parts_of_its_own() && !run.stack.is_played(), &|| Some(&LAYERS_ELSEWHERE));
    let indexed = model.indexer().is_some() || model.compressed.is_some();
    forbid(indexed && run.attention == AttentionKernel::Flash, &|| Some(&INDEXED_BY_MASKS));
    forbid(is_encoder && !encoders::runs(job, run), &|| Some(&encoders::ENCODER_ELSEWHERE));
    forbid(is_encoder && !encoders::runs_again(job, run), &|| Some(&encoders::ENCODER_RUNS_ONCE));
    forbid(is_encoder && !model.family.modules().encoder.trains, &|| {
        Some(&encoders::ENCODER_COUNTED)
    });
    forbid(model.task.is_some() && !encoders::runs(job, run), &|| Some(&encoders::TASK_ELSEWHERE));
    forbid(model.task.is_some_and(|task| task.kind == TaskKind::States), &|| {
        Some(&encoders::NO_TASK)
    });
    forbid(model.source.is_some() && !encoders::run_beside(job, run), &|| {
        Some(&encoders::SOURCE_ELSEWHERE)
    });
    let written = run.attention == AttentionKernel::Standard && run.recompute == Recompute::None;
    let biased = model.family.modules().encoder.embedding == EmbeddedParts::WithBiases;
    forbid(model.source.is_some() && biased && !written, &|| Some(&encoders::SOURCE_BIASED));
    forbid(model.source.is_some() && !model.family.modules().encoder.trains, &|| {
        Some(&encoders::SOURCE_COUNTED)
    });
    let shares = model.shared.is_some();
    forbid(shares && (layout.p() > 1 || !run.stack.is_played()), &|| Some(&SHARED_ELSEWHERE));
    forbid((shares || model.shares_blocks()) && layout.sharding.shards_parameters(), &|| {
        Some(&SHARED_IN_SHARDS)
    });
    forbid(model.tower.is_some() && !towers::are_held(job, run), &|| Some(&towers::NOT_HELD));
    forbid(!towers::see(job, run), &|| Some(&towers::ELSEWHERE));
    let tuned = run.tuning.freezes_model() || run.tuning.objective != Objective::NextToken;
    forbid(towers::are_shared_out(job, run), &|| Some(&towers::SHARED_OUT));
    forbid(run.images.per_sequence > 0 && tuned, &|| Some(&towers::TUNED));
    let before = run.tuning.tokens_before() + run.tuning.keys_before() > 0;
    let streams = model.altup().is_some() || indexed;
    forbid(streams && layout.p() > 1, &|| Some(&STREAMS_IN_STAGES));
    forbid(streams && before, &|| Some(&STREAMS_TUNED));
    forbid(model.mixer().is_some() && (before || run.compile), &|| Some(&STATES_OTHERWISE));
}
