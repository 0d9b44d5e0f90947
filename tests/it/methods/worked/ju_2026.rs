//! Rows of Li Ju's document.

use headroom::methods::ju_2026 as method;
use headroom::methods::{ActivationShape, ModelStates, Setup};
use headroom::units::{Bytes, to_f64};

use super::{Computed, Row, Rows, optimizer};

pub fn compute(row: &Row, rows: &Rows) -> Option<Computed> {
    parameters(row)
        .or_else(|| states(row))
        .or_else(|| activations(row))
        .or_else(|| counts(row))
        .or_else(|| further(row, rows))
}

fn parameters(row: &Row) -> Option<Computed> {
    let million = |key: &str| row.u(key) * 1_000_000;
    Some(match row.id() {
        "ju-1-head-dim" => {
            method::head_dim(row.u("hidden_size"), row.u("num_attention_heads")).into()
        }
        "ju-1-embedding-params" | "ju-1-output-params" => {
            method::embedding_parameters(row.u("hidden_size"), row.u("vocab_size")).into()
        }
        "ju-1-attention-params" => method::attention_parameters(row.u("hidden_size")).into(),
        "ju-1-mlp-params" => {
            method::mlp_parameters(row.u("hidden_size"), row.u("intermediate_size")).into()
        }
        "ju-1-output-params-literal" => {
            method::output_parameters_as_printed(row.u("hidden_size"), row.u("vocab_size")).into()
        }
        "ju-1-total-params" | "ju-1-approx-7b" => {
            method::num_parameters(&row.shape_with(1, 1), row.u("vocab_size")).into()
        }
        "ju-1-total-params-rounded-terms" => method::sum_of_parameters(
            million("embedding_M"),
            million("attention_M"),
            million("mlp_M"),
            million("output_M"),
            row.u("num_hidden_layers"),
        )
        .into(),
        _ => return None,
    })
}

fn adam(row: &Row) -> ModelStates {
    method::adam_states(row.u("num_parameters"))
}

fn states(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "ju-2.1-weights" => method::weights(row.u("num_parameters")).into(),
        "ju-2.2-gradients" => method::gradients(row.u("num_parameters")).into(),
        "ju-2.3-optimizer-adam" => {
            method::optimizer(optimizer("adamw"), row.u("num_parameters"))?.into()
        }
        "ju-2.3-optimizer-sgd-momentum" => {
            method::optimizer(optimizer("sgdm"), row.u("num_parameters"))?.into()
        }
        "ju-2.3-sgd-saving" => {
            let of = |optimizer| {
                method::optimizer(optimizer, row.u("num_parameters")).map(Bytes::as_f64)
            };
            (1.0 - of(optimizer("sgdm"))? / of(optimizer("adamw"))?).into()
        }
        "ju-2-model-states-total" => adam(row).total().into(),
        "ju-3.1-vanilla-dp" => {
            let states = adam(row);
            assert_eq!(method::gpus(0, &states, Bytes::ZERO, row.gb("gpu_memory_GB")), None);
            states.total().into()
        }
        "ju-5-8bit-bytes" => method::adam_8bit_with_master_bytes_per_parameter().into(),
        "ju-5-8bit-saving" => {
            let of = |optimizer| method::optimizer(optimizer, row.u("num_parameters"));
            of(optimizer("adamw"))?.saturating_sub(of(optimizer("adamw8"))?).into()
        }
        _ => return None,
    })
}

fn shape(row: &Row) -> ActivationShape {
    row.shape("global_batch_size")
}

fn activations(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "ju-2.4.1-input" => method::LISTED_TENSORS.first().copied()?.into(),
        "ju-2.4.1-qkv" => method::LISTED_TENSORS.get(1).copied()?.into(),
        "ju-2.4-linear-coefficient-10" => method::LISTED_TENSORS.iter().sum::<u64>().into(),
        "ju-2.4-linear-coefficient-9" => method::linear_tensors().into(),
        "ju-2.4-activations-per-block-elements" => method::block_elements(&shape(row)).into(),
        "ju-2.4-attention-only-elements" => method::attention_elements(&shape(row)).into(),
        "ju-2.4-linear-memory-per-block" => method::linear_bytes(&shape(row)).into(),
        "ju-2.4-attention-memory-per-block" => method::attention_bytes(&shape(row)).into(),
        "ju-2.4-activations-per-block" => method::block(&shape(row)).into(),
        "ju-2.4-activations-all-blocks" | "ju-2.4-activations-all-blocks-gb" => {
            method::activations(&shape(row)).into()
        }
        "ju-2.5-total" => method::total(&adam(row), method::activations(&shape(row))).into(),
        "ju-3-max-dp-activations" => {
            let share = method::activations(&shape(row)).per_rank(row.u("data_parallel_size"));
            assert_eq!(share, method::activations(&row.shape("micro_batch_size")));
            share.into()
        }
        "ju-4-activation-share" => {
            method::activation_share(&adam(row), method::activations(&shape(row))).into()
        }
        "ju-4.1.2-checkpoint-per-block" => method::checkpoint(&shape(row)).into(),
        "ju-4.1.2-checkpoint-all-blocks" => method::checkpoints(&shape(row)).into(),
        "ju-4.1.2-persistent" => method::total(&adam(row), method::checkpoints(&shape(row))).into(),
        "ju-4.1.2-temporary-unrounded" => {
            method::temporary(row.gb("block_GB"), row.gb("checkpoint_GB")).into()
        }
        "ju-4.1.2-temporary" => {
            method::temporary(method::block(&shape(row)), method::checkpoint(&shape(row))).into()
        }
        "ju-4.1.2-total" => {
            method::total(&adam(row), setup(3, true, false).activations(&shape(row))).into()
        }
        "ju-4.2-temporary" => method::temporary_with_flash_attention(&shape(row)).into(),
        "ju-4.2-total" => {
            method::total(&adam(row), setup(3, true, true).activations(&shape(row))).into()
        }
        "ju-5-int8-temporary" => method::temporary_with_int8_mlp(&shape(row)).into(),
        _ => return None,
    })
}

const fn setup(zero_stage: u8, checkpointing: bool, flash_attention: bool) -> Setup {
    Setup { zero_stage, checkpointing, flash_attention }
}

/// The switches of a row.
fn setup_of(row: &Row, flash_attention: bool) -> Setup {
    setup(
        u8::try_from(row.u("zero_stage")).unwrap(),
        row.text("recompute") == "full",
        flash_attention,
    )
}

fn counts(row: &Row) -> Option<Computed> {
    let capacity = || row.gb("gpu_memory_GB");
    Some(match row.id() {
        "ju-3-naive-count" => method::naive_gpus(row.gb("total_GB"), capacity())?.into(),
        "ju-3.2.1-zero1-gpus" | "ju-3.2.2-zero2-gpus" | "ju-3.2.3-zero3-gpus" => {
            let setup = setup_of(row, false);
            // The stated count follows from the document's own slips; in fact no count can run.
            let printed = method::gpus_as_printed(
                setup.zero_stage,
                &adam(row),
                method::activations(&shape(row)),
                capacity(),
            );
            assert_eq!(printed.map(to_f64), Some(row.stated()), "{}", row.id());
            for micro_batch_size in [None, Some(1)] {
                assert_eq!(
                    setup.gpus_that_can_run(&adam(row), &shape(row), capacity(), micro_batch_size),
                    None
                );
            }
            setup.gpus(&adam(row), &shape(row), capacity())?.into()
        }
        "ju-3.2.1-zero1-arithmetic" => {
            method::gpus(1, &given_states(row), row.gb("activations_GB"), capacity())?.into()
        }
        "ju-3.2.2-zero2-arithmetic" => {
            method::gpus(2, &given_states(row), row.gb("activations_GB"), capacity())?.into()
        }
        "ju-3.2.3-zero3-arithmetic" => {
            let states =
                ModelStates { weights: row.gb("model_states_GB"), ..ModelStates::default() };
            method::gpus(3, &states, row.gb("activations_GB"), capacity())?.into()
        }
        "ju-4.1.2-zero3-gpus" => {
            setup_of(row, false).gpus(&adam(row), &shape(row), capacity())?.into()
        }
        "ju-4.2-zero3-gpus" => {
            let setup = setup_of(row, true);
            assert_eq!(
                setup.gpus_that_can_run(&adam(row), &shape(row), capacity(), None),
                Some(row.u("data_parallel_size"))
            );
            setup.gpus(&adam(row), &shape(row), capacity())?.into()
        }
        "ju-4.1.2-zero3-gpus-feasible" => {
            let (switches, ranks) = (setup_of(row, false), row.u("data_parallel_size"));
            let most = row.u("global_batch_size").div_ceil(ranks);
            assert!(switches.memory(&adam(row), &shape(row), ranks, most) > capacity());
            switches.gpus_that_can_run(&adam(row), &shape(row), capacity(), None)?.into()
        }
        _ => return None,
    })
}

fn given_states(row: &Row) -> ModelStates {
    ModelStates {
        weights: row.gb("weights_GB"),
        gradients: row.gb("gradients_GB"),
        optimizer: row.gb("optimizer_GB"),
    }
}

fn further(row: &Row, rows: &Rows) -> Option<Computed> {
    Some(match row.id() {
        "ju-4.2-sram" => method::on_chip_memory(row.u("sm_count"), row.u("sram_per_sm_KiB")).into(),
        "ju-4.2-flash-io" => {
            let accesses = |seq_length| method::flash_attention_accesses(seq_length, 128, 1 << 16);
            (accesses(8192) / accesses(4096)).log2().into()
        }
        "ju-5-gpu-range" => {
            let (start, end) = (rows.get("ju-3.2.1-zero1-gpus"), rows.get("ju-4.2-zero3-gpus"));
            let capacity = start.gb("gpu_memory_GB");
            let stated = method::gpus_as_printed(
                1,
                &adam(start),
                method::activations(&shape(start)),
                capacity,
            )?;
            let fewest = setup(3, true, true).gpus(&adam(end), &shape(end), capacity)?;
            (to_f64(stated) / to_f64(fewest)).into()
        }
        _ => return None,
    })
}
