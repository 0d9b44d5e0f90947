//! The steps of a tower, carried out on the images of a micro-batch.

use super::Laid;
use super::run::{At, Sight};
use crate::config::{TowerLayer, TowerSize};
use crate::ops::modules::Tables;
use crate::ops::modules::mlp::Activation;
use crate::ops::modules::norm::Norm;
use crate::ops::tape::{Form, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

impl Sight {
    /// Tokens as they are, of which the first is normed for nobody: its saved tensors go at once.
    pub(super) fn with_first_normed<'t>(
        &self,
        tape: &'t Tape,
        (part, layer): (&Laid, u8),
        (x, width): (Var<'t>, TowerSize),
    ) -> Var<'t> {
        let first = x.clone().slice(self.form(tape, 1, width));
        let from = tape.nodes();
        drop(self.norm(tape, part, (layer, 1)).map(|norm| norm.run(&first)));
        tape.abandon((from, tape.nodes()));
        x
    }

    /// The means of squares of patches.
    pub(super) fn pooled<'t>(&self, tape: &'t Tape, At { x, width, .. }: At<'t>) -> At<'t> {
        let side = self.tower.pooled_side().unwrap_or(1);
        let rows = side.saturating_mul(side);
        let plane = x.copy().named("patches in a plane");
        At { x: plane.pooled(self.form(tape, rows, width)), rows, width }
    }

    /// A matrix that reads what memory holds in another order; what it makes has the tower's format.
    pub(super) fn times<'t>(&self, tape: &'t Tape, layer: Option<(TowerLayer, Param)>, At { x, rows, width }: At<'t>) -> At<'t> {
        let format = x.dtype();
        let x = x.for_product();
        let x = if self.images.1 > 1 { x.copy() } else { x };
        let At { x, rows, width } = self.linear(tape, layer, None, At { x, rows, width });
        At { x: x.cast(format), rows, width }
    }

    pub(super) fn form(&self, tape: &Tape, rows: u64, width: TowerSize) -> Form {
        tape.form([self.images, Dim("patches", rows), Dim(width.name(), self.tower.sizes.get(width))])
    }

    pub(super) fn norm(&self, tape: &Tape, part: &Laid, (layer, rows): (u8, u64)) -> Option<Norm> {
        let (layer, param) = part.layer(layer)?;
        let bias = matches!(layer, TowerLayer::LayerNorm(_)).then_some(param + 1);
        Some(Norm::of_tower(param, bias, self.of_rows(tape, rows)))
    }

    /// The shape of a norm's statistics.
    pub(super) fn of_rows(&self, tape: &Tape, rows: u64) -> Form {
        tape.form([self.images, Dim("patches", rows), Dim("row", 1)])
    }

    /// The tower's part of an image's pixels, in the format of its weights, by a convolution.
    pub(super) fn patches<'t>(&self, tape: &'t Tape, part: &Laid, layer: u8, pixels: Var<'t>) -> At<'t> {
        let (rows, width) = (self.tower.sizes.get(TowerSize::Patches), TowerSize::Hidden);
        let Some((layer, weight)) = part.layer(layer) else { return At { x: pixels, rows, width } };
        let bias = matches!(layer, TowerLayer::Linear(..)).then_some(weight + 1);
        let format = tape.read(weight).dtype();
        let x = pixels.cast_as(format, "pixels").patched((weight, bias), self.form(tape, rows, width));
        let x = if self.wanting { x.wanting() } else { x };
        At { x, rows, width }
    }

    pub(super) fn with_class_token<'t>(&self, tape: &'t Tape, part: &Laid, layer: u8, at: At<'t>) -> At<'t> {
        let Some((_, token)) = part.layer(layer) else { return at };
        let rows = at.rows.saturating_add(1);
        let token = tape.read(token).expand(self.form(tape, 1, at.width));
        At { x: token.cat(at.x, self.form(tape, rows, at.width)).named("patches with their class"), rows, ..at }
    }

    pub(super) fn with_positions<'t>(&self, tape: &'t Tape, part: &Laid, layer: u8, (x, rows): (Var<'t>, u64)) -> Var<'t> {
        let Some((_, table)) = part.layer(layer) else { return x };
        // The ids are a buffer of the tower.
        let ids = tape.constant("positions of patches", tape.form([Dim("nothing", 0)]), DType::Int64);
        let width = Dim(TowerSize::Hidden.name(), self.tower.sizes.get(TowerSize::Hidden));
        let places = tape.embedding(ids, table, tape.form([Dim("patches", rows), width]));
        x.add(places.named("embedded positions of patches")).named("embedded patches")
    }

    /// `x · Wᵀ`, and a bias.
    pub(super) fn linear<'t>(
        &self,
        tape: &'t Tape,
        layer: Option<(TowerLayer, Param)>,
        bias: Option<Param>,
        at: At<'t>,
    ) -> At<'t> {
        let Some((layer, weight)) = layer else { return at };
        let (width, bias) = match layer {
            TowerLayer::Linear(_, _, output) => (output, Some(weight + 1)),
            TowerLayer::Matrix(_, _, output) => (output, bias),
            _ => return at,
        };
        let form = self.form(tape, at.rows, width);
        // Of one image the rows can be read in any order.
        let x = if self.images.1 > 1 { at.x.contiguous() } else { at.x };
        At { x: x.linear(weight, bias, form), rows: at.rows, width }
    }

    /// Attention of what a norm makes of `x`, added to it; and the probabilities.
    pub(super) fn attend<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [query, key, value, output]): (u8, [u8; 4]),
        (x, rows): (Var<'t>, u64),
    ) -> (Var<'t>, Option<Var<'t>>) {
        let Some(norm) = self.norm(tape, part, (norm, rows)) else { return (x, None) };
        let normed = norm.run(&x);
        let of = |layer: u8, x: &Var<'t>| {
            self.linear(tape, part.layer(layer), None, At { x: x.clone(), rows, width: TowerSize::Hidden }).x
        };
        let heads = |layer, name| of(layer, &normed).named(name).heads(self.heads, self.several);
        let (q, k, v) = (heads(query, "queries"), heads(key, "keys"), heads(value, "values"));
        let (seen, weights) = self.core.run((&q, &k, &v), &Tables::default());
        let out = of(output, &seen);
        drop((q, k, v, seen, normed));
        (x.add(out).named("attention residual"), weights)
    }

    /// Two matrices and a function between, of what a norm makes of `x`, added to it.
    pub(super) fn feed<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [up, down]): (u8, [u8; 2]),
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        let (Some(norm), Some(function)) = (self.norm(tape, part, (norm, rows)), self.tower.function(TowerSize::Act)) else {
            return x;
        };
        let normed = norm.run(&x);
        let of = |layer: u8, x: Var<'t>| self.linear(tape, part.layer(layer), None, At { x, rows, width: TowerSize::Hidden }).x;
        let inner = Activation::of(function).run(&of(up, normed.clone()).named("up output")).named("down input");
        let output = of(down, inner);
        drop(normed);
        x.add(output).named("block output")
    }
}
