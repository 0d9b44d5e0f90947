//! A vision tower and its projector: as they lie in memory while no image is in the texts, when no
//! gradient reaches them, and as they run where images are.

mod chunks;
mod fed;
mod joined;
mod packed;
mod packed_steps;
mod picked;
mod run;
mod spread;
mod step;
mod steps;

use std::fmt;

use super::{Build, FP32};
use crate::config::{Tower, TowerBuffer, TowerLayer, TowerPart, TowerSize, TowerSizes};
use crate::ops::tape::{Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;
pub(super) use fed::Fed;
pub(super) use run::Looked;
use run::Sight;

/// Is told of every block of a tower, by its layer, before it runs, and behind it.
pub(crate) type AroundBlocks<'a> = &'a dyn Fn(u16, bool);

/// The run of a tower and its projector, as the ends of a model know it.
pub(crate) trait Sees {
    /// Inputs that lie there before forward: the pixels, and kinds of tokens.
    fn inputs<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>>;

    /// True if the positions of texts follow from the images in them, so that blocks are handed
    /// none that are counted.
    fn counts_by_images(&self) -> bool;

    /// Embedded tokens with those of the images in their places.
    fn run<'t>(&self, tape: &'t Tape, embedded: Var<'t>, around: AroundBlocks<'_>) -> Looked<'t>;

    /// Runs the block of that number again.
    fn recompute<'t>(&self, tape: &'t Tape, copy: usize, x: &Var<'t>);
}

// `Debug` is that of the trait: as a supertrait it would bring every implementation's into the
// page's program.
impl fmt::Debug for dyn Sees + '_ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a tower")
    }
}

/// The layer of tape that a tower belongs to, beside its blocks, which have the layers behind it.
pub(crate) const BESIDE: u16 = u16::MAX / 2;

/// Names of a tower's operations, and the name of one for sound.
pub(crate) const OPERATIONS: [&str; 3] = ["Vision tower", "Projector", "Audio tower"];

/// The names of the two kinds of attention in a tower.
pub(super) const OPERATIONS_OF_CORE: [&str; 2] = [OPERATIONS[0]; 2];

/// A part whose parameters are declared.
#[derive(Clone, Copy, Debug)]
struct Laid {
    /// The operation that it belongs to.
    op: &'static str,
    layers: &'static [TowerLayer],
    sizes: TowerSizes,
    /// Its parameters, of which each copy has its own behind those of the one before.
    from: Param,
    to: Param,
    times: u64,
}

impl Laid {
    /// The first parameter of a layer.
    fn layer(&self, place: u8) -> Option<(TowerLayer, Param)> {
        let mut next = self.from;
        for (layer, at) in self.layers.iter().zip(0..) {
            if at == place {
                return Some((*layer, next));
            }
            next += parameters(layer, &self.sizes);
        }
        None
    }

    /// How far the parameters of a copy lie behind the first's.
    fn behind(&self, copy: u64) -> u32 {
        u32::try_from(copy).unwrap_or(u32::MAX).saturating_mul(self.to - self.from)
    }
}

/// How many parameters a layer has.
fn parameters(layer: &TowerLayer, sizes: &TowerSizes) -> u32 {
    let is = |size: TowerSize| u32::from(sizes.get(size) > 0);
    match *layer {
        TowerLayer::Linear(..) | TowerLayer::LayerNorm(_) => 2,
        TowerLayer::MaybeBiased(.., flag) | TowerLayer::EitherNorm(_, flag) => 1 + is(flag),
        TowerLayer::MaybeNorm(_, flag) => is(flag),
        TowerLayer::Matrix(..)
        | TowerLayer::RmsNorm(_)
        | TowerLayer::Table(..)
        | TowerLayer::Plane(..)
        | TowerLayer::Vector(..) => 1,
        TowerLayer::Runs(_) => 0,
    }
}

/// Declares the parameters of tower and projector, if the model has them; what is left is how they
/// run, if images are in the texts.
pub(super) fn declare(build: &Build<'_>) -> Option<Box<dyn Sees>> {
    let tower = build.model().tower.as_ref()?;
    let (tape, tuning) = (build.tape, &build.with.tuning);
    tape.set_layer(BESIDE);
    let mut parts = Vec::with_capacity(8);
    let of_tower = if tower.hears() { OPERATIONS[2] } else { OPERATIONS[0] };
    let kinds =
        [(tower.modules, tuning.freezes_tower()), (tower.projector, tuning.freezes_model())];
    for (op, (modules, freezes)) in [of_tower, OPERATIONS[1]].into_iter().zip(kinds) {
        let before = tape.freeze(freezes);
        tape.at(op, sources::PYTORCH_AUTOGRAD);
        parts.extend(
            modules.parts.iter().filter_map(|part| declare_part(build, (op, part), &tower.sizes)),
        );
        tape.freeze(before);
    }
    let sight = Sight::new(build, tower, parts.clone());
    for part in &parts {
        let of_copy = part.to - part.from;
        for copy in 0..part.times {
            let from = part.from + part.behind(copy);
            let unread = sight.as_ref().is_none_or(|sight| sight.leaves_out(part, copy));
            (from..from + of_copy).filter(|_| unread).for_each(|param| tape.idle(param));
        }
    }
    tape.set_layer(0);
    sight.map(|sight| -> Box<dyn Sees> { Box::new(sight) })
}

/// The rows of the token embedding: some models have more than the vocabulary, for marks around
/// images.
pub(super) fn with_rows(build: &Build<'_>, vocab: Dim) -> Dim {
    let rows = build.model().tower.map_or(0, |tower| tower.sizes.get(TowerSize::TextRows));
    let parts = build.with.vocab().1.checked_div(vocab.1).unwrap_or(1);
    Dim(vocab.0, vocab.1.saturating_add(rows.div_ceil(parts.max(1))))
}

fn declare_part(
    build: &Build<'_>,
    (op, part): (&'static str, &TowerPart),
    sizes: &TowerSizes,
) -> Option<Laid> {
    let times = sizes.get(part.times);
    if times == 0 {
        return None;
    }
    let from = build.tape.parameters();
    part.layers.iter().for_each(|layer| declare_layer(build, layer, sizes));
    let to = build.tape.parameters();
    for _ in 1..times {
        build.tape.repeat(from, to);
    }
    if part.layers.iter().any(run::attends) {
        // Each block is a group of weights of its own.
        (0..times).zip(1..).for_each(|(copy, tag)| {
            let behind = u32::try_from(copy).unwrap_or(u32::MAX).saturating_mul(to - from);
            build.tape.move_to(BESIDE + tag, (from + behind, to + behind));
        });
    }
    Some(Laid { op, layers: part.layers, sizes: *sizes, from, to, times })
}

fn declare_layer(build: &Build<'_>, layer: &TowerLayer, sizes: &TowerSizes) {
    let dim = |size: TowerSize| Dim(size.name(), sizes.get(size));
    let matrix = |name, input, output| build.parameter(name, [dim(output), dim(input)]);
    match *layer {
        TowerLayer::Matrix(name, input, output) => _ = matrix(name, input, output),
        TowerLayer::Linear(name, input, output) => {
            matrix(name, input, output);
            build.vector("bias", dim(output));
        }
        TowerLayer::LayerNorm(width) => {
            build.vector("norm scale", dim(width));
            build.vector("norm bias", dim(width));
        }
        TowerLayer::MaybeBiased(name, input, output, flag) => {
            matrix(name, input, output);
            if sizes.get(flag) > 0 {
                build.vector("bias", dim(output));
            }
        }
        TowerLayer::EitherNorm(width, flag) => {
            build.vector("norm scale", dim(width));
            if sizes.get(flag) > 0 {
                build.vector("norm bias", dim(width));
            }
        }
        TowerLayer::MaybeNorm(width, flag) if sizes.get(flag) > 0 => {
            _ = build.vector("norm scale", dim(width));
        }
        TowerLayer::RmsNorm(width) => _ = build.vector("norm scale", dim(width)),
        TowerLayer::Table(name, rows, width) => _ = build.parameter(name, [dim(rows), dim(width)]),
        TowerLayer::Plane(name, rows, width) => {
            build.parameter(name, [dim(TowerSize::One), dim(rows), dim(width)]);
        }
        TowerLayer::Vector(name, width) => _ = build.vector(name, dim(width)),
        TowerLayer::MaybeNorm(..) | TowerLayer::Runs(_) => {}
    }
}

/// Buffers that tower and projector keep beside their parameters; `format` is that of weights.
pub(super) fn buffers<'t>(tape: &'t Tape, tower: &Tower, format: DType) -> Vec<Var<'t>> {
    let dim = |size: TowerSize| Dim(size.name(), tower.sizes.get(size));
    let all = tower.modules.buffers.iter().chain(tower.projector.buffers);
    all.flat_map(|buffer| match *buffer {
        TowerBuffer::PositionIds(rows) => {
            vec![tape.constant("positions of patches", tape.form([dim(rows)]), DType::Int64)]
        }
        TowerBuffer::Frequencies(width) => {
            let one = |name| tape.constant(name, tape.form([dim(width)]), FP32);
            vec![one("frequencies of patches"), one("first frequencies of patches")]
        }
        // A complex number is as long as a whole one of 64 bits.
        TowerBuffer::Factors(rows, width) => {
            vec![tape.constant(
                "factors of patches",
                tape.form([dim(rows), dim(width)]),
                DType::Int64,
            )]
        }
        TowerBuffer::Pair(width) => ["mean of each number", "deviation of each number"]
            .map(|name| tape.constant(name, tape.form([dim(width)]), format))
            .to_vec(),
        TowerBuffer::Table(rows, width) => {
            vec![tape.constant("table of patches", tape.form([dim(rows), dim(width)]), FP32)]
        }
    })
    .collect()
}
