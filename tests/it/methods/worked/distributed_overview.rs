//! Rows of the distributed-training overview.

use headroom::methods::distributed_overview::{self as method, BytesPerParameter};
use headroom::units::{Bytes, to_f64};

use super::{Computed, Row, Rows};

pub fn compute(row: &Row, rows: &Rows) -> Option<Computed> {
    batches(row)
        .or_else(|| parameters(row, rows))
        .or_else(|| per_parameter(row))
        .or_else(|| activations(row))
}

fn batches(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "do-dsv3-ratio" => {
            let sizes = row.list("global_batch_size");
            let tokens =
                |size: Option<&u64>| size.map(|size| to_f64(method::tokens_per_batch(*size, 4096)));
            (tokens(sizes.last())? / tokens(sizes.first())?).into()
        }
        "do-dsv3-tokens" | "do-ga-tokens" => {
            method::tokens_per_batch(row.u("global_batch_size"), row.u("seq_length")).into()
        }
        "do-llama1-tokens" => {
            let sequences =
                method::sequences_per_batch(row.f("tokens_per_batch"), row.u("seq_length"));
            (sequences * row.f("seq_length")).into()
        }
        "do-ga-range-low" | "do-ga-range-high" => {
            method::sequences_per_batch(row.f("tokens_per_batch"), row.u("seq_length")).into()
        }
        "do-ga-identity" => method::global_batch_size(
            row.u("micro_batch_size"),
            row.u("gradient_accumulation_steps"),
            row.u("data_parallel_size"),
        )
        .into(),
        "do-ga-time" => method::step_in_micro_steps(row.u("gradient_accumulation_steps")).into(),
        id if id.starts_with("do-format-") => {
            method::float_bits(row.u("exponent_bits"), row.u("mantissa_bits")).into()
        }
        _ => return None,
    })
}

fn parameters(row: &Row, rows: &Rows) -> Option<Computed> {
    let biases = || method::LAYER_BIASES.iter().sum::<u64>();
    Some(match row.id() {
        "do-params-12h2" => method::LAYER_WEIGHTS.iter().sum::<u64>().into(),
        "do-params-biases-9h" => biases().into(),
        "do-params-13h" => (method::LAYER_NORMS + biases()).into(),
        "do-params-2h" => method::FINAL_NORM.iter().sum::<u64>().into(),
        "do-params-ju-model" => method::num_parameters(
            row.u("hidden_size"),
            row.u("num_hidden_layers"),
            row.u("vocab_size"),
        )
        .into(),
        "do-params-12lh2" => {
            // The row gives no vocabulary; it is GPT-3's, as in another row.
            let (h, l) = (row.u("hidden_size"), row.u("num_hidden_layers"));
            let vocab_size = rows.get("cp-gpt3-params").u("vocab_size");
            method::approximation_share(h, l, method::num_parameters(h, l, vocab_size)).into()
        }
        _ => return None,
    })
}

fn per_parameter(row: &Row) -> Option<Computed> {
    let states = |fp32_gradients: &str| {
        let copy = row.0["inputs"][fp32_gradients].as_bool().unwrap();
        if copy { BytesPerParameter::MIXED_FP32_GRADIENTS } else { BytesPerParameter::MIXED }
    };
    let accumulate = "accumulate_allreduce_grads_in_fp32";
    Some(match row.id() {
        "do-fp32-params" => BytesPerParameter::FP32.parameters.into(),
        "do-fp32-grad" => BytesPerParameter::FP32.gradients.into(),
        "do-fp32-adam" => BytesPerParameter::FP32.adam.into(),
        "do-fp32-total" => BytesPerParameter::FP32.total().into(),
        "do-mixed-params" => states(accumulate).parameters.into(),
        "do-mixed-grad" => states(accumulate).gradients.into(),
        "do-mixed-master" => states(accumulate).master.into(),
        "do-mixed-adam" => states(accumulate).adam.into(),
        "do-mixed-total" | "do-mixed-total-fp32-grad" => states(accumulate).total().into(),
        id if id.starts_with("do-table-") => {
            (Bytes(states(accumulate).total()) * row.u("num_parameters")).into()
        }
        "do-h100-7b" => {
            let total = Bytes(BytesPerParameter::MIXED.total()) * row.u("num_parameters");
            assert!(total > row.gb("gpu_memory_GB"));
            total.into()
        }
        "do-adam-second-step" => {
            let states = BytesPerParameter::MIXED;
            assert_eq!(states.first_step(), 8);
            (Bytes(states.adam) * row.u("num_parameters")).into()
        }
        _ => return None,
    })
}

fn activations(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "do-act-formula-const" => method::LINEAR_PARTS.iter().sum::<u64>().into(),
        "do-act-formula-att" => method::ATTENTION_PARTS.iter().sum::<u64>().into(),
        "do-act-table-sum" => table(row, &method::TABLE_LINEAR_ROWS).into(),
        "do-act-table-att-sum" => table(row, &method::TABLE_ATTENTION_ROWS).into(),
        "do-act-dominance" => method::quadratic_from(row.u("head_dim")).into(),
        "do-act-doubling-bs" => {
            let sizes = row.list("micro_batch_size");
            let of = |size: Option<&u64>| {
                size.map(|size| {
                    method::activations(&headroom::methods::ju_2026::EXAMPLE.with_batch_size(*size))
                        .as_f64()
                })
            };
            (of(sizes.last())? / of(sizes.first())?).into()
        }
        "do-act-ju-model" => method::activations(&row.shape("micro_batch_size")).into(),
        "do-full-recompute" => {
            let unit = row_of_ones();
            method::activations_full_recompute(&unit).into()
        }
        "do-selective-memory" | "do-selective-70-general" => {
            method::selective_saving(&row.shape_with(1, row.u("seq_length"))).into()
        }
        "do-selective-flops" => method::selective_extra_compute(
            &row.shape_with(1, row.u("seq_length")),
            row.u("vocab_size"),
        )
        .into(),
        "do-hfu-mfu" => method::hfu_over_mfu_full_recompute().into(),
        "do-ga-activations" => {
            let steps = row.u("gradient_accumulation_steps");
            let share = method::accumulated_activations(
                method::activations(&row.shape("global_batch_size")),
                steps,
            );
            assert_eq!(share, method::activations(&row.shape("micro_batch_size")));
            share.into()
        }
        "do-budget-summary" => {
            let activations = method::activations_full_recompute(&row.shape("micro_batch_size"));
            method::total(BytesPerParameter::MIXED, row.u("num_parameters"), activations).into()
        }
        _ => return None,
    })
}

/// All sizes 1, so that activations are the coefficient.
fn row_of_ones() -> headroom::methods::ActivationShape {
    headroom::methods::ActivationShape {
        hidden_size: 1,
        num_hidden_layers: 1,
        num_attention_heads: 1,
        intermediate_size: 4,
        seq_length: 1,
        batch_size: 1,
    }
}

/// The sum of the document's table, whose rows must be those of the worked example.
fn table(row: &Row, rows: &[(&str, u64)]) -> u64 {
    let mut given = row.pairs("rows");
    let mut mine: Vec<(String, u64)> =
        rows.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
    given.sort();
    mine.sort();
    assert_eq!(given, mine, "{}", row.id());
    method::table_sum(rows)
}
