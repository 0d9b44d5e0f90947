//! All micro-batches of a pipeline stage, as PyTorch's pipelines run them under FSDP2
//! (`torch/distributed/pipelining/{stage,schedules}.py`, 2.15).
//!
//! Weights stay gathered and whole gradients add up until all micro-batches are through; then
//! group by group is reduced. A stage lets its output go when it has been sent. The loss of every
//! micro-batch stays until then, and with it the input that its graph begins with.

use std::collections::VecDeque;

use super::{Pass, forward};
use crate::estimator::timeline::blocks::Layers;
use crate::estimator::timeline::groups::Groups;
use crate::estimator::timeline::plan::Plan;
use crate::ops::modules::Ends;
use crate::ops::tape::{Kind, Tape, Var};

/// Tensors that stay of a stage's micro-batches; one stands for all that are not played.
type Kept<'t> = Vec<Var<'t>>;

/// Plays one micro-batch with what the others leave beside it; the answer is what stays until the
/// step has ended.
pub(super) fn one_for_all<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    model: (&Ends, &Layers, &Groups<'t>),
    ids: &Var<'t>,
) -> Kept<'t> {
    model.2.reduces(false);
    let mut pass = forward(tape, plan, model, ids);
    let others = plan.micro_batches.saturating_sub(1);
    let inputs = others_like(tape, plan, pass.held[0].as_ref(), others);
    let mut outputs = others_like(tape, plan, pass.held[1].as_ref(), keeps_outputs(plan, others));
    pass.backward(tape, plan);
    outputs.extend(pass.held[1].take().filter(|_| plan.with.stack.stages.keep_outputs()));
    drop((pass, inputs));
    ends(tape, plan, model.2, outputs)
}

/// Plays all micro-batches of a step in order, or as many as it takes until nothing grows; the
/// answer is what stays until the step has ended.
pub(super) fn all<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    model: (&Ends, &Layers, &Groups<'t>),
    ids: &Var<'t>,
) -> Kept<'t> {
    let groups = model.2;
    groups.reduces(false);
    tape.hands_gradients_on(true);
    let played = u64::try_from(plan.passes.len() / 2).unwrap_or(u64::MAX);
    let others = plan.micro_batches.saturating_sub(played);
    let mut waiting = VecDeque::new();
    let (mut sent, mut inputs, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for (at, pass) in plan.passes.iter().enumerate() {
        if pass.releases() {
            sent.clear();
            let Some(mut pass): Option<Pass<'_, '_>> = waiting.pop_front() else { continue };
            pass.backward(tape, plan);
            let [input, output] = &mut pass.held;
            inputs.extend(input.take().filter(|_| plan.stage.head));
            outputs.extend(output.take().filter(|_| plan.with.stack.stages.keep_outputs()));
        } else {
            let mut pass = forward(tape, plan, model, ids);
            if at == 0 {
                inputs.extend(others_like(tape, plan, pass.held[0].as_ref(), others));
                outputs.extend(others_like(
                    tape,
                    plan,
                    pass.held[1].as_ref(),
                    keeps_outputs(plan, others),
                ));
            }
            if !plan.stage.head {
                // One after the other is sent while the next forward runs; under GPipe all are
                // waited for behind them.
                let follows = plan.passes.get(at + 1).is_some_and(|next| !next.releases());
                let output = tape.kept_alive(&pass.loss);
                pass.loss = pass.loss.edge();
                if plan.sends_at_once {
                    sent.clear();
                }
                sent.extend(Some(output).filter(|_| follows || !plan.sends_at_once));
            }
            waiting.push_back(pass);
        }
    }
    drop((sent, inputs));
    let kept = ends(tape, plan, groups, outputs);
    tape.hands_gradients_on(false);
    kept
}

/// All gradients are reduced; outputs that were kept are joined.
fn ends<'t>(tape: &'t Tape, plan: &Plan<'_>, groups: &Groups<'t>, outputs: Kept<'t>) -> Kept<'t> {
    groups.finalize();
    if let Some(output) = outputs.first().filter(|_| plan.with.stack.stages.keep_outputs()) {
        drop(like(tape, output, plan.micro_batches));
    }
    outputs
}

/// How many outputs stay of so many micro-batches.
fn keeps_outputs(plan: &Plan<'_>, others: u64) -> u64 {
    if plan.with.stack.stages.keep_outputs() { others } else { 0 }
}

/// Tensors of so many further micro-batches on the last stage.
fn others_like<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    found: Option<&Var<'t>>,
    others: u64,
) -> Kept<'t> {
    let found = found.filter(|_| plan.stage.head && others > 0);
    found.map(|found| like(tape, found, others)).into_iter().collect()
}

fn like<'t>(tape: &'t Tape, of: &Var<'t>, times: u64) -> Var<'t> {
    let elements = tape.state().elements(of.form()).saturating_mul(times);
    tape.lump("tensors of the other micro-batches", (Kind::Activation, elements, of.dtype()))
}
