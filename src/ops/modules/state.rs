//! A state of fixed size in place of keys and values, or beside them. Blocks with one are served; a job that trains them cannot be made,
//! so that a state has parameters and products and no tensors of its own here.

use super::Build;
use crate::config::{Mixer, MixerKind};
use crate::ops::mixer::{self, Sizes, Weight};
use crate::ops::tape::{Tape, Work};
use crate::sources::Source;
use crate::units::{Flops, to_f64};

/// The projections into the state, its own products, and the projection out of it: a name and FLOPs of one forward each.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    parts: [(&'static str, Flops); 3],
    source: Source,
}

/// Products over the whole state for each token: what it forgets or predicts, what is written, what is read.
const fn products(kind: MixerKind) -> f64 {
    match kind {
        MixerKind::Qwen3Next | MixerKind::KimiLinear => 3.0,
        MixerKind::Lfm2 => 0.0,
        MixerKind::Mamba | MixerKind::Jamba | MixerKind::Mamba2 | MixerKind::FalconH1 | MixerKind::Minimax => 2.0,
    }
}

impl State {
    /// Declares the parameters of all three.
    ///
    /// FLOPs: `2` per weight and token, and for each product over the state `2 · n · p · r` per token. Assumes the recurrent form,
    /// which decoding runs; chunked prefill multiplies a little more.
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (with, kind, sizes) = (build.with, mixer.kind, Sizes::of(build.with, mixer));
        let source = mixer::source(kind);
        let declare = |name, weights: &[Weight]| {
            build.tape.at(name, source);
            let each = weights.iter().map(|(name, [columns, input])| {
                if input.0.is_empty() {
                    build.vector(name, *columns);
                    return Flops(0.0);
                }
                build.parameter(name, [*columns, *input]);
                with.matrix_product(columns.1, input.1)
            });
            (name, each.sum::<Flops>())
        };
        let mut parts = [
            declare("Projection into the state", &sizes.projections(kind)),
            declare("State", &sizes.own(kind)),
            declare("Projection out of the state", &[sizes.output()]),
        ];
        let width = if kind == MixerKind::Minimax { mixer.head_dim } else { mixer.state_size };
        let tokens = to_f64(with.seq_length) * to_f64(with.micro_batch_size);
        let over_state = 2.0 * products(kind) * tokens * (to_f64(mixer.inner()) * to_f64(width));
        parts[1].1 = parts[1].1 + Flops(over_state);
        Self { parts, source }
    }

    /// Counts its products.
    pub fn run(&self, tape: &Tape) {
        for (name, Flops(flops)) in self.parts {
            tape.at(name, self.source);
            tape.count(Work::Weights, flops);
        }
    }
}
