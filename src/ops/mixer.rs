//! States of fixed size that some layers keep instead of keys and values: state spaces, linear attention, short convolutions.
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

use super::builder::{Lowering, workspace};
use super::tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};
use crate::config::{Mixer, MixerKind};
use crate::sources;
use crate::units::{DType, Flops, to_f64};

/// One parameter: name, output and input columns, and how tensor-parallel ranks share it.
type Weight = (&'static str, [Dim; 2], Split);

/// A width of 1: a vector.
const VECTOR: Dim = Dim("", 1);

/// The shapes that a state is made of.
struct Sizes {
    /// `hidden_size`.
    hidden: Dim,
    /// Heads.
    heads: Dim,
    /// Columns of all heads.
    inner: Dim,
    /// Columns of all keys.
    keys: Dim,
    /// Width of one head.
    head: Dim,
    /// Width of a key, or of the state.
    state: Dim,
    /// Width of the step's narrow projection.
    rank: Dim,
    /// Tokens that the convolution sees.
    kernel: Dim,
    by_head: Split,
    by_key: Split,
}

impl Sizes {
    const fn of(with: &Lowering, mixer: &Mixer) -> Self {
        Self {
            hidden: with.h(),
            heads: Dim("heads of the state", mixer.num_heads),
            inner: Dim("columns of the state's heads", mixer.inner()),
            keys: Dim("columns of the state's keys", mixer.keys()),
            head: Dim("head of the state", mixer.head_dim),
            state: Dim("state_size", mixer.state_size),
            rank: Dim("time_step_rank", mixer.time_step_rank),
            kernel: Dim("conv_kernel", mixer.conv_kernel),
            by_head: Split::Heads(mixer.num_heads),
            by_key: Split::Heads(mixer.num_key_heads),
        }
    }

    /// Matrices from hidden states into the state, one for each name.
    fn heads_of<const N: usize>(&self, names: [&'static str; N]) -> [Weight; N] {
        names.map(|name| (name, [self.inner, self.hidden], self.by_head))
    }

    /// The same into keys, queries and groups.
    fn keys_of<const N: usize>(&self, names: [&'static str; N]) -> [Weight; N] {
        names.map(|name| (name, [self.keys, self.hidden], self.by_key))
    }

    /// One number for each head, or each of some columns.
    fn vectors<const N: usize>(&self, names: [&'static str; N], width: Dim) -> [Weight; N] {
        names.map(|name| {
            (
                name,
                [width, VECTOR],
                if width.0 == self.heads.0 || width.0 == self.inner.0 { self.by_head } else { Split::Replicated },
            )
        })
    }

    /// A convolution of each column.
    const fn convolution(&self, name: &'static str, columns: Dim, split: Split) -> Weight {
        (name, [columns, self.kernel], split)
    }

    /// Into the state.
    fn projections(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(8);
        match kind {
            MixerKind::Mamba | MixerKind::Jamba => all.extend(self.heads_of(["state input weight", "state gate weight"])),
            MixerKind::Mamba2 | MixerKind::FalconH1 => {
                all.extend(self.heads_of(["state input weight", "state gate weight"]));
                all.extend(self.keys_of(["state key weight", "state query weight"]));
                all.push(("state step weight", [self.heads, self.hidden], self.by_head));
            }
            MixerKind::Qwen3Next => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight", "state gate weight"]));
                let narrow = ["state strength weight", "state decay weight"];
                all.extend(narrow.map(|name| (name, [self.heads, self.hidden], self.by_head)));
            }
            MixerKind::KimiLinear => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight"]));
                all.push(("state strength weight", [self.heads, self.hidden], self.by_head));
                for names in [["narrow decay weight", "wide decay weight"], ["narrow gate weight", "wide gate weight"]] {
                    all.push((names[0], [self.head, self.hidden], Split::Replicated));
                    all.push((names[1], [self.inner, self.head], self.by_head));
                }
            }
            MixerKind::Minimax => {
                all.extend(self.heads_of(["state query weight", "state key weight", "state value weight", "state gate weight"]));
            }
            MixerKind::Lfm2 => all.extend(self.heads_of(["state input weight", "state gate weight", "output gate weight"])),
        }
        all
    }

    /// The state's own.
    fn own(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(10);
        let convolved = !matches!(kind, MixerKind::Minimax);
        let keyed = matches!(kind, MixerKind::Mamba2 | MixerKind::FalconH1 | MixerKind::Qwen3Next | MixerKind::KimiLinear);
        let biased = matches!(kind, MixerKind::Mamba | MixerKind::Jamba | MixerKind::Mamba2 | MixerKind::FalconH1);
        if convolved {
            all.push(self.convolution("convolution of values", self.inner, self.by_head));
            all.extend(biased.then(|| self.vectors(["convolution's bias"], self.inner)).into_iter().flatten());
        }
        if keyed {
            for (name, bias) in [("convolution of keys", "bias of keys"), ("convolution of queries", "bias of queries")] {
                all.push(self.convolution(name, self.keys, self.by_key));
                all.extend(biased.then_some((bias, [self.keys, VECTOR], self.by_key)));
            }
        }
        match kind {
            MixerKind::Mamba | MixerKind::Jamba => {
                let across = [("step weight", self.rank), ("input weight", self.state), ("readout weight", self.state)];
                all.extend(across.map(|(name, width)| (name, [width, self.inner], self.by_head)));
                all.push(("wide step weight", [self.inner, self.rank], self.by_head));
                all.extend(self.vectors(["step's bias", "skip"], self.inner));
                all.push(("decay", [self.inner, self.state], self.by_head));
                if kind == MixerKind::Jamba {
                    all.extend(self.vectors(["step's scale"], self.rank));
                    all.extend(self.vectors(["input's scale", "readout's scale"], self.state));
                }
            }
            MixerKind::Mamba2 | MixerKind::FalconH1 => {
                all.extend(self.vectors(["step's bias", "decay", "skip"], self.heads));
                all.extend((kind == MixerKind::Mamba2).then(|| self.vectors(["scale"], self.inner)).into_iter().flatten());
            }
            MixerKind::Qwen3Next => {
                all.extend(self.vectors(["step's bias", "decay"], self.heads));
                all.extend(self.vectors(["scale"], self.head));
            }
            MixerKind::KimiLinear => {
                all.extend(self.vectors(["step's bias"], self.inner));
                all.extend(self.vectors(["decay"], self.heads));
                all.extend(self.vectors(["scale"], self.head));
            }
            MixerKind::Minimax => all.extend(self.vectors(["scale"], self.inner)),
            MixerKind::Lfm2 => {}
        }
        all
    }
}

/// Products over the whole state for each token: what it forgets or predicts, what is written, what is read.
const fn products(kind: MixerKind) -> f64 {
    match kind {
        MixerKind::Qwen3Next | MixerKind::KimiLinear => 3.0,
        MixerKind::Lfm2 => 0.0,
        _ => 2.0,
    }
}

/// The operations of a layer's state, with their parameters: into it, itself, out of it.
///
/// FLOPs: `2` per weight and token, and for each product over the state `2 · n · p · r` per token. Assumes the recurrent form, which
/// decoding runs; chunked prefill multiplies a little more.
pub(super) fn operations(with: &Lowering, mixer: &Mixer) -> [Op; 3] {
    let sizes = Sizes::of(with, mixer);
    let kind = mixer.kind;
    let columns = |weights: &[Weight]| weights.iter().map(|(_, [columns, _], _)| columns.1).fold(0, u64::saturating_add);
    let (projections, own) = (sizes.projections(kind), sizes.own(kind));
    let made = Dim("columns into the state", columns(&projections));
    let made = workspace("made for the state", [with.s(), with.b(), made], Split::Tensor, with.activation);
    let output = [("state output weight", [sizes.hidden, sizes.inner], sizes.by_head)];
    let projected = workspace("projected output", [with.s(), with.b(), with.h()], Split::Replicated, with.activation);
    let tokens = to_f64(with.seq_length) * to_f64(with.micro_batch_size);
    let state = to_f64(mixer.inner()) * to_f64(if kind == MixerKind::Minimax { mixer.head_dim } else { mixer.state_size });
    let over_state = Flops(2.0 * products(kind) * tokens * state);
    let op = |name, weights: &[Weight], workspace: Option<Tensor>, further: Flops| {
        let product =
            |(_, [columns, input], _): &Weight| with.matrix_product(columns.1, if input.0.is_empty() { 0 } else { input.1 });
        let forward = weights.iter().map(product).sum::<Flops>() + further;
        let tensors = weights.iter().map(|weight| parameter(with, *weight)).chain(workspace).collect();
        Op { name, tensors, forward, attention_core: false, source: source(kind) }
    };
    let none = Flops(0.0);
    [
        op("Projection into the state", &projections, Some(made), none),
        op("State", &own, None, over_state),
        op("Projection out of the state", &output, Some(projected), none),
    ]
}

/// A parameter as a tensor in the format of weights.
fn parameter(with: &Lowering, (name, [columns, input], split): Weight) -> Tensor {
    let shape = if input.0.is_empty() { Shape::of([columns]) } else { Shape::of([columns, input]) };
    Tensor { name, role: Role::Parameter, shape, dtype: with.parameter, split, kept: Kept::Always }
}

/// Where the layer's modules are.
const fn source(kind: MixerKind) -> sources::Source {
    match kind {
        MixerKind::Qwen3Next | MixerKind::KimiLinear | MixerKind::Minimax => sources::LINEAR_ATTENTION,
        _ => sources::STATE_SPACES,
    }
}

/// What one layer keeps of every sequence, whatever its length: the state, and the last tokens that the convolution sees again.
///
/// Assumes vLLM's shapes: `c - 1` tokens of every convolved column in the format of activations, the state in its own format.
pub(super) fn kept(with: &Lowering, mixer: &Mixer, mut push: impl FnMut(Tensor)) {
    let sizes = Sizes::of(with, mixer);
    let sequences = Dim("concurrent_sequences", with.concurrent_sequences);
    let last = Dim("last tokens", mixer.conv_kernel.saturating_sub(1));
    let mut tensor = |name, shape: Shape, dtype: DType, split| {
        if shape.elements().0 > 0 {
            push(Tensor { name, role: Role::KvCache, shape, dtype, split, kept: Kept::Always });
        }
    };
    let lasting = |columns: Dim| Shape::of([columns, last, sequences]);
    let convolved = mixer.conv_dim();
    if convolved > 0 {
        tensor("last values", lasting(sizes.inner), with.activation, sizes.by_head);
    }
    if convolved > mixer.inner() {
        tensor("last keys", lasting(sizes.keys), with.activation, sizes.by_key);
        tensor("last queries", lasting(sizes.keys), with.activation, sizes.by_key);
    }
    let state = match mixer.kind {
        MixerKind::Lfm2 => return,
        MixerKind::Minimax => Dim("head of the state", mixer.head_dim),
        _ => sizes.state,
    };
    tensor(
        "state",
        Shape::of([sizes.heads, sizes.head, state, sequences]),
        if mixer.fp32_state { DType::Fp32 } else { with.activation },
        sizes.by_head,
    );
}
