//! Disentangled attention (transformers 5.23, `models/deberta_v2/modeling_deberta_v2.py`): beside
//! the product of queries and keys, scores hold those of queries with embedded distances, and of
//! keys with them.

use super::{Build, Linear, Part, Tables};
use crate::config::OWN_SIZES;
use crate::ops::tape::{Form, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// How distances enter the scores.
#[derive(Clone, Copy, Debug)]
struct Distances {
    /// Queries and keys made of embedded distances; those of the tokens where they share their
    /// matrices.
    query: Option<Linear>,
    key: Option<Linear>,
}

/// Attention with scores of distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disentangled {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    distances: Option<Distances>,
    several: bool,
    forms: Forms,
}

/// Shapes of one block.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, a, s, d]`.
    heads: Form,
    scores: Form,
    /// `[b, a, s, r]` of scores of all distances; `[1, a, r, d]` and `[b, a, r, d]` of embedded
    /// ones.
    all: Form,
    embedded: [Form; 2],
    /// `[s, s]`.
    square: Form,
    /// `[b, 1, s, s]`.
    mask: Form,
    one: Form,
    merged: Form,
}

impl Disentangled {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape) = (build.with, build.tape);
        let own = build.model().encoder.map_or([0; OWN_SIZES], |encoder| encoder.own);
        let (b, s, heads, d) = (with.b(), with.s(), with.own_heads(), with.head_dim());
        let columns = Dim(heads.0, heads.1.saturating_mul(d.1));
        let rows = Dim("embedded distances", own[0]);
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let row = tape.form([b, s, columns]);
        let project = |names| build.column(Part::Attention, names, (columns, with.h()), row);
        let query = project(("query weight", Some("query bias")));
        let biased = !build.model().family.modules().encoder.keys_without_bias;
        let key = project(("key weight", biased.then_some("key bias")));
        let value = project(("value weight", Some("value bias")));
        let one = Dim("one", 1);
        let of_rows = tape.form([one, rows, columns]);
        let apart = |there: u64, names, shared: Linear| {
            (there > 0).then(|| match own[3] {
                0 => build.linear(names, (columns, with.h()), of_rows),
                _ => Linear { form: of_rows, ..shared },
            })
        };
        let distances = (own[0] > 0).then(|| Distances {
            key: apart(
                own[1],
                ("key weight of distances", biased.then_some("key bias of distances")),
                key,
            ),
            query: apart(
                own[2],
                ("query weight of distances", Some("query bias of distances")),
                query,
            ),
        });
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", Some("output bias"));
        let output = build.row(Part::Attention, names, (with.h(), columns), build.shapes.hidden);
        let keys = Dim("keys", s.1);
        let forms = Forms {
            heads: build.shapes.queries,
            scores: build.shapes.scores,
            all: tape.form([b, heads, s, rows]),
            embedded: [tape.form([one, heads, rows, d]), tape.form([b, heads, rows, d])],
            square: tape.form([s, keys]),
            mask: tape.form([b, s, keys]),
            one: build.shapes.scalar,
            merged: tape.form([b, s, heads, d]),
        };
        Self { query, key, value, output, distances, several: heads.1 > 1, forms }
    }

    /// Heads before tokens, copied into that order.
    fn heads<'t>(&self, x: Var<'t>, form: Form) -> Var<'t> {
        let heads = x.heads(form, self.several);
        if self.several { heads.copy() } else { heads }
    }

    /// `x / scale`, by a tensor of one number, which is saved.
    fn scaled<'t>(&self, x: Var<'t>) -> Var<'t> {
        let scale = x.tape().constant("scale", self.forms.one, x.dtype());
        x.mul(scale)
    }

    /// Queries or keys of embedded distances, for every sequence.
    fn of_distances<'t>(&self, layer: &Linear, embedded: &Var<'t>) -> Var<'t> {
        let [one, each] = self.forms.embedded;
        self.heads(layer.run(embedded), one).repeat(each)
    }

    /// Scores of all distances, of which each pair of tokens takes its own.
    fn taken<'t>(
        &self,
        (x, other): (&Var<'t>, &Var<'t>),
        distances: &Var<'t>,
        steps: usize,
    ) -> Var<'t> {
        let tape = x.tape();
        let before: Vec<Var<'t>> = (0..steps)
            .map(|_| tape.constant("distances", self.forms.square, DType::Int64))
            .collect();
        let places = tape.constant("places of distances", distances.form(), DType::Int64);
        drop(before);
        let all = x.clone().matmul_transposed(other.clone(), self.forms.all, false);
        all.taken_along(&places, self.forms.scores)
    }

    /// The part of scores that distances make.
    fn biases<'t>(
        &self,
        (q, k): (&Var<'t>, &Var<'t>),
        (embedded, places): (&Var<'t>, &Var<'t>),
    ) -> Option<Var<'t>> {
        let distances = self.distances.as_ref()?;
        // The number by which products are divided has a name until the end.
        let _scale = q.tape().constant("scale in fp32", self.forms.one, DType::Fp32);
        let of_queries = distances
            .query
            .filter(|_| self.shares())
            .map(|layer| self.of_distances(&layer, embedded));
        let of_keys = distances.key.map(|layer| self.of_distances(&layer, embedded));
        let of_queries =
            of_queries.or_else(|| distances.query.map(|layer| self.of_distances(&layer, embedded)));
        let mut score: Option<Var<'t>> = None;
        let mut _first = None;
        if let Some(of_keys) = &of_keys {
            let taken = self.taken((q, of_keys), places, 1);
            score = Some(self.scaled(taken.clone()).plus());
            _first = Some(taken);
        }
        if let Some(of_queries) = &of_queries {
            let taken = self.taken((k, of_queries), places, 2);
            let scaled = self.scaled(taken.clone());
            score = Some(match score {
                Some(score) => score.add_in_place(&scaled),
                None => scaled.plus(),
            });
        }
        score
    }

    /// True if distances are projected by the same weights as tokens.
    fn shares(&self) -> bool {
        self.distances
            .as_ref()
            .and_then(|distances| distances.key)
            .is_some_and(|key| key.weight == self.key.weight)
    }

    /// The attention's contribution.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let [q, k, v] = [(&self.query, "queries"), (&self.key, "keys"), (&self.value, "values")]
            .map(|(layer, name)| self.heads(layer.run(x), self.forms.heads).named(name));
        tape.at("Attention core", sources::PYTORCH_AUTOGRAD);
        let _scale = tape.constant("scale in fp32", self.forms.one, DType::Fp32);
        let mut scores =
            q.clone().matmul_transposed(self.scaled(k.clone()), self.forms.scores, false);
        let read = tables.alibi.as_ref().zip(tables.positions.as_ref());
        let biases = read.and_then(|read| self.biases((&q, &k), read));
        if let Some(biases) = &biases {
            scores = scores.add(biases.clone());
        }
        let seen = tape.constant("visible", self.forms.mask, DType::Mask);
        let hidden = tape.constant("not visible", self.forms.mask, DType::Mask);
        let scores = scores.filled(&{ hidden });
        let probabilities = scores.clone().apply(SOFTMAX);
        let output = probabilities.clone().matmul(v.clone(), self.forms.heads, false);
        let output = output.merge(self.forms.merged, self.several);
        drop((q, k, v, biases, seen, scores, probabilities));
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&{ output }), None)
    }
}
