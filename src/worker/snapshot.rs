//! A memory snapshot beside the estimate of the scenario that is shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::charts::{self, CurveView, Frame, Overlay, Point, TickStyle, XScale};
use crate::diagnosis::snapshot::{AmountOfBoth, Courses, Difference, SnapshotBeside, beside, read};
use crate::scenario::Scenario;
use crate::units::{Bytes, MemoryUnit, to_f64};
use crate::view::markup::{Html, html};

/// The snapshot with these bytes, in base64, beside the scenario's estimate; or why that cannot be.
pub fn panel(scenario: &Scenario, bytes: &str) -> Html {
    let Ok(job) = scenario.resolve() else {
        return refused(
            "The scenario has no answer to set beside the snapshot: correct its inputs first.",
        );
    };
    let Ok(file) = STANDARD.decode(bytes) else {
        return refused("The file did not arrive whole. Choose it again.");
    };
    let measured = match read(&file) {
        Ok(measured) => measured,
        Err(problem) => return refused(&problem.to_string()),
    };
    match beside(measured, &job) {
        Ok(found) => shown(&found, job.cluster().overheads.expandable_segments),
        Err(reason) => refused(&format!(
            "The snapshot was read, but there is nothing to set beside it. {reason}"
        )),
    }
}

fn refused(sentence: &str) -> Html {
    html! { div class="refused" role="alert" { p data-testid="paste-error" { (sentence) } } }
}

fn shown(found: &SnapshotBeside, grows: bool) -> Html {
    html! {
        section class="paste__found" data-testid="snapshot" aria-label="Memory snapshot" {
            h3 { (found.heading()) }
            (amounts(&found.amounts()))
            @for sentence in &found.sentences(grows) { p { (sentence) } }
            @if let Some(courses) = found.courses.as_ref() { (pictures(courses, found)) }
            (differences(found))
        }
    }
}

fn amounts(rows: &[AmountOfBoth]) -> Html {
    let show = |bytes| MemoryUnit::Gib.show(bytes);
    let row = |row: &AmountOfBoth| {
        html! {
            tr {
                th scope="row" { (row.label) }
                td class="num" { (show(row.measured)) }
                td class="num" { (show(row.predicted)) }
            }
        }
    };
    html! {
        table class="table" data-testid="snapshot-amounts" {
            thead {
                tr {
                    th scope="col" { "At the peak" }
                    th scope="col" class="num" { "Snapshot" }
                    th scope="col" class="num" { "Estimate" }
                }
            }
            tbody {
                @for item in rows { (row(item)) }
            }
        }
    }
}

/// One step on both sides as a picture, and where they are furthest apart in words.
fn pictures(courses: &Courses, found: &SnapshotBeside) -> Html {
    let [wide, narrow] =
        [("snapshot-w", Frame::new(600, 300)), ("snapshot-n", Frame::new(320, 260))]
            .map(|(id, frame)| Html::made(charts::curve(&view(id, courses), frame).svg));
    let apart = found.furthest_in_words();
    let said = apart.unwrap_or_else(|| {
        "Over the step both stay within one percent of the peak of each other.".to_owned()
    });
    html! {
        figure class="step__figure" data-testid="snapshot-step" {
            figcaption {
                h4 { "Memory of tensors over a step" }
                p class="quiet" {
                    "From left to right a tensor is taken or freed at a time; the peaks lie on \
                     each other."
                }
            }
            div role="img" aria-label=(said) {
                div class="step__wide" { (wide) }
                div class="step__narrow" { (narrow) }
            }
        }
        p { (said) }
    }
}

fn view(id: &'static str, courses: &Courses) -> CurveView {
    let unit = to_f64(MemoryUnit::Gib.bytes());
    let moment = |point: usize| to_f64(u64::try_from(point * courses.each).unwrap_or(u64::MAX));
    let line = |name: &str, course: &[Bytes]| Overlay {
        name: name.to_owned(),
        line: course
            .iter()
            .enumerate()
            .map(|(point, held)| (moment(point), held.as_f64() / unit))
            .collect(),
        capacity: None,
    };
    let point = |(place, held): (usize, &Bytes)| Point {
        x: moment(place),
        total: held.as_f64() / unit,
        ..Point::default()
    };
    CurveView {
        id,
        x_label: "tensors taken and freed".to_owned(),
        y_label: "GiB".to_owned(),
        unit: "GiB",
        points: courses.predicted.iter().enumerate().map(point).collect(),
        current_x: moment(courses.before / courses.each.max(1)),
        compare: vec![line("snapshot", &courses.measured), line("estimate", &courses.predicted)],
        scale: XScale::Linear,
        ticks: TickStyle::Plain,
        ..CurveView::default()
    }
}

/// The sizes of which one side has more tensors; a sentence where there are none.
fn differences(found: &SnapshotBeside) -> Html {
    if found.differences.is_empty() {
        return html! { p { "Both sides hold the same tensors at their peaks." } };
    }
    let show = |bytes| MemoryUnit::Gib.show(bytes);
    let row = |one: &Difference| {
        html! {
            tr {
                th scope="row" class="num" { (show(one.bytes())) }
                td { (one.excess()) " of " (show(one.block)) }
                td class="table__reason" { (one.origin()) }
            }
        }
    };
    html! {
        h4 { "Largest differences at the peak" }
        div class="dialog__scroll" tabindex="0" role="region"
            aria-label="Largest differences at the peak" {
            table class="table" data-testid="snapshot-differences" {
                thead {
                    tr {
                        th scope="col" class="num" { "Memory" }
                        th scope="col" { "Tensors" }
                        th scope="col" { "What they are" }
                    }
                }
                tbody {
                    @for item in &found.differences { (row(item)) }
                }
            }
        }
        @if let Some(rest) = found.rest_in_words() { p class="quiet" { (rest) } }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
mod tests {
    use std::io::Read as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::panel;
    use crate::scenario::codec::decode;
    use crate::view::panels::tests::{count, text};

    const RUN: &str = "v1&m=llama3-8b&l=4&n=1&gb=2&b=2&s=2048&prec=bf16-pure&ker=eager&att=flash";

    fn of(link: &str) -> crate::view::markup::Html {
        let packed = include_bytes!("../../tests/data/cuda/snapshots/llama-4-layers.pickle.zz");
        let mut file = Vec::new();
        flate2::read::ZlibDecoder::new(packed.as_slice())
            .read_to_end(&mut file)
            .expect("a packed file");
        panel(&decode(link).scenario, &STANDARD.encode(file))
    }

    #[test]
    fn the_run_that_wrote_it_holds_the_same_tensors() {
        let shown = of(&format!("{RUN}&rc=full"));
        assert!(text(&shown).contains("Both sides hold the same tensors"), "{}", text(&shown));
        assert!(text(&shown).contains("stay within one percent of the peak"), "{}", text(&shown));
        assert_eq!(count(&shown, "snapshot-step"), 1);
        assert_eq!(
            (count(&shown, "snapshot-amounts"), count(&shown, "snapshot-differences")),
            (1, 0)
        );
    }

    #[test]
    fn another_run_differs_in_named_tensors() {
        let shown = of(&format!("{RUN}&rc=none"));
        assert!(text(&shown).contains("more in the estimate of"), "{}", text(&shown));
        assert!(text(&shown).contains("furthest apart at "), "{}", text(&shown));
        assert!(count(&shown, "<tr><th scope=\"row\" class=\"num\">") > 3);
    }

    #[test]
    fn without_a_snapshot_a_sentence_says_so() {
        let of = |link: &str, bytes: &str| text(&panel(&decode(link).scenario, bytes));
        assert!(of(RUN, "AAAA").contains("no memory snapshot of PyTorch"));
        assert!(of(RUN, "§").contains("did not arrive whole"));
        assert!(of("v1&n=6&tp=4", "AAAA").contains("correct its inputs first"));
    }
}
