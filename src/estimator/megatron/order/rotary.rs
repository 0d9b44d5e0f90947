//! Rotation of queries or keys without a fused kernel (`_apply_rotary_pos_emb_bshd` in
//! `models/common/embeddings/rope_utils.py`).

use super::sizes::Sizes;
use super::{Player, Taken};

/// Cosine or sine of the angles: in fp32, scaled, cast.
fn table(player: &mut Player, sizes: &Sizes) -> Taken {
    let values = player.take("cosine or sine", sizes.angles);
    let scaled = player.take("cosine or sine, scaled", sizes.angles);
    player.free(values);
    let cast = player.take("cosine or sine, cast", sizes.cosine);
    player.free(scaled);
    cast
}

/// Rotates: the result, and cosine and sine for backward.
pub(super) fn rotate(
    player: &mut Player,
    sizes: &Sizes,
    name: &'static str,
    bytes: u64,
    keeps: bool,
) -> (Taken, [Taken; 2]) {
    let angles = [table(player, sizes), table(player, sizes)];
    let scaled = player.take("times cosine", bytes);
    let negated = player.take("negated half", bytes / 2);
    let turned = player.take("halves exchanged", bytes);
    player.free(negated);
    let other = player.take("times sine", bytes);
    player.free(turned);
    let sum = player.take("sum", bytes);
    player.free_all([scaled, other]);
    let rotated = player.take(name, bytes);
    player.free(sum);
    player.free_unless(keeps, angles);
    (rotated, if keeps { angles } else { [Taken::NOTHING; 2] })
}

/// Backward: the gradient of the tensor that was rotated.
pub(super) fn rotate_back(
    player: &mut Player,
    name: &'static str,
    bytes: u64,
    gradient: Taken,
    [cosine, sine]: [Taken; 2],
) -> Taken {
    let other = player.take("times sine", bytes);
    player.free(sine);
    let negated = player.take("negated half", bytes / 2);
    let turned = player.take("halves exchanged", bytes);
    player.free_all([other, negated]);
    let scaled = player.take("times cosine", bytes);
    player.free_all([cosine, scaled]);
    let sum = player.take(name, bytes);
    player.free_all([gradient, turned]);
    sum
}
