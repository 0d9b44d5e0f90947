//! Tables for spreadsheets: bytes, so that nothing is rounded.

use csv::Writer;

use super::{Luggage, no_answer};
use crate::estimator::{MemoryKind, estimate};
use crate::planner::{Axis, Curve, curve_gpus};
use crate::scenario::Scenario;
use crate::view::answers::{Answers, ComparedCurves, seq_curve};
use crate::view::history::UndoStep;
use crate::view::words::{about, remarks};

/// The answers to all scenarios of the file.
///
/// # Errors
/// As [`super::file`].
pub(super) fn answers(luggage: &Luggage) -> Result<Answers, String> {
    let said = UndoStep { scenario: luggage.scenario.clone(), compare: luggage.compare.clone() };
    let answers = Answers::of(&said, None).0;
    if answers.problems.is_empty() { Ok(answers) } else { Err(no_answer()) }
}

/// A table of texts.
fn table(head: &[String], mut rows: impl Iterator<Item = Vec<String>>) -> Result<String, String> {
    let mut writer = Writer::from_writer(Vec::new());
    let written =
        writer.write_record(head).and_then(|()| rows.try_for_each(|row| writer.write_record(row)));
    let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| no_answer())
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// The points of both curves as the page draws them, of every scenario that has an answer.
pub(super) fn curves(luggage: &Luggage) -> Result<String, String> {
    let answers = answers(luggage)?;
    let (seq, gpus) = (seq_curve(&answers, luggage.log), curve_gpus(&answers.job));
    let compared = ComparedCurves::of(&answers.others, luggage.log, &[]);
    let mut curves = vec![("A", &seq), ("A", &gpus)];
    curves.extend(compared.iter().flat_map(|compared| {
        [(compared.letter, &compared.seq), (compared.letter, &compared.gpus)]
    }));
    let kinds = MemoryKind::ALL
        .into_iter()
        .map(|kind| format!("{}_bytes", kind.name().to_ascii_lowercase().replace(' ', "_")));
    let mut head = words(&["scenario", "axis", "x"]);
    head.extend(kinds);
    head.extend(words(&[
        "total_bytes",
        "capacity_bytes",
        "can_run",
        "why_not",
        "about",
        "remarks",
    ]));
    let told = |letter: &str| {
        luggage.lettered().find(|(known, _)| *known == letter).map(|(_, scenario)| told(scenario))
    };
    table(
        &head,
        curves
            .into_iter()
            .flat_map(|(letter, curve)| points(letter, curve, told(letter).unwrap_or_default())),
    )
}

/// The scenario in words, and the parts of the model that are not in its answer: the last two
/// columns of every row.
fn told(scenario: &Scenario) -> [String; 2] {
    let remarks: Vec<String> = remarks(scenario).into_iter().map(|remark| remark.text).collect();
    [about(scenario), remarks.join(" ")]
}

fn points(letter: &str, curve: &Curve, told: [String; 2]) -> impl Iterator<Item = Vec<String>> {
    let axis = match curve.axis {
        Axis::SeqLength => "seq_length",
        Axis::Gpus if curve.serves => "gpus_of_a_replica",
        Axis::Gpus => "gpus",
    };
    curve.points.iter().map(move |point| {
        let mut row = vec![letter.to_owned(), axis.to_owned(), point.x.to_string()];
        row.extend(point.by_kind.iter().map(|bytes| bytes.0.to_string()));
        row.extend([
            point.total.0.to_string(),
            curve.capacity.0.to_string(),
            point.blocked.is_none().to_string(),
        ]);
        row.push(point.blocked.as_ref().map(ToString::to_string).unwrap_or_default());
        row.extend(told.clone());
        row
    })
}

/// The lines of the ledger of every scenario that has an answer.
pub(super) fn ledger(luggage: &Luggage) -> Result<String, String> {
    if luggage.scenario.resolve().is_err() {
        return Err(no_answer());
    }
    let head = words(&[
        "scenario",
        "kind",
        "line",
        "bytes",
        "certainty",
        "source",
        "note",
        "about",
        "remarks",
    ]);
    let rows = luggage
        .lettered()
        .filter_map(|(letter, scenario)| {
            Some((letter, told(scenario), estimate(&scenario.resolve().ok()?)))
        })
        .flat_map(|(letter, told, estimate)| {
            let row = |line: &crate::estimator::LineItem| {
                let texts = [letter, line.kind.name(), line.label];
                let rest = [line.certainty.word(), line.source.key, line.note];
                let mut row = words(&texts);
                row.push(line.bytes.0.to_string());
                row.extend(words(&rest));
                row.extend(told.clone());
                row
            };
            estimate.ledger.lines.iter().map(row).collect::<Vec<_>>()
        });
    table(&head, rows)
}
