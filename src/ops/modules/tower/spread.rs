//! Tiles of an image whose patches are put together again (transformers 5.23, `models/llava_next`
//! and `models/llava_onevision`).

use super::Laid;
use crate::config::{Seen, TiledImage, Tower, TowerSize};
use crate::ops::modules::Build;
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// The shapes that an image goes through.
#[derive(Debug)]
pub(super) struct SpreadOut {
    spread: TiledImage,
    /// How many images there are.
    images: u64,
    /// All tiles of one image; the whole image, which is the first of them, and the others.
    of_image: Form,
    whole: Form,
    tiles: Form,
    /// Numbers by patches, of all tiles, without what was padded, as far as they are shown, and
    /// with what ends every row.
    planes: [Form; 4],
    /// The vector that ends every row.
    ends: Form,
    /// Tokens of an image, and of all.
    tokens: [Form; 2],
    /// Rows and columns of pixels of each image.
    sizes: Form,
}

impl SpreadOut {
    /// So many tiles, as an image is seen.
    pub fn new(
        build: &Build<'_>,
        tower: &Tower,
        (tiles, seen): (u64, Seen),
        spread: TiledImage,
    ) -> Self {
        let tape = build.tape;
        let text = Dim("text hidden_size", tower.sizes.get(TowerSize::Text));
        let patches = Dim("patches", seen.tokens.saturating_sub(spread.tokens()));
        let along = patches.1.isqrt();
        let of_tiles = |count: u64| tape.form([Dim("tiles", count), patches, text]);
        let images = tiles.checked_div(seen.tiles).unwrap_or(0);
        let all = spread.grid.map_or([0; 2], |grid| grid.map(|tiles| tiles.saturating_mul(along)));
        let plane = |[rows, columns]: [u64; 2]| {
            tape.form([text, Dim("rows", rows), Dim("columns", columns)])
        };
        let [rows, columns] = spread.shown;
        let tokens = |times: u64| {
            tape.form([Dim("tokens of images", seen.tokens.saturating_mul(times)), text])
        };
        Self {
            images,
            of_image: of_tiles(seen.tiles),
            whole: tape.form([patches, text]),
            tiles: of_tiles(seen.tiles.saturating_sub(1)),
            planes: [
                plane(all),
                plane(spread.cut),
                plane(spread.shown),
                plane([rows, columns.saturating_add(1)]),
            ],
            ends: if spread.grid.is_some() {
                plane([rows, 1])
            } else {
                tape.form([Dim("one", 1), text])
            },
            tokens: [tokens(1), tokens(images)],
            sizes: tape.form([Dim("images", images), Dim("axes", 2)]),
            spread,
        }
    }

    /// Numbers that the model is told beside pixels.
    pub fn sizes<'t>(&self, tape: &'t Tape) -> Var<'t> {
        tape.constant("sizes of images", self.sizes, DType::Int64)
    }

    /// All images in one row of tokens.
    pub fn joined<'t>(&self, apart: &[Var<'t>]) -> Option<Var<'t>> {
        Var::stacked(apart, self.tokens[1]).map(|joined| joined.named("tokens of images"))
    }
}

impl SpreadOut {
    /// The tokens of each image: those of the whole, and behind them its tiles' in their places.
    pub fn apart<'t>(&self, tape: &'t Tape, (part, end): (&Laid, u8), x: &Var<'t>) -> Vec<Var<'t>> {
        let Some((_, end)) = part.layer(end) else { return Vec::new() };
        let forms: Vec<Form> = (0..self.images).map(|_| self.of_image).collect();
        let of_image = |image: &Var<'t>| {
            let whole = image.clone().slice(self.whole);
            let behind = match self.spread.grid {
                Some(_) => self.plane(tape.read(end), image.clone()),
                None => tape.read(end).view(self.ends).cast(image.dtype()),
            };
            whole.cat(behind, self.tokens[0]).named("tokens of an image")
        };
        x.clone().parts_of(&forms).iter().map(of_image).collect()
    }

    /// The patches of all tiles in their places, without what was padded, each row with a vector at
    /// its end.
    fn plane<'t>(&self, end: Var<'t>, image: Var<'t>) -> Var<'t> {
        let [all, cut, shown, ended] = self.planes;
        let mut plane = image.slice(self.tiles).moved(all).named("patches in a plane");
        if self.spread.grid.is_some_and(|_| all != cut) {
            plane = plane.slice(cut);
        }
        if shown != cut {
            plane = { plane }.pooled_to(shown);
        }
        let ends = end.expand(self.ends).cast_as(plane.dtype(), "ends of rows");
        plane.cat(ends, ended).named("patches with ends of rows")
    }
}
