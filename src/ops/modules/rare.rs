//! Modules that few models have. The page's program begins without them and fetches them when a
//! model needs them, so that a family more makes no first visit longer. Every other program has
//! them inside.
//!
//! Nothing but the table of [`Rare`] names these modules: what is reachable through it alone is a
//! part that the build cuts off (`crate::estimator::parts`).

use super::ends::{OTHER_ENDS, OtherEnds};
use super::mixers::{Mixing, StateLayer};
use super::tower::{self, Sees};
use super::{
    Block, Build, altup, bloom, compressed, decoder, dense, falcon, gpt2, in_pairs, neox,
    neox_japanese, shared, time_mixed,
};
use crate::config::{BlockLayout, Mixer, ModelConfig};
use crate::stacks::ModuleKernels;

/// How the rare modules are made.
pub(crate) struct Rare {
    /// A block that is not [`super::decoder`]'s.
    pub(super) block: fn(&Build<'_>, u64) -> Box<dyn Block>,
    /// A layer that keeps a state.
    pub(super) state: fn(&Build<'_>, &Mixer) -> Box<dyn StateLayer>,
    /// Steps at the ends of models that predict no next token alone.
    pub(super) ends: OtherEnds,
    /// A tower with its projector, declared; what is left is how they run, if images are in the
    /// texts.
    pub(super) tower: fn(&Build<'_>) -> Option<Box<dyn Sees>>,
}

/// The table.
pub(crate) static RARE: Rare = Rare {
    block,
    state: |build, mixer| Box::new(Mixing::new(build, mixer)),
    ends: OTHER_ENDS,
    tower: tower::declare,
};

/// True if a model has modules that few models have, or the software stack has a model of its own.
pub(crate) fn are_needed(model: &ModelConfig, kernels: ModuleKernels) -> bool {
    let plain =
        !has_other_blocks(model, kernels) && model.mixer().is_none() && model.tower.is_none();
    !plain || has_other_ends(model)
}

/// True if something else than the next token of a text is read or predicted.
const fn has_other_ends(model: &ModelConfig) -> bool {
    model.encoder.is_some() || model.source.is_some() || model.task.is_some() || model.pooler
}

/// The steps at a model's ends that few models have, where this one does.
pub(super) fn other_ends(model: &ModelConfig) -> Option<&'static OtherEnds> {
    has_other_ends(model).then(|| &rare().ends)
}

/// True if the blocks are others than [`super::decoder`]'s.
pub(super) fn has_other_blocks(model: &ModelConfig, kernels: ModuleKernels) -> bool {
    let plain = match model.family.modules().block {
        BlockLayout::PreNorm
        | BlockLayout::Sandwich
        | BlockLayout::NormsBehind
        | BlockLayout::NormsBehindAttention => true,
        BlockLayout::SandwichWithInput
        | BlockLayout::BehindSharedBlock
        | BlockLayout::HeldHalves
        | BlockLayout::JointByHeadBiased
        | BlockLayout::JointByHead
        | BlockLayout::JointByHeadWritten
        | BlockLayout::JointByGroup
        | BlockLayout::CompressedInStreams
        | BlockLayout::TimeMixed
        | BlockLayout::OwnOrder => false,
    };
    !plain || model.altup().is_some() || kernels.is_own_model
}

/// A block that is not the decoder's.
fn block(build: &Build<'_>, layer: u64) -> Box<dyn Block> {
    let layout = build.model().family.modules().block;
    if layout == BlockLayout::SandwichWithInput {
        return Box::new(altup::WithInput::new(build, layer));
    }
    if let Some(altup) = build.model().altup() {
        return Box::new(altup::Alternating::new(build, altup, build.model().kind_of(layer).keys));
    }
    if build.kernels().is_own_model {
        return Box::new(in_pairs::InPairs::new(build));
    }
    match layout {
        BlockLayout::BehindSharedBlock => Box::new(shared::BehindShared::new(build, layer)),
        BlockLayout::HeldHalves => Box::new(gpt2::Gpt2::new(build)),
        BlockLayout::JointByHeadBiased => Box::new(bloom::Bloom::new(build)),
        BlockLayout::JointByHead => Box::new(neox::Neox::new(build)),
        BlockLayout::JointByHeadWritten => Box::new(neox_japanese::NeoxJapanese::new(build, layer)),
        BlockLayout::JointByGroup => Box::new(falcon::Falcon::new(build)),
        BlockLayout::OwnOrder => Box::new(dense::Dense::new(build, layer)),
        BlockLayout::CompressedInStreams => match compressed::InStreams::new(build, layer) {
            Some(block) => Box::new(block),
            None => Box::new(decoder::Decoder::new(build, layer)),
        },
        BlockLayout::TimeMixed => match time_mixed::TimeMixed::new(build, layer) {
            Some(block) => Box::new(block),
            None => Box::new(decoder::Decoder::new(build, layer)),
        },
        BlockLayout::PreNorm
        | BlockLayout::Sandwich
        | BlockLayout::SandwichWithInput
        | BlockLayout::NormsBehind
        | BlockLayout::NormsBehindAttention => Box::new(decoder::Decoder::new(build, layer)),
    }
}

/// Notes that this thread asked for something that the page may have to fetch: nobody does about
/// jobs that are said to need nothing.
#[cfg(test)]
pub(crate) mod asked {
    use std::cell::Cell;

    thread_local! {
        static ASKED: Cell<bool> = const { Cell::new(false) };
    }

    /// Somebody asks.
    pub(crate) fn note() {
        ASKED.set(true);
    }

    /// True if somebody asked since the last call.
    pub(crate) fn take() -> bool {
        ASKED.take()
    }
}

/// The table, in a program that has all modules inside.
#[cfg(not(feature = "apart"))]
mod access {
    use super::{RARE, Rare};

    /// How rare modules are made.
    pub(in crate::ops::modules) fn rare() -> &'static Rare {
        #[cfg(test)]
        super::asked::note();
        &RARE
    }
}

/// The table, in a program that fetches these modules.
#[cfg(feature = "apart")]
mod access {
    use std::sync::OnceLock;

    use super::Rare;

    static FETCHED: OnceLock<&'static Rare> = OnceLock::new();

    /// How rare modules are made. Nobody asks about a job that needs them before they are there
    /// (`estimator::has_parts`).
    pub(in crate::ops::modules) fn rare() -> &'static Rare {
        match FETCHED.get() {
            Some(rare) => rare,
            None => unreachable!("somebody asks about a model before its modules are there"),
        }
    }

    /// Takes over the table.
    pub(crate) fn arrive(table: &'static Rare) {
        let _ = FETCHED.set(table);
    }
}

#[cfg(feature = "apart")]
pub(crate) use access::arrive;
pub(super) use access::rare;
