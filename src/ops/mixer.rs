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

use super::builder::Lowering;
use super::tensor::{Dim, Kept, Role, Shape, Split, Tensor};
use crate::config::{Mixer, MixerKind};
use crate::sources;
use crate::units::DType;

/// One parameter: name, output and input columns.
pub(super) type Weight = (&'static str, [Dim; 2]);

/// Heads of a state.
const HEADS: &str = "heads of the state";
/// Columns of all heads.
const COLUMNS: &str = "columns of the state's heads";
/// Columns of all keys.
const KEY_COLUMNS: &str = "columns of the state's keys";

/// How tensor-parallel ranks share what has that dimension: by whole heads of the state, or of its keys.
pub(super) fn split(mixer: &Mixer, dim: &Dim) -> Option<Split> {
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
            by_head: Split::Heads(mixer.num_heads),
            by_key: Split::Heads(mixer.num_key_heads),
        }
    }

    /// Matrices from hidden states into the state, one for each name.
    fn heads_of<const N: usize>(&self, names: [&'static str; N]) -> [Weight; N] {
        names.map(|name| (name, [self.inner, self.hidden]))
    }

    /// The same into keys, queries and groups.
    fn keys_of<const N: usize>(&self, names: [&'static str; N]) -> [Weight; N] {
        names.map(|name| (name, [self.keys, self.hidden]))
    }

    /// Out of the state.
    pub const fn output(&self) -> Weight {
        ("state output weight", [self.hidden, self.inner])
    }

    /// Into the state.
    pub fn projections(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(8);
        match kind {
            MixerKind::Mamba | MixerKind::Jamba => all.extend(self.heads_of(["state input weight", "state gate weight"])),
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
            MixerKind::KimiLinear => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight"]));
                all.push(("state strength weight", [self.heads, self.hidden]));
                for names in [["narrow decay weight", "wide decay weight"], ["narrow gate weight", "wide gate weight"]] {
                    all.push((names[0], [self.head, self.hidden]));
                    all.push((names[1], [self.inner, self.head]));
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
    pub fn own(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(10);
        let convolved = !matches!(kind, MixerKind::Minimax);
        let keyed = matches!(kind, MixerKind::Mamba2 | MixerKind::FalconH1 | MixerKind::Qwen3Next | MixerKind::KimiLinear);
        let biased = matches!(kind, MixerKind::Mamba | MixerKind::Jamba | MixerKind::Mamba2 | MixerKind::FalconH1);
        if convolved {
            all.push(("convolution of values", [self.inner, self.kernel]));
            all.extend(biased.then(|| vectors(["convolution's bias"], self.inner)).into_iter().flatten());
        }
        if keyed {
            for (name, bias) in [("convolution of keys", "bias of keys"), ("convolution of queries", "bias of queries")] {
                all.push((name, [self.keys, self.kernel]));
                all.extend(biased.then_some((bias, [self.keys, VECTOR])));
            }
        }
        match kind {
            MixerKind::Mamba | MixerKind::Jamba => {
                let across = [("step weight", self.rank), ("input weight", self.state), ("readout weight", self.state)];
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
                all.extend((kind == MixerKind::Mamba2).then(|| vectors(["scale"], self.inner)).into_iter().flatten());
            }
            MixerKind::Qwen3Next => {
                all.extend(vectors(["step's bias", "decay"], self.heads));
                all.extend(vectors(["scale"], self.head));
            }
            MixerKind::KimiLinear => {
                all.extend(vectors(["step's bias"], self.inner));
                all.extend(vectors(["decay"], self.heads));
                all.extend(vectors(["scale"], self.head));
            }
            MixerKind::Minimax => all.extend(vectors(["scale"], self.inner)),
            MixerKind::Lfm2 => {}
        }
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
