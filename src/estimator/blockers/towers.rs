//! Trainings in which the memory of a vision tower is modelled, and images that it sees.

use thiserror::Error;

use crate::config::{Job, Recompute, Run, TrainingRun};
use crate::sharding::{GatheredInto, Gathers};
use crate::units::whole;

rules! {
    /// A tower in a training that is not modelled with one.
    NOT_HELD: PYTORCH_AUTOGRAD,
        "A vision tower is modelled as transformers' own modules hold it, on data-parallel ranks that share nothing or everything tensor by tensor (FSDP2); choose that, or clear “Vision tower of” to count the text part alone";
    /// Images in a training that is not modelled with them.
    ELSEWHERE: TRANSFORMERS_TRAINER,
        "Images are modelled with transformers' modules on GPUs that share nothing but the batch or everything tensor by tensor (FSDP2), not compiled, with whole blocks or nothing recomputed, and one text a sequence; choose that, or set “Images per sequence” to 0";
    /// Images in a training under FSDP2 with blocks recomputed, of a tower whose blocks feed the
    /// text's.
    SHARED_OUT: TRANSFORMERS_TRAINER,
        "Where tensors are shared out (FSDP2), recomputed blocks of a vision tower that feed the text's first blocks are not described; set recomputation to none, choose another sharding, or set “Images per sequence” to 0";
    /// `target_modules` finds layers by the ends of their names, which towers' layers have as well.
    TUNED: PEFT,
        "With images, adapters, learned prompts and 4-bit weights are not modelled: peft puts adapters on the vision tower's layers of the same names, too; choose full fine-tuning, or set “Images per sequence” to 0";
}

/// Why a model does not see images; its text is one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unseen {
    /// The model has no tower.
    #[error(
        "no vision tower is counted in this model, so that it takes no images; set “Images per sequence” to 0"
    )]
    NoTower,
    /// The run of its tower, or of its projector, is not described.
    #[error(
        "what images take is not described for the vision tower “{tower}” of “{projector}”; set “Images per sequence” to 0 to count texts alone"
    )]
    NotDescribed {
        /// The kind of tower.
        tower: &'static str,
        /// The kind of projector.
        projector: &'static str,
    },
    /// Their tokens do not fit into the text.
    #[error(
        "{images} images become {} tokens each, {} together, which do not fit into {} tokens",
        whole(*.tokens), whole(images.saturating_mul(*.tokens)), whole(*.length)
    )]
    TooLong {
        /// Images of a sequence.
        images: u64,
        /// Tokens of each.
        tokens: u64,
        /// Tokens of a sequence.
        length: u64,
    },
}

/// True for a training in which the memory of a vision tower is modelled: its weights lie there
/// whole, or each is shared out by itself.
pub(super) fn are_held(job: &Job, run: &TrainingRun) -> bool {
    let layout = job.layout();
    let whole = layout.t() == 1 && layout.p() == 1 && layout.cp() == 1 && layout.ep() == 1;
    let into_buffers = |gathers: &Gathers| gathers.into == GatheredInto::BufferAndTensors;
    let by_itself =
        layout.shards() == 1 || layout.sharding.gathers.as_ref().is_some_and(into_buffers);
    whole && by_itself && run.stack.is_played() && !run.stack.modules().is_own_model
}

/// True for a training in which images are modelled, if there are any.
pub(super) fn see(job: &Job, run: &TrainingRun) -> bool {
    let sharding = &job.layout().sharding;
    let groups = sharding
        .gathers
        .as_ref()
        .is_some_and(|gathers| gathers.into == GatheredInto::BufferAndTensors);
    let replicated = (!sharding.shards_optimizer() || groups) && !job.layout().offload.any();
    let plain =
        !run.compile && run.recompute != Recompute::Selective && run.packed_text().is_none();
    run.images.per_sequence == 0 || (are_held(job, run) && replicated && plain)
}

/// True if blocks of a tower that feed the text's are recomputed where weights are shared out
/// tensor by tensor.
pub(super) fn are_shared_out(job: &Job, run: &TrainingRun) -> bool {
    let groups = job.layout().sharding.gathers.is_some() && job.layout().shards() > 1;
    let feeds = job.model().tower.is_some_and(|tower| tower.fed_blocks(run.images) > 0);
    groups && feeds && run.recompute == Recompute::Full
}

/// Images that the model's tower does not see, or that do not fit into the text.
pub(super) fn unseen(job: &Job) -> Option<Unseen> {
    let (images, length) = match job.run() {
        Run::Training(run) => (run.images, run.seq_length),
        Run::Serving(run) => (run.images, run.prompt_length.unwrap_or(run.context_length)),
    };
    if images.per_sequence == 0 {
        return None;
    }
    let Some(tower) = &job.model().tower else { return Some(Unseen::NoTower) };
    let Some(seen) = tower.seen(images) else {
        let projector = tower.projector.model_type;
        let own = tower.modules.model_type;
        return Some(Unseen::NotDescribed {
            tower: own,
            projector: if projector.is_empty() { own } else { projector },
        });
    };
    let too_long = images.per_sequence.saturating_mul(seen.tokens) > length;
    too_long.then_some(Unseen::TooLong { images: images.per_sequence, tokens: seen.tokens, length })
}
