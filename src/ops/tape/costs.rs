//! What primitives cost in time as they run: products, bytes read and written, messages. Sizes are those of operands and results, so
//! that no module says them.
//!
//! Every tensor that is taken was written by one kernel, which has read the operands of its node: in backward the gradient that has come
//! and one saved tensor. Views cost nothing.

use super::state::{NONE, Node, Operand, Rule, State, as_leaf, at, bytes_of};
use super::{Form, Tape};
use crate::ops::work::{Behind, Collective, Core, Cost, Exchange, Group, Operands, Product, Work};
use crate::units::DType;

/// Bytes that a loss in chunks reads and writes for each logit of 16 bit: twice read, once overwritten with its gradient.
const BYTES_OF_A_LOGIT: u64 = 6;

/// Where a cost comes from: its operation and its layer.
type Place = (u16, u16);

/// The costs of a run, and what the next kernel reads.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    pub all: Vec<(Place, Cost)>,
    /// Whether backward runs.
    backward: bool,
    /// Bytes that the kernel of the next tensor reads.
    next: u64,
    /// Bytes that every kernel of the formula at hand reads.
    each: u64,
    /// Products of the formula at hand: of the first operand's gradient and of the second's.
    products: Option<[Product; 2]>,
    /// Pairs of query and key that are not masked, of one head, and tokens of a text.
    sight: (u64, u64),
    /// No kernel of its own takes what is taken now.
    silent: bool,
}

impl Tape {
    /// From here on costs are recorded; `sight`: pairs of query and key that one head sees, and tokens of a text.
    pub fn record_costs(&self, sight: (u64, u64)) {
        self.state.borrow_mut().costs = Some(Box::new(Costs { sight, ..Costs::default() }));
    }

    /// What follows is backward.
    pub fn costs_of_backward(&self) {
        if let Some(costs) = &mut self.state.borrow_mut().costs {
            costs.backward = true;
        }
    }
}

impl State {
    /// All that was recorded.
    pub fn costs(&self) -> &[(Place, Cost)] {
        self.costs.as_ref().map_or(&[], |costs| &costs.all)
    }

    fn size(&self, form: Form, dtype: DType) -> u64 {
        bytes_of(self.elements(form), dtype)
    }

    fn last(&self, form: Form, skip: usize) -> u64 {
        let Some((shape, _)) = self.forms.get(usize::from(form)) else { return 1 };
        let count = shape.dims().count();
        count.checked_sub(skip + 1).and_then(|at| shape.dims().nth(at)).map_or(1, |dim| dim.1)
    }

    fn spend(&mut self, work: Work) {
        let backward = self.costs.as_ref().is_some_and(|costs| costs.backward);
        self.spend_in(backward, work);
    }

    fn spend_in(&mut self, backward: bool, work: Work) {
        let place = (self.op, self.layer);
        if let Some(costs) = &mut self.costs {
            costs.all.push((place, Cost { backward, work }));
        }
    }

    /// A message of a tensor of that shape among tensor-parallel ranks.
    pub(super) fn send(&mut self, collective: Collective, (form, dtype): (Form, DType), backward: bool, behind: Behind) {
        let bytes = self.size(form, dtype);
        self.spend_in(backward, Work::Exchange(Exchange { collective, group: Group::Tensor, bytes, behind }));
    }

    /// The kernel of the next tensor reads these.
    pub(super) fn reads(&mut self, operands: &[Operand]) {
        if self.costs.is_none() {
            return;
        }
        let bytes = operands.iter().map(|operand| self.size(operand.form, operand.dtype)).sum();
        if let Some(costs) = &mut self.costs {
            costs.next = bytes;
        }
    }

    /// A view was made: nothing is read.
    pub(super) fn reads_nothing(&mut self) {
        if let Some(costs) = &mut self.costs {
            costs.next = 0;
        }
    }

    /// The next kernel reads so many tensors of that shape.
    pub(super) fn reads_alike(&mut self, count: u64, (form, dtype): (Form, DType)) {
        if self.costs.is_some() {
            let bytes = self.size(form, dtype).saturating_mul(count);
            if let Some(costs) = &mut self.costs {
                (costs.next, costs.each) = (bytes, 0);
            }
        }
    }

    /// A tensor was taken.
    pub(super) fn wrote(&mut self, bytes: u64) {
        let Some(costs) = &mut self.costs else { return };
        if costs.silent {
            return;
        }
        let read = std::mem::take(&mut costs.next).saturating_add(costs.each);
        self.stream(read.saturating_add(bytes));
    }

    fn stream(&mut self, bytes: u64) {
        self.spend(Work::Stream { bytes, kernels: 1 });
    }

    /// In place: operands are read, and the first is written.
    pub(super) fn in_place(&mut self) {
        if let Some(costs) = &mut self.costs {
            let bytes = std::mem::take(&mut costs.next);
            self.stream(bytes);
        }
    }

    /// What is taken now belongs to a kernel that was counted; how it was before.
    pub(super) fn silent(&mut self, silent: bool) {
        if let Some(costs) = &mut self.costs {
            costs.silent = silent;
            costs.next = 0;
        }
    }

    /// The product of rows with a weight, of each expert's rows with its own.
    pub(super) fn linear_product(&self, x: Form, weight: Form) -> Product {
        let (depth, columns) = (self.last(weight, 0), self.last(weight, 1));
        let count = (self.elements(weight) / depth.saturating_mul(columns).max(1)).max(1);
        let rows = (self.elements(x) / depth.max(1)).div_ceil(count);
        Product { count, at_once: count, rows, columns, depth, of: Operands::Weight, narrow: true }
    }

    /// The product of two activations, for each head and sequence.
    pub(super) fn batched_product(&self, a: Form, result: Form) -> Product {
        let (depth, rows, columns) = (self.last(a, 0), self.last(a, 1), self.last(result, 0));
        let count = (self.elements(a) / depth.saturating_mul(rows).max(1)).max(1);
        Product { count, at_once: count, rows, columns, depth, of: Operands::Activations, narrow: false }
    }

    /// A kernel written by hand has run: attention where it multiplies, otherwise one that streams.
    pub(super) fn kernel_ran(&mut self, operands: &[Operand], results: &[(Form, DType)], attends: bool) {
        if self.costs.is_none() {
            return;
        }
        if attends {
            self.spend(Work::Core(self.core(operands)));
            return;
        }
        let read: u64 = operands.iter().map(|operand| self.size(operand.form, operand.dtype)).sum();
        let written: u64 = results.iter().map(|(form, dtype)| self.size(*form, *dtype)).sum();
        self.stream(read.saturating_add(written));
    }

    fn core(&self, operands: &[Operand]) -> Core {
        let form = |at: usize| operands.get(at).map_or(0, |operand| operand.form);
        let (queries, query_width, value_width) = (self.last(form(0), 1), self.last(form(0), 0), self.last(form(2), 0));
        let heads = self.elements(form(0)) / queries.saturating_mul(query_width).max(1);
        let (pairs, seq_length) = self.costs.as_ref().map_or((0, 0), |costs| costs.sight);
        Core { heads, pairs, queries, seq_length, query_width, value_width }
    }

    /// Before the formula of a node: what its kernels read and multiply.
    pub(super) fn before_formula(&mut self, node: &Node, grad: (Form, DType)) {
        if self.costs.is_none() {
            return;
        }
        let [a, b, _] = node.operands;
        let products = match node.rule {
            Rule::Linear { gathered, .. } => Some(self.linear_product(gathered.unwrap_or(a.form), b.form)),
            Rule::Packed(packed) => Some(self.linear_product(a.form, packed.whole)),
            Rule::Matmul { .. } => Some(self.batched_product(a.form, grad.0)),
            _ => None,
        };
        let first = node.saved.iter().take(usize::from(node.saves)).find_map(|saved| self.storages.get(at(*saved)));
        let saved = first.map_or(0, |storage| storage.bytes);
        let incoming = self.size(grad.0, grad.1);
        let kernel = matches!(node.rule, Rule::Kernel { .. });
        let exchanged = matches!(node.rule, Rule::Exchanged(_));
        if kernel {
            self.kernel_backward(node, incoming);
        }
        let Some(costs) = &mut self.costs else { return };
        costs.products = products.as_ref().map(Product::backward);
        (costs.next, costs.silent) = (0, kernel || exchanged);
        costs.each = incoming.saturating_add(saved);
    }

    fn kernel_backward(&mut self, node: &Node, incoming: u64) {
        if node.flops > 0.0 {
            self.spend(Work::Core(self.core(&node.operands)));
            return;
        }
        let saved = node.saved.iter().take(usize::from(node.saves)).filter_map(|saved| self.storages.get(at(*saved)));
        let saved: u64 = saved.map(|storage| storage.bytes).sum();
        let made = node.operands.iter().filter(|operand| operand.node != NONE && as_leaf(operand.node).is_none());
        let made: u64 = made.map(|operand| self.size(operand.form, operand.dtype)).sum();
        self.stream(incoming.saturating_add(saved).saturating_add(made));
    }

    /// After it.
    pub(super) fn after_formula(&mut self) {
        if let Some(costs) = &mut self.costs {
            (costs.next, costs.each, costs.products, costs.silent) = (0, 0, None, false);
        }
    }

    /// The product of one operand's gradient runs.
    pub(super) fn multiplied_back(&mut self, slot: usize) {
        let Some(costs) = &mut self.costs else { return };
        let Some(product) = costs.products.and_then(|products| products.get(slot).copied()) else { return };
        costs.silent = true;
        self.spend(Work::Product(product));
    }

    /// A product with a weight runs; its result is taken next. Under sequence parallelism its input is gathered first, in backward again,
    /// and its input's gradient is scattered.
    pub(super) fn multiply(&mut self, (x, weight): (Form, Form), gathered: Option<(Form, DType)>) {
        if self.costs.is_none() {
            return;
        }
        if let Some(whole) = gathered {
            self.send(Collective::AllGather, whole, false, Behind::Products);
            self.send(Collective::ReduceScatter, whole, true, Behind::WeightGradient);
            self.send(Collective::AllGather, whole, true, Behind::WeightGradient);
        }
        let product = self.linear_product(x, weight);
        self.spend(Work::Product(product));
        self.silent(true);
    }

    /// A product of two activations runs; its result is taken next.
    pub(super) fn attend(&mut self, a: Form, result: Form) {
        if self.costs.is_none() {
            return;
        }
        let product = self.batched_product(a, result);
        self.spend(Work::Product(product));
        self.silent(true);
    }

    /// A tensor grows to that of all ranks, or each keeps its part of the sum; backward does the opposite.
    pub(super) fn exchange(&mut self, from: Form, to: Form, dtype: DType) {
        let grows = self.elements(to) > self.elements(from);
        let (there, back) = if grows {
            (Collective::AllGather, Collective::ReduceScatter)
        } else {
            (Collective::ReduceScatter, Collective::AllGather)
        };
        let whole = (if grows { to } else { from }, dtype);
        self.send(there, whole, false, Behind::Products);
        self.send(back, whole, true, Behind::Products);
        self.silent(true);
    }

    /// Every rank gets the sum; nothing hides it.
    pub(super) fn sum_over_ranks(&mut self, shape: (Form, DType)) {
        self.send(Collective::AllReduce, shape, false, Behind::Nothing);
        self.silent(true);
    }

    /// A loss in chunks of that shape: each is multiplied, read twice and overwritten with its gradient, from which those of both operands
    /// are made. The weight's is added up over the chunks.
    pub(super) fn loss_in_chunks(&mut self, [hidden, weight]: [Operand; 2], chunk: Form, wanted: [bool; 2]) {
        if self.costs.is_none() {
            return;
        }
        let whole = self.linear_product(hidden.form, weight.form);
        let rows = (self.elements(chunk) / whole.columns.max(1)).clamp(1, whole.rows.max(1));
        let count = whole.rows.div_ceil(rows);
        let product = Product { count, at_once: 1, rows, narrow: false, ..whole };
        self.spend(Work::Product(product));
        for (product, _) in product.backward().into_iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            self.spend(Work::Product(product));
        }
        let logits = whole.rows.saturating_mul(whole.columns).saturating_mul(BYTES_OF_A_LOGIT);
        let sums = if wanted[1] { self.size(weight.form, weight.dtype).saturating_mul(count) } else { 0 };
        self.spend(Work::Stream { bytes: logits.saturating_add(sums), kernels: count });
    }
}
