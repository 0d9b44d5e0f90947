//! The forward half of every primitive: what it allocates and what it saves.
#![expect(
    clippy::needless_pass_by_value,
    reason = "an operand lives until its operator has run, as a temporary does in Python"
)]

use super::Order;
use super::over::Writes;
use super::scratch::Attends;
use super::state::{NONE, Operand, Rule, at};
use super::{Form, Param, Tape, Var};
use crate::config::Dispatch;
pub(crate) use crate::ops::tape::functions::{
    ERF, EXPM1, Function, GELU, LOG_SIGMOID, LOG_SOFTMAX, POWER, RELU, ROOT, RSQRT, SCALE, SIGMOID,
    SILU, SOFTMAX, SOFTPLUS, Save, TANH,
};
use crate::units::DType;

impl<'t> Var<'t> {
    pub(super) fn operand(&self) -> Operand {
        Operand { node: self.node, form: self.form, dtype: self.dtype }
    }

    pub(super) fn made(tape: &'t Tape, storage: u32, form: Form, dtype: DType, node: u32) -> Self {
        Self { tape, storage, form, dtype, node, order: Order::Plain }
    }

    pub(super) fn unary(
        self,
        rule: Rule,
        save: Save,
        name: &'static str,
        (form, dtype): (Form, DType),
    ) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(rule, [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        if save == Save::Input {
            state.save(node, self.storage);
        }
        if state.elements(form) >= state.elements(self.form) {
            state.fuse(&[self.storage]);
        }
        let storage = state.allocate(name, form, dtype);
        state.fuse_no_more();
        if save == Save::Output {
            state.save(node, storage);
        }
        drop(state);
        Self::made(self.tape, storage, form, dtype, node)
    }

    /// An elementwise function; the result has the operand's shape and format.
    pub fn apply(self, function: Function) -> Self {
        let operand = if function.in_fp32 { self.for_function_in_fp32() } else { self };
        let (shape, order) = ((operand.form, operand.dtype), operand.order);
        operand.unary(function.rule, function.save, function.name, shape).ordered(order)
    }

    /// In fp32 where autocast of a GPU casts the operand to it.
    pub fn for_function_in_fp32(self) -> Self {
        let state = self.tape.state.borrow();
        let casts = state.autocast.is_some() && state.dispatch == Dispatch::Cuda;
        drop(state);
        if casts { self.cast(DType::Fp32) } else { self }
    }

    /// `x.to(dtype)`; the same tensor if it has that format already.
    pub fn cast(self, dtype: DType) -> Self {
        self.cast_as(dtype, "cast copy")
    }

    /// [`Self::cast`] with a name for the copy, if one is made.
    pub fn cast_as(self, dtype: DType, name: &'static str) -> Self {
        if self.dtype == dtype {
            return self;
        }
        let form = self.form;
        let order = if self.order == Order::Spread { Order::Plain } else { self.order };
        let rule = Rule::Unary { temporaries: 0, elementwise: true };
        self.unary(rule, Save::Nothing, name, (form, dtype)).ordered(order)
    }

    /// `x.mean(-1)`, `x.sum(-1)`: backward spreads the gradient over the operand's shape again.
    pub fn reduce(self, to: Form) -> Self {
        let dtype = self.dtype;
        self.unary(
            Rule::Unary { temporaries: 0, elementwise: false },
            Save::Nothing,
            "reduced",
            (to, dtype),
        )
    }

    /// A contiguous part; backward writes it into zeros of the whole. The part is a view.
    pub fn slice(self, part: Form) -> Self {
        self.view_as(Rule::Unary { temporaries: 0, elementwise: false }, part)
    }

    /// Another shape over the same memory; backward is a view too.
    pub fn view(self, form: Form) -> Self {
        self.view_as(Rule::View, form)
    }

    pub(super) fn view_as(mut self, rule: Rule, form: Form) -> Self {
        let operand = self.operand();
        let mut state = self.tape.state.borrow_mut();
        self.node = state.node(rule, [operand, Operand::NOTHING, Operand::NOTHING]);
        state.counted(0);
        drop(state);
        self.form = form;
        self
    }

    /// `[b, s, heads · d]` seen as `[b, heads, s, d]`: a view whose memory stays in the old order.
    pub fn heads(self, form: Form, several: bool) -> Self {
        self.view_as(if several { Rule::Heads } else { Rule::View }, form).ordered(if several {
            Order::Swapped
        } else {
            Order::Plain
        })
    }

    /// `[b, s, heads, d]` seen as `[b, heads, s, d]` or back.
    pub fn swap(self, form: Form, several: bool) -> Self {
        let order = if several { self.order.swapped() } else { self.order };
        self.view_as(if several { Rule::Swap } else { Rule::Pass }, form).ordered(order)
    }

    /// `[b, heads, s, d]` as `[b, s, heads · d]`: a view if memory is in that order, else a copy.
    pub fn merge(self, form: Form, several: bool) -> Self {
        if !several {
            return self.view(form);
        }
        if self.order == Order::Swapped {
            return self.view_as(Rule::Merge, form).ordered(Order::Plain);
        }
        let dtype = self.dtype;
        self.unary(Rule::Merge, Save::Nothing, "heads side by side", (form, dtype))
    }

    /// `x + constant`: backward passes the gradient on.
    pub fn plus(self) -> Self {
        let (shape, order) = ((self.form, self.dtype), self.order);
        self.unary(Rule::Pass, Save::Nothing, "sum", shape).ordered(order)
    }

    /// A copy in the order of its shape, as `contiguous` and `reshape` make where memory is not;
    /// else itself.
    pub fn contiguous(self) -> Self {
        if self.order == Order::Plain { self } else { self.copy() }
    }

    /// A copy.
    pub fn copy(self) -> Self {
        let shape = (self.form, self.dtype);
        self.unary(Rule::Pass, Save::Nothing, "copy", shape)
    }

    /// A copy in a larger shape (repeated heads): backward sums.
    pub fn repeat(self, form: Form) -> Self {
        let dtype = self.dtype;
        self.unary(Rule::Pass, Save::Nothing, "repeated", (form, dtype))
    }

    pub(super) fn binary(
        self,
        other: Self,
        rule: Rule,
        name: &'static str,
        form: Form,
        saves: [bool; 2],
    ) -> Self {
        let dtype = wider(self.dtype, other.dtype);
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(rule, [self.operand(), other.operand(), Operand::NOTHING]);
        if saves[0] {
            state.save(node, self.storage);
        }
        if saves[1] {
            state.save(node, other.storage);
        }
        state.fuse(&[self.storage, other.storage]);
        let storage = state.allocate(name, form, dtype);
        state.fuse_no_more();
        let order = if self.form == form { self.order } else { other.order };
        drop(state);
        Self::made(self.tape, storage, form, dtype, node).ordered(order)
    }

    fn larger(&self, other: &Self) -> Form {
        let state = self.tape.state.borrow();
        if state.elements(other.form) > state.elements(self.form) { other.form } else { self.form }
    }

    /// `a + b`.
    pub fn add(self, other: Self) -> Self {
        let form = self.larger(&other);
        self.binary(other, Rule::Add, "sum", form, [false; 2])
    }

    /// `a - b`.
    pub fn sub(self, other: Self) -> Self {
        let form = self.larger(&other);
        self.binary(other, Rule::Sub, "difference", form, [false; 2])
    }

    /// `a · b`: each is saved if the other wants a gradient.
    pub fn mul(self, other: Self) -> Self {
        let form = self.larger(&other);
        let saves = [other.node != NONE, self.node != NONE];
        self.binary(other, Rule::Mul, "product", form, saves)
    }

    /// Two tensors side by side; one of a narrower format is copied into the wider first.
    pub fn cat(self, other: Self, form: Form) -> Self {
        let narrow = if self.dtype.bits() < other.dtype.bits() { &self } else { &other };
        let wide = wider(self.dtype, other.dtype);
        // The CPU's kernel reads one format; the GPU's copies each tensor into its place as it is.
        let _copy = (narrow.dtype != wide && !self.tape.is_cuda())
            .then(|| self.tape.constant("cast copy", narrow.form, wide));
        self.binary(other, Rule::Cat, "joined", form, [false; 2]).ordered(Order::Plain)
    }

    /// `x · W + bias` as `addmm` computes it (GPT-2's `Conv1D`): under autocast the bias is cast
    /// last.
    pub fn conv1d(self, weight: Param, bias: Param, form: Form) -> Self {
        let tape = self.tape;
        let weight = tape.weight(weight);
        let x = self.for_product();
        x.affine(&weight, Some(&tape.weight(bias)), form)
    }

    /// Sets this tensor's name in the ledger.
    pub fn named(self, name: &'static str) -> Self {
        if let Some(storage) = self.tape.state.borrow_mut().storages.get_mut(at(self.storage)) {
            storage.name = name;
        }
        self
    }

    /// In which order memory holds it.
    pub const fn order(&self) -> Order {
        self.order
    }

    /// In that order in memory.
    pub const fn ordered(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// A function of several operators under one hand-written formula: what forward and backward
    /// take and free in order (see
    /// [`Rule::Script`]); saves its operand.
    pub fn scripted(self, name: &'static str, forward: &[i8], backward: &'static [i8]) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state
            .node(Rule::Script(backward), [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        let storage = state.play(forward, name, self.form, self.dtype);
        state.save(node, self.storage);
        drop(state);
        Self::made(self.tape, storage, self.form, self.dtype, node).ordered(self.order)
    }
}

impl Tape {
    /// A weight as products read it: under autocast its cast copy, made once and kept until the
    /// caches are cleared.
    pub fn weight(&self, param: Param) -> Var<'_> {
        let autocast = self.state.borrow().autocast;
        let whole = self.read(param);
        let Some(dtype) = autocast.filter(|dtype| *dtype != whole.dtype) else { return whole };
        if whole.node == NONE || self.is_compiled() {
            // Only weights that learn are cached, and none in a compiled graph.
            return whole.cast_as(dtype, "cast weight");
        }
        let param = self.state.borrow().meant(param);
        let known = self
            .state
            .borrow()
            .casts
            .iter()
            .find(|cast| cast.0 == param)
            .map(|cast| (cast.1, cast.2));
        if let Some((storage, node)) = known {
            self.state.borrow_mut().hold(storage);
            return Var::made(self, storage, whole.form, dtype, node);
        }
        let cast = whole.cast_as(dtype, "cast weight");
        let mut state = self.state.borrow_mut();
        state.hold(cast.storage);
        state.casts.push((param, cast.storage, cast.node));
        drop(state);
        cast
    }

    /// Begins or ends autocast; at its end the cast weights are freed.
    pub fn autocast(&self, to: Option<DType>) {
        let mut state = self.state.borrow_mut();
        state.autocast = to;
        let casts = std::mem::take(&mut state.casts);
        for (_, storage, _) in casts {
            state.release(storage);
        }
    }

    /// `embedding(ids, weight)`: saves the ids.
    pub fn embedding(&self, ids: Var<'_>, weight: Param, form: Form) -> Var<'_> {
        let weight = self.read(weight);
        let mut state = self.state.borrow_mut();
        let node = state.node(
            Rule::Embedding(ids.form),
            [weight.operand(), Operand::NOTHING, Operand::NOTHING],
        );
        state.save(node, ids.storage);
        let storage = state.allocate("embedded tokens", form, weight.dtype);
        drop(state);
        Var::made(self, storage, form, weight.dtype, node)
    }

    /// A kernel written by hand: it saves some operands and some results, and backward makes one
    /// tensor per operand.
    ///
    /// `results` are what it makes, in the order in which memory is taken; the one called `main`
    /// goes on, the others live only because they are saved. The main one is saved with
    /// `save_main`.
    pub fn kernel(
        &self,
        operands: &[&Var<'_>],
        results: &[(&'static str, Form, DType)],
        main: usize,
        (order, save_main, attends): (Order, bool, Attends),
    ) -> Var<'_> {
        self.hand_written(operands, results, main, (order, save_main, attends, Writes::Anew))
    }

    /// [`Self::kernel`] whose backward writes gradients so.
    pub(super) fn hand_written(
        &self,
        operands: &[&Var<'_>],
        results: &[(&'static str, Form, DType)],
        main: usize,
        (order, save_main, attends, writes): (Order, bool, Attends, Writes),
    ) -> Var<'_> {
        let mut state = self.state.borrow_mut();
        let mut all = [Operand::NOTHING; 3];
        let (mut orders, mut sources) = ([Order::Plain; 3], [NONE; 3]);
        for (((operand, place), kept), source) in
            operands.iter().zip(&mut all).zip(&mut orders).zip(&mut sources)
        {
            (*place, *kept, *source) = (operand.operand(), operand.order, operand.storage);
        }
        let sources = sources.get(..operands.len()).unwrap_or(&sources);
        let node = state.node(Rule::Kernel { orders, attends, writes }, all);
        let computes = attends != Attends::No;
        if computes {
            state.count_attention(all[0].form);
            state.count_attention(results.get(main).map_or(all[0].form, |result| result.1));
        }
        state.kernel_runs(&all, results, computes);
        let reads = computes && !state.finds_kept(false);
        let copies = if reads { state.copies_for_attention(sources) } else { Vec::new() };
        for operand in sources.iter().filter(|_| reads) {
            state.kernel_reads(*operand);
        }
        let mut made = [NONE; MOST_RESULTS];
        let mut splits = [NONE; 2];
        for (at, (storage, (name, form, dtype))) in made.iter_mut().zip(results).enumerate() {
            if at == main && !computes {
                state.fuse(sources);
            }
            *storage = state.allocate_result((name, *form, *dtype), computes);
            state.fuse_no_more();
            if attends == Attends::Flash && at == LOG_SUM_EXP {
                splits = state.splits_of_keys([&all[0], &all[1]]);
            }
        }
        for split in splits {
            state.release(split);
        }
        for copy in copies {
            state.release(copy);
        }
        for operand in operands {
            state.save(node, operand.storage);
        }
        for (at, storage) in made.iter().enumerate().take(results.len()) {
            if at != main || save_main {
                state.save(node, *storage);
            }
            if at != main {
                state.release(*storage);
            }
        }
        let (form, dtype) =
            results.get(main).map_or((0, DType::Fp32), |result| (result.1, result.2));
        let storage = made.get(main).copied().unwrap_or(NONE);
        drop(state);
        Var::made(self, storage, form, dtype, node).ordered(order)
    }
}

/// The place of flash attention's log-sum-exp among its results.
const LOG_SUM_EXP: usize = 1;

/// Most tensors that a kernel written by hand makes.
const MOST_RESULTS: usize = 4;

/// The format that two operands are computed in.
pub(super) const fn wider(a: DType, b: DType) -> DType {
    if a.bits() >= b.bits() { a } else { b }
}
