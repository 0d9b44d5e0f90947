//! A layer's state of fixed size: what leads into it, itself, and what leads out of it.

use super::Forward;
use crate::config::{Mixer, MixerKind};
use crate::ops::mixer::{self, Sizes, Weight};
use crate::ops::tape::Work;
use crate::ops::tensor::{Dim, Split};
use crate::units::{Flops, to_f64};

/// Products over the whole state for each token: what it forgets or predicts, what is written, what is read.
const fn products(kind: MixerKind) -> f64 {
    match kind {
        MixerKind::Qwen3Next | MixerKind::KimiLinear => 3.0,
        MixerKind::Lfm2 => 0.0,
        MixerKind::Mamba | MixerKind::Jamba | MixerKind::Mamba2 | MixerKind::FalconH1 | MixerKind::Minimax => 2.0,
    }
}

/// Runs a state.
///
/// FLOPs: `2` per weight and token, and for each product over the state `2 · n · p · r` per token. Assumes the recurrent form, which
/// decoding runs; chunked prefill multiplies a little more.
pub(super) fn run(on: &Forward<'_, '_>, mixer: &Mixer) {
    let (with, kind, sizes) = (on.with, mixer.kind, Sizes::of(on.with, mixer));
    let source = mixer::source(kind);
    let projections = sizes.projections(kind);
    on.at("Projection into the state", source);
    let made = projections.iter().map(|(_, [columns, _])| columns.1).fold(0, u64::saturating_add);
    let dims = [with.s(), with.b(), Dim("columns into the state", made)];
    on.takes("made for the state", dims, Split::Tensor, with.activation);
    multiply(on, &projections);
    on.at("State", source);
    multiply(on, &sizes.own(kind));
    let width = if kind == MixerKind::Minimax { mixer.head_dim } else { mixer.state_size };
    let tokens = to_f64(with.seq_length) * to_f64(with.micro_batch_size);
    let state = to_f64(mixer.inner()) * to_f64(width);
    on.counts(Work::Weights, Flops(2.0 * products(kind) * tokens * state));
    on.at("Projection out of the state", source);
    on.takes("projected output", on.hidden(), Split::Replicated, with.activation);
    multiply(on, &[sizes.output()]);
}

/// Every token with each matrix.
fn multiply(on: &Forward<'_, '_>, weights: &[Weight]) {
    for (_, [columns, input]) in weights.iter().filter(|(_, [_, input])| !input.0.is_empty()) {
        on.multiplies(columns.1, input.1);
    }
}
