//! Both ends of an encoder beside a decoder: its embedding in front, and its last states, which the
//! decoder's blocks read.

use std::cell::Cell;

use super::{Embedded, Ends};
use crate::config::EmbeddedParts;
use crate::ops::modules::Build;
use crate::ops::modules::norm::Norm;
use crate::ops::modules::tower::AroundBlocks;
use crate::ops::tape::{Form, Kept, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The ends of an encoder beside a decoder.
#[derive(Debug)]
pub(super) struct OfSource {
    ends: Ends,
    /// Its blocks, the first of the model.
    layers: u64,
    /// `[b, s]` of its tokens.
    ids: Form,
    /// The encoder's tokens, once they are there.
    kept: Cell<Option<Kept>>,
}

impl OfSource {
    /// Declares them, where the model has an encoder beside it; `shared`: the decoder's embedding.
    pub fn new(build: &Build<'_>, shared: Param) -> Option<Box<Self>> {
        let source = build.model().beside()?;
        let model = build.model().of_source()?;
        let with = build.with.of_source(&model);
        let build = Build::again(build.tape, &with);
        let shared = (source.vocab_size == 0).then_some(shared);
        let mut ends = Ends::with_embedding(&build, (true, false), shared);
        build.tape.at("Norm behind the encoder", sources::PYTORCH_AUTOGRAD);
        ends.final_norm = model.final_norm.then(|| Norm::new(&build, with.h(), build.shapes.rows));
        crate::ops::modules::further::declare(&build, false);
        Some(Box::new(Self {
            ends,
            layers: source.layers,
            ids: build.shapes.tokens,
            kept: Cell::default(),
        }))
    }

    /// Declares a table of words that nobody reads, where the model has one.
    pub fn declare_idle(build: &Build<'_>, width: Dim) {
        let rows = build.model().source.map_or(0, |source| source.idle_vocab_size);
        if rows > 0 {
            build
                .tape
                .idle(build.parameter("unread token embedding", [Dim("vocab_size", rows), width]));
        }
    }

    fn ids<'t>(&self, tape: &'t Tape) -> Var<'t> {
        let made = || match &self.ends.frames {
            Some(frames) => frames.input(tape),
            None => tape.constant("token ids of the source", self.ids, DType::Int64),
        };
        self.kept.get().map_or_else(made, |kept| tape.held(kept))
    }

    /// Buffers of the encoder's embedding.
    pub fn buffers<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        self.ends.buffers(tape)
    }
}

impl Ends {
    /// The tokens of the encoder, which are there as long as those of the decoder.
    pub fn source_ids<'t>(&self, tape: &'t Tape) -> Option<Var<'t>> {
        let source = self.source.as_ref()?;
        let ids = source.ids(tape);
        source.kept.set(Some(ids.kept()));
        Some(ids)
    }

    /// All that the model's `forward` has when the first block begins, which is the encoder's where
    /// there is one.
    pub fn embed<'t>(
        &self,
        tape: &'t Tape,
        ids: &Var<'t>,
        around: AroundBlocks<'_>,
    ) -> Embedded<'t> {
        let Some(source) = &self.source else { return self.embedded(tape, ids, around) };
        // The decoder's input is the labels moved by one, and made first.
        let moved = tape.constant("tokens moved by one", self.shapes.tokens, DType::Int64);
        let mut embedded = source.ends.embedded(tape, &source.ids(tape), around);
        embedded.moved = Some(moved);
        embedded
    }

    /// True for the decoder's first layer, in front of which an encoder ends.
    pub fn turns_at(&self, layer: u64) -> bool {
        self.source.as_ref().is_some_and(|source| source.layers == layer)
    }

    /// The decoder's embedded tokens, with the encoder's last states; `ids` are the labels.
    pub fn turned<'t>(
        &self,
        tape: &'t Tape,
        mut embedded: Embedded<'t>,
        ids: &Var<'t>,
    ) -> Embedded<'t> {
        let Some(source) = &self.source else { return embedded };
        let moved = embedded.moved.take();
        let states = source.ends.last_norm(tape, embedded, None).named("states of the encoder");
        let moved = moved.unwrap_or_else(|| ids.clone());
        let mut next = self.embedded(tape, &moved, &|_, _| {});
        next.ids = ids.clone();
        let zeros = (self.modules.encoder.embedding == EmbeddedParts::WithBiases).then(|| {
            let format = tape.multiplies_in(states.dtype());
            tape.constant("no biases", tape.form(self.forms.of_source), format)
        });
        for tables in &mut next.tables {
            tables.source = Some(states.clone());
            tables.no_biases.clone_from(&zeros);
        }
        next.held.extend(zeros);
        next.held.extend([states, moved]);
        next
    }
}
