//! Shapes of tables, masks and labels.

use super::encoder::{embedding_width, has_own_width};
use super::made::factors;
use crate::config::{BlockLayout, ModelConfig, RotaryTables};
use crate::ops::modules::{Build, half, keys};
use crate::ops::tape::Form;
use crate::ops::tensor::Dim;
use crate::stacks::RotationKernel;

/// Shapes of tables and labels; of those that few models need the dimensions, from which they are
/// made where they are needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forms {
    pub positions: Form,
    /// Of positions that rotary tables are made of.
    pub numbers: Form,
    /// Of a buffer of all positions there are, and of what is part of something else.
    pub all_positions: [Dim; 1],
    pub nothing: [Dim; 1],
    /// `[s, d]`, `[s, d / 2]` and `[d / 2]` of rotary tables; of each sequence, where it has its
    /// own.
    pub rotary: [Form; 3],
    /// `[3, b, s, d / 2]`, where tables are put together from those of three grids.
    pub grids: Option<Form>,
    /// Rotary tables of layers that slide, where they have their own.
    pub sliding_rotary: [Form; 3],
    /// Tables of half the width (gpt-oss).
    pub by_halves: bool,
    /// Some of the embedded tokens are dropped.
    pub drops: bool,
    /// Fused kernels are given a mask in layers with a window.
    pub masks_windows: bool,
    /// One table of complex numbers (DeepSeek-V2).
    pub complex: bool,
    /// Of a buffer of rotary factors.
    pub factors: [Dim; 2],
    pub mask: [Dim; 3],
    /// Who sees whom in one sequence, and its keys.
    pub square: Form,
    pub keys: Form,
    /// `[a, s]` and `[b · a, s]`.
    pub alibi: ([Dim; 2], [Dim; 3]),
    pub chunk: Form,
    /// `[chunk, h]`.
    pub chunk_input: [Dim; 2],
    pub padded: Form,
    /// `[b, s - 1, v]`, `[b, s - 1]` and `[b, s - 1, h]`.
    pub shifted: ([Dim; 3], [Dim; 2], [Dim; 3]),
    /// `[b]`.
    pub sequences: Form,
    /// `[b, s, 4]`.
    pub boxes: [Dim; 3],
    /// `[a, s, source]`.
    pub of_source: [Dim; 3],
    /// Rows of a table of sines.
    pub sines: [Dim; 2],
    /// `[1, v]`.
    pub words: [Dim; 2],
    /// `[b, h]`.
    pub pooled: [Dim; 2],
    /// `[b, s, n, h]` of several streams.
    pub streams: Option<[Dim; 4]>,
    /// `[b, s, e]`, where an encoder's embedding has a width of its own.
    pub embedded: Option<Form>,
}

/// Columns that are rotated: as the model states them, in layers that see the whole text, and in
/// those that slide.
fn rotated_widths(model: &ModelConfig) -> [u64; 3] {
    let modules = model.family.modules();
    let width =
        model.mla.map_or(model.rotary_dim.unwrap_or(model.head_dim), |mla| mla.qk_rope_head_dim);
    // Layers that see the whole text have tables as wide as their heads, where these are rotated to
    // their end.
    let whole = model
        .hybrid
        .as_ref()
        .and_then(|hybrid| hybrid.other_heads.as_ref())
        .map(|other| other.head_dim)
        .filter(|_| modules.block == BlockLayout::SandwichWithInput)
        .unwrap_or(width);
    [width, whole, if modules.other_heads_rotate_whole { model.head_dim } else { width }]
}

/// Positions that a buffer of rotary factors has: all there are, or those of the text.
fn rows_of_factors(build: &Build<'_>) -> Dim {
    if build.kernels().rotation == RotationKernel::PairsInFp32 {
        Dim("max_position_embeddings", build.model().max_position_embeddings)
    } else {
        build.with.s()
    }
}

/// True if fused kernels are given a mask: the text fills the window, or every layer has one.
fn masks_windows(build: &Build<'_>) -> bool {
    let fills = |window| build.with.seq_length >= window;
    let model = build.model();
    let always = model.family.modules().masks_every_layer;
    build.with.masks_windows && (always || model.sliding_window.is_some_and(fills))
}

impl Forms {
    /// The shapes of a model on its run.
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let (s, b) = (with.s(), with.b());
        let tokens = with.seq_length.saturating_mul(with.micro_batch_size);
        let [width, whole, sliding] = rotated_widths(model);
        let heads = with.own_heads();
        let chunk = build.loss().chunk_tokens(tokens, model.hidden_size, with.vocab_part().1);
        let chunk = chunk.unwrap_or(tokens);
        let rows = model.position_rows.max(model.max_position_embeddings);
        let sines = model.max_position_embeddings.saturating_add(2);
        let tables = model.family.modules().rotary_tables;
        let by_halves = tables == RotaryTables::Halves;
        let of_grids = tables == RotaryTables::OfGrids;
        let own = of_grids || tables == RotaryTables::OfSequences;
        let of_sequences =
            |width| if own { tape.form([b, s, width]) } else { tape.form([s, width]) };
        let of_each = |own| if own { tape.form([b, s]) } else { tape.form([s]) };
        let shorter = Dim("seq_length - 1", with.seq_length.saturating_sub(1).max(1));
        let rotary = |width: u64| {
            let columns = Dim("rotated width", if by_halves { width / 2 } else { width });
            let halves =
                if of_grids { tape.form([s, half(width)]) } else { of_sequences(half(width)) };
            [of_sequences(columns), halves, tape.form([half(width)])]
        };
        let tables_of_whole = rotary(whole);
        Self {
            positions: tape.form([s]),
            numbers: of_each(tables == RotaryTables::OfSequences),
            all_positions: [Dim("position_rows", rows)],
            nothing: [Dim("nothing", 0)],
            rotary: tables_of_whole,
            sliding_rotary: if sliding == whole { tables_of_whole } else { rotary(sliding) },
            grids: of_grids.then(|| tape.form([Dim("grids", 3), b, s, half(width)])),
            by_halves,
            drops: with.dropout.embedding,
            masks_windows: masks_windows(build),
            complex: tables == RotaryTables::Complex || factors(build).is_some(),
            factors: [rows_of_factors(build), Dim("rotated width", width)],
            mask: [b, Dim("queries", s.1), Dim("keys", keys(with).1)],
            square: tape.form([Dim("queries", s.1), Dim("keys", keys(with).1)]),
            keys: tape.form([keys(with)]),
            alibi: ([heads, s], [b, heads, s]),
            chunk_input: [Dim("loss chunk", chunk), with.h()],
            chunk: tape.form([Dim("loss chunk", chunk), with.vocab_part()]),
            shifted: ([b, shorter, with.vocab_part()], [b, shorter], [b, shorter, with.h()]),
            padded: tape.form([b, Dim("seq_length + 1", with.seq_length.saturating_add(1))]),
            sequences: tape.form([b]),
            boxes: [b, s, Dim("edges", 4)],
            of_source: [heads, s, Dim("source_length", with.source_length)],
            sines: [Dim("rows of sines", sines), with.h()],
            words: [Dim("one", 1), with.vocab_part()],
            pooled: [b, with.h()],
            streams: model
                .compressed
                .as_ref()
                .map(|sizes| [b, s, Dim("hc_mult", sizes.hc_mult), with.h()]),
            embedded: has_own_width(build).then(|| tape.form([b, s, embedding_width(build)])),
        }
    }
}
