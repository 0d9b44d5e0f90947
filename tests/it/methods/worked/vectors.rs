//! The table "Test vectors (exact)" of the digest of methods.

use headroom::config::Recompute;
use headroom::methods::capacity_planning::{self, KvShape};
use headroom::methods::{ActivationShape, distributed_overview, eleuther, ju_2026, solenya};
use headroom::units::{Bytes, DType};

const JU_7B: ActivationShape = ActivationShape { batch_size: 1, ..ju_2026::EXAMPLE };

const LLAMA_2_70B: ActivationShape = ActivationShape {
    hidden_size: 8192,
    num_hidden_layers: 80,
    num_attention_heads: 64,
    intermediate_size: 28_672,
    seq_length: 4096,
    batch_size: 1,
};

/// The columns of the table in its order.
fn columns(shape: &ActivationShape) -> [u64; 8] {
    let eleuther = |t, recompute| eleuther::activations(shape, t, recompute).0;
    let code = |checkpointing| {
        capacity_planning::activations_as_coded(shape, checkpointing, DType::Bf16).0
    };
    assert_eq!(eleuther(1, Recompute::None), distributed_overview::activations(shape).0);
    assert_eq!(eleuther(1, Recompute::None), solenya::activations(shape).0);
    assert_eq!(
        eleuther(1, Recompute::Full),
        distributed_overview::activations_full_recompute(shape).0
    );
    assert_eq!(eleuther(1, Recompute::Full), eleuther(8, Recompute::Full));
    [
        ju_2026::activations(shape).0,
        eleuther(1, Recompute::None),
        eleuther(8, Recompute::None),
        eleuther(1, Recompute::Selective),
        eleuther(8, Recompute::Selective),
        eleuther(1, Recompute::Full),
        code(false),
        code(true),
    ]
}

#[test]
fn activations_meet_the_table() {
    assert_eq!(
        columns(&JU_7B),
        [
            86_973_087_744,
            104_152_956_928,
            17_716_740_096,
            18_253_611_008,
            6_979_321_856,
            1_073_741_824,
            36_507_222_016,
            2_147_483_648
        ]
    );
    assert_eq!(
        columns(&LLAMA_2_70B),
        [
            429_496_729_600,
            520_764_784_640,
            88_583_700_480,
            91_268_055_040,
            34_896_609_280,
            5_368_709_120,
            182_536_110_080,
            10_737_418_240
        ]
    );
}

#[test]
fn parameters_meet_the_table() {
    let counts = |shape: &ActivationShape, vocab_size| {
        [
            ju_2026::num_parameters(shape, vocab_size),
            distributed_overview::num_parameters(
                shape.hidden_size,
                shape.num_hidden_layers,
                vocab_size,
            ),
            solenya::num_parameters(shape, vocab_size),
        ]
    };
    assert_eq!(counts(&JU_7B, 32_000), [6_704_594_944, 6_575_235_072, 6_592_012_288]);
    assert_eq!(counts(&LLAMA_2_70B, 32_000), [59_580_088_320, 64_695_189_504, 59_359_707_136]);
    let kv = KvShape { num_hidden_layers: 80, num_key_value_heads: 8, head_dim: 128 };
    assert_eq!(capacity_planning::llama_parameters(8192, 28_672, 32_000, kv), 68_976_648_192);
    let gpt2 = |hidden_size, num_hidden_layers| {
        let shape = ActivationShape {
            hidden_size,
            num_hidden_layers,
            intermediate_size: 4 * hidden_size,
            seq_length: 1024,
            ..ju_2026::EXAMPLE
        };
        solenya::num_parameters(&shape, 50_257)
    };
    assert_eq!([gpt2(768, 12), gpt2(1600, 48)], [124_439_808, 1_557_611_200]);
}

#[test]
fn cache_and_temporary_memory_meet_the_table() {
    let kv = KvShape { num_hidden_layers: 80, num_key_value_heads: 8, head_dim: 128 };
    let cache = |tokens| capacity_planning::kv_cache(kv, tokens, DType::Bf16).0;
    assert_eq!([cache(1), cache(4096), cache(131_072)], [327_680, 1_342_177_280, 42_949_672_960]);
    let block = |shape: &ActivationShape| {
        ju_2026::temporary(ju_2026::block(shape), ju_2026::checkpoint(shape))
    };
    assert_eq!(block(&JU_7B), Bytes(2_684_354_560));
    assert_eq!(ju_2026::temporary_with_flash_attention(&JU_7B), Bytes(536_870_912));
    assert_eq!(block(&ju_2026::EXAMPLE), Bytes(2_684_354_560) * 128);
    assert_eq!(
        ju_2026::temporary_with_flash_attention(&ju_2026::EXAMPLE),
        Bytes(536_870_912) * 128
    );
}
