//! Attention of many heads to one key that is the value too, beside compressed ones; its output is
//! turned back and projected in groups of heads (`DeepseekV4Attention`).

use super::super::attention_core::Core;
use super::super::norm::Norm;
use super::super::sinks::Sinks;
use super::super::{Build, Linear, Shapes, Tables};
use super::compressor::Compressor;
use super::streams::unscaled;
use super::turn::Turn;
use crate::config::{Compressed, Compresses};
use crate::ops::tape::{Factors, Form, Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// The module.
#[derive(Debug)]
pub(super) struct Attention {
    query: [Linear; 2],
    key: Linear,
    norms: [Norm; 2],
    /// A matrix for each group of heads, and one behind them.
    grouped: Param,
    output: Linear,
    core: Core,
    compressor: Option<Compressor>,
    /// Of queries, of keys, and of the output.
    turns: [Turn; 3],
    several: bool,
    /// Tokens and compressed keys that a query meets.
    met: u64,
    forms: Forms,
}

#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, a, s, d]`, `[b, a, s]` and `[b, 1, s, d]`.
    queries: Form,
    rows: Form,
    key: Form,
    /// `[b, 1, t, d]` with compressed keys, and the mask over these.
    joined: Form,
    mask: Form,
    /// `[s, d / 2]` of sines that turn back.
    sines: Form,
    /// `[b, s, g, c]`, `[g, b · s, c]`, `[g, r, c]`, `[g, b · s, r]`, `[b, s, g, r]` and `[b, s, g
    /// · r]`.
    groups: [Form; 2],
    weight: Form,
    made: [Form; 3],
}

/// Shapes of groups of heads.
fn of_groups(build: &Build<'_>, sizes: &Compressed, columns: u64) -> ([Dim; 3], Dim) {
    let groups = Dim("o_groups", sizes.o_groups);
    let rank = Dim("o_lora_rank", sizes.o_lora_rank);
    let of_one = Dim("columns of a group", columns / groups.1.max(1));
    let tokens = build.with.b().1.saturating_mul(build.with.s().1);
    ([groups, rank, of_one], Dim("batch · seq_length", tokens))
}

impl Attention {
    pub fn new(build: &Build<'_>, sizes: &Compressed, compresses: Compresses) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, heads, d, one) =
            (with.b(), with.s(), with.own_heads(), with.head_dim(), Dim("one", 1));
        let columns = Dim("columns of all heads", heads.1.saturating_mul(d.1));
        let rank = Dim("q_lora_rank", sizes.q_lora_rank);
        let ([groups, of_rank, of_one], tokens) = of_groups(build, sizes, columns.1);
        let rows = |width: Dim| tape.form([b, s, width]);
        let sinks = Sinks::new(build);
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let narrow = build.linear(("query down weight", None), (rank, with.h()), rows(rank));
        let query_norm = Norm::new(build, rank, build.shapes.rows);
        let query = build.linear(("query weight", None), (columns, rank), rows(columns));
        let key = build.linear(("key weight", None), (d, with.h()), rows(d));
        let key_norm = Norm::new(build, d, build.shapes.rows);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let all = Dim("o_groups · o_lora_rank", groups.1.saturating_mul(of_rank.1));
        let grouped = build.parameter("grouped output weight", [all, of_one]);
        let output = build.linear(("output weight", None), (with.h(), all), build.shapes.hidden);
        let rate = sizes.rate(compresses).filter(|_| compresses != Compresses::Nothing);
        let met = with
            .context_length
            .saturating_add(rate.map_or(0, |rate| with.context_length / rate.max(1)));
        let compressor = rate.map(|rate| Compressor::new(build, sizes, (compresses, rate)));
        let keys = Dim("tokens and compressed keys", met);
        let repeated = tape.form([b, heads, keys, d]);
        let scores = tape.form([b, heads, s, keys]);
        let joined = tape.form([b, heads, s, Dim("keys and sink", met.saturating_add(1))]);
        let shapes = Shapes { repeated: [repeated; 2], scores, ..build.shapes };
        let turn = |heads: Dim| Turn::new(build, [b, heads, s, d], [s]);
        Self {
            query: [narrow, query],
            key,
            norms: [query_norm, key_norm],
            grouped,
            output,
            core: Core::new(build).written_over(shapes, Sinks { scores: joined, ..sinks }),
            compressor,
            turns: [turn(heads), turn(one), turn(heads)],
            several: heads.1 > 1,
            met,
            forms: Forms {
                queries: build.shapes.queries,
                rows: tape.form([b, heads, s]),
                key: tape.form([b, one, s, d]),
                joined: tape.form([b, one, keys, d]),
                mask: tape.form([b, s, keys]),
                sines: tape.form([s, super::super::half(build.model().rotary_dim.unwrap_or(d.1))]),
                groups: [tape.form([b, s, groups, of_one]), tape.form([groups, tokens, of_one])],
                weight: tape.form([groups, of_rank, of_one]),
                made: [
                    tape.form([groups, tokens, of_rank]),
                    tape.form([b, s, groups, of_rank]),
                    rows(all),
                ],
            },
        }
    }

    /// The attention's contribution, and the probabilities that it returns.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let none = || tape.constant("no positions", self.forms.sines, x.dtype());
        let rotary = tables.rotary.clone().unwrap_or_else(|| (none(), none()));
        let [turn_query, turn_key, _] = &self.turns;
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let narrow = self.norms[0].run(&self.query[0].run(x)).named("narrow queries");
        let queries =
            self.query[1].run(&narrow).named("queries").heads(self.forms.queries, self.several);
        let queries = unscaled(&{ queries }, self.forms.rows);
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let queries = turn_query.run(&{ queries }, &rotary).named("queries");
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let key = self.norms[1].run(&self.key.run(x)).named("keys").view(self.forms.key);
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let mut key = turn_key.run(&{ key }, &rotary).named("keys");
        let mut own = tables.clone();
        let compressor = self.compressor.as_ref();
        let compressed =
            compressor.and_then(|compressor| compressor.run((x, &narrow), tables.mask.as_ref()));
        if let Some((keys, bias)) = &compressed {
            key = key.cat(keys.clone(), self.forms.joined).named("tokens and compressed keys");
            own.mask = tables
                .mask
                .clone()
                .zip(bias.clone())
                .map(|(mask, bias)| mask.cat(bias, self.forms.mask));
        } else if compressor.is_some() {
            key = key.copy().named("keys");
        }
        tape.meets(Some((self.met, Factors::Weights)));
        let (output, weights) = self.core.run((&queries, &key, &key), &own);
        tape.meets(None);
        let output = self.projected(tape, &output, &rotary);
        (output, weights)
    }

    /// The output turned back, and projected by groups of heads.
    fn projected<'t>(
        &self,
        tape: &'t Tape,
        output: &Var<'t>,
        (cos, sin): &(Var<'t>, Var<'t>),
    ) -> Var<'t> {
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let heads = output.clone().heads(self.forms.queries, self.several);
        let back = (cos.clone(), sin.clone().apply(SCALE));
        let turned = self.turns[2].run(&{ heads }, &back).named("attention output turned back");
        drop(back);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let [of_tokens, of_groups] = self.forms.groups;
        let [made, apart, together] = self.forms.made;
        let groups = turned.merge(of_tokens, self.several).view(of_tokens).swap(of_groups, true);
        let weight = tape.read(self.grouped).view(self.forms.weight);
        let groups = groups.matrices(weight, made, true).swap(apart, true).copy().view(together);
        self.output.run(&{ groups })
    }
}
