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

use super::Build;
use crate::config::{Mixer, MixerKind};
use crate::ops::builder::Lowering;
use crate::ops::tape::{Factors, Form, Tape};
use crate::ops::tensor::{Dim, Shape, Split};
use crate::sources::{self, Source};
use crate::units::{DType, Flops, to_f64};

/// One parameter: name, output and input columns.
type Weight = (&'static str, [Dim; 2]);

/// Heads of a state.
const HEADS: &str = "heads of the state";
/// Columns of all heads.
const COLUMNS: &str = "columns of the state's heads";
/// Columns of all keys.
const KEY_COLUMNS: &str = "columns of the state's keys";

/// How tensor-parallel ranks share what has that dimension: by whole heads of the state, or of its
/// keys.
pub(crate) fn split(mixer: &Mixer, dim: &Dim) -> Option<Split> {
    match dim.0 {
        HEADS | COLUMNS => Some(Split::Heads(mixer.num_heads)),
        KEY_COLUMNS => Some(Split::Heads(mixer.num_key_heads)),
        _ => None,
    }
}

/// A width of 1: a vector.
const VECTOR: Dim = Dim("", 1);

/// The shapes that a state is made of.
pub(super) struct Sizes {
    /// `hidden_size`.
    pub hidden: Dim,
    /// Heads.
    pub heads: Dim,
    /// Columns of all heads.
    pub inner: Dim,
    /// Columns of all keys.
    pub keys: Dim,
    /// Width of one head.
    pub head: Dim,
    /// Width of a key, or of the state.
    pub state: Dim,
    /// Width of the step's narrow projection.
    pub rank: Dim,
    /// Tokens that the convolution sees.
    pub kernel: Dim,
}

impl Sizes {
    pub const fn of(with: &Lowering, mixer: &Mixer) -> Self {
        Self {
            hidden: with.h(),
            heads: Dim(HEADS, mixer.num_heads),
            inner: Dim(COLUMNS, mixer.inner()),
            keys: Dim(KEY_COLUMNS, mixer.keys()),
            head: Dim("head of the state", mixer.head_dim),
            state: Dim("state_size", mixer.state_size),
            rank: Dim("time_step_rank", mixer.time_step_rank),
            kernel: Dim("conv_kernel", mixer.conv_kernel),
        }
    }

    /// Matrices from hidden states into the state, one for each name.
    fn heads_of<const N: usize>(&self, names: [&'static str; N]) -> [Weight; N] {
        names.map(|name| (name, [self.inner, self.hidden]))
    }

    /// Matrices from hidden states into keys, queries and groups, one for each name.
    fn keys_of<const N: usize>(&self, names: [&'static str; N]) -> [Weight; N] {
        names.map(|name| (name, [self.keys, self.hidden]))
    }

    /// Out of the state.
    const fn output(&self) -> Weight {
        ("state output weight", [self.hidden, self.inner])
    }

    /// Into the state.
    fn projections(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(8);
        match kind {
            MixerKind::Mamba | MixerKind::Zamba | MixerKind::FalconMamba | MixerKind::Jamba => {
                all.extend(self.heads_of(["state input weight", "state gate weight"]));
            }
            MixerKind::Mamba2 | MixerKind::FalconH1 => {
                all.extend(self.heads_of(["state input weight", "state gate weight"]));
                all.extend(self.keys_of(["state key weight", "state query weight"]));
                all.push(("state step weight", [self.heads, self.hidden]));
            }
            MixerKind::Qwen3Next => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight", "state gate weight"]));
                let narrow = ["state strength weight", "state decay weight"];
                all.extend(narrow.map(|name| (name, [self.heads, self.hidden])));
            }
            MixerKind::KimiWhole => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of([
                    "state value weight",
                    "state decay weight",
                    "state gate weight",
                ]));
                all.push(("state strength weight", [self.heads, self.hidden]));
            }
            MixerKind::KimiLinear => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight"]));
                all.push(("state strength weight", [self.heads, self.hidden]));
                for names in [
                    ["narrow decay weight", "wide decay weight"],
                    ["narrow gate weight", "wide gate weight"],
                ] {
                    all.push((names[0], [self.head, self.hidden]));
                    all.push((names[1], [self.inner, self.head]));
                }
            }
            MixerKind::Minimax => {
                all.extend(self.heads_of([
                    "state query weight",
                    "state key weight",
                    "state value weight",
                    "state gate weight",
                ]));
            }
            MixerKind::RgLru => {
                all.extend(self.heads_of(["state input weight", "state gate weight"]))
            }
            MixerKind::Rwkv => {
                all.extend(self.heads_of([
                    "state key weight",
                    "state value weight",
                    "state gate weight",
                ]));
            }
            MixerKind::Mlstm => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight", "state gate weight"]));
                all.extend(
                    ["input gate weight", "forget gate weight"]
                        .map(|name| (name, [self.heads, self.hidden])),
                );
            }
            MixerKind::Lfm2 => all.extend(self.heads_of([
                "state input weight",
                "state gate weight",
                "output gate weight",
            ])),
        }
        all
    }

    /// All columns into the state together.
    pub fn all_columns(&self, kind: MixerKind) -> Dim {
        let columns = self
            .projections(kind)
            .iter()
            .map(|(_, [columns, _])| columns.1)
            .fold(0, u64::saturating_add);
        Dim("columns into the state", columns)
    }

    /// The state's own.
    fn own(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(10);
        let convolved = !matches!(kind, MixerKind::Minimax | MixerKind::Rwkv | MixerKind::Mlstm);
        let keyed = matches!(
            kind,
            MixerKind::Mamba2
                | MixerKind::FalconH1
                | MixerKind::Qwen3Next
                | MixerKind::KimiLinear
                | MixerKind::KimiWhole
        );
        let biased = matches!(
            kind,
            MixerKind::Mamba
                | MixerKind::Zamba
                | MixerKind::FalconMamba
                | MixerKind::Jamba
                | MixerKind::Mamba2
                | MixerKind::FalconH1
        );
        if convolved {
            all.push(("convolution of values", [self.inner, self.kernel]));
            all.extend(
                biased.then(|| vectors(["convolution's bias"], self.inner)).into_iter().flatten(),
            );
        }
        if keyed {
            for (name, bias) in [
                ("convolution of keys", "bias of keys"),
                ("convolution of queries", "bias of queries"),
            ] {
                all.push((name, [self.keys, self.kernel]));
                all.extend(biased.then_some((bias, [self.keys, VECTOR])));
            }
        }
        match kind {
            MixerKind::Mamba | MixerKind::Zamba | MixerKind::FalconMamba | MixerKind::Jamba => {
                let across = [
                    ("step weight", self.rank),
                    ("input weight", self.state),
                    ("readout weight", self.state),
                ];
                all.extend(across.map(|(name, width)| (name, [width, self.inner])));
                all.push(("wide step weight", [self.inner, self.rank]));
                all.extend(vectors(["step's bias", "skip"], self.inner));
                all.push(("decay", [self.inner, self.state]));
                if kind == MixerKind::Jamba {
                    all.extend(vectors(["step's scale"], self.rank));
                    all.extend(vectors(["input's scale", "readout's scale"], self.state));
                }
            }
            MixerKind::Mamba2 | MixerKind::FalconH1 => {
                all.extend(vectors(["step's bias", "decay", "skip"], self.heads));
                all.extend(
                    (kind == MixerKind::Mamba2)
                        .then(|| vectors(["scale"], self.inner))
                        .into_iter()
                        .flatten(),
                );
            }
            MixerKind::Qwen3Next => {
                all.extend(vectors(["step's bias", "decay"], self.heads));
                all.extend(vectors(["scale"], self.head));
            }
            MixerKind::KimiLinear | MixerKind::KimiWhole => {
                all.extend(vectors(["step's bias"], self.inner));
                all.extend(vectors(["decay"], self.heads));
                all.extend(vectors(["scale"], self.head));
            }
            MixerKind::Minimax => all.extend(vectors(["scale"], self.inner)),
            MixerKind::RgLru => all.extend(self.of_rg_lru()),
            MixerKind::Rwkv => all.extend(self.of_sums()),
            MixerKind::Mlstm => {
                all.extend(vectors(["input gate bias", "forget gate bias"], self.heads));
                all.extend(vectors(["scale"], self.inner));
            }
            MixerKind::Lfm2 => {}
        }
        all
    }

    /// Of a gated linear recurrence.
    fn of_rg_lru(&self) -> Vec<Weight> {
        let mut all = Vec::with_capacity(9);
        all.extend(
            ["input gate weight", "recurrent gate weight"]
                .map(|name| (name, [self.inner, self.head])),
        );
        all.extend(vectors(["input gate bias", "recurrent gate bias", "decay"], self.inner));
        all.extend(vectors(["convolution's bias", "input bias", "gate bias"], self.inner));
        all.extend(vectors(["output bias"], self.hidden));
        all
    }

    /// Of weighted sums, and of the gate beside the feed-forward layer, which reads mixes of two
    /// tokens as well.
    fn of_sums(&self) -> Vec<Weight> {
        let mut all = Vec::with_capacity(8);
        all.extend(vectors(["decay", "first decay"], self.inner));
        all.extend(vectors(["key's mix", "value's mix", "gate's mix"], self.hidden));
        all.push(("feed-forward gate weight", [self.hidden, self.hidden]));
        all.extend(vectors(["inner mix", "feed-forward gate's mix"], self.hidden));
        all
    }
}

/// One number for each head, or each of some columns.
fn vectors<const N: usize>(names: [&'static str; N], width: Dim) -> [Weight; N] {
    names.map(|name| (name, [width, VECTOR]))
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
