//! A decoder block as llama and its relatives write it: norm, attention, sum, norm, feed-forward,
//! sum. Gemma 2 and its relatives have a norm behind each half, too
//! (`models/gemma2/modeling_gemma2.py`); OLMo 2 has those alone (`models/olmo2/modeling_olmo2.py`).

use super::attention::Attention;
use super::deepseek::{Attended, Latent};
use super::feed::FeedForward;
use super::mixers::StateLayer;
use super::norm::Norm;
use super::norm_gate::NormGate;
use super::rare::rare;
use super::{Block, Build, Cached, FP32, Tables};
use crate::config::{BlockLayout, Feed, Keys, LayerKind, ModelConfig};
use crate::ops::builder::Lowering;
use crate::ops::tape::{Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// How tokens see each other.
#[derive(Debug)]
enum Mixer {
    Heads(Box<Attention>),
    Latent(Box<Latent>),
}

impl Mixer {
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> Attended<'t> {
        match self {
            Self::Heads(attention) => {
                let (output, weights) = attention.run(tape, x, tables);
                (output, weights, None)
            }
            Self::Latent(attention) => attention.run(tape, x, tables),
        }
    }
}

/// The tensors that a layer with heads, or one with latents, keeps of a token.
pub(crate) fn cached(with: &Lowering, kind: LayerKind) -> Cached {
    let indexer = with.model.indexer().filter(|_| kind.indexed);
    with.model
        .mla
        .map_or_else(|| Attention::cached(with, indexer), |mla| Latent::cached(mla, indexer))
}

/// One block of llama, mistral, qwen2, qwen3, mixtral, qwen3-moe, gpt-oss, or of a decoder put
/// together from its fields.
#[derive(Debug)]
pub(super) struct Decoder {
    /// A state that the layer keeps, in place of attention or beside it.
    state: Option<Box<dyn StateLayer>>,
    /// None in a layer that keeps a state instead, or has a feed-forward layer alone.
    attention: Option<Mixer>,
    /// None in a layer that has attention or a state alone.
    mlp: Option<FeedForward>,
    /// Before attention; before the feed-forward layer; behind attention; behind the feed-forward
    /// layer.
    norms: [Option<Norm>; 4],
    /// Gates of the first two, where they have some.
    norm_gates: [Option<NormGate>; 2],
    /// Their names.
    names: &'static Norms,
    /// Attention and feed-forward read the same input.
    parallel: bool,
    /// Factors stand before and behind attention and state.
    scales_branches: bool,
    /// The feed-forward layer drops some of its output.
    drops: bool,
    /// The residual stream is in fp32; the format of norms, which read casts of it.
    wide: Option<DType>,
    /// Attention's probabilities are returned.
    returns_probabilities: bool,
    /// Each half is added to the norm that it reads, both scaled.
    adds_to_norms: bool,
    /// Numbers for each channel of the residual stream, before each half is added.
    stream_scales: Option<[Param; 2]>,
}

/// The norms by their places: before attention, before the feed-forward layer, behind attention,
/// behind the feed-forward layer. Each has a name, and they are registered in that order.
type Norms = [(usize, &'static str); 4];

/// A block that has further norms behind its halves, if at all, registers them last.
const FURTHER_BEHIND: Norms = [
    (0, "Input norm"),
    (1, "Post-attention norm"),
    (2, "Norm behind attention"),
    (3, "Norm behind feed-forward"),
];

/// A block with norms before and behind each half registers them as it runs them.
const AS_RUN: Norms = [
    (0, "Input norm"),
    (2, "Post-attention norm"),
    (1, "Pre-feed-forward norm"),
    (3, "Post-feed-forward norm"),
];

/// The norms of a model's blocks.
fn norms_of(model: &ModelConfig, attends: bool) -> &'static Norms {
    match block_of(model, attends) {
        BlockLayout::Sandwich | BlockLayout::NormsBehind => &AS_RUN,
        _ => &FURTHER_BEHIND,
    }
}

/// How a block is put together that has attention, or has none.
fn block_of(model: &ModelConfig, attends: bool) -> BlockLayout {
    match (model.family.modules().block, attends) {
        (BlockLayout::NormsBehindAttention, true) => BlockLayout::NormsBehind,
        (BlockLayout::NormsBehindAttention, false) => BlockLayout::PreNorm,
        (own, _) => own,
    }
}

/// True if a block has the norm of that place, where both its halves are there.
fn has_norm(model: &ModelConfig, attends: bool, place: usize) -> bool {
    let number = u64::try_from(place).unwrap_or(u64::MAX);
    match block_of(model, attends) {
        BlockLayout::Sandwich => true,
        BlockLayout::NormsBehind => place >= 2,
        _ => model.norms_per_block > number,
    }
}

/// The norm of that place. What norms behind a half give is added to the residual stream.
fn norm_at(build: &Build<'_>, place: usize) -> Norm {
    let norm = Norm::new(build, build.with.h(), build.shapes.rows);
    if place < 2 { norm } else { norm.anew() }
}

impl Decoder {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let kind = build.model().kind_of(layer);
        let state =
            build.model().mixer().filter(|_| kind.mixer).map(|mixer| (rare().state)(build, mixer));
        let attends = kind.keys != Keys::None;
        let encoder = &build.model().family.modules().encoder;
        let is_put_together = attends && !encoder.counts_attention;
        let attention = is_put_together.then(|| match build.model().mla {
            Some(mla) => Mixer::Latent(Box::new(Latent::new(build, mla, kind))),
            None => Mixer::Heads(Box::new(Attention::new(build, kind.keys, kind.indexed))),
        });
        let feeds = kind.feed != Feed::None;
        let mlp = (feeds && !encoder.counts_feed_forward).then(|| FeedForward::new(build, layer));
        if kind.feed == Feed::Experts && build.model().norms_experts() {
            norms_of_experts(build, layer);
        }
        // The norms of even places belong to attention, the others to the feed-forward layer.
        let halves = [kind.mixer || attends, feeds];
        let (mut norms, mut norm_gates) = ([None; 4], [None; 2]);
        let gated = [true, kind.feed == Feed::Experts];
        let names = norms_of(build.model(), attends);
        for (place, name) in *names {
            let half = halves.get(place % 2).copied().unwrap_or(true);
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            if let Some(norm) =
                norms.get_mut(place).filter(|_| half && has_norm(build.model(), attends, place))
            {
                *norm = Some(norm_at(build, place));
                if let Some((gate, _)) =
                    norm_gates.get_mut(place).zip(gated.get(place).filter(|gated| **gated))
                {
                    *gate = NormGate::new(build);
                }
            }
        }
        let parallel = build.model().parallel_residual || build.model().norms_per_block == 1;
        let modules = build.model().family.modules();
        let returns_probabilities = modules.returns_probabilities;
        let wide = modules.residual_in_fp32.then_some(build.format);
        let scales_branches = modules.scales_branches;
        let stream_scales = modules.scales_stream.then(|| {
            [
                "scale of the stream before attention",
                "scale of the stream before the feed-forward layer",
            ]
            .map(|name| build.vector(name, build.with.h()))
        });
        Self {
            state,
            attention,
            mlp,
            norms,
            norm_gates,
            names,
            parallel,
            drops: build.with.dropout.residual,
            scales_branches,
            wide,
            returns_probabilities,
            adds_to_norms: modules.adds_to_norms,
            stream_scales,
        }
    }

    /// The output of attention, of a state, or of both side by side. Blocks without either, and
    /// with a state that is only counted, run for their products alone: a job that trains them
    /// cannot be made.
    fn attend<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
        held: &mut Vec<Var<'t>>,
    ) -> Attended<'t> {
        let state = self.state.as_ref().and_then(|state| state.run(tape, x, held));
        let Some(attention) = &self.attention else {
            return (state.unwrap_or_else(|| x.clone()), None, None);
        };
        let (seen, weights, handed_on) = attention.run(tape, x, tables);
        (state.map_or_else(|| seen.clone(), |state| state.add(seen.clone())), weights, handed_on)
    }

    /// Attention beside a state, each with a factor behind it, and attention with one before: both
    /// keep their names to the block's end.
    fn side_by_state<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> Option<[Var<'t>; 2]> {
        let (attention, state) = (self.attention.as_ref()?, self.state.as_ref()?);
        let kept = state.run(tape, x, &mut Vec::new())?.apply(SCALE).named("state output");
        let (seen, ..) = attention.run(tape, &x.clone().apply(SCALE), tables);
        Some([kept, seen.apply(SCALE).named("attention output")])
    }

    /// The output of the feed-forward layer, and the second tensor that some layers return. A block
    /// without such a layer runs for its products alone, as for attention.
    fn feed<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Option<Var<'t>>) {
        self.mlp.as_ref().map_or_else(|| (x.clone(), None), |mlp| mlp.run(tape, x))
    }

    /// The residual stream behind attention and state, where the block has either, and the
    /// probabilities.
    fn first_half<'t>(
        &self,
        tape: &'t Tape,
        residual: &Var<'t>,
        tables: &Tables<'t>,
        held: &mut Vec<Var<'t>>,
    ) -> Attended<'t> {
        if self.attention.is_none() && self.state.is_none() {
            return (residual.clone(), None, None);
        }
        let (hidden, residual) = match self.wide {
            Some(format) => {
                let hidden = self.normed(tape, 0, &residual.clone().cast_as(format, "norm input"));
                (hidden, residual.clone().cast_as(FP32, "residual stream in fp32"))
            }
            None => (self.normed(tape, 0, residual), residual.clone()),
        };
        let residual = if self.adds_to_norms { hidden.clone() } else { residual };
        let (hidden, weights, handed_on) = self.attend(tape, &{ hidden }, tables, held);
        let hidden = self.normed(tape, 2, &{ hidden });
        (self.sum(0, residual, hidden).named("attention residual"), weights, handed_on)
    }

    /// The sum of a half and what it is added to.
    fn sum<'t>(&self, half: usize, residual: Var<'t>, x: Var<'t>) -> Var<'t> {
        if let Some(scale) = self.stream_scales.and_then(|scales| scales.get(half).copied()) {
            return x.tape().read(scale).mul(residual.clone()).add(x.clone());
        }
        if !self.adds_to_norms {
            return residual.add(x);
        }
        residual.clone().apply(SCALE).add(x.clone().apply(SCALE))
    }

    /// `x` after the norm of that number; `x` itself where there is none.
    fn normed<'t>(&self, tape: &'t Tape, number: usize, x: &Var<'t>) -> Var<'t> {
        let name = self.names.iter().find(|(place, _)| *place == number);
        let (Some(Some(norm)), Some((_, name))) = (self.norms.get(number), name) else {
            return x.clone();
        };
        tape.at(name, sources::PYTORCH_AUTOGRAD);
        let normed = norm.run(x);
        match self.norm_gates.get(number) {
            Some(Some(gate)) => gate.run(tape, &normed),
            _ => normed,
        }
    }

    /// Feed-forward beside attention, on the same input; one norm serves both where there is only
    /// one.
    fn side_by_side<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let normed = self.normed(tape, 0, hidden);
        let (attention, ..) = self.attend(tape, &normed, tables, &mut Vec::new());
        let attention = self.normed(tape, 2, &attention);
        let second = if self.norms[1].is_some() { self.normed(tape, 1, hidden) } else { normed };
        let (feed_forward, _beside) = self.feed(tape, &second);
        let feed_forward = self.normed(tape, 3, &feed_forward);
        attention.add(feed_forward).add(hidden.clone()).named("block output")
    }
}

/// Gemma 4's norms before and behind its experts and behind the dense layer beside them, and its
/// router's scales. They are declared and counted, and never run here.
fn norms_of_experts(build: &Build<'_>, layer: u64) {
    for name in ["Norm before experts", "Norm behind experts", "Norm behind the layer beside"] {
        build.tape.at(name, sources::PYTORCH_AUTOGRAD);
        Norm::new(build, build.with.h(), build.shapes.rows);
    }
    build.tape.at("Router", sources::PYTORCH_AUTOGRAD);
    build.vector("router scale", build.with.h());
    if let Some(moe) = build.model().moe_at(layer) {
        build.vector("scale of each expert", Dim("num_experts", moe.num_experts));
    }
}

impl Block for Decoder {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        residual: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        if self.parallel {
            return (self.side_by_side(tape, residual, tables), None);
        }
        let scales =
            self.scales_branches && self.state.as_ref().is_some_and(|state| state.is_run());
        let mut held = Vec::new();
        let branches = scales
            .then(|| self.side_by_state(tape, &self.normed(tape, 0, residual), tables))
            .flatten();
        let (residual, weights, handed_on) = match &branches {
            Some([state, attention]) => (
                residual
                    .clone()
                    .add(state.clone().add(attention.clone()))
                    .named("attention residual"),
                None,
                None,
            ),
            None => self.first_half(tape, residual, tables, &mut held),
        };
        let Some(feed) = &self.mlp else { return (residual.named("block output"), handed_on) };
        let hidden = self.normed(tape, 1, &residual);
        let residual = if self.adds_to_norms { hidden.clone() } else { residual };
        let (hidden, beside) = feed.run(tape, &{ hidden });
        let hidden = hidden.dropped_if(self.drops);
        let hidden = self.normed(tape, 3, &{ hidden });
        if self.returns_probabilities {
            return (self.sum(1, residual, hidden).named("block output"), weights);
        }
        // A second result of the feed-forward layer takes the name of the attention probabilities,
        // which are freed by this.
        let _beside = beside.or(weights);
        (self.sum(1, residual, hidden).named("block output"), handed_on)
    }
}
