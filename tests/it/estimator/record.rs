//! The record of a model's forward against closed forms, over all stacks, trained and served.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use crate::support;

use std::fs;
use std::path::Path;

use headroom::catalog;
use headroom::config::{
    AttentionKernel, DataSharding, Feed, Keys, Method, Mixer, MixerKind, ModelConfig, Objective,
    Recompute, Targets, Tuning,
};
use headroom::ops::megatron::rank_model;
use headroom::ops::{self, Lowering, Op, OpList, Role, Tensor, lower};
use headroom::units::to_f64;
use proptest::prelude::*;
use serde_json::Value;

/// Every model of the catalog, as it is and with the modules of each other family that has its
/// shape. Encoders stay as they are, because their families have matrices of their own outside the
/// blocks.
fn models() -> impl Iterator<Item = ModelConfig> {
    // Of some models the parameters are counted alone.
    let runs =
        |model: &&ModelConfig| model.encoder.is_none() || model.family.modules().encoder.trains;
    catalog::models().iter().map(|row| &row.config).filter(runs).flat_map(|model| {
        let as_family = |family| ModelConfig { family, ..model.clone() };
        let others =
            headroom::models::families().filter(|_| model.encoder.is_none()).map(as_family);
        let others = others.filter(|other| other.family_of_shape() == other.family);
        std::iter::once(model.clone()).chain(others)
    })
}

/// Models with layers of several kinds, which are only served.
fn served_models() -> Vec<ModelConfig> {
    let read = |file: &str| {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/truth/{file}.jsonl"));
        let text = fs::read_to_string(path).unwrap();
        let config =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["config"].to_string();
        text.lines()
            .map(|line| headroom::import::config_json(&config(line)).unwrap().config)
            .collect::<Vec<_>>()
    };
    ["states", "parameters_families"].into_iter().flat_map(read).collect()
}

/// Weights of a block's matrix that one token is multiplied with; 0 for other tensors, such as
/// norms of each head.
fn met_by_a_token(model: &ModelConfig, op: &Op, tensor: &Tensor) -> u64 {
    let of_norm = op.name.contains("norm") && op.name != "Gate of the norm";
    let is_matrix = tensor.shape.dims().count() > 1 && !tensor.name.ends_with("biases") && !of_norm;
    if tensor.role != Role::Parameter || !is_matrix {
        return 0;
    }
    let elements = tensor.shape.elements().0;
    // A token meets the matrices of its own experts only.
    let of_expert = model.moe.as_ref().filter(|_| tensor.shape.dims().count() > 2);
    of_expert.map_or(elements, |moe| elements / moe.num_experts * moe.num_experts_per_tok)
}

/// FLOPs of a state for one token: `2 · n · p · r` for each product. There are two products, three
/// under a delta rule, and none for a convolution.
fn over_state(mixer: &Mixer) -> f64 {
    let (products, width) = match mixer.kind {
        MixerKind::Lfm2 | MixerKind::RgLru | MixerKind::Rwkv => (0.0, 0),
        MixerKind::Minimax => (2.0, mixer.head_dim),
        MixerKind::Qwen3Next | MixerKind::KimiLinear | MixerKind::KimiWhole => {
            (3.0, mixer.state_size)
        }
        MixerKind::Mlstm
        | MixerKind::Mamba
        | MixerKind::Zamba
        | MixerKind::FalconMamba
        | MixerKind::Jamba
        | MixerKind::Mamba2
        | MixerKind::FalconH1 => (2.0, mixer.state_size),
    };
    2.0 * products * to_f64(mixer.inner() * width)
}

/// FLOPs of embedding and head: `2 · rows · h · v` for the head. Where embedding and head are
/// narrower than the blocks, all tokens are multiplied with two more matrices. A score has one
/// column in place of the vocabulary. Several residual streams add the matrices that make them and
/// those that make each layer's own input from the embedding. An encoder's head follows a square
/// matrix.
fn of_ends(with: &Lowering) -> f64 {
    let (model, tokens) = (with.model, to_f64(with.seq_length) * to_f64(with.micro_batch_size));
    let rows = if with.training { tokens } else { to_f64(with.concurrent_sequences) };
    let width = model.word_embed_proj_dim.unwrap_or(model.hidden_size);
    let (width, columns) = if with.tuning.objective.scores() {
        (model.hidden_size, 1)
    } else {
        (width, model.vocab_size)
    };
    let beside = model.word_embed_proj_dim.map_or(0, |width| 2 * width * model.hidden_size);
    let streams = model.altup().map_or(0, |altup| {
        let inputs = model.num_hidden_layers * altup.hidden_size_per_layer_input;
        model.hidden_size * (inputs + 2 * (altup.num_inputs - 1) * model.hidden_size)
    });
    let transformed = !with.tuning.objective.scores()
        && model.encoder.is_some_and(|encoder| encoder.head_transform);
    let transform = if transformed { model.hidden_size * model.hidden_size } else { 0 };
    2.0 * rows * to_f64(width) * to_f64(columns)
        + 2.0 * tokens * to_f64(beside + streams + transform)
}

/// `2 · b · s · (weights that a token meets) + 2 · b · s · c · a · (d + d of values)` in each
/// block, plus embedding and head; `c` is the number of tokens of a text. With `n` residual
/// streams, each block multiplies every token's streams with `n` by `n` coefficients and runs their
/// router twice.
fn closed_form(with: &Lowering, list: &OpList) -> f64 {
    let (whole, tokens) = (with.model, to_f64(with.seq_length) * to_f64(with.micro_batch_size));
    let text = to_f64(with.packed_text.unwrap_or(with.context_length));
    let of_kind = |kind: &ops::BlockKind| {
        let model = &*whole.of_layers(kind.of);
        let width = model.head_dim + model.value_head_dim();
        let core = 2.0 * tokens * text * to_f64(model.num_attention_heads) * to_f64(width);
        // Differential attention runs twice, once for each half of the values.
        let core = if model.family.modules().differential { 2.0 * core } else { core };
        let core = if kind.of.keys == Keys::None { 0.0 } else { core };
        let state = model.mixer().filter(|_| kind.of.mixer).map_or(0.0, over_state);
        let weights = kind.ops.iter().flat_map(|op| {
            op.tensors.iter().map(|tensor| to_f64(met_by_a_token(model, op, tensor)))
        });
        // An indexer scores every token and weighs the scores of its heads, unless it chooses
        // blocks.
        let scores = model.indexer().filter(|_| kind.of.indexed).map_or(0, |indexer| {
            indexer.num_heads * (indexer.head_dim + u64::from(indexer.block == 0))
        });
        let core = core + 2.0 * tokens * text * to_f64(scores);
        let streams = model.altup().filter(|altup| altup.num_inputs > 1);
        let streams = streams
            .map_or(0, |altup| model.hidden_size * altup.num_inputs * (altup.num_inputs + 1));
        to_f64(kind.layers)
            * (2.0 * tokens * (weights.sum::<f64>() + to_f64(streams)) + core + tokens * state)
    };
    list.kinds.iter().map(of_kind).sum::<f64>() + of_ends(with)
}

fn is_closed_form(with: &Lowering) {
    let list = lower(with);
    let (ours, expected) = (list.forward().0, closed_form(with, &list));
    let (family, kernels, attention) = (with.model.family, with.stack, with.attention);
    assert!(
        (ours - expected).abs() < 0.5,
        "{family:?} {kernels:?} {attention:?}: {ours:e} against {expected:e}"
    );
}

/// True where each matrix is multiplied with every token once and there are no other products.
/// Other models (an encoder beside a decoder, layers that keep a state, compressed keys) are
/// compared with PyTorch's own counter in other tests.
fn is_plain(model: &ModelConfig) -> bool {
    model.hybrid.is_none() && model.source.is_none() && model.compressed.is_none()
}

#[test]
fn every_matrix_is_multiplied_once_with_every_token_that_meets_it() {
    for model in models().filter(is_plain) {
        for kernels in
            [support::eager(), support::fused(), support::megatron(), support::korthikanti()]
        {
            for attention in [AttentionKernel::Standard, AttentionKernel::Flash] {
                let plain =
                    Lowering { stack: kernels, attention, ..Lowering::parameters_only(&model) };
                is_closed_form(&Lowering {
                    seq_length: 777,
                    micro_batch_size: 3,
                    context_length: 777,
                    ..plain
                });
            }
        }
    }
}

#[test]
fn served_models_multiply_as_trained_ones_and_the_head_only_the_last_tokens() {
    // Encoders are not served, alone or beside a decoder. Shared blocks are compared with PyTorch's
    // own counter.
    let plain = |model: &ModelConfig| model.source.is_none() && model.shared.is_none();
    // Of models whose parameters alone are counted, the products are unknown.
    let writes =
        |model: &ModelConfig| model.is_served() && plain(model) && !model.is_counted_and_served();
    for model in models().chain(served_models()).filter(writes) {
        for attention in [AttentionKernel::Standard, AttentionKernel::Flash] {
            let plain =
                Lowering { training: false, attention, ..Lowering::parameters_only(&model) };
            is_closed_form(&Lowering {
                seq_length: 512,
                context_length: 4096,
                concurrent_sequences: 7,
                ..plain
            });
        }
    }
}

/// Adapters add products like any matrix, learned tokens before a text only lengthen it, and a
/// score has one column in place of the vocabulary.
#[test]
fn what_learns_adds_its_own_products_alone() {
    // The matrices of blocks; some models have further linear layers outside the blocks.
    let inner = Targets::GATE.and(Targets::UP).and(Targets::DOWN);
    let of_blocks =
        Targets::QUERY.and(Targets::KEY).and(Targets::VALUE).and(Targets::OUTPUT).and(inner);
    let full = Tuning { target_modules: of_blocks, ..Tuning::FULL };
    let tunings = [
        (Tuning { objective: Objective::Reward, ..full }, Recompute::Full),
        (
            Tuning { method: Method::Lora, objective: Objective::Preference, ..full },
            Recompute::Selective,
        ),
        (Tuning { method: Method::Prefix, ..full }, Recompute::None),
        (Tuning { method: Method::Prompt, ..full }, Recompute::None),
    ];
    for (model, at) in models().filter(is_plain).zip(0_usize..) {
        let (mut tuning, recompute) = tunings[at % tunings.len()];
        if model.family.modules().peft_finds_experts {
            // peft multiplies out the adapters of experts whichever tokens they get, which is not
            // this closed form; so experts have none here.
            tuning.target_modules = Targets::QUERY.and(Targets::OUTPUT);
        }
        for kernels in [support::eager(), support::fused()] {
            let attention =
                if at % 2 == 0 { AttentionKernel::Standard } else { AttentionKernel::Flash };
            let plain = Lowering {
                stack: kernels,
                attention,
                packed_text: Some(300),
                ..Lowering::parameters_only(&model)
            };
            let whole =
                Lowering { seq_length: 640, micro_batch_size: 2, context_length: 656, ..plain };
            is_closed_form(&Lowering { tuning, recompute, autocast: at % 3 == 0, ..whole });
        }
    }
}

/// PyTorch 2.15's FLOP counter on peft 0.21's adapters of rank 8 beside every matrix of a small
/// Llama, eager attention, two texts of 64 tokens: LoRA, DoRA, and DoRA with dropout, which
/// multiplies with every frozen weight once more.
#[test]
fn adapters_have_the_flops_that_pytorch_counts() {
    for (method, dropout, counted) in [
        (Method::Lora, false, [401_080_320.0, 434_634_752.0]),
        (Method::Lora, true, [401_080_320.0, 434_634_752.0]),
        (Method::Dora, false, [440_926_208.0, 434_634_752.0]),
        (Method::Dora, true, [742_916_096.0, 736_624_640.0]),
    ] {
        let model = ModelConfig {
            hidden_size: 256,
            intermediate_size: 512,
            num_hidden_layers: 2,
            num_attention_heads: 4,
            num_key_value_heads: 2,
            head_dim: 64,
            vocab_size: 1000,
            ..catalog::model("llama3-8b").unwrap().config.clone()
        };
        let tuning = Tuning { method, dropout, r: 8, target_modules: Targets::ALL, ..Tuning::FULL };
        let plain = Lowering {
            attention: AttentionKernel::Standard,
            tuning,
            ..Lowering::parameters_only(&model)
        };
        let list =
            lower(&Lowering { seq_length: 64, micro_batch_size: 2, context_length: 64, ..plain });
        let near = |(ours, counted): (f64, f64)| (ours - counted).abs() < 0.5;
        let pairs = [list.forward().0, list.backward().0].into_iter().zip(counted);
        assert!(pairs.into_iter().all(near), "{method:?} {dropout}");
    }
}

proptest! {
    #[test]
    fn any_job_has_the_flops_of_the_closed_form(job in support::random::job(), eager in any::<bool>()) {
        let with = ops::lowering(&job);
        let kernels = if eager && with.training { support::eager() } else { with.stack };
        let with = Lowering { stack: kernels, ..with };
        let list = lower(&with);
        let (ours, expected) = (list.forward().0, closed_form(&with, &list));
        // Whole numbers below 2⁵³ are exact.
        let near = if expected < 9e15 { 0.5 } else { expected * 1e-14 };
        prop_assert!((ours - expected).abs() <= near, "{ours:e} against {expected:e}");
    }
}

/// Working sets are found by the names of products: a family with other names would have none.
#[test]
fn every_half_of_a_served_block_works_with_something() {
    // Encoders are not served, alone or beside a decoder.
    for model in models()
        .chain(served_models())
        .filter(|model| model.encoder.is_none() && model.source.is_none())
    {
        for attention in [AttentionKernel::Standard, AttentionKernel::Flash] {
            let with = Lowering { training: false, attention, ..Lowering::parameters_only(&model) };
            for kind in lower(&Lowering { seq_length: 512, context_length: 4096, ..with }).kinds {
                let there =
                    [kind.of.mixer || kind.of.keys != Keys::None, kind.of.feed != Feed::None];
                for (half, there) in kind.halves().into_iter().zip(there) {
                    let sizes: Vec<u64> = ops::tensors(half, Role::Workspace)
                        .map(|(_, tensor)| tensor.bytes().0)
                        .collect();
                    assert!(
                        !there || (sizes.len() >= 2 && !sizes.contains(&0)),
                        "{:?} {:?}: {sizes:?}",
                        model.family,
                        kind.of
                    );
                }
            }
        }
    }
}

/// Matrices are found by name: a family with other names would be trained without them. Gates of
/// shared experts are left out, because Megatron-LM has none.
#[test]
fn megatron_lm_has_every_matrix_of_a_block() {
    let elements = |op: &Op| {
        let is_matrix = |tensor: &&Tensor| {
            tensor.role == Role::Parameter
                && tensor.shape.dims().count() > 1
                && !tensor.name.ends_with("biases")
        };
        op.tensors.iter().filter(is_matrix).map(|tensor| tensor.shape.elements().0).sum::<u64>()
    };
    // Under Megatron-LM, an encoder beside a decoder is not modelled.
    let decoders = models().filter(is_plain);
    for model in decoders.filter(|model| !model.has_parts_of_its_own()) {
        let layout = support::layout(1, 1, 1, DataSharding::NOTHING);
        let job = support::training_job(&model, layout, |run| run.stack = support::megatron());
        let ours = rank_model(&job, job.training().unwrap());
        for kind in ops::declared(&model).kinds {
            let steps = if kind.of.feed == Feed::Experts { &ours.experts } else { &ours.dense };
            let theirs = kind
                .ops
                .iter()
                .filter(|op| op.name != "Shared experts' gate" && op.name != "Query and key norm");
            let [ours, theirs] = [
                steps.iter().map(|step| elements(&step.op)).sum::<u64>(),
                theirs.map(elements).sum(),
            ];
            assert_eq!(ours, theirs, "{:?} {:?}", model.family, kind.of);
        }
    }
}
