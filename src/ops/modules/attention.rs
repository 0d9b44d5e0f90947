//! Attention: projections, rotation and the two cores.

use super::attention_core::Core;
use super::gate::Behind;
use super::index_blocks::IndexBlocks;
use super::norm::Norm;
use super::rotary::{OwnTables, Rotary};
use super::rotation::{Rotated, Rotation};
use super::shared::{Narrow, narrowed};
use super::sinks::Sinks;
use super::value_mask::ValueMask;
use super::{Build, Cached, Linear, Part, Shapes, Tables};
use crate::config::{Indexer, Keys, PositionEmbedding, QueryKeyNorm, RotationStyle};
use crate::ops::builder::Lowering;
use crate::ops::tape::{Form, SCALE, SIGMOID, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// Where queries and keys are normed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Head by head, before heads and tokens change places (qwen3).
    Rows,
    /// As those, once queries, keys and values are all there (afmoe).
    RowsLater,
    /// After they have (gemma3).
    Heads,
    /// After they have, and are rotated (nanochat).
    Rotated,
    /// All heads together (olmo2).
    Whole,
}

/// Norms of queries and of keys; a layer without keys of its own has none of these.
fn norms(build: &Build<'_>, has_keys: bool) -> (Place, Norm, Norm) {
    let (with, tape) = (build.with, build.tape);
    tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
    let place = match build.model().family.modules().query_key_norm {
        QueryKeyNorm::AfterTransposing => Place::Heads,
        QueryKeyNorm::AfterRotation => Place::Rotated,
        QueryKeyNorm::AllHeadsTogether => Place::Whole,
        QueryKeyNorm::OnceAllAreMade => Place::RowsLater,
        QueryKeyNorm::HeadByHead | QueryKeyNorm::OwnScales | QueryKeyNorm::OwnNorms => Place::Rows,
    };
    let d = with.head_dim();
    let unscaled = build.model().family.modules().unscaled_norms;
    let norm = |heads: Dim| match place {
        Place::Whole => {
            Norm::of_family(build, Dim(heads.0, heads.1.saturating_mul(d.1)), build.shapes.rows)
        }
        _ if unscaled => Norm::by_power(tape.form([with.b(), with.s(), heads])),
        _ => Norm::new(build, d, tape.form([with.b(), with.s(), heads])),
    };
    let query = norm(with.own_heads());
    (place, query, if has_keys { norm(with.own_kv_heads()) } else { query })
}

/// Self-attention as llama and its relatives write it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attention {
    query: Linear,
    /// `query` makes keys and values as well.
    joined: bool,
    /// Keys, and values; a layer that reads an earlier one's makes none, and one matrix may make
    /// both.
    keys: Option<Linear>,
    values: Option<Linear>,
    output: Linear,
    norms: Option<(Place, Norm, Norm)>,
    rotary: Option<Rotary>,
    /// Rotation that is not of the whole head in the format of hidden states.
    rotation: Option<Rotation>,
    own_tables: Option<OwnTables>,
    core: Core,
    /// The gate, difference or norm between the core and the output projection.
    behind: Behind,
    /// Pairs of matrices whose output is added to queries, keys and values.
    additions: Option<[Narrow; 3]>,
    /// Values are multiplied by a constant.
    scales_values: bool,
    /// Keys are scaled.
    scales_keys: bool,
    /// Attention sees the blocks of keys that an indexer chooses.
    index: Option<IndexBlocks>,
    /// It has a mask that values make.
    value_mask: Option<ValueMask>,
    /// Queries come with a gate on the output: `[b, s, a, 2d]` of both, and the gate as `[b, s, a ·
    /// d]`.
    joint_gate: Option<[Form; 2]>,
    /// Heads that share keys and values are given copies.
    repeats: bool,
    /// Some of the output is dropped.
    drops: bool,
    /// Heads are split once queries, keys and values are all made.
    splits_later: bool,
    shapes: Shapes,
    several: (bool, bool),
    /// `[b, s, a, d]` and `[b, s, k, d]`.
    rows: (Form, Form),
}

/// Shapes of queries beside their gate: by heads, and the gate by itself.
fn joint_gate(build: &Build<'_>) -> [Form; 2] {
    let (with, tape, heads) = (build.with, build.tape, build.with.own_heads());
    let both = Dim("query and gate", with.head_dim().1.saturating_mul(2));
    let columns = Dim(heads.0, heads.1.saturating_mul(with.head_dim().1));
    [tape.form([with.b(), with.s(), heads, both]), tape.form([with.b(), with.s(), columns])]
}

/// The matrix that makes queries: its names and heads, with those of keys and values where it makes
/// these as well, or twice as many where a gate comes with them.
fn columns_of_queries(build: &Build<'_>, joined: bool) -> (&'static str, &'static str, Dim) {
    let (heads, kv) = (build.with.own_heads(), build.with.own_kv_heads());
    if joined {
        let all = heads.1.saturating_add(kv.1.saturating_mul(2));
        let all = Dim("heads of queries, keys and values", all);
        return ("query, key and value weight", "query, key and value bias", all);
    }
    let gated = build.model().gates_attention();
    let columns = if gated { Dim(heads.0, heads.1.saturating_mul(2)) } else { heads };
    ("query weight", "query bias", columns)
}

impl Attention {
    pub fn new(build: &Build<'_>, keys: Keys, indexed: bool) -> Self {
        Self::reading(build, build.with.h(), keys, indexed)
    }

    /// This attention, with the terms that a layer of its own adds to queries, keys and values.
    pub fn adding(self, additions: &[Narrow; 3]) -> Self {
        Self { additions: Some(*additions), ..self }
    }

    /// Attention whose input is so wide.
    pub fn reading(build: &Build<'_>, input: Dim, keys: Keys, indexed: bool) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let sinks = model.attention_sinks.then(|| Sinks::new(build));
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let bias = |name| model.attention_bias.then_some(name);
        let of_values = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(with.value_dim().1));
        let project_to = |names, width: Dim| {
            build.column(Part::Attention, names, (width, input), build.of_tokens(width))
        };
        let project =
            |names, heads: Dim| project_to(names, Dim(heads.0, heads.1.saturating_mul(d.1)));
        let joined = build.kernels().joins_projections && keys == Keys::Own;
        let (name, name_of_bias, columns) = columns_of_queries(build, joined);
        let query = project((name, bias(name_of_bias)), columns);
        let own = keys == Keys::Own && !joined;
        let keys = (matches!(keys, Keys::Own | Keys::Joint) && !joined)
            .then(|| project(("key weight", bias("key bias")), kv));
        let values = own.then(|| project_to(("value weight", bias("value bias")), of_values(kv)));
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", model.attention_output_bias.then_some("output bias"));
        let output =
            build.row(Part::Attention, names, (with.h(), of_values(heads)), build.shapes.hidden);
        let norms = model.qk_norm.then(|| norms(build, keys.is_some()));
        let behind = Behind::new(build);
        let index = model.indexer().filter(|_| indexed).map(|sizes| IndexBlocks::new(build, sizes));
        let rotates = model.position_embedding == PositionEmbedding::Rotary;
        let rotary = rotates.then(|| Rotary::new(build));
        let apart = rotates && model.family.modules().rotation != RotationStyle::Whole;
        let rotation = apart.then(|| Rotation::new(build));
        let several = (heads.1 > 1, kv.1 > 1);
        let in_rows = |heads: Dim| tape.form([with.b(), with.s(), heads, d]);
        let rows = (in_rows(heads), in_rows(kv));
        let (core, shapes) = (Core::new(build).with_sinks(sinks), build.shapes);
        let (scales_values, scales_keys) =
            (model.family.modules().scales_values, model.family.modules().scales_branches);
        Self {
            query,
            joined,
            keys,
            values,
            output,
            norms,
            rotary,
            rotation,
            own_tables: OwnTables::new(build),
            core,
            behind,
            additions: None,
            scales_values,
            scales_keys,
            index,
            value_mask: ValueMask::new(build),
            joint_gate: model.gates_attention().then(|| joint_gate(build)),
            repeats: build.kernels().repeats_keys && kv.1 < heads.1,
            drops: with.dropout.residual,
            splits_later: model.family.modules().query_key_norm == QueryKeyNorm::OnceAllAreMade,
            shapes,
            several,
            rows,
        }
    }

    /// Keys and values: `2 · k · d` elements.
    pub fn cached(with: &Lowering, indexer: Option<&Indexer>) -> Cached {
        let heads = [
            ("cached keys", [with.kv_heads(), with.head_dim()]),
            ("cached values", [with.kv_heads(), with.value_dim()]),
        ];
        let one = |width| [Dim("one head", 1), Dim("index_head_dim", width)];
        let of_indexer = indexer.map(|indexer| ("cached index keys", one(indexer.head_dim)));
        heads.into_iter().chain(of_indexer).collect()
    }

    /// Keys or values by their layer. Layers without any of their own run for their products alone:
    /// a job that trains them cannot be made.
    fn made<'t>(&self, x: &Var<'t>, layer: Option<&Linear>, name: &'static str) -> Var<'t> {
        match layer {
            Some(layer) => layer.run(x),
            None => x.tape().constant(name, self.shapes.keys, x.dtype()),
        }
    }

    /// Values by heads, scaled where the modules do so.
    fn heads_of_values<'t>(&self, v: Var<'t>) -> Var<'t> {
        let v = v.heads(self.shapes.values, self.several.1);
        if self.scales_values { v.apply(SCALE).named("values") } else { v }
    }

    /// The attention's contribution, and the probabilities it returns.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let x = &self.shapes.gathered(x);
        let made = |layer, name| self.made(x, layer, name);
        let key = || made(self.keys.as_ref(), "keys of an earlier layer");
        let queries = |q: Var<'t>| q.named("queries").heads(self.shapes.queries, self.several.0);
        let keys = |k: Var<'t>| {
            let k = k.named("keys").heads(self.shapes.keys, self.several.1);
            if self.scales_keys { k.apply(SCALE).named("keys") } else { k }
        };
        let mut gates = None;
        let mut value = || {
            let name = "values of an earlier layer, or of the keys' matrix";
            let values = made(self.values.as_ref(), name).named("values");
            gates = self.behind.beside(x);
            values
        };
        let heads = |v| self.heads_of_values(v);
        let mut gate_of_queries = None;
        let (q, k, v) = match &self.norms {
            _ if self.joined => self.taken_apart(x),
            _ if self.additions.is_some() => {
                let [q, k, v] = self.added(x, [self.query.run(x), key(), value()]);
                (queries(q), keys(k), heads(v))
            }
            Some((Place::Rows, query, key_norm)) => {
                let queries = self.queries(x, &mut gate_of_queries);
                let q = query.run(&queries).swap(self.shapes.queries, self.several.0);
                drop(queries);
                let k =
                    key_norm.run(&key().view(self.rows.1)).swap(self.shapes.keys, self.several.1);
                (q, k, heads(value()))
            }
            Some((Place::RowsLater, query, key_norm)) => {
                let (q, k) = (self.query.run(x).named("queries"), key().named("keys"));
                let v = value();
                let (q, k) = self.normed_later((q, k), [query, key_norm]);
                (q, k, heads(v))
            }
            Some((Place::Whole, query, key_norm)) => {
                let q = query.run(&self.query.run(x));
                let k = key_norm.run(&key());
                let v = value();
                (queries(q), keys(k), heads(v))
            }
            Some((Place::Heads, query, key_norm)) => {
                let (q, k, v) = (queries(self.query.run(x)), keys(key()), heads(value()));
                let q = query.run(&{ q });
                let k = key_norm.run(&{ k });
                (q, k, v)
            }
            None if self.splits_later => {
                let (q, k, v) = (self.query.run(x), key(), value());
                (queries(q), keys(k), heads(v))
            }
            Some((Place::Rotated, ..)) | None => {
                (queries(self.query.run(x)), keys(key()), heads(value()))
            }
        };
        self.attended(x, (q, k, v), [gate_of_queries, gates], tables)
    }

    /// Queries and keys that are there both, normed head by head.
    fn normed_later<'t>(
        &self,
        (q, k): (Var<'t>, Var<'t>),
        norms: [&Norm; 2],
    ) -> (Var<'t>, Var<'t>) {
        q.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let q = norms[0].run(&{ q }.view(self.rows.0)).swap(self.shapes.queries, self.several.0);
        (q, norms[1].run(&{ k }.view(self.rows.1)).swap(self.shapes.keys, self.several.1))
    }

    /// The contribution of queries, keys and values: rotated, attended to, gated by what came with
    /// the queries or beside them, projected.
    fn attended<'t>(
        &self,
        x: &Var<'t>,
        (q, k, v): (Var<'t>, Var<'t>, Var<'t>),
        [with_queries, beside]: [Option<Var<'t>>; 2],
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let own = self.own_tables.map(|own| own.beside(tables, x.tape(), v.dtype()));
        let tables = own.as_ref().unwrap_or(tables);
        let (q, k, _parts) = self.rotated((q, k), tables);
        let (q, k) = self.normed_last(q, k);
        let (k, v) = self.of_every_head(tables.seen((k, v)));
        let chosen = self.index.as_ref().map(|index| index.run(x, tables));
        let own =
            chosen.as_ref().map(|(mask, _blocks)| Tables { mask: mask.clone(), ..tables.clone() });
        let own = own.or_else(|| self.value_mask.map(|mask| mask.beside(x.tape(), &v, tables)));
        let (mut output, weights) =
            self.behind.attended(&self.core, (&q, &k, &v), own.as_ref().unwrap_or(tables));
        if let Some(gate) = &with_queries {
            output = output.mul(gate.clone().apply(SIGMOID)).named("gated attention output");
        }
        let output = self.behind.gated(x, output, beside.as_ref());
        x.tape().at("Output projection", sources::PYTORCH_AUTOGRAD);
        let output = self.behind.normed(output);
        (self.output.run(&output).dropped_if(self.drops), weights)
    }

    /// Queries and keys, rotated, and parts that are held.
    fn rotated<'t>(&self, (q, k): (Var<'t>, Var<'t>), tables: &Tables<'t>) -> Rotated<'t> {
        match (&self.rotation, &self.rotary) {
            (Some(rotation), _) => rotation.run(q, k, tables),
            (None, Some(rotary)) => {
                let (q, k) = rotary.run((q, k), tables);
                (q, k, Vec::new())
            }
            (None, None) => (q, k, Vec::new()),
        }
    }

    /// Queries, keys and values, with the terms that pairs of matrices add to them.
    fn added<'t>(&self, x: &Var<'t>, mut made: [Var<'t>; 3]) -> [Var<'t>; 3] {
        for (made, narrow) in made.iter_mut().zip(self.additions.iter().flatten()) {
            *made = made.clone().add(narrowed(narrow, x));
        }
        made
    }

    /// Queries by heads; the gate that comes with them is put in order.
    fn queries<'t>(&self, x: &Var<'t>, gate: &mut Option<Var<'t>>) -> Var<'t> {
        let made = self.query.run(x);
        let Some([both, columns]) = self.joint_gate else { return made.view(self.rows.0) };
        let [queries, own] = made.view(both).split([self.rows.0; 2]);
        let own = if self.several.0 { own.copy() } else { own };
        *gate = Some(own.in_parts(columns).named("gate"));
        queries
    }

    /// Keys and values that every query head has for itself, where heads that share them are given
    /// copies.
    fn of_every_head<'t>(&self, (k, v): (Var<'t>, Var<'t>)) -> (Var<'t>, Var<'t>) {
        if !self.repeats {
            return (k, v);
        }
        let repeated = |x: &Var<'t>, name| {
            let rows = x.clone().swap(self.rows.1, self.several.1).repeat(self.rows.0).named(name);
            rows.swap(self.shapes.queries, self.several.0)
        };
        (repeated(&k, "keys of every head"), repeated(&v, "values of every head"))
    }

    /// Queries, keys and values of one product, each copied.
    fn taken_apart<'t>(&self, x: &Var<'t>) -> (Var<'t>, Var<'t>, Var<'t>) {
        let all = self.query.run(x).named("queries, keys and values");
        let [q, k, v] = all.split([self.rows.0, self.rows.1, self.rows.1]);
        let [q, k, v] = [(&q, "queries"), (&k, "keys"), (&v, "values")]
            .map(|(part, name)| part.clone().copy().named(name));
        (
            q.swap(self.shapes.queries, self.several.0),
            k.swap(self.shapes.keys, self.several.1),
            v.swap(self.shapes.values, self.several.1),
        )
    }

    /// Queries and keys, normed where that is done after rotation.
    fn normed_last<'t>(&self, q: Var<'t>, k: Var<'t>) -> (Var<'t>, Var<'t>) {
        let Some((Place::Rotated, query, key)) = &self.norms else { return (q, k) };
        q.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let q = query.run(&{ q });
        let k = key.run(&{ k });
        (q, k)
    }
}
