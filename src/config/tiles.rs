//! How processors cut an image into images of the tower's own size (transformers 5.23,
//! `models/*/image_processing_*.py`).

use crate::units::{ceil_u64, to_f64};

/// The rule of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileRule {
    /// The canvas of at most that many tiles whose form is nearest to the image's, and the whole
    /// image as one more tile (`get_optimal_tiled_canvas` of `got_ocr2`).
    Canvas(u64),
    /// The image is resized until its longer side is that many tiles long, and cut; the whole image
    /// is one more tile (`get_number_of_image_patches` of `idefics3`).
    Longest(u64),
}

/// The longest side that the processor of `idefics3` makes.
const LONGEST: u64 = 4096;

impl TileRule {
    /// Returns the number of images of side `side` into which an image of that width and height is
    /// cut; `None` for an empty one.
    pub fn tiles(self, [width, height]: [u64; 2], side: u64) -> Option<u64> {
        if width == 0 || height == 0 || side == 0 {
            return None;
        }
        let [columns, rows] = match self {
            Self::Canvas(most) => canvas([width, height], side, most),
            Self::Longest(tiles) => longest([width, height], side, tiles),
        };
        let tiles = columns.saturating_mul(rows);
        Some(if tiles > 1 { tiles.saturating_add(1) } else { 1 })
    }
}

/// Columns and rows of an image whose longer side is that many tiles long.
fn longest([width, height]: [u64; 2], side: u64, tiles: u64) -> [u64; 2] {
    let wide = width >= height;
    let form = to_f64(width) / to_f64(height);
    let long = side.saturating_mul(tiles);
    let cut = |long: u64| {
        ceil_u64((if wide { to_f64(long) / form } else { to_f64(long) * form }).floor())
    };
    let short = cut(long).next_multiple_of(2).max(1);
    let [long, short] = if long > LONGEST {
        // The form is taken from the image as it was first resized.
        let form = to_f64(short) / to_f64(long);
        [LONGEST, ceil_u64((to_f64(LONGEST) * form).floor()).max(1)]
    } else {
        [long, short]
    };
    let [long, short] = [long, short].map(|length| length.div_ceil(side));
    if wide { [long, short] } else { [short, long] }
}

/// Columns and rows of the canvas: of several that are equally near the larger one, as long as it
/// is at most twice the image.
fn canvas([width, height]: [u64; 2], side: u64, most: u64) -> [u64; 2] {
    let mut grids: Vec<[u64; 2]> = (1..=most)
        .flat_map(|columns| {
            (1..=most.checked_div(columns).unwrap_or(0)).map(move |rows| [columns, rows])
        })
        .collect();
    grids.sort_by_key(|[columns, rows]| columns * rows);
    let (form, area) = (to_f64(width) / to_f64(height), to_f64(width) * to_f64(height));
    let (mut best, mut nearest) = ([1, 1], f64::INFINITY);
    for grid in grids {
        let [columns, rows] = grid.map(to_f64);
        let far = (form - columns / rows).abs();
        let as_near = far.total_cmp(&nearest).is_eq()
            && area > 0.5 * to_f64(side) * to_f64(side) * columns * rows;
        if far < nearest || as_near {
            (best, nearest) = (grid, far);
        }
    }
    best
}

/// Tiles along a side of the largest resolution that an image is cut into, in lists of these.
pub const GRID: u64 = 8;

/// An image that is cut into tiles of one resolution of a list, whose patches are put together
/// again without what was padded (`pack_image_features` of `llava_next`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiledImage {
    /// Rows and columns of tiles; nothing where an image stays whole.
    pub grid: Option<[u64; 2]>,
    /// Rows and columns of patches without padding.
    pub cut: [u64; 2],
    /// Rows and columns of patches that are kept where there would be too many; patches are
    /// interpolated to these.
    pub shown: [u64; 2],
}

impl TiledImage {
    /// Spreads an image of that width and height. `grids` lists resolutions as bits, by their
    /// places in a square of [`GRID`] by [`GRID`] tiles; the one is taken that holds most of the
    /// image and wastes least (`select_best_resolution`), in tiles of that side with that many
    /// patches along it. `most` is the highest number of tiles whose patches are shown.
    pub fn new(
        [width, height]: [u64; 2],
        grids: u64,
        [side, along]: [u64; 2],
        most: Option<u64>,
    ) -> Option<Self> {
        let places = (0..GRID).flat_map(|row| (0..GRID).map(move |column| [row, column]));
        let of_list = places.filter(|[row, column]| {
            grids.checked_shr(u32::try_from(row * GRID + column).unwrap_or(u32::MAX)).unwrap_or(0)
                & 1
                == 1
        });
        let whole = width.saturating_mul(height);
        let mut best = None;
        for grid in of_list.map(|place| place.map(|tiles| tiles + 1)) {
            let [high, wide] = grid.map(|tiles| tiles.saturating_mul(side));
            let scale = (to_f64(wide) / to_f64(width)).min(to_f64(high) / to_f64(height));
            let scaled = |length: u64| ceil_u64((to_f64(length) * scale).floor());
            let held = scaled(width).saturating_mul(scaled(height)).min(whole);
            let wasted = high.saturating_mul(wide).saturating_sub(held);
            if best.is_none_or(|(_, most, least)| held > most || (held == most && wasted < least)) {
                best = Some((grid, held, wasted));
            }
        }
        let grid = best.filter(|_| whole > 0)?.0;
        let cut = without_padding([width, height], grid.map(|tiles| tiles.saturating_mul(along)));
        Some(Self {
            grid: Some(grid),
            cut,
            shown: most.map_or(cut, |most| at_most(cut, most.saturating_mul(along.pow(2)))),
        })
    }

    /// Returns the number of tiles, the whole image among them.
    pub fn tiles(&self) -> u64 {
        self.grid.map_or(1, |[rows, columns]| rows.saturating_mul(columns).saturating_add(1))
    }

    /// Returns the number of tokens beside the patches of the whole image: the shown patches and
    /// one token that ends every row; 1 where the image stays whole.
    pub fn tokens(&self) -> u64 {
        let [rows, columns] = self.shown;
        if self.grid.is_some() { rows.saturating_mul(columns.saturating_add(1)) } else { 1 }
    }
}

/// Rows and columns of patches that belong to the image, without padding (`unpad_image`).
fn without_padding([width, height]: [u64; 2], [rows, columns]: [u64; 2]) -> [u64; 2] {
    let [wide, high, across, down] = [width, height, columns, rows].map(to_f64);
    // Python rounds to seven places first.
    let whole = |length: f64| ceil_u64((length + 5e-8).floor());
    let left = |all: u64, of_image: u64| all - all.saturating_sub(of_image) / 2 * 2;
    if wide / high > across / down {
        [left(rows, whole(high * (across / wide))), columns]
    } else {
        [rows, left(columns, whole(wide * (down / high)))]
    }
}

/// Rows and columns reduced to at most `most` patches in all, where there would be over a tenth
/// more along a side.
fn at_most([rows, columns]: [u64; 2], most: u64) -> [u64; 2] {
    let times = (to_f64(rows) * to_f64(columns) / to_f64(most)).sqrt();
    if times > 1.1 {
        [rows, columns].map(|length| ceil_u64((to_f64(length) / times).floor()))
    } else {
        [rows, columns]
    }
}
