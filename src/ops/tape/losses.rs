//! Losses of the next token.
#![expect(
    clippy::needless_pass_by_value,
    reason = "an operand lives until its operator has run, as a temporary does in Python"
)]

use super::formulas::wants;
use super::state::{Grad, NONE, Node, Operand, Rule, State};
use super::{Form, Order, Tape, Var};
use crate::ops::work::{Behind, Collective};
use crate::units::DType;

/// The tile in which a head's product is made anew wherever it is needed, and the operands of one
/// where they are cast for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// `[tokens, columns]`, `[tokens, h]` and `[columns, h]`.
    pub logits: Form,
    pub input: Form,
    pub weight: Form,
    /// The format of the product.
    pub format: DType,
}

/// Shapes beside head and loss in one kernel. Locks and the order of words are whole numbers of
/// four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadAndLoss {
    /// One number for each token that has a label.
    pub tokens: Form,
    /// One number for each word.
    pub words: Form,
    /// Locks of tokens in forward, and of tokens and of words by 64 columns in backward.
    pub locks: [Form; 3],
    /// All logits, of which none is written.
    pub logits: Form,
}

impl Var<'_> {
    /// In fp32 where autocast casts the operand of a loss to it, as it does on every device.
    pub fn for_loss(self) -> Self {
        let casts = self.tape.state.borrow().autocast.is_some();
        if casts { self.cast(DType::Fp32) } else { self }
    }
}

impl Tape {
    /// Head and loss in one kernel (Cut Cross-Entropy, `LinearCrossEntropyFunction.forward`):
    /// operands, one number per token and the mean logit of every word are saved. `valids` says
    /// which tokens count.
    pub fn cut<'t>(
        &'t self,
        operands: [&Var<'t>; 2],
        (cut, scalar): (HeadAndLoss, Form),
        valids: &Var<'t>,
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        let [hidden, weight] = operands.map(Var::operand);
        state.count_weights(cut.logits, weight.form);
        state.loss_without_logits([hidden, weight], [hidden, weight].map(wants));
        let sums = state.allocate("log-sum-exp", cut.tokens, DType::Fp32);
        let locks = state.allocate("locks of a kernel", cut.locks[0], DType::Fp32);
        let means = state.allocate("mean logits", cut.words, DType::Fp32);
        state.release(locks);
        let losses = state.allocate("loss of each token", cut.tokens, DType::Fp32);
        let loss = state.allocate("loss", scalar, DType::Fp32);
        let node = state.node(Rule::HeadAndLoss(cut), [hidden, weight, Operand::NOTHING]);
        for storage in
            operands.iter().map(|operand| operand.storage).chain([sums, valids.storage, means])
        {
            state.save(node, storage);
        }
        for storage in [sums, means, losses] {
            state.release(storage);
        }
        drop(state);
        Var::made(self, loss, scalar, DType::Fp32, node)
    }

    /// Log-probabilities of labels by tiles of logits, of which nothing stays: operands and two
    /// numbers per token are saved, and backward adds both gradients up in fp32 (TRL 1.16,
    /// `kernels/chunked_logprob.py`).
    pub fn by_tiles<'t>(
        &'t self,
        operands: [&Var<'t>; 2],
        (numbers, logits): (Form, Form),
        (tile, labels): (Tile, &Var<'t>),
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        let [hidden, weight] = operands.map(Var::operand);
        state.count_weights(logits, weight.form);
        state.loss_in_chunks([hidden, weight], tile.logits, [hidden, weight].map(wants));
        let statistics =
            [(); 7].map(|()| state.allocate("statistics of logits", numbers, DType::Fp32));
        let held = state.tile([hidden, weight], tile);
        state.multiply_with_workspace(false);
        for storage in held {
            state.release(storage);
        }
        let node = state.node(Rule::Tiled(tile), [hidden, weight, Operand::NOTHING]);
        for operand in operands {
            state.save(node, operand.storage);
        }
        state.save(node, labels.storage);
        for name in ["log-sum-exp", "entropy"] {
            let numbers = state.allocate(name, numbers, DType::Fp32);
            state.save(node, numbers);
            state.release(numbers);
        }
        let chosen = state.allocate("log-probabilities of labels", numbers, DType::Fp32);
        for storage in statistics {
            state.release(storage);
        }
        drop(state);
        Var::made(self, chosen, numbers, DType::Fp32, node)
    }

    /// Cross-entropy of a rank's columns of fp32 logits, of which the largest, the sum of
    /// exponentials and that of the label come from all ranks: log-probabilities are saved
    /// (torchtitan 0.3.0, `_LossParallelCrossEntropy` in `components/loss.py`).
    pub fn loss_of_columns<'t>(
        &'t self,
        logits: Var<'t>,
        labels: Var<'t>,
        (rows, scalar): (Form, Form),
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        let (form, wide) = (logits.form, DType::Fp32);
        for _ in ["largest logit", "sum of exponentials", "log-probability of the label"] {
            state.send(Collective::AllReduce, (rows, wide), false, Behind::Nothing);
        }
        let largest = state.allocate("largest logits", rows, wide);
        let shifted = state.allocate("logits less the largest", form, wide);
        let exponentials = state.allocate("exponentials", form, wide);
        let sums = state.allocate("sums of exponentials", rows, wide);
        state.release(exponentials);
        let log_probabilities = state.allocate("log-probabilities", form, wide);
        // Zeros with 1 less at the label, exponentials, their sum, and that times the gradient.
        let rule = Rule::Script(&[1, 2, 3, -2, 4, -3, -1]);
        let node = state.node(rule, [logits.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, log_probabilities);
        state.save(node, labels.storage);
        let loss = state.allocate("loss", scalar, wide);
        for storage in [largest, shifted, sums, log_probabilities] {
            state.release(storage);
        }
        drop(state);
        Var::made(self, loss, scalar, wide, node)
    }

    /// Negative log-likelihood of log-probabilities: a scalar and its weight; backward is as large
    /// as the operand.
    pub fn nll_loss<'t>(
        &'t self,
        log_probabilities: Var<'t>,
        labels: Var<'t>,
        scalar: Form,
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        let rule = Rule::Unary { temporaries: 0, elementwise: false };
        let node =
            state.node(rule, [log_probabilities.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, log_probabilities.storage);
        state.save(node, labels.storage);
        let format = log_probabilities.dtype();
        let loss = state.allocate("loss", scalar, format);
        let weight = state.allocate("loss weight", scalar, format);
        state.save(node, weight);
        state.release(weight);
        drop(state);
        Var::made(self, loss, scalar, format, node)
    }

    /// A product with a weight and its loss, in chunks of that shape, whose gradients were made
    /// before: that of the operand is handed on; those of the weight have gone their own way.
    pub fn prepared_beside<'t>(
        &'t self,
        operands: [&Var<'t>; 2],
        gradient: Var<'t>,
        (scalar, chunk, logits): (Form, Form, Form),
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        state.count_weights(logits, operands[1].form);
        state.loss_in_chunks(operands.map(Var::operand), chunk, [true; 2]);
        let node =
            state.node(Rule::Saved, [operands[0].operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, gradient.storage);
        let loss = state.allocate("loss", scalar, DType::Fp32);
        drop(state);
        Var::made(self, loss, scalar, DType::Fp32, node)
    }

    /// A product with a weight and its loss, in chunks of that shape, whose gradients were made in
    /// forward: they are what is saved, and what backward hands on.
    pub fn prepared<'t>(
        &'t self,
        operands: [&Var<'t>; 2],
        gradients: [Option<Var<'t>>; 2],
        (scalar, chunk, logits): (Form, Form, Form),
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        state.count_weights(logits, operands[1].form);
        state.loss_in_chunks(
            operands.map(Var::operand),
            chunk,
            gradients.each_ref().map(Option::is_some),
        );
        let node = state
            .node(Rule::Saved, [operands[0].operand(), operands[1].operand(), Operand::NOTHING]);
        for gradient in gradients.iter().flatten() {
            state.save(node, gradient.storage);
        }
        let loss = state.allocate("loss", scalar, DType::Fp32);
        drop(state);
        Var::made(self, loss, scalar, DType::Fp32, node)
    }
}

impl State {
    /// A tile of logits, and casts of operands that are in another format.
    fn tile(&mut self, operands: [Operand; 2], tile: Tile) -> [u32; 3] {
        let logits = self.allocate("logits of a tile", tile.logits, tile.format);
        let [input, weight] =
            [(operands[0], tile.input), (operands[1], tile.weight)].map(|(operand, form)| {
                if operand.dtype == tile.format {
                    NONE
                } else {
                    self.allocate("cast operand of a tile", form, tile.format)
                }
            });
        [logits, input, weight]
    }

    /// Gradients of both operands in their own formats, made by one kernel that goes over the words
    /// in the order of their mean logits (Cut Cross-Entropy, `sort_logit_avg` and
    /// `cce_backward_kernel`).
    pub(super) fn cut_back(&mut self, node: &Node, cut: HeadAndLoss) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let sorted = [DType::Fp32, DType::Int64]
            .map(|dtype| self.allocate("sorted mean logits", cut.words, dtype));
        let order = self.allocate("order of words", cut.words, DType::Fp32);
        for storage in sorted {
            self.release(storage);
        }
        let made = [a, b].map(|operand| {
            wants(operand).then(|| self.fresh((operand.form, operand.dtype), Order::Plain))
        });
        let [_, tokens, words] = cut.locks;
        let locks = [(tokens, a), (words, b)].map(|(form, operand)| {
            if wants(operand) {
                self.allocate("locks of a kernel", form, DType::Fp32)
            } else {
                NONE
            }
        });
        for storage in [order, locks[0], locks[1]] {
            self.release(storage);
        }
        [made[0], made[1], None]
    }

    /// Gradients of both operands, added up in fp32 and then cast.
    pub(super) fn tiles_back(&mut self, node: &Node, tile: Tile) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let sums = [a, b].map(|operand| {
            wants(operand).then(|| self.fresh((operand.form, DType::Fp32), Order::Plain))
        });
        let held = self.tile([a, b], tile);
        self.multiply_with_workspace(false);
        let made = [(a, sums[0]), (b, sums[1])].map(|(operand, sum)| {
            sum.map(|sum| {
                if operand.dtype == DType::Fp32 {
                    sum
                } else {
                    self.fresh((operand.form, operand.dtype), Order::Plain)
                }
            })
        });
        for (sum, made) in sums.into_iter().zip(&made) {
            let own = sum.filter(|sum| made.is_some_and(|made| made.storage != sum.storage));
            self.release(own.map_or(NONE, |sum| sum.storage));
        }
        for storage in held {
            self.release(storage);
        }
        [made[0], made[1], None]
    }
}
