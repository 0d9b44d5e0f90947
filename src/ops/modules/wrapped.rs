//! Adapters of parameters that no linear layer holds: all experts' matrices, and a router's (peft
//! 0.21, `tuners/lora/layer.py`, `ParamWrapper`). Each pass adds the whole update to a copy of the
//! weight.

use super::Build;
use crate::config::{Method, Targets};
use crate::ops::tape::{Factors, Form, Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;

/// The adapter of one parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapped {
    down: Param,
    up: Param,
    whole: Form,
    /// `[experts, output, r]` and `[experts, r, input]`; `None` for a matrix alone.
    factors: Option<[Form; 2]>,
}

/// The update of a parameter, made before the layer runs and held by its wrapper as long.
pub(super) struct Update<'t> {
    weight: Param,
    whole: Form,
    by: By<'t>,
}

/// The update's values in the weight's format.
enum By<'t> {
    /// All values in one tensor.
    Sum(Var<'t>),
    /// The two matrices that make them.
    Factors([Var<'t>; 2]),
}

impl Wrapped {
    /// The adapter of matrices `[experts, output, input]` that stand for linear layers of these
    /// names; where names were joined in one matrix, each of them adds its rank.
    pub fn of_experts(
        build: &Build<'_>,
        names: &[Targets],
        [experts, output, input]: [Dim; 3],
    ) -> Option<Self> {
        let tuning = build.with.tuning;
        let found = names.iter().filter(|name| name.meets(tuning.target_modules)).count();
        if !finds(build) || found == 0 {
            return None;
        }
        let branches = u64::try_from(names.len()).unwrap_or(1);
        let r = Dim("r", tuning.r.saturating_mul(branches));
        let all = Dim("r of all experts", r.1.saturating_mul(experts.1));
        let factors = [[experts, output, r], [experts, r, input]].map(|dims| build.tape.form(dims));
        let whole = build.tape.form([experts, output, input]);
        Some(Self::made(build, [[all, input], [output, all]], (whole, Some(factors))))
    }

    /// The adapter of a router's matrix `[experts, input]`.
    pub fn of_router(build: &Build<'_>, [experts, input]: [Dim; 2]) -> Option<Self> {
        let tuning = build.with.tuning;
        if !finds(build) || !Targets::OTHERS.meets(tuning.target_modules) {
            return None;
        }
        let r = Dim("r", tuning.r);
        let whole = build.tape.form([experts, input]);
        Some(Self::made(build, [[r, input], [experts, r]], (whole, None)))
    }

    fn made(
        build: &Build<'_>,
        [down, up]: [[Dim; 2]; 2],
        (whole, factors): (Form, Option<[Form; 2]>),
    ) -> Self {
        let (tape, tuning) = (build.tape, build.with.tuning);
        let dtype = tuning.adapter_dtype.unwrap_or(build.with.parameter);
        let frozen = tape.freeze(false);
        let parameter = |name, dims: [Dim; 2]| tape.parameter(name, tape.form(dims), dtype);
        let (down, up) = (parameter("adapter A", down), parameter("adapter B", up));
        tape.freeze(frozen);
        Self { down, up, whole, factors }
    }

    /// Makes the update of that weight.
    pub fn update<'t>(&self, tape: &'t Tape, weight: Param) -> Update<'t> {
        let format = tape.read(weight).dtype();
        let (up, down) = (tape.read(self.up), tape.read(self.down));
        let by = match self.factors {
            None => {
                let before = tape.multiplies(Factors::Adapter);
                let product = up.matrices(down, self.whole, false);
                tape.multiplies(before);
                By::Sum(product.apply(SCALE).cast_as(format, "update of a weight"))
            }
            // Experts lie side by side in the columns of the second matrix.
            Some([left, right]) => {
                let left = up.heads(left, true).cast_as(format, "adapter B in the weight's format");
                By::Factors([
                    left,
                    down.view(right).cast_as(format, "adapter A in the weight's format"),
                ])
            }
        };
        Update { weight, whole: self.whole, by }
    }
}

impl<'t> Update<'t> {
    /// The weight with its update: a tensor of the weight's size.
    pub fn weight(&self, tape: &'t Tape) -> Var<'t> {
        match &self.by {
            By::Sum(update) => tape.read(self.weight).add(update.clone()).named("adapted weight"),
            By::Factors([left, right]) => {
                let before = tape.multiplies(Factors::Adapter);
                let adapted = left
                    .clone()
                    .scaled_matrices(right.clone(), self.whole)
                    .named("adapted expert weights");
                tape.multiplies(before);
                adapted
            }
        }
    }
}

/// True if peft finds experts and routers by names of linear layers.
fn finds(build: &Build<'_>) -> bool {
    build.model().family.modules().peft_finds_experts && build.with.tuning.method == Method::Lora
}
