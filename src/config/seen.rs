//! An image as a vision tower sees it: how it is resized or cut, and how many tokens it becomes.

use super::images::{Images, Seen};
use super::steps::{TowerFact, TowerStep};
use super::tiles::TiledImage;
use super::tower::{Tower, TowerLayer, TowerPart, TowerSize};
use crate::units::{ceil_u64, to_f64};

/// The highest ratio of an image's longer side to its shorter one.
const MOST_TIMES_AS_LONG: u64 = 200;

impl TowerPart {
    /// Returns the steps of the part; `None` where they are not described.
    pub fn steps(&self) -> Option<&'static [TowerStep]> {
        self.layers.iter().find_map(|layer| match layer {
            TowerLayer::Runs(steps) => Some(*steps),
            _ => None,
        })
    }

    /// Returns the blocks behind which the part runs, as bits, if it feeds the text's blocks.
    pub fn feeds(&self) -> Option<TowerSize> {
        self.steps()?
            .iter()
            .find_map(|step| if let TowerStep::Feeds(behind) = step { Some(*behind) } else { None })
    }
}

impl Tower {
    /// Returns the parts that exist, those of the tower first.
    pub fn parts(&self) -> impl Iterator<Item = &'static TowerPart> + use<'_> {
        let all = self.modules.parts.iter().chain(self.projector.parts);
        all.filter(|part| self.sizes.get(part.times) > 0)
    }

    /// Returns one of these images as the tower sees it; `None` where the run of a part is not
    /// described.
    pub fn seen(&self, images: Images) -> Option<Seen> {
        let mut seen = Seen { pixels: [0; 2], tokens: 0, rows: 0, tiles: 1 };
        let mut ends = !self.projector.parts.is_empty();
        for part in self.parts() {
            let steps = part.steps()?;
            // Parts that feed the text's blocks become no tokens.
            for step in steps.iter().filter(|_| part.feeds().is_none()) {
                ends |= matches!(step, TowerStep::Packed { .. });
                seen.tokens = self.behind(*step, images, &mut seen)?;
            }
        }
        // If there is no projector and the tower does not pack its images, the width behind the
        // blocks is not the text's.
        (ends && seen.tokens > 0).then_some(seen)
    }

    /// Tokens of an image behind a step.
    fn behind(&self, step: TowerStep, images: Images, seen: &mut Seen) -> Option<u64> {
        let side = self.sizes.get(TowerSize::Side).max(1);
        let patches = |pixels: [u64; 2]| pixels.iter().map(|length| length / side).product();
        match step {
            TowerStep::Patches(_) => {
                seen.pixels = [self.sizes.get(TowerSize::Image); 2];
                seen.rows = self.sizes.get(TowerSize::Patches);
                Some(seen.rows)
            }
            TowerStep::Packed { limits, .. } => {
                seen.pixels = self.in_proportion(images, limits)?;
                seen.rows = patches(seen.pixels);
                Some(seen.rows)
            }
            TowerStep::Joined(_) => {
                seen.pixels = self.within(images, self.longest()?)?;
                seen.rows = patches(seen.pixels);
                Some(seen.rows)
            }
            TowerStep::Tiled(rule) => {
                seen.tiles =
                    rule.tiles([images.width, images.height], self.sizes.get(TowerSize::Image))?;
                Some(seen.tokens.saturating_mul(seen.tiles))
            }
            TowerStep::Spread { .. } => {
                let spread = self.spread(images, seen.tokens)?;
                seen.tiles = spread.tiles();
                Some(seen.tokens.saturating_add(spread.tokens()))
            }
            TowerStep::ClassToken(_) => {
                seen.rows = seen.rows.saturating_add(1);
                Some(seen.tokens.saturating_add(1))
            }
            TowerStep::Shuffled => self.shuffled(seen.tokens),
            TowerStep::Merged | TowerStep::Unfolded => {
                Some(seen.tokens / self.sizes.get(TowerSize::Merge).max(1).pow(2))
            }
            TowerStep::Pooled => Some(self.pooled_side()?.pow(2)),
            TowerStep::WithoutFirst => {
                Some(seen.tokens.saturating_sub(self.sizes.get(TowerSize::Cut)))
            }
            kept => (kept.keeps_tokens() && self.runs(kept)).then_some(seen.tokens),
        }
    }

    /// True if the sizes that a step needs are there, and the functions and blocks that it reads.
    fn runs(&self, step: TowerStep) -> bool {
        let inner = matches!(step, TowerStep::FeedForward { .. } | TowerStep::Gated { .. });
        let attends = matches!(
            step,
            TowerStep::Attention { .. } | TowerStep::Turned { .. } | TowerStep::Joint { .. }
        );
        let lacks = [
            inner && self.function(TowerSize::Act).is_none(),
            attends && self.head_width().is_none(),
            matches!(step, TowerStep::Function) && self.function(TowerSize::OutAct).is_none(),
            matches!(step, TowerStep::OfBlock) && !self.reads_one_block(),
            matches!(step, TowerStep::OfLast) && !self.reads_last_block(),
            matches!(step, TowerStep::Added(_)) && self.sizes.get(TowerSize::Positions) == 0,
        ];
        !lacks.contains(&true)
    }

    /// Returns how many of the text's first blocks are fed tokens of images.
    pub fn fed_blocks(&self, images: Images) -> u64 {
        let feeds = |part: &&TowerPart| images.per_sequence > 0 && part.feeds().is_some();
        self.parts().filter(feeds).map(|part| self.sizes.get(part.times)).sum()
    }

    /// The steps of all parts.
    fn steps(&self) -> impl Iterator<Item = &'static TowerStep> + use<'_> {
        self.parts().flat_map(|part| part.steps().unwrap_or(&[]))
    }

    /// Returns true for a tower that hears sound.
    pub fn hears(&self) -> bool {
        let mut steps = self.modules.parts.iter().flat_map(|part| part.steps().unwrap_or(&[]));
        steps.any(|step| *step == TowerStep::Heard)
    }

    /// How an image is spread over tiles, each of which has that many patches; `None` for a tower
    /// that spreads no image.
    pub fn spread(&self, images: Images, patches: u64) -> Option<TiledImage> {
        let along = patches.isqrt();
        let (grids, most, alone) = self.steps().find_map(|step| match step {
            TowerStep::Spread { grids, most, alone, .. } => {
                Some((self.sizes.get(*grids), *most, *alone))
            }
            _ => None,
        })?;
        if alone && images.per_sequence > 1 {
            return Some(TiledImage { grid: None, cut: [0; 2], shown: [0; 2] });
        }
        let side = self.sizes.get(TowerSize::Image);
        let square = along.pow(2) == patches;
        let spread = TiledImage::new(
            [images.width, images.height],
            grids,
            [side, along],
            Some(most).filter(|most| *most > 0),
        );
        spread.filter(|_| square)
    }

    /// The longest side of an image of any form.
    fn longest(&self) -> Option<u64> {
        self.steps().find_map(|step| {
            if let TowerStep::Is(TowerFact::Longest(side)) = step { Some(*side) } else { None }
        })
    }

    /// Returns true if the patches of images, which have any form, are joined in one row behind the
    /// convolution.
    pub fn joins(&self) -> bool {
        self.steps().any(|step| matches!(step, TowerStep::Joined(_)))
    }

    /// Returns true if the tower's images stand in one row.
    pub fn packs(&self) -> bool {
        self.steps().any(|step| matches!(step, TowerStep::Packed { .. }))
    }

    /// Returns the windows of an image of that many pixels, in patches, and the blocks that see all
    /// of the image, as bits; `None` for a tower without windows.
    pub fn windows(&self, pixels: [u64; 2]) -> Option<(Vec<u64>, u64)> {
        let (side, whole) = self.steps().find_map(|step| match step {
            TowerStep::Windows { side, whole } => {
                Some((self.sizes.get(*side), self.sizes.get(*whole)))
            }
            _ => None,
        })?;
        let merge = self.sizes.get(TowerSize::Merge).max(1);
        let token = self.sizes.get(TowerSize::Side).saturating_mul(merge).max(1);
        let along = (side / token).max(1);
        let of_side = |length: u64| {
            let tokens = length / token;
            (0..tokens.div_ceil(along)).map(move |window| along.min(tokens - window * along))
        };
        let [width, height] = pixels;
        let rows = of_side(height)
            .flat_map(|tall| of_side(width).map(move |wide| tall * wide * merge * merge));
        Some((rows.collect(), whole))
    }

    /// Width and height of an image that keeps its proportions: whole tokens, and within the limits
    /// in pixels (`smart_resize` of transformers' `image_processing_qwen2_vl.py`, in its own
    /// floating-point steps); `None` for a form that the processor refuses.
    fn in_proportion(&self, images: Images, limits: [u64; 2]) -> Option<[u64; 2]> {
        let token =
            self.sizes.get(TowerSize::Side).saturating_mul(self.sizes.get(TowerSize::Merge));
        let [long, short] = [images.width.max(images.height), images.width.min(images.height)];
        if token == 0 || long > short.saturating_mul(MOST_TIMES_AS_LONG) {
            return None;
        }
        let own = |stated: u64, own: u64| if stated == 0 { own } else { stated };
        let [fewest, most] = [own(images.limits[0], limits[0]), own(images.limits[1], limits[1])];
        let sides = [images.height, images.width];
        let rounded = sides.map(|side| {
            ceil_u64((to_f64(side) / to_f64(token)).round_ties_even()).saturating_mul(token)
        });
        let pixels = rounded[0].saturating_mul(rounded[1]);
        let all = to_f64(images.height) * to_f64(images.width);
        let [height, width] = if pixels > most {
            let by = (all / to_f64(most)).sqrt();
            sides.map(|side| {
                ceil_u64((to_f64(side) / by / to_f64(token)).floor()).max(1).saturating_mul(token)
            })
        } else if pixels < fewest {
            let by = (to_f64(fewest) / all).sqrt();
            sides.map(|side| ceil_u64(to_f64(side) * by / to_f64(token)).saturating_mul(token))
        } else {
            rounded
        };
        Some([width, height])
    }

    /// Tokens along a side behind pooling (`avg_pool2d`): the side of a pooled square is the number
    /// of patches along a side over that of the wanted tokens, rounded down.
    pub fn pooled_side(&self) -> Option<u64> {
        let [patches, pool] =
            [TowerSize::Patches, TowerSize::Pool].map(|size| self.sizes.get(size).isqrt());
        let square = patches.checked_div(pool)?;
        patches.checked_div(square)
    }

    /// Width and height of an image whose sides are cut to the longest one that is allowed, in
    /// whole tokens, rounded up (`get_resize_output_image_size` of transformers'
    /// `image_processing_pixtral.py`).
    fn within(&self, images: Images, longest: u64) -> Option<[u64; 2]> {
        let token =
            self.sizes.get(TowerSize::Side).saturating_mul(self.sizes.get(TowerSize::Merge).max(1));
        let sides = [images.width, images.height];
        if token == 0 || sides.contains(&0) {
            return None;
        }
        let ratio =
            sides.map(|side| to_f64(side) / to_f64(longest)).into_iter().fold(0.0, f64::max);
        let shorter = sides
            .map(|side| if ratio > 1.0 { ceil_u64((to_f64(side) / ratio).floor()) } else { side });
        (!shorter.contains(&0))
            .then(|| shorter.map(|side| side.div_ceil(token).saturating_mul(token)))
    }

    /// Tokens that are left when squares of patches are merged; `None` where the patches do not
    /// divide into such squares.
    fn shuffled(&self, patches: u64) -> Option<u64> {
        let (along, merge) = (patches.isqrt(), self.sizes.get(TowerSize::Merge).max(1));
        (along.pow(2) == patches && along.is_multiple_of(merge)).then(|| (along / merge).pow(2))
    }

    /// True if the projector reads the last block of the tower and no other.
    fn reads_last_block(&self) -> bool {
        self.sizes.get(TowerSize::Behind) == 0 && self.sizes.get(TowerSize::Fed) <= 1
    }

    /// True if the projector reads one block of the tower, and that block exists.
    fn reads_one_block(&self) -> bool {
        let [fed, behind, layers] =
            [TowerSize::Fed, TowerSize::Behind, TowerSize::Layers].map(|size| self.sizes.get(size));
        fed == 1 && behind <= layers
    }

    /// Returns the width of a head, where heads fill the hidden states.
    pub fn head_width(&self) -> Option<u64> {
        let [hidden, heads] =
            [TowerSize::Hidden, TowerSize::Heads].map(|size| self.sizes.get(size));
        (heads > 0 && hidden.is_multiple_of(heads)).then(|| hidden / heads)
    }
}
