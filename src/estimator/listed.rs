//! Jobs whose memory is a sum over the operation list at a few moments: serving, and training whose
//! step is not played.

use std::rc::Rc;

use super::activations::{self, Moment as When};
use super::ledger::{Ledger, LineItem, sort_by_kind};
use super::stage::{self, Scope};
use super::{Moment, host, overhead, reservation, states};
use crate::config::{Job, Recompute};
use crate::ops::{self, OpList};
use crate::units::Bytes;

/// The highest moment of the stage that holds most.
pub(super) struct Peak<'a> {
    pub scope: Scope<'a>,
    pub by_kind: [Bytes; 7],
    moment: When,
}

impl Peak<'_> {
    fn total(&self) -> Bytes {
        self.by_kind.into_iter().sum()
    }

    /// When it is.
    pub fn name(&self) -> &'static str {
        activations::name(
            self.moment,
            self.scope.job.training().map_or(Recompute::None, |run| run.recompute),
        )
    }

    /// Every line alive then; with the tensors behind it, if they are wanted.
    pub fn lines(&self, detail: bool) -> Vec<LineItem> {
        alive(&Scope { detail, ..self.scope.clone() }, self.moment)
    }
}

/// Compares all moments of all stages.
pub(super) fn peak<'a>(job: &'a Job, list: &'a OpList) -> (Peak<'a>, Vec<Moment>) {
    let mut moments = Vec::with_capacity(8);
    let parameters = Rc::new(stage::Parameters::of(job, list));
    let scope =
        |stage| Scope { job, list, stage, parameters: Rc::clone(&parameters), detail: false };
    let each = stage::stages(job).into_iter().map(|stage| peak_of(&scope(stage), &mut moments));
    // Of equal ones the first.
    let highest =
        each.reduce(|best, other| if other.total() > best.total() { other } else { best });
    let nothing =
        || Peak { scope: scope(stage::only(job)), moment: When::Step, by_kind: [Bytes::ZERO; 7] };
    (highest.unwrap_or_else(nothing), moments)
}

/// Compares all moments of one stage and adds them to `moments`.
pub(super) fn peak_of<'a>(scope: &Scope<'a>, moments: &mut Vec<Moment>) -> Peak<'a> {
    let mut highest = Peak { scope: scope.clone(), moment: When::Step, by_kind: [Bytes::ZERO; 7] };
    for &moment in activations::moments(scope.job, scope.stage.head) {
        let by_kind = Ledger { lines: alive(scope, moment) }.by_kind();
        let peak = Peak { scope: scope.clone(), by_kind, moment };
        moments.push(Moment { name: peak.name(), total: peak.total() });
        if peak.total() > highest.total() {
            highest = peak;
        }
    }
    highest
}

/// Every line alive at that moment, in the order of the kinds.
pub(super) fn alive(scope: &Scope, moment: When) -> Vec<LineItem> {
    with_weights(scope, moment, states::lines(scope))
}

/// Every line alive at that moment, given the lines of weights and states, which no moment changes.
pub(super) fn with_weights(scope: &Scope, moment: When, lines: Vec<LineItem>) -> Vec<LineItem> {
    let mut lines = model(scope, moment, lines);
    overhead::add(scope.job, &mut lines);
    reservation::add(scope.job, &mut lines);
    sort_by_kind(&mut lines);
    lines
}

/// Lines that the model itself holds on the device at that moment.
fn model(scope: &Scope, moment: When, mut lines: Vec<LineItem>) -> Vec<LineItem> {
    activations::add(scope, moment, &mut lines);
    lines.retain(|line| !host::is_away(scope.job, line.kind));
    lines
}

/// Bytes that the model holds by kind, at every moment of every stage.
pub(super) fn moments(job: &Job) -> Vec<[Bytes; 7]> {
    let list = ops::without_products(&ops::lowering(job));
    let parameters = Rc::new(stage::Parameters::of(job, &list));
    let of_stage = |stage: stage::Stage| {
        let scope =
            Scope { job, list: &list, stage, parameters: Rc::clone(&parameters), detail: false };
        let states = states::lines(&scope);
        let moments = activations::moments(job, scope.stage.head).iter();
        let by_kind =
            |moment: &When| Ledger { lines: model(&scope, *moment, states.clone()) }.by_kind();
        moments.map(by_kind).collect::<Vec<_>>()
    };
    stage::stages(job).into_iter().flat_map(of_stage).collect()
}
