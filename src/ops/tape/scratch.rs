//! Memory that CUDA's kernels take for themselves, beside what goes in and comes out: it is freed
//! when the kernel has been started.

use super::state::{Kind, NONE, Operand, State};
use super::{Form, Order, Tape};
use crate::config::Dispatch;
use crate::ops::tensor::{Dim, Shape};
use crate::units::DType;

/// Multiprocessors of an H100 SXM, and threads of each: they decide how finely a long sum is split.
pub(super) const MULTIPROCESSORS: u64 = 132;
const THREADS: u64 = 2048;

/// Rows and columns up to which flash attention pads what it accumulates (`mha_bwd` in
/// `aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp`).
const FLASH_ROWS: u64 = 128;

/// Queries up to whose multiple the memory-efficient kernel pads its log-sum-exp (`kAlignLSE`).
pub(crate) const EFFICIENT_ROWS: u64 = 32;

/// Tokens up to which the gradient of an embedding is added up without sorting
/// (`aten/src/ATen/native/cuda/Embedding.cu`).
const UNSORTED: u64 = 3072;

/// Tokens that one thread adds up before partial sums are joined (`NROWS_PER_THREAD` in
/// `EmbeddingBackwardKernel.cu`).
const TOKENS_OF_A_THREAD: u64 = 10;

/// Attention's kernel, by the format of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attends {
    /// Not attention at all.
    No,
    /// Flash attention: 16 bits.
    Flash,
    /// The memory-efficient kernel: any format.
    Efficient,
    /// Either of them on parts one after the other, of which each lets go of what it takes for
    /// itself before the next.
    Others,
}

/// Which memory of kernels is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scratch {
    /// None.
    #[default]
    None,
    /// Memory that grows evenly with what the kernel works on, so that figures at a few lengths
    /// tell those at all.
    Even,
    /// Sorts, scans and sums as well, which take memory by the tile: at most a hundredth of a step,
    /// for a moment.
    All,
}

impl Tape {
    /// From here on these kernels run.
    pub fn dispatch_to(&self, dispatch: Dispatch) {
        self.state.borrow_mut().dispatch = dispatch;
    }

    /// Takes and frees the memory of a running sum over so many numbers of 64 bits in one row
    /// (`cumsum`).
    pub fn scan(&self, form: Form) {
        let mut state = self.state.borrow_mut();
        if state.scratch < Scratch::All {
            return;
        }
        let work = scan_bytes(state.elements(form), SCANNED);
        let work = state.take_scratch("workspace of a scan", work);
        state.release(work);
    }

    /// Takes and frees the memory of a sort of so many numbers of 64 bits (`sort_stable_kernel` in
    /// `aten/src/ATen/native/cuda/Sort.cpp`).
    pub fn sort(&self, form: Form) {
        const IN_PLACE: u64 = 4096;
        let mut state = self.state.borrow_mut();
        if state.scratch < Scratch::All {
            return;
        }
        let numbers = state.elements(form);
        let places = state.take_scratch("places", numbers.saturating_mul(8));
        let work = if numbers > IN_PLACE { sort_bytes(numbers, u64::MAX) } else { 0 };
        let work = state.take_scratch("workspace of the sort", work);
        state.release(work);
        state.release(places);
    }

    /// Takes and frees the memory of a running sum over so few numbers of 32 bits that one tile
    /// holds them.
    pub fn scan_few(&self) {
        let mut state = self.state.borrow_mut();
        if state.scratch < Scratch::All {
            return;
        }
        let work = state.take_scratch(
            "workspace of a scan",
            (32_u64 + 1).saturating_mul(8).next_multiple_of(ALIGNED) + 2 * ALIGNED - 1,
        );
        state.release(work);
    }

    /// True if the kernels of a GPU run.
    pub fn is_cuda(&self) -> bool {
        self.state.borrow().dispatch == Dispatch::Cuda
    }

    /// True if memory that kernels take by tiles is played.
    pub fn plays_tiles(&self) -> bool {
        self.state.borrow().scratch == Scratch::All
    }

    /// From here on so much of the memory that kernels take for themselves is played.
    pub fn play_scratch(&self, scratch: Scratch) {
        let mut state = self.state.borrow_mut();
        state.scratch = if state.dispatch == Dispatch::Cuda { scratch } else { Scratch::None };
    }
}

impl State {
    /// Takes so many bytes for a kernel; nothing where scratch memory is not played.
    pub(super) fn take_scratch(&mut self, name: &'static str, bytes: u64) -> u32 {
        if self.scratch == Scratch::None || bytes == 0 {
            return NONE;
        }
        let form = self.form(Shape::of([Dim("bytes", bytes)]));
        self.take_scratch_of(name, form)
    }

    /// Takes memory of that shape, in bytes, for a kernel.
    pub(super) fn take_scratch_of(&mut self, name: &'static str, form: Form) -> u32 {
        let kind = std::mem::replace(&mut self.kind, Kind::Scratch);
        let storage = self.allocate(name, form, DType::Int8);
        self.kind = kind;
        storage
    }

    /// Takes and frees the partial sums of a sum over the rows of a tensor
    /// (`aten/src/ATen/native/cuda/Reduce.cuh`, `setReduceConfig`), where these are so many that
    /// one block of threads does not add them up alone. `columns` lie side by side.
    pub(super) fn sum_over_rows(&mut self, rows: u64, columns: u64) {
        if self.scratch < Scratch::All {
            return;
        }
        let Some((partial, flags)) = partial_sums(rows, columns) else { return };
        let partial = self.take_scratch("partial sums", partial);
        let flags = self.take_scratch("flags of blocks that are through", flags);
        self.release(flags);
        self.release(partial);
    }

    /// Flash attention reads output and its gradient with heads side by side, and copies what lies
    /// otherwise before it makes anything (`_flash_attention_backward` in
    /// `aten/src/ATen/native/transformers/cuda/attention_backward.cu`). Queries lie as the output
    /// does.
    pub(super) fn in_order_for_attention(
        &mut self,
        kind: Attends,
        [output, gradient]: [Order; 2],
        grad: (Form, DType),
    ) -> [u32; 2] {
        let several = self.shape(grad.0).dims().nth(1).is_some_and(|heads| heads.1 > 1);
        [gradient, output].map(|order| {
            if kind == Attends::Flash
                && several
                && order != Order::Swapped
                && self.scratch > Scratch::None
            {
                let kind = std::mem::replace(&mut self.kind, Kind::Scratch);
                let copy = self.allocate("copy in the order of attention", grad.0, grad.1);
                self.kind = kind;
                copy
            } else {
                NONE
            }
        })
    }

    /// Memory that backward of attention takes beside its three gradients, to be released once they
    /// are made.
    pub(super) fn attention_back(&mut self, kind: Attends, [q, k, v]: [Operand; 3]) -> [u32; 4] {
        if self.scratch == Scratch::None || matches!(kind, Attends::No | Attends::Others) {
            return [NONE; 4];
        }
        let (rows, width) = (self.last(q.form, 1), self.last(q.form, 0));
        let heads = self.elements(q.form) / rows.saturating_mul(width).max(1);
        if kind == Attends::Flash {
            let rows =
                if self.scratch == Scratch::All { rows.next_multiple_of(FLASH_ROWS) } else { rows };
            let width = width.next_multiple_of(if width <= 128 { 32 } else { 64 });
            let sums = self.take_scratch(
                "sums over output and its gradient",
                heads.saturating_mul(rows).saturating_mul(4),
            );
            let accumulated = heads.saturating_mul(rows).saturating_mul(width).saturating_mul(4);
            let queries = self.take_scratch("gradient of queries in fp32", accumulated);
            let [keys, values] = self.of_every_head(q, [k, v], heads);
            return [sums, queries, keys, values];
        }
        let [keys, values] = self.of_every_head(q, [k, v], heads);
        if q.dtype.bits() == 16 {
            let [sums, workspace] = self.efficient_in_16_bits(heads, [q, k, v]);
            return [keys, values, sums, workspace];
        }
        let output =
            heads.saturating_mul(rows).saturating_mul(self.last(v.form, 0)).saturating_mul(4);
        let product = self.take_scratch("output times its gradient", output);
        let statistics = heads.saturating_mul(rows).saturating_mul(4);
        let sums = self.take_scratch("sums over output and its gradient", statistics);
        let several = self.shape(q.form).dims().nth(1).is_some_and(|heads| heads.1 > 1);
        let ordered = if several {
            self.take_scratch("sums in the order of heads", statistics)
        } else {
            NONE
        };
        let held = if several { [ordered, sums] } else { [sums, NONE] };
        self.release(held[1]);
        self.release(product);
        // Blocks of queries add their gradient up in parts, each with a lock and a count
        // (`workspace_elements_gq` in `mem_eff_attention/kernel_backward.h`).
        let [block, columns]: [u64; 2] = match width {
            0..=64 => [64, 64],
            65..=128 => [64, 128],
            _ => [128, 64],
        };
        let parts = heads.saturating_mul(width.div_ceil(columns));
        let [rows, locks] = match self.scratch {
            Scratch::All => [rows.next_multiple_of(block), rows.div_ceil(block).saturating_mul(16)],
            Scratch::Even | Scratch::None => [rows, 0],
        };
        let bytes = rows.saturating_mul(columns * 4).saturating_add(locks);
        let workspace = self.take_scratch("workspace of attention", parts.saturating_mul(bytes));
        [keys, values, held[0], workspace]
    }

    /// The memory-efficient kernel in 16 bits adds output and its gradient up by itself. Above 128
    /// columns it adds the gradients of keys and values up in fp32, too (`workspace_elements_gk`,
    /// `_gv` and `_gq` in `mem_eff_attention/kernel_backward.h`; `cutlassB_bf16_aligned_*_sm80`).
    fn efficient_in_16_bits(&mut self, heads: u64, [q, k, v]: [Operand; 3]) -> [u32; 2] {
        const OF_KEYS: [u64; 2] = [64, 128];
        let (rows, width) = (self.last(q.form, 1), self.last(q.form, 0));
        let sums = self.take_scratch(
            "sums over output and its gradient",
            heads.saturating_mul(rows).saturating_mul(4),
        );
        let tiles = self.scratch == Scratch::All;
        let up = |count: u64, to: u64| if tiles { count.next_multiple_of(to) } else { count };
        let [block, columns]: [u64; 2] = match width {
            0..=64 => [64, 64],
            65..=128 => [128, 128],
            _ => [128, 64],
        };
        let locks = if tiles { rows.div_ceil(block).saturating_mul(16) } else { 0 };
        let queries = width
            .div_ceil(columns)
            .saturating_mul(up(rows, block).saturating_mul(columns * 4).saturating_add(locks));
        let of_keys = if width > 128 {
            let padded = up(self.last(k.form, 1), OF_KEYS[0]);
            let widths = up(width, OF_KEYS[1]).saturating_add(up(self.last(v.form, 0), OF_KEYS[1]));
            padded.saturating_mul(widths).saturating_mul(4)
        } else {
            0
        };
        let bytes = heads.saturating_mul(queries.saturating_add(of_keys));
        [sums, self.take_scratch("workspace of attention", bytes)]
    }

    /// Where heads share keys, every query head writes gradients of its own keys and values, which
    /// are added up.
    fn of_every_head(&mut self, q: Operand, keys: [Operand; 2], heads: u64) -> [u32; 2] {
        let shared = self.elements(keys[0].form) < self.elements(q.form);
        keys.map(|operand| {
            let head = self.last(operand.form, 1).saturating_mul(self.last(operand.form, 0));
            let bytes = heads.saturating_mul(head).saturating_mul(operand.dtype.bits() / 8);
            if shared { self.take_scratch("gradients of every query head", bytes) } else { NONE }
        })
    }

    /// Products of groups take their sizes and addresses, and a descriptor for every multiprocessor
    /// (`bf16bf16_grouped_mm` in `aten/src/ATen/native/cuda/GroupMM.cu`); only those of 16 bits are
    /// one kernel.
    pub(super) fn group_products(&mut self, groups: Form, dtype: DType) {
        const OF_A_GROUP: u64 = 60;
        const OF_A_MULTIPROCESSOR: u64 = 512;
        if dtype.bits() != 16 {
            return;
        }
        let groups = self.elements(groups).saturating_mul(OF_A_GROUP);
        let groups = self.take_scratch("sizes of groups", groups);
        let descriptors =
            self.take_scratch("descriptors of groups", MULTIPROCESSORS * OF_A_MULTIPROCESSOR);
        self.release(groups);
        self.release(descriptors);
    }

    /// Rows are added up by a sort of their places (`index_put_with_sort_kernel` in
    /// `aten/src/ATen/native/cuda/Indexing.cu`).
    pub(super) fn index_back(&mut self, table: Form, index: Form) {
        let count = self.elements(index);
        if self.scratch < Scratch::All || count == 0 {
            return;
        }
        let bytes = count.saturating_mul(8);
        let wrapped = self.take_scratch("places in range", bytes);
        let linear = self.take_scratch("places in memory", bytes);
        self.release(wrapped);
        let rest = ["sorted places", "order of places", "places"]
            .map(|name| self.take_scratch(name, bytes));
        let rows = self.elements(table) / self.last(table, 0).max(1);
        let sort = self.take_scratch("workspace of the sort", sort_bytes(count, rows));
        for held in [linear, sort].into_iter().chain(rest) {
            self.release(held);
        }
    }

    /// The gradient of an embedding: of few tokens it is added up at once, of more they are sorted
    /// first and added up in parts (`embedding_dense_backward_cuda` in
    /// `aten/src/ATen/native/cuda/Embedding.cu`, and `EmbeddingBackwardKernel.cu`).
    pub(super) fn embedding_back(&mut self, (form, dtype): (Form, DType), tokens: u64) -> u32 {
        if self.scratch < Scratch::All || tokens <= UNSORTED {
            return self.fresh((form, dtype), Order::Plain).storage;
        }
        let rows = self.elements(form) / self.last(form, 0).max(1);
        let indices = tokens.saturating_mul(8);
        let different = tokens.min(rows);
        let sorted = self.take_scratch("sorted tokens", indices);
        let places = self.take_scratch("places of sorted tokens", indices);
        let range = self.take_scratch("places", indices);
        let sort = self.take_scratch("workspace of the sort", sort_bytes(tokens, rows));
        self.release(sort);
        self.release(range);
        let gradient = self.fresh((form, dtype), Order::Plain).storage;
        let offsets = self.take_scratch("where each token begins", indices);
        let number = self.take_scratch("number of different tokens", 8);
        let unique = self.take_scratch("different tokens", indices);
        let work = self.take_scratch("workspace of a scan", scan_bytes(tokens, CHOSEN));
        self.release(work);
        self.release(unique);
        let parts = self.take_scratch("parts of each token", different.saturating_mul(8));
        let before = self.take_scratch("parts before each token", different.saturating_mul(8));
        let work = self.take_scratch("workspace of a scan", scan_bytes(different, SCANNED));
        self.release(work);
        let count = self.take_scratch("number of parts", 8);
        let most = (tokens / TOKENS_OF_A_THREAD).saturating_add(different);
        let begins = self.take_scratch("where each part begins", most.saturating_mul(8));
        let columns = self.last(form, 0).next_multiple_of(32);
        let sums = self.take_scratch(
            "partial sums of the embedding",
            most.saturating_mul(columns).saturating_mul(4),
        );
        for held in [sums, begins, count, before, parts, number, offsets, places, sorted] {
            self.release(held);
        }
        gradient
    }
}

/// Pairs that one block of threads sorts by itself, without temporary storage.
const SINGLE_TILE: u64 = 2304;

/// Bytes in whose multiples cub lays out its temporary storage (`AliasTemporaries` in
/// `cub/util_device.cuh`); the first piece may begin anywhere.
const ALIGNED: u64 = 256;

/// Bytes that cub sorts so many pairs of 64-bit numbers below `most` with
/// (`DispatchRadixSort::InvokeOnesweep`): for every 8 bits a count of each value, for every tile
/// one of those before it, and a second copy of keys and values.
fn sort_bytes(tokens: u64, most: u64) -> u64 {
    const VALUES: u64 = 256;
    const TILE: u64 = 4608;
    if tokens <= SINGLE_TILE {
        return 1;
    }
    let bits = u64::from(u64::BITS - most.saturating_sub(1).leading_zeros());
    let counts = bits.div_ceil(8).max(1).saturating_mul(VALUES * 8);
    let before = tokens.div_ceil(TILE).saturating_mul(VALUES * 4);
    let copies = tokens.saturating_mul(8).next_multiple_of(ALIGNED).saturating_mul(2);
    counts.saturating_add(before).saturating_add(copies).saturating_add(2 * ALIGNED - 1)
}

/// Bytes that cub scans so many numbers of 64 bits with, in tiles of so many: a sum of 16 bytes for
/// each tile, and for 32 more.
fn scan_bytes(numbers: u64, tile: u64) -> u64 {
    let tiles = numbers.div_ceil(tile).saturating_add(32).saturating_mul(16);
    tiles.next_multiple_of(ALIGNED).saturating_add(2 * ALIGNED - 1)
}

/// Numbers in a tile of a scan, and of the choice of different ones (of which only is known that it
/// lies between 4,750 and 4,999).
const SCANNED: u64 = 896;
const CHOSEN: u64 = 4800;

/// Bytes of partial sums, and of the flags that count blocks, of a sum over `rows` of each of
/// `columns`; `None` where blocks of threads do not share a sum.
pub(crate) fn partial_sums(rows: u64, columns: u64) -> Option<(u64, u64)> {
    const MOST_THREADS: u64 = 512;
    const WARP: u64 = 32;
    const MOST_VALUES: u64 = 256;
    const FEWEST_VALUES: u64 = 16;
    let vector = [4, 2].into_iter().find(|width| columns.is_multiple_of(*width)).unwrap_or(1);
    let most = MOST_THREADS / vector;
    let power = |count: u64| {
        if count < most { count.max(1).checked_ilog2().map_or(1, |log| 1 << log) } else { most }
    };
    let (across, down) = (power(columns / vector), power(rows));
    let height = down.min(most / across.min(WARP));
    let width = across.min(most / height.max(1));
    let threads = width.saturating_mul(height).max(1);
    if rows < (height.saturating_mul(16)).min(MOST_VALUES) {
        return None;
    }
    let values = rows.div_ceil(height.max(1));
    let target = MULTIPROCESSORS.saturating_mul(THREADS / threads);
    let grid = (columns / vector).div_ceil(width.max(1)).max(1);
    if values < MOST_VALUES || grid > target {
        return None;
    }
    let blocks =
        target.div_ceil(grid).clamp(values.div_ceil(MOST_VALUES), values.div_ceil(FEWEST_VALUES));
    let partial = 4_u64
        .saturating_mul(columns)
        .saturating_mul(blocks)
        .saturating_mul(width)
        .saturating_mul(vector);
    (blocks > 0).then_some((partial, grid.saturating_mul(4)))
}

#[cfg(test)]
mod tests {
    use super::{CHOSEN, SCANNED, partial_sums, scan_bytes, sort_bytes};

    /// Figures of PyTorch 2.15 (CUDA 13.2), asked for by `embedding_dense_backward` and `cumsum`.
    #[test]
    fn sorts_and_scans_take_what_cub_takes() {
        for (tokens, rows, extra) in [
            (3073, 32_000, 6127),
            (5000, 32_000, 7039),
            (8192, 32_000, 6655),
            (131_072, 32_000, 34_303),
            (12_288, 50_257, 7679),
            (4096, 128_256, 7679),
            (65_536, 256_000, 22_015),
        ] {
            assert_eq!(sort_bytes(tokens, rows), 16 * tokens + extra, "{tokens} {rows}");
        }
        for (numbers, bytes) in [
            (100, 1279),
            (12_288, 1279),
            (16_384, 1535),
            (32_768, 1791),
            (65_536, 2303),
            (128_256, 3327),
            (131_072, 3583),
        ] {
            assert_eq!(scan_bytes(numbers, SCANNED), bytes, "{numbers}");
        }
        assert_eq!([65_536, 131_072].map(|tokens| scan_bytes(tokens, CHOSEN)), [1279, 1535]);
    }

    /// Figures of PyTorch 2.15 on a pretended H100: the scale of a norm over 8,192 tokens, and
    /// biases of GPT-2.
    #[test]
    fn partial_sums_are_what_pytorch_takes() {
        assert_eq!(partial_sums(8192, 4096), Some((138_412_032, 128)));
        assert_eq!(partial_sums(8192, 768), Some((50_331_648, 24)));
        assert_eq!(partial_sums(8192, 3072), Some((138_412_032, 96)));
        assert_eq!(partial_sums(8192, 2304), Some((139_198_464, 72)));
        assert_eq!(partial_sums(64, 4096), None);
    }
}
