//! The costs in time of primitives as they run: products, bytes read and written, messages. Sizes
//! are those of operands and results, so that no module says them.
//!
//! Every tensor that is taken was written by one kernel, which has read the operands of its node:
//! in backward the gradient that has come and one saved tensor. Views cost nothing.

use super::state::{NONE, Node, Operand, Rule, State, as_leaf, at, bytes_of};
use super::{Attends, Form, Tape};
use crate::ops::modules::CROSSES;
use crate::ops::work::{
    Behind, Collective, Core, Exchange, Operands, PassWork, ProcessGroup, Product, Work,
};
use crate::units::DType;

/// Bytes that a loss in chunks reads and writes for each logit of 16 bit: twice read, once
/// overwritten with its gradient.
const BYTES_OF_A_LOGIT: u64 = 6;

/// Where a cost comes from: its operation and its layer.
type Place = (u16, u16);

/// The costs of a run, and the bytes that the next kernel reads.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    pub all: Vec<(Place, PassWork)>,
    /// True if backward runs.
    backward: bool,
    /// Bytes that the kernel of the next tensor reads.
    next: u64,
    /// Bytes that every kernel of the current formula reads.
    each: u64,
    /// So many of the tensors that are taken next belong to a kernel or message that was counted.
    counted: usize,
    /// Pairs of query and key that are not masked, of one head, and tokens of a text.
    sight: (u64, u64),
    /// A layer whose queries see other tokens than those of the text.
    beside: Option<(u16, (u64, u64))>,
    /// Layers whose queries see all keys there are: those of an encoder beside the decoder.
    of_source: Vec<u16>,
}

impl Tape {
    /// From here on costs are recorded; `sight`: pairs of query and key that one head sees, and
    /// tokens of a text.
    pub fn record_costs(&self, sight: (u64, u64)) {
        self.state.borrow_mut().costs =
            Some(Box::new(Costs { all: Vec::with_capacity(256), sight, ..Costs::default() }));
    }

    /// Queries of that layer see all of so many tokens, which are not those of the text.
    pub fn sees_beside(&self, layer: u16, tokens: u64) {
        if let Some(costs) = &mut self.state.borrow_mut().costs {
            costs.beside = Some((layer, (tokens.saturating_mul(tokens), tokens)));
        }
    }

    /// This layer is an encoder's, whose queries see all of its tokens.
    pub fn sees_source(&self, layer: u16) {
        if let Some(costs) = &mut self.state.borrow_mut().costs {
            costs.of_source.push(layer);
        }
    }

    /// Everything from now on is backward.
    pub fn costs_of_backward(&self) {
        if let Some(costs) = &mut self.state.borrow_mut().costs {
            costs.backward = true;
        }
    }
}

impl State {
    /// All that was recorded.
    pub fn costs(&self) -> &[(Place, PassWork)] {
        self.costs.as_ref().map_or(&[], |costs| &costs.all)
    }

    fn size(&self, form: Form, dtype: DType) -> u64 {
        bytes_of(self.elements(form), dtype)
    }

    fn bytes(&self, operands: &[Operand; 3]) -> u64 {
        operands
            .iter()
            .map(|operand| self.size(operand.form, operand.dtype))
            .fold(0, u64::saturating_add)
    }

    pub(super) fn last(&self, form: Form, skip: usize) -> u64 {
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
            costs.all.push((place, PassWork { backward, work }));
        }
    }

    /// A message of a tensor of that shape among tensor-parallel ranks.
    pub(super) fn send(
        &mut self,
        collective: Collective,
        (form, dtype): (Form, DType),
        backward: bool,
        behind: Behind,
    ) {
        let bytes = self.size(form, dtype);
        self.spend_in(
            backward,
            Work::Exchange(Exchange { collective, group: ProcessGroup::Tensor, bytes, behind }),
        );
    }

    fn stream(&mut self, bytes: u64) {
        self.spend(Work::Stream { bytes, kernels: 1 });
    }

    /// A primitive runs on these: products are counted, and the kernel of the next tensor reads the
    /// operands of others.
    pub(super) fn runs(&mut self, rule: Rule, operands: &[Operand; 3]) {
        match self.product_of(rule, operands) {
            Some(product) => {
                self.spend(Work::Product(product));
                self.counted(1);
            }
            None if matches!(rule, Rule::Exchanged(_)) => self.counted(1),
            None => {
                let bytes = self.bytes(operands);
                if let Some(costs) = &mut self.costs {
                    costs.next = bytes;
                }
            }
        }
    }

    /// So many of the tensors that are taken next belong to the work that was counted, and the
    /// kernel behind it reads nothing yet.
    pub(super) fn counted(&mut self, tensors: usize) {
        if let Some(costs) = &mut self.costs {
            (costs.next, costs.counted) = (0, tensors);
        }
    }

    /// The next kernel, behind a formula, reads so many tensors of that shape.
    pub(super) fn reads(&mut self, count: u64, (form, dtype): (Form, DType)) {
        let bytes = self.size(form, dtype).saturating_mul(count);
        if let Some(costs) = &mut self.costs {
            (costs.next, costs.each) = (bytes, 0);
        }
    }

    /// A tensor was taken.
    pub(super) fn wrote(&mut self, bytes: u64) {
        let Some(costs) = &mut self.costs else { return };
        let read = std::mem::take(&mut costs.next).saturating_add(costs.each);
        match costs.counted.checked_sub(1) {
            Some(rest) => costs.counted = rest,
            None => self.stream(read.saturating_add(bytes)),
        }
    }

    /// In place: operands are read, and the first is written.
    pub(super) fn in_place(&mut self, operands: &[Operand; 3]) {
        if self.costs.is_some() {
            let [first, ..] = operands;
            self.stream(self.bytes(operands).saturating_add(self.size(first.form, first.dtype)));
            self.counted(0);
        }
    }

    /// The product of that rule, if it is one.
    fn product_of(&self, rule: Rule, [a, b, _]: &[Operand; 3]) -> Option<Product> {
        match rule {
            Rule::Grouped(_) | Rule::Float8(_) | Rule::Patched => {
                Some(self.linear_product(a.form, b.form))
            }
            Rule::Linear { gathered, .. } => {
                let product = self.linear_product(gathered.unwrap_or(a.form), b.form);
                Some(Product { narrow: !self.casts_apart, ..product })
            }
            Rule::Packed(packed) => Some(self.linear_product(a.form, packed.whole)),
            Rule::Matmul { transposed, .. } => {
                Some(self.batched_product(a.form, self.last(b.form, usize::from(transposed))))
            }
            _ => None,
        }
    }

    /// The product of rows with a weight, of each expert's rows with its own.
    fn linear_product(&self, x: Form, weight: Form) -> Product {
        let (depth, columns) = (self.last(weight, 0), self.last(weight, 1));
        let count = (self.elements(weight) / depth.saturating_mul(columns).max(1)).max(1);
        let rows = (self.elements(x) / depth.max(1)).div_ceil(count);
        Product { count, at_once: count, rows, columns, depth, of: Operands::Weight, narrow: true }
    }

    /// The product of two activations, for each head and sequence.
    fn batched_product(&self, a: Form, columns: u64) -> Product {
        let (depth, rows) = (self.last(a, 0), self.last(a, 1));
        let count = (self.elements(a) / depth.saturating_mul(rows).max(1)).max(1);
        Product {
            count,
            at_once: count,
            rows,
            columns,
            depth,
            of: Operands::Activations,
            narrow: false,
        }
    }

    /// A kernel written by hand runs: attention where it multiplies, otherwise one that streams.
    pub(super) fn kernel_runs(
        &mut self,
        operands: &[Operand; 3],
        results: &[(&str, Form, DType)],
        attends: bool,
    ) {
        if self.costs.is_none() {
            return;
        }
        if attends {
            self.spend(Work::Core(self.core(operands)));
        } else {
            let written = results.iter().map(|(_, form, dtype)| self.size(*form, *dtype));
            self.stream(written.fold(self.bytes(operands), u64::saturating_add));
        }
        self.counted(results.len());
    }

    fn core(&self, [queries, keys, values]: &[Operand; 3]) -> Core {
        let (rows, query_width, value_width) =
            (self.last(queries.form, 1), self.last(queries.form, 0), self.last(values.form, 0));
        let heads = self.elements(queries.form) / rows.saturating_mul(query_width).max(1);
        let sight = |costs: &Costs| {
            costs
                .beside
                .filter(|beside| self.layer >= beside.0)
                .map_or(costs.sight, |beside| beside.1)
        };
        let (mut pairs, mut seq_length) = self.costs.as_deref().map_or((0, 0), sight);
        let of_source =
            self.costs.as_ref().is_some_and(|costs| costs.of_source.contains(&self.layer));
        if of_source || self.op_name(self.op).0 == CROSSES[0] {
            // The source is seen as a whole, by itself and by the decoder.
            seq_length = self.last(keys.form, 1);
            pairs = rows.saturating_mul(seq_length);
        }
        Core { heads, pairs, queries: rows, seq_length, query_width, value_width }
    }

    /// Notes the bytes that the kernels of a node read, before its formula runs.
    pub(super) fn before_formula(&mut self, node: &Node, grad: (Form, DType)) {
        if self.costs.is_none() {
            return;
        }
        let saved = node
            .saved
            .iter()
            .take(usize::from(node.saves))
            .filter_map(|saved| self.storages.get(at(*saved)));
        let mut saved = saved.map(|storage| storage.bytes);
        let incoming = self.size(grad.0, grad.1);
        let (first, rest) = (saved.next().unwrap_or(0), saved.sum());
        match node.rule {
            Rule::Kernel { attends, .. } => {
                self.kernel_runs_back(node, attends != Attends::No, [incoming, first, rest]);
            }
            Rule::Exchanged(before) => self.counted(usize::from(before) + 1),
            _ => self.counted(0),
        }
        if let Some(costs) = &mut self.costs {
            costs.each = incoming.saturating_add(first);
        }
    }

    fn kernel_runs_back(&mut self, node: &Node, attends: bool, read: [u64; 3]) {
        let wanted = || node.operands.iter().filter(|operand| operand.node != NONE);
        if attends {
            self.spend(Work::Core(self.core(&node.operands)));
        } else {
            let made = wanted().filter(|operand| as_leaf(operand.node).is_none());
            let made = made.map(|operand| self.size(operand.form, operand.dtype));
            self.stream(read.into_iter().chain(made).fold(0, u64::saturating_add));
        }
        self.counted(wanted().count());
    }

    /// After it.
    pub(super) fn after_formula(&mut self) {
        self.counted(0);
        if let Some(costs) = &mut self.costs {
            costs.each = 0;
        }
    }

    /// The product of one operand's gradient runs.
    pub(super) fn multiplies_back(&mut self, node: &Node, of: Operand) {
        let product =
            if self.costs.is_some() { self.product_of(node.rule, &node.operands) } else { None };
        if let Some([first, second]) = product.map(|product| product.backward()) {
            self.spend(Work::Product(if of.node == node.operands[1].node {
                second
            } else {
                first
            }));
            self.counted(1);
        }
    }

    /// A loss whose kernel makes the product of the head in forward and again in backward, where it
    /// multiplies for the gradients of both operands, too. No logits are written.
    pub(super) fn loss_without_logits(
        &mut self,
        [hidden, weight]: [Operand; 2],
        wanted: [bool; 2],
    ) {
        if self.costs.is_none() {
            return;
        }
        let product = self.linear_product(hidden.form, weight.form);
        self.spend(Work::Product(product));
        self.spend(Work::Product(product));
        for (product, _) in product.backward().into_iter().zip(wanted).filter(|(_, wanted)| *wanted)
        {
            self.spend(Work::Product(product));
        }
    }

    /// A loss in chunks of that shape: each is multiplied, read twice and overwritten with its
    /// gradient, from which those of both operands are made. The weight's is added up over the
    /// chunks.
    pub(super) fn loss_in_chunks(
        &mut self,
        [hidden, weight]: [Operand; 2],
        chunk: Form,
        wanted: [bool; 2],
    ) {
        if self.costs.is_none() {
            return;
        }
        let whole = self.linear_product(hidden.form, weight.form);
        let rows = (self.elements(chunk) / whole.columns.max(1)).clamp(1, whole.rows.max(1));
        let count = whole.rows.div_ceil(rows);
        let product = Product { count, at_once: 1, rows, narrow: false, ..whole };
        self.spend(Work::Product(product));
        for (product, _) in product.backward().into_iter().zip(wanted).filter(|(_, wanted)| *wanted)
        {
            self.spend(Work::Product(product));
        }
        let logits = whole.rows.saturating_mul(whole.columns).saturating_mul(BYTES_OF_A_LOGIT);
        let sums =
            if wanted[1] { self.size(weight.form, weight.dtype).saturating_mul(count) } else { 0 };
        self.spend(Work::Stream { bytes: logits.saturating_add(sums), kernels: count });
    }
}
