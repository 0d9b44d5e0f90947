//! The memory of one accelerator as one bar with the line of its capacity.

use crate::app::answers::Answers;
use crate::app::compared::{LETTERS, labels};
use crate::app::markup::{Html, html};
use crate::app::words::{Scale, accelerator_name, kinds, margin, percent};
use crate::charts::{self, BarRow, BarView, Segment};
use crate::estimator::{Estimate, MemoryKind};
use crate::scenario::Scenario;
use crate::units::to_f64;

/// The bar for a column of that many CSS pixels, and what its parts are.
pub fn stack(answers: &Answers, width: u16) -> Html {
    html(
        r#"<figure id="stack" class="stack" data-own="stack"><div class="stack__chart" role="img" aria-label="{}">{}</div><ul class="stack__legend">{}</ul></figure>"#,
        &[&spoken(answers), &Html::made(charts::bar(&bar_view(answers), width)), &legend(answers)],
    )
}

/// Colour, name and amount of every kind in use, rounded so that they add up.
fn legend(answers: &Answers) -> Html {
    let item = |(kind, rounded): (MemoryKind, u64)| {
        html(
            r#"<li class="stack__item" data-key="{}"><span class="swatch">{}</span>{} <b class="number">{}</b></li>"#,
            &[&swatch_id(kind), &swatch(swatch_id(kind), kind), &kind.name(), &answers.scale.number(rounded)],
        )
    };
    kinds(&answers.estimate, answers.scale).into_iter().map(item).collect()
}

/// The swatch of a kind, under an id that is unique on the page.
pub fn swatch(id: &str, kind: MemoryKind) -> Html {
    Html::made(charts::swatch(id, kind.index()))
}

/// An id for the swatch of a kind in the bar's legend.
const fn swatch_id(kind: MemoryKind) -> &'static str {
    ["legend-p", "legend-g", "legend-o", "legend-a", "legend-k", "legend-t", "legend-f"][kind.index()]
}

/// One row, and one for each scenario that it is compared with.
fn bar_view(answers: &Answers) -> BarView {
    let alone = answers.others.is_empty();
    let all: Vec<&Scenario> =
        std::iter::once(&answers.scenario).chain(answers.others.iter().map(|other| &other.scenario)).collect();
    let labels = if alone { vec![String::new()] } else { labels(&all) };
    let mut names = ["A"].iter().chain(&LETTERS).zip(labels).map(|(letter, label)| format!("{letter}: {label}"));
    let mut rows = vec![row(&answers.estimate, &answers.scenario, answers.scale, names.next().unwrap_or_default())];
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
    let amount = |rounded: u64| to_f64(rounded) / to_f64(10_u64.pow(scale.decimals));
    let segment = |(kind, rounded): (MemoryKind, u64)| Segment {
        kind_index: kind.index(),
        name: kind.name().to_owned(),
        value_text: scale.number(rounded),
        value: amount(rounded),
    };
    let (number, caption) = margin(estimate, scale);
    let word = caption.split(' ').next().unwrap_or_default();
    BarRow {
        name,
        segments: kinds(estimate, scale).into_iter().map(segment).collect(),
        capacity: amount(scale.round(estimate.capacity)),
        capacity_text: format!("{} {unit} on {}", scale.show(estimate.capacity), accelerator_name(scenario)),
        margin_text: format!("{number} {unit} {word}"),
    }
}

/// The bar in words.
fn spoken(answers: &Answers) -> String {
    let (estimate, scale) = (&answers.estimate, answers.scale);
    let parts: Vec<String> = kinds(estimate, scale)
        .into_iter()
        .map(|(kind, rounded)| {
            format!("{} {}, {}", kind.name(), scale.number(rounded), percent(estimate.ledger.of(kind), estimate.total()))
        })
        .collect();
    format!("Memory of one GPU in {}: {}; capacity {}.", answers.unit, parts.join("; "), scale.show(estimate.capacity))
}

#[cfg(test)]
mod tests {
    use super::stack;
    use crate::app::answers::Other;
    use crate::app::panels::tests::{answers, count};
    use crate::scenario::codec::decode;

    #[test]
    fn one_bar_alone_and_one_more_for_each_compared() {
        let mut answers = answers("v1&m=llama3-8b&n=8");
        let alone = stack(&answers, 848);
        assert_eq!(count(&alone, "chart-text-name"), 0);
        answers.others = vec![Other::of(&decode("v1&m=llama3-8b&n=16").scenario); 3];
        let both = stack(&answers, 848);
        assert_eq!(count(&both, "chart-text-name"), 4);
        assert!(
            both.as_str().contains("A: Llama 3 8B, 8 × H100 SXM5") && both.as_str().contains("D: Llama 3 8B, 16 × H100 SXM5")
        );
        assert_eq!(count(&both, "stack__item"), count(&alone, "stack__item"));
    }
}
