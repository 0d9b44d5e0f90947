//! The start-up log of a server beside the estimate of the present scenario, and what of it can be kept.

use crate::app::markup::{Html, html};
use crate::app::words::{self, whole};
use crate::config::{Job, Run};
use crate::engines::Engine;
use crate::estimator::{Estimate, estimate};
use crate::launch::logs::{Amount, Compared, Figure, Log, beside};
use crate::scenario::codec::encode;
use crate::scenario::{FieldId, Mode, Scenario, Value};
use crate::units::{Bytes, MemoryUnit, ceil_u64, grouped, to_f64};

/// Measured beside estimated, figure by figure, and the link of the scenario with what was measured outside the model; or why there is none.
pub fn panel(scenario: &Scenario, log: &Log, unit: MemoryUnit) -> (Html, Option<String>) {
    let job = scenario.resolve().ok().filter(|_| scenario.mode() == Mode::Serve);
    let Some((job, context)) = job.and_then(|job| served_context(&job).map(|context| (job.clone(), context))) else {
        return (refused(), None);
    };
    let answer = estimate(&job);
    let kept = calibrated(scenario, log);
    let link = (kept != *scenario).then(|| encode(&kept));
    (table(scenario, log, &answer, (&beside(log, &answer, context), unit)), link)
}

fn refused() -> Html {
    html! {
        div class="refused" role="alert" {
            p data-testid="paste-error" {
                "This is the start-up log of a server. Choose Serving and the server's model and settings first, or paste its command: \
                 the log is then set beside the estimate."
            }
        }
    }
}

fn served_context(job: &Job) -> Option<u64> {
    match job.run() {
        Run::Serving(run) => Some(run.context_length),
        Run::Training(_) => None,
    }
}

/// The scenario with what the log measured in place of what is assumed: captured graphs, and memory outside PyTorch.
fn calibrated(scenario: &Scenario, log: &Log) -> Scenario {
    let mut kept = scenario.clone();
    for (figure, field) in [(Figure::Graphs, FieldId::CudaGraphs), (Figure::OutsidePyTorch, FieldId::FrameworkContext)] {
        if let Some(bytes) = log.largest(figure) {
            kept.set(field, Value::Decimal((bytes / to_f64(Bytes::GIB) * 100.0).round() / 100.0));
        }
    }
    kept
}

fn table(scenario: &Scenario, log: &Log, answer: &Estimate, (compared, unit): (&[Compared], MemoryUnit)) -> Html {
    let engine = Engine::SPECS.iter().find(|spec| spec.key == log.engine).map_or(log.engine, |spec| spec.label);
    let others: Vec<_> = log.printed.iter().filter(|printed| !compared.iter().any(|row| row.figure == printed.figure)).collect();
    html! {
        div class="paste__found" data-key={ "log-" (log.printed.len()) "-" (answer.total().0) } {
            p data-testid="paste-understood" {
                "The start-up log of " (engine) " beside the estimate of " b { (words::about(scenario)) } "."
            }
            div class="dialog__scroll" tabindex="0" role="region" aria-label="Measured beside estimated" {
                table class="table" data-testid="paste-report" {
                    thead { tr { @for head in ["Figure", "Measured", "Estimated", "Difference"] { th scope="col" { (head) } } } }
                    tbody {
                        @for row in compared { (beside_row(row, unit)) }
                        @for printed in others {
                            tr {
                                th scope="row" { (printed.figure.label()) span class="quiet" { " line " (printed.line) } }
                                td class="number" { (shown(printed.amount, unit)) }
                                td {}
                                td {}
                            }
                        }
                    }
                }
            }
            p class="quiet" {
                "“Use it” keeps what was measured outside the model, captured graphs and memory outside PyTorch, as inputs under Reserve: \
                 the ledger then shows them as lines."
            }
        }
    }
}

fn beside_row(row: &Compared, unit: MemoryUnit) -> Html {
    let difference =
        row.error().map(|error| format!("{}{} %", if error < 0.0 { "−" } else { "+" }, grouped(error.abs() * 100.0, 1)));
    html! {
        tr {
            th scope="row" { (row.figure.label()) span class="quiet" { " line " (row.line) } }
            td class="number" { (shown(amount(row.figure, row.measured), unit)) }
            td class="number" { (shown(amount(row.figure, row.estimated), unit)) }
            td class="number" { @if let Some(difference) = difference { (difference) } }
        }
    }
}

fn amount(figure: Figure, number: f64) -> Amount {
    match figure {
        Figure::CacheTokens | Figure::CacheBlocks | Figure::Concurrency | Figure::Context => Amount::Count(number),
        Figure::Weights
        | Figure::Cache
        | Figure::Graphs
        | Figure::Working
        | Figure::OutsidePyTorch
        | Figure::Budget
        | Figure::Capacity
        | Figure::Free => Amount::Bytes(Bytes(ceil_u64(number))),
    }
}

fn shown(amount: Amount, unit: MemoryUnit) -> String {
    match amount {
        Amount::Bytes(bytes) => format!("{} {}", unit.number(bytes, 2), unit.name()),
        Amount::Count(count) if count.fract().abs() < f64::EPSILON => whole(ceil_u64(count)),
        Amount::Count(count) => grouped(count, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::panel;
    use crate::launch::logs::read;
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;

    const LOG: &str = "INFO 11-06 10:51:48 [kv_cache_utils.py:1229] GPU KV cache size: 75,840 tokens\n\
                       INFO 11-06 10:52:10 [gpu_model_runner.py:3050] Graph capturing finished in 12 secs, took 0.62 GiB\n";

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
}
