//! The steps of a tower, carried out on the images of a micro-batch.

use super::Laid;
use super::run::{At, Sight};
use crate::config::{TowerLayer, TowerScale, TowerSize};
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

    /// A matrix that reads what memory holds in another order; what it makes has the tower's
    /// format.
    pub(super) fn times<'t>(
        &self,
        tape: &'t Tape,
        layer: Option<(TowerLayer, Param)>,
        At { x, rows, width }: At<'t>,
    ) -> At<'t> {
        let format = x.dtype();
        let x = x.for_product();
        let x = if self.images.1 > 1 { x.copy() } else { x };
        let At { x, rows, width } = self.linear(tape, layer, None, At { x, rows, width });
        At { x: x.cast(format), rows, width }
    }

    pub(super) fn form(&self, tape: &Tape, rows: u64, width: TowerSize) -> Form {
        tape.form([
            self.images,
            Dim("patches", rows),
            Dim(width.name(), self.tower.sizes.get(width)),
        ])
    }

    pub(super) fn norm(&self, tape: &Tape, part: &Laid, (layer, rows): (u8, u64)) -> Option<Norm> {
        let (layer, param) = part.layer(layer)?;
        let has = |flag: TowerSize| self.tower.sizes.get(flag) > 0;
        let bias = match layer {
            TowerLayer::LayerNorm(_) => true,
            TowerLayer::EitherNorm(_, flag) => has(flag),
            TowerLayer::MaybeNorm(_, flag) if !has(flag) => return None,
            TowerLayer::MaybeNorm(..)
            | TowerLayer::RmsNorm(_)
            | TowerLayer::Linear(..)
            | TowerLayer::Matrix(..)
            | TowerLayer::MaybeBiased(..)
            | TowerLayer::Table(..)
            | TowerLayer::Plane(..)
            | TowerLayer::Vector(..)
            | TowerLayer::Runs(_) => false,
        };
        let bias = bias.then_some(param + 1);
        Some(Norm::of_tower(param, bias, self.of_rows(tape, rows)))
    }

    /// A norm whose scale is one plus what is learned, in fp32.
    pub(super) fn norm_one_plus<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        match part.layer(layer) {
            Some((_, scale)) => Norm::one_plus(scale, self.of_rows(tape, rows)).run(&x),
            None => x,
        }
    }

    /// The shape of a norm's statistics.
    pub(super) fn of_rows(&self, tape: &Tape, rows: u64) -> Form {
        tape.form([self.images, Dim("patches", rows), Dim("row", 1)])
    }

    /// The tower's part of an image's pixels, in the format of its weights, by a convolution.
    pub(super) fn patches<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        pixels: Var<'t>,
    ) -> At<'t> {
        let (rows, width) = (self.tower.sizes.get(TowerSize::Patches), TowerSize::Hidden);
        let Some((layer, weight)) = part.layer(layer) else { return At { x: pixels, rows, width } };
        let bias = matches!(layer, TowerLayer::Linear(..)).then_some(weight + 1);
        let format = tape.read(weight).dtype();
        let x =
            pixels.cast_as(format, "pixels").patched((weight, bias), self.form(tape, rows, width));
        let x = if self.wanting { x.wanting() } else { x };
        At { x, rows, width }
    }

    pub(super) fn with_class_token<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        at: At<'t>,
    ) -> At<'t> {
        let Some((_, token)) = part.layer(layer) else { return at };
        let rows = at.rows.saturating_add(1);
        let token = tape.read(token).expand(self.form(tape, 1, at.width));
        At {
            x: token.cat(at.x, self.form(tape, rows, at.width)).named("patches with their class"),
            rows,
            ..at
        }
    }

    pub(super) fn with_positions<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        let Some((_, table)) = part.layer(layer) else { return x };
        // The ids are a buffer of the tower.
        let ids =
            tape.constant("positions of patches", tape.form([Dim("nothing", 0)]), DType::Int64);
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
            TowerLayer::MaybeBiased(_, _, output, flag) => {
                (output, (self.tower.sizes.get(flag) > 0).then_some(weight + 1))
            }
            _ => return at,
        };
        let form = self.form(tape, at.rows, width);
        // Of one image the rows can be read in any order.
        let x = if self.images.1 > 1 { at.x.contiguous() } else { at.x };
        At { x: x.linear(weight, bias, form), rows: at.rows, width }
    }

    /// Attention of what a norm makes of `x`, scaled by a vector where there is one and added to
    /// it; and the probabilities.
    pub(super) fn attend<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [query, key, value, output], scaled): (u8, [u8; 4], Option<TowerScale>),
        (x, rows): (Var<'t>, u64),
    ) -> (Var<'t>, Option<Var<'t>>) {
        let Some(norm) = self.norm(tape, part, (norm, rows)) else { return (x, None) };
        let normed = norm.run(&x);
        let of = |layer: u8, x: &Var<'t>| {
            self.linear(
                tape,
                part.layer(layer),
                None,
                At { x: x.clone(), rows, width: TowerSize::Hidden },
            )
            .x
        };
        let (norms, scale) =
            (scaled.map(|scaled| scaled.normed), scaled.map(|scaled| scaled.scale));
        let projected = |layer, norm: Option<u8>| {
            let made = of(layer, &normed);
            match norm.and_then(|norm| self.norm(tape, part, (norm, rows))) {
                Some(norm) => norm.run(&made),
                None => made,
            }
        };
        let (q, k) = (
            projected(query, norms.map(|norms| norms[0])),
            projected(key, norms.map(|norms| norms[1])),
        );
        let heads = |x: Var<'t>, name| x.named(name).heads(self.heads, self.several);
        let (q, k, v) =
            (heads(q, "queries"), heads(k, "keys"), heads(of(value, &normed), "values"));
        let mask = self.picked.as_ref().and_then(|picked| picked.of_scores(tape));
        let (seen, weights) = self.core.run((&q, &k, &v), &Tables { mask, ..Tables::default() });
        let out = of(output, &seen);
        drop((q, k, v, seen, normed));
        (with_scaled(tape, part, scale, (x, out)).named("attention residual"), weights)
    }

    /// Two matrices and a function between, of what a norm makes of `x`, scaled by a vector where
    /// there is one and added to it.
    pub(super) fn feed<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [up, down], scale): (u8, [u8; 2], Option<u8>),
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        let (Some(norm), Some(function)) =
            (self.norm(tape, part, (norm, rows)), self.tower.function(TowerSize::Act))
        else {
            return x;
        };
        let normed = norm.run(&x);
        let of = |layer: u8, x: Var<'t>| {
            self.linear(tape, part.layer(layer), None, At { x, rows, width: TowerSize::Hidden }).x
        };
        let inner = Activation::of(function)
            .run(&of(up, normed.clone()).named("up output"))
            .named("down input");
        let output = of(down, inner);
        drop(normed);
        with_scaled(tape, part, scale, (x, output)).named("block output")
    }

    /// Learned positions of each patch by its place, whose numbers are made for every image, added.
    pub(super) fn placed<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        let Some((_, table)) = part.layer(layer) else { return x };
        let ids = tape.constant(
            "places of patches",
            tape.form([self.images, Dim("patches", rows)]),
            DType::Int64,
        );
        let places = tape.embedding(ids, table, self.form(tape, rows, TowerSize::Hidden));
        let sums = x.add(places.named("embedded positions of patches")).named("embedded patches");
        if self.wanting_sums { sums.wanting() } else { sums }
    }

    /// Squares of patches side by side, by a copy that changes the places of columns and one that
    /// changes those of rows.
    pub(super) fn shuffled<'t>(&self, tape: &Tape, At { x, rows, .. }: At<'t>) -> At<'t> {
        let merge = self.tower.sizes.get(TowerSize::Merge).max(1);
        let (rows, width) = (rows / merge.saturating_mul(merge), TowerSize::Merged);
        let form = self.form(tape, rows, width);
        At { x: x.moved(form).moved(form), rows, width }
    }
}

/// The sum of a residual and what a half of a block makes, which a learned vector scales where
/// there is one.
fn with_scaled<'t>(
    tape: &'t Tape,
    part: &Laid,
    scale: Option<u8>,
    (x, made): (Var<'t>, Var<'t>),
) -> Var<'t> {
    match scale.and_then(|scale| part.layer(scale)) {
        Some((_, scale)) => tape.read(scale).mul(made).add(x),
        None => x.add(made),
    }
}

/// Learned positions, as they are, added to all images alike.
pub(super) fn added<'t>(tape: &'t Tape, part: &Laid, layer: u8, x: Var<'t>) -> Var<'t> {
    match part.layer(layer) {
        Some((_, table)) => x.add(tape.read(table)).named("embedded patches"),
        None => x,
    }
}
