//! Flash attention of few queries: blocks of keys are dealt out to several multiprocessors, whose
//! parts are joined at the end (`set_params_splitkv` in
//! `aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp`, PyTorch 2.15).

use super::scratch::{MULTIPROCESSORS, Scratch};
use super::state::{NONE, Operand, State};

/// Queries of a block.
const QUERIES: u64 = 64;

/// Most parts.
const MOST: u64 = 128;

impl State {
    /// Takes the log-sum-exp and the output of every part, in fp32; nothing where keys are not
    /// split. Where attention drops out, they never are.
    pub(super) fn splits_of_keys(&mut self, [q, k]: [&Operand; 2]) -> [u32; 2] {
        if self.scratch != Scratch::All {
            return [NONE; 2];
        }
        let (rows, width) = (self.last(q.form, 1), self.last(q.form, 0));
        let heads = self.elements(q.form) / rows.saturating_mul(width).max(1);
        let parts =
            parts(heads.saturating_mul(rows.div_ceil(QUERIES)), self.last(k.form, 1), width);
        if parts <= 1 {
            return [NONE; 2];
        }
        let each = parts.saturating_mul(heads).saturating_mul(rows).saturating_mul(4);
        let padded = if width <= 192 { width.next_multiple_of(32) } else { 256 };
        [
            self.take_scratch("log-sum-exp of parts", each),
            self.take_scratch("attention output of parts", each.saturating_mul(padded)),
        ]
    }
}

/// Into how many parts keys are split for so many blocks of queries (`num_splits_heuristic`): the
/// fewest that keep the multiprocessors at least 85 % as busy as any number does.
fn parts(blocks: u64, keys: u64, width: u64) -> u64 {
    let places = MULTIPROCESSORS * 2;
    if blocks.saturating_mul(10) >= places * 8 {
        return 1;
    }
    let of_keys = keys.div_ceil(match width {
        0..=64 => 256,
        65..=128 => 128,
        _ => 64,
    });
    let most = MOST.min(places).min(of_keys);
    // How busy they are is a fraction: the waves' places that blocks fill, of those that there are.
    let busy = |parts: u64| {
        let filled = blocks.saturating_mul(parts);
        (filled, filled.div_ceil(places).max(1).saturating_mul(places))
    };
    let is_another =
        |parts: &u64| *parts == 1 || of_keys.div_ceil(*parts) != of_keys.div_ceil(parts - 1);
    let better = |best: (u64, u64), found: (u64, u64)| {
        if found.0.saturating_mul(best.1) > best.0.saturating_mul(found.1) { found } else { best }
    };
    let best = (1..=most).filter(is_another).map(busy).fold((0, 1), better);
    let is_enough = |parts: &u64| {
        let (filled, all) = busy(*parts);
        filled.saturating_mul(best.1).saturating_mul(100)
            >= best.0.saturating_mul(all).saturating_mul(85)
    };
    (1..=most).filter(is_another).find(is_enough).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::parts;

    /// Figures of PyTorch 2.15 on a pretended H100: 12,000 queries of 96 columns in 8 heads, and
    /// 16,384 of 128 in 16.
    #[test]
    fn keys_are_split_as_pytorch_does() {
        assert_eq!(parts(8 * 24, 1500, 96), 4);
        assert_eq!(parts(8 * 16, 1024, 128), 2);
        assert_eq!(parts(256, 1024, 128), 1);
    }
}
