//! DeepSeek's latent attention (transformers 5.23: `modeling_deepseek_v3.py`, `modeling_deepseek_v2.py`).

use super::attention_core::Core;
use super::gate::Gate;
use super::indexer::Sight;
use super::norm::Norm;
use super::{Build, Cached, FP32, Linear, Part, Tables};
use crate::config::{self, AttentionGate, LayerKind, Mla, PositionEmbedding, RotaryTables};
use crate::ops::tape::{Form, SIGMOID, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// Multi-head latent attention: queries, keys and values grow from narrow projections.
#[derive(Debug)]
pub(super) struct Latent {
    narrow: Option<(Linear, Norm)>,
    query: Linear,
    compress: Linear,
    norm: Norm,
    grow: Linear,
    output: Linear,
    core: Core,
    several: bool,
    /// A gate of the output.
    gate: Option<Gate>,
    /// Queries are made with a gate: what both are made of, both together, the gate of every head,
    /// and all its columns.
    with_gate: Option<[Form; 4]>,
    /// Part of each head is rotated.
    rotates: bool,
    /// Rotated by complex numbers (DeepSeek-V2).
    complex: bool,
    /// The tokens that attention sees, where these are chosen.
    sight: Option<Sight>,
    forms: Forms,
}

/// Shapes of the parts of queries, keys and values.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, a, s, nope + rope]`.
    queries: Form,
    /// Unrotated and rotated part of queries or keys of every head.
    heads: [Form; 2],
    /// Compressed keys and values, and the rotated key that heads share.
    latents: [Form; 2],
    /// `[b, a, s, nope + v]`, and its value part.
    grown: [Form; 2],
    /// Half of what is rotated: of every head, of the shared key, of the tables.
    halves: [Form; 3],
}

impl Forms {
    fn new(build: &Build<'_>, mla: Mla) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, heads) = (with.b(), with.s(), with.own_heads());
        let of_heads = |width| tape.form([b, heads, s, Dim("part of the head", width)]);
        let of_tokens = |width| tape.form([b, s, Dim("part of the latent", width)]);
        let half = super::half(mla.qk_rope_head_dim).1;
        Self {
            queries: build.shapes.queries,
            heads: [of_heads(mla.qk_nope_head_dim), of_heads(mla.qk_rope_head_dim)],
            latents: [of_tokens(mla.kv_lora_rank), of_tokens(mla.qk_rope_head_dim)],
            grown: [
                of_heads(mla.qk_nope_head_dim.saturating_add(mla.v_head_dim)),
                of_heads(mla.v_head_dim),
            ],
            halves: [
                of_heads(half),
                of_tokens(half),
                tape.form([s, Dim("half of the rotated width", half)]),
            ],
        }
    }
}

impl Latent {
    pub fn new(build: &Build<'_>, mla: Mla, kind: LayerKind) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let heads = with.own_heads();
        let bias = |name| model.attention_bias.then_some(name);
        let project = |names, output: Dim, input| {
            build.linear(names, (output, input), build.of_tokens(output))
        };
        let columns = |width: u64| Dim("columns of all heads", heads.1.saturating_mul(width));
        tape.at("Latent query projection", sources::PYTORCH_AUTOGRAD);
        let rank = mla.q_lora_rank.map(|rank| Dim("q_lora_rank", rank));
        let narrow = rank.map(|rank| {
            let down = project(("query down weight", bias("query down bias")), rank, with.h());
            (down, Norm::new(build, rank, build.shapes.rows))
        });
        let grow = |names, output: Dim, input| {
            build.column(Part::Attention, names, (output, input), build.of_tokens(output))
        };
        let with_gate = model.family.modules().gate == AttentionGate::WithLatentQueries;
        let gated = if with_gate { mla.v_head_dim } else { 0 };
        let twice = |rank: Dim| Dim("narrow queries, twice", rank.1.saturating_mul(2));
        let input = if with_gate { rank.map(twice) } else { rank };
        let width = columns(mla.qk_head_dim().saturating_add(gated));
        let query = grow(("query weight", None), width, input.unwrap_or(with.h()));
        tape.at("Latent key and value projection", sources::PYTORCH_AUTOGRAD);
        let rank = Dim("kv_lora_rank", mla.kv_lora_rank);
        let both = Dim(
            "kv_lora_rank + qk_rope_head_dim",
            mla.kv_lora_rank.saturating_add(mla.qk_rope_head_dim),
        );
        let compress =
            project(("key and value down weight", bias("key and value down bias")), both, with.h());
        let norm = Norm::new(build, rank, build.shapes.rows);
        let grown = mla.qk_nope_head_dim.saturating_add(mla.v_head_dim);
        let grow = grow(("key and value weight", None), columns(grown), rank);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", bias("output bias"));
        let dims = (with.h(), columns(mla.v_head_dim));
        let output = build.row(Part::Attention, names, dims, build.shapes.hidden);
        let core = Core::new(build).without_repeating();
        let complex = model.family.modules().rotary_tables == RotaryTables::Complex;
        let sight = model.indexer().map(|sizes| Sight::new(build, mla, (sizes, kind.indexed)));
        let (several, forms) = (heads.1 > 1, Forms::new(build, mla));
        let rotates = model.position_embedding == PositionEmbedding::Rotary;
        Self {
            narrow,
            query,
            compress,
            norm,
            grow,
            output,
            core,
            several,
            gate: Gate::new(build),
            with_gate: with_gate.then(|| forms_with_gate(build, mla, input.unwrap_or(with.h()))),
            rotates,
            complex,
            sight,
            forms,
        }
    }

    /// One compressed vector and one rotated key part, which every tensor rank holds.
    pub fn cached(mla: Mla, indexer: Option<&config::Indexer>) -> Cached {
        let one = |width| [Dim("all heads", 1), width];
        let of_indexer = indexer
            .map(|indexer| ("cached index keys", one(Dim("index_head_dim", indexer.head_dim))));
        let latent = [
            ("cached latent vectors", one(Dim("kv_lora_rank", mla.kv_lora_rank))),
            ("cached rotated keys", one(Dim("qk_rope_head_dim", mla.qk_rope_head_dim))),
        ];
        latent.into_iter().chain(of_indexer).collect()
    }

    /// `expand_kv`: keys are put together in place, values stay a part of what they grew from.
    fn keys_and_values<'t>(
        &self,
        tape: &'t Tape,
        latent: &Var<'t>,
        rotated: &Var<'t>,
    ) -> (Var<'t>, Var<'t>) {
        tape.at("Latent key and value projection", sources::PYTORCH_AUTOGRAD);
        let [unrotated, turned] = self.forms.heads;
        let [grown, values] = self.forms.grown;
        let both = self.grow.run(latent).named("keys and values").heads(grown, self.several);
        let order = both.order();
        let dtype = both.dtype();
        let [keys, values] = both.split([unrotated, values]).map(|part| part.ordered(order));
        let rotated = rotated.clone().expand(turned);
        let key = tape.constant("keys", self.forms.queries, dtype).fill(&keys);
        (key.fill(&rotated), values)
    }

    fn rotate<'t>(&self, (q, k): (Var<'t>, Var<'t>), tables: &Tables<'t>) -> (Var<'t>, Var<'t>) {
        let Some((cos, sin)) = &tables.rotary else { return (q, k) };
        q.tape().at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        if self.complex {
            let (wide_q, wide_k) = (q.clone().cast(FP32), k.clone().cast(FP32));
            let turn =
                |wide: &Var<'t>, like: &Var<'t>| wide.clone().turned_by(cos).cast(like.dtype());
            return (turn(&wide_q, &q), turn(&wide_k, &k));
        }
        let [of_heads, shared, table] = self.forms.halves;
        let halves = |x: &Var<'t>, half: Form| {
            [x.clone().slice(half).ordered(x.order()), x.clone().slice(half).ordered(x.order())]
        };
        let tables = [cos.clone().slice(table), sin.clone().slice(table)];
        let (queries, keys) = (halves(&q, of_heads), halves(&k, shared));
        (interleaved(&queries, &tables, q.form()), interleaved(&keys, &tables, k.form()))
    }
}

/// Shapes of queries that are made with a gate from that input.
fn forms_with_gate(build: &Build<'_>, mla: Mla, input: Dim) -> [Form; 4] {
    let (with, heads, value) = (build.with, build.with.own_heads(), mla.v_head_dim);
    let of_heads =
        |width| build.tape.form([with.b(), heads, with.s(), Dim("part of the head", width)]);
    [
        build.of_tokens(input),
        of_heads(mla.qk_head_dim().saturating_add(value)),
        of_heads(value),
        build.of_tokens(Dim("columns of all heads", heads.1.saturating_mul(value))),
    ]
}

/// `apply_rotary_pos_emb_interleave` on even and odd columns.
pub(super) fn interleaved<'t>(
    [even, odd]: &[Var<'t>; 2],
    [cos, sin]: &[Var<'t>; 2],
    form: Form,
) -> Var<'t> {
    let first = even.clone().mul(cos.clone()).sub(odd.clone().mul(sin.clone()));
    let second = odd.clone().mul(cos.clone()).add(even.clone().mul(sin.clone()));
    first.cat(second, form)
}

impl Latent {
    /// Queries of heads, and the numbers of a gate that is made with them.
    fn queries<'t>(&self, narrow: &Var<'t>, raw: Option<&Var<'t>>) -> (Var<'t>, Option<Var<'t>>) {
        let Some(([joined, both, of_heads, columns], raw)) = self.with_gate.zip(raw) else {
            return (self.query.run(narrow).heads(self.forms.queries, self.several), None);
        };
        let joined = narrow.clone().cat(raw.clone(), joined);
        let made = self.query.run(&{ joined }).named("queries and gates").heads(both, self.several);
        let order = made.order();
        let [queries, gates] =
            made.split([self.forms.queries, of_heads]).map(|part| part.ordered(order));
        let gates = gates.copy().view(columns).named("gates of attention");
        (queries, Some(gates))
    }

    /// The attention's contribution, the probabilities that it returns, and the tokens that it
    /// hands on.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> Attended<'t> {
        tape.at("Latent query projection", sources::PYTORCH_AUTOGRAD);
        let raw = self.narrow.as_ref().map(|(down, norm)| (down.run(x), norm));
        let narrow = raw.as_ref().map(|(raw, norm)| norm.run(raw));
        // With a gate both stay to the end.
        let raw = raw.map(|(raw, _)| raw).filter(|_| self.with_gate.is_some());
        let (q, gates) = self.queries(narrow.as_ref().unwrap_or(x), raw.as_ref());
        // The indexer reads it once more.
        let narrow = narrow.filter(|_| self.sight.is_some());
        let (order, rotates) = (q.order(), self.rotates);
        let mut parts =
            rotates.then(|| q.clone().split(self.forms.heads).map(|part| part.ordered(order)));
        tape.at("Latent key and value projection", sources::PYTORCH_AUTOGRAD);
        let compressed = self.compress.run(x).named("latent keys and values");
        let [latent, k_rot] = compressed.clone().split(self.forms.latents);
        let latent = self.norm.run(&{ latent });
        let mut k_rot = k_rot;
        let queries = match parts.as_mut() {
            Some([q_pass, q_rot]) => {
                let (turned, keys) = self.rotate((q_rot.clone(), k_rot.clone()), tables);
                (*q_rot, k_rot) = (turned, keys);
                q_pass.clone().cat(q_rot.clone(), self.forms.queries).named("queries")
            }
            None => q.clone().named("queries"),
        };
        drop(q);
        let (keys, values) = self.keys_and_values(tape, &latent, &k_rot);
        let indexed =
            self.sight.as_ref().map(|sight| sight.run((x, narrow.as_ref().unwrap_or(x)), tables));
        let own =
            indexed.as_ref().map(|indexed| Tables { mask: indexed.mask.clone(), ..tables.clone() });
        let (mut output, weights) =
            self.core.run((&queries, &keys, &values), own.as_ref().unwrap_or(tables));
        if let Some(gate) = &self.gate {
            output = gate.run(x, output, None);
        }
        if let Some(gates) = &gates {
            let gates = gates.clone().cast_as(FP32, "gates in fp32").apply(SIGMOID);
            let format = output.dtype();
            output = output.mul(gates).cast_as(format, "gated attention output");
        }
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output), weights, indexed.and_then(|indexed| indexed.handed_on))
    }
}

/// Attention's output, the probabilities that it returns, and the tokens that it hands on to the
/// next block.
pub(super) type Attended<'t> = (Var<'t>, Option<Var<'t>>, Option<Var<'t>>);
