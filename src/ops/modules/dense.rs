//! Dense blocks of one attention and one feed-forward layer (transformers 5.23,
//! `models/*/modeling_*.py`): `opt`, `phi`, `phi3`, `stablelm`, `cohere`, `granite` and `glm4`,
//! which order the same few parts in their own ways.

mod attention;

use attention::Attention;
pub(crate) use attention::CROSS;

use super::disentangled::Disentangled;
use super::feed::FeedForward;
use super::mixers::StateLayer;
use super::norm::Norm;
use super::rare::rare;
use super::{Block, Build, Tables};
use crate::config::{EmbeddedParts, FeedForwardStyle, Keys, Modules};
use crate::ops::tape::{SCALE, Tape, Var};
use crate::sources;

/// How tokens see each other.
#[derive(Debug)]
enum Mixer {
    Heads(Box<Attention>),
    Disentangled(Box<Disentangled>),
}

impl Mixer {
    fn new(build: &Build<'_>) -> Self {
        match build.model().family.modules().encoder.embedding {
            EmbeddedParts::WithEmbeddedDistances => {
                Self::Disentangled(Box::new(Disentangled::new(build)))
            }
            _ => Self::Heads(Box::new(Attention::new(build))),
        }
    }

    fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        match self {
            Self::Heads(attention) => attention.run(tape, x, tables),
            Self::Disentangled(attention) => attention.run(tape, x, tables),
        }
    }
}

/// One block.
#[derive(Debug)]
pub(super) struct Dense {
    modules: &'static Modules,
    /// None in a layer that keeps a state instead.
    attention: Option<Mixer>,
    state: Option<Box<dyn StateLayer>>,
    feed: FeedForward,
    /// Before attention; before the feed-forward layer; behind attention; behind the feed-forward
    /// layer.
    norms: [Option<Norm>; 4],
    parallel: bool,
    /// Attention to the states of an encoder, with the norm beside it.
    across: Option<(Attention, Norm)>,
    /// Norms stand behind the sums (`opt` with `do_layer_norm_before: false`, which then has no
    /// final norm).
    norm_last: bool,
    /// Both halves drop some of their output.
    drops: bool,
}

/// A block's output, and what else it returns.
type Returned<'t> = (Var<'t>, Option<Var<'t>>);

/// The norm beside attention to an encoder's states.
pub(crate) const NORM_ACROSS: &str = "Norm beside cross-attention";

/// Names of the norms.
const NORMS: [&str; 4] =
    ["Input norm", "Post-attention norm", "Norm behind attention", "Norm behind feed-forward"];

/// Attention to the states of an encoder, with the norm beside it. Without the encoder they are
/// there, and nothing runs them.
fn across(build: &Build<'_>) -> Option<(Attention, Norm)> {
    let model = build.model();
    model.source?;
    let first = build.tape.parameters();
    let attention = Attention::across(build);
    build.tape.at(NORM_ACROSS, sources::PYTORCH_AUTOGRAD);
    let norm = Norm::new(build, build.with.h(), build.shapes.rows);
    if model.beside().is_none() {
        (first..build.tape.parameters()).for_each(|param| build.tape.idle(param));
        return None;
    }
    Some((attention, norm))
}

impl Dense {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let model = build.model();
        let (modules, count) = (model.family.modules(), model.norms_per_block);
        let unnormed = model.kind_of(layer).unnormed;
        let norm = |number: usize, there: bool| {
            (there && !(unnormed && number == 0)).then(|| {
                build.tape.at(NORMS.get(number).unwrap_or(&"Norm"), sources::PYTORCH_AUTOGRAD);
                Norm::new(build, build.with.h(), build.shapes.rows)
            })
        };
        let kind = model.kind_of(layer);
        let before = modules.registers_norm_before_attention.then(|| norm(0, count > 0)).flatten();
        let attention = (kind.keys != Keys::None).then(|| Mixer::new(build));
        let state = model.mixer().filter(|_| kind.mixer).map(|mixer| (rare().state)(build, mixer));
        let early =
            before.or_else(|| modules.registers_norms_first.then(|| norm(0, count > 0)).flatten());
        let across = across(build);
        let feed = FeedForward::new(build, layer);
        let first = early.or_else(|| norm(0, count > 0));
        let norms = [first, norm(1, count > 1), norm(2, count > 2), norm(3, count > 3)];
        let norm_last = modules.norms_follow_without_final && !model.final_norm;
        Self {
            modules,
            attention,
            state,
            feed,
            norms,
            parallel: model.parallel_residual,
            across,
            norm_last,
            drops: build.with.dropout.residual,
        }
    }

    /// The output of attention, or of the state that stands in its place.
    fn attend<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let tables = &Tables { source: None, ..tables.clone() };
        match (&self.attention, &self.state) {
            (Some(attention), _) => attention.run(tape, x, tables),
            (None, Some(state)) => {
                (state.run(tape, x, &mut Vec::new()).unwrap_or_else(|| x.clone()), None)
            }
            (None, None) => (x.clone(), None),
        }
    }

    fn norm<'t>(&self, tape: &'t Tape, number: usize, x: &Var<'t>) -> Var<'t> {
        let (Some(Some(norm)), Some(name)) = (self.norms.get(number), NORMS.get(number)) else {
            return x.clone();
        };
        tape.at(name, sources::PYTORCH_AUTOGRAD);
        norm.run(x)
    }

    /// `residual + x`, or `residual + x · factor` (`granite`).
    fn sum<'t>(&self, residual: &Var<'t>, x: Var<'t>) -> Var<'t> {
        if self.drops && self.modules.drops.as_added {
            return residual.clone().add(x.clone().dropped());
        }
        let x = x.dropped_if(self.drops);
        if self.modules.scales_residuals {
            let scaled = x.clone().apply(SCALE);
            return residual.clone().add(scaled);
        }
        residual.clone().add(x)
    }

    /// Attention and feed-forward read the same normed input, or each their own.
    fn side_by_side<'t>(
        &self,
        tape: &'t Tape,
        residual: &Var<'t>,
        tables: &Tables<'t>,
    ) -> Returned<'t> {
        let normed = self.norm(tape, 0, residual);
        let (attention, weights) = self.attend(tape, &normed, tables);
        let attention = attention.dropped_if(self.drops);
        let feed = match self.norms[1] {
            Some(_) => self.feed.run(tape, &self.norm(tape, 1, residual)).0,
            None => self.feed.run(tape, &normed).0,
        };
        let feed = feed.dropped_if(self.drops);
        let sum = if self.modules.adds_branches_first {
            attention.clone().add(feed.clone()).add(residual.clone())
        } else {
            residual.clone().add(attention.clone()).add(feed.clone())
        };
        (sum, weights.filter(|_| self.modules.returns_probabilities))
    }

    /// The residual stream behind attention to an encoder's states, where the block has it.
    fn across<'t>(&self, tape: &'t Tape, input: Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let Some((attention, norm)) = &self.across else { return input };
        let states = || tape.constant("states of the encoder", attention.states, input.dtype());
        let source = Some(tables.source.clone().unwrap_or_else(states));
        let normed = |x: &Var<'t>| {
            tape.at(NORM_ACROSS, sources::PYTORCH_AUTOGRAD);
            norm.run(x)
        };
        let x = if self.norm_last { input.clone() } else { normed(&input) };
        let alibi = tables.no_biases.clone();
        let (attended, _weights) =
            attention.run(tape, &x, &Tables { alibi, source, ..Tables::default() });
        drop(x);
        let sum = self.sum(&{ input }, attended).named("cross-attention residual");
        if self.norm_last { normed(&{ sum }) } else { sum }
    }

    fn one_after_the_other<'t>(
        &self,
        tape: &'t Tape,
        input: &Var<'t>,
        tables: &Tables<'t>,
    ) -> Var<'t> {
        let before = |number: usize, x: &Var<'t>| {
            if self.norm_last { x.clone() } else { self.norm(tape, number, x) }
        };
        let behind = |number: usize, x: Var<'t>| {
            if self.norm_last { self.norm(tape, number, &x) } else { x }
        };
        let normed = before(0, input);
        let (mut attention, _weights) = self.attend(tape, &normed, tables);
        let _kept = self.modules.holds_attention.then(|| (normed.clone(), attention.clone()));
        drop(normed);
        attention = self.norm(tape, 2, &attention);
        let residual = behind(0, self.sum(input, attention).named("attention residual"));
        let residual = self.across(tape, residual, tables);
        let normed = before(1, &residual);
        let mut feed = if self.modules.feed_forward == FeedForwardStyle::InLine {
            self.feed.in_line(tape, normed)
        } else {
            self.feed.run(tape, &{ normed }).0
        };
        feed = self.norm(tape, 3, &feed);
        behind(1, self.sum(&residual, feed))
    }
}

impl Block for Dense {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let (output, beside) = if self.parallel {
            self.side_by_side(tape, hidden, tables)
        } else {
            (self.one_after_the_other(tape, hidden, tables), None)
        };
        (output.named("block output"), beside)
    }
}
