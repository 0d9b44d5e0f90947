//! Allocations of a model's tensors on the GPU before the first step, where every tensor is played.

use super::groups::{REDUCTION_BUCKET, part};
use super::optimizer::sub_groups;
use super::plan::Plan;
use super::stage_0;
use crate::config::ScoreStyle;
use crate::ops::tape::{Kind, Tape, Var};
use crate::sources;
use crate::units::DType;

/// A model that is ready for its first step.
#[derive(Debug, Default)]
pub(super) struct TakenOver<'t> {
    /// Held so that the memory of these tensors stays taken.
    _held: Vec<Var<'t>>,
    /// Where in the log the cache was emptied; 0 if it was not.
    pub emptied: usize,
}

/// Hands a model that was made tensor by tensor over to the library that shares it out.
pub(super) fn taken_over<'t>(tape: &'t Tape, plan: &Plan<'_>) -> TakenOver<'t> {
    if plan.builds_vector() {
        return into_one_vector(tape, plan);
    }
    if plan.is_coordinated() {
        return into_shares(tape, plan);
    }
    masks_made_again(tape, plan);
    head_before_it_is_tied(tape, plan);
    TakenOver { _held: stage_0::made_ready(tape, plan), emptied: 0 }
}

/// Where the model is made on the GPU, masks that are buffers are made of others, and once more when
/// weights get their first values (`_init_weights` of the models that have them).
fn masks_made_again(tape: &Tape, plan: &Plan<'_>) {
    let (model, modules) = (plan.with.model, plan.with.model.family.modules());
    let count = match (modules.registers_mask, modules.scores) {
        (true, _) => 2,
        // Ones, their lower half, and the part of it that lies in a window.
        (false, ScoreStyle::InFp32ByBuffer) => 3,
        (false, ScoreStyle::AsQueries | ScoreStyle::InFp32 | ScoreStyle::InFp32MaskedFirst) => 0,
    };
    if !plan.library.made_on_gpu {
        return;
    }
    tape.at("Inputs and buffers", sources::PYTORCH_AUTOGRAD);
    let positions = model.max_position_embeddings;
    let made = (0..count).map(|_| {
        let all = (Kind::Temporary, positions.saturating_mul(positions), DType::Mask);
        tape.lump("mask of all positions, made again", all)
    });
    drop(made.collect::<Vec<_>>());
}

/// Where the model is made on the GPU, a head that shares the embedding is made all the same, and
/// then freed (`tie_weights` of transformers).
fn head_before_it_is_tied(tape: &Tape, plan: &Plan<'_>) {
    let model = plan.with.model;
    if !plan.library.made_on_gpu || !model.tie_word_embeddings {
        return;
    }
    tape.at("Output head", sources::PYTORCH_AUTOGRAD);
    let elements =
        model.vocab_size.saturating_mul(model.word_embed_proj_dim.unwrap_or(model.hidden_size));
    drop(tape.lump(
        "head, before it is the embedding",
        (Kind::Parameter, elements, plan.recipe.parameter),
    ));
}

/// DeepSpeed's stages 1 and 2 (`DeepSpeedZeroOptimizer` in
/// `deepspeed/runtime/zero/stage_1_and_2.py`).
///
/// The optimizer empties the cache and copies all parameters that learn into one vector, whose
/// views they become. A rank clones its part and casts the clone to the format of master weights. A
/// gradient of that size is made and freed (`initialize_optimizer_states`).
fn into_one_vector<'t>(tape: &'t Tape, plan: &Plan<'_>) -> TakenOver<'t> {
    tape.at("Weights", sources::DEEPSPEED);
    let lump = |name, kind, elements, dtype| tape.lump(name, (kind, elements, dtype));
    let lifted = tape.lift_parameters();
    let made: Vec<_> = lifted
        .iter()
        .map(|(elements, dtype)| {
            lump("parameter as it was made", Kind::Parameter, *elements, *dtype)
        })
        .collect();
    head_before_it_is_tied(tape, plan);
    let emptied = tape.state().log.len();
    let all = lifted.iter().map(|(elements, _)| *elements).fold(0, u64::saturating_add);
    let dtype = lifted.first().map_or(plan.recipe.parameter, |(_, dtype)| *dtype);
    let own = part(all, plan.ranks);
    tape.at("Weights", sources::DEEPSPEED);
    let vector = lump(
        "all parameters side by side",
        Kind::Parameter,
        own.saturating_mul(plan.ranks.max(1)),
        dtype,
    );
    drop(made);
    let clone = lump("clone of the rank's part", Kind::Temporary, own, dtype);
    let master = plan.recipe.master.filter(|master| *master != dtype);
    let master = match master {
        Some(master) => {
            lump("master weights of the rank's part", Kind::OptimizerState, own, master)
        }
        None => clone.clone(),
    };
    drop(clone);
    drop(tape.lump("gradient of the rank's part", (Kind::Temporary, own, master.dtype())));
    TakenOver { _held: vec![vector, master], emptied }
}

/// DeepSpeed's stage 3 (`zero.Init` in `deepspeed/runtime/zero/partition_parameters.py`,
/// `deepspeed/runtime/zero/stage3.py`).
///
/// Each parameter is made whole, copied into the rank's share and let go; so is a head that is tied
/// later. Then all shares go to the host, the cache is emptied, and they come back side by side
/// (`defragment`). They are cast to the format of master weights and cloned, a sub-group at a time;
/// a gradient of each is made and let go. Bucket and gradients of the rank get their places, and
/// every parameter is gathered once to be read.
fn into_shares<'t>(tape: &'t Tape, plan: &Plan<'_>) -> TakenOver<'t> {
    let wholes: Vec<(u64, DType)> = {
        let state = tape.state();
        let learned = state.parameters.iter().filter(|found| !found.idle);
        learned.map(|found| (state.elements(found.form), found.dtype)).collect()
    };
    tape.at("Weights", sources::DEEPSPEED);
    let lump = |name, kind, elements, dtype| tape.lump(name, (kind, elements, dtype));
    let shares = tape.lift_parameters();
    let made: Vec<_> = shares
        .iter()
        .zip(&wholes)
        .map(|(share, whole)| made_and_cut(tape, *share, *whole))
        .collect();
    let tied = wholes.first().zip(shares.first()).filter(|_| plan.with.model.tie_word_embeddings);
    drop(tied.map(|(whole, share)| made_and_cut(tape, *share, *whole)));
    drop(made);
    let emptied = tape.state().log.len();
    let pieces: Vec<u64> = shares.iter().map(|(elements, _)| *elements).collect();
    let own = pieces.iter().fold(0, |all: u64, piece| all.saturating_add(*piece));
    let dtype = shares.first().map_or(plan.recipe.parameter, |(_, dtype)| *dtype);
    let mut held = Vec::new();
    let groups = sub_groups(plan, pieces);
    // Each sub-group is moved by itself.
    held.extend(
        groups
            .iter()
            .map(|elements| lump("shares side by side", Kind::Parameter, *elements, dtype)),
    );
    for elements in &groups {
        if let Some(master) = plan.recipe.master.filter(|master| *master != dtype) {
            let cast = lump("share, cast", Kind::Temporary, *elements, master);
            held.push(lump("master weights", Kind::OptimizerState, *elements, master));
            drop(cast);
        }
    }
    let largest = groups.iter().copied().max().unwrap_or(0);
    drop(lump(
        "gradient of a sub-group",
        Kind::Temporary,
        largest,
        plan.recipe.master.unwrap_or(dtype),
    ));
    if plan.library.contiguous_gradients {
        tape.at(REDUCTION_BUCKET, sources::DEEPSPEED);
        held.push(lump("flat buffer", Kind::Gathered, plan.buckets.1, plan.buckets.2));
    }
    tape.at("Gradients", sources::DEEPSPEED);
    held.push(lump("share of the gradients", Kind::Gradient, own, plan.recipe.gradient));
    tape.at("Weights", sources::DEEPSPEED);
    for (elements, dtype) in &wholes {
        drop(lump("parameter, gathered to be read", Kind::Gathered, *elements, *dtype));
    }
    let lasting =
        wholes.iter().filter(|(elements, _)| *elements <= plan.library.persistence_threshold);
    held.extend(lasting.map(|(elements, dtype)| {
        lump("parameter that stays gathered", Kind::Gathered, *elements, *dtype)
    }));
    TakenOver { _held: held, emptied }
}

/// A parameter is made whole and cut; its share is left.
fn made_and_cut(tape: &Tape, (share, kept): (u64, DType), (whole, dtype): (u64, DType)) -> Var<'_> {
    let whole = tape.lump("parameter as it was made", (Kind::Parameter, whole, dtype));
    let share = tape.lump("share of the parameter", (Kind::Parameter, share, kept));
    drop(whole);
    share
}
