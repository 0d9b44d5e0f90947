//! Both ends of a model of several streams: the table of every layer's own embedding, and what
//! makes streams of hidden states and hidden states of streams.

use std::rc::Rc;

use super::super::norm::Norm;
use super::super::{Build, Linear};
use super::{SharedKeys, inputs};
use crate::config::AltUp;
use crate::ops::tape::{Form, POWER, Param, ROOT, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The operation of the layers' own table.
pub(crate) const EMBEDDING_OF_LAYERS: &str = "Embedding of each layer";

/// The layers' own embedding, and the streams' projections.
#[derive(Debug)]
pub(crate) struct Streams {
    table: Param,
    projection: Linear,
    norm: Norm,
    /// One for each stream but the first.
    into: Vec<Linear>,
    out: Vec<Linear>,
    /// `[b, s]` of token ids.
    ids: Form,
    /// `[b, s, L · p]`, `[b, s, L, p]` and `[b, s, p]`.
    inputs: [Form; 3],
    /// `[n, b, s, h]`, `[b, s, h]` and `[b, s, 1]`.
    forms: [Form; 3],
    scalar: Form,
    format: DType,
    shared: Rc<SharedKeys>,
    /// There is one stream, and no more than the layers' own embedding.
    one: bool,
}

impl Streams {
    pub fn new(build: &Build<'_>, altup: &AltUp) -> Self {
        let (with, tape, h) = (build.with, build.tape, build.with.h());
        let width = Dim("hidden_size_per_layer_input", altup.hidden_size_per_layer_input);
        let layers = Dim("num_hidden_layers", build.model().num_hidden_layers);
        let all = Dim("inputs of all layers", layers.1.saturating_mul(width.1));
        let [joint, apart] =
            [tape.form([with.b(), with.s(), all]), tape.form([with.b(), with.s(), layers, width])];
        tape.at(EMBEDDING_OF_LAYERS, sources::PYTORCH_AUTOGRAD);
        let rows = Dim("vocab_size_per_layer_input", altup.vocab_size_per_layer_input);
        let table = build.parameter("embedding of each layer", [rows, all]);
        tape.at("Inputs of the layers", sources::PYTORCH_AUTOGRAD);
        let projection = build.linear(("projection to layer inputs", None), (all, h), joint);
        let norm = Norm::new(build, width, tape.form([with.b(), with.s(), layers]));
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        let further = 1..altup.num_inputs;
        let project = |name| build.linear((name, None), (h, h), build.shapes.hidden);
        Self {
            table,
            projection,
            norm,
            into: further.clone().map(|_| project("projection to a stream")).collect(),
            out: further.map(|_| project("projection of a stream")).collect(),
            ids: build.shapes.tokens,
            inputs: [joint, apart, tape.form([with.b(), with.s(), width])],
            forms: [
                tape.form([inputs(altup), with.b(), with.s(), h]),
                build.shapes.hidden,
                build.shapes.rows,
            ],
            scalar: build.shapes.scalar,
            format: with.made_in,
            shared: Rc::default(),
            one: altup.has_inputs_alone(),
        }
    }

    /// Keys and values that layers leave for later ones.
    pub const fn shared_keys(&self) -> &Rc<SharedKeys> {
        &self.shared
    }

    /// Factors that the modules register: of the embedding; where there are several streams, of its
    /// projection and of their sum too.
    pub fn buffers<'t>(&self, tape: &'t Tape) -> impl Iterator<Item = Var<'t>> + use<'t> {
        let (scalar, format) = (self.scalar, self.format);
        let names =
            ["scale of layer embeddings", "scale of the projection", "scale of layer inputs"];
        let registered = if self.one { 1 } else { names.len() };
        names.into_iter().take(registered).map(move |name| tape.constant(name, scalar, format))
    }

    /// A factor in the format that a tensor is in: a copy, where the one that is registered is in
    /// another.
    fn scaled<'t>(&self, x: Var<'t>, name: &'static str) -> Var<'t> {
        if self.format == x.dtype() {
            return x.apply(SCALE);
        }
        let factor = x.tape().constant(name, self.scalar, x.dtype());
        x.mul(factor)
    }

    /// The projections of the model's embedding, scaled: in place, where the factor is registered.
    fn projected<'t>(&self, embedded: &Var<'t>) -> Var<'t> {
        let projected = self.projection.run(embedded);
        if self.one {
            return { projected }.apply(SCALE);
        }
        if self.format == embedded.dtype() {
            return projected.in_place();
        }
        let factor =
            embedded.tape().constant("scale of the projection", self.scalar, embedded.dtype());
        projected.scaled_in_place(&factor)
    }

    /// The inputs of all layers: of their own embedding, and of the model's.
    pub fn of_layers<'t>(&self, embedded: &Var<'t>, ids: &Var<'t>) -> Var<'t> {
        let tape = embedded.tape();
        let [joint, apart, _] = self.inputs;
        tape.at(EMBEDDING_OF_LAYERS, sources::PYTORCH_AUTOGRAD);
        // Ids that the table does not have become the first, in models of several streams.
        let ids = if self.one {
            ids.clone()
        } else {
            tape.constant("ids in the layers' table", self.ids, DType::Int64)
        };
        let own = tape.embedding(ids, self.table, joint);
        let own = self.scaled(own, "scale of layer embeddings").view(apart);
        tape.at("Inputs of the layers", sources::PYTORCH_AUTOGRAD);
        let projected = self.projected(embedded).view(apart);
        let projected = self.norm.run(&{ projected });
        let sum = projected.clone().add(own.clone());
        let scaled =
            if self.one { { sum }.apply(SCALE) } else { self.scaled(sum, "scale of layer inputs") };
        scaled.named("inputs of all layers")
    }

    /// The input of one layer.
    pub fn of_layer<'t>(&self, all: &Var<'t>) -> Var<'t> {
        all.clone().slice(self.inputs[2])
    }

    /// A stream as large as the first one, by `size`.
    fn resized<'t>(&self, stream: &Var<'t>, size: &Var<'t>) -> Var<'t> {
        let own = stream.clone().apply(POWER).reduce(self.forms[2]);
        let own = own.clone().clamp(1).apply(ROOT);
        stream.clone().mul(size.clone()).over(&own)
    }

    /// The size of a stream at each token.
    fn size<'t>(&self, stream: &Var<'t>) -> Var<'t> {
        stream.clone().apply(POWER).reduce(self.forms[2]).apply(POWER)
    }

    /// All streams as one tensor, and each of them, which the model's `forward` holds until they
    /// are joined; to its end it holds the last projection.
    pub fn spread<'t>(&self, hidden: Var<'t>, held: &mut Vec<Var<'t>>) -> (Var<'t>, Vec<Var<'t>>) {
        if self.one {
            return (hidden, Vec::new());
        }
        hidden.tape().at("Streams", sources::PYTORCH_AUTOGRAD);
        let size = self.size(&hidden);
        let mut streams = vec![hidden.clone()];
        let mut last = None;
        for into in &self.into {
            let projected = into.run(&hidden);
            drop(last.replace(projected.clone()));
            streams.push(self.resized(&projected.cast(hidden.dtype()), &size));
        }
        held.extend(last);
        (Var::stacked(&streams, self.forms[0]).unwrap_or(hidden).named("streams"), streams)
    }

    /// The mean of all streams; `before` is what [`Self::spread`] held.
    pub fn joined<'t>(&self, streams: Var<'t>, mut before: Vec<Var<'t>>) -> Var<'t> {
        if self.one {
            return streams;
        }
        streams.tape().at("Streams", sources::PYTORCH_AUTOGRAD);
        let part = || streams.clone().slice(self.forms[1]);
        let size = self.size(&part());
        let mut held = before.pop();
        drop(before);
        let mut all = vec![part()];
        let mut last = None;
        for out in &self.out {
            let projected = out.run(&part());
            drop(last.replace(projected.clone()));
            let stream = projected.cast(streams.dtype());
            drop(held.take());
            all.push(self.resized(&stream, &size));
        }
        let stacked = Var::stacked(&all, self.forms[0]).unwrap_or(streams);
        stacked.reduce(self.forms[1]).named("joined streams")
    }
}
