//! The stacks whose memory is a list: serving engines, and what Korthikanti et al. 2022 write down
//! that forward saves for backward.
//!
//! Both run the modules that training runs on the tape ([`super::record`]). What they hold is read
//! off the products of that run, in the shapes that the modules gave them: results are worked with,
//! and what a product reads is saved. In training a working tensor stands for the gradient of its
//! shape in backward.
//!
//! Modules hold other memory on the tape, so that a list is *modelled*:
//! - a half of a block lets go of nothing before it ends, where an engine frees gate and up once
//!   they are multiplied;
//! - norms, rotation, activation functions and residual sums take nothing, since engines run them
//!   in place, and save their input alone;
//! - queries, keys and values lie side by side and are cut evenly over tensor-parallel ranks, also
//!   where these outnumber key heads;
//! - every token of a chunk that goes through experts is copied for each expert of it, also where a
//!   kernel gathers rows as it reads;
//! - the papers' block is a row: attention, then feed-forward, with the norms that
//!   `norms_per_block` counts around them and what each reads, also where a family runs both on one
//!   input (GPT-NeoX) or has its norms elsewhere (OLMo 2).

use super::builder::Lowering;
use super::modules::{CROSS, CROSSES, Shapes};
use super::record::split;
use super::tape::{Form, LayerProduct, Tape};
use super::tensor::{Dim, Kept, Op, Role, Tensor};
use crate::config::{AttentionKernel, Feed, Keys, LayerKind, MlpKind, TowerSize};
use crate::sources::{ARITHMETIC, FLASH_ATTENTION_2022, FUSED_KERNELS, KORTHIKANTI_2022, Source};
use crate::units::DType;

/// A part of the model that is listed, from the products that its modules ran.
pub(super) struct Listed<'a> {
    tape: &'a Tape,
    with: &'a Lowering<'a>,
    shapes: Shapes,
    products: &'a [LayerProduct],
    ops: Vec<Op>,
}

impl<'a> Listed<'a> {
    pub fn new(
        tape: &'a Tape,
        with: &'a Lowering<'a>,
        (shapes, products): (Shapes, &'a [LayerProduct]),
    ) -> Self {
        Self { tape, with, shapes, products, ops: Vec::with_capacity(10) }
    }

    /// Begins an operation, to which everything from now on belongs.
    fn at(&mut self, name: &'static str, source: Source) {
        self.ops.push(Op { name, source, ..Op::NONE });
    }

    fn add(&mut self, name: &'static str, role: Role, (form, dtype): (Form, DType), kept: Kept) {
        let shape = self.tape.state().shape(form);
        let split = split(&shape, role, self.with);
        if let Some(op) = self.ops.last_mut() {
            op.tensors.push(Tensor { name, role, shape, dtype, split, kept });
        }
    }

    /// Works with a tensor until this part of the model ends.
    fn takes(&mut self, name: &'static str, form: Form, dtype: DType) {
        self.add(name, Role::Workspace, (form, dtype), Kept::Always);
    }

    /// Saves a tensor for backward, if one follows.
    fn saves_as(&mut self, name: &'static str, form: Form, dtype: DType, kept: Kept) {
        if self.with.training {
            self.add(name, Role::Saved, (form, dtype), kept);
        }
    }

    /// Saves an activation of a block.
    fn saves(&mut self, name: &'static str, form: Form) {
        self.saves_as(name, form, self.with.activation, Kept::Block);
    }

    /// Works with a tensor that is saved too, if backward follows.
    fn holds(&mut self, name: &'static str, form: Form) {
        self.saves(name, form);
        self.takes(name, form, self.with.activation);
    }

    /// The products of that operation.
    fn products(&self, op: &'static str) -> impl Iterator<Item = LayerProduct> + use<'a> {
        self.products.iter().filter(move |product| product.op == op).copied()
    }

    /// Results side by side in one tensor.
    fn joined(&self, name: &'static str, forms: impl Iterator<Item = Form>) -> Form {
        let columns = |form| {
            self.tape
                .state()
                .shape(form)
                .dims()
                .skip(2)
                .fold(1, |columns: u64, dim| columns.saturating_mul(dim.1))
        };
        let columns = forms.map(columns).fold(0, u64::saturating_add);
        self.tape.form([self.with.b(), self.with.s(), Dim(name, columns)])
    }

    /// Where norms and head are described.
    const fn source(&self) -> Source {
        if self.with.training { KORTHIKANTI_2022 } else { FUSED_KERNELS }
    }

    /// A norm of that number in the block, which saves its input; the first reads what is saved
    /// already, the block's input.
    fn norm(&mut self, number: u64, name: &'static str, input: Option<&'static str>) {
        if self.with.model.norms_per_block >= number {
            self.at(name, self.source());
            if let Some(input) = input {
                self.saves(input, self.shapes.hidden);
            }
        }
    }

    /// Token embedding, learned positions, and a norm where the model has one.
    pub fn embedding(mut self) -> Vec<Op> {
        let Shapes { tokens, hidden, .. } = self.shapes;
        self.at("Embedding", KORTHIKANTI_2022);
        self.saves_as("token ids", tokens, DType::Int64, Kept::Always);
        self.saves_as("embedding dropout mask", hidden, DType::Mask, Kept::Always);
        if self.with.model.embedding_norm {
            self.at("Embedding norm", self.source());
            self.saves_as("embedded tokens", hidden, self.with.activation, Kept::Always);
        }
        self.ops
    }

    /// Tensors that a vision tower works with over the images of one prompt: the larger half of one
    /// of its blocks, beside patches and pixels.
    pub fn with_images(mut self, mut before: Vec<Op>) -> Vec<Op> {
        let (images, activation) = (self.with.images, self.with.activation);
        let Some((tower, seen)) =
            self.with.model.tower.as_ref().and_then(|tower| Some((tower, tower.seen(images)?)))
        else {
            return before;
        };
        let (count, size) =
            (Dim("images", images.per_sequence.saturating_mul(seen.tiles)), |size: TowerSize| {
                Dim(size.name(), tower.sizes.get(size))
            });
        let rows = Dim("patches", seen.rows);
        let wide = |width| self.tape.form([count, rows, width]);
        let [width, height] = seen.pixels;
        let pixels = self.tape.form([
            count,
            size(TowerSize::Channels),
            Dim("height", height),
            Dim("width", width),
        ]);
        let (hidden, inner) = (wide(size(TowerSize::Hidden)), wide(size(TowerSize::Inner)));
        let scores =
            self.tape.form([count, size(TowerSize::Heads), rows, Dim("patches seen", rows.1)]);
        self.at("Vision tower", FUSED_KERNELS);
        self.takes("pixels", pixels, activation);
        self.takes("patches", hidden, activation);
        let elements = |form| self.tape.elements(form);
        let writes = self.with.attention == AttentionKernel::Standard
            && elements(scores) * 2 > elements(inner).saturating_mul(2);
        if writes {
            for name in ["queries", "keys", "values"] {
                self.takes(name, hidden, activation);
            }
            self.takes("scores", scores, DType::Fp32);
        } else {
            for name in ["activation input", "down input"] {
                self.takes(name, inner, activation);
            }
        }
        self.takes("block output", hidden, activation);
        before.extend(self.ops);
        before
    }

    /// The operations of a block, and how many come before the first residual sum.
    pub fn block(mut self, kind: LayerKind) -> (Vec<Op>, usize) {
        self.first_half(kind);
        let first_half = self.ops.len();
        self.streams();
        if kind.feed != Feed::None {
            self.norm(2, "Post-attention norm", Some("attention residual"));
            if kind.feed == Feed::Experts {
                self.experts();
            } else {
                self.dense();
            }
            self.norm(4, "Norm behind feed-forward", Some("feed-forward output"));
        }
        (self.ops, first_half)
    }

    /// From the block's input to the first residual sum: attention, a state, or both side by side.
    fn first_half(&mut self, kind: LayerKind) {
        if self.with.training {
            // The block's input is saved in any case, as the checkpoint under full recomputation.
            self.at("Block input", KORTHIKANTI_2022);
            self.saves_as(
                "block input",
                self.shapes.hidden,
                self.with.activation,
                Kept::BlockInput,
            );
        }
        self.streams();
        if kind.mixer || kind.keys != Keys::None {
            self.norm(1, "Input norm", None);
        }
        let state = [
            ("Projection into the state", "made for the state"),
            ("Projection out of the state", "projected output"),
        ];
        for (op, name) in state {
            for LayerProduct { source, to, .. } in self.products(op) {
                self.at(op, source);
                self.takes(name, to, self.with.activation);
            }
        }
        if kind.keys != Keys::None {
            self.attention();
        }
        self.across();
        self.norm(3, "Norm behind attention", Some("projected output"));
    }

    /// Beside a half of a block of several streams: those that it begins with and those that it
    /// makes, and the inputs of all layers, which live through the whole step.
    fn streams(&mut self) {
        let (Some(altup), with) = (self.with.model.altup(), self.with) else { return };
        self.at("Streams", ARITHMETIC);
        let streams = self.tape.form([
            Dim("altup_num_inputs", altup.num_inputs),
            with.b(),
            with.s(),
            with.h(),
        ]);
        self.takes("streams", streams, with.activation);
        self.takes("streams of the half", streams, with.activation);
        let layers = Dim("num_hidden_layers", with.model.num_hidden_layers);
        let width = Dim("hidden_size_per_layer_input", altup.hidden_size_per_layer_input);
        self.takes(
            "inputs of all layers",
            self.tape.form([with.b(), with.s(), layers, width]),
            with.activation,
        );
    }

    /// From projections to output, which a dropout mask follows.
    fn attention(&mut self) {
        if self.with.model.mla.is_some() {
            self.latent();
        } else {
            let projections = self.products("Query, key and value projection");
            self.at("Query, key and value projection", KORTHIKANTI_2022);
            self.saves("projection input", self.shapes.hidden);
            let joint = self.joined("q+k+v width", projections.map(|product| product.to));
            self.takes("queries, keys and values", joint, self.with.activation);
        }
        if self.with.model.qk_norm {
            self.query_and_key_norm();
        }
        match self.with.attention {
            AttentionKernel::Standard => self.standard_core(),
            AttentionKernel::Flash => self.flash_core(),
        }
        self.at("Output projection", KORTHIKANTI_2022);
        for LayerProduct { from, to, .. } in self.products("Output projection") {
            self.saves("attention output", from);
            self.saves_as("output dropout mask", to, DType::Mask, Kept::Block);
            self.takes("projected output", to, self.with.activation);
        }
    }

    /// Served attention to an encoder's states, which are there until their keys and values are
    /// cached.
    fn across(&mut self) {
        let (activation, [project, output]) = (self.with.activation, CROSS);
        let products: Vec<_> = self.products(project).collect();
        let Some(states) = products.last().filter(|_| !self.with.training) else { return };
        self.at(project, FUSED_KERNELS);
        self.takes("states of the encoder", states.from, activation);
        for product in &products {
            self.takes("queries, keys and values", product.to, activation);
        }
        if self.with.attention == AttentionKernel::Standard {
            let (b, heads, s) = (self.with.b(), self.with.own_heads(), self.with.s());
            self.at(CROSSES[1], FUSED_KERNELS);
            let scores =
                self.tape.form([b, heads, s, Dim("source_length", self.with.source_length)]);
            self.takes("scores", scores, DType::Fp32);
        }
        self.at(output, FUSED_KERNELS);
        for product in self.products(output) {
            self.takes("projected output", product.to, activation);
        }
    }

    /// Queries, keys and values from narrow projections with a norm each; their results before and
    /// after the norm are saved. Values are as wide as the attention's output.
    fn latent(&mut self) {
        self.at("Latent projections down", ARITHMETIC);
        let narrow = [
            ("Latent query projection", "compressed queries"),
            ("Latent key and value projection", "compressed keys and values"),
        ];
        for (op, name) in narrow {
            for (down, up) in self.products(op).zip(self.products(op).skip(1)) {
                self.saves(name, down.to);
                self.saves("normed", up.from);
            }
        }
        self.saves("projection input", self.shapes.hidden);
        self.at("Latent projections up", ARITHMETIC);
        let wide = self
            .products("Latent query projection")
            .last()
            .into_iter()
            .flat_map(|queries| [queries.to; 2]);
        let joint = self.joined(
            "q+k+v width",
            wide.chain(self.products("Output projection").map(|output| output.from)),
        );
        self.takes("queries, keys and values", joint, self.with.activation);
    }

    /// Norms over queries and keys: inputs and one fp32 value per head and token are saved.
    fn query_and_key_norm(&mut self) {
        let Shapes { queries, keys, statistics, .. } = self.shapes;
        let of_keys = self.tape.form([self.with.b(), self.with.kv_heads(), self.with.s()]);
        self.at("Query and key norm", FUSED_KERNELS);
        self.saves("unnormed queries", queries);
        self.saves_as("query norm statistic", statistics, DType::Fp32, Kept::Block);
        self.saves("unnormed keys", keys);
        self.saves_as("key norm statistic", of_keys, DType::Fp32, Kept::Block);
    }

    /// `FlashAttention`: no scores in memory; queries, keys, values, output and one fp32
    /// log-sum-exp per query and head are saved.
    fn flash_core(&mut self) {
        let Shapes { queries, keys, values, statistics, .. } = self.shapes;
        self.at("Attention core (FlashAttention)", FLASH_ATTENTION_2022);
        self.saves("queries", queries);
        self.saves("keys", keys);
        self.saves("values", values);
        self.saves_as("log-sum-exp", statistics, DType::Fp32, Kept::Block);
    }

    /// Scores, softmax, dropout and values, with scores written to memory.
    ///
    /// In the list of Korthikanti et al. probabilities, dropout mask and dropout output take
    /// `5·a·s²·b` bytes in 16 bit. Served, the scores stand in fp32.
    fn standard_core(&mut self) {
        let (Shapes { queries, keys, values, scores, .. }, core) =
            (self.shapes, Kept::AttentionCore);
        self.at("Scores", KORTHIKANTI_2022);
        self.saves("queries", queries);
        self.saves("keys", keys);
        if self.with.training {
            self.at("Softmax", KORTHIKANTI_2022);
            self.saves_as("probabilities", scores, self.with.activation, core);
            self.at("Attention dropout", KORTHIKANTI_2022);
            self.saves_as("attention dropout mask", scores, DType::Mask, core);
        } else {
            self.takes("scores", scores, DType::Fp32);
        }
        self.at("Attention over values", KORTHIKANTI_2022);
        self.saves_as("probabilities after dropout", scores, self.with.activation, core);
        self.saves("values", values);
    }

    /// Up (and gate) projection with its activation function, whose input is saved (gate and up in
    /// a gated layer), and down projection, which a dropout mask follows.
    fn dense(&mut self) {
        let up: &[_] = match self.with.model.mlp {
            MlpKind::Gated => &["gate output", "up output"],
            MlpKind::Plain => &["activation input"],
        };
        for LayerProduct { from, to, .. } in self.products("Feed-forward down") {
            self.at("Feed-forward up", KORTHIKANTI_2022);
            for name in up {
                self.holds(name, from);
            }
            self.saves("feed-forward input", self.shapes.hidden);
            self.at("Feed-forward down", KORTHIKANTI_2022);
            self.holds("down input", from);
            self.saves_as("feed-forward dropout mask", to, DType::Mask, Kept::Block);
            self.takes("block output", to, self.with.activation);
        }
    }

    /// The router with scores in fp32, what the tokens of all routed experts need, and the experts
    /// that every token goes through.
    fn experts(&mut self) {
        self.at("Router", ARITHMETIC);
        for LayerProduct { from, to, .. } in self.products("Router") {
            self.saves("feed-forward input", from);
            self.saves_as("router probabilities", to, DType::Fp32, Kept::Block);
            self.takes("router scores", to, DType::Fp32);
        }
        self.at("Experts", ARITHMETIC);
        for LayerProduct { from, to, .. } in self.products("Experts up") {
            self.holds("tokens of each expert", from);
            self.holds("gate and up outputs", to);
        }
        for LayerProduct { from, .. } in self.products("Experts down") {
            self.holds("down inputs", from);
        }
        for LayerProduct { from, .. } in self.products("Shared experts down") {
            self.at("Shared experts", ARITHMETIC);
            let up = self.joined(
                "gate and up",
                self.products("Shared experts up").map(|product| product.to),
            );
            self.holds("shared gate and up outputs", up);
            self.saves("shared down input", from);
        }
    }

    /// Final norm, output head and loss.
    ///
    /// Served, logits are in fp32 for sampling. The paper's loss saves head input and fp32 logits,
    /// whose 16-bit gradient is workspace of the loss's backward.
    pub fn head(mut self) -> Vec<Op> {
        let (Shapes { hidden, logits, .. }, activation) = (self.shapes, self.with.activation);
        if self.with.model.final_norm {
            self.at("Final norm", self.source());
            self.saves_as("final norm input", hidden, activation, Kept::Always);
        }
        self.at("Output head and loss", self.source());
        if self.with.training {
            self.saves_as("head input", hidden, activation, Kept::Always);
            self.saves_as("logits", logits, DType::Fp32, Kept::Always);
            self.takes("gradient of logits", logits, activation);
        } else {
            self.takes("logits", logits, DType::Fp32);
        }
        self.ops
    }
}
