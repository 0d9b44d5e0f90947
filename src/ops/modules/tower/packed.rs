//! Images whose patches stand in one row, one image after the other (transformers 5.23,
//! `models/qwen2_vl` and its relatives).

use std::cell::Cell;

use super::AroundBlocks;
use super::chunks::Chunks;
use super::fed::Fed;
use super::run::{At, Looked, Sight, attends, feeds};
use crate::config::{Seen, Tower, TowerSize};
use crate::ops::modules::rotary::rotated;
use crate::ops::modules::{Build, FP32};
use crate::ops::tape::{Form, Kept, Kind, Tape, Var, When};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// How images run that stand in one row.
#[derive(Debug)]
pub(super) struct Packed {
    /// Patches of one image, and of all.
    pub of_image: u64,
    pub rows: u64,
    /// `[patches, numbers of a patch]`.
    pub pixels: Form,
    /// Rows and columns of each image in patches, and one number for each image.
    grid: Form,
    /// Tokens of the text by patch: places of them, and patches that are merged side by side.
    pub tokens: [Form; 2],
    /// Attention among the patches of every image, one after the other.
    whole: Chunks,
    /// Attention among those of windows, and the blocks that see the whole image, as bits.
    windows: Option<(Chunks, u64)>,
    /// The block that runs now.
    pub block: Cell<u64>,
    /// `[1, 3, patches, hidden]`, and the queries of it: `[1, patches, heads, width]`, and their
    /// halves.
    pub joint: Form,
    pub queries: [Form; 2],
    /// `[1, heads, patches, width]`.
    pub heads: Form,
    /// Places of patches: numbers, angles, and what is put together of them.
    places: [Form; 3],
    /// Cosines and sines by patch.
    table: Form,
    /// Positions of the text along three axes, and one number for each sequence.
    text: [Form; 2],
    pub several: bool,
    /// The tables of the run at hand, which its blocks read: cosines, sines, where images end, and
    /// where windows do.
    tables: Cell<Option<[Kept; 4]>>,
    /// Blocks are handed their tables in that format, where weights are gathered in another than
    /// they are kept in.
    given: Option<DType>,
    /// The block's own tables then.
    own: Cell<Option<[Kept; 2]>>,
    /// The places of tokens in the order of windows.
    pub order: Cell<Option<Kept>>,
    /// Rows of a table of positions by patch: which, and how much of each; their embeddings, and
    /// the sum of these.
    pub taps: [Form; 3],
    /// Which rows, how much of each, and the sum in fp32, which the tower's `forward` holds.
    pub between: Cell<Option<[Kept; 3]>>,
    /// Their places in the order of the image.
    pub reversed: Cell<Option<Kept>>,
    /// How far the text's positions lie behind its tokens, which the model keeps until the next
    /// run.
    moved: Cell<Option<Kept>>,
}

impl Packed {
    /// So many images of so many patches.
    pub fn new(build: &Build<'_>, tower: &Tower, (images, seen): (u64, Seen)) -> Self {
        let (with, tape, of_image) = (build.with, build.tape, seen.rows);
        let size = |size: TowerSize| Dim(size.name(), tower.sizes.get(size));
        let head = Dim("vision head_dim", tower.head_width().unwrap_or(1));
        let rows = Dim("patches", of_image.saturating_mul(images));
        let [one, two, three] = [1, 2, 3].map(|count| Dim("axes", count));
        let turned = |times: u64| Dim("turned", (head.1 / 4).saturating_mul(times));
        let heads = size(TowerSize::Heads);
        let chunks = |lengths: &[u64]| Chunks::new(build, [heads, head], (images, lengths));
        let tokens = Dim("tokens of images", seen.tokens.saturating_mul(images));
        Self {
            of_image,
            rows: rows.1,
            pixels: tape.form([rows, size(TowerSize::Patch)]),
            grid: tape.form([Dim("images", images), three]),
            tokens: [tape.form([tokens]), tape.form([tokens, size(TowerSize::Merged)])],
            whole: chunks(&[of_image]),
            windows: tower.windows(seen.pixels).map(|(lengths, whole)| (chunks(&lengths), whole)),
            block: Cell::default(),
            joint: tape.form([one, three, rows, size(TowerSize::Hidden)]),
            queries: [head.1, head.1 / 2]
                .map(|width| tape.form([one, rows, heads, Dim("vision head_dim", width)])),
            heads: tape.form([one, heads, rows, head]),
            places: [
                tape.form([rows, two]),
                tape.form([rows, two, turned(1)]),
                tape.form([rows, turned(2)]),
            ],
            table: tape.form([rows, turned(4)]),
            text: [tape.form([three, with.b(), with.s()]), tape.form([with.b()])],
            several: heads.1 > 1,
            tables: Cell::default(),
            given: (with.parameter != with.made_in).then_some(with.parameter),
            own: Cell::default(),
            order: Cell::default(),
            reversed: Cell::default(),
            taps: {
                let (four, hidden) = (Dim("taps", 4), size(TowerSize::Hidden));
                [
                    tape.form([rows, four]),
                    tape.form([rows, four, hidden]),
                    tape.form([one, rows, hidden]),
                ]
            },
            between: Cell::default(),
            moved: Cell::default(),
        }
    }

    /// Inputs beside pixels: rows and columns of every image, and of every token whether it is of
    /// an image.
    pub fn inputs<'t>(&self, tape: &'t Tape, tokens: Form) -> [Var<'t>; 2] {
        // The run before has left its own.
        self.moved
            .set(Some(tape.constant("positions behind tokens", self.text[1], DType::Int64).kept()));
        let whole = |name, form| tape.constant(name, form, DType::Int64);
        [whole("rows and columns of images", self.grid), whole("kinds of tokens", tokens)]
    }

    /// The parts of the row that attend to themselves alone in the block that runs now.
    pub fn chunks(&self) -> &Chunks {
        match &self.windows {
            Some((windows, whole)) if !self.sees_all(*whole) => windows,
            _ => &self.whole,
        }
    }

    fn sees_all(&self, whole: u64) -> bool {
        u32::try_from(self.block.get())
            .is_ok_and(|block| whole.checked_shr(block).unwrap_or(0) & 1 == 1)
    }

    /// Begins a block, which is handed tables of its own where their format is another; the root's
    /// hook casts what it hands on.
    pub fn begins(&self, tape: &Tape) {
        let tables = self.tables(tape);
        let (Some(format), [cos, sin, ..]) = (self.given, tables.as_slice()) else { return };
        let of_block = [(cos, "cosines of the block"), (sin, "sines of the block")];
        self.own
            .set(Some(of_block.map(|(table, name)| table.clone().cast_as(format, name).kept())));
    }

    /// Ends it.
    pub fn ends(&self, tape: &Tape) {
        for kept in self.own.take().into_iter().flatten() {
            tape.let_go(kept);
        }
    }

    /// The tables that the block that runs now reads.
    pub fn tables<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        let Some([cos, sin, images, windows]) = self.tables.get() else { return Vec::new() };
        let ends = match &self.windows {
            Some((_, whole)) if !self.sees_all(*whole) => windows,
            _ => images,
        };
        [cos, sin, ends].map(|kept| tape.held(kept)).into()
    }

    /// Cosines and sines of the places of patches (`Qwen2VLVisionRotaryEmbedding`), beside where
    /// images and windows end.
    fn make_tables<'t>(&self, tape: &'t Tape, places: &Var<'t>, [images, windows]: [&Var<'t>; 2]) {
        let [_, angles, joined] = self.places;
        let made = |name, form| tape.constant(name, form, FP32);
        let _angles = {
            let _numbers = made("places in fp32", places.form());
            made("angles of patches", angles)
        };
        let cos = made("cosines", angles);
        let sin = made("sines", angles);
        let together = |of_axes: Var<'t>, name| {
            let _joined = made("of both axes", joined);
            let table = made(name, self.table);
            drop(of_axes);
            table
        };
        let cos = together(cos, "cosines of patches");
        let sin = together(sin, "sines of patches");
        let [cos, sin] = if self.windows.is_some() {
            let moved = |name| made(name, self.table);
            [moved("cosines of patches"), moved("sines of patches")]
        } else {
            [cos.clone(), sin.clone()]
        };
        self.tables.set(Some([cos.kept(), sin.kept(), images.kept(), windows.kept()]));
    }

    /// The tables go with the tower's `forward`, as far as no checkpoint holds them.
    fn let_go_of_tables(&self, tape: &Tape) {
        let others = [self.order.get(), self.reversed.get()].into_iter().flatten();
        let held =
            self.tables.get().into_iter().flatten().chain(self.between.get().into_iter().flatten());
        for kept in held.chain(others) {
            tape.let_go(kept);
        }
    }

    /// `apply_rotary_pos_emb_vision`: in fp32, both before either is cast back.
    pub fn turned<'t>(&self, tape: &'t Tape, (q, k): (Var<'t>, Var<'t>)) -> (Var<'t>, Var<'t>) {
        let tables = self.tables(tape);
        let [cos, sin, ..] = tables.as_slice() else { return (q, k) };
        let own = self
            .own
            .get()
            .map(|own| own.map(|table| tape.held(table).cast_as(FP32, "tables in fp32")));
        let [cos, sin] = own.unwrap_or_else(|| [cos.clone(), sin.clone()]);
        let format = q.dtype();
        let wide = [q, k].map(|x| x.cast_as(FP32, "heads in fp32"));
        let [q, k] = wide.each_ref().map(|x| rotated(x, (&cos, &sin), self.queries[1]));
        let q = { q }.cast_as(format, "queries");
        (q, { k }.cast_as(format, "keys"))
    }
}

impl Sight {
    /// Embedded tokens with those of packed images in their places (`get_image_features` and
    /// `forward` of `Qwen2VLModel`).
    pub(super) fn run_packed<'t>(
        &self,
        tape: &'t Tape,
        packed: &Packed,
        embedded: Var<'t>,
        around: AroundBlocks<'_>,
    ) -> Looked<'t> {
        tape.at(super::OPERATIONS[0], sources::PYTORCH_AUTOGRAD);
        let mut held = Vec::with_capacity(8);
        let (tokens, last, fed) = {
            let pixels = self.pixels(tape);
            let format = self.format(tape).unwrap_or(FP32);
            let pixels = pixels.cast_as(format, "pixels");
            self.through_tower(tape, packed, pixels.clone(), around)
        };
        packed.let_go_of_tables(tape);
        tape.meets(None);
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let form = tokens.form();
        let joined = tokens.clone().listed(form);
        held.extend([last, tokens]);
        let tokens = { joined }.cast(embedded.dtype()).named("tokens of images");
        let mask = tape.constant("places of images", self.text[0], DType::Mask);
        held.push(tape.constant("places of videos", self.text[0], DType::Mask));
        drop(tape.constant("number of places", self.text[1], DType::Int64));
        let embedded = embedded.scattered(tokens.clone(), &mask);
        let places = packed.tokens[0];
        let joined: Vec<Var<'t>> = fed.iter().map(|tokens| tokens.clone().listed(form)).collect();
        held.extend(fed);
        let fed = (!joined.is_empty()).then(|| Fed {
            tokens: joined,
            mask: mask.clone(),
            places,
            before: None,
        });
        held.extend([
            tokens,
            mask,
            tape.constant("positions along three axes", packed.text[0], DType::Int64),
        ]);
        let moved = tape.constant("positions behind tokens", packed.text[1], DType::Int64);
        if let Some(before) = packed.moved.replace(Some(moved.kept())) {
            tape.let_go(before);
        }
        tape.begin(When::Forward, 0, Kind::Activation);
        Looked { embedded, tokens: Vec::new(), held, fed, unread: (0, 0) }
    }

    /// The tower's `forward`: tokens of the text, and what its blocks end in.
    fn through_tower<'t>(
        &self,
        tape: &'t Tape,
        packed: &Packed,
        pixels: Var<'t>,
        around: AroundBlocks<'_>,
    ) -> (Var<'t>, Var<'t>, Vec<Var<'t>>) {
        let places = tape.constant("places of patches", packed.places[0], DType::Int64);
        // Whole numbers of 32 bits.
        let ends = tape.constant("ends of images", packed.whole.ends, FP32);
        let windows = packed.windows.as_ref().map(|(windows, _)| {
            packed.order.set(Some(
                tape.constant("tokens by window", packed.tokens[0], DType::Int64).kept(),
            ));
            tape.constant("ends of windows", windows.ends, FP32)
        });
        let mut at = At { x: pixels, rows: packed.rows, width: TowerSize::Hidden };
        let (mut last, mut fed) = (None, Vec::with_capacity(4));
        let mut begins = true;
        for part in self.parts.iter().filter(|part| feeds(part).is_none()) {
            let is_blocks = part.layers.iter().any(attends);
            if is_blocks && std::mem::take(&mut begins) {
                packed.make_tables(tape, &places, [&ends, windows.as_ref().unwrap_or(&ends)]);
            }
            for copy in 0..part.times {
                at = if is_blocks {
                    self.block(tape, (part, copy), at, around)
                } else {
                    self.through(tape, part, at)
                };
                fed.extend(is_blocks.then(|| self.fed_behind(tape, copy, &at)).flatten());
            }
            if is_blocks {
                last = Some(at.x.clone());
                let reversed =
                    || tape.constant("tokens in order", packed.tokens[0], DType::Int64).kept();
                packed.reversed.set(windows.is_some().then(reversed));
            }
        }
        let last = last.unwrap_or_else(|| at.x.clone());
        (at.x, last, fed)
    }

    /// Tokens that the text is fed of the output of that block.
    fn fed_behind<'t>(&self, tape: &'t Tape, block: u64, at: &At<'t>) -> Option<Var<'t>> {
        let (part, behind) =
            self.parts.iter().find_map(|part| feeds(part).map(|behind| (part, behind)))?;
        let (bits, block) = (self.tower.sizes.get(behind), u32::try_from(block).ok()?);
        if bits.checked_shr(block)? & 1 == 0 {
            return None;
        }
        let copy = u64::from((bits & !(u64::MAX.checked_shl(block)?)).count_ones());
        tape.means((part.from, part.to, part.behind(copy)));
        let made = self.through(tape, part, At { x: at.x.clone(), ..*at }).x;
        tape.means((0, 0, 0));
        Some(made)
    }

    /// The format of the tower's weights.
    fn format(&self, tape: &Tape) -> Option<DType> {
        self.parts.first().map(|part| tape.read(part.from).dtype())
    }
}
