//! Parts of models that some trainings are not modelled with.

use super::{
    ENCODER_COUNTED, ENCODER_ELSEWHERE, ENCODER_RUNS_ONCE, FrameworkRule, INDEXED_BY_MASKS, LAYERS_ELSEWHERE, STATES_OTHERWISE,
    STREAMS_IN_STAGES, STREAMS_TUNED, encoders, towers,
};
use crate::config::{AttentionKernel, EmbeddedParts, Job, Objective, Recompute, TrainingRun};
use crate::sources;

/// Blocks that are one, and shards.
static SHARED_IN_SHARDS: FrameworkRule = FrameworkRule {
    says: "Blocks that share their weights are modelled where every rank has all of them; share out optimizer states and gradients alone, or choose another model",
    source: sources::TRANSFORMERS_TRAINER,
};

/// An encoder beside its decoder, elsewhere.
static SOURCE_ELSEWHERE: FrameworkRule = FrameworkRule {
    says: "An encoder beside its decoder is modelled as transformers' own modules and loss run it, not compiled, with all weights learning, one text a sequence, on data-parallel ranks that share nothing; choose that, or another model",
    source: sources::PYTORCH_AUTOGRAD,
};

/// Biases that all blocks of both share.
static SOURCE_BIASED: FrameworkRule = FrameworkRule {
    says: "Biases of how far tokens lie apart, which all blocks share, are modelled for attention written out, of which nothing is recomputed; choose standard attention and recompute nothing",
    source: sources::PYTORCH_AUTOGRAD,
};

/// Both are counted, and do not run.
static SOURCE_COUNTED: FrameworkRule = FrameworkRule {
    says: "Of this encoder and its decoder the parameters are counted alone: what they take in training is not modelled; choose another model",
    source: sources::PYTORCH_AUTOGRAD,
};

/// Forbids a rule where something holds.
type Forbid<'a> = dyn FnMut(bool, &dyn Fn() -> Option<&'static FrameworkRule>) + 'a;

/// Forbids what the model's parts are not modelled with.
pub(super) fn forbidden(job: &Job, run: &TrainingRun, forbid: &mut Forbid<'_>) {
    let (layout, model) = (job.layout(), job.model());
    let is_encoder = model.encoder.is_some();
    forbid(model.has_parts_of_its_own() && !run.stack.is_played(), &|| Some(&LAYERS_ELSEWHERE));
    forbid(model.indexer().is_some() && run.attention == AttentionKernel::Flash, &|| Some(&INDEXED_BY_MASKS));
    forbid(is_encoder && !encoders::runs(job, run), &|| Some(&ENCODER_ELSEWHERE));
    forbid(is_encoder && !encoders::runs_again(job, run), &|| Some(&ENCODER_RUNS_ONCE));
    forbid(is_encoder && !model.family.modules().encoder.trains, &|| Some(&ENCODER_COUNTED));
    forbid(model.source.is_some() && !encoders::run_beside(job, run), &|| Some(&SOURCE_ELSEWHERE));
    let written = run.attention == AttentionKernel::Standard && run.recompute == Recompute::None;
    let biased = model.family.modules().encoder.embedding == EmbeddedParts::WithBiases;
    forbid(model.source.is_some() && biased && !written, &|| Some(&SOURCE_BIASED));
    forbid(model.source.is_some() && !model.family.modules().encoder.trains, &|| Some(&SOURCE_COUNTED));
    forbid(model.shares_blocks() && layout.sharding.shards_parameters(), &|| Some(&SHARED_IN_SHARDS));
    forbid(model.tower.is_some() && !towers::are_held(job, run), &|| Some(&towers::NOT_HELD));
    forbid(!towers::see(job, run), &|| Some(&towers::ELSEWHERE));
    let tuned = run.tuning.freezes_model() || run.tuning.objective != Objective::NextToken;
    forbid(run.images.per_sequence > 0 && tuned, &|| Some(&towers::TUNED));
    let streams = model.altup().is_some() || model.indexer().is_some();
    forbid(streams && layout.p() > 1, &|| Some(&STREAMS_IN_STAGES));
    forbid(streams && !run.tuning.is_full(), &|| Some(&STREAMS_TUNED));
    forbid(model.mixer().is_some() && (!run.tuning.is_full() || run.compile), &|| Some(&STATES_OTHERWISE));
}
