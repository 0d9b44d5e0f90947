//! The memory of one accelerator as one bar with the line of its capacity.

use crate::charts::{self, BarRow, BarSegment, BarView};
use crate::estimator::{Estimate, MemoryKind, with_overheads};
use crate::scenario::Scenario;
use crate::units::{Bytes, to_f64};
use crate::view::answers::Answers;
use crate::view::compared::{LETTERS, labels};
use crate::view::explaining::{is_open, place, unfold};
use crate::view::markup::{Html, html};
use crate::view::ui::{ChartsLook, Opened};
use crate::view::words::{Scale, accelerator_name, kinds, margin, percent};

/// The bar, and what its parts are, each of which opens its explanation; of the moment when the
/// optimizer steps where a story asks for it.
pub fn stack(answers: &Answers, look: &ChartsLook, opened: &Opened) -> Html {
    let later = look.at_step.then(|| moment(answers)).flatten();
    let (view, kinds) = match &later {
        Some(moment) => {
            (BarView { id: "stack", rows: vec![moment.row(answers)] }, moment.kinds.clone())
        }
        None => (bar_view(answers), kinds(&answers.estimate, answers.scale)),
    };
    let spoken = later.as_ref().map_or_else(|| spoken(answers), |moment| moment.spoken(answers));
    html! {
        figure id="stack" class="stack" data-own="stack" {
            div class="stack__chart" role="img" aria-label=(spoken) {
                (Html::made(charts::bar(&view, look.bar_width)))
            }
            ul class="stack__legend" { (legend(answers, opened, &kinds)) }
            @for (kind, _) in &kinds { (place(opened, &path(*kind))) }
        }
    }
}

/// The moment when the optimizer steps.
struct Moment {
    kinds: Vec<(MemoryKind, u64)>,
    total: Bytes,
}

/// Memory when the optimizer steps; nothing where the step is not played moment by moment, so that
/// no such moment is known.
fn moment(answers: &Answers) -> Option<Moment> {
    let bytes = with_overheads(&answers.job, answers.estimate.timeline.as_ref()?.at_step()?);
    // Each by itself, as a story's figures are written: no total stands beside them.
    let kinds = MemoryKind::ALL.into_iter().zip(bytes).filter(|(_, bytes)| bytes.0 > 0);
    let kinds = kinds.map(|(kind, bytes)| (kind, answers.scale.round(bytes))).collect();
    Some(Moment { kinds, total: bytes.into_iter().sum() })
}

impl Moment {
    /// Its bar, which says what moment it is of.
    fn row(&self, answers: &Answers) -> BarRow {
        let (scale, capacity) = (answers.scale, answers.estimate.capacity);
        let word = if self.total > capacity { "short" } else { "free" };
        BarRow {
            name: "When the optimizer steps".to_owned(),
            segments: segments(&self.kinds, scale),
            margin_text: format!("{} {} {word}", scale.gap(self.total, capacity), scale.unit),
            ..row(&answers.estimate, &answers.scenario, scale, String::new())
        }
    }

    /// The bar in words.
    fn spoken(&self, answers: &Answers) -> String {
        let part = |(kind, rounded): &(MemoryKind, u64)| {
            format!("{} {}", kind.name(), answers.scale.number(*rounded))
        };
        let parts: Vec<String> = self.kinds.iter().map(part).collect();
        format!(
            "Memory of one GPU when the optimizer steps, in {}: {}.",
            answers.unit,
            parts.join("; ")
        )
    }
}

/// Path of the explanation that a part of the bar opens.
fn path(kind: MemoryKind) -> String {
    format!("bar/{}", kind.name())
}

/// Colour, name and amount of every kind in use, rounded so that they add up.
fn legend(answers: &Answers, opened: &Opened, kinds: &[(MemoryKind, u64)]) -> Html {
    let item = |(kind, rounded): &(MemoryKind, u64)| {
        let path = path(*kind);
        html! {
            li class="stack__item" data-key=(swatch_id(*kind)) {
                button type="button" class="stack__why" aria-expanded=(is_open(opened, &path))
                    title="Formula, numbers, source" data-do=(unfold(&path)) {
                    span class="swatch" { (swatch(swatch_id(*kind), *kind)) }
                    (kind.name())
                    " "
                    b class="number" { (answers.scale.number(*rounded)) }
                }
            }
        }
    };
    kinds.iter().map(item).collect()
}

/// The swatch of a kind, under an id that is unique on the page.
pub fn swatch(id: &str, kind: MemoryKind) -> Html {
    Html::made(charts::swatch(id, kind.index()))
}

/// An id for the swatch of a kind in the bar's legend.
const fn swatch_id(kind: MemoryKind) -> &'static str {
    ["legend-p", "legend-g", "legend-o", "legend-a", "legend-k", "legend-t", "legend-f"]
        [kind.index()]
}

/// One row, and one for each scenario that it is compared with.
fn bar_view(answers: &Answers) -> BarView {
    let alone = answers.others.is_empty();
    let all: Vec<&Scenario> = std::iter::once(&answers.scenario)
        .chain(answers.others.iter().map(|other| &other.scenario))
        .collect();
    let labels = if alone { vec![String::new()] } else { labels(&all) };
    let mut names = ["A"]
        .iter()
        .chain(&LETTERS)
        .zip(labels)
        .map(|(letter, label)| format!("{letter}: {label}"));
    let mut rows = vec![row(
        &answers.estimate,
        &answers.scenario,
        answers.scale,
        names.next().unwrap_or_default(),
    )];
    for (name, other) in names.zip(&answers.others) {
        let Some((_, estimate)) = &other.answer else { continue };
        let scale = Scale::of(answers.unit, estimate.total(), estimate.capacity);
        rows.push(row(estimate, &other.scenario, scale, name));
    }
    if let [only] = rows.as_mut_slice() {
        only.name.clear();
    }
    BarView { id: "stack", rows }
}

fn row(estimate: &Estimate, scenario: &Scenario, scale: Scale, name: String) -> BarRow {
    let unit = scale.unit;
    let (number, caption) = margin(scenario, estimate, scale);
    let word = caption.split(' ').next().unwrap_or_default();
    BarRow {
        name,
        segments: segments(&kinds(estimate, scale), scale),
        capacity: amount(scale.round(estimate.capacity), scale),
        capacity_text: format!(
            "{} {unit} on {}",
            scale.show(estimate.capacity),
            accelerator_name(scenario)
        ),
        margin_text: format!("{number} {unit} {word}"),
    }
}

fn segments(kinds: &[(MemoryKind, u64)], scale: Scale) -> Vec<BarSegment> {
    let all: u64 = kinds.iter().map(|(_, rounded)| rounded).sum();
    let segment = |(kind, rounded): &(MemoryKind, u64)| {
        let (name, value) = (kind.name(), scale.number(*rounded));
        BarSegment {
            kind_index: kind.index(),
            name: name.to_owned(),
            tip: format!(
                "{name}: {value} {}, {} of what is used",
                scale.unit,
                percent(Bytes(*rounded), Bytes(all))
            ),
            value_text: value,
            value: amount(*rounded, scale),
            action: unfold(&path(*kind)).write(),
        }
    };
    kinds.iter().map(segment).collect()
}

/// A rounded amount in the displayed unit.
fn amount(rounded: u64, scale: Scale) -> f64 {
    to_f64(rounded) / to_f64(10_u64.pow(scale.decimals))
}

/// The bar in words.
fn spoken(answers: &Answers) -> String {
    let (estimate, scale) = (&answers.estimate, answers.scale);
    let parts: Vec<String> = kinds(estimate, scale)
        .into_iter()
        .map(|(kind, rounded)| {
            format!(
                "{} {}, {}",
                kind.name(),
                scale.number(rounded),
                percent(estimate.ledger.of(kind), estimate.total())
            )
        })
        .collect();
    format!(
        "Memory of one GPU in {}: {}; capacity {}.",
        answers.unit,
        parts.join("; "),
        scale.show(estimate.capacity)
    )
}

#[cfg(test)]
mod tests {
    use super::stack;
    use crate::scenario::codec::decode;
    use crate::view::answers::{Answers, Other};
    use crate::view::markup::Html;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::{ChartsLook, Opened};

    fn folded(answers: &Answers, at_step: bool) -> Html {
        stack(answers, &ChartsLook { at_step, ..ChartsLook::default() }, &Opened::default())
    }

    #[test]
    fn parts_and_legend_open_their_explanation() {
        let answers = answers("v1&m=llama3-8b&n=8");
        let closed = folded(&answers, false);
        // Once in the bar, once in the legend.
        assert_eq!(count(&closed, "data-do=\"open:why/bar/Weights\""), 2);
        assert!(closed.as_str().contains("<title>Weights: ") && count(&closed, "data-why") == 0);
        let mut opened = Opened::default();
        opened.toggle("why/bar/Weights");
        let open = stack(&answers, &ChartsLook::default(), &opened);
        assert_eq!(
            (count(&open, "data-why=\"bar/Weights\""), count(&open, "aria-expanded=\"true\"")),
            (1, 1)
        );
    }

    #[test]
    fn the_bar_of_the_optimizer_s_moment_shows_whole_states() {
        // By division: 16 bytes for each of 6 738 415 616 parameters, of which the fullest moment
        // has only a part of the gradients.
        let of = |at_step| {
            text(&folded(&answers("v1&m=llama2-7b&gpu=b200&n=1&z=none&s=512&gb=1&u=gb"), at_step))
        };
        let (peak, states) = (of(false), of(true));
        assert!(
            peak.contains("Gradients 13.2") && !peak.contains("When the optimizer steps"),
            "{peak}"
        );
        assert!(states.contains("Weights 13.5") && states.contains("Gradients 13.5"), "{states}");
        assert!(
            states.contains("Optimizer states 80.9") && states.contains("When the optimizer steps"),
            "{states}"
        );
        // Nothing is known moment by moment about a server: the fullest moment stays.
        let serving = answers("v1&do=serve&m=llama3-8b&n=1");
        assert_eq!(folded(&serving, true), folded(&serving, false));
    }

    #[test]
    fn one_bar_alone_and_one_more_for_each_compared() {
        let mut answers = answers("v1&m=llama3-8b&n=8");
        let alone = folded(&answers, false);
        assert_eq!(count(&alone, "chart-text-name"), 0);
        answers.others = vec![Other::of(&decode("v1&m=llama3-8b&n=16").scenario); 3];
        let both = folded(&answers, false);
        assert_eq!(count(&both, "chart-text-name"), 4);
        assert!(
            both.as_str().contains("A: Llama 3 8B, 8 × H100 SXM5")
                && both.as_str().contains("D: Llama 3 8B, 16 × H100 SXM5")
        );
        assert_eq!(count(&both, "stack__item"), count(&alone, "stack__item"));
    }
}
