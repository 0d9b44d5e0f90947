//! Layers that keep a state, of which some run a block of attention and a feed-forward layer before
//! it, whose weights they share (`models/zamba/modeling_zamba.py`,
//! `models/zamba2/modeling_zamba2.py`).

use super::attention::Attention;
use super::mixers::StateLayer;
use super::mlp::Mlp;
use super::norm::Norm;
use super::rare::rare;
use super::{Block, Build, Linear, Tables};
use crate::config::{Keys, ModelConfig, SharedBlocks};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// Two matrices, the first of which makes few columns.
pub(super) type Narrow = [Linear; 2];

/// Runs `x` through such a pair.
pub(super) fn narrowed<'t>([into, out]: &Narrow, x: &Var<'t>) -> Var<'t> {
    out.run(&into.run(x))
}

/// A block that layers share, with the parameters that one of them adds to it and the projection of
/// its output.
#[derive(Debug)]
struct Shared {
    /// Over the layer's input beside embedded tokens.
    norm: Norm,
    attention: Attention,
    feed_norm: Norm,
    mlp: Mlp,
    output: Linear,
    /// `[b, s, 2h]`.
    joined: Form,
}

impl Shared {
    fn new(build: &Build<'_>, shared: SharedBlocks) -> Self {
        let (with, tape) = (build.with, build.tape);
        let both = Dim("hidden states and embedded tokens", with.h().1.saturating_mul(2));
        tape.shares(true);
        let attention = Attention::reading(build, both, Keys::Own, false);
        let mlp = Mlp::new(build);
        tape.at(NORM, sources::PYTORCH_AUTOGRAD);
        let norm = Norm::new(build, both, build.shapes.rows);
        tape.at(FEED_NORM, sources::PYTORCH_AUTOGRAD);
        let feed_norm = Norm::new(build, with.h(), build.shapes.rows);
        tape.shares(false);
        let rank = Dim("adapter_rank", shared.adapter_rank);
        let narrow = |names: [&'static str; 2], (width, input): (Dim, Dim)| {
            let form = |width| tape.form([with.b(), with.s(), width]);
            let into = build.linear((names[0], None), (rank, input), form(rank));
            [into, build.linear((names[1], None), (width, rank), form(width))]
        };
        let attention = if shared.adapts_attention {
            tape.at("Query, key and value projection", sources::STATE_SPACES);
            let names = [
                ["narrow query weight", "wide query weight"],
                ["narrow key weight", "wide key weight"],
                ["narrow value weight", "wide value weight"],
            ];
            attention.adding(&names.map(|names| narrow(names, (both, both))))
        } else {
            attention
        };
        let mlp = if shared.adapter_rank > 0 {
            tape.at("Feed-forward up", sources::STATE_SPACES);
            let width = Dim("gate and up width", with.ffn().1.saturating_mul(2));
            mlp.adding(narrow(
                ["narrow gate and up weight", "wide gate and up weight"],
                (width, with.h()),
            ))
        } else {
            mlp
        };
        tape.at(OUTPUT, sources::STATE_SPACES);
        let output = build.linear(
            ("weight behind the shared block", None),
            (with.h(), with.h()),
            build.shapes.hidden,
        );
        Self {
            norm,
            attention,
            feed_norm,
            mlp,
            output,
            joined: tape.form([with.b(), with.s(), both]),
        }
    }

    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let through = {
            tape.at(NORM, sources::PYTORCH_AUTOGRAD);
            let embedded = tables.own_input.clone().unwrap_or_else(|| x.clone());
            let mut hidden =
                x.clone().cat(embedded, self.joined).named("hidden states and embedded tokens");
            hidden = self.norm.run(&{ hidden });
            // Probabilities keep their name until the block returns.
            let (seen, _weights) = self.attention.run(tape, &{ hidden }, tables);
            tape.at(FEED_NORM, sources::PYTORCH_AUTOGRAD);
            hidden = self.feed_norm.run(&{ seen });
            self.mlp.run(tape, &{ hidden })
        };
        tape.at(OUTPUT, sources::STATE_SPACES);
        self.output.run(&{ through })
    }
}

/// The operations of a shared block that other blocks do not have.
const NORM: &str = "Norm of the shared block";
const FEED_NORM: &str = "Pre-feed-forward norm";
const OUTPUT: &str = "Projection behind the shared block";

/// A layer that keeps a state, behind a shared block where the layer runs one.
#[derive(Debug)]
pub(super) struct BehindShared {
    shared: Option<Box<Shared>>,
    state: Option<Box<dyn StateLayer>>,
    norm: Norm,
}

impl BehindShared {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let model: &ModelConfig = build.model();
        let kind = model.kind_of(layer);
        let shares = model.shared.filter(|_| kind.keys != Keys::None);
        let shared = shares.map(|shared| Box::new(Shared::new(build, shared)));
        let state = model.mixer().map(|mixer| (rare().state)(build, mixer));
        build.tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        Self { shared, state, norm: Norm::new(build, build.with.h(), build.shapes.rows) }
    }
}

impl Block for BehindShared {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        residual: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let seen = tables.before.clone().or_else(|| self.part_before(tape, residual, tables));
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let mut hidden = residual.clone();
        if let Some(seen) = &seen {
            hidden = hidden.add(seen.clone()).named("norm input");
        }
        hidden = self.norm.run(&{ hidden });
        let kept = self
            .state
            .as_ref()
            .and_then(|state| state.run(tape, &{ hidden.clone() }, &mut Vec::new()));
        let kept = kept.unwrap_or(hidden);
        (residual.clone().add(kept).named("block output"), None)
    }

    fn part_before<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> Option<Var<'t>> {
        self.shared.as_ref().map(|shared| shared.run(tape, hidden, tables))
    }

    fn has_part_before(&self) -> bool {
        self.shared.is_some()
    }
}
