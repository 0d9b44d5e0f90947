//! What a model's tensors go through on the GPU before the first step, where every tensor is played.

use super::groups::part;
use super::plan::Plan;
use crate::ops::tape::{Kind, Tape, Var};
use crate::sources;

/// A model that is ready for its first step.
#[derive(Debug, Default)]
pub(super) struct TakenOver<'t> {
    /// They stay.
    _held: Vec<Var<'t>>,
    /// Where in the log the cache was emptied; 0 if it was not.
    pub emptied: usize,
}

/// Hands a model that was made tensor by tensor over to the library that shares it out.
pub(super) fn taken_over<'t>(tape: &'t Tape, plan: &Plan<'_>) -> TakenOver<'t> {
    if plan.builds_vector() {
        return into_one_vector(tape, plan);
    }
    head_before_it_is_tied(tape, plan);
    TakenOver::default()
}

/// A head that shares the embedding is made all the same, and let go (`tie_weights` of transformers), where the model is made on the GPU.
fn head_before_it_is_tied(tape: &Tape, plan: &Plan<'_>) {
    let model = plan.with.model;
    if !plan.library.made_on_gpu || !model.tie_word_embeddings {
        return;
    }
    tape.at("Output head", sources::PYTORCH_AUTOGRAD);
    let elements = model.vocab_size.saturating_mul(model.word_embed_proj_dim.unwrap_or(model.hidden_size));
    drop(tape.lump("head, before it is the embedding", (Kind::Parameter, elements, plan.recipe.parameter)));
}

/// DeepSpeed's stages 1 and 2 (`DeepSpeedZeroOptimizer` in `deepspeed/runtime/zero/stage_1_and_2.py`).
///
/// They empty the cache and copy all parameters that learn into one vector, whose views they become. A rank clones its part and casts the
/// clone to the format of master weights. A gradient of that size is made and let go (`initialize_optimizer_states`).
fn into_one_vector<'t>(tape: &'t Tape, plan: &Plan<'_>) -> TakenOver<'t> {
    tape.at("Weights", sources::DEEPSPEED);
    let lump = |name, kind, elements, dtype| tape.lump(name, (kind, elements, dtype));
    let lifted = tape.lift_parameters();
    let made: Vec<_> =
        lifted.iter().map(|(elements, dtype)| lump("parameter as it was made", Kind::Parameter, *elements, *dtype)).collect();
    head_before_it_is_tied(tape, plan);
    let emptied = tape.state().log.len();
    let all = lifted.iter().map(|(elements, _)| *elements).fold(0, u64::saturating_add);
    let dtype = lifted.first().map_or(plan.recipe.parameter, |(_, dtype)| *dtype);
    let own = part(all, plan.ranks);
    tape.at("Weights", sources::DEEPSPEED);
    let vector = lump("all parameters side by side", Kind::Parameter, own.saturating_mul(plan.ranks.max(1)), dtype);
    drop(made);
    let clone = lump("clone of the rank's part", Kind::Temporary, own, dtype);
    let master = plan.recipe.master.filter(|master| *master != dtype);
    let master = match master {
        Some(master) => lump("master weights of the rank's part", Kind::OptimizerState, own, master),
        None => clone.clone(),
    };
    drop(clone);
    drop(tape.lump("gradient of the rank's part", (Kind::Temporary, own, master.dtype())));
    TakenOver { _held: vec![vector, master], emptied }
}
