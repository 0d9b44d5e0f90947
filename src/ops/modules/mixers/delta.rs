//! Linear attention by the gated delta rule (`Qwen3NextGatedDeltaNet` in
//! `models/qwen3_next/modeling_qwen3_next.py`, `Qwen3_5GatedDeltaNet` in
//! `models/qwen3_5/modeling_qwen3_5.py`, `OlmoHybridGatedDeltaNet` in
//! `models/olmo_hybrid/modeling_olmo_hybrid.py`).

use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::delta_rule::DeltaRule;
use super::gated_norm::GatedNorm;
use crate::config::{Mixer, StateProjections};
use crate::ops::tape::{EXP, Form, Order, Param, SCALE, SIGMOID, SILU, SOFTPLUS, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;
use crate::units::DType;

/// The projections of hidden states.
#[derive(Clone, Copy, Debug)]
enum Inputs {
    /// Queries, keys and values by one matrix; gate, strength and decay by one each.
    Apart([Linear; 4]),
    /// Queries, keys, values, decay, strength and gate by one matrix each.
    OneEach([Linear; 3], [Linear; 3]),
    /// All but strength and decay by one matrix, whose columns lie by heads of keys, and these by
    /// another.
    ByKeyHead([Linear; 2]),
}

/// A layer that keeps its state by the gated delta rule.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Delta {
    step: Param,
    decay: Param,
    convolution: Param,
    inputs: Inputs,
    norm: GatedNorm,
    output: Linear,
    rule: DeltaRule,
    forms: Forms,
    source: Source,
}

/// Shapes on the way to the rule and from it.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, columns]` of queries, keys and values together, the other way round, and that with
    /// padding.
    mixed: Form,
    turned: Form,
    padded: Form,
    /// `[b, s, columns]` of keys and of values.
    columns: [Form; 2],
    /// `[b, s, heads, width]` of the same.
    heads: [Form; 2],
    /// `[b, s, n]`.
    numbers: Form,
    /// `[b · s · n, p]`.
    rows: Form,
    /// `[b, s, g, columns]` of one key head: keys, values, and numbers.
    by_key_head: [Form; 3],
    /// There are several sequences, heads, heads of keys; value heads share keys.
    several: [bool; 3],
    shares: bool,
    /// The output of the rule, in fp32, is copied before the norm.
    copies: bool,
}

impl Forms {
    fn new(build: &Build<'_>, sizes: &Sizes, mixer: &Mixer) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let columns = Dim("columns of the convolution", mixer.conv_dim());
        let padding =
            Dim("tokens and padding", s.1.saturating_add(sizes.kernel.1).saturating_sub(1));
        let (keys, heads) = (Dim("heads of the state's keys", mixer.num_key_heads), sizes.heads);
        let group = mixer.num_heads / mixer.num_key_heads.max(1);
        let of_group = Dim("columns of a key head", group.saturating_mul(mixer.head_dim));
        Self {
            mixed: tape.form([b, s, columns]),
            turned: tape.form([b, columns, s]),
            padded: tape.form([b, columns, padding]),
            columns: [tape.form([b, s, sizes.keys]), tape.form([b, s, sizes.inner])],
            heads: [tape.form([b, s, keys, sizes.state]), tape.form([b, s, heads, sizes.head])],
            numbers: tape.form([b, s, heads]),
            rows: tape.form([b, s, heads, sizes.head]),
            by_key_head: [sizes.state, of_group, Dim("heads of a key head", group)]
                .map(|width| tape.form([b, s, keys, width])),
            several: [b.1 > 1, heads.1 > 1, keys.1 > 1],
            shares: heads.1 > keys.1,
            copies: heads.1 > 1 || (b.1 > 1 && (s.1 % 64 > 0 || s.1 <= 64)),
        }
    }
}

impl Delta {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source) = (Sizes::of(build.with, mixer), source(mixer.kind));
        let forms = Forms::new(build, &sizes, mixer);
        build.tape.at("State", source);
        let step = build.vector("step's bias", sizes.heads);
        let projections = build.model().family.modules().state_projections;
        // Made in fp32 where every projection is a matrix of its own (`olmo_hybrid`).
        let own =
            if projections == StateProjections::OneEach { build.in_format(FP32) } else { *build };
        let decay = own.vector("decay", sizes.heads);
        let all = Dim("columns of the convolution", mixer.conv_dim());
        let convolution = build.parameter("convolution", [all, sizes.kernel]);
        let early = match projections {
            StateProjections::ByKeyHead => Some(Inputs::by_key_head(build, &sizes, all, source)),
            StateProjections::OneEach => Some(Inputs::one_each(build, &sizes, source)),
            StateProjections::Apart => None,
        };
        build.tape.at("State", source);
        let rows = build.tape.form([build.with.b(), build.with.s(), sizes.heads, Dim("row", 1)]);
        let norm = GatedNorm::new(build, sizes.head, rows);
        build.tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let inputs =
            early.unwrap_or_else(|| Inputs::apart(build, &sizes, (all, forms.mixed), source));
        let rule = DeltaRule::new(build, &sizes, forms.shares);
        Self { step, decay, convolution, inputs, norm, output, rule, forms, source }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let Projected { mixed, gate, strength, decay, parts, held: _held } =
            self.inputs.run(x, &self.forms);
        tape.at("State", self.source);
        let convolved = convolved(&mixed, (self.convolution, None), self.forms.padded);
        drop(mixed);
        // A slice of all tokens is one all the same.
        let convolved =
            if self.has_one_each() { convolved.slice(self.forms.turned) } else { convolved };
        let mixed = convolved.swap(self.forms.mixed, true);
        let [keys, values] = self.forms.columns;
        let [query, key, value] = mixed.clone().split([keys, keys, values]);
        drop(parts);
        let [of_keys, of_values] = self.forms.heads;
        let (query, key, value) = (query.view(of_keys), key.view(of_keys), value.view(of_values));
        let beta = match &strength {
            Some(strength) => strength.clone().apply(SIGMOID),
            None => self.numbers(x, 1).apply(SIGMOID).apply(SCALE),
        };
        let beta = beta.named("strength of an update");
        let rate = tape.read(self.decay).cast(FP32).apply(EXP).apply(SCALE);
        let decay = decay.clone().unwrap_or_else(|| self.numbers(x, 0));
        let steps = decay.cast(FP32).add(tape.read(self.step)).apply(SOFTPLUS);
        let decays = rate.mul(steps).named("decays");
        let core = self.rule.run(tape, [&query, &key, &value, &decays, &beta]);
        let core =
            if core.dtype() == DType::Fp32 && self.forms.copies { core.copy() } else { core };
        let core = core.ordered(Order::Plain);
        let gate = gate.unwrap_or_else(|| self.late_gate(x));
        let gate = if self.copies_gate() { gate.copy() } else { gate };
        let normed = self.norm.run(&core, &gate);
        drop(core);
        tape.at("Projection out of the state", self.source);
        self.output.run(&normed.in_parts(self.forms.columns[1]))
    }

    /// True if every projection is a matrix of its own.
    const fn has_one_each(&self) -> bool {
        matches!(self.inputs, Inputs::OneEach(..))
    }

    /// Decay (0) or strength (1) of each head, projected when it is read.
    fn numbers<'t>(&self, x: &Var<'t>, number: usize) -> Var<'t> {
        let [batch, heads, _] = self.forms.several;
        let made = match &self.inputs {
            Inputs::OneEach(_, narrow) => narrow.get(number).unwrap_or(&narrow[0]).run(x),
            Inputs::Apart(_) | Inputs::ByKeyHead(_) => x.clone(),
        };
        if batch && heads { made.view(self.forms.numbers) } else { made }
    }

    /// The gate, projected behind the rule.
    fn late_gate<'t>(&self, x: &Var<'t>) -> Var<'t> {
        match &self.inputs {
            Inputs::OneEach(_, [.., gate]) => gate.run(x).named("gate").view(self.forms.rows),
            Inputs::Apart(_) | Inputs::ByKeyHead(_) => x.clone(),
        }
    }

    /// Heads of a gate that lies among the columns of a single key head are no rows of one matrix.
    const fn copies_gate(&self) -> bool {
        let [_, heads, key_heads] = self.forms.several;
        matches!(self.inputs, Inputs::ByKeyHead(_)) && heads && !key_heads
    }
}

/// `causal_conv1d_fn` with its activation, of columns by tokens.
pub(super) fn convolved<'t>(x: &Var<'t>, weight: (Param, Option<Param>), padded: Form) -> Var<'t> {
    let (written, format, form) = (x.tape().read(weight.0).dtype(), x.dtype(), x.form());
    x.clone()
        .cast(written)
        .convolved(weight, padded)
        .slice(form)
        .apply(SILU)
        .cast(format)
        .named("convolved columns")
}

/// Hidden states, projected; `parts` keep their names until the convolution is done, `held` to the
/// end.
struct Projected<'t> {
    mixed: Var<'t>,
    gate: Option<Var<'t>>,
    strength: Option<Var<'t>>,
    decay: Option<Var<'t>>,
    parts: Vec<Var<'t>>,
    held: Vec<Var<'t>>,
}

impl<'t> Projected<'t> {
    /// Values, keys and queries alone.
    const fn of(mixed: Var<'t>) -> Self {
        let (gate, strength, decay) = (None, None, None);
        Self { mixed, gate, strength, decay, parts: Vec::new(), held: Vec::new() }
    }
}

impl Inputs {
    fn apart(build: &Build<'_>, sizes: &Sizes, (all, mixed): (Dim, Form), source: Source) -> Self {
        build.tape.at("Projection into the state", source);
        let (b, s) = (build.with.b(), build.with.s());
        let linear = |name, width, form| build.linear((name, None), (width, sizes.hidden), form);
        let narrow = build.tape.form([b, s, sizes.heads]);
        Self::Apart([
            linear("state query, key and value weight", all, mixed),
            linear("state gate weight", sizes.inner, build.tape.form([b, s, sizes.inner])),
            linear("state strength weight", sizes.heads, narrow),
            linear("state decay weight", sizes.heads, narrow),
        ])
    }

    fn one_each(build: &Build<'_>, sizes: &Sizes, source: Source) -> Self {
        build.tape.at("Projection into the state", source);
        let linear = |name, width| {
            let form = build.tape.form([build.with.b(), build.with.s(), width]);
            build.linear((name, None), (width, sizes.hidden), form)
        };
        let wide = [
            linear("state query weight", sizes.keys),
            linear("state key weight", sizes.keys),
            linear("state value weight", sizes.inner),
        ];
        let narrow =
            ["state decay weight", "state strength weight"].map(|name| linear(name, sizes.heads));
        let [decay, strength] = narrow;
        Self::OneEach(wide, [decay, strength, linear("state gate weight", sizes.inner)])
    }

    fn by_key_head(build: &Build<'_>, sizes: &Sizes, all: Dim, source: Source) -> Self {
        build.tape.at("Projection into the state", source);
        let columns =
            Dim("columns of all but the narrow ones", all.1.saturating_add(sizes.inner.1));
        let narrow = Dim("narrow columns", sizes.heads.1.saturating_mul(2));
        let linear = |name, width| {
            let form = build.tape.form([build.with.b(), build.with.s(), width]);
            build.linear((name, None), (width, sizes.hidden), form)
        };
        Self::ByKeyHead([
            linear("query, key, value and gate weight", columns),
            linear("strength and decay weight", narrow),
        ])
    }

    fn run<'t>(&self, x: &Var<'t>, forms: &Forms) -> Projected<'t> {
        let [batch, heads, key_heads] = forms.several;
        match self {
            Self::Apart([mixed, gate, strength, decay]) => {
                let mixed = mixed.run(x).heads(forms.turned, batch);
                let gate = gate.run(x).named("gate").view(forms.rows);
                let numbers = |linear: &Linear| {
                    let made = linear.run(x);
                    if batch && heads { made.view(forms.numbers) } else { made }
                };
                let strength = Some(numbers(strength));
                let decay = Some(numbers(decay));
                Projected { gate: Some(gate), strength, decay, ..Projected::of(mixed) }
            }
            Self::OneEach([query, key, value], _) => {
                let parts = [query, key, value].map(|linear| linear.run(x));
                let mixed = Var::joined([&parts[0], &parts[1], &parts[2]], forms.mixed)
                    .swap(forms.turned, true);
                Projected::of(mixed)
            }
            Self::ByKeyHead([wide, narrow]) => {
                let (wide, narrow) = (wide.run(x), narrow.run(x));
                let [keys, values, numbers] = forms.by_key_head;
                let [query, key, value, gate] = wide.clone().split([keys, keys, values, values]);
                let [strength, decay] = narrow.clone().split([numbers; 2]);
                // Columns of several key heads are put behind each other by a copy.
                let together = |x: Var<'t>, form, copied: bool| {
                    if copied { x.copy().in_parts(form) } else { x.in_parts(form) }
                };
                let shared = key_heads && forms.shares;
                let value = together(value, forms.rows, shared);
                let gate = together(gate, forms.rows, shared);
                let strength = together(strength, forms.numbers, shared);
                let decay = together(decay, forms.numbers, shared);
                let [of_keys, of_values] = forms.columns;
                let query = together(query, of_keys, key_heads);
                let key = together(key, of_keys, key_heads);
                let value = together(value, of_values, key_heads && !shared);
                let mixed =
                    Var::joined([&query, &key, &value], forms.mixed).swap(forms.turned, true);
                let (gate, strength, decay) = (Some(gate), Some(strength), Some(decay));
                Projected {
                    mixed,
                    gate,
                    strength,
                    decay,
                    parts: vec![query, key, value],
                    held: vec![wide, narrow],
                }
            }
        }
    }
}
