//! Functions of single elements, each with the tensors that it saves for the backward pass.

use crate::ops::tape::state::Rule;

/// Which of its tensors a one-operand primitive saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Save {
    /// None.
    Nothing,
    /// Its operand.
    Input,
    /// Its result.
    Output,
}

/// How an elementwise function of one operand behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// Name of the operation in the ledger.
    pub name: &'static str,
    pub save: Save,
    /// The steps of backward; temporaries of its formula are all as large as the operand.
    pub rule: Rule,
    /// True if autocast runs the function in fp32 on GPUs (`AT_FORALL_FP32` and
    /// `AT_FORALL_FP32_SET_OPT_DTYPE` in `aten/src/ATen/autocast_mode.h`); the CPU's lists have
    /// none of these.
    pub in_fp32: bool,
}

pub(super) const fn function(name: &'static str, save: Save, temporaries: u8) -> Function {
    Function { name, save, rule: Rule::Unary { temporaries, elementwise: true }, in_fp32: false }
}

pub(super) const fn in_fp32(function: Function) -> Function {
    Function { in_fp32: true, ..function }
}

/// `x.pow(n)`: backward takes `x.pow(n - 1)` and its product with `n`.
pub(crate) const POWER: Function = in_fp32(function("power", Save::Input, 2));

/// `rsqrt(x)`: backward takes `result.pow(3)` and the scaled gradient.
pub(crate) const RSQRT: Function = in_fp32(function("reciprocal root", Save::Output, 2));

/// `sqrt(x)`: backward takes twice the result.
pub(crate) const ROOT: Function = function("root", Save::Output, 1);

/// `silu(x)`.
pub(crate) const SILU: Function = function("activation output", Save::Input, 0);

/// `gelu(x)`, exact or by tanh.
pub(crate) const GELU: Function = function("activation output", Save::Input, 0);

/// `relu(x)`.
pub(crate) const RELU: Function = function("activation output", Save::Output, 0);

/// `tanh(x)`.
pub(crate) const TANH: Function = function("tanh", Save::Output, 0);

/// `erf(x)`: backward takes the operand's square, its negative, its exponential and that scaled.
pub(crate) const ERF: Function = function("error function", Save::Input, 4);

/// `sigmoid(x)`.
pub(crate) const SIGMOID: Function = function("sigmoid", Save::Output, 0);

/// `logsigmoid(x)`; kernels of the CPU keep a second tensor, which the caller saves.
pub(crate) const LOG_SIGMOID: Function = function("logarithm of the sigmoid", Save::Input, 0);

/// `softplus(x)`.
pub(crate) const SOFTPLUS: Function = in_fp32(function("softplus", Save::Input, 0));

/// `expm1(x)`: backward takes `result + 1`.
pub(crate) const EXPM1: Function = in_fp32(function("exponential less 1", Save::Output, 1));

/// `softmax(x)`.
pub(crate) const SOFTMAX: Function =
    in_fp32(Function { rule: Rule::Softmax, ..function("probabilities", Save::Output, 0) });

/// `log_softmax(x)`.
pub(crate) const LOG_SOFTMAX: Function = in_fp32(function("log-probabilities", Save::Output, 0));

/// `x · constant`, `-x` and the like.
pub(crate) const SCALE: Function = function("scaled", Save::Nothing, 0);
