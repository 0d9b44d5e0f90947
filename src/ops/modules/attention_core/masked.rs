//! The memory-efficient kernel with a mask, which PyTorch takes where a mask goes along (2.15,
//! `scaled_dot_product_attention` and `_efficient_attention_forward` in
//! `aten/src/ATen/native/transformers`; transformers 5.23, `integrations/sdpa_attention.py`).

use super::Core;
use crate::ops::modules::{Build, FP32, keys};
use crate::ops::tape::{Attends, Form, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Keys up to whose multiple biases of scores are padded (`mem_eff_alignment`).
const KEYS: u64 = 8;

/// Widths of a value head up to which the kernel keeps its output in registers; above, it adds up
/// an fp32 copy (`kKeepOutputInRF` in `mem_eff_attention/kernel_forward.h`).
const IN_REGISTERS: u64 = 128;

/// Shapes of the biases of one layer, and of those that are padded.
pub(super) fn biases(build: &Build<'_>) -> [Form; 2] {
    let (with, seen) = (build.with, keys(build.with));
    let padded = if build.tape.plays_tiles() { seen.1.next_multiple_of(KEYS) } else { seen.1 };
    let one = Dim("heads alike", 1);
    [seen.1, padded].map(|seen| build.tape.form([with.b(), one, with.s(), Dim("keys", seen)]))
}

impl Core {
    /// Keys and values of every query head, and biases of scores made of the mask, of which each
    /// layer makes and saves its own.
    pub(super) fn masked<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let k = self.repeated(k, self.shapes.repeated[0]);
        let v = self.repeated(v, self.shapes.repeated[1]);
        let (v, k, q) = (v.for_product(), k.for_product(), q.clone().for_product());
        let values =
            [(); 2].map(|()| tape.constant("value of a bias", self.shapes.scalar, q.dtype()));
        let mut biases = tape.constant("biases of scores", self.biases[0], q.dtype());
        drop(values);
        if self.biases[0] != self.biases[1] {
            biases = tape.constant("biases of scores", self.biases[1], q.dtype());
        }
        let numbers = |name| (name, self.random[1], DType::Int64);
        let results = [
            numbers("seed of dropout"),
            numbers("dropout offset"),
            ("attention output", self.output[0], q.dtype()),
            ("log-sum-exp", self.padded, FP32),
        ];
        let output =
            tape.kernel(&[&q, &k, &v], &results, 2, (self.order, true, Attends::Efficient));
        if q.dtype() != FP32 && tape.last_dim(self.output[0]).1 > IN_REGISTERS {
            drop(tape.constant("attention output in fp32", self.output[0], FP32));
        }
        output.also_saves(&biases);
        output.merge(self.output[1], self.several_heads)
    }
}
