//! The step along an axis: stretches block by block, and the picture's view model.

use crate::charts::{CurveView, Overlay, PhaseSpan, Point, StepView, TickStyle, XScale};
use crate::estimator::{Phase, Stretch, Timeline};
use crate::units::{Bytes, MemoryUnit, to_f64};
use crate::view::curve_view::series;

/// Memory by kind.
pub type ByKind = [Bytes; 7];

/// Most blocks alike that are drawn one by one; of longer runs so many, spread evenly.
const MOST_DRAWN: u64 = 40;

/// All kinds together.
pub fn total(by_kind: &ByKind) -> Bytes {
    by_kind.iter().copied().sum()
}

/// A phase in one word.
pub const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Forward => "forward",
        Phase::Backward => "backward",
        Phase::Step => "optimizer",
        Phase::Evaluation => "evaluation",
    }
}

/// A stretch on the axis.
pub struct DrawnStretch<'a> {
    stretch: &'a Stretch,
    from: f64,
    /// Repetitions drawn, and the width of each.
    times: u64,
    width: f64,
}

impl DrawnStretch<'_> {
    fn to(&self) -> f64 {
        self.from + to_f64(self.times) * self.width
    }

    /// The repetition that is drawn at a place, of all repetitions.
    fn repetition(&self, drawn: u64) -> u64 {
        let (all, last) = (self.stretch.times.saturating_sub(1), self.times.saturating_sub(1));
        if last == 0 {
            0
        } else {
            u64::try_from(u128::from(drawn) * u128::from(all) / u128::from(last)).unwrap_or(all)
        }
    }

    /// Memory at one moment of a repetition: every repetition adds the same, and the highest is the
    /// last one, or the first.
    fn moment(&self, repetition: u64, peak: bool) -> ByKind {
        let stretch = self.stretch;
        let times = i128::from(stretch.times.max(1));
        let grows = total(&stretch.end) > total(&stretch.start);
        let mut memory = if peak { stretch.peak } else { stretch.start };
        let steps = i128::from(repetition) - if peak && grows { times - 1 } else { 0 };
        for (bytes, (start, end)) in memory.iter_mut().zip(stretch.start.iter().zip(&stretch.end)) {
            let added = (i128::from(end.0) - i128::from(start.0)) * steps / times;
            *bytes = Bytes(u64::try_from((i128::from(bytes.0) + added).max(0)).unwrap_or(u64::MAX));
        }
        memory
    }

    /// Where the highest repetition's peak is drawn.
    pub fn peak_at(&self) -> f64 {
        let grows = total(&self.stretch.end) > total(&self.stretch.start);
        let last = if grows { self.times.saturating_sub(1) } else { 0 };
        self.from + (to_f64(last) + 0.5) * self.width
    }
}

/// The stretches along the axis: one unit for a block; the ends of the model and the optimizer take
/// more, to be seen.
pub fn along(stretches: &[Stretch]) -> Vec<DrawnStretch<'_>> {
    let blocks: u64 = stretches
        .iter()
        .filter(|stretch| stretch.layer.is_some())
        .map(|stretch| stretch.times.min(MOST_DRAWN))
        .sum();
    let mut from = 0.0;
    stretches
        .iter()
        .map(|stretch| {
            let times = stretch.times.clamp(1, MOST_DRAWN);
            let share = if stretch.phase == Phase::Step { 0.1 } else { 0.04 };
            let width =
                if stretch.layer.is_some() { 1.0 } else { (to_f64(blocks) * share).max(1.0) };
            let drawn = DrawnStretch { stretch, from, times, width };
            from = drawn.to();
            drawn
        })
        .collect()
}

/// Memory along the axis.
pub fn moments_of(drawn: &[DrawnStretch<'_>]) -> Vec<(f64, ByKind)> {
    let mut moments = Vec::new();
    for (at, this) in drawn.iter().enumerate() {
        for place in 0..this.times {
            let (repetition, from) =
                (this.repetition(place), this.from + to_f64(place) * this.width);
            moments.push((from, this.moment(repetition, false)));
            moments.push((from + this.width / 2.0, this.moment(repetition, true)));
        }
        // Memory that is freed or taken between two stretches falls straight down or rises straight
        // up.
        if drawn.get(at + 1).is_none_or(|next| next.stretch.start != this.stretch.end) {
            moments.push((this.to() - this.width / 50.0, this.stretch.end));
        }
    }
    moments
}

/// The parts of the step along the axis.
pub fn phases(drawn: &[DrawnStretch<'_>]) -> Vec<PhaseSpan> {
    let mut phases: Vec<PhaseSpan> = Vec::new();
    for this in drawn {
        let name = phase_name(this.stretch.phase);
        match phases.last_mut() {
            Some(last) if last.name == name => last.to = this.to(),
            _ => phases.push(PhaseSpan { from: this.from, to: this.to(), name }),
        }
    }
    if let (Some(last), Some(end)) = (phases.last_mut(), drawn.last()) {
        // The axis ends with the last moment.
        last.to = end.to() - end.width / 50.0;
    }
    phases
}

/// The picture's view model; `beside` is drawn as a line over it.
pub fn view(
    id: &'static str,
    name: &str,
    timeline: &Timeline,
    (capacity, unit): (Bytes, MemoryUnit),
    beside: Option<&Timeline>,
) -> StepView {
    let amount = |bytes: Bytes| bytes.as_f64() / to_f64(unit.bytes());
    let drawn = along(&timeline.stretches);
    let moments = moments_of(&drawn);
    let peak = drawn.get(timeline.peak);
    let line = |other: &Timeline| {
        moments_of(&along(&other.stretches))
            .into_iter()
            .map(|(x, by_kind)| (x, amount(total(&by_kind))))
            .collect::<Vec<_>>()
    };
    let point = |(x, by_kind): &(f64, ByKind)| Point {
        x: *x,
        x_text: String::new(),
        tick: String::new(),
        stack: by_kind.map(amount),
        total: amount(total(by_kind)),
        blocked: false,
    };
    StepView {
        curve: CurveView {
            id,
            title: name.to_owned(),
            x_label: "one step, from left to right".to_owned(),
            y_label: format!("{unit} per GPU"),
            unit: unit.name(),
            series: series(&moments.iter().map(|(_, by_kind)| by_kind)),
            points: moments.iter().map(point).collect(),
            capacity: amount(capacity),
            capacity_text: format!("capacity {}", unit.number(capacity, 1)),
            current_x: peak.map_or(f64::NAN, DrawnStretch::peak_at),
            current_text: peak
                .map(|peak| format!("peak {}", unit.number(total(&peak.stretch.peak), 1)))
                .unwrap_or_default(),
            compare: beside
                .iter()
                .map(|other| Overlay {
                    name: "step 2".to_owned(),
                    line: line(other),
                    capacity: None,
                })
                .collect(),
            scale: XScale::Linear,
            ticks: TickStyle::Plain,
            ..CurveView::default()
        },
        phases: phases(&drawn),
    }
}
