//! The feed-forward half of a block.

use super::{Forward, ends};
use crate::config::MlpKind;
use crate::ops::tensor::{Kept, Split};
use crate::sources;

/// From the first residual sum to the block's output.
pub(super) fn run(on: &Forward<'_, '_>) {
    norm(on);
    up(on);
    down(on);
    norm_behind(on);
}

/// The norm before the feed-forward layer, if it has one of its own.
pub(super) fn norm(on: &Forward<'_, '_>) {
    if on.with.model.norms_per_block >= 2 {
        ends::norm(on, "Post-attention norm", Some(("attention residual", Kept::Block)));
    }
}

/// A further norm behind the feed-forward layer (Gemma 2, GLM-4).
pub(super) fn norm_behind(on: &Forward<'_, '_>) {
    if on.with.model.norms_per_block >= 4 {
        ends::norm(on, "Norm behind feed-forward", Some(("feed-forward output", Kept::Block)));
    }
}

/// Up (and gate) projection with its activation function.
///
/// Saved: the normed input, and the input of the activation function (gate and up in a gated layer).
fn up(on: &Forward<'_, '_>) {
    let with = on.with;
    on.at("Feed-forward up", sources::KORTHIKANTI_2022);
    let dims = [with.s(), with.b(), with.ffn()];
    let names: &[&str] = match with.model.mlp {
        MlpKind::Gated => &["gate output", "up output"],
        MlpKind::Plain => &["activation input"],
    };
    for &output in names {
        on.saves(output, dims, (Split::Tensor, Kept::Block));
        on.takes(output, dims, Split::Tensor, with.activation);
    }
    on.saves_hidden("feed-forward input", Kept::Block);
}

/// Down projection: its input and a dropout mask are saved.
fn down(on: &Forward<'_, '_>) {
    let with = on.with;
    on.at("Feed-forward down", sources::KORTHIKANTI_2022);
    let dims = [with.s(), with.b(), with.ffn()];
    on.saves("down input", dims, (Split::Tensor, Kept::Block));
    on.saves_mask("feed-forward dropout mask", Kept::Block);
    on.takes("down input", dims, Split::Tensor, with.activation);
    on.takes("block output", on.hidden(), Split::Replicated, with.activation);
}
