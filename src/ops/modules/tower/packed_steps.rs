//! Steps of a tower over images whose patches stand in one row.

use super::Laid;
use super::run::{At, Sight};
use crate::config::{TowerLayer, TowerSize};
use crate::ops::modules::FP32;
use crate::ops::modules::mlp::Activation;
use crate::ops::tape::{Order, Tape, Var};
use crate::units::DType;

impl Sight {
    /// Patches, which the processor has cut out, through the convolution of their size.
    pub(super) fn packed_patches<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        pixels: Var<'t>,
    ) -> At<'t> {
        let (rows, width) = (self.rows, TowerSize::Hidden);
        let Some((layer, weight)) = part.layer(layer) else { return At { x: pixels, rows, width } };
        let bias = matches!(layer, TowerLayer::Linear(..)).then_some(weight + 1);
        let x = pixels.patched((weight, bias), self.form(tape, rows, width));
        let x = if self.wanting { x.wanting() } else { x };
        At { x, rows, width }
    }

    /// Squares of patches side by side.
    pub(super) fn merged<'t>(&self, tape: &Tape, At { x, rows, .. }: At<'t>) -> At<'t> {
        let merge = self.tower.sizes.get(TowerSize::Merge).max(1);
        let (rows, width) = (rows / merge.saturating_mul(merge), TowerSize::Merged);
        At { x: x.view(self.form(tape, rows, width)), rows, width }
    }

    /// Rows of a table around the place of each patch, by how near they are, added to it.
    pub(super) fn interpolated<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        x: Var<'t>,
    ) -> Var<'t> {
        let (Some((_, table)), Some(packed)) = (part.layer(layer), &self.packed) else { return x };
        let [taps, embedded, sums] = packed.taps;
        let places = tape.constant("rows of positions", taps, DType::Int64);
        let weights = tape.constant("nearness of rows", taps, FP32);
        let embedded = tape.embedding(places.clone(), table, embedded);
        let product = embedded.mul(weights.clone());
        let between = { product }.sum(sums).named("positions between rows");
        packed.between.set(Some([places.kept(), weights.kept(), between.kept()]));
        let between = between.cast(x.dtype());
        x.add(between).named("embedded patches")
    }

    /// Patches in the order of windows, by squares that become one token.
    pub(super) fn in_windows<'t>(&self, tape: &'t Tape, At { x, rows, width }: At<'t>) -> At<'t> {
        let Some((packed, order)) =
            self.packed.as_ref().and_then(|packed| Some((packed, packed.order.get()?)))
        else {
            return At { x, rows, width };
        };
        let squares = { x }.view(packed.tokens[1]);
        let x =
            squares.gather(&tape.held(order), packed.tokens[1]).view(self.form(tape, rows, width));
        At { x, rows, width }
    }

    /// Tokens in the order of the image again.
    pub(super) fn in_order<'t>(&self, tape: &'t Tape, At { x, rows, width }: At<'t>) -> At<'t> {
        let Some(order) = self.packed.as_ref().and_then(|packed| packed.reversed.get()) else {
            return At { x, rows, width };
        };
        let form = x.form();
        At { x: x.gather(&tape.held(order), form), rows, width }
    }

    /// A gated feed-forward layer of what a norm makes of `x`, added to it.
    pub(super) fn gated<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [gate, up, down]): (u8, [u8; 3]),
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
        let gate = Activation::of(function).run(&of(gate, normed.clone()).named("gate output"));
        let inner = gate.mul(of(up, normed.clone()).named("up output")).named("down input");
        let output = of(down, inner);
        drop(normed);
        x.add(output).named("block output")
    }

    /// Attention of what a norm makes of `x`, added to it.
    pub(super) fn attend_jointly<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [joint, output]): (u8, [u8; 2]),
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        let (Some(norm), Some(packed)) = (self.norm(tape, part, (norm, rows)), &self.packed) else {
            return x;
        };
        let normed = norm.run(&x);
        let of = |layer: u8, x: Var<'t>| {
            self.linear(tape, part.layer(layer), None, At { x, rows, width: TowerSize::Hidden }).x
        };
        let joint =
            of(joint, normed.clone()).named("queries, keys and values").heads(packed.joint, true);
        let [q, k, v] = { joint }.ordered(Order::Plain).split([packed.queries[0]; 3]);
        let (q, k) = packed.turned(tape, (q, k));
        let [q, k, v] = [q, k, v].map(|x| x.swap(packed.heads, packed.several));
        let form = self.form(tape, rows, TowerSize::Hidden);
        let _lengths = tape.constant("lengths", packed.chunks().lengths, FP32);
        let Some((seen, of_chunks)) = packed.chunks().attend(tape, [&q, &k, &v], form) else {
            return x;
        };
        let out = of(output, seen.clone());
        drop((q, k, v, seen, of_chunks, normed));
        x.add(out).named("attention residual")
    }
}
