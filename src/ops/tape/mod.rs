//! A tape: modules run on it as PyTorch runs them, with sizes in place of numbers.
//!
//! Every primitive allocates what its operator allocates, saves what its autograd formula saves,
//! and backward gives and frees what that formula does (PyTorch 2.15:
//! `tools/autograd/derivatives.yaml`, `torch/csrc/autograd/engine.cpp`). A variable is freed when
//! the last one that holds it lets go, as in Python: primitives take their operands by value,
//! modules by reference. So one run of a module yields its parameters, what it saves, its FLOPs and
//! the memory at every moment.

mod backward;
mod checkpoints;
mod compiled;
mod convolution;
mod costs;
mod exchanges;
mod float8;
mod flops;
mod formulas;
mod functions;
mod gradients;
mod images;
mod in_place;
mod keeps;
mod losses;
mod nodes;
mod order;
mod over;
mod parameters;
mod places;
mod primitives;
mod products;
mod records;
mod recurrent;
mod replay;
mod routing;
mod scratch;
mod segments;
mod splits;
mod state;
mod streams;
mod tuning;
mod unread;
mod workspaces;

use std::cell::RefCell;

pub(crate) use backward::{Again, Model};
pub(crate) use exchanges::Copies;
pub(crate) use flops::{Factors, LayerProduct};
pub(crate) use losses::{HeadAndLoss, Tile};
pub(crate) use order::Order;
pub(crate) use primitives::{
    ERF, EXPM1, GELU, LOG_SIGMOID, LOG_SOFTMAX, POWER, RELU, ROOT, RSQRT, SCALE, SIGMOID, SILU,
    SOFTMAX, SOFTPLUS, TANH,
};
pub(crate) use recurrent::{EXP, LOG, RUNNING_SUM};
pub(crate) use scratch::{Attends, EFFICIENT_ROWS, Scratch, partial_sums};
pub(crate) use state::{
    Arrival, Cut, Entry, Held, KINDS, Kind, NONE, OpName, Parameter, Segment, Shards, State,
    Storage, Totals, When,
};
pub(crate) use streams::Kept;
pub(crate) use tuning::{Packed, Unpacks};
pub(crate) use workspaces::KEPT_WORKSPACE;

use super::tensor::{Dim, Shape};
use crate::sources::Source;
use crate::units::DType;

/// An interned shape.
pub(crate) type Form = u16;
/// A parameter's number.
pub(crate) type Param = u32;

/// The recorder that modules run on.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub(super) state: RefCell<State>,
}

/// A tensor that somebody holds: an alias of a storage, with its place in the graph.
#[derive(Debug)]
pub(crate) struct Var<'t> {
    pub(super) tape: &'t Tape,
    pub(super) storage: u32,
    pub(super) form: Form,
    pub(super) dtype: DType,
    /// The node that made it, a parameter, or [`NONE`] where no gradient flows.
    pub(super) node: u32,
    /// In which order memory holds it.
    pub(super) order: Order,
}

impl Clone for Var<'_> {
    fn clone(&self) -> Self {
        self.tape.state.borrow_mut().hold(self.storage);
        Self { ..*self }
    }
}

impl Drop for Var<'_> {
    fn drop(&mut self) {
        self.tape.state.borrow_mut().release(self.storage);
    }
}

impl Tape {
    /// A tape with room for a step through a few blocks.
    pub fn new() -> Self {
        Self::with_room(1024)
    }

    /// A tape with room for modules that are declared once.
    pub fn to_declare() -> Self {
        Self::with_room(48)
    }

    fn with_room(storages: usize) -> Self {
        let tape = Self::default();
        tape.state.borrow_mut().make_room(storages);
        tape
    }

    /// A named shape.
    pub fn form<const N: usize>(&self, dims: [Dim; N]) -> Form {
        self.state.borrow_mut().form(Shape::of(dims))
    }

    /// `rows` with the columns of `like`: `[s]` and `[b, s, h]` give `[s, h]`.
    pub fn form_like(&self, rows: Form, like: Form) -> Form {
        let mut state = self.state.borrow_mut();
        let last = |state: &State, form: Form| {
            state.forms.get(usize::from(form)).and_then(|form| form.0.dims().last().copied())
        };
        let dims = [last(&state, rows), last(&state, like)].map(|dim| dim.unwrap_or(Dim("one", 1)));
        state.form(Shape::of(dims))
    }

    /// Elements of a shape.
    pub fn elements(&self, form: Form) -> u64 {
        self.state.borrow().elements(form)
    }

    /// The last dimension of a shape.
    pub fn last_dim(&self, form: Form) -> Dim {
        let state = self.state.borrow();
        let found =
            state.forms.get(usize::from(form)).and_then(|form| form.0.dims().last().copied());
        found.unwrap_or(Dim("one", 1))
    }

    /// Names the operation to which the tensors from now on belong.
    pub fn at(&self, name: &'static str, source: Source) {
        self.state.borrow_mut().at(name, source);
    }

    /// A parameter of the current operation; its memory is taken at once.
    pub fn parameter(&self, name: &'static str, form: Form, dtype: DType) -> Param {
        self.state.borrow_mut().parameter(name, form, dtype)
    }

    /// The parameter as a tensor.
    pub fn read(&self, param: Param) -> Var<'_> {
        let mut state = self.state.borrow_mut();
        let param = state.meant(param);
        state.note_use(param);
        let (storage, form, dtype) = state.parameter_tensor(param);
        state.hold(storage);
        let node = if state.is_frozen(param) { NONE } else { state::leaf(param) };
        Var { tape: self, storage, form, dtype, node, order: Order::Plain }
    }

    /// A tensor that no gradient flows to.
    pub fn constant(&self, name: &'static str, form: Form, dtype: DType) -> Var<'_> {
        let storage = self.state.borrow_mut().allocate(name, form, dtype);
        Var { tape: self, storage, form, dtype, node: NONE, order: Order::Plain }
    }
}

impl<'t> Var<'t> {
    /// The tape it lives on.
    pub const fn tape(&self) -> &'t Tape {
        self.tape
    }

    /// Its format.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// True if a gradient flows to the tensor.
    pub const fn wants_gradient(&self) -> bool {
        self.node != NONE
    }

    /// Its shape.
    pub const fn form(&self) -> Form {
        self.form
    }
}

/// Calls from the estimator's timeline.
impl Tape {
    /// Everything that the tape has recorded.
    pub fn state(&self) -> std::cell::Ref<'_, State> {
        self.state.borrow()
    }

    /// Begins a stretch of the step in which memory of that kind is taken.
    pub fn begin(&self, when: When, layer: u16, kind: Kind) {
        let mut state = self.state.borrow_mut();
        state.segment(when, layer);
        state.kind = kind;
    }

    /// Memory taken from now on belongs to that layer.
    pub fn set_layer(&self, layer: u16) {
        self.state.borrow_mut().layer = layer;
    }

    /// Closes the last stretch.
    pub fn close(&self) {
        self.state.borrow_mut().close();
    }

    /// How many parameters there are.
    pub fn parameters(&self) -> u32 {
        state::count(self.state.borrow().parameters.len())
    }

    /// Declares parameters once more; see [`State::repeat`].
    pub fn repeat(&self, from: Param, to: Param) -> u32 {
        self.state.borrow_mut().repeat(from, to)
    }

    /// Parameters belong to that layer from now on.
    pub fn move_to(&self, layer: u16, params: (Param, Param)) {
        self.state.borrow_mut().move_to(layer, params);
    }

    /// Which parameters the modules that run next mean: those from `from` to `to` are so far
    /// behind.
    pub fn means(&self, copies: (Param, Param, u32)) {
        self.state.borrow_mut().copies = copies;
    }

    /// This parameter is gathered in float8.
    pub fn gathers_in_float8(&self, param: Param) {
        if let Some(parameter) = self.state.borrow_mut().parameters.get_mut(state::at(param)) {
            parameter.narrow = true;
        }
    }

    /// No gradient reaches this parameter.
    pub fn idle(&self, param: Param) {
        if let Some(parameter) = self.state.borrow_mut().parameters.get_mut(state::at(param)) {
            parameter.idle = true;
        }
    }

    /// Sets whether parameters declared from now on want no gradient; returns the setting before.
    pub fn freeze(&self, frozen: bool) -> bool {
        std::mem::replace(&mut self.state.borrow_mut().frozen, frozen)
    }

    /// Parameters that are declared from now on are shared by blocks of several layers, or are not.
    pub fn shares(&self, shared: bool) {
        self.state.borrow_mut().shared = shared;
    }

    /// The first of the parameters from `from` on that blocks of several layers do not have
    /// together.
    pub fn own_parameters(&self, from: Param) -> Param {
        let state = self.state.borrow();
        let shared = state
            .parameters
            .iter()
            .skip(state::at(from))
            .take_while(|parameter| parameter.shared)
            .count();
        from.saturating_add(state::count(shared))
    }

    /// From now on no operation wants gradients (`torch.no_grad`).
    pub fn no_grad(&self) {
        self.state.borrow_mut().no_grad = true;
    }

    /// How parameters that are declared from now on are shared out.
    pub fn share_out(&self, shards: Option<Shards>) {
        self.state.borrow_mut().shards = shards;
    }

    /// Sets how gradients are handled when they reach their parameters.
    pub fn arrivals(&self, arrival: Arrival) {
        self.state.borrow_mut().arrival = arrival;
    }

    /// Notes from now on when modules need parameters.
    pub fn note_uses(&self) {
        self.state.borrow_mut().uses = Some(Vec::new());
    }

    /// Memory of so many elements that no module sees.
    pub fn lump(&self, name: &'static str, (kind, elements, dtype): (Kind, u64, DType)) -> Var<'_> {
        let form = self.form([Dim("elements", elements)]);
        let mut state = self.state.borrow_mut();
        let before = std::mem::replace(&mut state.kind, kind);
        let storage = state.allocate(name, form, dtype);
        state.kind = before;
        drop(state);
        Var { tape: self, storage, form, dtype, node: NONE, order: Order::Plain }
    }

    /// Memory that is taken from now on is used on that stream; the answer is the one before.
    pub fn on_stream(&self, stream: u8) -> u8 {
        std::mem::replace(&mut self.state.borrow_mut().stream, stream)
    }

    /// A tensor that backward hands its gradient on to the stage before.
    pub fn received(&self, name: &'static str, form: Form, dtype: DType) -> Var<'_> {
        let mut state = self.state.borrow_mut();
        let storage = state.allocate(name, form, dtype);
        let node = state.source();
        drop(state);
        Var { tape: self, storage, form, dtype, node, order: Order::Plain }
    }

    /// The next product gathers its input into that shape.
    pub fn gathering(&self, form: Option<Form>) {
        self.state.borrow_mut().gather = form;
    }

    /// A further holder of a tensor's memory.
    pub fn kept_alive(&self, of: &Var<'_>) -> Var<'_> {
        self.again(of.storage, of.form, of.dtype)
    }

    /// A further holder of a storage.
    pub fn again(&self, storage: u32, form: Form, dtype: DType) -> Var<'_> {
        self.state.borrow_mut().hold(storage);
        Var { tape: self, storage, form, dtype, node: NONE, order: Order::Plain }
    }
}

impl Var<'_> {
    /// Lets go of the tensor's memory; backward can begin there all the same (`GradientEdge`).
    #[must_use]
    pub fn edge(mut self) -> Self {
        let storage = std::mem::replace(&mut self.storage, NONE);
        self.tape.state.borrow_mut().release(storage);
        self
    }

    /// The tensor in a forward that runs again, as one whose gradient is wanted.
    pub fn wanted(mut self) -> Self {
        self.node = 0;
        self
    }

    /// Storage, shape and format.
    pub fn parts(&self) -> (u32, Form, DType) {
        (self.storage, self.form, self.dtype)
    }
}
