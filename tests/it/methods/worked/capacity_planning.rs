//! Rows of the capacity-planning lesson.

use headroom::methods::capacity_planning::{self as method, Budget, KvShape};
use headroom::methods::{ActivationShape, ModelStates, instance_shape, solenya};
use headroom::units::{Bytes, DType, FlopsPerSecond, to_f64};

use super::{Computed, Row, Rows};

pub fn compute(row: &Row, rows: &Rows) -> Option<Computed> {
    story(row, rows)
        .or_else(|| models(row))
        .or_else(|| per_parameter(row))
        .or_else(|| states(row))
        .or_else(|| activations(row))
        .or_else(|| cache(row, rows))
        .or_else(|| training(row, rows))
        .or_else(|| inference(row))
        .or_else(|| parallel(row))
        .or_else(|| quantized(row))
        .or_else(|| gpt3(row, rows))
        .or_else(|| question_5(row, rows))
}

fn parameters(row: &Row) -> u64 {
    row.u("num_parameters")
}

fn bf16_states(row: &Row) -> ModelStates {
    method::states(parameters(row), DType::Bf16)
}

fn story(row: &Row, rows: &Rows) -> Option<Computed> {
    Some(match row.id() {
        "cp-dgx-gpus" => method::world_size(row.u("nodes"), row.u("gpus_per_node"), 1).into(),
        "cp-dgx-memory" | "cp-gpt3-v100" | "cp-q5-cluster-memory" => {
            method::cluster_memory(row.u("gpus"), row.gb("gpu_memory_GB")).into()
        }
        "cp-story-weights" => method::weights(parameters(row), row.dtype("params_dtype")).into(),
        "cp-story-optimizer" => method::optimizer(parameters(row)).into(),
        "cp-story-gradients" => method::gradients(parameters(row), row.dtype("grad_dtype")).into(),
        "cp-story-activations" => method::activations_rule(&row.shape("micro_batch_size")).into(),
        "cp-story-total" => {
            let states = ModelStates {
                weights: row.gb("weights_GB"),
                gradients: row.gb("gradients_GB"),
                optimizer: row.gb("optimizer_GB"),
            };
            method::training_memory(&states, row.gb("activations_GB")).into()
        }
        "cp-story-fits" => {
            row.tb("total_TB").per_rank(row.tb("cluster_TB").0 / method::H100.0).into()
        }
        "cp-accuracy" => {
            // The row's 178.2 GB are rounded; the exact value is in another row.
            let total = rows.get("cp-q4-total");
            let recomputed = served(total, total.dtype("params_dtype"));
            assert!((recomputed.as_f64() / row.gb("recomputed_GB").as_f64() - 1.0).abs() < 1e-3);
            method::shortfall(row.gb("stated_GB"), recomputed).into()
        }
        _ => return None,
    })
}

fn models(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "cp-gpt2-params" | "cp-gpt3-params" | "cp-bert-large-params" => {
            let positions = row.shape_with(1, row.u("max_position_embeddings"));
            let shape =
                ActivationShape { intermediate_size: 4 * positions.hidden_size, ..positions };
            solenya::num_parameters(&shape, row.u("vocab_size")).into()
        }
        "cp-llama70-params" => method::llama_parameters(
            row.u("hidden_size"),
            row.u("intermediate_size"),
            row.u("vocab_size"),
            kv(row),
        )
        .into(),
        "cp-gpt2-fp32" | "cp-gpt3-fp32" | "cp-gpt3-fp32-again" | "cp-weights-70b"
        | "cp-q4-weights" => method::weights(parameters(row), row.dtype("params_dtype")).into(),
        "cp-llama70-inference-gpus" => method::gpus(
            method::weights(parameters(row), row.dtype("params_dtype")),
            row.gb("gpu_memory_GB"),
        )
        .into(),
        "cp-gpt3-duration" => {
            let achieved = FlopsPerSecond(row.f("achieved_TFLOPS_per_gpu") * 1e12);
            let time = method::training_time(
                row.f("num_parameters"),
                row.f("train_tokens"),
                row.u("gpus"),
                achieved,
            );
            (time.days() / 30.0).into()
        }
        "cp-gpt3-pfdays" => method::training_flops(row.f("num_parameters"), row.f("train_tokens"))
            .pflop_days()
            .into(),
        _ => return None,
    })
}

fn per_parameter(row: &Row) -> Option<Computed> {
    let one = method::states(1, DType::Bf16);
    let ratio = |part: Bytes, of: Bytes| part.as_f64() / of.as_f64();
    Some(match row.id() {
        "cp-zero-range-low" | "cp-zero-range-high" | "cp-zero1-4x" | "cp-zero2-8x" => {
            let (stage, ranks) = (u8::try_from(row.u("zero_stage")).unwrap(), 1 << 40);
            let limit = method::zero_saving_limit(stage);
            let near = method::zero_bytes_per_parameter(0, ranks)
                / method::zero_bytes_per_parameter(stage, ranks);
            assert!((near / limit - 1.0).abs() < 1e-9);
            limit.into()
        }
        "cp-zero3-16n" => method::zero_bytes_per_parameter(3, row.u("data_parallel_size")).into(),
        "cp-zero3-comm" => method::zero3_communication().into(),
        "cp-sixteen-bytes" => one.total().into(),
        "cp-zero-table-total" => {
            let rows: u64 =
                ["master", "working", "gradients", "m", "v"].iter().map(|key| row.u(key)).sum();
            assert_eq!(Bytes(rows), one.total());
            one.total().into()
        }
        "cp-zero-table-fp32-column" => method::OPTIMIZER_PARTS.iter().sum::<u64>().into(),
        "cp-multiplier-8x" => ratio(one.total(), one.weights).into(),
        "cp-optimizer-7x" => ratio(one.optimizer, one.weights).into(),
        id if id.starts_with("cp-precision-") => {
            method::bytes_per_element(row.dtype("params_dtype")).into()
        }
        _ => return None,
    })
}

fn states(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "cp-gradients-70b" => method::gradients(parameters(row), row.dtype("grad_dtype")).into(),
        "cp-optimizer-70b" | "cp-gpt3-opt" => method::optimizer(parameters(row)).into(),
        "cp-gpt3-weights" => bf16_states(row).weights.into(),
        "cp-gpt3-grads" => bf16_states(row).gradients.into(),
        "cp-states-70b" | "cp-mistake-total" | "cp-gpt3-states" => bf16_states(row).total().into(),
        "cp-states-70b-gpus" => {
            assert_eq!(method::states(1, DType::Bf16).total(), Bytes(row.u("bytes_per_parameter")));
            method::gpus(bf16_states(row).total(), row.gb("gpu_memory_GB")).into()
        }
        "cp-mistake-8x" => {
            (bf16_states(row).total().as_f64() / bf16_states(row).weights.as_f64()).into()
        }
        _ => return None,
    })
}

fn activations(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "cp-act-34" => method::ACTIVATION_PARTS.iter().sum::<u64>().into(),
        "cp-act-within-20" => method::rule_shortfall(&row.shape("micro_batch_size")).into(),
        "cp-act-70b-b1" | "cp-act-70b-b8" => {
            method::activations_rule(&row.shape("micro_batch_size")).into()
        }
        "cp-act-70b-b8-ckpt" => {
            method::activations_checkpointed(&row.shape("micro_batch_size")).into()
        }
        "cp-act-34x" | "cp-act-10x" | "cp-act-17x" => method::checkpoint_saving().into(),
        "cp-recompute-30" | "cp-recompute-33" | "cp-ckpt-30-33" => {
            method::recompute_overhead().into()
        }
        "cp-ckpt-layers" => method::activation_sets(row.u("num_hidden_layers")).into(),
        "cp-long-sequence-doubles" => {
            let lengths = row.list("seq_length");
            let of = |length: Option<&u64>| {
                length.map(|s| method::activations_exact(&row.shape_with(1, *s)).as_f64())
            };
            (of(lengths.last())? / of(lengths.first())?).into()
        }
        _ => return None,
    })
}

fn kv(row: &Row) -> KvShape {
    KvShape {
        num_hidden_layers: row.u("num_hidden_layers"),
        num_key_value_heads: row.u("num_key_value_heads"),
        head_dim: row.u("head_dim"),
    }
}

/// Cache of one sequence of the row in 16 bit.
fn one_sequence(row: &Row) -> Bytes {
    method::kv_cache(kv(row), row.u("seq_length"), DType::Bf16)
}

fn cache(row: &Row, rows: &Rows) -> Option<Computed> {
    let many = || method::kv_cache(kv(row), row.u("seq_length") * row.u("batch_size"), DType::Bf16);
    Some(match row.id() {
        "cp-kv-per-token" => method::kv_cache(kv(row), 1, row.dtype("kv_cache_dtype")).into(),
        "cp-kv-1x4096" | "cp-kv-100x4096" | "cp-kv-128k" | "cp-infer-kv" | "cp-q4-kv" => {
            assert_eq!(row.dtype("kv_cache_dtype"), DType::Bf16);
            many().into()
        }
        "cp-q5-kv-user" | "cp-q5-kv-1000" | "cp-q6-mha" | "cp-q6-gqa" | "cp-q6-mqa" => {
            many().into()
        }
        "cp-kv-128k-hbm" => (one_sequence(rows.get("cp-kv-128k")).as_f64()
            / row.gb("gpu_memory_GB").as_f64())
        .into(),
        "cp-kv-page" => {
            method::kv_cache(kv(row), row.u("block_size_tokens"), row.dtype("kv_cache_dtype"))
                .into()
        }
        "cp-kv-equals-weights" => {
            let weights = bf16_states(rows.get("cp-weights-70b")).weights;
            (weights.as_f64() / one_sequence(row).as_f64()).into()
        }
        "cp-gqa-8x" => {
            method::kv_reduction(row.u("num_attention_heads"), row.u("num_key_value_heads")).into()
        }
        "cp-q6-gqa-reduction" | "cp-q6-mqa-reduction" => {
            let heads = rows.get("cp-q6-mha").u("num_key_value_heads");
            method::kv_reduction(heads, row.u("num_key_value_heads")).into()
        }
        "cp-q6-users" => {
            let (full, grouped) = (rows.get("cp-q6-mha"), rows.get("cp-q6-gqa"));
            (one_sequence(full).as_f64() / one_sequence(grouped).as_f64()).into()
        }
        "cp-q6-mha-gpus" => method::gpus(row.gb("kv_GB"), row.gb("gpu_memory_GB")).into(),
        "cp-kv-8x-512" => {
            let lengths = row.list("seq_length");
            let of = |length: Option<&u64>| {
                let shape = KvShape { num_hidden_layers: 1, num_key_value_heads: 1, head_dim: 1 };
                length.map(|tokens| method::kv_cache(shape, *tokens, DType::Bf16).as_f64())
            };
            (of(lengths.last())? / of(lengths.first())?).into()
        }
        _ => return None,
    })
}

fn training(row: &Row, rows: &Rows) -> Option<Computed> {
    let activations = || {
        method::activations_as_coded(
            &row.shape("global_batch_size"),
            row.text("recompute") == "full",
            DType::Bf16,
        )
    };
    let total = || method::training_memory(&bf16_states(row), activations());
    let with_overhead = || method::with_overhead(total(), method::TRAINING_OVERHEAD_PERCENT);
    Some(match row.id() {
        "cp-train-weights" => bf16_states(row).weights.into(),
        "cp-train-grads" => bf16_states(row).gradients.into(),
        "cp-train-opt" => bf16_states(row).optimizer.into(),
        "cp-train-acts" => activations().into(),
        "cp-train-acts-physical" => {
            method::activations_checkpointed(&row.shape("global_batch_size")).into()
        }
        "cp-train-total" => total().into(),
        "cp-train-total-overhead" => with_overhead().into(),
        "cp-train-overhead-arithmetic" => {
            method::with_overhead(row.gb("total_GB"), method::TRAINING_OVERHEAD_PERCENT).into()
        }
        "cp-train-h100" => method::gpus_quotient(with_overhead(), method::H100).into(),
        "cp-train-pow2" => method::power_of_two_as_coded(with_overhead(), method::H100).into(),
        "cp-train-pow2-correct" => method::power_of_two(with_overhead(), method::H100).into(),
        "cp-train-nodes" | "cp-q5-nodes" => {
            method::nodes(row.u("gpus"), row.u("gpus_per_node")).into()
        }
        "cp-overhead-10" | "cp-overhead-5" => {
            let percent = if row.id() == "cp-overhead-10" {
                method::TRAINING_OVERHEAD_PERCENT
            } else {
                method::INFERENCE_OVERHEAD_PERCENT
            };
            assert!((row.f("overhead_fraction") - to_f64(percent) / 100.0).abs() < 1e-15);
            (method::with_overhead(Bytes(1000), percent).as_f64() / 1000.0).into()
        }
        "cp-weights-smallest" => {
            // The row compares the document's printed values, so it takes the printed activations
            // of another row.
            let printed = super::bytes_of(rows.get("cp-train-acts").stated() * 1e9);
            let ModelStates { weights, gradients, optimizer } = bf16_states(row);
            assert!(activations() < weights, "nor by its code are weights the smallest");
            [weights, gradients, optimizer, printed].into_iter().min()?.into()
        }
        _ => return None,
    })
}

/// Weights in the row's format (16 bit if it names none), cache and buffer of the inference
/// function.
fn serving(row: &Row, weights: DType) -> (Bytes, Bytes, Bytes) {
    let batch = row.u("batch_size");
    let dtype = row.dtype("kv_cache_dtype");
    (
        method::weights(parameters(row), weights),
        method::kv_cache(kv(row), row.u("seq_length") * batch, dtype),
        method::inference_buffer(batch, row.u("hidden_size"), row.u("num_hidden_layers"), dtype),
    )
}

fn served(row: &Row, weights: DType) -> Bytes {
    let (weights, cache, buffer) = serving(row, weights);
    method::inference_memory(weights, cache, buffer)
}

fn inference(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "cp-infer-weights" => serving(row, DType::Bf16).0.into(),
        "cp-infer-acts" => serving(row, DType::Bf16).2.into(),
        "cp-infer-total" => served(row, DType::Bf16).into(),
        "cp-infer-h100" => method::gpus_quotient(served(row, DType::Bf16), method::H100).into(),
        "cp-infer-recommended" | "cp-infer-10-users" => {
            method::gpus(served(row, DType::Bf16), method::H100).into()
        }
        _ => return None,
    })
}

fn budget(row: &Row) -> Budget {
    let activations = method::activations_as_coded(
        &row.shape("micro_batch_size"),
        row.text("recompute") == "full",
        row.dtype("params_dtype"),
    );
    let stage = u8::try_from(row.u("zero_stage")).unwrap();
    let states = method::states(parameters(row), row.dtype("params_dtype"));
    method::memory_budget(&states, stage, row.u("data_parallel_size"), activations)
}

fn parallel(row: &Row) -> Option<Computed> {
    let (t, p, d) = (
        || row.u("tensor_model_parallel_size"),
        || row.u("pipeline_model_parallel_size"),
        || row.u("data_parallel_size"),
    );
    Some(match row.id() {
        "cp-tp8-weights" => {
            method::weights(parameters(row), row.dtype("params_dtype")).per_rank(t()).into()
        }
        "cp-tp8-optimizer" => {
            method::optimizer(parameters(row)).per_rank(method::tensor_parallel_divisor(t())).into()
        }
        "cp-tp-optimizer-claim" => method::tensor_parallel_divisor(t()).into(),
        "cp-zero3-16" => bf16_states(row).sharded(3, d()).total().into(),
        "cp-pp-bubble" => {
            let m = row.u("num_micro_batches");
            let interleaved =
                method::pipeline_bubble(p(), m, row.u("virtual_pipeline_model_parallel_size"));
            assert!((interleaved - 0.1875).abs() < 1e-15, "the row's note");
            method::pipeline_bubble(p(), m, 1).into()
        }
        "cp-pp-inflight" => method::micro_batches_in_flight(p(), row.u("num_micro_batches")).into(),
        "cp-budget-weights-gb" => budget(row).states.weights.into(),
        "cp-budget-gradients-gb" => budget(row).states.gradients.into(),
        "cp-budget-optimizer-gb" => budget(row).states.optimizer.into(),
        "cp-budget-activations-gb" => budget(row).activations.into(),
        "cp-budget-overhead-gb" => budget(row).overhead.into(),
        "cp-budget-total-gb" | "cp-budget-fits" => budget(row).total().into(),
        "cp-budget-h100-80gb-needed" => {
            method::gpus_quotient(budget(row).total(), method::H100).into()
        }
        "cp-budget-gpus" => method::world_size(t(), p(), d()).into(),
        "cp-gpt3-40" | "cp-gpt3-64" => method::world_size(t(), 1, d()).into(),
        _ => return None,
    })
}

fn quantized(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "cp-q4-acts" => serving(row, DType::Int4).2.into(),
        "cp-q4-overhead" => {
            method::overhead(row.gb("sum_GB"), method::INFERENCE_OVERHEAD_PERCENT).into()
        }
        "cp-q4-total" => served(row, row.dtype("params_dtype")).into(),
        "cp-q4-gpus" => method::gpus(served(row, row.dtype("params_dtype")), method::H100).into(),
        "cp-q4-ratio" => {
            let of = |dtype| method::weights(parameters(row), dtype).as_f64();
            (of(DType::Bf16) / of(DType::Int4)).into()
        }
        _ => return None,
    })
}

fn gpt3(row: &Row, rows: &Rows) -> Option<Computed> {
    let activations = || {
        method::activations_as_coded(
            &row.shape("micro_batch_size"),
            row.text("recompute") == "full",
            DType::Bf16,
        )
    };
    Some(match row.id() {
        "cp-gpt3-acts" => activations().into(),
        "cp-gpt3-total" => method::training_memory(&bf16_states(row), activations()).into(),
        "cp-gpt3-total-tb" => row.gb("total_GB").into(),
        "cp-gpt3-min-gpus" => method::gpus(row.gb("total_GB"), row.gb("gpu_memory_GB")).into(),
        "cp-gpt3-40-pow2" => {
            let count = rows.get("cp-gpt3-min-gpus");
            method::power_of_two(count.gb("total_GB"), count.gb("gpu_memory_GB")).into()
        }
        _ => return None,
    })
}

/// The weights that question 5 serves: those of the 70B model in 16 bit.
fn question_5_weights(rows: &Rows) -> Bytes {
    bf16_states(rows.get("cp-weights-70b")).weights
}

/// Cache of the users of question 5, each of whom fills a part of the context.
fn average_cache(row: &Row) -> Bytes {
    let tokens = row
        .list("users")
        .iter()
        .zip(row.list("seq_length"))
        .map(|(users, length)| users * length)
        .sum();
    method::kv_cache(kv(row), tokens, DType::Bf16)
}

fn question_5(row: &Row, rows: &Rows) -> Option<Computed> {
    let buffer = || {
        method::inference_buffer(
            row.u("batch_size"),
            row.u("hidden_size"),
            row.u("num_hidden_layers"),
            DType::Bf16,
        )
    };
    Some(match row.id() {
        "cp-q5-acts" => buffer().into(),
        "cp-q5-gpus" => {
            let cache =
                method::kv_cache(kv(row), row.u("batch_size") * row.u("seq_length"), DType::Bf16);
            let percent = 10;
            assert!((row.f("overhead_fraction") - to_f64(percent) / 100.0).abs() < 1e-15);
            let total = method::with_overhead(question_5_weights(rows) + cache + buffer(), percent);
            let per_node = rows.get("cp-q5-nodes").u("gpus_per_node");
            method::whole_nodes(method::gpus(total, row.gb("gpu_memory_GB")), per_node).into()
        }
        "cp-q5-average-kv" => average_cache(row).into(),
        "cp-q5-average-total" => (question_5_weights(rows) + average_cache(row)).into(),
        "cp-q5-average-gpus" => method::gpus(row.gb("total_GB"), row.gb("gpu_memory_GB")).into(),
        "cp-q5-average-gpus-shape" => {
            let per_node = rows.get("cp-q5-nodes").u("gpus_per_node");
            let KvShape { num_hidden_layers, num_key_value_heads, .. } = kv(row);
            let heads = row.u("num_attention_heads");
            let possible = |gpus: &u64| {
                instance_shape(*gpus, heads, num_key_value_heads, num_hidden_layers, per_node)
                    .is_some()
            };
            (row.u("gpus")..=1000).find(possible)?.into()
        }
        "cp-q5-remaining" => {
            method::left_for_cache(row.u("gpus"), row.gb("gpu_memory_GB"), 1, row.gb("weights_GB"))
                .into()
        }
        "cp-q5-remaining-replicas" => {
            let replicas = row.u("gpus") / row.u("tensor_model_parallel_size");
            method::left_for_cache(row.u("gpus"), method::H100, replicas, row.gb("weights_GB"))
                .into()
        }
        "cp-q5-800-sessions" => {
            method::sequences_in(row.gb("kv_cache_GB"), one_sequence(row)).into()
        }
        _ => return None,
    })
}
