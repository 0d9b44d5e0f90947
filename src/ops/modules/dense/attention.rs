//! Attention of plain blocks: of tokens to each other, and to an encoder's states.

use super::super::attention_core::Core;
use super::super::norm::Norm;
use super::super::rotation::Rotation;
use super::super::sinks::Sinks;
use super::super::{Build, Linear, Part, Shapes, Tables};
use crate::config::{ModelConfig, PositionEmbedding, Projections, QueryKeyNorm};
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
    /// One for all, of which query, key and value of each head are taken one by one: by heads, with
    /// three in one.
    OfHeads(Linear, Form),
    /// One for all, of whose thirds copies are made; values stand before keys.
    Copied(Linear, Form),
}

/// Self-attention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attention {
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
    pub(super) states: Form,
}

/// The name of a weight that makes queries, keys and values.
const JOINT: &str = "query, key and value weight";

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

/// Norms of queries and of keys; those of parts of a joint product read copies.
fn norms(build: &Build<'_>, heads: [Dim; 2]) -> (QueryKeyNorm, [Norm; 2]) {
    let modules = build.model().family.modules();
    let norms = heads.map(|heads| norm_of_heads(build, heads));
    let of_parts = modules.projections == Projections::JointOfHeads;
    (modules.query_key_norm, if of_parts { norms.map(Norm::of_parts) } else { norms })
}

impl Attention {
    pub fn new(build: &Build<'_>) -> Self {
        Self::to(build, build, OWN)
    }

    /// Attention to an encoder's states.
    pub fn across(build: &Build<'_>) -> Self {
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
            build.column(Part::Attention, of_layer, (width, with.h()), build.of_tokens(width))
        };
        let project = |names, heads: Dim| project_of(build, names, heads);
        let project_keys = |names| project_of(of_keys, names, kv);
        let joint = Dim("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2)));
        let names_of_joint = (JOINT, bias("query, key and value bias"));
        let (projection, output) = if modules.projections == Projections::JointUnbound {
            (Projection::Unbound(project(names_of_joint, joint), row(columns(heads))), output())
        } else if modules.projections == Projections::JointOfHeads {
            let triple = Dim("head_dim of q+k+v", d.1.saturating_mul(3));
            let form = tape.form([with.b(), with.s(), heads, triple]);
            (Projection::OfHeads(project(names_of_joint, joint), form), output())
        } else if modules.projections == Projections::JointInFours {
            (Projection::Copied(project((JOINT, None), joint), row(columns(heads))), output())
        } else if modules.projections == Projections::Joint {
            let output = output();
            let parts = [row(columns(heads)), row(columns(kv))];
            let joint = project((JOINT, None), joint);
            (Projection::Joint(joint, parts), output)
        } else {
            let query = project(("query weight", bias("query bias")), heads);
            let of_key = bias("key bias").filter(|_| !modules.encoder.keys_without_bias);
            let key = project_keys(("key weight", of_key));
            let value = project_keys(("value weight", bias("value bias")));
            (Projection::Separate([query, key, value]), output())
        };
        tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let norms = model.qk_norm.then(|| norms(build, [heads, kv]));
        let rotation =
            (model.position_embedding == PositionEmbedding::Rotary).then(|| Rotation::new(build));
        Self {
            projection,
            output,
            norms,
            rotation,
            core: Core::new(build).with_sinks(sinks),
            ordered: modules.orders_heads,
            scaled: modules.scales_queries,
            shapes: build.shapes,
            several: [heads.1 > 1, kv.1 > 1],
            rows: [heads, kv].map(|heads| tape.form([with.b(), with.s(), heads, d])),
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
            Projection::OfHeads(joint, form) => {
                let joint = joint.run(x).named("queries, keys and values").view(*form);
                ([0, 1, 1].map(|at| joint.clone().slice(self.rows[at])), Some(joint))
            }
            Projection::Copied(joint, part) => {
                let joint = joint.run(x).named("queries, keys and values");
                let [q, v, k] = joint.clone().split([*part; 3]);
                ([q, k, v].map(Var::copy), Some(joint))
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

    /// Heads before tokens.
    fn transposed<'t>(&self, x: Var<'t>, form: Form, several: bool) -> Var<'t> {
        match self.projection {
            Projection::OfHeads(..) => x.swap(form, several),
            _ => x.heads(form, several),
        }
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
            if self.rotation.is_some_and(|rotation| rotation.is_by_tokens()) {
                return x.view(self.rows[number.min(1)]);
            }
            return self.ordered(self.transposed(x, form, several), several);
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
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let seen = tables.source.as_ref().unwrap_or(x);
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let ([q, k, v], _joint) = self.project(x, seen);
        let (q, k) = (self.heads(q, 0), self.heads(k, 1));
        let v = self.transposed(v, self.shapes.keys, self.several[1]);
        let v = self.ordered(v, self.several[1]);
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
