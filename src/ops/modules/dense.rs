//! Dense blocks of one attention and one feed-forward layer (transformers 5.23, `models/*/modeling_*.py`): `opt`, `phi`, `phi3`,
//! `stablelm`, `cohere`, `granite` and `glm4`, which order the same few parts in their own ways.

use super::attention_core::Core;
use super::disentangled::Disentangled;
use super::feed::FeedForward;
use super::mixers::Mixing;
use super::norm::Norm;
use super::rotation::Rotation;
use super::sinks::Sinks;
use super::{Block, Build, Linear, Part, Shapes, Tables};
use crate::config::{EmbeddedParts, FeedForwardStyle, Keys, Modules, PositionEmbedding, Projections, QueryKeyNorm};
use crate::ops::tape::{Form, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// The projections of queries, keys and values.
#[derive(Clone, Copy, Debug)]
enum Projection {
    Separate([Linear; 3]),
    /// One for all, of which three slices are taken (`phi3`): queries' and keys' columns.
    Joint(Linear, [Form; 2]),
    /// One for all, taken apart (`modernbert`).
    Unbound(Linear, Form),
}

/// Self-attention.
#[derive(Clone, Copy, Debug)]
struct Attention {
    projection: Projection,
    output: Linear,
    norms: Option<(QueryKeyNorm, [Norm; 2])>,
    rotation: Option<Rotation>,
    core: Core,
    /// Queries are scaled once more, before their product with keys (`opt`).
    scaled: bool,
    shapes: Shapes,
    several: [bool; 2],
    /// `[b, s, a, d]` and `[b, s, k, d]`.
    rows: [Form; 2],
}

impl Attention {
    fn new(build: &Build<'_>) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let modules = model.family.modules();
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let sinks = model.attention_sinks.then(|| Sinks::new(build));
        let columns = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(d.1));
        let row = |width: Dim| tape.form([with.b(), with.s(), width]);
        let output = || {
            tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
            let names = ("output weight", model.attention_output_bias.then_some("output bias"));
            build.row(Part::Attention, names, (with.h(), columns(heads)), build.shapes.hidden)
        };
        let bias = |name| model.attention_bias.then_some(name);
        let project = |names, heads: Dim| {
            tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
            build.column(Part::Attention, names, (columns(heads), with.h()), row(columns(heads)))
        };
        let (projection, output) = if modules.projections == Projections::JointUnbound {
            let joint = Dim("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2)));
            let names = ("query, key and value weight", bias("query, key and value bias"));
            (Projection::Unbound(project(names, joint), row(columns(heads))), output())
        } else if modules.projections == Projections::Joint {
            let output = output();
            let joint = Dim("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2)));
            let parts = [row(columns(heads)), row(columns(kv))];
            (Projection::Joint(project(("query, key and value weight", None), joint), parts), output)
        } else {
            let query = project(("query weight", bias("query bias")), heads);
            let key = project(("key weight", bias("key bias")), kv);
            (Projection::Separate([query, key, project(("value weight", bias("value bias")), kv)]), output())
        };
        tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let norm = |heads: Dim| match modules.query_key_norm {
            QueryKeyNorm::OwnScales => Norm::shaped(build, [heads, d], false, tape.form([with.b(), with.s(), heads])),
            QueryKeyNorm::HeadByHead | QueryKeyNorm::OnceAllAreMade | QueryKeyNorm::AllHeadsTogether => {
                Norm::new(build, d, tape.form([with.b(), with.s(), heads]))
            }
            QueryKeyNorm::AfterTransposing | QueryKeyNorm::AfterRotation => {
                Norm::new(build, d, tape.form([with.b(), heads, with.s()]))
            }
            QueryKeyNorm::OwnNorms => Norm::shaped(build, [heads, d], false, tape.form([with.b(), heads, with.s()])),
        };
        let norms = model.qk_norm.then(|| (modules.query_key_norm, [norm(heads), norm(kv)]));
        let rotation = (model.position_embedding == PositionEmbedding::Rotary).then(|| Rotation::new(build));
        let core = Core::new(build).with_sinks(sinks);
        let (shapes, several) = (build.shapes, [heads.1 > 1, kv.1 > 1]);
        let rows = [heads, kv].map(|heads| tape.form([with.b(), with.s(), heads, d]));
        let scaled = modules.scales_queries;
        Self { projection, output, norms, rotation, core, scaled, shapes, several, rows }
    }

    /// Queries, keys and values `[b, s, heads · d]`, and what they are slices of.
    fn project<'t>(&self, x: &Var<'t>) -> ([Var<'t>; 3], Option<Var<'t>>) {
        match &self.projection {
            Projection::Separate([query, key, value]) => {
                let q = query.run(x).named("queries");
                let q = if self.scaled { q.apply(SCALE).named("queries") } else { q };
                ([q, key.run(x).named("keys"), value.run(x).named("values")], None)
            }
            Projection::Unbound(joint, part) => {
                let joint = joint.run(x).named("queries, keys and values");
                (joint.clone().split([*part; 3]), Some(joint))
            }
            Projection::Joint(joint, [queries, keys]) => {
                let joint = joint.run(x).named("queries, keys and values");
                ([*queries, *keys, *keys].map(|form| joint.clone().slice(form)), Some(joint))
            }
        }
    }

    /// Queries or keys as heads, normed.
    fn heads<'t>(&self, x: Var<'t>, number: usize) -> Var<'t> {
        let (form, several) =
            if number == 0 { (self.shapes.queries, self.several[0]) } else { (self.shapes.keys, self.several[1]) };
        let Some((place, norm)) = self.norms.as_ref().and_then(|(place, norms)| Some((*place, norms.get(number)?))) else {
            return x.heads(form, several);
        };
        x.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        match place {
            QueryKeyNorm::OwnScales
            | QueryKeyNorm::HeadByHead
            | QueryKeyNorm::OnceAllAreMade
            | QueryKeyNorm::AllHeadsTogether => {
                norm.run(&x.view(if number == 0 { self.rows[0] } else { self.rows[1] })).swap(form, several)
            }
            QueryKeyNorm::AfterTransposing | QueryKeyNorm::AfterRotation => norm.run(&x.heads(form, several)),
            // Heads are split, normed and joined.
            QueryKeyNorm::OwnNorms => norm.run(&x.heads(form, several).slice(form)).copy(),
        }
    }

    /// The attention's contribution, and the probabilities it returns.
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let ([q, k, v], _joint) = self.project(x);
        let (q, k) = (self.heads(q, 0), self.heads(k, 1));
        let v = v.heads(self.shapes.keys, self.several[1]);
        let (q, k, _parts) = match &self.rotation {
            Some(rotation) => rotation.run(q, k, tables),
            None => (q, k, Vec::new()),
        };
        let (k, v) = tables.seen((k, v));
        let (output, weights) = self.core.run((&q, &k, &v), tables);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output), weights)
    }
}

/// How tokens see each other.
#[derive(Debug)]
enum Mixer {
    Heads(Box<Attention>),
    Disentangled(Box<Disentangled>),
}

impl Mixer {
    fn new(build: &Build<'_>) -> Self {
        match build.model().family.modules().encoder.embedding {
            EmbeddedParts::WithEmbeddedDistances => Self::Disentangled(Box::new(Disentangled::new(build))),
            _ => Self::Heads(Box::new(Attention::new(build))),
        }
    }

    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
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
    state: Option<Mixing>,
    feed: FeedForward,
    /// Before attention; before the feed-forward layer; behind attention; behind the feed-forward layer.
    norms: [Option<Norm>; 4],
    parallel: bool,
    /// Norms stand behind the sums (`opt` with `do_layer_norm_before: false`, which then has no final norm).
    norm_last: bool,
}

/// Names of the norms.
const NORMS: [&str; 4] = ["Input norm", "Post-attention norm", "Norm behind attention", "Norm behind feed-forward"];

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
        let attention = (kind.keys != Keys::None).then(|| Mixer::new(build));
        let state = model.mixer().filter(|_| kind.mixer).map(|mixer| Mixing::new(build, mixer));
        let early = if modules.registers_norms_first { norm(0, count > 0) } else { None };
        let feed = FeedForward::new(build, layer);
        let first = early.or_else(|| norm(0, count > 0));
        let norms = [first, norm(1, count > 1), norm(2, count > 2), norm(3, count > 3)];
        let norm_last = modules.norms_follow_without_final && !model.final_norm;
        Self { modules, attention, state, feed, norms, parallel: model.parallel_residual, norm_last }
    }

    /// The output of attention, or of the state that stands in its place.
    fn attend<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        match (&self.attention, &self.state) {
            (Some(attention), _) => attention.run(tape, x, tables),
            (None, Some(state)) => (state.run(tape, x, &mut Vec::new()).unwrap_or_else(|| x.clone()), None),
            (None, None) => (x.clone(), None),
        }
    }

    fn norm<'t>(&self, tape: &'t Tape, number: usize, x: &Var<'t>) -> Var<'t> {
        let (Some(Some(norm)), Some(name)) = (self.norms.get(number), NORMS.get(number)) else { return x.clone() };
        tape.at(name, sources::PYTORCH_AUTOGRAD);
        norm.run(x)
    }

    /// `residual + x`, or `residual + x · factor` (`granite`).
    fn sum<'t>(&self, residual: &Var<'t>, x: Var<'t>) -> Var<'t> {
        if self.modules.scales_residuals {
            let scaled = x.clone().apply(SCALE);
            return residual.clone().add(scaled);
        }
        residual.clone().add(x)
    }

    /// Attention and feed-forward read the same normed input, or each their own.
    fn side_by_side<'t>(&self, tape: &'t Tape, residual: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let normed = self.norm(tape, 0, residual);
        let (attention, _weights) = self.attend(tape, &normed, tables);
        let feed = match self.norms[1] {
            Some(_) => self.feed.run(tape, &self.norm(tape, 1, residual)).0,
            None => self.feed.run(tape, &normed).0,
        };
        if self.modules.adds_branches_first {
            return attention.clone().add(feed.clone()).add(residual.clone());
        }
        residual.clone().add(attention.clone()).add(feed.clone())
    }

    fn one_after_the_other<'t>(&self, tape: &'t Tape, input: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let before = |number: usize, x: &Var<'t>| if self.norm_last { x.clone() } else { self.norm(tape, number, x) };
        let behind = |number: usize, x: Var<'t>| if self.norm_last { self.norm(tape, number, &x) } else { x };
        let normed = before(0, input);
        let (mut attention, _weights) = self.attend(tape, &normed, tables);
        let _kept = self.modules.holds_attention.then(|| (normed.clone(), attention.clone()));
        drop(normed);
        attention = self.norm(tape, 2, &attention);
        let residual = behind(0, self.sum(input, attention).named("attention residual"));
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
    fn run<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        let output =
            if self.parallel { self.side_by_side(tape, hidden, tables) } else { self.one_after_the_other(tape, hidden, tables) };
        (output.named("block output"), None)
    }
}
