//! GPT-NeoX's block (transformers 5.23, `models/gpt_neox/modeling_gpt_neox.py`): attention and
//! feed-forward side by side.

use super::attention_core::Core;
use super::mlp::Mlp;
use super::norm::Norm;
use super::rotary::rotated;
use super::{Block, Build, Linear, Part, Tables, half};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// One block.
#[derive(Debug)]
pub(super) struct Neox {
    norms: [Norm; 2],
    projection: Linear,
    output: Linear,
    mlp: Mlp,
    core: Core,
    parallel: bool,
    several: bool,
    forms: Forms,
}

/// Shapes of the joint projection and of rotated parts.
#[derive(Clone, Copy, Debug)]
struct Forms {
    joint_rows: Form,
    joint: Form,
    queries: Form,
    rotated: Form,
    half: Form,
    rest: Form,
}

impl Neox {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model, tape, h) = (build.with, build.model(), build.tape, build.with.h());
        let norm = |name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, h, build.shapes.rows)
        };
        let norms = [norm("Input norm"), norm("Post-attention norm")];
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let (heads, d) = (with.own_heads(), with.head_dim().1);
        let width = heads.1.saturating_mul(d);
        let joint = Dim("q+k+v width", width.saturating_mul(3));
        let bias = |name| model.attention_bias.then_some(name);
        let form = tape.form([with.b(), with.s(), joint]);
        let projection = build.column(
            Part::Attention,
            ("query, key and value weight", bias("query, key and value bias")),
            (joint, h),
            form,
        );
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let part = Dim("num_attention_heads", width);
        let output = build.row(
            Part::Attention,
            ("output weight", bias("output bias")),
            (h, part),
            build.shapes.hidden,
        );
        let mlp = Mlp::new(build);
        let rotated = model.rotary_dim.unwrap_or(d);
        let triple = Dim("head_dim of q+k+v", d.saturating_mul(3));
        let forms = Forms {
            joint_rows: tape.form([with.b(), with.s(), heads, triple]),
            joint: tape.form([with.b(), heads, with.s(), triple]),
            queries: build.shapes.queries,
            rotated: tape.form([with.b(), heads, with.s(), Dim("rotated width", rotated)]),
            half: tape.form([with.b(), heads, with.s(), half(rotated)]),
            rest: tape.form([
                with.b(),
                heads,
                with.s(),
                Dim("unrotated width", d.saturating_sub(rotated)),
            ]),
        };
        let (core, parallel, several) = (Core::new(build), model.parallel_residual, heads.1 > 1);
        Self { norms, projection, output, mlp, core, parallel, several, forms }
    }

    fn attention<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let forms = &self.forms;
        let joint = self.projection.run(x).named("queries, keys and values").view(forms.joint_rows);
        let joint = joint.swap(forms.joint, self.several);
        let [q, k, v] = joint.clone().split([forms.queries; 3]);
        let (q, k) = self.rotate(tape, (q, k), tables);
        let (k, v) = tables.seen((k, v));
        let (output, weights) = self.core.run((&q, &k, &v), tables);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output), weights)
    }

    /// `apply_rotary_pos_emb` on the first part of each head.
    fn rotate<'t>(
        &self,
        tape: &'t Tape,
        (q, k): (Var<'t>, Var<'t>),
        tables: &Tables<'t>,
    ) -> (Var<'t>, Var<'t>) {
        let Some((cos, sin)) = &tables.rotary else { return (q, k) };
        tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let forms = &self.forms;
        let parts = |x: &Var<'t>| (x.clone().slice(forms.rotated), x.clone().slice(forms.rest));
        let ((q_rot, q_pass), (k_rot, k_pass)) = (parts(&q), parts(&k));
        let queries = rotated(&q_rot, (cos, sin), forms.half);
        let keys = rotated(&k_rot, (cos, sin), forms.half);
        let queries = queries.cat(q_pass, forms.queries).named("queries");
        let keys = keys.cat(k_pass, forms.queries).named("keys");
        (queries, keys)
    }
}

impl Block for Neox {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let normed = self.norms[0].run(hidden);
        let (attention, _weights) = self.attention(tape, &normed, tables);
        drop(normed);
        let norm = |x: &Var<'t>| {
            tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
            self.norms[1].run(x)
        };
        if self.parallel {
            let feed_forward = self.mlp.run(tape, &norm(hidden));
            let output = feed_forward.clone().add(attention.clone()).add(hidden.clone());
            return (output.named("block output"), None);
        }
        let attention = attention.add(hidden.clone()).named("attention residual");
        let feed_forward = self.mlp.run(tape, &norm(&attention));
        let output = feed_forward.clone().add(attention.clone());
        (output.named("block output"), None)
    }
}
