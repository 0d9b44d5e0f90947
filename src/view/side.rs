//! The engine beside the five documents for one scenario: who says what, as finished words. No
//! browser in here.

use super::words::{Scale, gpus, kinds, percent, whole};
use crate::config::Job;
use crate::estimator::time::step;
use crate::estimator::{Estimate, MemoryKind};
use crate::methods::{EngineSide, GpuAnswer, MethodAnswer, MethodInputs, MethodKind, all};
use crate::planner::GpuCount;
use crate::units::{Bytes, FlopsPerSecond, MemoryUnit, grouped};

/// Ids and short names of the five documents, in their order.
pub const DOCUMENTS: [(&str, &str); 5] = [
    ("ju-2026", "Li Ju 2026"),
    ("eleuther", "EleutherAI"),
    ("capacity-planning", "Capacity planning"),
    ("distributed-overview", "Distributed overview"),
    ("solenya", "Solenya"),
];

/// The text of a cell for which nobody counts anything.
const NOTHING: &str = "–";

/// A document's short name; the id itself for an unknown one.
pub fn title(id: &'static str) -> &'static str {
    DOCUMENTS.iter().find(|(known, _)| *known == id).map_or(id, |(_, title)| *title)
}

/// The question put to the documents, the engine's answer and theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The scenario as the documents could be told it.
    pub inputs: MethodInputs,
    /// The engine's bytes.
    pub engine: EngineSide,
    /// The five answers, in the documents' order.
    pub answers: [MethodAnswer; 5],
}

impl Side {
    /// Asks all five. Amounts in their sentences are written in `unit`.
    pub fn of(job: &Job, estimate: &Estimate, unit: MemoryUnit) -> Self {
        let inputs = inputs(job, estimate);
        let engine = engine_side(estimate);
        Self { answers: all(&inputs, &engine, unit), inputs, engine }
    }
}

/// A job in the documents' terms; the parameter count and the achieved rate are the engine's.
pub fn inputs(job: &Job, estimate: &Estimate) -> MethodInputs {
    // The rate of one accelerator: its dense peak in the format of the activations, times the
    // utilisation stated, or as the step is timed.
    let rate = job.training().and_then(|run| match run.stated_mfu() {
        Some(mfu) => Some(job.cluster().accelerator.peak.of(run.recipe().activation)? * 1e12 * mfu),
        None => Some(step(job)?.flops_per_second),
    });
    MethodInputs::from_job(job, estimate.parameters.total, FlopsPerSecond(rate.unwrap_or(0.0)))
}

/// The engine's sums by kind.
pub fn engine_side(estimate: &Estimate) -> EngineSide {
    let [weights, gradients, optimizer, activations, kv_cache, temporary, framework] =
        estimate.ledger.by_kind();
    EngineSide {
        parameters: estimate.parameters.total,
        weights,
        gradients,
        optimizer,
        activations,
        temporary,
        kv_cache,
        framework,
        total: estimate.total(),
    }
}

/// Short stable name of a kind's row.
const fn row_id(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Parameter => "weights",
        MemoryKind::Gradient => "gradients",
        MemoryKind::OptimizerState => "optimizer",
        MemoryKind::Activation => "activations",
        MemoryKind::KvCache => "kv-cache",
        MemoryKind::Temporary => "temporary",
        MemoryKind::Framework => "overhead",
    }
}

/// The tone of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// An amount or a count.
    Plain,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Nothing is said.
    Quiet,
    /// A sentence.
    Prose,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodCell {
    /// The text in it.
    pub text: String,
    /// The tone of the text.
    pub tone: Tone,
}

impl MethodCell {
    fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
    }

    fn nothing() -> Self {
        Self::new(Tone::Quiet, NOTHING)
    }

    fn count(count: Option<u64>, otherwise: &str) -> Self {
        count.map_or_else(
            || Self::new(Tone::Quiet, otherwise),
            |count| Self::new(Tone::Plain, gpus(count)),
        )
    }
}

/// One row: the engine's cell, then one for each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// Short stable name, e.g. `weights`, `total`, `runnable`.
    pub id: &'static str,
    /// Heading of the row.
    pub label: String,
    /// Six cells.
    pub cells: Vec<MethodCell>,
    /// The kind of memory, where it is one.
    pub kind: Option<MemoryKind>,
}

/// One side of the comparison, before it is written out: rounded amounts by kind, and their sum.
struct Column {
    parts: [Option<u64>; 7],
    rounded_total: u64,
    total: Option<Bytes>,
}

impl Column {
    /// The engine's amounts, rounded line by line as the ledger prints them.
    fn of_engine(estimate: &Estimate, scale: Scale) -> Self {
        let rounded = kinds(estimate, scale);
        let of = |kind: MemoryKind| {
            rounded.iter().find(|(known, _)| *known == kind).map(|(_, amount)| *amount)
        };
        Self {
            parts: MemoryKind::ALL.map(of),
            rounded_total: scale.round(estimate.total()),
            total: Some(estimate.total()),
        }
    }

    /// A document's amounts; a kind without a line is not counted by it.
    fn of_document(answer: &MethodAnswer, scale: Scale) -> Self {
        let all_kinds = MemoryKind::ALL.map(MethodKind::of);
        let (rounded, rounded_total) = scale.parts(&all_kinds.map(|kind| answer.bytes_of(kind)));
        let mut parts = [None; 7];
        for ((part, kind), amount) in parts.iter_mut().zip(all_kinds).zip(rounded) {
            *part = answer.per_gpu.iter().any(|line| line.kind == kind).then_some(amount);
        }
        Self { parts, rounded_total, total: answer.covered.then_some(answer.per_gpu_total) }
    }
}

/// The table: kinds of memory that anybody counts, total, whether it fits, distance from the
/// engine, and both GPU counts with the reason. The amounts of a column add up to its total as
/// printed.
pub fn table(
    side: &Side,
    estimate: &Estimate,
    count: &GpuCount,
    unit: MemoryUnit,
) -> Vec<MethodRow> {
    let scale = Scale::of(unit, estimate.total(), estimate.capacity);
    let mut columns = vec![Column::of_engine(estimate, scale)];
    columns.extend(side.answers.iter().map(|answer| Column::of_document(answer, scale)));
    let each = |cell: &dyn Fn(&Column) -> MethodCell| columns.iter().map(cell).collect::<Vec<_>>();
    let mut rows = Vec::with_capacity(13);
    for kind in MemoryKind::ALL {
        let part = |column: &Column| column.parts.get(kind.index()).copied().flatten();
        if columns.iter().any(|column| part(column).is_some()) {
            let cell = |column: &Column| {
                part(column).map_or_else(MethodCell::nothing, |amount| {
                    MethodCell::new(Tone::Plain, scale.number(amount))
                })
            };
            rows.push(MethodRow {
                id: row_id(kind),
                label: kind.name().to_owned(),
                cells: each(&cell),
                kind: Some(kind),
            });
        }
    }
    let row = |id, label: String, cells| MethodRow { id, label, cells, kind: None };
    let total = |column: &Column| match column.total {
        Some(_) => {
            MethodCell::new(Tone::Plain, format!("{} {unit}", scale.number(column.rounded_total)))
        }
        None => MethodCell::new(Tone::Quiet, "not described"),
    };
    rows.push(row("total", "Total per GPU".to_owned(), each(&total)));
    let capacity = format!("Within {} {unit}?", scale.show(estimate.capacity));
    rows.push(row("fits", capacity, each(&|column| fits(column.total, estimate.capacity))));
    rows.push(row(
        "against",
        "Against the engine".to_owned(),
        each(&|column| against(column.total, estimate.total())),
    ));
    rows.extend(count_rows(side, count));
    rows
}

fn fits(total: Option<Bytes>, capacity: Bytes) -> MethodCell {
    match total {
        None => MethodCell::nothing(),
        Some(total) if total <= capacity => MethodCell::new(Tone::Good, "fits"),
        Some(_) => MethodCell::new(Tone::Bad, "does not fit"),
    }
}

/// How far a total is from the engine's: `+12 %`, `−34 %`, `12 times`.
fn against(total: Option<Bytes>, engine: Bytes) -> MethodCell {
    let Some(total) = total.filter(|_| engine.0 > 0) else { return MethodCell::nothing() };
    let ratio = total.as_f64() / engine.as_f64();
    let text = if total == engine {
        "the same".to_owned()
    } else if ratio >= 10.0 {
        format!("{} times", grouped(ratio, 0))
    } else if total > engine {
        format!("+{}", percent(Bytes(total.0 - engine.0), engine))
    } else {
        format!("−{}", percent(Bytes(engine.0 - total.0), engine))
    };
    MethodCell::new(Tone::Plain, text)
}

fn count_rows(side: &Side, count: &GpuCount) -> [MethodRow; 3] {
    let row =
        |id, label: &str, engine: MethodCell, document: &dyn Fn(&MethodAnswer) -> MethodCell| {
            let cells = std::iter::once(engine).chain(side.answers.iter().map(document)).collect();
            MethodRow { id, label: label.to_owned(), cells, kind: None }
        };
    let smallest = count.runnable.as_ref().map(|run| run.gpus);
    let answered = |answer: &MethodAnswer, cell: &dyn Fn(&GpuAnswer) -> MethodCell| {
        if answer.covered { cell(&answer.gpus) } else { MethodCell::nothing() }
    };
    let by_division = |answer: &MethodAnswer| {
        answered(answer, &|gpus| MethodCell::count(gpus.arithmetic, division_missing(answer)))
    };
    let runnable =
        |answer: &MethodAnswer| answered(answer, &|gpus| MethodCell::count(gpus.runnable, "none"));
    let why = |answer: &MethodAnswer| MethodCell::new(Tone::Prose, answer.gpus.reason.clone());
    [
        row(
            "division",
            "GPUs by division",
            MethodCell::count(count.arithmetic, "none"),
            &by_division,
        ),
        row("runnable", "Smallest count that runs", MethodCell::count(smallest, "none"), &runnable),
        row("why", "Why that count", MethodCell::new(Tone::Prose, count.reason.clone()), &why),
    ]
}

/// The word for a missing division: only two documents divide at all.
fn division_missing(answer: &MethodAnswer) -> &'static str {
    if matches!(answer.id, "ju-2026" | "capacity-planning") { "none" } else { "no rule" }
}

/// One line of a document's sheet: part, formula, the same in numbers, result, note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaLine {
    /// Kind of memory.
    pub kind: &'static str,
    /// In the document's letters.
    pub formula: String,
    /// With this scenario's numbers.
    pub numbers: String,
    /// Bytes on one GPU, written out.
    pub result: String,
    /// A remark on the line; may be empty.
    pub note: String,
}

/// How a document arrives at its amounts.
pub fn formula_lines(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> Vec<FormulaLine> {
    let of_line = |line: &crate::methods::MethodLine| FormulaLine {
        kind: line.kind.name(),
        numbers: super::formula::with_numbers(&side.inputs, answer, line),
        formula: line.formula.clone(),
        result: unit.show(line.bytes),
        note: line.note.clone().unwrap_or_default(),
    };
    answer.per_gpu.iter().map(of_line).collect()
}

/// The words beside a document's name while its sheet is closed.
pub fn summary(answer: &MethodAnswer) -> String {
    let many = |count: usize, one: &str, more: &str| match count {
        0 => format!("no {more}"),
        1 => format!("1 {one}"),
        count => format!("{} {more}", whole(u64::try_from(count).unwrap_or(u64::MAX))),
    };
    if answer.covered {
        many(answer.differences.len(), "difference", "differences")
    } else {
        "training only".to_owned()
    }
}

/// Jobs of many kinds for the tests here and in the formulas.
#[cfg(test)]
pub(super) fn scenarios() -> Vec<Job> {
    use crate::scenario::codec::decode;
    let mut jobs = Vec::new();
    for model in ["llama3-8b", "llama2-70b", "gpt2", "ju-7b"] {
        for run in LINKS {
            let decoded = decode(&format!("v1&m={model}&{run}"));
            assert!(decoded.notices.is_empty() && !decoded.failed, "{:?}", decoded.notices);
            if let Ok(job) = decoded.scenario.resolve() {
                jobs.push(job);
            }
        }
    }
    assert!(jobs.len() > 20, "{}", jobs.len());
    jobs
}

#[cfg(test)]
const LINKS: [&str; 9] = [
    "n=1&gpu=a100-40&rc=full",
    "n=8&z=1&s=4096&gb=128&b=1",
    "n=8&z=3&s=8192&gb=64&b=2&att=standard",
    "n=64&z=fsdp&s=8192&gb=64&b=1&rc=full",
    "n=64&tp=8&pp=2&z=1&s=4096&gb=64&b=1&rc=selective&att=standard&grad=fp32-copy",
    "n=4&z=2&s=1024&gb=64&b=4&ker=korthikanti&att=standard&prec=fp32&opt=sgdm",
    "n=16&z=3&s=2048&gb=32&opt=adamw8&prec=bf16-pure",
    "do=serve&ctx=8192&seqs=32&n=1",
    "do=serve&ctx=131072&seqs=1&tp=4&n=4&w=int4&kvd=fp8",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::estimate;
    use crate::planner::gpu_count;
    use crate::scenario::codec::decode;

    fn table_of(job: &Job) -> (Side, Vec<MethodRow>) {
        let estimate = estimate(job);
        let side = Side::of(job, &estimate, MemoryUnit::Gb);
        let rows = table(&side, &estimate, &gpu_count(job, MemoryUnit::Gb), MemoryUnit::Gb);
        (side, rows)
    }

    /// The number a cell starts with, in its last decimal.
    fn digits(cell: &MethodCell) -> Option<u64> {
        cell.text.trim_end_matches(" GB").replace(['.', '\u{202f}'], "").parse().ok()
    }

    fn row<'a>(rows: &'a [MethodRow], id: &str) -> &'a MethodRow {
        rows.iter().find(|row| row.id == id).expect("a row of that name")
    }

    #[test]
    fn every_column_adds_up_to_its_total_as_printed() {
        for job in scenarios() {
            let (_, rows) = table_of(&job);
            for column in 0..6 {
                let parts = rows
                    .iter()
                    .filter(|row| row.kind.is_some())
                    .filter_map(|row| digits(&row.cells[column]));
                if let Some(total) = digits(&row(&rows, "total").cells[column]) {
                    assert_eq!(parts.sum::<u64>(), total, "column {column} of {rows:#?}");
                }
            }
            assert!(rows.iter().all(|row| row.cells.len() == 6));
        }
    }

    #[test]
    fn the_engines_side_is_the_ledger() {
        for job in scenarios() {
            let estimate = estimate(&job);
            let engine = engine_side(&estimate);
            let parts: Bytes = MethodKind::ALL.map(|kind| engine.of(kind)).into_iter().sum();
            assert_eq!(parts, estimate.total());
            assert_eq!(engine.total, estimate.total());
            for kind in MemoryKind::ALL {
                assert_eq!(engine.of(MethodKind::of(kind)), estimate.ledger.of(kind), "{kind:?}");
            }
        }
    }

    #[test]
    fn the_inputs_are_the_jobs() {
        let job = decode("v1&m=llama3-8b&gpu=h100-80&n=64&tp=8&pp=2&z=1&s=4096&gb=64&b=1&mfu=45")
            .scenario
            .resolve()
            .expect("a job");
        let estimate = estimate(&job);
        let inputs = inputs(&job, &estimate);
        assert_eq!(inputs.num_parameters, 8_030_261_248);
        assert_eq!((inputs.world_size(), inputs.data_parallel_size), (64, 4));
        let run = job.training().expect("training");
        assert!(
            (inputs.achieved_flops_per_gpu.0 - 989e12 * run.mfu).abs() < 1e12,
            "{:?}",
            inputs.achieved_flops_per_gpu
        );
    }

    #[test]
    fn the_first_documents_last_step_reads_as_eight_on_both_sides() {
        let link =
            "v1&m=ju-7b&gpu=a100-40&mem=37.2529&n=8&z=3&s=4096&gb=128&b=16&rc=full&att=flash";
        let (side, rows) = table_of(&decode(link).scenario.resolve().expect("a job"));
        assert_eq!(row(&rows, "division").cells[1].text, "8 GPUs");
        assert_eq!(row(&rows, "runnable").cells[1].text, "8 GPUs");
        assert_eq!(row(&rows, "division").cells[2].text, "no rule");
        assert_eq!(row(&rows, "fits").cells[1].tone, Tone::Good);
        assert!(rows.iter().all(|row| row.id != "kv-cache"), "training has no cache");
        assert_eq!(side.answers.each_ref().map(|answer| (answer.id, answer.title)), DOCUMENTS);
    }

    #[test]
    fn documents_that_only_train_say_so_when_serving() {
        let (side, rows) =
            table_of(&decode("v1&m=llama3-8b&do=serve&n=1").scenario.resolve().expect("a job"));
        assert_eq!(row(&rows, "total").cells[1].text, "not described");
        assert_eq!(row(&rows, "fits").cells[1].text, NOTHING);
        assert_eq!(summary(&side.answers[0]), "training only");
        assert!(row(&rows, "kv-cache").cells[3].tone == Tone::Plain);
    }

    #[test]
    fn distances_read_as_people_say_them() {
        assert_eq!(against(Some(Bytes(150)), Bytes(100)).text, "+50 %");
        assert_eq!(against(Some(Bytes(60)), Bytes(100)).text, "−40 %");
        assert_eq!(against(Some(Bytes(100)), Bytes(100)).text, "the same");
        assert_eq!(against(Some(Bytes(1200)), Bytes(100)).text, "12 times");
        assert_eq!(against(None, Bytes(100)).text, NOTHING);
        assert_eq!(title("solenya"), "Solenya");
        assert_eq!(title("other"), "other");
    }
}
