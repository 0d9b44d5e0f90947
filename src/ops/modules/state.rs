//! States of fixed size that some layers keep in place of keys and values, or beside them: state
//! spaces, linear attention, short convolutions. A state that is served has parameters and products
//! here, and of its tensors those that products lead to; those that are trained run in
//! [`super::mixers`], with weights of the same sizes.
//!
//! | symbol | field |
//! |---|---|
//! | n | `num_heads` |
//! | p | `head_dim` |
//! | g | `num_key_heads` |
//! | r | `state_size` |
//! | c | `conv_kernel` |
//!
//! Shapes of weights are those of transformers 5.23, shapes of what is kept those of vLLM.

mod sizes;

pub(super) use sizes::Sizes;
use sizes::{COLUMNS, HEADS, KEY_COLUMNS, Weight};

use super::Build;
use crate::config::{Mixer, MixerKind};
use crate::ops::builder::Lowering;
use crate::ops::tape::{Factors, Form, Tape};
use crate::ops::tensor::{Dim, Shape, Split};
use crate::sources::{self, Source};
use crate::units::{DType, Flops, to_f64};

/// How tensor-parallel ranks share what has that dimension: by whole heads of the state, or of its
/// keys.
pub(crate) fn split(mixer: &Mixer, dim: &Dim) -> Option<Split> {
    match dim.0 {
        HEADS | COLUMNS => Some(Split::Heads(mixer.num_heads)),
        KEY_COLUMNS => Some(Split::Heads(mixer.num_key_heads)),
        _ => None,
    }
}

/// Where the layer's modules are.
pub(super) const fn source(kind: MixerKind) -> sources::Source {
    match kind {
        MixerKind::Qwen3Next
        | MixerKind::KimiLinear
        | MixerKind::KimiWhole
        | MixerKind::Minimax
        | MixerKind::Mlstm => sources::LINEAR_ATTENTION,
        _ => sources::STATE_SPACES,
    }
}

/// The projections into the state, its own products, and the projection out of it: a name and FLOPs
/// of one forward each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    parts: [(&'static str, Flops); 3],
    source: Source,
    /// `[b, s, h]`, and the columns that lead into the state.
    forms: [Form; 2],
}

/// Products over the whole state for each token: what it forgets or predicts, what is written, what
/// is read.
const fn products(kind: MixerKind) -> f64 {
    match kind {
        MixerKind::Qwen3Next | MixerKind::KimiLinear | MixerKind::KimiWhole => 3.0,
        MixerKind::Lfm2 | MixerKind::RgLru | MixerKind::Rwkv => 0.0,
        MixerKind::Mamba
        | MixerKind::Zamba
        | MixerKind::FalconMamba
        | MixerKind::Jamba
        | MixerKind::Mamba2
        | MixerKind::FalconH1
        | MixerKind::Minimax
        | MixerKind::Mlstm => 2.0,
    }
}

impl State {
    /// Declares the parameters of all three.
    ///
    /// FLOPs: `2` per weight and token, and for each product over the state `2 · n · p · r` per
    /// token. Assumes the recurrent form, which decoding runs; chunked prefill multiplies a little
    /// more.
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (with, kind, sizes) = (build.with, mixer.kind, Sizes::of(build.with, mixer));
        let source = source(kind);
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
        let made = build.tape.form([with.b(), with.s(), sizes.all_columns(kind)]);
        Self { parts, source, forms: [build.shapes.hidden, made] }
    }

    /// Counts its products.
    pub fn run(&self, tape: &Tape) {
        let [hidden, made] = self.forms;
        for ((name, Flops(flops)), to) in
            self.parts.into_iter().zip([Some(made), None, Some(hidden)])
        {
            tape.at(name, self.source);
            tape.count(Factors::Weights, flops);
            if let Some(to) = to {
                tape.multiplied(hidden, to);
            }
        }
    }

    /// The tensors that a layer keeps of every sequence, whatever its length: the state, and the
    /// last tokens that the convolution sees again.
    ///
    /// Assumes vLLM's shapes: `c - 1` tokens of every convolved column in the format of
    /// activations, the state in its own format.
    pub fn cached(
        with: &Lowering,
        mixer: &Mixer,
        mut keep: impl FnMut(&'static str, Shape, DType),
    ) {
        let sizes = Sizes::of(with, mixer);
        let sequences = Dim("concurrent_sequences", with.concurrent_sequences);
        let last = Dim("last tokens", mixer.conv_kernel.saturating_sub(1));
        let mut lasting =
            |name, columns| keep(name, Shape::of([columns, last, sequences]), with.activation);
        let convolved = mixer.conv_dim();
        if convolved > 0 {
            lasting("last values", sizes.inner);
        }
        if convolved > mixer.inner() {
            lasting("last keys", sizes.keys);
            lasting("last queries", sizes.keys);
        }
        let state = match mixer.kind {
            MixerKind::Lfm2 => return,
            MixerKind::Rwkv => {
                // transformers' own shapes, all as wide as the model.
                let each =
                    |count| Shape::of([sizes.hidden, Dim("kept of each column", count), sequences]);
                keep("last tokens", each(2), with.activation);
                return keep("sums and largest key", each(3), DType::Fp32);
            }
            MixerKind::Mlstm => {
                keep("sum of keys", Shape::of([sizes.heads, sizes.state, sequences]), DType::Fp32);
                keep("largest gate", Shape::of([sizes.heads, sequences]), DType::Fp32);
                sizes.state
            }
            MixerKind::Minimax => sizes.head,
            MixerKind::Mamba
            | MixerKind::Zamba
            | MixerKind::FalconMamba
            | MixerKind::Jamba
            | MixerKind::Mamba2
            | MixerKind::FalconH1
            | MixerKind::Qwen3Next
            | MixerKind::RgLru
            | MixerKind::KimiLinear
            | MixerKind::KimiWhole => sizes.state,
        };
        let format = if mixer.fp32_state { DType::Fp32 } else { with.activation };
        keep("state", Shape::of([sizes.heads, sizes.head, state, sequences]), format);
    }
}
