//! Attention of blocks with several streams: queries and keys are normed and rotated before heads
//! and tokens change places, values are normed without a scale, and some blocks read the keys and
//! values of an earlier one.

use super::super::attention_core::Core;
use super::super::norm::Norm;
use super::super::rotary::rotated;
use super::super::{Build, Linear, Part, Shapes, Tables, half};
use crate::config::{BlockLayout, Keys};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// A projection of heads, with its norm.
#[derive(Clone, Copy, Debug)]
struct Heads {
    projection: Linear,
    norm: Norm,
    /// `[b, s, heads, d]` and half of a head's width.
    rows: [Form; 2],
    /// `[b, heads, s, d]`.
    form: Form,
    several: bool,
}

impl Heads {
    /// Projected, normed heads, rotated where they are not values.
    fn run<'t>(&self, x: &Var<'t>, turn: Option<&(Var<'t>, Var<'t>)>) -> Var<'t> {
        self.finish(self.project(x), turn)
    }

    fn project<'t>(&self, x: &Var<'t>) -> Var<'t> {
        x.tape().at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        self.projection.run(x).view(self.rows[0])
    }

    fn finish<'t>(&self, mut heads: Var<'t>, turn: Option<&(Var<'t>, Var<'t>)>) -> Var<'t> {
        let tape = heads.tape();
        tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        heads = self.norm.run(&{ heads });
        if let Some((cos, sin)) = turn {
            tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
            heads = rotated(&{ heads }, (cos, sin), self.rows[1]);
        }
        heads.swap(self.form, self.several)
    }
}

/// Keys and values that the block makes.
#[derive(Clone, Copy, Debug)]
enum KeysAndValues {
    /// One after the other.
    InTurn([Heads; 2]),
    /// Both are projected before either is normed.
    Together([Heads; 2]),
    /// One matrix makes what both are normed from.
    Joint { keys: Heads, values: Norm },
}

impl KeysAndValues {
    fn run<'t>(&self, x: &Var<'t>, turn: Option<&(Var<'t>, Var<'t>)>) -> (Var<'t>, Var<'t>) {
        match self {
            Self::InTurn([key, value]) => {
                (key.run(x, turn).named("keys"), value.run(x, None).named("values"))
            }
            Self::Together([key, value]) => {
                let (keys, values) = (key.project(x), value.project(x));
                (key.finish(keys, turn).named("keys"), value.finish(values, None).named("values"))
            }
            Self::Joint { keys, values } => {
                let both = keys.project(x);
                let key = keys.finish(both.clone(), turn).named("keys");
                x.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
                let value = values.run(&{ both }).swap(keys.form, keys.several);
                (key, value.named("values"))
            }
        }
    }
}

/// Self-attention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attention {
    query: Heads,
    /// Keys and values, where the block makes its own.
    keys: Option<KeysAndValues>,
    output: Linear,
    core: Core,
    shapes: Shapes,
}

impl Attention {
    pub fn new(build: &Build<'_>, keys: Keys) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let columns = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(d.1));
        let project = |names: [&'static str; 2], heads: Dim| {
            tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
            let names = (names[0], model.attention_bias.then_some(names[1]));
            let width = columns(heads);
            build.column(
                Part::Attention,
                names,
                (width, with.h()),
                tape.form([with.b(), with.s(), width]),
            )
        };
        let norm = |heads: Dim, scaled: bool| {
            tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
            let rows = tape.form([with.b(), with.s(), heads]);
            if scaled { Norm::new(build, d, rows) } else { Norm::unscaled(build, rows) }
        };
        let made = |projection: Linear, norm: Norm, heads: Dim, form: Form| Heads {
            projection,
            norm,
            rows: [d, half(d.1)].map(|width| tape.form([with.b(), with.s(), heads, width])),
            form,
            several: heads.1 > 1,
        };
        let query = made(
            project(["query weight", "query bias"], heads),
            norm(heads, true),
            heads,
            build.shapes.queries,
        );
        let together = model.family.modules().block == BlockLayout::SandwichWithInput;
        let key = || project(["key weight", "key bias"], kv);
        let own = match keys {
            Keys::Own => {
                let (key, value) = (key(), project(["value weight", "value bias"], kv));
                let normed = norm(kv, true);
                let both = [
                    made(key, normed, kv, build.shapes.keys),
                    made(value, norm(kv, false), kv, build.shapes.values),
                ];
                Some(if together {
                    KeysAndValues::Together(both)
                } else {
                    KeysAndValues::InTurn(both)
                })
            }
            Keys::Joint => {
                let keys = made(key(), norm(kv, true), kv, build.shapes.keys);
                Some(KeysAndValues::Joint { keys, values: norm(kv, false) })
            }
            Keys::Shared | Keys::None => None,
        };
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", model.attention_output_bias.then_some("output bias"));
        let output =
            build.row(Part::Attention, names, (with.h(), columns(heads)), build.shapes.hidden);
        Self { query, keys: own, output, core: Core::new(build), shapes: build.shapes }
    }

    /// The attention's contribution, and the probabilities it returns.
    ///
    /// `led_here` is what a forward that runs again has recorded on the way to `x`.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        (x, led_here): (&Var<'t>, usize),
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let query = self.query.run(x, tables.rotary.as_ref()).named("queries");
        let (key, value) = match (&self.keys, &tables.layer) {
            (Some(made), layer) => {
                let from = tape.recorded();
                let (key, value) = made.run(x, tables.rotary.as_ref());
                if let Some(layer) = layer {
                    layer.keep(&key, &value, [0..led_here, from..tape.recorded()]);
                }
                (key, value)
            }
            (None, layer) => {
                layer.as_ref().and_then(|layer| layer.kept(tape)).unwrap_or_else(|| {
                    let earlier = |name, form| tape.constant(name, form, x.dtype());
                    (
                        earlier("keys of an earlier layer", self.shapes.keys),
                        earlier("values of an earlier layer", self.shapes.values),
                    )
                })
            }
        };
        let (output, weights) = self.core.run((&query, &key, &value), tables);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output), weights)
    }
}
