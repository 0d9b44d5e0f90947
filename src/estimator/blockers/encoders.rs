//! Trainings that encoders are modelled in.

use crate::config::{Job, Loss, Method, Recompute, TrainingRun};
use crate::sharding::GatheredInto;

rules! {
    /// An encoder in a training that is not modelled with one.
    ENCODER_ELSEWHERE: PYTORCH_AUTOGRAD,
        "An encoder is modelled as transformers' own modules and loss run it, not compiled, with all weights learning, one text a sequence, on data-parallel ranks alone; choose that stack, or another model";
    /// A model of encoder and decoder in a training that is not modelled for both together.
    SOURCE_ELSEWHERE: PYTORCH_AUTOGRAD,
        "An encoder beside its decoder is modelled as transformers' own modules and loss run it, not compiled, one text a sequence, with all weights learning on data-parallel ranks that share nothing or what FSDP2 shares, or with LoRA on one GPU that recomputes nothing; choose that, or another model";
    /// Biases of distances, which all blocks share, where they are not modelled.
    SOURCE_BIASED: PYTORCH_AUTOGRAD,
        "Biases of how far tokens lie apart, which all blocks share, are modelled for attention written out, of which nothing is recomputed (transformers runs none of these models with FlashAttention); choose standard attention and recompute nothing";
    /// An encoder and its decoder of which nothing but parameters is known.
    SOURCE_COUNTED: PYTORCH_AUTOGRAD,
        "Of this encoder and its decoder the parameters are counted alone: what they take in training is not modelled; choose another model";
    /// A model of which nothing but parameters is known.
    ENCODER_COUNTED: TRANSFORMERS_TRAINER,
        "Of this model the parameters are counted alone: what its attention takes in training is not modelled; choose another model";
    /// A model of another task than text in a training that is not modelled with one.
    TASK_ELSEWHERE: PYTORCH_AUTOGRAD,
        "A model that classifies texts or tokens is modelled as transformers' own modules and loss run it, not compiled, with all weights learning, one text a sequence, on data-parallel ranks alone; choose that stack, or another model";
    /// States without a loss.
    NO_TASK: PYTORCH_AUTOGRAD,
        "This file's class gives states alone and has no loss of its own: its parameters are counted, and what training it takes follows from a loss that it does not say; choose a class with a task, or another model";
    /// Modules that the library cannot run again in backward.
    ENCODER_RUNS_ONCE: TRANSFORMERS_TRAINER,
        "transformers cannot run this encoder's modules again in backward (it does not support activation checkpointing); recompute nothing, or choose another model";
}

/// True if nothing is recomputed, or the library's modules can run again.
pub(super) fn runs_again(job: &Job, run: &TrainingRun) -> bool {
    run.recompute == Recompute::None || job.model().family.modules().encoder.runs_again
}

/// True for a training that an encoder is modelled in.
pub(super) fn runs(job: &Job, run: &TrainingRun) -> bool {
    run.tuning.is_full() && runs_plainly(job, run)
}

/// True for a run of the stack's own modules on one rank's whole layers, whatever learns.
fn runs_plainly(job: &Job, run: &TrainingRun) -> bool {
    let layout = job.layout();
    let whole = layout.t() == 1 && layout.p() == 1 && layout.cp() == 1;
    let own_loss = run.loss == Loss::OfStack;
    let plain = run.packed_text().is_none() && run.evaluation.is_none() && !run.compile;
    whole && own_loss && plain && run.stack.is_played() && !run.stack.modules().is_own_model
}

/// True for LoRA beside an encoder and its decoder that run once, on one GPU: the rows of peft that
/// this was held against (`tests/data/tuning/adapters_source.jsonl`).
fn has_adapters(job: &Job, run: &TrainingRun) -> bool {
    let tuning = &run.tuning;
    tuning.method == Method::Lora
        && !tuning.base.is_quantised()
        && !tuning.copies_ends()
        && run.recompute == Recompute::None
        && job.layout().d() == 1
}

/// True for a training that an encoder beside a decoder is modelled in.
pub(super) fn run_beside(job: &Job, run: &TrainingRun) -> bool {
    let sharding = job.layout().sharding;
    let gathers = sharding
        .gathers
        .as_ref()
        .is_some_and(|gathers| gathers.into == GatheredInto::BufferAndTensors);
    let shares = !gathers
        && (sharding.shards_optimizer()
            || sharding.shards_gradients()
            || sharding.shards_parameters());
    let standard = job.layout().ep() == 1 && run.tuning.objective.sequences() == 1;
    let learns = run.tuning.is_full() || has_adapters(job, run);
    learns && runs_plainly(job, run) && standard && !shares
}
