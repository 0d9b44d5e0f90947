//! Rows of `EleutherAI`'s document.

use headroom::config::Recompute;
use headroom::methods::{ActivationShape, ModelStates, eleuther as method};
use headroom::units::{Bytes, DType, to_f64};

use super::{Computed, Row, Rows, optimizer};

pub fn compute(row: &Row, _rows: &Rows) -> Option<Computed> {
    costs(row).or_else(|| per_parameter(row)).or_else(|| activations(row)).or_else(|| parallel(row))
}

fn costs(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        "el-c-total" => method::training_flops(1.0, 1.0).0.into(),
        "el-c-forward" => method::forward_flops(1.0, 1.0).0.into(),
        "el-c-backward" => method::backward_flops(1.0, 1.0).0.into(),
        "el-c-backward-ratio" => {
            (method::backward_flops(1.0, 1.0).0 / method::forward_flops(1.0, 1.0).0).into()
        }
        "el-throughput" => {
            let (gpus, hours) = (row.list("gpus"), row.list("hours"));
            let each: Vec<f64> = gpus
                .iter()
                .zip(&hours)
                .map(|(gpus, hours)| method::gpu_hours(*gpus, to_f64(*hours)))
                .collect();
            assert!(each.windows(2).all(|pair| pair.first() == pair.last()));
            each.first().copied()?.into()
        }
        "el-gpu-hours-2" => method::gpu_hours(row.u("gpus"), row.f("hours")).into(),
        "el-petaflop-day" => method::pflop_day().0.into(),
        "el-chinchilla" => method::optimal_tokens(1.0).into(),
        "el-chinchilla-200b" => method::optimal_parameters(row.f("train_tokens")).into(),
        "el-tflops-flash-gain" => method::speedup(row.f("before"), row.f("after")).into(),
        "el-recompute-bound" => method::training_flops_at_most(1.0, 1.0).0.into(),
        "el-inference-1.2" => {
            assert!((row.f("overhead_fraction") - method::INFERENCE_OVERHEAD).abs() < 1e-15);
            (method::inference_memory(Bytes(1000)).as_f64() / 1000.0).into()
        }
        _ => return None,
    })
}

fn per_parameter(row: &Row) -> Option<Computed> {
    let bytes = method::optimizer_bytes_per_parameter;
    Some(match row.id() {
        "el-bytes-int8" | "el-bytes-fp16-bf16" | "el-bytes-fp32" | "el-mixed-weights" => {
            method::bytes_per_weight(row.dtype("params_dtype")).into()
        }
        "el-adamw" => bytes(optimizer("adamw"))?.into(),
        "el-adamw-three-copies" => {
            (to_f64(bytes(optimizer("adamw"))?) / method::bytes_per_weight(DType::Fp32)).into()
        }
        "el-adam-8bit" => bytes(optimizer("adamw8"))?.into(),
        "el-sgd-momentum" => bytes(optimizer("sgdm"))?.into(),
        "el-gradients-fp32" | "el-gradients-fp16" => {
            method::gradient_bytes_per_parameter(row.dtype("grad_dtype")).into()
        }
        "el-mixed-adamw-total" => states(row, 1, bytes(optimizer("adamw"))?).total().into(),
        "el-pure-fp32-adam" => {
            // The literal sum of the document is the stated 20; the corrected optimizer gives 16.
            assert_eq!(
                states(row, 1, bytes(optimizer("adamw"))?).total().as_f64().to_bits(),
                row.stated().to_bits()
            );
            states(
                row,
                1,
                method::optimizer_bytes_corrected(optimizer("adamw"), row.dtype("params_dtype"))?,
            )
            .total()
            .into()
        }
        "el-zero1-formula" | "el-zero2-formula" | "el-zero3-formula" => {
            // As many parameters as ranks, so that every share is whole.
            let d = row.u("data_parallel_size");
            let states = mixed_adam(d);
            let total = method::zero_total(stage(row), &states, d, Bytes::ZERO, 0);
            (total.as_f64() / to_f64(d)).into()
        }
        "el-zero-figure-baseline"
        | "el-zero-figure-pos"
        | "el-zero-figure-posg"
        | "el-zero-figure-posgp" => {
            assert_eq!(Some(row.u("optimizer_bytes")), bytes(optimizer("adamw")));
            let states = mixed_adam(row.u("num_parameters"));
            method::zero_total(stage(row), &states, row.u("data_parallel_size"), Bytes::ZERO, 0)
                .into()
        }
        _ => return None,
    })
}

fn stage(row: &Row) -> u8 {
    u8::try_from(row.u("zero_stage")).unwrap()
}

fn states(row: &Row, num_parameters: u64, optimizer_bytes: u64) -> ModelStates {
    method::states(
        num_parameters,
        row.dtype("params_dtype"),
        row.dtype("grad_dtype"),
        optimizer_bytes,
    )
}

fn mixed_adam(num_parameters: u64) -> ModelStates {
    let bytes = method::optimizer_bytes_per_parameter(optimizer("adamw")).unwrap();
    method::states(num_parameters, DType::Bf16, DType::Bf16, bytes)
}

/// All sizes 1: activations are then the coefficients themselves, 5 more with the attention term.
const UNIT: ActivationShape = ActivationShape {
    hidden_size: 1,
    num_hidden_layers: 1,
    num_attention_heads: 1,
    intermediate_size: 4,
    seq_length: 1,
    batch_size: 1,
};

fn activations(row: &Row) -> Option<Computed> {
    let of = |recompute, t| method::activations(&UNIT, t, recompute);
    Some(match row.id() {
        "el-act-none-t1" => {
            let t = row.u("tensor_model_parallel_size");
            let without_scores = ActivationShape { num_attention_heads: 0, ..UNIT };
            method::activations(&without_scores, t, Recompute::None).into()
        }
        "el-act-attention-coefficient" => {
            of(Recompute::None, 1).saturating_sub(of(Recompute::Selective, 1)).into()
        }
        "el-act-unsharded-coefficient" => method::UNSHARDED_PARTS.iter().sum::<u64>().into(),
        "el-act-sharded-coefficient" => method::SHARDED_PARTS.iter().sum::<u64>().into(),
        "el-act-selective" => of(Recompute::Selective, row.u("tensor_model_parallel_size")).into(),
        "el-act-full" => {
            assert_eq!(of(Recompute::Full, 8), of(Recompute::Full, 1));
            of(Recompute::Full, 1).into()
        }
        _ => return None,
    })
}

fn parallel(row: &Row) -> Option<Computed> {
    let (t, p) = (|| row.u("tensor_model_parallel_size"), || row.u("pipeline_model_parallel_size"));
    Some(match row.id() {
        "el-dp-degree" => method::dp_degree(row.u("world_size"), t(), p()).into(),
        "el-grad-3d" => {
            assert_eq!(
                to_f64(method::gradient_divisor_as_printed(t(), p())).to_bits(),
                row.stated().to_bits()
            );
            method::gradient_divisor(t(), p()).into()
        }
        "el-opt-3d" => method::optimizer_divisor(t(), p(), row.u("data_parallel_size")).into(),
        "el-act-pp" => {
            let least = row.text("num_micro_batches").trim_start_matches(">=").parse().unwrap();
            method::pipeline_activation_ratio(p(), least).into()
        }
        _ => return None,
    })
}
