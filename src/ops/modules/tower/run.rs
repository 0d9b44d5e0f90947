//! The run of a tower and its projector over the images of a micro-batch (transformers 5.23,
//! `models/clip/modeling_clip.py` and others).

use std::cell::Cell;

use super::fed::Fed;
use super::joined::Joined;
use super::packed::Packed;
use super::picked::Picked;
use super::spread::SpreadOut;
use super::{AroundBlocks, BESIDE, Laid, OPERATIONS, Sees};
use crate::config::{Recompute, Tower, TowerFact, TowerLayer, TowerPart, TowerSize, TowerStep};
use crate::ops::modules::attention_core::Core;
use crate::ops::modules::{Build, FP32};
use crate::ops::tape::{Factors, Form, Kept, Kind, Tape, Var, When};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// A tower and a projector that run.
#[derive(Debug)]
pub(in crate::ops::modules) struct Sight {
    pub(super) tower: Tower,
    pub(super) parts: Vec<Laid>,
    /// Images of a micro-batch.
    pub(super) images: Dim,
    /// The pixels that the processor makes.
    pixels: Form,
    held_pixels: Cell<Option<Kept>>,
    pub(super) core: Core,
    /// `[images, heads, patches, width]`; of packed images those of one.
    pub(super) heads: Form,
    /// How images run that stand in one row.
    pub(super) packed: Option<Packed>,
    /// How images run whose patches are joined behind the convolution.
    pub(super) joined: Option<Joined>,
    /// How tiles of an image are put together again.
    spread: Option<SpreadOut>,
    /// The pixels are cast before the tower runs, and held until the projector has.
    casts_first: bool,
    /// Images that are not empty are picked first.
    pub(super) picked: Option<Picked>,
    /// The model's output holds the tensors that the tower and the projector return.
    returned: bool,
    pub(super) several: bool,
    /// Patches in the tower's blocks.
    pub(super) rows: u64,
    /// No class token is joined to the convolution's output.
    pub(super) of_planes: bool,
    /// Blocks whose output the projector reads, or nothing else behind them.
    read: u64,
    checkpoints: bool,
    learns: bool,
    /// Frozen patches want a gradient, so that checkpointed blocks have one to hand on
    /// (`enable_input_require_grads`, which transformers' checkpointing calls for every model in a
    /// model).
    pub(super) wanting: bool,
    /// Frozen sums of patches and positions do.
    pub(super) wanting_sums: bool,
    /// Which tokens of the text are those of images, and one number.
    pub(super) text: [Form; 2],
    /// The processor says of every token whether it is of an image.
    typed: bool,
}

/// The form that images have taken on.
#[derive(Debug)]
pub(crate) struct Looked<'t> {
    /// Embedded tokens, with those of the images.
    pub embedded: Var<'t>,
    /// The tokens of the images, and whatever else of them the model's output holds.
    pub tokens: Vec<Var<'t>>,
    /// Tensors that `forward` holds until it returns.
    pub held: Vec<Var<'t>>,
    /// Tokens that feed the text's first blocks, and the places of images in the text.
    pub fed: Option<Fed<'t>>,
    /// Nodes whose outputs nobody reads, and that go when `forward` returns.
    pub unread: (u32, u32),
}

/// The tensors that go from step to step.
pub(super) struct At<'t> {
    pub x: Var<'t>,
    pub rows: u64,
    pub width: TowerSize,
}

impl Sees for Sight {
    fn inputs<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        let pixels = tape.constant("pixels", self.pixels, FP32);
        self.held_pixels.set(Some(pixels.kept()));
        if let Some(packed) = &self.packed {
            return [pixels].into_iter().chain(packed.inputs(tape, self.text[0])).collect();
        }
        let types =
            self.typed.then(|| tape.constant("kinds of tokens", self.text[0], DType::Int64));
        let masks = self.picked.as_ref().map(|picked| picked.mask(tape));
        [pixels].into_iter().chain(types).chain(masks).chain(self.sizes_of_images(tape)).collect()
    }

    fn counts_by_images(&self) -> bool {
        self.packed.is_some()
    }

    fn run<'t>(&self, tape: &'t Tape, embedded: Var<'t>, around: AroundBlocks<'_>) -> Looked<'t> {
        tape.begin(When::Forward, BESIDE, Kind::Activation);
        // Gradients go through a frozen tower where its patches want one.
        let [of_weights, of_attention] = match (self.learns, self.wanting || self.wanting_sums) {
            (true, _) => [Factors::Weights; 2],
            (false, true) => [Factors::Once, Factors::Weights],
            (false, false) => [Factors::Alone; 2],
        };
        let met = self.packed.as_ref().map_or(self.rows, |packed| packed.of_image);
        tape.meets(Some((met, of_attention)));
        tape.sees_beside(BESIDE, met);
        let factors = tape.multiplies(of_weights);
        if let Some(packed) = &self.packed {
            let looked = self.run_packed(tape, packed, embedded, around);
            tape.multiplies(factors);
            return looked;
        }
        let mut held = Vec::with_capacity(4);
        let (pixels, of_model) = self.prepared(tape);
        let (read, last, unread) = self.look(tape, pixels, around);
        let mut returned: Vec<Var<'t>> = self.returned.then(|| last.clone()).into_iter().collect();
        held.push(last);
        tape.multiplies(factors);
        tape.at(OPERATIONS[1], sources::PYTORCH_AUTOGRAD);
        held.push(read.x.clone());
        let (mut at, mut made, mut apart) = (read, None, Vec::new());
        for (part, place) in self.parts.iter().zip(0..).filter(|(part, _)| part.op == OPERATIONS[1])
        {
            for step in steps(part.layers) {
                // Parts that are joined are views of tensors that are held.
                if *step == TowerStep::Listed {
                    made = Some(at.x.clone());
                }
                if let (TowerStep::Spread { end, .. }, Some(spread)) = (step, &self.spread) {
                    apart = spread.apart(tape, (part, *end), &at.x);
                }
                at = self.step(tape, (part, self.parts.get(place + 1)), (*step, at)).0;
            }
        }
        drop(of_model);
        if let Some(joined) = self.spread.as_ref().and_then(|spread| spread.joined(&apart)) {
            at.x = joined;
            held.extend(apart);
        }
        let made = made.unwrap_or_else(|| at.x.clone());
        returned.extend(self.returned.then(|| made.clone()));
        held.push(made);
        tape.meets(None);
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let tokens = at.x.cast(embedded.dtype()).named("tokens of images");
        let mask = tape.constant("places of images", self.text[0], DType::Mask);
        drop(tape.constant("number of places", self.text[1], DType::Int64));
        let embedded = embedded.scattered(tokens.clone(), &mask);
        held.push(mask);
        let images = || tape.constant("images of tokens", self.text[0], DType::Int64);
        held.extend(self.typed.then(images));
        tape.begin(When::Forward, 0, Kind::Activation);
        if self.returned {
            held.push(tokens);
        } else {
            returned.push(tokens);
        }
        Looked { embedded, tokens: returned, held, fed: None, unread }
    }

    fn recompute<'t>(&self, tape: &'t Tape, copy: usize, x: &Var<'t>) {
        let blocks = self.parts.iter().find(|part| part.layers.iter().any(attends));
        tape.at(OPERATIONS[0], sources::PYTORCH_AUTOGRAD);
        if let (Some(part), Ok(copy)) = (blocks, u64::try_from(copy)) {
            drop(self.again(tape, (part, copy), x));
        }
    }
}

impl Sight {
    /// The run of the images of a training; `None` where there are none, or the run of a part is
    /// not described.
    pub(super) fn new(build: &Build<'_>, tower: &Tower, parts: Vec<Laid>) -> Option<Self> {
        let (with, tape, sizes) = (build.with, build.tape, &tower.sizes);
        if with.images.per_sequence == 0 || !with.training {
            return None;
        }
        let seen = tower.seen(with.images)?;
        let images = with.images.per_sequence.saturating_mul(with.micro_batch_size);
        let count = images.saturating_mul(seen.tiles);
        let packed = tower.packs().then(|| Packed::new(build, tower, (count, seen)));
        // Images in one row are one.
        let images = Dim("images", if packed.is_some() || tower.joins() { 1 } else { count });
        let all = if tower.joins() { seen.rows.saturating_mul(count) } else { seen.rows };
        let dim = |size: TowerSize| Dim(size.name(), sizes.get(size));
        let (patches, width) = (Dim("patches", all), Dim("vision head_dim", tower.head_width()?));
        let shape = [images, dim(TowerSize::Heads), patches, width];
        let behind = if reads_a_block(&parts) { sizes.get(TowerSize::Behind) } else { 0 };
        let [width, height] = seen.pixels;
        let sides = [Dim("height", height), Dim("width", width)];
        let pixels = [Dim("images", count), dim(TowerSize::Channels), sides[0], sides[1]];
        // The first token of a tile is no patch of it, where it is cut.
        let class = sizes.get(TowerSize::Cut);
        let has = |wanted: TowerStep| {
            parts.iter().flat_map(|part| steps(part.layers)).any(|step| *step == wanted)
        };
        let is = |fact: TowerFact| has(TowerStep::Is(fact));
        let frozen = with.tuning.freezes_tower()
            && with.recompute == Recompute::Full
            && parts.iter().all(are_wanted);
        let of_sums = parts
            .iter()
            .flat_map(|part| steps(part.layers))
            .any(|step| matches!(step, TowerStep::Placed(_)));
        Some(Self {
            tower: *tower,
            images,
            pixels: packed.as_ref().map_or_else(|| tape.form(pixels), |packed| packed.pixels),
            held_pixels: Cell::default(),
            core: Core::of_tower(build, shape).narrow(is(TowerFact::NarrowSoftmax)),
            heads: tape.form(shape),
            several: shape[1].1 > 1,
            rows: packed.as_ref().map_or(all, |packed| packed.rows),
            joined: tower.joins().then(|| Joined::new(build, tower, (count, seen))),
            spread: tower
                .spread(with.images, seen.rows.saturating_sub(class))
                .map(|spread| SpreadOut::new(build, tower, (count, seen), spread)),
            casts_first: is(TowerFact::PixelsCast),
            picked: is(TowerFact::PixelsPicked).then(|| Picked::new(build, tower, (count, seen))),
            returned: is(TowerFact::Returned),
            packed,
            of_planes: seen.rows == sizes.get(TowerSize::Patches),
            read: sizes.get(TowerSize::Layers).saturating_sub(behind),
            checkpoints: with.recompute == Recompute::Full,
            learns: !with.tuning.freezes_tower(),
            wanting: frozen && !of_sums,
            wanting_sums: frozen && of_sums,
            text: [build.shapes.tokens, build.shapes.scalar],
            typed: has(TowerStep::Typed),
            parts,
        })
    }

    /// True if no gradient comes to a copy of a part, because nothing reads its output.
    pub(super) fn leaves_out(&self, part: &Laid, copy: u64) -> bool {
        let is_block = part.times > 1 || part.layers.iter().any(attends);
        let behind_the_end = !is_block && self.ends_before(part);
        (is_block && part.op == OPERATIONS[0] && copy >= self.read) || behind_the_end
    }

    /// True if a part of the tower stands behind the blocks, of which the projector reads one.
    fn ends_before(&self, part: &Laid) -> bool {
        let blocks = self.parts.iter().position(|part| part.layers.iter().any(attends));
        let own =
            self.parts.iter().position(|other| other.from == part.from && other.op == part.op);
        part.op == OPERATIONS[0] && reads_a_block(&self.parts) && own > blocks
    }

    /// The sizes of images, where a model is told them.
    fn sizes_of_images<'t>(&self, tape: &'t Tape) -> impl Iterator<Item = Var<'t>> {
        let of_joined = self.joined.iter().map(|joined| joined.sizes(tape));
        of_joined.chain(self.spread.iter().map(|spread| spread.sizes(tape)))
    }

    /// The pixels, which lie there before forward.
    pub(super) fn pixels<'t>(&self, tape: &'t Tape) -> Var<'t> {
        self.held_pixels
            .get()
            .map_or_else(|| tape.constant("pixels", self.pixels, FP32), |kept| tape.held(kept))
    }

    /// The pixels that the tower is given, and what the model holds of them until the projector has
    /// run.
    fn prepared<'t>(&self, tape: &'t Tape) -> (Var<'t>, Vec<Var<'t>>) {
        let pixels = self.pixels(tape);
        let format = self.parts.first().map_or(FP32, |part| tape.read(part.from).dtype());
        if let Some(picked) = &self.picked {
            let (pixels, mut masks) = picked.pick(tape, pixels, format);
            masks.push(pixels.clone());
            return (pixels, masks);
        }
        if self.spread.is_some() {
            let joined = pixels.copy().named("pixels");
            return (joined.clone(), vec![joined]);
        }
        if self.casts_first {
            let cast = pixels.cast_as(format, "pixels");
            return (cast.clone(), vec![cast]);
        }
        (pixels, Vec::new())
    }

    /// The tower over all images: what the projector reads, what the tower ends in, and nodes whose
    /// outputs nobody reads.
    fn look<'t>(
        &self,
        tape: &'t Tape,
        pixels: Var<'t>,
        around: AroundBlocks<'_>,
    ) -> (At<'t>, Var<'t>, (u32, u32)) {
        tape.at(OPERATIONS[0], sources::PYTORCH_AUTOGRAD);
        let mut at = At { x: pixels, rows: 0, width: TowerSize::Hidden };
        let (mut read, mut unread) = (None, (0, 0));
        let of_block = reads_a_block(&self.parts);
        for part in self.parts.iter().filter(|part| part.op == OPERATIONS[0]) {
            let is_blocks = part.layers.iter().any(attends);
            if let Some(joined) = self.joined.as_ref().filter(|_| is_blocks) {
                joined.make_tables(tape, &at.x);
            }
            if let Some(picked) = self.picked.as_ref().filter(|_| is_blocks) {
                picked.begins(tape, &at.x);
            }
            for copy in 0..part.times {
                if of_block && is_blocks && copy == self.read {
                    read = Some(At { x: at.x.clone(), ..at });
                    unread.0 = tape.nodes();
                    tape.multiplies(Factors::Alone);
                    tape.meets(Some((self.rows, Factors::Alone)));
                }
                at = if is_blocks {
                    self.block(tape, (part, copy), at, around)
                } else {
                    self.through(tape, part, at)
                };
            }
            if of_block && is_blocks && read.is_none() {
                read = Some(At { x: at.x.clone(), ..at });
                unread.0 = tape.nodes();
            }
        }
        let last = at.x.clone();
        self.joined.iter().for_each(|joined| joined.ends(tape));
        self.picked.iter().for_each(|picked| picked.ends(tape));
        if let Some(read) = read {
            unread.1 = tape.nodes();
            return (read, last, unread);
        }
        (at, last, (0, 0))
    }

    /// One block, checkpointed or not.
    pub(super) fn block<'t>(
        &self,
        tape: &'t Tape,
        (part, copy): (&Laid, u64),
        at: At<'t>,
        around: AroundBlocks<'_>,
    ) -> At<'t> {
        let At { x: input, rows, width } = at;
        let run = |tape: &'t Tape, x: &Var<'t>| self.again(tape, (part, copy), x);
        if let Some(packed) = &self.packed {
            packed.block.set(copy);
        }
        let mut beside = self.packed.as_ref().map_or_else(Vec::new, |packed| packed.tables(tape));
        beside.extend(self.joined.iter().flat_map(|joined| joined.tables(tape)));
        beside.extend(self.picked.iter().filter_map(|picked| picked.of_scores(tape)));
        let layer = u16::try_from(copy).unwrap_or(u16::MAX / 4).saturating_add(BESIDE + 1);
        tape.begin(When::Forward, layer, Kind::Activation);
        around(layer, true);
        let x = if self.checkpoints {
            tape.checkpoint(&input, &beside, run)
        } else {
            run(tape, &input)
        };
        around(layer, false);
        tape.begin(When::Forward, BESIDE, Kind::Activation);
        At { x, rows, width }
    }

    /// The modules of a block's copy on that input.
    fn again<'t>(&self, tape: &'t Tape, (part, copy): (&Laid, u64), x: &Var<'t>) -> Var<'t> {
        tape.means((part.from, part.to, part.behind(copy)));
        if let Some(packed) = &self.packed {
            packed.block.set(copy);
            packed.begins(tape);
        }
        let output = self.through(
            tape,
            part,
            At { x: x.clone(), rows: self.rows, width: TowerSize::Hidden },
        );
        if let Some(packed) = &self.packed {
            packed.ends(tape);
        }
        tape.means((0, 0, 0));
        output.x
    }

    /// All steps of a part; probabilities are held to its end.
    pub(super) fn through<'t>(&self, tape: &'t Tape, part: &Laid, mut at: At<'t>) -> At<'t> {
        let _input = at.x.clone();
        let mut beside = None;
        for step in steps(part.layers) {
            let (next, other) = self.step(tape, (part, None), (*step, at));
            at = next;
            beside = beside.or(other);
        }
        at
    }
}

/// The steps of a part.
fn steps(layers: &'static [TowerLayer]) -> &'static [TowerStep] {
    let of =
        |layer: &TowerLayer| if let TowerLayer::Runs(steps) = layer { Some(*steps) } else { None };
    layers.iter().find_map(of).unwrap_or(&[])
}

/// True if a part is the tower's blocks.
pub(super) fn attends(layer: &TowerLayer) -> bool {
    let attends = |step: &TowerStep| {
        matches!(
            step,
            TowerStep::Attention { .. } | TowerStep::Turned { .. } | TowerStep::Joint { .. }
        )
    };
    matches!(layer, TowerLayer::Runs(steps) if steps.iter().any(attends))
}

/// The blocks behind which a part runs, as bits, if it feeds the text's.
pub(super) fn feeds(part: &Laid) -> Option<TowerSize> {
    TowerPart { times: TowerSize::One, layers: part.layers }.feeds()
}

/// True unless checkpointing finds no patches that it asks a gradient of.
fn are_wanted(part: &Laid) -> bool {
    !steps(part.layers).iter().any(|step| matches!(step, TowerStep::Packed { wanted: false, .. }))
}

/// True if the projector reads the output of a block.
fn reads_a_block(parts: &[Laid]) -> bool {
    parts.iter().flat_map(|part| steps(part.layers)).any(|step| *step == TowerStep::OfBlock)
}
