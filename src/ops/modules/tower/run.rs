//! The run of a tower and its projector over the images of a micro-batch (transformers 5.23, `models/clip/modeling_clip.py` and others).

use std::cell::Cell;

use super::packed::Packed;
use super::{AroundBlocks, BESIDE, Laid, OPERATIONS};
use crate::config::{HiddenAct, Recompute, Tower, TowerLayer, TowerPart, TowerSize, TowerStep};
use crate::ops::modules::attention_core::Core;
use crate::ops::modules::mlp::Activation;
use crate::ops::modules::norm::Norm;
use crate::ops::modules::{Build, FP32};
use crate::ops::tape::{Factors, Form, Kept, Kind, Order, Tape, Var, When};
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
    pub(super) several: bool,
    /// Patches in the tower's blocks.
    pub(super) rows: u64,
    /// No class token is joined to what the convolution makes.
    of_planes: bool,
    /// Blocks whose output the projector reads, or nothing else behind them.
    read: u64,
    checkpoints: bool,
    learns: bool,
    /// Frozen patches want a gradient, so that checkpointed blocks have one to hand on (`enable_input_require_grads`, which transformers'
    /// checkpointing calls for every model in a model).
    pub(super) wanting: bool,
    /// Which tokens of the text are those of images, and one number.
    pub(super) text: [Form; 2],
    /// The processor says of every token whether it is of an image.
    typed: bool,
}

/// The form that images have taken on.
#[derive(Debug)]
pub(in crate::ops::modules) struct Looked<'t> {
    /// Embedded tokens, with those of the images.
    pub embedded: Var<'t>,
    /// The tokens of the images, where the model's output holds them.
    pub tokens: Option<Var<'t>>,
    /// Tensors that `forward` holds until it returns.
    pub held: Vec<Var<'t>>,
    /// Tokens that feed the text's first blocks, and the places of images in the text.
    pub fed: Option<Fed<'t>>,
    /// Nodes whose outputs nobody reads, and that go when `forward` returns.
    pub unread: (u32, u32),
}

/// What the text's first blocks are fed, behind each one its own.
#[derive(Debug)]
pub(in crate::ops::modules) struct Fed<'t> {
    pub tokens: Vec<Var<'t>>,
    /// Where the text has tokens of images.
    pub mask: Var<'t>,
    /// One number for each of these.
    pub places: Form,
    /// A block's own output, which `forward` holds until the next one has run.
    pub before: Option<Var<'t>>,
}

impl<'t> Fed<'t> {
    /// What a block hands on, once tokens are added in the places of images (`_deepstack_process`).
    pub fn behind(&mut self, layer: usize, hidden: Var<'t>) -> Var<'t> {
        self.before = None;
        let Some(tokens) = self.tokens.get(layer) else { return hidden };
        let tokens = tokens.clone().cast(hidden.dtype());
        let whole = hidden.clone().copy().named("block output");
        self.before = Some(hidden);
        let picked = whole.clone().picked(&self.mask, (tokens.form(), self.places));
        let local = picked.add(tokens).named("tokens of images");
        whole.put(&local, &self.mask, self.places)
    }
}

/// The tensors that go from step to step.
pub(super) struct At<'t> {
    pub x: Var<'t>,
    pub rows: u64,
    pub width: TowerSize,
}

impl Sight {
    /// The run of the images of a training; `None` where there are none, or the run of a part is not described.
    pub(super) fn new(build: &Build<'_>, tower: &Tower, parts: Vec<Laid>) -> Option<Self> {
        let (with, tape, sizes) = (build.with, build.tape, &tower.sizes);
        if with.images.per_sequence == 0 || !with.training {
            return None;
        }
        let seen = tower.seen(with.images)?;
        let count = with.images.per_sequence.saturating_mul(with.micro_batch_size);
        let packed = tower.packs().then(|| Packed::new(build, tower, (count, seen)));
        // Images in one row are one.
        let images = Dim("images", if packed.is_some() { 1 } else { count });
        let [width, height] = seen.pixels;
        let dim = |size: TowerSize| Dim(size.name(), sizes.get(size));
        let shape = [images, dim(TowerSize::Heads), Dim("patches", seen.rows), Dim("vision head_dim", tower.head_width()?)];
        let behind = if reads_a_block(&parts) { sizes.get(TowerSize::Behind) } else { 0 };
        let pixels = [images, dim(TowerSize::Channels), Dim("height", height), Dim("width", width)];
        Some(Self {
            tower: *tower,
            images,
            pixels: packed.as_ref().map_or_else(|| tape.form(pixels), |packed| packed.pixels),
            held_pixels: Cell::default(),
            core: Core::of_tower(build, shape),
            heads: tape.form(shape),
            several: shape[1].1 > 1,
            rows: packed.as_ref().map_or(seen.rows, |packed| packed.rows),
            packed,
            of_planes: seen.rows == sizes.get(TowerSize::Patches),
            read: sizes.get(TowerSize::Layers).saturating_sub(behind),
            checkpoints: with.recompute == Recompute::Full,
            learns: !with.tuning.freezes_tower(),
            wanting: with.tuning.freezes_tower() && with.recompute == Recompute::Full && parts.iter().all(are_wanted),
            text: [build.shapes.tokens, build.shapes.scalar],
            typed: parts.iter().flat_map(|part| steps(part.layers)).any(|step| *step == TowerStep::Typed),
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
        let own = self.parts.iter().position(|other| other.from == part.from && other.op == part.op);
        part.op == OPERATIONS[0] && reads_a_block(&self.parts) && own > blocks
    }

    /// Inputs that lie there before forward: the pixels, and kinds of tokens.
    pub fn inputs<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        let pixels = tape.constant("pixels", self.pixels, FP32);
        self.held_pixels.set(Some(pixels.kept()));
        if let Some(packed) = &self.packed {
            return [pixels].into_iter().chain(packed.inputs(tape, self.text[0])).collect();
        }
        let types = self.typed.then(|| tape.constant("kinds of tokens", self.text[0], DType::Int64));
        [pixels].into_iter().chain(types).collect()
    }

    /// The pixels, which lie there before forward.
    pub(super) fn pixels<'t>(&self, tape: &'t Tape) -> Var<'t> {
        self.held_pixels.get().map_or_else(|| tape.constant("pixels", self.pixels, FP32), |kept| tape.held(kept))
    }

    /// True if the positions of texts follow from the images in them, so that blocks are handed none that are counted.
    pub const fn counts_by_images(&self) -> bool {
        self.packed.is_some()
    }

    /// Embedded tokens with those of the images in their places.
    pub fn run<'t>(&self, tape: &'t Tape, embedded: Var<'t>, around: AroundBlocks<'_>) -> Looked<'t> {
        tape.begin(When::Forward, BESIDE, Kind::Activation);
        // Gradients go through a frozen tower where its patches want one.
        let [of_weights, of_attention] = match (self.learns, self.wanting) {
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
        let (read, last, unread) = self.look(tape, around);
        held.push(last);
        tape.multiplies(factors);
        tape.at(OPERATIONS[1], sources::PYTORCH_AUTOGRAD);
        held.push(read.x.clone());
        let (mut at, mut made) = (read, None);
        for (part, place) in self.parts.iter().zip(0..).filter(|(part, _)| part.op == OPERATIONS[1]) {
            for step in steps(part.layers) {
                // The parts that are joined are views of what is held.
                if *step == TowerStep::Listed {
                    made = Some(at.x.clone());
                }
                at = self.step(tape, (part, self.parts.get(place + 1)), (*step, at)).0;
            }
        }
        held.push(made.unwrap_or_else(|| at.x.clone()));
        tape.meets(None);
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let tokens = at.x.cast(embedded.dtype()).named("tokens of images");
        let mask = tape.constant("places of images", self.text[0], DType::Mask);
        drop(tape.constant("number of places", self.text[1], DType::Int64));
        let embedded = embedded.scattered(tokens.clone(), &mask);
        held.push(mask);
        held.extend(self.typed.then(|| tape.constant("images of tokens", self.text[0], DType::Int64)));
        tape.begin(When::Forward, 0, Kind::Activation);
        Looked { embedded, tokens: Some(tokens), held, fed: None, unread }
    }

    /// The tower over all images: what the projector reads, what the tower ends in, and nodes whose outputs nobody reads.
    fn look<'t>(&self, tape: &'t Tape, around: AroundBlocks<'_>) -> (At<'t>, Var<'t>, (u32, u32)) {
        tape.at(OPERATIONS[0], sources::PYTORCH_AUTOGRAD);
        let pixels = self.pixels(tape);
        let mut at = At { x: pixels, rows: 0, width: TowerSize::Hidden };
        let (mut read, mut unread) = (None, (0, 0));
        let of_block = reads_a_block(&self.parts);
        for part in self.parts.iter().filter(|part| part.op == OPERATIONS[0]) {
            let is_blocks = part.layers.iter().any(attends);
            for copy in 0..part.times {
                if of_block && is_blocks && copy == self.read {
                    read = Some(At { x: at.x.clone(), ..at });
                    unread.0 = tape.nodes();
                    tape.multiplies(Factors::Alone);
                    tape.meets(Some((self.rows, Factors::Alone)));
                }
                at = if is_blocks { self.block(tape, (part, copy), at, around) } else { self.through(tape, part, at) };
            }
            if of_block && is_blocks && read.is_none() {
                read = Some(At { x: at.x.clone(), ..at });
                unread.0 = tape.nodes();
            }
        }
        let last = at.x.clone();
        if let Some(read) = read {
            unread.1 = tape.nodes();
            return (read, last, unread);
        }
        (at, last, (0, 0))
    }

    /// One block, checkpointed or not.
    pub(super) fn block<'t>(&self, tape: &'t Tape, (part, copy): (&Laid, u64), at: At<'t>, around: AroundBlocks<'_>) -> At<'t> {
        let At { x: input, rows, width } = at;
        let run = |tape: &'t Tape, x: &Var<'t>| self.again(tape, (part, copy), x);
        if let Some(packed) = &self.packed {
            packed.block.set(copy);
        }
        let beside = self.packed.as_ref().map_or_else(Vec::new, |packed| packed.tables(tape));
        let layer = u16::try_from(copy).unwrap_or(u16::MAX / 4).saturating_add(BESIDE + 1);
        tape.begin(When::Forward, layer, Kind::Activation);
        around(layer, true);
        let x = if self.checkpoints { tape.checkpoint(&input, &beside, run) } else { run(tape, &input) };
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
        let output = self.through(tape, part, At { x: x.clone(), rows: self.rows, width: TowerSize::Hidden });
        if let Some(packed) = &self.packed {
            packed.ends(tape);
        }
        tape.means((0, 0, 0));
        output.x
    }

    /// Runs the block of that number again.
    pub fn recompute<'t>(&self, tape: &'t Tape, copy: usize, x: &Var<'t>) {
        let blocks = self.parts.iter().find(|part| part.layers.iter().any(attends));
        tape.at(OPERATIONS[0], sources::PYTORCH_AUTOGRAD);
        if let (Some(part), Ok(copy)) = (blocks, u64::try_from(copy)) {
            drop(self.again(tape, (part, copy), x));
        }
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

    /// One step, and what it returns beside.
    fn step<'t>(
        &self,
        tape: &'t Tape,
        (part, behind): (&Laid, Option<&Laid>),
        (step, at): (TowerStep, At<'t>),
    ) -> (At<'t>, Option<Var<'t>>) {
        let At { x, rows, width } = at;
        let on = |x: Var<'t>| At { x, rows, width };
        let next = match step {
            TowerStep::Patches(layer) => self.patches(tape, part, layer, x),
            TowerStep::ClassToken(layer) => self.with_class_token(tape, part, layer, on(x)),
            TowerStep::Positions(layer) => on(self.with_positions(tape, part, layer, (x, rows))),
            TowerStep::Norm(layer) => on(self.norm(tape, part, (layer, rows)).map_or_else(|| x.clone(), |norm| norm.run(&x))),
            TowerStep::NormOfFirst(layer) => on(self.with_first_normed(tape, (part, layer), (x, width))),
            TowerStep::Attention { norm, matrices } => {
                let (x, weights) = self.attend(tape, part, (norm, matrices), (x, rows));
                return (on(x), Some(weights).flatten());
            }
            TowerStep::Packed { layer, .. } => self.packed_patches(tape, part, layer, x),
            TowerStep::Joint { norm, matrices } => on(self.attend_jointly(tape, part, (norm, matrices), (x, rows))),
            TowerStep::Interpolated(layer) => on(self.interpolated(tape, part, layer, x)),
            TowerStep::Windows { .. } => self.in_windows(tape, on(x)),
            TowerStep::InOrder => self.in_order(tape, on(x)),
            TowerStep::Gated { norm, matrices } => on(self.gated(tape, part, (norm, matrices), (x, rows))),
            TowerStep::Gelu => on(Activation::of(HiddenAct::Gelu).run(&x)),
            TowerStep::Merged => self.merged(tape, on(x)),
            TowerStep::FeedForward { norm, matrices } => on(self.feed(tape, part, (norm, matrices), (x, rows))),
            // A convolution's planes are seen as rows, and sums with them stay in that order; their gradients do not.
            TowerStep::OfBlock if self.of_planes => on(x.ordered(Order::Swapped)),
            TowerStep::WithoutFirst if self.tower.sizes.get(TowerSize::Cut) > 0 => {
                let rows = rows.saturating_sub(1);
                At { x: x.slice(self.form(tape, rows, width)).ordered(Order::Spread), rows, width }
            }
            TowerStep::WithoutFirst | TowerStep::OfBlock | TowerStep::Typed | TowerStep::Heard | TowerStep::Feeds(_) => on(x),
            TowerStep::Linear(layer) => self.linear(tape, part.layer(layer), None, on(x)),
            TowerStep::BiasedBehind(layer, bias) => {
                let bias = behind.and_then(|behind| behind.layer(bias)).map(|(_, param)| param);
                self.linear(tape, part.layer(layer), bias, on(x))
            }
            TowerStep::Function => on(match self.tower.function(TowerSize::OutAct) {
                Some(function) => Activation::of(function).run(&x),
                None => x,
            }),
            TowerStep::Pooled => self.pooled(tape, on(x)),
            TowerStep::NormOnePlus(layer) => on(match part.layer(layer) {
                Some((_, scale)) => Norm::one_plus(scale, self.of_rows(tape, rows)).run(&x),
                None => x,
            }),
            TowerStep::Times(layer) => self.times(tape, part.layer(layer), on(x)),
            TowerStep::Listed => on(x.listed(self.form(tape, rows, width))),
        };
        (next, None)
    }
}

/// The steps of a part.
fn steps(layers: &'static [TowerLayer]) -> &'static [TowerStep] {
    let of = |layer: &TowerLayer| if let TowerLayer::Runs(steps) = layer { Some(*steps) } else { None };
    layers.iter().find_map(of).unwrap_or(&[])
}

/// True if a part is the tower's blocks.
pub(super) fn attends(layer: &TowerLayer) -> bool {
    let attends = |step: &TowerStep| matches!(step, TowerStep::Attention { .. } | TowerStep::Joint { .. });
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
