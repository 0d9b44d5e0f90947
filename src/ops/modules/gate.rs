//! Parts between attention's core and its output projection (transformers 5.23): a gate from a
//! matrix of its own (`models/{afmoe,laguna}`), a difference of heads (`models/diffllama`), a norm
//! (`models/bitnet`).

use super::attention_core::Core;
use super::differential::Differential;
use super::norm::Norm;
use super::{Build, FP32, Linear, Part, Tables};
use crate::config::AttentionGate;
use crate::ops::tape::{Form, SIGMOID, SOFTPLUS, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// The gate, difference or norm between the core and the output projection; `None` where the model
/// has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    gate: Option<Gate>,
    differential: Option<Differential>,
    last_norm: Option<Norm>,
}

impl Behind {
    /// Declares the parts that the model's modules have there.
    pub fn new(build: &Build<'_>) -> Self {
        let (with, modules) = (build.with, build.model().family.modules());
        let (heads, value) = (with.own_heads(), with.value_dim());
        let columns = Dim(heads.0, heads.1.saturating_mul(value.1));
        Self {
            gate: Gate::new(build),
            differential: modules.differential.then(|| Differential::new(build)),
            last_norm: modules
                .norms_before_last_products
                .then(|| Norm::new(build, columns, build.shapes.rows)),
        }
    }

    /// The gate's numbers, where they are made beside queries, keys and values.
    pub fn beside<'t>(&self, x: &Var<'t>) -> Option<Var<'t>> {
        self.gate.as_ref().and_then(|gate| gate.beside(x))
    }

    /// The core's output, or a difference of its outputs.
    pub fn attended<'t>(
        &self,
        core: &Core,
        qkv: (&Var<'t>, &Var<'t>, &Var<'t>),
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        match &self.differential {
            Some(differential) => differential.run(core, qkv, tables),
            None => core.run(qkv, tables),
        }
    }

    /// The output, gated if there is a gate.
    pub fn gated<'t>(&self, x: &Var<'t>, output: Var<'t>, beside: Option<&Var<'t>>) -> Var<'t> {
        match &self.gate {
            Some(gate) => gate.run(x, output, beside),
            None => output,
        }
    }

    /// The output, normed if there is a norm.
    pub fn normed<'t>(&self, output: Var<'t>) -> Var<'t> {
        match &self.last_norm {
            Some(norm) => norm.run(&output),
            None => output,
        }
    }
}

/// The gate's matrix and shapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    gates: Linear,
    kind: AttentionGate,
    /// `[b, s, a, d]`, `[b, s, a, 1]` and `[b, s, a · d]`.
    forms: [Form; 3],
}

impl Gate {
    /// The gate that the model's modules have, if any.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, tape) = (build.with, build.tape);
        let (heads, value) = (with.own_heads(), with.value_dim());
        let columns = Dim("columns of all heads", heads.1.saturating_mul(value.1));
        let kind = build.model().family.modules().gate;
        let output = match kind {
            AttentionGate::None | AttentionGate::WithLatentQueries => return None,
            AttentionGate::OfColumns => columns,
            AttentionGate::OfHeads
            | AttentionGate::SigmoidOfHeads
            | AttentionGate::SigmoidOfHeadsInFp32 => heads,
        };
        tape.at("Gate of attention", sources::PYTORCH_AUTOGRAD);
        let form = tape.form([with.b(), with.s(), output]);
        let gates = build.column(Part::Attention, ("gate weight", None), (output, with.h()), form);
        let forms = [
            tape.form([with.b(), with.s(), heads, value]),
            tape.form([with.b(), with.s(), heads, Dim("gate", 1)]),
            tape.form([with.b(), with.s(), columns]),
        ];
        Some(Self { gates, kind, forms })
    }

    /// The gate's numbers, where they are made beside queries, keys and values: they are there
    /// until the module ends.
    fn beside<'t>(&self, x: &Var<'t>) -> Option<Var<'t>> {
        (self.kind == AttentionGate::OfColumns).then(|| self.made(x))
    }

    fn made<'t>(&self, x: &Var<'t>) -> Var<'t> {
        x.tape().at("Gate of attention", sources::PYTORCH_AUTOGRAD);
        self.gates.run(x).named("gates of attention")
    }

    /// The core's output, gated.
    pub fn run<'t>(&self, x: &Var<'t>, output: Var<'t>, beside: Option<&Var<'t>>) -> Var<'t> {
        let [of_heads, of_gates, of_columns] = self.forms;
        x.tape().at("Gate of attention", sources::PYTORCH_AUTOGRAD);
        if let Some(gates) = beside {
            return output.mul(gates.clone().apply(SIGMOID)).named("gated attention output");
        }
        let gates = self.made(x);
        let gates = match self.kind {
            AttentionGate::SigmoidOfHeads => gates.apply(SIGMOID),
            AttentionGate::SigmoidOfHeadsInFp32 => {
                gates.cast_as(FP32, "gates in fp32").apply(SIGMOID).cast(x.dtype())
            }
            AttentionGate::None
            | AttentionGate::OfColumns
            | AttentionGate::WithLatentQueries
            | AttentionGate::OfHeads => {
                gates.cast_as(FP32, "gates in fp32").apply(SOFTPLUS).cast(output.dtype())
            }
        };
        let gated = output.view(of_heads).mul(gates.view(of_gates)).named("gated attention output");
        gated.view(of_columns)
    }
}
