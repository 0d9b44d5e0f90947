//! Differences between the scenario shown and those pinned beside it, as finished words: inputs
//! first, then results.

use super::answers::{Answers, Other, Standing};
use super::panels::printed::SAID_ELSEWHERE;
use super::timing::{Fact, facts};
use super::words::{
    Scale, doing, hardware, kinds, lower_first, model_name, remarks, shown, verdict_word,
};
use crate::config::Job;
use crate::estimator::time::{Timing, timing};
use crate::estimator::{Estimate, MemoryKind};
use crate::planner::{GpuCount, fleet_of, gpu_count};
use crate::scenario::{Field, FieldId, Remark, Scenario, Word, field};
use crate::units::grouped;

/// Names of the scenarios beside the first, in their order.
pub const LETTERS: [&str; 3] = ["B", "C", "D"];

/// The text of a cell without a value.
const NOTHING: &str = "–";

/// One line of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedLine {
    /// An input or a result.
    pub name: String,
    /// The value in the scenario shown.
    pub shown: String,
    /// The values in the other scenarios.
    pub others: Vec<ComparedCell>,
}

/// A line's cell for one of the other scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedCell {
    /// The value.
    pub text: String,
    /// For amounts of memory: how much more than in the scenario shown, with its sign; as printed,
    /// the values differ by just this.
    pub more: Option<String>,
}

impl ComparedLine {
    /// True if any of the others differs.
    pub fn differs(&self) -> bool {
        self.others.iter().any(|cell| cell.text != self.shown)
    }
}

/// Everything that differs, and the results that matter most even where they do not.
pub fn lines(scenario: &Scenario, answers: &Answers) -> Vec<ComparedLine> {
    let mut lines: Vec<ComparedLine> = inputs(scenario, &answers.others);
    let results = memory(answers).into_iter().chain(results(answers));
    if answers.standing == Standing::Present {
        lines.extend(results);
    } else {
        lines.extend(results.filter_map(of_others));
    }
    lines
}

/// A line without the result of the scenario shown, which has none; nothing where it is the only
/// one that has one.
fn of_others(line: ComparedLine) -> Option<ComparedLine> {
    let others: Vec<ComparedCell> =
        line.others.into_iter().map(|cell| ComparedCell { more: None, ..cell }).collect();
    let any = others.iter().any(|cell| cell.text != NOTHING);
    any.then(|| ComparedLine { name: line.name, shown: NOTHING.to_owned(), others })
}

fn plain(name: &str, shown: String, others: impl Iterator<Item = String>) -> ComparedLine {
    ComparedLine {
        name: name.to_owned(),
        shown,
        others: others.map(|text| ComparedCell { text, more: None }).collect(),
    }
}

/// Names that tell some scenarios apart: of each its own name where they have different ones, its
/// model, and what else tells it apart.
pub fn labels(all: &[&Scenario]) -> Vec<String> {
    let differ = |of: &dyn Fn(&Scenario) -> String| {
        all.iter().any(|other| Some(of(other)) != all.first().map(|first| of(first)))
    };
    let named = differ(&Scenario::name);
    let modes = differ(&|scenario| scenario.mode().word().to_owned());
    let cards = differ(&hardware);
    let plain = !modes && !cards && !differ(&model_name);
    let fields = if plain { differing(all) } else { Vec::new() };
    let label = |scenario: &&Scenario| {
        let name = Some(scenario.name()).filter(|name| named && !name.is_empty());
        let mut words = vec![model_name(scenario)];
        words.extend(modes.then(|| doing(scenario).to_ascii_lowercase()));
        words.extend(cards.then(|| hardware(scenario)));
        // Two differences tell scenarios apart; the table has them all.
        let values = fields.iter().filter(|id| **id != FieldId::Name).take(2);
        words.extend(values.map(|id| {
            format!("{} {}", lower_first(field(*id).label), shown(scenario, *id))
                .trim_end()
                .to_owned()
        }));
        let words = words.join(", ");
        name.map_or_else(|| words.clone(), |name| format!("{name}: {words}"))
    };
    all.iter().map(label).collect()
}

/// The inputs in which any of them differs from the first, in the order of the form.
fn differing(all: &[&Scenario]) -> Vec<FieldId> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let differing: Vec<FieldId> =
        others.iter().flat_map(|other| first.differences(other)).collect();
    crate::scenario::fields()
        .iter()
        .map(|field| field.id)
        .filter(|id| differing.contains(id))
        .collect()
}

/// The inputs in which any of them differs, and what any of the answers does not hold.
fn inputs(scenario: &Scenario, others: &[Other]) -> Vec<ComparedLine> {
    let all: Vec<&Scenario> =
        std::iter::once(scenario).chain(others.iter().map(|other| &other.scenario)).collect();
    let line = |name: &str, of: &dyn Fn(&Scenario) -> String| {
        plain(name, of(scenario), others.iter().map(|other| of(&other.scenario)))
    };
    let named = |id: &FieldId| *id == FieldId::Model || OF_A_NAME.contains(id);
    let differing = differing(&all);
    // Several inputs make up one name.
    let mut lines: Vec<ComparedLine> = Vec::new();
    if differing.iter().any(named) {
        lines.push(line(field(FieldId::Model).label, &model_name));
    }
    let told = differing.iter().filter(|id| !named(id) && !SAID_ELSEWHERE.contains(id));
    lines.extend(
        told.map(|id| line(field(*id).label, &|scenario| with_unit(*id, shown(scenario, *id)))),
    );
    let sentences = |scenario: &Scenario| {
        let texts: Vec<String> = remarks(scenario).iter().map(Remark::plain).collect();
        if texts.is_empty() { NOTHING.to_owned() } else { texts.join(" ") }
    };
    if all.iter().any(|scenario| !remarks(scenario).is_empty()) {
        lines.push(line("Not in the answer", &sentences));
    }
    lines
}

/// The value of an input with its unit, unless its label names that already or the value is a word.
fn with_unit(id: FieldId, value: String) -> String {
    let Field { unit, label, .. } = field(id);
    let number = value
        .chars()
        .all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '\u{202f}'));
    if unit.is_empty() || *label == *unit || value.is_empty() || !number {
        value
    } else {
        format!("{value} {unit}")
    }
}

/// Inputs that make up a model's name.
const OF_A_NAME: [FieldId; 2] = [FieldId::ModelName, FieldId::ModelType];

/// Every kind of memory that any of them has, and the sum. Rounded as in the ledger, so that the
/// page prints one number for one thing.
fn memory(answers: &Answers) -> Vec<ComparedLine> {
    let scale = Scale { unit: answers.unit, decimals: 1 };
    let sums = |estimate: &Estimate| kinds(estimate, scale);
    let (mine, theirs) = (sums(&answers.estimate), each(answers, |_, estimate| sums(estimate)));
    let of = |list: &[(MemoryKind, u64)], kind| {
        list.iter().find(|(known, _)| *known == kind).map(|(_, sum)| *sum)
    };
    let line = |kind: MemoryKind| {
        let others = theirs.iter().map(|list| list.as_ref().map(|list| of(list, kind)));
        amounts(kind.name(), of(&mine, kind), others, scale)
    };
    let used = |line: &ComparedLine| {
        line.shown != NOTHING || line.others.iter().any(|cell| cell.text != NOTHING)
    };
    let mut lines: Vec<ComparedLine> = MemoryKind::ALL.into_iter().map(line).filter(used).collect();
    let whole = |estimate: &Estimate| Some(scale.round(estimate.total()));
    let totals = each(answers, |_, estimate| whole(estimate));
    lines.push(amounts("Memory per GPU", whole(&answers.estimate), totals.into_iter(), scale));
    let room = |estimate: &Estimate| format!("{} {}", scale.show(estimate.capacity), scale.unit);
    lines.push(texts(
        "Capacity of a GPU",
        room(&answers.estimate),
        each(answers, |_, estimate| room(estimate)),
    ));
    lines
}

/// One amount in all of them; an inner nothing is a kind that one does not have.
fn amounts(
    name: &str,
    shown: Option<u64>,
    others: impl Iterator<Item = Option<Option<u64>>>,
    scale: Scale,
) -> ComparedLine {
    let text = |sum: Option<u64>| {
        sum.map_or_else(
            || NOTHING.to_owned(),
            |sum| format!("{} {}", scale.number(sum), scale.unit),
        )
    };
    let cell = |sum: Option<Option<u64>>| {
        let Some(sum) = sum else { return ComparedCell { text: NOTHING.to_owned(), more: None } };
        let (mine, theirs) = (shown.unwrap_or(0), sum.unwrap_or(0));
        let sign = if theirs > mine { "+" } else { "−" };
        let more =
            (mine != theirs).then(|| format!("{sign}{}", scale.number(mine.abs_diff(theirs))));
        ComparedCell { text: text(sum), more }
    };
    ComparedLine { name: name.to_owned(), shown: text(shown), others: others.map(cell).collect() }
}

/// GPU counts and what follows from the times.
fn results(answers: &Answers) -> Vec<ComparedLine> {
    let runnable = |count: &GpuCount| {
        count.runnable.as_ref().map_or_else(|| "none".to_owned(), |run| run.gpus.to_string())
    };
    let counts = each(answers, |job, _| runnable(&gpu_count(job, answers.unit)));
    let verdict =
        |estimate: &Estimate| verdict_word(estimate.verdict()).trim_end_matches('.').to_owned();
    let fits =
        texts("Fits", verdict(&answers.estimate), each(answers, |_, estimate| verdict(estimate)));
    let mut lines =
        vec![fits, texts("First number of GPUs that works", runnable(&answers.count), counts)];
    lines.extend(carries(answers));
    let timings = each(answers, timing);
    let theirs: Vec<Option<Vec<Fact>>> = answers
        .others
        .iter()
        .zip(&timings)
        .map(|(other, timing)| Some(facts(other.job()?, timing.as_ref()?)))
        .collect();
    for (name, shown, _) in facts(&answers.job, answers.timing()) {
        let same = |list: &Option<Vec<Fact>>| {
            list.as_ref()?
                .iter()
                .find(|(known, ..)| *known == name)
                .map(|(_, text, _)| text.clone())
        };
        let others: Vec<Option<String>> = theirs.iter().map(same).collect();
        if others.iter().any(Option::is_some) {
            let mut line = texts(name, shown, others);
            let times = |timing: &Option<Timing>| times(answers.timing(), timing.as_ref()?, name);
            for (cell, more) in line.others.iter_mut().zip(timings.iter().map(times)) {
                cell.more = more;
            }
            lines.push(line);
        }
    }
    lines
}

/// How many times as much a figure is in another timing: `×0.52`. Nothing for figures that are no
/// times, paces or money.
fn times(mine: &Timing, theirs: &Timing, name: &str) -> Option<String> {
    let ratio = amount_of(theirs, name)? / amount_of(mine, name)?;
    ratio.is_finite().then(|| format!("×{}", grouped(ratio, if ratio < 9.995 { 2 } else { 0 })))
}

/// The number behind a printed figure.
fn amount_of(timing: &Timing, name: &str) -> Option<f64> {
    Some(match (timing, name) {
        (Timing::Training { step, .. }, "One step") => step.seconds.0,
        (Timing::Training { step, .. }, "Tokens per second, all GPUs") => step.tokens_per_second,
        (Timing::Training { cost, .. }, "The run") => cost.seconds.0,
        (Timing::Training { cost, .. }, "GPU-hours") => cost.gpu_hours,
        (Timing::Training { cost, .. }, "Cost of the run") => cost.price,
        (Timing::Serving(time), "Time to first token (TTFT)") => time.first_token.0,
        (Timing::Serving(time), "Time per output token (TPOT)") => time.decode.0,
        (Timing::Serving(time), "Tokens per second of one instance") => time.tokens_per_second,
        (Timing::Serving(time), "Cost of a million tokens") => time.price_per_million,
        _ => return None,
    })
}

/// The GPUs that carry the stated users; nothing where none of them states any.
fn carries(answers: &Answers) -> Option<ComparedLine> {
    let fewest = |job: &Job| {
        let gpus = fleet_of(job)?.runnable.map(|found| found.gpus);
        Some(gpus.map_or_else(|| "none".to_owned(), |gpus| gpus.to_string()))
    };
    let (mine, theirs) = (fewest(&answers.job), each(answers, |job, _| fewest(job)));
    let theirs: Vec<Option<String>> = theirs.into_iter().map(Option::flatten).collect();
    let any = mine.is_some() || theirs.iter().any(Option::is_some);
    any.then(|| {
        texts("GPUs that carry the users", mine.unwrap_or_else(|| NOTHING.to_owned()), theirs)
    })
}

fn texts(name: &str, shown: String, others: Vec<Option<String>>) -> ComparedLine {
    plain(name, shown, others.into_iter().map(|text| text.unwrap_or_else(|| NOTHING.to_owned())))
}

/// Something about each of the others; nothing where one has an input that needs a look.
fn each<T>(answers: &Answers, of: impl Fn(&Job, &Estimate) -> T) -> Vec<Option<T>> {
    answers
        .others
        .iter()
        .map(|other| other.answer.as_ref().map(|(job, estimate)| of(job, estimate)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::labels;
    use crate::scenario::codec::decode;

    fn of(links: &[&str]) -> Vec<String> {
        let scenarios: Vec<_> = links.iter().map(|link| decode(link).scenario).collect();
        labels(&scenarios.iter().collect::<Vec<_>>())
    }

    #[test]
    fn labels_say_what_differs() {
        assert_eq!(
            of(&["v1&n=1", "v1&n=1&gpu=a100-40"]),
            ["Llama 3 8B, 1 × H100 SXM5", "Llama 3 8B, 1 × A100 SXM4 40GB"]
        );
        assert_eq!(of(&["v1", "v1&m=llama3-70b"]), ["Llama 3 8B", "Llama 3 70B"]);
        assert_eq!(of(&["v1", "v1&do=serve"]), ["Llama 3 8B, training", "Llama 3 8B, serving"]);
        assert_eq!(
            of(&["v1", "v1&s=4096&gb=64"])[1],
            "Llama 3 8B, sequence length 4096, global batch 64"
        );
        assert_eq!(
            of(&["v1&name=One", "v1&name=Two&n=16"]),
            ["One: Llama 3 8B, 8 × H100 SXM5", "Two: Llama 3 8B, 16 × H100 SXM5"]
        );
        assert_eq!(of(&["v1", "v1"]), ["Llama 3 8B", "Llama 3 8B"]);
        assert_eq!(of(&["v1", "v1&mem=12"])[1], "Llama 3 8B, 8 × H100 SXM5 (edited: 12 GiB)");
    }
}
