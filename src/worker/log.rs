//! The log of a server or a training beside the estimate of the present scenario, and what of it
//! can be kept.

use crate::estimator::{Estimate, estimate};
use crate::launch::logs::{Compared, Log, LogAmount, LogFigure, beside, beyond};
use crate::scenario::codec::encode;
use crate::scenario::{FieldId, Mode, Scenario, Value};
use crate::units::{Bytes, MemoryUnit, ceil_u64, grouped, to_f64};
use crate::view::markup::{Html, html};
use crate::view::words::{self, whole};

/// Measured beside estimated, figure by figure, and the link of the scenario with what was measured
/// outside the model; or why there is none.
pub fn panel(scenario: &Scenario, log: &Log, unit: MemoryUnit) -> (Html, Option<String>) {
    let trains = scenario.mode() != Mode::Serve;
    // A difference that was kept before is no part of the prediction.
    let mut own = scenario.clone();
    own.clear(FieldId::MeasuredBeyond);
    let Some(job) = own.resolve().ok().filter(|_| trains == log.trains) else {
        return (refused(log), None);
    };
    let answer = estimate(&job);
    let compared = beside(log, &job, &answer);
    let kept = calibrated(&own, log, &compared);
    let link = (kept != own).then(|| encode(&kept));
    (table(&own, log, &answer, (&compared, unit)), link)
}

fn refused(log: &Log) -> Html {
    let (of, choose) = if log.trains {
        ("a training", "Training or Fine-tuning and the run's model")
    } else {
        ("a server", "Serving and the server's model")
    };
    html! {
        div class="refused" role="alert" {
            p data-testid="paste-error" {
                "This is the log of " (of) ", printed by " (log.label) ". Choose " (choose) " and \
                    settings first, or paste its command: the log is then set beside the estimate."
            }
        }
    }
}

/// The scenario with what the log measured in place of what is assumed: a server's captured graphs
/// and memory outside PyTorch, and what a training holds beyond its estimate.
fn calibrated(scenario: &Scenario, log: &Log, compared: &[Compared]) -> Scenario {
    let mut kept = scenario.clone();
    let hundredths =
        |bytes: f64| Value::Decimal((bytes / to_f64(Bytes::GIB) * 100.0).round() / 100.0);
    for (figure, field) in [
        (LogFigure::Graphs, FieldId::CudaGraphs),
        (LogFigure::OutsidePyTorch, FieldId::FrameworkContext),
    ] {
        if let Some(bytes) = log.largest(figure) {
            kept.set(field, hundredths(bytes));
        }
    }
    if let Some(bytes) = beyond(compared).filter(|_| log.trains) {
        kept.set(FieldId::MeasuredBeyond, hundredths(bytes.as_f64()));
    }
    kept
}

fn table(
    scenario: &Scenario,
    log: &Log,
    answer: &Estimate,
    (compared, unit): (&[Compared], MemoryUnit),
) -> Html {
    let others: Vec<_> = log
        .printed
        .iter()
        .filter(|printed| !compared.iter().any(|row| row.figure == printed.figure))
        .collect();
    html! {
        div class="paste__found" data-key={ "log-" (log.printed.len()) "-" (answer.total().0) } {
            p data-testid="paste-understood" {
                "The log of " (log.label) " beside the estimate of " b { (words::about(scenario)) } "."
            }
            div class="dialog__scroll" tabindex="0" role="region" aria-label="Measured beside \
                estimated" {
                table class="table" data-testid="paste-report" {
                    thead { tr { @for head in ["Figure", "Measured", "Estimated", "Difference"] { th scope="col" { (head) } } } }
                    tbody {
                        @for row in compared { (beside_row(row, unit)) }
                        @for printed in others {
                            tr {
                                th scope="row" { (printed.figure.label()) span class="quiet" { " \
                                    line " (printed.line) } }
                                td class="number" { (shown(printed.amount, unit)) }
                                td {}
                                td {}
                            }
                        }
                    }
                }
            }
            p class="quiet" { (offer(log, compared, unit)) }
        }
    }
}

/// The sentence about what can be kept.
fn offer(log: &Log, compared: &[Compared], unit: MemoryUnit) -> String {
    if !log.trains {
        return "“Use it” keeps what was measured outside the model, captured graphs and memory \
            outside PyTorch, as inputs under Reserve: the ledger then shows them as lines."
            .to_owned();
    }
    match beyond(compared) {
        Some(bytes) => format!(
            "“Use it” keeps the {} {} that were measured beyond the estimate as “Measured minus \
             predicted” under Reserve: a line of the ledger, for this machine. A link carries it \
             only after that.",
            unit.number(bytes, 2),
            unit.name()
        ),
        None => "The estimate holds as much as was measured, or the log does not tell: there is \
            nothing to keep."
            .to_owned(),
    }
}

fn beside_row(row: &Compared, unit: MemoryUnit) -> Html {
    let difference = row.error().map(|error| {
        format!("{}{} %", if error < 0.0 { "−" } else { "+" }, grouped(error.abs() * 100.0, 1))
    });
    html! {
        tr {
            th scope="row" { (row.figure.label()) span class="quiet" { " line " (row.line) } }
            td class="number" { (shown(amount(row.figure, row.measured), unit)) }
            td class="number" { (shown(amount(row.figure, row.estimated), unit)) }
            td class="number" { @if let Some(difference) = difference { (difference) } }
        }
    }
}

fn amount(figure: LogFigure, number: f64) -> LogAmount {
    if figure.is_memory() {
        LogAmount::Bytes(Bytes(ceil_u64(number)))
    } else {
        LogAmount::Count(number)
    }
}

fn shown(amount: LogAmount, unit: MemoryUnit) -> String {
    match amount {
        LogAmount::Bytes(bytes) => format!("{} {}", unit.number(bytes, 2), unit.name()),
        LogAmount::Count(count) if count.fract().abs() < f64::EPSILON => whole(ceil_u64(count)),
        LogAmount::Count(count) => grouped(count, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::panel;
    use crate::launch::logs::read;
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;

    const LOG: &str = "INFO 11-06 10:51:48 [kv_cache_utils.py:1229] GPU KV cache size: 75,840 \
        tokens\nINFO 11-06 10:52:10 [gpu_model_runner.py:3050] Graph capturing finished in 12 \
        secs, took 0.62 GiB\n";

    #[test]
    fn a_log_stands_beside_the_estimate_and_graphs_can_be_kept() {
        let log = read(LOG).expect("a log");
        let scenario = decode("v2&do=serve&m=llama3-8b&srv=vllm&n=1&ctx=8192&seqs=1").scenario;
        let (html, link) = panel(&scenario, &log, MemoryUnit::Gib);
        assert!(html.as_str().contains("75\u{202f}840"), "{}", html.as_str());
        assert!(link.is_some_and(|link| link.contains("cg=0.62")), "{}", html.as_str());
    }

    #[test]
    fn a_training_has_no_start_up_log() {
        let log = read(LOG).expect("a log");
        let (html, link) = panel(&decode("v2&m=llama3-8b").scenario, &log, MemoryUnit::Gib);
        assert_eq!(link, None);
        assert!(html.as_str().contains("Choose Serving"));
    }

    #[test]
    fn a_training_can_keep_what_was_measured_beyond_its_estimate() {
        let line = "step: 10  loss:  6.0388  memory: 79.66GiB(52.28%)  tps: 5,593  tflops: 323.92  \
            mfu: 32.75%\n";
        let log = read(line).expect("a log");
        let (html, link) =
            panel(&decode("v2&m=llama3.2-1b&n=1&gpu=h100-80").scenario, &log, MemoryUnit::Gib);
        let link = link.unwrap_or_else(|| panic!("{}", html.as_str()));
        let kept = decode(&link).scenario;
        let answer = crate::estimator::estimate(&kept.resolve().expect("a job"));
        let line = answer
            .ledger
            .lines
            .iter()
            .find(|line| line.label == crate::estimator::MEASURED_BEYOND)
            .expect("a line");
        assert!(line.bytes.0 > 0 && link.contains("cal="), "{link}");
        // Kept once, it is not kept twice.
        assert_eq!(panel(&kept, &log, MemoryUnit::Gib).1, Some(link));
    }
}
