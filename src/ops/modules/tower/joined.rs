//! Images of any form whose patches are joined in one row behind the convolution (transformers
//! 5.23, `models/pixtral`).

use std::cell::Cell;

use super::Laid;
use super::run::{At, Sight};
use crate::config::{AttentionKernel, Seen, Tower, TowerLayer, TowerSize};
use crate::ops::modules::rotary::rotated;
use crate::ops::modules::{Build, FP32, Tables};
use crate::ops::tape::{Form, Kept, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// How such images run.
#[derive(Debug)]
pub(super) struct Joined {
    /// `[images, patches, hidden]`, as the convolution makes them.
    planes: Form,
    /// Places of patches along both sides, their angles, and a half of them.
    places: [Form; 3],
    /// Cosines and sines by patch.
    table: Form,
    /// The scores that a patch has of others, where images are told apart by a mask.
    mask: Option<Form>,
    /// Rows and columns of pixels of each image.
    sizes: Form,
    /// Where images end.
    ends: Form,
    /// `[1, heads, patches, half a head]`.
    half: Form,
    /// Squares of patches of all images, as a kernel reads them.
    squares: Form,
    /// Tensors that `forward` holds: the convolution's output, cosines and sines, and the mask or
    /// where images end.
    held: Cell<[Option<Kept>; 4]>,
}

impl Joined {
    pub fn new(build: &Build<'_>, tower: &Tower, (images, seen): (u64, Seen)) -> Self {
        let tape = build.tape;
        let size = |size: TowerSize| Dim(size.name(), tower.sizes.get(size));
        let head = tower.head_width().unwrap_or(1);
        let rows = Dim("patches", seen.rows.saturating_mul(images));
        let (one, two, turned) = (Dim("one", 1), Dim("axes", 2), Dim("turned", head / 2));
        let merge = tower.sizes.get(TowerSize::Merge).max(1);
        let squares = Dim("patches", rows.1 / merge.saturating_mul(merge));
        Self {
            planes: tape.form([
                Dim("images", images),
                Dim("patches", seen.rows),
                size(TowerSize::Hidden),
            ]),
            places: [
                tape.form([rows, two]),
                tape.form([rows, two, turned]),
                tape.form([rows, turned]),
            ],
            table: tape.form([rows, Dim("vision head_dim", head)]),
            mask: (build.with.attention == AttentionKernel::Standard)
                .then(|| tape.form([rows, Dim("patches seen", rows.1)])),
            sizes: tape.form([Dim("images", images), two]),
            ends: tape.form([Dim("ends", images.saturating_add(1))]),
            half: tape.form([one, size(TowerSize::Heads), rows, turned]),
            squares: tape.form([one, squares, size(TowerSize::Merged)]),
            held: Cell::default(),
        }
    }

    /// Numbers that the model is told beside pixels.
    pub fn sizes<'t>(&self, tape: &'t Tape) -> Var<'t> {
        tape.constant("sizes of images", self.sizes, DType::Int64)
    }

    /// Cosines and sines of the places of patches in the format of these
    /// (`PixtralVisionRotaryEmbedding`), and what tells images apart.
    pub fn make_tables(&self, tape: &Tape, patches: &Var<'_>) {
        let made = |name, form| tape.constant(name, form, FP32);
        let places = tape.constant("places of patches", self.places[0], DType::Int64);
        let angles = {
            let _numbers = made("places in fp32", self.places[0]);
            made("angles of patches", self.places[1])
        };
        let cos = made("cosines", self.places[1]);
        let sin = made("sines", self.places[1]);
        let together = |of_axes: Var<'_>, name| {
            let _half = made("of both axes", self.places[2]);
            let table = made(name, self.table);
            drop(of_axes);
            table
        };
        let cos = together(cos, "cosines of patches");
        let sin = together(sin, "sines of patches");
        drop(angles);
        let [cos, sin] =
            [cos, sin].map(|table| table.cast_as(patches.dtype(), "tables of patches").kept());
        drop(places);
        // Whole numbers of 32 bits.
        let apart = self.mask.map_or_else(
            || tape.constant("ends of images", self.ends, FP32),
            |mask| tape.constant("mask between images", mask, patches.dtype()),
        );
        self.held.set([self.held.get()[0], Some(cos), Some(sin), Some(apart.kept())]);
    }

    /// The tables that blocks read.
    pub fn tables<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        self.held.get().into_iter().skip(1).flatten().map(|kept| tape.held(kept)).collect()
    }

    /// Lets go of the tensors that the tower's `forward` held, as far as nobody else holds them.
    pub fn ends(&self, tape: &Tape) {
        self.held.take().into_iter().flatten().for_each(|kept| tape.let_go(kept));
    }
}

impl Sight {
    /// Patches of every image by a convolution, all in one row; the planes are held until the tower
    /// is through.
    pub(super) fn joined_patches<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        pixels: Var<'t>,
    ) -> At<'t> {
        let (rows, width) = (self.rows, TowerSize::Hidden);
        let (Some((layer, weight)), Some(joined)) = (part.layer(layer), &self.joined) else {
            return At { x: pixels, rows, width };
        };
        let bias = matches!(layer, TowerLayer::Linear(..)).then_some(weight + 1);
        let format = tape.read(weight).dtype();
        let planes = pixels.cast_as(format, "pixels").patched((weight, bias), joined.planes);
        let planes = if self.wanting { planes.wanting() } else { planes };
        joined.held.set([Some(planes.clone().kept()), None, None, None]);
        At {
            x: planes.listed(self.form(tape, rows, width)).named("patches in one row"),
            rows,
            width,
        }
    }

    /// Attention of what a norm makes of `x` among the patches of each image, turned by their
    /// places, added to it.
    pub(super) fn attend_turned<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        (norm, [query, key, value, output]): (u8, [u8; 4]),
        (x, rows): (Var<'t>, u64),
    ) -> (Var<'t>, Option<Var<'t>>) {
        let (Some(norm), Some(joined)) = (self.norm(tape, part, (norm, rows)), &self.joined) else {
            return (x, None);
        };
        let tables = joined.tables(tape);
        let [cos, sin, apart] = tables.as_slice() else { return (x, None) };
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
        let heads = |layer, name| of(layer, &normed).named(name).heads(self.heads, self.several);
        let (q, k, v) = (heads(query, "queries"), heads(key, "keys"), heads(value, "values"));
        let turned = rotated(&q, (cos, sin), joined.half).named("queries");
        let k = rotated(&{ k }, (cos, sin), joined.half).named("keys");
        drop(q);
        let masks = Tables { mask: joined.mask.map(|_| apart.clone()), ..Tables::default() };
        let (seen, weights) = self.core.run((&turned, &k, &v), &masks);
        let out = of(output, &seen);
        drop((turned, k, v, seen, normed));
        (x.add(out).named("attention residual"), weights)
    }

    /// Squares of patches of each image, by a kernel that reads its plane (`unfold`), side by side.
    pub(super) fn unfolded<'t>(&self, At { x, rows, .. }: At<'t>) -> At<'t> {
        let merge = self.tower.sizes.get(TowerSize::Merge).max(1);
        let (rows, width) = (rows / merge.saturating_mul(merge), TowerSize::Merged);
        let Some(joined) = &self.joined else { return At { x, rows, width } };
        let form = x.form();
        let squares = x.taken_apart(form).moved(joined.squares).named("squares of patches");
        At { x: squares.copy().named("squares of patches"), rows, width: TowerSize::Merged }
    }
}
