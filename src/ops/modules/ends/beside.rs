//! Tables that some encoders embed beside tokens, their types and positions.

use super::Ends;
use super::encoder::embedding_width;
use crate::config::{EmbeddedParts, OWN_SIZES};
use crate::ops::modules::norm::Norm;
use crate::ops::modules::{Build, Linear};
use crate::ops::tape::{Form, Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Tables that are embedded beside tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Beside {
    /// Columns, rows, heights and widths of places in a page.
    Page([Param; 4]),
    /// Sound and shape of each token, joined with it and brought to the model's width.
    SoundAndShape(SoundAndShape),
    /// Embedded distances that every block reads, and the tensors made of the tokens' mask.
    Embedded { table: Option<Param>, norm: Option<Norm>, square: Form, places: Form },
    /// Masked tokens are dropped, and the others scaled up by a number for each sequence.
    Dropped { of_sequences: Form },
    /// How far keys lie from queries: a table that all blocks share, of one number a head.
    Distances { table: Param, places: Form, one: Form, each: Form },
    /// The biases as every block reads them, without copies: of each pair of tokens, and of each
    /// head.
    Biases { table: Param, pairs: [Form; 2], heads: Form },
}

/// Sound and shape of tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct SoundAndShape {
    tables: [Param; 2],
    into: Linear,
    /// Shapes of each embedded tensor, and of the tensors joined with the first and with both.
    embedded: [Form; 2],
    joined: [Form; 2],
}

impl SoundAndShape {
    fn new(build: &Build<'_>, own: [u64; OWN_SIZES], h: Dim) -> Self {
        let [rows, widths] = [[own[0], own[2]], [own[1], own[3]]];
        let [sound, shape] =
            [Dim("pronunciation_embed_dim", widths[0]), Dim("shape_embed_dim", widths[1])];
        let tables = [
            build.parameter("sound embedding", [Dim("pronunciation_vocab_size", rows[0]), sound]),
            build.parameter("shape embedding", [Dim("shape_vocab_size", rows[1]), shape]),
        ];
        let with_shape = Dim("width with shape", h.1.saturating_add(shape.1));
        let all = Dim("width with shape and sound", with_shape.1.saturating_add(sound.1));
        let names = ("weight of joined embeddings", Some("bias of joined embeddings"));
        let into = build.linear(names, (h, all), build.shapes.hidden);
        Self {
            tables,
            into,
            embedded: [sound, shape].map(|width| build.of_tokens(width)),
            joined: [with_shape, all].map(|width| build.of_tokens(width)),
        }
    }
}

/// One number for each head and each bucket of distances.
fn buckets(build: &Build<'_>, count: u64) -> Param {
    build.tape.at("Relative positions", sources::PYTORCH_AUTOGRAD);
    let buckets = Dim("relative_attention_num_buckets", count);
    build.parameter("embedding of distances", [buckets, build.with.own_heads()])
}

impl Beside {
    /// Declares the tables, where the family's modules have some.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, tape) = (build.with, build.tape);
        let model = build.model();
        let own = model
            .encoder
            .map(|encoder| encoder.own)
            .or_else(|| model.source.map(|source| source.own))?;
        let h = embedding_width(build);
        match build.model().family.modules().encoder.embedding {
            EmbeddedParts::Tokens | EmbeddedParts::Frames => None,
            EmbeddedParts::WithDroppedTokens => (own[0] > 0)
                .then(|| Self::Dropped { of_sequences: tape.form([with.b(), Dim("one", 1)]) }),
            EmbeddedParts::InPage => {
                let rows = Dim("max_2d_position_embeddings", own[0]);
                let names =
                    ["column embedding", "row embedding", "height embedding", "width embedding"];
                Some(Self::Page(names.map(|name| build.parameter(name, [rows, h]))))
            }
            EmbeddedParts::WithSoundAndShape => {
                Some(Self::SoundAndShape(SoundAndShape::new(build, own, h)))
            }
            EmbeddedParts::WithEmbeddedDistances => {
                tape.at("Relative positions", sources::PYTORCH_AUTOGRAD);
                let rows = Dim("embedded distances", own[0]);
                let table = (own[0] > 0)
                    .then(|| build.parameter("embedding of distances", [rows, with.h()]));
                let norm = (own[4] > 0).then(|| Norm::new(build, with.h(), tape.form([rows])));
                let (s, keys) = (with.s(), Dim("keys", with.s().1));
                Some(Self::Embedded {
                    table,
                    norm,
                    square: tape.form([s, keys]),
                    places: build.shapes.rows,
                })
            }
            EmbeddedParts::WithBiases => {
                let (s, heads) = (with.s(), with.own_heads());
                let table = buckets(build, own[0]);
                let keys = Dim("keys", s.1);
                let pairs = [tape.form([s, keys]), tape.form([s, keys, heads])];
                Some(Self::Biases { table, pairs, heads: tape.form([heads, s, keys]) })
            }
            EmbeddedParts::WithDistances => {
                let (s, heads) = (with.s(), with.own_heads());
                let table = buckets(build, own[0]);
                let keys = Dim("keys", s.1);
                let places = tape.form([s, keys]);
                Some(Self::Distances {
                    table,
                    places,
                    one: tape.form([s, keys, heads]),
                    each: build.shapes.scores,
                })
            }
        }
    }
}

impl Ends {
    /// Tokens joined with their sound and shape.
    pub(super) fn with_sound_and_shape<'t>(&self, tape: &'t Tape, tokens: Var<'t>) -> Var<'t> {
        let Some(Beside::SoundAndShape(SoundAndShape { tables, into, embedded, joined })) =
            &self.own.beside
        else {
            return tokens;
        };
        let copy = tokens.clone().copy();
        let ids = |name| tape.constant(name, self.shapes.tokens, DType::Int64);
        let shapes = ids("shapes of tokens");
        let shape = tape.embedding(shapes.clone(), tables[1], embedded[1]).named("embedded shapes");
        let both = copy.cat(shape.clone(), joined[0]);
        let sounds = ids("sounds of tokens");
        let sound = tape.embedding(sounds.clone(), tables[0], embedded[0]).named("embedded sounds");
        let all = both.cat(sound.clone(), joined[1]);
        let hidden = into.run(&{ all });
        drop((shapes, shape, sounds, sound));
        hidden
    }

    /// Places in a page, added to embedded tokens.
    pub(super) fn with_places_in_page<'t>(&self, tape: &'t Tape, hidden: Var<'t>) -> Var<'t> {
        let Some(Beside::Page([columns, rows, heights, widths])) = self.own.beside else {
            return hidden;
        };
        let embedded = |table: Param, ids: Var<'t>| {
            tape.embedding(ids, table, self.shapes.hidden).named("embedded places")
        };
        let boxes = tape.constant("boxes of tokens", tape.form(self.forms.boxes), DType::Int64);
        let edge = || boxes.clone().slice(self.shapes.tokens);
        let length = || tape.constant("lengths of boxes", self.shapes.tokens, DType::Int64);
        let made = [
            embedded(columns, edge()),
            embedded(rows, edge()),
            embedded(columns, edge()),
            embedded(rows, edge()),
            embedded(heights, length()),
            embedded(widths, length()),
        ];
        made.iter().fold(hidden, |hidden, part| hidden.add(part.clone()).named("embedded tokens"))
    }

    /// Biases that the scores of every block get for how far keys lie from queries.
    pub(super) fn biases_of_distances<'t>(&self, tape: &'t Tape) -> Option<Var<'t>> {
        if let Some(Beside::Biases { table, pairs: [places, pairs], heads }) = self.own.beside {
            tape.at("Relative positions", sources::PYTORCH_AUTOGRAD);
            let buckets = tape.constant("buckets of distances", places, DType::Int64);
            return Some(
                tape.embedding(buckets, table, pairs).named("biases of distances").view(heads),
            );
        }
        let Some(Beside::Distances { table, places, one, each }) = self.own.beside else {
            return None;
        };
        tape.at("Relative positions", sources::PYTORCH_AUTOGRAD);
        let buckets = tape.constant("buckets of distances", places, DType::Int64);
        let values = tape.embedding(buckets, table, one).named("biases of distances");
        let biases = values.repeat(each).named("biases of scores");
        Some(biases)
    }

    /// Embedded tokens that a mask leaves: a product with it.
    pub(super) fn masked_tokens<'t>(&self, tape: &'t Tape, hidden: Var<'t>) -> Var<'t> {
        let Some(Beside::Embedded { places, .. }) = self.own.beside else { return hidden };
        let mask = tape.constant("mask of tokens", places, hidden.dtype());
        hidden.mul(mask).named("embedded tokens")
    }

    /// Embedded distances, and distances.
    pub(super) fn embedded_distances<'t>(
        &self,
        tape: &'t Tape,
    ) -> Option<(Option<Var<'t>>, Var<'t>)> {
        let Some(Beside::Embedded { table, norm, square, .. }) = self.own.beside else {
            return None;
        };
        tape.at("Relative positions", sources::PYTORCH_AUTOGRAD);
        let distances = tape.constant("distances", square, DType::Int64);
        let embedded = table.map(|table| {
            let rows = tape.read(table);
            norm.map_or_else(|| rows.clone(), |norm| norm.run(&rows).named("normed distances"))
        });
        Some((embedded, distances))
    }

    /// Embedded tokens without the masked ones, scaled up in fp32.
    pub(super) fn without_masked<'t>(&self, tape: &'t Tape, hidden: Var<'t>) -> Var<'t> {
        let Some(Beside::Dropped { of_sequences }) = self.own.beside else { return hidden };
        let format = hidden.dtype();
        let masked = tape.constant("masked tokens", self.shapes.tokens, DType::Mask);
        let kept = hidden.filled(&{ masked });
        let share = tape.constant("share of tokens kept", of_sequences, DType::Fp32);
        kept.apply(SCALE).mul(share).cast_as(format, "embedded tokens")
    }
}
