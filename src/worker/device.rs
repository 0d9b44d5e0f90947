//! Allocated, reserved, in use: the end of the ledger, as PyTorch's allocator and the driver count;
//! and a warning where these contradict the answer.

use crate::config::Job;
use crate::estimator::{NotReplayed, estimate};
use crate::planner::{Fix, allocator_fixes};
use crate::scenario::codec::encode;
use crate::scenario::{FieldId, Scenario, Value};
use crate::units::MemoryUnit;
use crate::view::action::Action;
use crate::view::device::{DeviceView, ReservedPart, Shown};
use crate::view::markup::{Html, html};
use crate::view::panels::fixes::apply;
use crate::view::panels::remarks::coded;
use crate::view::words::{Scale, gpus};

/// The three lines with what lies between them, or why they are not known. Amounts are written in
/// `unit`.
pub fn panel(scenario: &Scenario, job: &Job, unit: MemoryUnit) -> Html {
    let inside = match DeviceView::of(job, &estimate(job), unit) {
        Ok(device) => known(scenario, &device),
        Err(reason) => unknown(reason),
    };
    html! {
        section class="device" data-testid="device" {
            h3 { "On the GPU" }
            (inside)
        }
    }
}

/// A warning for the top of the page, where the tensors fit and the allocator does not find room;
/// else nothing.
pub fn warning(scenario: &Scenario, job: &Job, unit: MemoryUnit) -> Html {
    let Ok(device) = DeviceView::of(job, &estimate(job), unit) else { return Html::new() };
    let Some(warning) = device.warning() else { return Html::new() };
    html! {
        p class="remark" role="note" data-testid="device-warning" { (warning) }
        div class="fixes" { (help(scenario, &device)) (changes(scenario, job, unit)) }
    }
}

fn known(scenario: &Scenario, device: &DeviceView) -> Html {
    let unit = device.scale.unit.name();
    let line = |Shown { label, amount, seen }: Shown| {
        html! {
            tr {
                th scope="row" {
                    (label)
                    " "
                    span class="ledger__note" { (coded(&format!("`{seen}`"))) }
                }
                td class="num" { (amount) " " (unit) }
            }
        }
    };
    let part = |ReservedPart { label, amount, why }: ReservedPart| {
        html! {
            tr {
                th scope="row" { (label) }
                td class="num" { (amount) " " (unit) }
                td { (why) }
            }
        }
    };
    html! {
        table class="table" {
            tbody {
                @for item in device.shown() { (line(item)) }
            }
        }
        p class="quiet" { (device.sentence()) " " (device.growing_segments().unwrap_or_default()) }
        (help(scenario, device))
        details class="fold" {
            summary class="fold__summary" {
                span class="fold__name" { "Why does it show more than the tensors need?" }
            }
            p class="quiet" {
                "PyTorch asks the driver for large pieces and cuts them up. What a tensor gives \
                 back stays with PyTorch for the next one, and a gap serves only what fits into \
                 it. So it holds more than the tensors take. The step above was handed, tensor by \
                 tensor, to the rules of PyTorch 2.15's allocator, three steps long. This is what \
                 it holds when the tensors are most:"
            }
            table class="table" {
                tbody {
                    @for item in device.parts() { (part(item)) }
                }
            }
            p class="quiet" {
                "The driver counts what stands outside PyTorch as well: its context, and the \
                 buffers of groups of GPUs, as set under Reserve."
            }
        }
    }
}

fn unknown(reason: NotReplayed) -> Html {
    html! { p class="quiet" { (reason) } }
}

/// The button that sets growing segments, where these make it fit.
fn help(scenario: &Scenario, device: &DeviceView) -> Html {
    if !device.growing_segments_help() {
        return Html::new();
    }
    let mut changed = scenario.clone();
    changed.set(FieldId::ExpandableSegments, Value::Flag(true));
    html! {
        button type="button" class="fix" data-do=(Action::Take(encode(&changed))) {
            span class="fix__title" { "Growing segments" }
            span class="fix__effect" { code { "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" } }
        }
    }
}

/// Buttons for changes with which the allocator finds room.
fn changes(scenario: &Scenario, job: &Job, unit: MemoryUnit) -> Html {
    let scale = Scale { unit, decimals: 1 };
    let button = |fix: &Fix| {
        let mut changed = scenario.clone();
        apply(&mut changed, fix);
        html! {
            button type="button" class="fix" data-do=(Action::Take(encode(&changed))) {
                span class="fix__title" { (fix.title) }
                span class="fix__effect" {
                    (scale.show(fix.before))
                    " → "
                    (scale.show(fix.after))
                    " "
                    (unit.name())
                    " in use, fits on "
                    (gpus(fix.gpus_after))
                }
            }
        }
    };
    allocator_fixes(job).iter().map(button).collect()
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
mod tests {
    use super::{panel, warning};
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{count, text};

    fn of(link: &str) -> [Html; 2] {
        let scenario = decode(link).scenario;
        let job = scenario.resolve().expect("a job");
        [panel(&scenario, &job, MemoryUnit::Gib), warning(&scenario, &job, MemoryUnit::Gib)]
    }

    #[test]
    fn three_lines_and_what_lies_between_them() {
        let [panel, warning] = of("v2&m=llama3.2-1b&n=1");
        let words = text(&panel);
        for label in [
            "Allocated by tensors",
            "Reserved by PyTorch",
            "In use on the GPU",
            "Free between tensors",
            "With growing segments",
        ] {
            assert!(words.contains(label), "{label}: {words}");
        }
        assert_eq!(count(&panel, "<details"), 1);
        assert!(warning.is_empty());
    }

    #[test]
    fn a_warning_comes_with_changes_that_the_replay_has_carried_out() {
        let [panel, warning] = of("v1&m=llama3-8b&n=8&mem=25.5");
        assert!(text(&warning).contains("PyTorch runs out of memory"), "{}", text(&warning));
        assert!(
            count(&warning, "data-do=\"take:") >= 2 && text(&warning).contains("fits on"),
            "{}",
            text(&warning)
        );
        assert!(
            text(&panel).contains("On a GPU without a limit it would hold"),
            "{}",
            text(&panel)
        );
    }

    #[test]
    fn where_the_order_is_not_known_a_sentence_says_why() {
        let [panel, warning] = of("v1&do=serve&m=llama3-8b");
        assert!(
            text(&panel).contains("A serving engine takes its memory once"),
            "{}",
            text(&panel)
        );
        assert!(warning.is_empty());
        let [panel, _] = of("v1&m=llama3-70b&n=64&tp=8&pp=4&z=1");
        assert!(
            text(&panel).contains("the reserve for fragmentation is assumed"),
            "{}",
            text(&panel)
        );
    }
}
