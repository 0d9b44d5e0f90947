//! Blocks of several residual streams (Alternating Updates, Baykal et al. 2023; transformers 5.23,
//! `Gemma3nTextDecoderLayer`).
//!
//! Every block predicts all streams from all, runs attention and feed-forward on one of them, and
//! corrects all by what came out. Beside attention stands a residual layer of low rank (LAuReL,
//! Menghani et al. 2024), and behind the correction an input that each block has of its own.

mod attention;
mod ends;
mod feed;
mod keys;
mod with_input;

use super::adapter::unread_linear;
use super::mlp::Activation;
use super::norm::Norm;
use super::{Block, Build, Linear, Tables};
use crate::config::{AltUp, Keys};
use crate::ops::tape::{Form, Param, SCALE, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use attention::Attention;
pub(crate) use ends::EMBEDDING_OF_LAYERS;
pub(super) use ends::Streams;
use feed::FeedForward;
pub(crate) use keys::{OfLayer, SharedKeys};
pub(super) use with_input::WithInput;

use super::FP32;

/// Shapes of the streams and of the tensors that mix them.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[n, b, s, h]`, and all but the first stream.
    streams: [Form; 2],
    /// `[b, s, h]`.
    one: Form,
    /// `[b, s, h, n]`: a token's streams side by side.
    mixed: Form,
    /// `[b, s, n, n]`.
    square: Form,
    /// `[n, b, s, 1]`.
    factors: Form,
    /// `[b, s, n]`.
    routed: Form,
}

impl Forms {
    fn new(build: &Build<'_>, altup: &AltUp) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, h, n) = (with.b(), with.s(), with.h(), inputs(altup));
        Self {
            streams: [n, Dim("further streams", n.1.saturating_sub(1))]
                .map(|count| tape.form([count, b, s, h])),
            one: build.shapes.hidden,
            mixed: tape.form([b, s, h, n]),
            square: tape.form([b, s, n, n]),
            factors: tape.form([n, b, s, Dim("factor", 1)]),
            routed: tape.form([b, s, n]),
        }
    }
}

/// How many streams there are.
const fn inputs(altup: &AltUp) -> Dim {
    Dim("altup_num_inputs", altup.num_inputs)
}

/// The modules that predict and correct the streams.
#[derive(Clone, Copy, Debug)]
struct Mixing {
    /// The first stream is multiplied by it before the block's own input is added to the rest.
    scale: Param,
    corrections: Param,
    predictions: Linear,
    router: Linear,
    norm: Norm,
    forms: Forms,
}

impl Mixing {
    fn new(build: &Build<'_>, altup: &AltUp) -> Self {
        let (with, tape, forms) = (build.with, build.tape, Forms::new(build, altup));
        let (h, n) = (with.h(), inputs(altup));
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        let scale = build.vector("scale of the first stream", h);
        let corrections = unread_linear(build, "correction coefficients", (n, n));
        let squared = Dim("altup_num_inputs²", n.1.saturating_mul(n.1));
        let form = tape.form([with.b(), with.s(), squared]);
        let predictions = build.linear(("prediction coefficients", None), (squared, n), form);
        let router = build.linear(("stream router", None), (n, h), forms.routed);
        let norm = Norm::new(build, h, build.shapes.rows);
        tape.buffer("scale of router inputs", build.shapes.scalar, with.made_in);
        Self { scale, corrections, predictions, router, norm, forms }
    }

    /// `compute_router_modalities`.
    fn route<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let inputs = self.norm.run(x).apply(SCALE);
        let routed = self.router.run(&inputs);
        routed.clone().cast(FP32).apply(TANH).cast(x.dtype()).named("routed streams")
    }

    /// `predict`: each stream and a mix of all.
    fn predict<'t>(&self, streams: &Var<'t>) -> Var<'t> {
        streams.tape().at("Streams", sources::PYTORCH_AUTOGRAD);
        let routed = self.route(&streams.clone().slice(self.forms.one));
        let coefficients = self.predictions.run(&routed).view(self.forms.square);
        let all = streams.clone().view(self.forms.mixed);
        let mixed = all.mixed(coefficients.clone(), self.forms.mixed);
        let sum = mixed.add_to_part(self.forms.streams[0], streams);
        sum.clone()
            .view(self.forms.streams[0])
            .copy()
            .cast(streams.dtype())
            .named("predicted streams")
    }

    /// `correct`: every stream takes its share of what the block has changed in one.
    fn correct<'t>(&self, predictions: &Var<'t>, activated: &Var<'t>) -> Var<'t> {
        let tape = predictions.tape();
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        let routed = self.route(activated);
        let mut innovation = activated.clone().sub(predictions.clone().slice(self.forms.one));
        innovation = innovation.clone().repeat(self.forms.streams[0]).named("change of the stream");
        let weight = tape.read(self.corrections).clamp(2);
        let factors =
            routed.clone().linear_by(&weight.clone().for_product(), self.forms.routed).plus();
        let factors = factors.view(self.forms.factors);
        let corrected = innovation.clone().mul(factors.clone()).named("corrected streams");
        corrected.add_in_place(predictions)
    }
}

/// A residual layer of low rank.
#[derive(Clone, Copy, Debug)]
struct LowRank {
    left: Linear,
    right: Linear,
    norm: Norm,
}

impl LowRank {
    fn new(build: &Build<'_>, altup: &AltUp) -> Self {
        let (with, h, rank) = (build.with, build.with.h(), Dim("laurel_rank", altup.laurel_rank));
        build.tape.at("Low-rank residual", sources::PYTORCH_AUTOGRAD);
        let narrow = build.tape.form([with.b(), with.s(), rank]);
        let left = build.linear(("low-rank left", None), (rank, h), narrow);
        let right = build.linear(("low-rank right", None), (h, rank), build.shapes.hidden);
        Self { left, right, norm: Norm::new(build, h, build.shapes.rows) }
    }

    fn run<'t>(&self, x: &Var<'t>) -> Var<'t> {
        x.tape().at("Low-rank residual", sources::PYTORCH_AUTOGRAD);
        let narrow = self.left.run(x);
        let wide = self.right.run(&{ narrow });
        let normed = self.norm.run(&wide);
        x.clone().add(normed.clone()).named("low-rank residual")
    }
}

/// The input that a block has of its own, and the layers that join it to the streams.
#[derive(Clone, Copy, Debug)]
struct OwnInput {
    gate: Linear,
    projection: Linear,
    norm: Norm,
    act: Activation,
}

impl OwnInput {
    fn new(build: &Build<'_>, altup: &AltUp) -> Self {
        let (with, h) = (build.with, build.with.h());
        let width = Dim("hidden_size_per_layer_input", altup.hidden_size_per_layer_input);
        build.tape.at("Input of the layer", sources::PYTORCH_AUTOGRAD);
        let narrow = build.tape.form([with.b(), with.s(), width]);
        let gate = build.linear(("layer input gate weight", None), (width, h), narrow);
        let projection =
            build.linear(("layer input projection weight", None), (h, width), build.shapes.hidden);
        Self {
            gate,
            projection,
            norm: Norm::new(build, h, build.shapes.rows),
            act: Activation::new(build),
        }
    }

    /// The summand of all streams but the first.
    fn run<'t>(&self, first: Var<'t>, input: Option<&Var<'t>>) -> Var<'t> {
        let mut first = self.gate.run(&{ first });
        first = self.act.run(&{ first });
        if let Some(input) = input {
            first = first.clone().mul(input.clone()).named("gated input of the layer");
        }
        first = self.projection.run(&{ first });
        self.norm.run(&{ first })
    }
}

/// One block.
#[derive(Debug)]
pub(super) struct Alternating {
    attention: Attention,
    feed: FeedForward,
    /// Before and behind attention, before and behind the feed-forward layer.
    norms: [Norm; 4],
    mixing: Mixing,
    low_rank: LowRank,
    own_input: OwnInput,
}

/// Names of the four norms.
const NORMS: [&str; 4] =
    ["Input norm", "Post-attention norm", "Pre-feed-forward norm", "Post-feed-forward norm"];

/// `x` after the norm of that number.
fn normed<'t>(norms: &[Norm; 4], number: usize, x: &Var<'t>) -> Var<'t> {
    let (Some(norm), Some(name)) = (norms.get(number), NORMS.get(number)) else { return x.clone() };
    x.tape().at(name, sources::PYTORCH_AUTOGRAD);
    norm.run(x)
}

impl Alternating {
    pub fn new(build: &Build<'_>, altup: &AltUp, keys: Keys) -> Self {
        let attention = Attention::new(build, keys);
        let feed = FeedForward::new(build);
        let norms = NORMS.map(|name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, build.with.h(), build.shapes.rows)
        });
        let (mixing, low_rank) = (Mixing::new(build, altup), LowRank::new(build, altup));
        Self { attention, feed, norms, mixing, low_rank, own_input: OwnInput::new(build, altup) }
    }

    fn norm<'t>(&self, number: usize, x: &Var<'t>) -> Var<'t> {
        normed(&self.norms, number, x)
    }

    /// The streams with the block's own input in all but the first.
    fn finish<'t>(&self, corrected: Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let tape = corrected.tape();
        let [_, further] = self.mixing.forms.streams;
        tape.at("Input of the layer", sources::PYTORCH_AUTOGRAD);
        let mut first = corrected.clone().slice(self.mixing.forms.one).copy();
        first = first.clone().mul(tape.read(self.mixing.scale));
        let added = self.own_input.run(first, tables.own_input.as_ref());
        // `x[1:] += y` adds in place, and then copies what it added to over itself.
        let summed = corrected.add_to_part(further, &added);
        let again = summed.clone().slice(further);
        summed.fill(&again).named("block output")
    }
}

impl Block for Alternating {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let predictions = self.mixing.predict(hidden);
        let active = predictions.clone().slice(self.mixing.forms.one);
        let normed = self.norm(0, &active);
        let led_here = tape.recorded();
        let low_rank = self.low_rank.run(&normed);
        let (attention, _weights) = self.attention.run(tape, (&normed, led_here), tables);
        let attention = self.norm(1, &{ attention });
        let gated = active.clone().add(attention.clone()).named("attention residual");
        let both = gated
            .clone()
            .add(low_rank.clone())
            .apply(SCALE)
            .named("attention and low-rank residual");
        let normed_again = self.norm(2, &both);
        let fed = self.feed.run(&normed_again, tables);
        let fed_normed = self.norm(3, &fed);
        let activated = both.clone().add(fed_normed.clone()).named("activated stream");
        let corrected = self.mixing.correct(&predictions, &activated);
        (self.finish(corrected, tables), None)
    }
}
