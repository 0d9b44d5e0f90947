//! Norms: as transformers writes them operator by operator, as one PyTorch operator, or as a fused
//! kernel.

use super::{Build, FP32};
use crate::config::{NormStyle, Normalization};
use crate::ops::tape::{Attends, Form, Order, POWER, Param, RSQRT, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// How a norm is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `LlamaRMSNorm`: fp32 inside, cast back, times the weight.
    Rms,
    /// One kernel that saves its input and one fp32 value per row.
    FusedRms,
    /// `torch.rms_norm` of an fp32 copy and a scale of another format: operator by operator, scaled
    /// in fp32, then cast back.
    Composite,
    /// `T5LayerNorm`: the input by statistics in fp32, cast to weights of 16 bits, times the
    /// weight.
    InputRms,
    /// `GptOssRMSNorm`, `Olmo2RMSNorm`: scaled in fp32, then cast back.
    WideRms,
    /// `NemotronHRMSNorm`: scaled in fp32 by a copy of the scale, then cast back.
    CopiedScale,
    /// `NanoChatRMSNorm`: fp32 inside, cast back, without a scale.
    Unscaled,
    /// `Gemma2RMSNorm`: all in fp32, scaled by one plus the weight.
    GemmaRms,
    /// `Gemma3nRMSNorm`: all in fp32, by a power of the mean square.
    PowerRms,
    /// `CohereLayerNorm`: mean and variance in fp32, operator by operator, and no bias.
    Cohere,
    /// `nn.LayerNorm`: saves its input, mean and deviation.
    Layer,
    /// `NemotronLayerNorm1P`: the same by one plus the weight, in 16 bits under autocast.
    LayerOfOnePlus,
    /// `layer_norm` of an fp32 copy without scale and bias, then cast back.
    LayerOfFp32,
}

/// A norm over the last dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Norm {
    style: Style,
    /// None in a norm without a scale.
    weight: Option<Param>,
    bias: Option<Param>,
    rows: Form,
    /// A fused norm's input gradient takes the place of its output's.
    over: bool,
    /// Its kernel reads copies of input and gradient, which lie in another order.
    copies: bool,
    /// No gradient comes back to it.
    alone: bool,
    /// `nn.LayerNorm` reads a part of a joint product, of which its kernel makes a copy.
    of_part: bool,
}

impl Norm {
    /// The model's norm over `width` columns; `rows` is the shape without them.
    pub fn new(build: &Build<'_>, width: Dim, rows: Form) -> Self {
        let layer = build.model().normalization == Normalization::LayerNorm;
        let modules = build.model().family.modules();
        let biased =
            layer && !modules.encoder.norms_without_bias && modules.norm != NormStyle::LayerOfFp32;
        Self::shaped(build, [width], biased, rows)
    }

    /// A norm whose scale has that shape.
    pub fn shaped<const N: usize>(
        build: &Build<'_>,
        dims: [Dim; N],
        bias: bool,
        rows: Form,
    ) -> Self {
        let layer = build.model().normalization == Normalization::LayerNorm;
        let style = match (layer, build.model().family.modules().norm, build.kernels().fuses_norms)
        {
            (true, NormStyle::LayerOfOnePlusScale, _) => Style::LayerOfOnePlus,
            (true, NormStyle::LayerOfFp32, _) => Style::LayerOfFp32,
            (true, ..) => Style::Layer,
            (false, ..) if build.kernels().is_own_model => Style::Composite,
            (false, NormStyle::MeanAndVariance, _) => Style::Cohere,
            (
                false,
                NormStyle::ScaledAfterCast
                | NormStyle::ScaledInFp32
                | NormStyle::ScaledByCopy
                | NormStyle::ScaledInput
                | NormStyle::OnePlusScale
                | NormStyle::ScaledByPower
                | NormStyle::LayerOfOnePlusScale
                | NormStyle::LayerOfFp32
                | NormStyle::Unscaled,
                true,
            ) => Style::FusedRms,
            (false, NormStyle::ScaledInput, false) => Style::InputRms,
            (false, NormStyle::Unscaled, false) => Style::Unscaled,
            (false, NormStyle::OnePlusScale, false) => Style::GemmaRms,
            (false, NormStyle::ScaledByPower, false) => Style::PowerRms,
            (false, NormStyle::ScaledInFp32, false) => Style::WideRms,
            (false, NormStyle::ScaledByCopy, false) => Style::CopiedScale,
            (
                false,
                NormStyle::ScaledAfterCast
                | NormStyle::LayerOfOnePlusScale
                | NormStyle::LayerOfFp32,
                false,
            ) => Style::Rms,
        };
        let scaled = style != Style::LayerOfFp32
            && (layer || build.model().family.modules().norm != NormStyle::Unscaled);
        let weight = scaled.then(|| build.parameter("scale", dims));
        let bias = bias.then(|| build.parameter("bias", dims));
        Self {
            over: build.kernels().writes_over,
            copies: build.shapes.exchange.leaves_order(),
            ..Self::plain(style, [weight, bias], rows)
        }
    }

    /// A norm with that scale and bias, to which nothing special happens.
    const fn plain(style: Style, [weight, bias]: [Option<Param>; 2], rows: Form) -> Self {
        Self { style, weight, bias, rows, over: false, copies: false, alone: false, of_part: false }
    }

    /// This norm, of parts that do not lie in one piece.
    pub const fn of_parts(self) -> Self {
        Self { of_part: true, ..self }
    }

    /// `nn.LayerNorm`, whatever the model's norms are.
    pub fn of_layers(build: &Build<'_>, width: Dim, rows: Form) -> Self {
        let (weight, bias) =
            (Some(build.parameter("scale", [width])), Some(build.parameter("bias", [width])));
        Self::plain(Style::Layer, [weight, bias], rows).alone()
    }

    /// This norm, whose backward writes over nothing: what is added to the residual stream has its
    /// gradient (Liger 0.8.5, `in_place=False` in `transformers/monkey_patch.py`).
    pub const fn anew(self) -> Self {
        Self { over: false, ..self }
    }

    /// The model's norm over `width` columns as the family writes it, whatever kernels there are:
    /// Liger leaves norms of queries and keys over all heads as they are.
    pub fn of_family(build: &Build<'_>, width: Dim, rows: Form) -> Self {
        let norm = Self::new(build, width, rows);
        let is_wide = build.model().family.modules().norm == NormStyle::ScaledInFp32;
        if norm.over && is_wide {
            Self { style: Style::WideRms, ..norm.anew() }
        } else {
            norm.anew()
        }
    }

    /// This norm, of which no gradient comes back.
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// A norm of a tower, whose parameters are declared: `nn.LayerNorm` where it has a bias, else
    /// as llama's.
    pub const fn of_tower(weight: Param, bias: Option<Param>, rows: Form) -> Self {
        let style = if bias.is_some() { Style::Layer } else { Style::Rms };
        Self::plain(style, [Some(weight), bias], rows)
    }

    /// A norm that is scaled by one plus the weight, in fp32.
    pub const fn one_plus(weight: Param, rows: Form) -> Self {
        Self::plain(Style::GemmaRms, [Some(weight), None], rows)
    }

    /// `nn.RMSNorm` without a scale: one kernel on GPUs, and operator by operator elsewhere.
    pub fn of_torch(build: &Build<'_>, rows: Form) -> Self {
        let style = if build.tape.is_cuda() { Style::FusedRms } else { Style::Composite };
        Self::plain(style, [None, None], rows)
    }

    /// Its scale and bias, as far as there are such.
    pub fn parameters(&self) -> impl Iterator<Item = Param> {
        self.weight.into_iter().chain(self.bias)
    }

    /// The model's RMS norm without a scale.
    pub fn unscaled(build: &Build<'_>, rows: Form) -> Self {
        let style = match build.model().family.modules().norm {
            NormStyle::ScaledByPower => Style::PowerRms,
            _ => Style::Unscaled,
        };
        Self::plain(style, [None, None], rows)
    }

    /// A norm without a scale that raises the mean to a power, whatever the model's other norms do.
    pub const fn by_power(rows: Form) -> Self {
        Self::plain(Style::PowerRms, [None, None], rows)
    }

    /// The norm of embedded tokens.
    pub fn of_embedded(build: &Build<'_>, width: Dim) -> Self {
        build.tape.at("Embedding norm", sources::PYTORCH_AUTOGRAD);
        let unscaled = build.model().family.modules().unscaled_norms;
        if unscaled {
            Self::by_power(build.shapes.rows)
        } else {
            Self::new(build, width, build.shapes.rows)
        }
    }

    /// The norm behind the blocks: as [`Self::by_power`], with a scale, in models whose norms
    /// without one are such.
    pub fn last(build: &Build<'_>) -> Self {
        let norm = Self::new(build, build.with.h(), build.shapes.rows);
        if build.model().family.modules().unscaled_norms {
            Self { style: Style::PowerRms, ..norm }
        } else {
            norm
        }
    }

    /// The normed tensor.
    pub fn run<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let weight = self.weight.map(|weight| self.read(x, weight));
        match (self.style, weight) {
            (Style::FusedRms, weight) => self.fused(x, weight.as_ref()),
            (Style::PowerRms, weight) => self.power(x, weight),
            (Style::Composite, weight) => self.composite(x, weight),
            (Style::LayerOfFp32, _) => {
                let wide = x.clone().cast_as(FP32, "norm input in fp32");
                let normed = self.layer(&{ wide }, None, None);
                normed.cast_as(x.dtype(), "norm output")
            }
            (Style::Unscaled, _) | (_, None) => self.without_scale(x),
            (Style::Rms, Some(weight)) => self.rms(x, weight),
            (Style::InputRms, Some(weight)) => self.of_input(x, weight),
            (Style::WideRms, Some(weight)) => self.wide(x, |_| weight),
            (Style::CopiedScale, Some(weight)) => {
                self.wide(x, |_| weight.cast_as(FP32, "scale in fp32"))
            }
            (Style::GemmaRms, Some(weight)) => self.gemma(x, weight),
            (Style::Cohere, Some(weight)) => self.cohere(x, weight),
            (Style::Layer, Some(weight)) => {
                let bias = self.bias.map(|bias| self.read(x, bias).for_function_in_fp32());
                let x = x.clone().for_function_in_fp32();
                self.layer(&x, Some(&weight.for_function_in_fp32()), bias.as_ref())
            }
            (Style::LayerOfOnePlus, Some(weight)) => {
                let scale = weight.plus().named("one plus scale");
                let x = x.clone().for_product();
                let scale = scale.for_product();
                let bias = self.bias.map(|bias| self.read(&x, bias).for_product());
                self.layer(&x, Some(&scale), bias.as_ref())
            }
        }
    }

    fn read<'t>(&self, x: &Var<'t>, param: Param) -> Var<'t> {
        let read = x.tape().read(param);
        if self.alone { read.detached() } else { read }
    }

    fn rms<'t>(&self, x: &Var<'t>, weight: Var<'t>) -> Var<'t> {
        let format = x.dtype();
        let hidden = x.clone().cast_as(FP32, "norm input in fp32");
        let variance = hidden.clone().apply(POWER).reduce(self.rows);
        let normed = hidden.mul(variance.clone().plus().apply(RSQRT).named("norm statistics"));
        weight.mul(normed.clone().cast_as(format, "unscaled norm output")).named("norm output")
    }

    fn of_input<'t>(&self, x: &Var<'t>, weight: Var<'t>) -> Var<'t> {
        let variance = x.clone().cast_as(FP32, "norm input in fp32").apply(POWER).reduce(self.rows);
        let mut normed =
            x.clone().mul(variance.clone().plus().apply(RSQRT).named("norm statistics"));
        if weight.dtype() != FP32 {
            normed = { normed }.cast_as(weight.dtype(), "unscaled norm output");
        }
        drop(variance);
        weight.mul(normed.clone()).named("norm output")
    }

    fn composite<'t>(&self, x: &Var<'t>, weight: Option<Var<'t>>) -> Var<'t> {
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let statistics =
            wide.clone().apply(POWER).reduce(self.rows).apply(RSQRT).named("norm statistics");
        let normed = wide.clone().mul(statistics.clone()).named("unscaled norm output");
        let scaled = match weight {
            Some(weight) => normed.clone().mul(weight),
            None => normed.clone(),
        };
        drop((normed, statistics, wide));
        scaled.cast_as(x.dtype(), "norm output")
    }

    fn without_scale<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let statistics = wide
            .clone()
            .apply(POWER)
            .reduce(self.rows)
            .plus()
            .apply(RSQRT)
            .named("norm statistics");
        let normed = wide.clone().mul(statistics);
        drop(wide);
        normed.cast_as(x.dtype(), "norm output")
    }

    /// The scale is read, or copied, when the input is normed.
    fn wide<'t>(&self, x: &Var<'t>, weight: impl FnOnce(&Var<'t>) -> Var<'t>) -> Var<'t> {
        let hidden = x.clone().cast_as(FP32, "norm input in fp32");
        let variance = hidden.clone().apply(POWER).reduce(self.rows);
        let normed = hidden
            .mul(variance.clone().plus().apply(RSQRT).named("norm statistics"))
            .named("unscaled norm output");
        weight(&normed).mul(normed.clone()).cast_as(x.dtype(), "norm output")
    }

    fn power<'t>(&self, x: &Var<'t>, weight: Option<Var<'t>>) -> Var<'t> {
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let square = wide.clone().apply(POWER).reduce(self.rows).plus().named("norm statistics");
        let mut normed = wide
            .clone()
            .mul(square.clone().apply(POWER).named("norm statistics"))
            .named("unscaled norm output");
        drop((wide, square));
        if let Some(weight) = weight {
            normed = normed.clone().mul(weight.cast_as(FP32, "scale in fp32"));
        }
        normed.cast_as(x.dtype(), "norm output")
    }

    fn gemma<'t>(&self, x: &Var<'t>, weight: Var<'t>) -> Var<'t> {
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let statistics = wide
            .clone()
            .apply(POWER)
            .reduce(self.rows)
            .plus()
            .apply(RSQRT)
            .named("norm statistics");
        let normed = wide.clone().mul(statistics).named("unscaled norm output");
        drop(wide);
        let scale = weight.cast(FP32).plus().named("one plus scale");
        let output = normed.mul(scale);
        output.cast_as(x.dtype(), "norm output")
    }

    fn cohere<'t>(&self, x: &Var<'t>, weight: Var<'t>) -> Var<'t> {
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let mean = wide.clone().reduce(self.rows);
        let variance = wide.clone().sub(mean.clone()).apply(POWER).reduce(self.rows);
        let centred = wide.clone().sub(mean.clone()).named("centred norm input");
        let normed = centred
            .mul(variance.clone().plus().apply(RSQRT).named("norm statistics"))
            .named("unscaled norm output");
        drop(wide);
        let output = weight.cast(FP32).mul(normed);
        output.clone().cast_as(x.dtype(), "norm output")
    }

    fn fused<'t>(&self, x: &Var<'t>, weight: Option<&Var<'t>>) -> Var<'t> {
        if self.over {
            return x.tape().norm_in_place(x, weight, self.rows);
        }
        if self.copies {
            return x.tape().norm_of_copy(x, weight, self.rows);
        }
        let results = [("norm statistics", self.rows, FP32), ("norm output", x.form(), x.dtype())];
        let run = |operands: &[&Var<'t>]| {
            x.tape().kernel(operands, &results, 1, (x.order(), false, Attends::No))
        };
        weight.map_or_else(|| run(&[x]), |weight| run(&[x, weight]))
    }

    /// Autocast runs it in fp32 on GPUs (`AT_FORALL_FP32` in `aten/src/ATen/autocast_mode.h`):
    /// copies of operands of 16 bits are saved in their place.
    fn layer<'t>(&self, x: &Var<'t>, weight: Option<&Var<'t>>, bias: Option<&Var<'t>>) -> Var<'t> {
        // Mean and deviation have the input's format on CPUs, and that of their sums on GPUs
        // (`aten/src/ATen/native/cuda/layer_norm_kernel.cu`, `acc_type`).
        let (format, rows) = (x.dtype(), if x.tape().is_cuda() { FP32 } else { x.dtype() });
        let results = [
            ("norm output", x.form(), format),
            ("mean", self.rows, rows),
            ("deviation", self.rows, rows),
        ];
        let operands: Vec<&Var<'t>> = [Some(x), weight, bias].into_iter().flatten().collect();
        if self.of_part {
            return x.tape().kernel_of_part(&operands, &results);
        }
        x.tape().kernel(&operands, &results, 0, (Order::Plain, false, Attends::No))
    }
}
