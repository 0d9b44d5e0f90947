//! Tensors that fine-tuning puts beside and into linear layers: low-rank adapters (peft 0.21,
//! `tuners/lora/layer.py` and `variants.py`) and frozen weights of four bits (bitsandbytes,
//! `nn/modules.py` and `autograd/_functions.py`).

use std::cell::RefCell;
use std::rc::Rc;

use super::{Build, Linear};
use crate::config::{BaseFormat, Method, Targets};
use crate::ops::tape::{Factors, Form, Packed, Param, SCALE, Tape, Unpacks, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// Values that share a scale.
const VALUES_PER_SCALE: u64 = 64;
/// Scales that share a scale of their own under double quantisation.
const SCALES_PER_SCALE: u64 = 256;
/// The values that four bits stand for.
const CODES: u64 = 16;

/// A low-rank adapter beside a linear layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adapter {
    down: Param,
    up: Param,
    /// DoRA's magnitude of every output column.
    magnitude: Option<Magnitude>,
    dtype: DType,
    /// True if the adapter's output is added to the frozen layer's without peft's copy of the
    /// latter.
    plain: bool,
    dropout: bool,
    /// `[b, s, r]`.
    narrow: Form,
}

/// DoRA's magnitude, and the shapes of the tensors it is compared with.
#[derive(Clone, Copy, Debug)]
struct Magnitude {
    param: Param,
    /// `[output]`.
    column: Form,
    /// `[output, input]`.
    weight: Form,
    /// `[input, input]` and `[input, r]`: the product of both matrices is made as forward makes it.
    eye: [Form; 2],
    /// FLOPs of both products that make it.
    flops: f64,
}

/// Which layers of `target_modules` a weight's name stands for. Only `nn.Linear` is a target, which
/// most routers and all experts of transformers are not; peft spares the head, and a new one for
/// scores learns as it is.
fn role(build: &Build<'_>, name: &str) -> Targets {
    match name {
        "head weight" | "score weight" => Targets::NONE,
        "router weight" if !build.model().family.modules().experts.router_is_linear => {
            Targets::NONE
        }
        // Queries that are compressed first have another name (`q_b_proj`).
        "query weight" if compresses_queries(build) => Targets::QUERY_UP,
        "query weight" => Targets::QUERY,
        "key weight" => Targets::KEY,
        "value weight" => Targets::VALUE,
        "query, key and value weight" => Targets::QUERY.and(Targets::KEY).and(Targets::VALUE),
        "output weight" => Targets::OUTPUT,
        "gate weight" => Targets::GATE,
        "up weight" => Targets::UP,
        "gate and up weight" => Targets::GATE.and(Targets::UP),
        "down weight" => Targets::DOWN,
        "query down weight" => Targets::QUERY_DOWN,
        "key and value down weight" => Targets::KEY_VALUE_DOWN,
        "key and value weight" => Targets::KEY_VALUE_UP,
        "shared expert gate weight" => Targets::SHARED_GATE,
        _ => Targets::OTHERS,
    }
}

/// True if queries are made of narrow ones.
fn compresses_queries(build: &Build<'_>) -> bool {
    let model = build.model();
    model.compressed.is_some() || model.mla.as_ref().is_some_and(|mla| mla.q_lora_rank.is_some())
}

/// True if peft takes the name of a linear layer for that of the experts' matrix or the router's
/// parameter: dense and shared layers, and a router that is a linear layer, then have no adapter.
fn belongs_to_experts(build: &Build<'_>, name: &str, targets: Targets) -> bool {
    let inner = Targets::GATE.and(Targets::UP).and(Targets::DOWN);
    let model = build.model();
    model.moe.is_some()
        && model.family.modules().peft_finds_experts
        && (targets.meets(inner) || name == "router weight")
}

impl Adapter {
    /// The adapter of the weight of that name, if it has one.
    pub fn new(build: &Build<'_>, name: &'static str, (output, input): (Dim, Dim)) -> Option<Self> {
        let tuning = build.with.tuning;
        if !tuning.method.adapts_linears() {
            return None;
        }
        let targets = role(build, name);
        let is_target =
            targets.meets(tuning.target_modules) && !belongs_to_experts(build, name, targets);
        is_target.then(|| Self::made(build, (output, input)))
    }

    /// Declares the adapter of a linear layer whose weight is read without the layer: it learns
    /// nothing.
    fn unused(build: &Build<'_>, name: &'static str, dims: (Dim, Dim)) {
        let Some(adapter) = Self::new(build, name, dims) else { return };
        for param in [adapter.down, adapter.up]
            .into_iter()
            .chain(adapter.magnitude.map(|magnitude| magnitude.param))
        {
            build.tape.idle(param);
        }
    }

    fn made(build: &Build<'_>, (output, input): (Dim, Dim)) -> Self {
        let (with, tape, tuning) = (build.with, build.tape, build.with.tuning);
        let frozen = tape.freeze(false);
        let dtype = tuning.adapter_dtype.unwrap_or(with.parameter);
        let r = Dim("r", tuning.r);
        let parameter = |name, dims: [Dim; 2]| tape.parameter(name, tape.form(dims), dtype);
        let (down, up) = (parameter("adapter A", [r, input]), parameter("adapter B", [output, r]));
        let magnitude = (tuning.method == Method::Dora).then(|| {
            let column = tape.form([output]);
            let eye = [Dim("identity", input.1), r].map(|columns| tape.form([input, columns]));
            Magnitude {
                param: tape.parameter("adapter magnitude", column, dtype),
                column,
                weight: tape.form([output, input]),
                eye,
                flops: 2.0 * to_f64(r.1) * to_f64(input.1) * (to_f64(input.1) + to_f64(output.1)),
            }
        });
        tape.freeze(frozen);
        let narrow = tape.form([with.b(), with.s(), r]);
        Self {
            down,
            up,
            magnitude,
            dtype,
            plain: build.kernels().is_own_model,
            dropout: tuning.dropout,
            narrow,
        }
    }

    /// `result + lora_B(lora_A(dropout(x))) · scaling`, in the format of `result`.
    pub fn run<'t>(&self, x: &Var<'t>, result: Var<'t>, base: &Linear) -> Var<'t> {
        let tape = x.tape();
        let before = tape.multiplies(Factors::Adapter);
        let output = self.beside(x, result, base);
        tape.multiplies(before);
        output
    }

    fn beside<'t>(&self, x: &Var<'t>, result: Var<'t>, base: &Linear) -> Var<'t> {
        let dtype = result.dtype();
        let packed = base.packed.is_some();
        // peft's `Linear4bit` copies the frozen layer's output, `Linear8bitLt` does not; both leave
        // casts to autocast.
        let copies = base.packed.is_some_and(|packed| packed.unpacks != Unpacks::Never);
        let result = if copies && !self.plain {
            result.copy().named("copy of the base output")
        } else {
            result
        };
        let x = if packed && base.autocast {
            x.clone()
        } else {
            x.clone().cast_as(self.dtype, "adapter input")
        };
        if let Some(magnitude) = &self.magnitude {
            return self.scaled(&x, result, (magnitude, base)).cast_as(dtype, "adapted output");
        }
        let input = if self.dropout { x.clone().dropped() } else { x.clone() };
        let mut added = self.product(input, result.form()).apply(SCALE).named("adapter output");
        if packed {
            if !base.autocast {
                added = added.cast_as(dtype, "adapter output");
            }
            return result.add(added.clone()).named("adapted output");
        }
        result.add(added).named("adapted output").cast_as(dtype, "adapted output")
    }

    fn product<'t>(&self, x: Var<'t>, output: Form) -> Var<'t> {
        let low = x.linear(self.down, None, self.narrow).named("adapter's narrow output");
        low.linear(self.up, None, output)
    }
}

/// The weight of a linear layer that this program reads by itself, or that no gradient reaches: its
/// adapter has no part in that.
pub(super) fn unread_linear(build: &Build<'_>, name: &'static str, dims: (Dim, Dim)) -> Param {
    let weight = build.parameter(name, [dims.0, dims.1]);
    Adapter::unused(build, name, dims);
    weight
}

/// `DoraLinearLayer`: the norm of every column of the adapted weight, and the adapted output scaled
/// by magnitude over norm.
impl Adapter {
    fn scaled<'t>(
        &self,
        x: &Var<'t>,
        result: Var<'t>,
        (magnitude, base): (&Magnitude, &Linear),
    ) -> Var<'t> {
        let tape = x.tape();
        let x = if self.dropout { x.clone().dropped() } else { x.clone() };
        let form = result.form();
        // The product of both matrices, by their forward on an identity matrix; its graph goes with
        // it.
        tape.count(Factors::Alone, magnitude.flops);
        let eye = tape.constant("identity", magnitude.eye[0], self.dtype);
        let narrow = tape.constant("narrow identity", magnitude.eye[1], self.dtype);
        let product = tape.constant("product of the adapter", magnitude.weight, self.dtype);
        let weight = base.whole(tape).cast_as(x.dtype(), "weight in the adapter's format");
        let norm = {
            let scaled =
                tape.constant("scaled product of the adapter", magnitude.weight, self.dtype);
            let _sum = tape.constant("adapted weight", magnitude.weight, x.dtype());
            drop(scaled);
            tape.constant("norm of columns", magnitude.column, x.dtype())
        };
        let scale = tape.read(magnitude.param).over(&norm);
        let added = self.product(x.clone(), form);
        let plain = if self.dropout {
            // The frozen weight's product once more.
            let before = tape.multiplies(Factors::Weights);
            let plain = x.clone().linear_by(&weight, form);
            tape.multiplies(before);
            plain
        } else if let Some(bias) = base.bias {
            result.clone().sub(tape.read(bias))
        } else {
            result.clone()
        };
        let kept = scale.clone().plus().mul(plain);
        let dora = kept.add(scale.mul(added).apply(SCALE));
        drop((eye, narrow, product, weight, norm));
        result.add(dora)
    }
}

/// Declares the weight of that name in fewer bits, if fine-tuning keeps it so.
pub(super) fn quantised(
    build: &Build<'_>,
    name: &'static str,
    dims: (Dim, Dim),
) -> Option<(Param, Packed)> {
    let tuning = build.with.tuning;
    let is_so = tuning.packs_weights() && role(build, name) != Targets::NONE;
    is_so.then(|| match tuning.base {
        BaseFormat::Int8 => in_eight_bits(build, name, dims),
        BaseFormat::Weights | BaseFormat::Nf4 | BaseFormat::Nf4Double => {
            in_four_bits(build, name, [dims.0, dims.1])
        }
    })
}

/// Declares experts' weights of that name in four bits, if fine-tuning keeps them so.
pub(super) fn quantised_experts(
    build: &Build<'_>,
    name: &'static str,
    dims: [Dim; 3],
) -> Option<(Param, Packed)> {
    let tuning = build.with.tuning;
    let is_so = tuning.packs_weights() && tuning.packs_experts;
    is_so.then(|| in_four_bits(build, name, dims))
}

/// One byte for each value, and a scale for each output column (`Int8Params._quantize`).
fn in_eight_bits(build: &Build<'_>, name: &'static str, dims: (Dim, Dim)) -> (Param, Packed) {
    let tape = build.tape;
    let whole = tape.form([dims.0, dims.1]);
    let weight = tape.parameter(name, whole, DType::Int8);
    let scales = tape.form([dims.0]);
    tape.beside_weights("scales of columns", scales, DType::Fp32);
    let (dtype, unpacks) = (build.with.parameter, Unpacks::Never);
    (weight, Packed { whole, dtype, scales: Some(scales), unpacks })
}

fn in_four_bits<const N: usize>(
    build: &Build<'_>,
    name: &'static str,
    dims: [Dim; N],
) -> (Param, Packed) {
    let (with, tape, base) = (build.with, build.tape, build.with.tuning.base);
    let whole = tape.form(dims);
    let weight = tape.parameter(name, whole, DType::Int4);
    let values = dims.iter().fold(1_u64, |all, dim| all.saturating_mul(dim.1));
    let scales = values.div_ceil(VALUES_PER_SCALE);
    let beside = |name, count: u64, dtype| {
        tape.beside_weights(name, tape.form([Dim(name, count)]), dtype);
    };
    let double = base == BaseFormat::Nf4Double;
    beside("codes", CODES, DType::Fp32);
    beside("scales", scales, if double { DType::Int8 } else { DType::Fp32 });
    if double {
        beside("scales of scales", scales.div_ceil(SCALES_PER_SCALE), DType::Fp32);
        beside("offset", 1, DType::Fp32);
    }
    let scales = double.then(|| tape.form([Dim("scales", scales)]));
    // `bnb_4bit_compute_dtype`: everyone sets the 16 bits that the model is run in.
    let dtype =
        if with.autocast || with.tuning.upcasts_rest() { DType::Bf16 } else { with.parameter };
    let unpacks = if build.kernels().is_own_model { Unpacks::ByIndex } else { Unpacks::ByKernel };
    (weight, Packed { whole, dtype, scales, unpacks })
}

/// Embedded tokens that learn and stand before every text (peft 0.21,
/// `tuners/prompt_tuning/model.py` and `peft_model.py`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt {
    table: Param,
    /// `[b, n, h]` of these, and `[b, s, h]` of the text.
    tokens: Form,
    pub text: Form,
    ids: Form,
}

impl Prompt {
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, tape, tuning) = (build.with, build.tape, build.with.tuning);
        if tuning.method != Method::Prompt {
            return None;
        }
        let n = Dim("num_virtual_tokens", tuning.num_virtual_tokens);
        let frozen = tape.freeze(false);
        let dtype = tuning.adapter_dtype.unwrap_or(with.parameter);
        let table = tape.parameter("prompt embedding", tape.form([n, with.h()]), dtype);
        tape.freeze(frozen);
        let text = tape.form([with.b(), super::text(with), with.h()]);
        Some(Self { table, tokens: tape.form([with.b(), n, with.h()]), text, ids: tape.form([n]) })
    }

    /// The learned tokens and the text side by side; what peft's `forward` holds goes to `held`.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        text: Var<'t>,
        forms: (Form, Form),
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        held.push(tape.constant("labels with those of learned tokens", forms.1, DType::Int64));
        let ids = tape.constant("places of learned tokens", self.ids, DType::Int64);
        let prompts =
            tape.embedding(ids, self.table, self.tokens).cast_as(text.dtype(), "learned tokens");
        held.push(prompts.clone());
        prompts.cat(text, forms.0).named("embedded tokens")
    }
}

/// The keys and values of a layer that its cache holds: the learned ones, with those of the text
/// once attention has run.
#[derive(Debug)]
pub(crate) struct Past<'t> {
    cache: RefCell<(Var<'t>, Var<'t>)>,
    /// `[b, k, n + s, d]`.
    joined: Form,
}

impl<'t> Past<'t> {
    /// `DynamicLayer.update`: what the cache holds and the keys and values of the text, side by
    /// side; the cache holds these then.
    pub fn update(&self, (k, v): (Var<'t>, Var<'t>)) -> (Var<'t>, Var<'t>) {
        let mut cache = self.cache.borrow_mut();
        cache.0 = cache.0.clone().cat(k.clone(), self.joined).named("keys");
        cache.1 = cache.1.clone().cat(v.clone(), self.joined).named("values");
        cache.clone()
    }
}

/// Keys and values that learn (peft 0.21, `tuners/prefix_tuning/model.py` and `get_prompt` of
/// `peft_model.py`): one row of a table for every token holds those of all layers, and
/// transformers' `DynamicCache` a copy of each layer's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    table: Param,
    layers: u16,
    dtype: DType,
    ids: Form,
    /// `[b, n, 2 · layers · k · d]`, `[2, b, k, n · d]` of a layer, and `[b, k, n, d]` of its keys
    /// or values.
    forms: [Form; 3],
    /// `[b, k, n + s, d]`.
    joined: Form,
}

impl Prefix {
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, tape, tuning) = (build.with, build.tape, build.with.tuning);
        if tuning.method != Method::Prefix {
            return None;
        }
        let (b, n, kv, d) = (
            with.b(),
            Dim("num_virtual_tokens", tuning.num_virtual_tokens),
            with.own_kv_heads(),
            with.head_dim(),
        );
        let layers = build.model().num_hidden_layers;
        let columns = Dim(
            "keys and values of all layers",
            kv.1.saturating_mul(d.1).saturating_mul(2).saturating_mul(layers),
        );
        let frozen = tape.freeze(false);
        let dtype = tuning.adapter_dtype.unwrap_or(with.parameter);
        let table = tape.parameter("learned keys and values", tape.form([n, columns]), dtype);
        tape.freeze(frozen);
        let own = Dim("num_virtual_tokens · head_dim", n.1.saturating_mul(d.1));
        let pair = tape.form([Dim("keys and values", 2), b, kv, own]);
        let forms = [tape.form([b, n, columns]), pair, tape.form([b, kv, n, d])];
        let joined = tape.form([b, kv, super::keys(with), d]);
        let ids = tape.form([n]);
        Some(Self {
            table,
            layers: u16::try_from(layers).unwrap_or(u16::MAX),
            dtype: with.parameter,
            ids,
            forms,
            joined,
        })
    }

    /// The cache of every layer before the model runs.
    pub fn run<'t>(&self, tape: &'t Tape) -> Vec<Rc<Past<'t>>> {
        tape.at("Learned keys and values", sources::PEFT);
        let [all, pair, one] = self.forms;
        let ids = tape.constant("places of learned keys and values", self.ids, DType::Int64);
        let whole = tape.embedding(ids, self.table, all).named("learned keys and values");
        // Backward brings the transposed gradient back into the table's order.
        let whole = whole.cast_as(self.dtype, "learned keys and values").slice(all);
        let cached = |layer: Var<'t>| {
            let mut both = layer
                .slice(pair)
                .parts_alike(one, 2)
                .into_iter()
                .map(|part| part.copy().named("learned keys and values"));
            both.next().zip(both.next())
        };
        let parts = whole.parts_alike(pair, self.layers);
        parts
            .into_iter()
            .filter_map(cached)
            .map(|both| Rc::new(Past { cache: RefCell::new(both), joined: self.joined }))
            .collect()
    }
}
