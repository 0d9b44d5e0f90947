//! ggml's own kernels, which llama.cpp runs: matrix by vector for a few tokens, tiles for more, and
//! activations in 32 bits between them.

use super::{Roofline, roofline};

/// Tokens up to which ggml multiplies with its kernels for vectors (`MMVQ_MAX_BATCH_SIZE` in
/// ggml-cuda; Metal's reach as far).
pub const MOST_VECTORS: f64 = 8.0;

/// Tokens of one expert in a tile: as many as the step has, up to this (`get_mmq_x_max_device`).
pub const MOST_IN_TILE: f64 = 128.0;

/// The share of the time from memory that a tensor takes which the last cache holds: it is written
/// to memory, and read 2.7 to 6 times as fast (5.4 of 2.0 TB/s on an A100, 6.9 of 2.0 on an H100
/// PCIe, 5.2 of 0.86 on an L40; te42kyfo/gpu-benches, `gpu-l2-cache`, where the caches' sizes are
/// from).
pub const FROM_CACHE: f64 = 0.6;

/// The kernels of one of its backends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ggml {
    /// A few tokens: weights in 16 bits, and in blocks.
    pub vectors: [Roofline; 2],
    /// More tokens, likewise; `None`: by the vendor's library. All rates are shares of the peak in
    /// 8-bit integers.
    pub tiles: [Option<Roofline>; 2],
    /// Seconds of a kernel that only streams a few numbers, with its start.
    pub small: f64,
    /// 16-bit numbers' worth of bytes that kernels which only stream read and write of each number
    /// of the stream between layers, and of each inside its halves: weights in 16 bits, and in
    /// blocks.
    ///
    /// Counted of a layer of llama in `llm_build_llama`, activations in 4 bytes: two norms with
    /// their factors (32 bytes a number of the stream), two sums (24), casts of every product's
    /// input and output around cuBLAS (42), or of its input alone to 8 bits (25); rotation (8), its
    /// output made contiguous (8), the cache's new row (6), activation and gate (20 of three
    /// numbers).
    pub streamed: [[f64; 2]; 2],
    /// Such bytes of each number of the stream for every expert that a token takes.
    ///
    /// Counted in `build_moe_ffn`: the input is narrowed to 8 bits for gate and for up, expert by
    /// expert (10 bytes together); the output is written (4), weighed (8) and summed (4).
    pub chosen: f64,
    /// Bytes of a score that attention without a fused kernel writes and reads: on CUDA the product
    /// in 16 bits, both casts, softmax and the product with values
    /// (`ggml_cuda_mul_mat_batched_cublas`).
    pub score: f64,
    /// Bytes that the last cache holds for each multiprocessor; `None`: what it holds is in the
    /// measured times.
    ///
    /// Tiles of 128 tokens walk along a matrix one after the other (`mul_mat_q`: rows outside,
    /// tokens inside), so that one which the cache does not hold is read again for each. Tensors
    /// between kernels that it holds go to memory, and the next kernel finds them in it.
    pub cache: Option<f64>,
}

impl Ggml {
    /// On CUDA. Bandwidth: products of one row in 16 bits on an RTX 3090 Ti at 970 of 1,008 GB/s
    /// (ggml-org/llama.cpp pull request 15131), 463 of 504 in Q8_0 on an RTX 4070 (10991), 0.88 to
    /// 0.94 in Q6_K on an RTX 3090 (ncu, autorepl.dev proj_09a0c2). Rate of vectors: on DGX Spark 8
    /// rows in Q4_K take 2.4 ms longer than one over Llama 3B, of 9.1 (26705); of tiles: of the
    /// peak in 8-bit integers, 0.19 on an RTX 3090 and 0.24 on an RTX 4090 over whole prompts
    /// (7860, 8062), which for one row are 0.93 as fast as vectors (26705). Small: a norm on an
    /// H200 in a captured graph (`tests/data/rates/h200.jsonl`).
    pub const CUDA: Self = Self {
        vectors: [law(3.0, 0.96, 0.03), law(3.0, 0.92, 0.03)],
        tiles: [None, Some(law(3.0, 0.86, 0.24))],
        small: 1.9e-6,
        streamed: [[49.0, 6.5], [40.0, 4.5]],
        chosen: 13.1,
        score: 24.0,
        cache: Some(0.32e6),
    };

    /// On A100.
    pub const A100: Self =
        Self { tiles: [None, Some(law(3.0, 0.86, 0.19))], cache: Some(0.26e6), ..Self::CUDA };

    /// On GPUs of the RTX 3090's architecture.
    pub const AMPERE: Self = Self { cache: Some(0.07e6), ..Self::A100 };

    /// On GPUs of the RTX 4090's architecture: 0.56 (RTX 4090) to 1 MB (RTX 4060), in the middle an
    /// RTX 4080's 64 MB for 76.
    pub const ADA: Self = Self { cache: Some(0.8e6), ..Self::CUDA };

    /// On DGX Spark: no kernel reads more than 231 to 234 of 273 GB/s (antirez/ds4 issue 773).
    pub const GB10: Self = Self {
        vectors: [law(3.0, 0.85, 0.03); 2],
        tiles: [None, Some(law(3.0, 0.79, 0.31))],
        cache: Some(0.52e6),
        ..Self::CUDA
    };

    /// On Metal. Llama 3B on an M2 Ultra makes 72.3 tokens a second in F16 and 155.9 in Q4_0 (pull
    /// request 10238): the 4.5 GB between them take 7.4 ms, so 0.76 of 800 GB/s, and what is left
    /// of a step, 3.3 ms, is 28 layers of 25 kernels, 4.7 µs each. Of 0.77 are products of one row
    /// in Q4_K and Q6_K on an M3 Pro (27776), 0.69 in Q4_0 on an M1 Max (2188). Prompts of 512
    /// tokens make 0.68 of the shaders' peak in F16 there and 0.62 in Q4_0 (10238). Products of
    /// many rows take activations as they are: nothing is cast.
    pub const METAL: Self = Self {
        vectors: [law(4.7, 0.76, 0.24); 2],
        tiles: [Some(law(4.7, 0.76, 0.34)), Some(law(4.7, 0.76, 0.31))],
        small: 4.7e-6,
        streamed: [[28.0, 3.5]; 2],
        chosen: 12.0,
        score: 16.0,
        cache: None,
    };
}

const fn law(start: f64, bandwidth: f64, rate: f64) -> Roofline {
    roofline(start, bandwidth, rate, 2.0)
}
