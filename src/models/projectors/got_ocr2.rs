//! `got_ocr2` and `pp_chart2table` (transformers 5.23): two convolutions over three times three
//! places, and a matrix with a bias.

use crate::models::sam::{NECK_INPUT, TWICE};
use crate::models::tower_prelude::*;

/// `got_ocr2`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["got_ocr2", "pp_chart2table"],
    tower: "got_ocr2_vision",
    follow,
    modules: &TowerModules {
        model_type: "got_ocr2",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("convolution", NECK_INPUT, TWICE),
                Matrix("second convolution", Wide, Text),
                Linear("projection", Text, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("got_ocr2", Ties::OfWhole(true)), ("pp_chart2table", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    product(sizes, Wide, TWICE, 9);
}
