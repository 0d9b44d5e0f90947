//! A vision tower and its projector, as they lie in memory while no image is in the texts: no gradient reaches them.

use super::{Build, FP32};
use crate::config::{Tower, TowerBuffer, TowerLayer, TowerPart, TowerSize, TowerSizes};
use crate::ops::tape::{Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The layer of tape that a tower belongs to: it is no block, and no group of weights that forward gathers.
const BESIDE: u16 = u16::MAX / 2;

/// Declares the parameters of tower and projector, if the model has them.
pub(super) fn declare(build: &Build<'_>) {
    let Some(tower) = &build.model().tower else { return };
    build.tape.set_layer(BESIDE);
    for (op, modules) in [("Vision tower", tower.modules), ("Projector", tower.projector)] {
        build.tape.at(op, sources::PYTORCH_AUTOGRAD);
        modules.parts.iter().for_each(|part| declare_part(build, part, &tower.sizes));
    }
    build.tape.set_layer(0);
}

/// The rows of the token embedding: some models have more than the vocabulary, for marks around images.
pub(super) fn with_rows(build: &Build<'_>, vocab: Dim) -> Dim {
    let rows = build.model().tower.map_or(0, |tower| tower.sizes.get(TowerSize::TextRows));
    let parts = build.with.vocab().1.checked_div(vocab.1).unwrap_or(1);
    Dim(vocab.0, vocab.1.saturating_add(rows.div_ceil(parts.max(1))))
}

fn declare_part(build: &Build<'_>, part: &TowerPart, sizes: &TowerSizes) {
    let times = sizes.get(part.times);
    if times == 0 {
        return;
    }
    let from = build.tape.parameters();
    part.layers.iter().for_each(|layer| declare_layer(build, layer, sizes));
    let to = build.tape.parameters();
    (from..to).for_each(|param: Param| build.tape.idle(param));
    for _ in 1..times {
        build.tape.repeat(from, to);
    }
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
        TowerLayer::RmsNorm(width) => _ = build.vector("norm scale", dim(width)),
        TowerLayer::Table(name, rows, width) => _ = build.parameter(name, [dim(rows), dim(width)]),
        TowerLayer::Vector(name, width) => _ = build.vector(name, dim(width)),
    }
}

/// Buffers that tower and projector keep beside their parameters.
pub(super) fn buffers<'t>(tape: &'t Tape, tower: &Tower) -> Vec<Var<'t>> {
    let dim = |size: TowerSize| Dim(size.name(), tower.sizes.get(size));
    let all = tower.modules.buffers.iter().chain(tower.projector.buffers);
    all.flat_map(|buffer| match *buffer {
        TowerBuffer::PositionIds(rows) => vec![tape.constant("positions of patches", tape.form([dim(rows)]), DType::Int64)],
        TowerBuffer::Frequencies(width) => {
            let one = |name| tape.constant(name, tape.form([dim(width)]), FP32);
            vec![one("frequencies of patches"), one("first frequencies of patches")]
        }
        // A complex number is as long as a whole one of 64 bits.
        TowerBuffer::Factors(rows, width) => {
            vec![tape.constant("factors of patches", tape.form([dim(rows), dim(width)]), DType::Int64)]
        }
        TowerBuffer::Table(rows, width) => vec![tape.constant("table of patches", tape.form([dim(rows), dim(width)]), FP32)],
    })
    .collect()
}
