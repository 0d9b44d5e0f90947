//! Sizes of a state, and the weights that are made of them.

use crate::config::{Mixer, MixerKind};
use crate::ops::builder::Lowering;
use crate::ops::tensor::Dim;

/// One parameter: name, output and input columns.
pub(super) type Weight = (&'static str, [Dim; 2]);

/// Heads of a state.
pub(super) const HEADS: &str = "heads of the state";

/// Columns of all heads.
pub(super) const COLUMNS: &str = "columns of the state's heads";

/// Columns of all keys.
pub(super) const KEY_COLUMNS: &str = "columns of the state's keys";

/// A width of 1: a vector.
const VECTOR: Dim = Dim("", 1);

/// The shapes that a state is made of.
pub(in super::super) struct Sizes {
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

    /// From hidden states through the width of one head.
    fn through_head(&self, [narrow, wide]: [&'static str; 2]) -> [Weight; 2] {
        [(narrow, [self.head, self.hidden]), (wide, [self.inner, self.head])]
    }

    /// Out of the state.
    pub(super) const fn output(&self) -> Weight {
        ("state output weight", [self.hidden, self.inner])
    }

    /// Into the state.
    pub(super) fn projections(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = Vec::with_capacity(8);
        match kind {
            MixerKind::Mamba
            | MixerKind::Zamba
            | MixerKind::FalconMamba
            | MixerKind::Jamba
            | MixerKind::RgLru => {
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
                let names = ["state value weight", "state decay weight", "state gate weight"];
                all.extend(self.heads_of(names));
                all.push(("state strength weight", [self.heads, self.hidden]));
            }
            MixerKind::KimiLinear => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight"]));
                all.push(("state strength weight", [self.heads, self.hidden]));
                all.extend(self.through_head(["narrow decay weight", "wide decay weight"]));
                all.extend(self.through_head(["narrow gate weight", "wide gate weight"]));
            }
            MixerKind::Minimax => {
                all.extend(self.heads_of([
                    "state query weight",
                    "state key weight",
                    "state value weight",
                    "state gate weight",
                ]));
            }
            MixerKind::Rwkv => {
                let names = ["state key weight", "state value weight", "state gate weight"];
                all.extend(self.heads_of(names));
            }
            MixerKind::Mlstm => {
                all.extend(self.keys_of(["state query weight", "state key weight"]));
                all.extend(self.heads_of(["state value weight", "state gate weight"]));
                let narrow = ["input gate weight", "forget gate weight"];
                all.extend(narrow.map(|name| (name, [self.heads, self.hidden])));
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

    /// Of the convolution before the state.
    fn of_convolution(&self, kind: MixerKind) -> Vec<Weight> {
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
        all
    }

    /// The state's own.
    pub(super) fn own(&self, kind: MixerKind) -> Vec<Weight> {
        let mut all = self.of_convolution(kind);
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
