//! Rows of Solenya's document.

use headroom::methods::distributed_overview;
use headroom::methods::solenya::{self as method, Precision};
use headroom::units::to_f64;

use super::{Computed, Row, Rows, optimizer};

pub fn compute(row: &Row, _rows: &Rows) -> Option<Computed> {
    per_parameter(row).or_else(|| counts(row)).or_else(|| activations(row))
}

fn per_parameter(row: &Row) -> Option<Computed> {
    let adam = || method::optimizer_bytes_per_parameter(optimizer("adamw"));
    Some(match row.id() {
        "so-fp32-params" => Precision::FP32.parameters.into(),
        "so-fp32-grads" => Precision::FP32.gradients.into(),
        "so-mixed-params" => Precision::MIXED.parameters.into(),
        "so-mixed-grads" => Precision::MIXED.gradients.into(),
        "so-mixed-total" => Precision::MIXED.with_optimizer(adam()?).into(),
        "so-mixed-increase" => Precision::MIXED.relative_to_fp32().into(),
        "so-adam" => adam()?.into(),
        "so-adam-8bit" => {
            let stated = method::optimizer_bytes_per_parameter(optimizer("adamw8"))?;
            assert_eq!(to_f64(stated).to_bits(), row.stated().to_bits());
            method::adam_8bit_bytes_with_two_moments().into()
        }
        "so-zero-activations" => {
            let stage = u8::try_from(row.u("zero_stage")).unwrap();
            method::zero_activation_divisor(stage, row.u("data_parallel_size")).into()
        }
        _ => return None,
    })
}

fn counts(row: &Row) -> Option<Computed> {
    let h = || row.u("hidden_size");
    Some(match row.id() {
        "so-dk" => method::key_dim(h(), row.u("num_attention_heads")).into(),
        "so-single-head-attn" => method::single_head_attention_parameters(h()).into(),
        "so-multi-head-attn" => method::attention_parameters(h()).into(),
        "so-layernorm" => (2 * method::norm_parameters(h())).into(),
        "so-fc" => method::mlp_parameters(h(), row.u("intermediate_size")).into(),
        "so-total-9h" => method::LAYER_VECTORS.iter().sum::<u64>().into(),
        "so-total-gpt2" | "so-total-ju-model" => method::num_parameters(
            &row.shape_with(1, row.u("max_position_embeddings")),
            row.u("vocab_size"),
        )
        .into(),
        "so-equals-13h" => {
            let layer = method::layer_parameters(h(), row.u("intermediate_size"));
            assert_eq!(layer, distributed_overview::layer_parameters(h()));
            layer.into()
        }
        _ => return None,
    })
}

fn activations(row: &Row) -> Option<Computed> {
    Some(match row.id() {
        // The guide takes its formula from the overview, so the coefficients are the overview's.
        "so-act-formula" => distributed_overview::LINEAR_PARTS.iter().sum::<u64>().into(),
        "so-act-formula-att" => distributed_overview::ATTENTION_PARTS.iter().sum::<u64>().into(),
        "so-act-gpt2" => method::activations(&row.shape("micro_batch_size")).into(),
        _ => return None,
    })
}
