//! Dense blocks of one attention and one feed-forward layer (transformers 5.23,
//! `models/*/modeling_*.py`): `opt`, `phi`, `phi3`, `stablelm`, `cohere`, `granite` and `glm4`,
//! which order the same few parts in their own ways.

use super::attention_core::Core;
use super::disentangled::Disentangled;
use super::feed::FeedForward;
use super::mixers::StateLayer;
use super::norm::Norm;
use super::rare::rare;
use super::rotation::Rotation;
use super::sinks::Sinks;
use super::{Block, Build, Linear, Part, Shapes, Tables};
use crate::config::{
    EmbeddedParts, FeedForwardStyle, Keys, ModelConfig, Modules, PositionEmbedding, Projections,
    QueryKeyNorm,
};
use crate::ops::builder::Lowering;
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
    /// Queries, keys and values are copied into the order of heads.
    ordered: bool,
    shapes: Shapes,
    several: [bool; 2],
    /// `[b, s, a, d]` and `[b, s, k, d]`.
    rows: [Form; 2],
    /// The names of its projections.
    names: [&'static str; 2],
    /// Shape of the tensor that keys are made of.
    states: Form,
}

/// Names of self-attention's projections, and of those of attention to an encoder's states.
const OWN: [&str; 2] = ["Query, key and value projection", "Output projection"];
pub(crate) const CROSS: [&str; 2] =
    ["Cross-attention: query, key and value projection", "Cross-attention: output projection"];

/// The norm over queries, or over keys, of so many heads.
fn norm_of_heads(build: &Build<'_>, heads: Dim) -> Norm {
    let (with, tape, d) = (build.with, build.tape, build.with.head_dim());
    match build.model().family.modules().query_key_norm {
        QueryKeyNorm::OwnScales => {
            Norm::shaped(build, [heads, d], false, tape.form([with.b(), with.s(), heads]))
        }
        QueryKeyNorm::HeadByHead
        | QueryKeyNorm::OnceAllAreMade
        | QueryKeyNorm::AllHeadsTogether => {
            Norm::new(build, d, tape.form([with.b(), with.s(), heads]))
        }
        QueryKeyNorm::AfterTransposing | QueryKeyNorm::AfterRotation => {
            Norm::new(build, d, tape.form([with.b(), heads, with.s()]))
        }
        QueryKeyNorm::OwnNorms => {
            Norm::shaped(build, [heads, d], false, tape.form([with.b(), heads, with.s()]))
        }
    }
}

impl Attention {
    fn new(build: &Build<'_>) -> Self {
        Self::to(build, build, OWN)
    }

    /// Attention to an encoder's states.
    fn across(build: &Build<'_>) -> Self {
        let Some(source) = build.model().source else { return Self::new(build) };
        // Its keys are made of states that are as wide as the encoder, and as long as the source.
        let model = ModelConfig {
            hidden_size: source.hidden_size,
            qk_norm: false,
            ..build.model().clone()
        };
        let model = ModelConfig {
            position_embedding: PositionEmbedding::None,
            attention_sinks: false,
            ..model
        };
        let of_source = build.with.of_source(&model);
        let keys = Build::again(build.tape, &of_source);
        let scores = build.tape.form([
            build.with.b(),
            build.with.own_heads(),
            build.with.s(),
            keys.with.s(),
        ]);
        let shapes = Shapes {
            keys: keys.shapes.keys,
            values: keys.shapes.values,
            repeated: keys.shapes.repeated,
            scores,
            ..build.shapes
        };
        let with = Lowering {
            model: &ModelConfig { hidden_size: build.model().hidden_size, ..model.clone() },
            ..*build.with
        };
        let attention = Self::to(&Build { shapes, with: &with, ..*build }, &keys, CROSS);
        Self { core: attention.core.across(), ..attention }
    }

    /// Attention of queries of one length to keys of another.
    fn to(build: &Build<'_>, of_keys: &Build<'_>, names: [&'static str; 2]) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let modules = model.family.modules();
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let sinks = model.attention_sinks.then(|| Sinks::new(build));
        let columns = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(d.1));
        let row = |width: Dim| tape.form([with.b(), with.s(), width]);
        let output = || {
            tape.at(names[1], sources::PYTORCH_AUTOGRAD);
            let names = ("output weight", model.attention_output_bias.then_some("output bias"));
            build.row(Part::Attention, names, (with.h(), columns(heads)), build.shapes.hidden)
        };
        let bias = |name| model.attention_bias.then_some(name);
        let project_of = |build: &Build<'_>, of_layer, heads: Dim| {
            let (with, width) = (build.with, columns(heads));
            tape.at(names[0], sources::PYTORCH_AUTOGRAD);
            build.column(
                Part::Attention,
                of_layer,
                (width, with.h()),
                tape.form([with.b(), with.s(), width]),
            )
        };
        let project = |names, heads: Dim| project_of(build, names, heads);
        let project_keys = |names| project_of(of_keys, names, kv);
        let (projection, output) = if modules.projections == Projections::JointUnbound {
            let joint = Dim("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2)));
            let names = ("query, key and value weight", bias("query, key and value bias"));
            (Projection::Unbound(project(names, joint), row(columns(heads))), output())
        } else if modules.projections == Projections::Joint {
            let output = output();
            let joint = Dim("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2)));
            let parts = [row(columns(heads)), row(columns(kv))];
            (
                Projection::Joint(project(("query, key and value weight", None), joint), parts),
                output,
            )
        } else {
            let query = project(("query weight", bias("query bias")), heads);
            let of_key = bias("key bias").filter(|_| !modules.encoder.keys_without_bias);
            let key = project_keys(("key weight", of_key));
            (
                Projection::Separate([
                    query,
                    key,
                    project_keys(("value weight", bias("value bias"))),
                ]),
                output(),
            )
        };
        tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let norms = model.qk_norm.then(|| {
            (modules.query_key_norm, [heads, kv].map(|heads| norm_of_heads(build, heads)))
        });
        let rotation =
            (model.position_embedding == PositionEmbedding::Rotary).then(|| Rotation::new(build));
        let core = Core::new(build).with_sinks(sinks);
        let (shapes, several) = (build.shapes, [heads.1 > 1, kv.1 > 1]);
        let rows = [heads, kv].map(|heads| tape.form([with.b(), with.s(), heads, d]));
        let scaled = modules.scales_queries;
        Self {
            projection,
            output,
            norms,
            rotation,
            core,
            ordered: modules.orders_heads,
            scaled,
            shapes,
            several,
            rows,
            names,
            states: of_keys.shapes.hidden,
        }
    }

    /// Queries of `x`, keys and values of `seen`, all `[b, s, heads · d]`, and what they are slices
    /// of.
    fn project<'t>(&self, x: &Var<'t>, seen: &Var<'t>) -> ([Var<'t>; 3], Option<Var<'t>>) {
        match &self.projection {
            Projection::Separate([query, key, value]) => {
                let q = query.run(x).named("queries");
                let q = if self.scaled { q.apply(SCALE).named("queries") } else { q };
                ([q, key.run(seen).named("keys"), value.run(seen).named("values")], None)
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

    /// Heads before tokens, copied into that order where the modules do so.
    fn ordered<'t>(&self, heads: Var<'t>, several: bool) -> Var<'t> {
        if self.ordered && several { heads.copy() } else { heads }
    }

    /// Queries or keys as heads, normed.
    fn heads<'t>(&self, x: Var<'t>, number: usize) -> Var<'t> {
        let (form, several) = if number == 0 {
            (self.shapes.queries, self.several[0])
        } else {
            (self.shapes.keys, self.several[1])
        };
        let Some((place, norm)) =
            self.norms.as_ref().and_then(|(place, norms)| Some((*place, norms.get(number)?)))
        else {
            return self.ordered(x.heads(form, several), several);
        };
        x.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        match place {
            QueryKeyNorm::OwnScales
            | QueryKeyNorm::HeadByHead
            | QueryKeyNorm::OnceAllAreMade
            | QueryKeyNorm::AllHeadsTogether => norm
                .run(&x.view(if number == 0 { self.rows[0] } else { self.rows[1] }))
                .swap(form, several),
            QueryKeyNorm::AfterTransposing | QueryKeyNorm::AfterRotation => {
                norm.run(&x.heads(form, several))
            }
            // Heads are split, normed and joined.
            QueryKeyNorm::OwnNorms => norm.run(&x.heads(form, several).slice(form)).copy(),
        }
    }

    /// The attention's contribution, and the probabilities it returns.
    fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let seen = tables.source.as_ref().unwrap_or(x);
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let ([q, k, v], _joint) = self.project(x, seen);
        let (q, k) = (self.heads(q, 0), self.heads(k, 1));
        let v = self.ordered(v.heads(self.shapes.keys, self.several[1]), self.several[1]);
        let (q, k, _parts) = match &self.rotation {
            Some(rotation) => rotation.run(q, k, tables),
            None => (q, k, Vec::new()),
        };
        let (k, v) = tables.seen((k, v));
        let (output, weights) = self.core.run((&q, &k, &v), tables);
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
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
}

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
        let attention = (kind.keys != Keys::None).then(|| Mixer::new(build));
        let state = model.mixer().filter(|_| kind.mixer).map(|mixer| (rare().state)(build, mixer));
        let early = if modules.registers_norms_first { norm(0, count > 0) } else { None };
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
        let output = if self.parallel {
            self.side_by_side(tape, hidden, tables)
        } else {
            self.one_after_the_other(tape, hidden, tables)
        };
        (output.named("block output"), None)
    }
}
