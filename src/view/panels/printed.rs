//! The part that only the printed page shows: all inputs, the link, version and date.

use super::dialogs::share;
use crate::config::LayerSet;
use crate::engines::Engine;
use crate::scenario::{Field, FieldId, Group, Scenario, Value};
use crate::stacks::Stack;
use crate::view::markup::{Html, html};
use crate::view::words::{about, shown};

/// The printed page's own part; link and code have parts of their own.
pub fn printed(scenario: &Scenario) -> Html {
    let name = scenario.name();
    let title =
        if name.is_empty() { about(scenario) } else { format!("{name}: {}", about(scenario)) };
    html! {
        div data-own="printed" {
            p { b { (title) } }
            div class="printed__inputs" {
                @for (name, value, unit) in &inputs(scenario) {
                    div class="printed__input" {
                        span { (name) }
                        span { (value) @if !unit.is_empty() { " " (unit) } }
                    }
                }
            }
        }
    }
}

/// The full link, the version, and when the page is printed, if it is.
pub fn printed_link(link: &str, when: &str) -> Html {
    html! {
        p class="printed__link" data-own="printed-link" {
            (link)
            " · Headroom "
            (env!("CARGO_PKG_VERSION"))
            (if when.is_empty() { "" } else { " · " })
            (when)
        }
    }
}

/// The QR code of the link, where there is one.
pub fn printed_code(link: &str) -> Html {
    html! { div class="printed__code" data-own="printed-code" { (share::code(link).drawn()) } }
}

/// Inputs that say nothing until somebody sets them, beside the engines' shares of memory: of
/// serving, of the libraries that share a model out, loss, float8 and evaluations.
const QUIET: [FieldId; 25] = [
    FieldId::Server,
    FieldId::SharedPrefix,
    FieldId::CudaGraphs,
    FieldId::GroupSize,
    FieldId::Loss,
    FieldId::Float8,
    FieldId::EvaluationBatch,
    FieldId::EvaluationLogits,
    FieldId::SourceLength,
    FieldId::BucketCap,
    FieldId::OverlapComm,
    FieldId::PersistenceThreshold,
    FieldId::MaxLiveParameters,
    FieldId::PrefetchBucket,
    FieldId::MaxReuseDistance,
    FieldId::SubGroupSize,
    FieldId::GpuLayers,
    FieldId::ExpertLayersOnHost,
    FieldId::CacheOnHost,
    FieldId::WeightsOnHost,
    FieldId::HostMemory,
    FieldId::HostBandwidth,
    FieldId::HostShare,
    FieldId::HostRate,
    FieldId::HostLink,
];

/// The model's line has its name, and remarks beside the answer say the rest.
pub const SAID_ELSEWHERE: [FieldId; 7] = [
    FieldId::ModelName,
    FieldId::TextModelType,
    FieldId::Sizes,
    FieldId::AsGeneric,
    FieldId::NotCounted,
    FieldId::LeftOut,
    FieldId::FlagsNotCounted,
];

fn is_quiet(field: &Field) -> bool {
    let mut shares = Engine::SPECS.iter().filter_map(|engine| engine.share.as_ref());
    QUIET.contains(&field.id) || shares.any(|share| share.key == field.key)
}

/// Every input that says something: its name, its value and its unit.
pub fn inputs(scenario: &Scenario) -> Vec<(&'static str, String, &'static str)> {
    let options = match scenario.get(FieldId::Stack) {
        Value::Choice(key) => Stack::named(key).is_some_and(|stack| stack.options.are_asked_for()),
        _ => false,
    };
    // Inputs that are off or empty are left out: the page has room for one sheet.
    let said = |value: &Value| {
        !matches!(value, Value::Flag(false) | Value::Empty | Value::Layers(LayerSet::None))
            && *value != Value::Text(String::new())
    };
    scenario
        .counting_fields()
        .filter(|field| options || field.group != Group::StackOptions)
        .filter(|field| scenario.is_set(field.id) || !is_quiet(field))
        .filter(|field| !SAID_ELSEWHERE.contains(&field.id))
        .map(|field| (field, scenario.get(field.id)))
        .filter(|(_, value)| said(value))
        .map(|(field, _)| (field.label, shown(scenario, field.id), field.unit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{inputs, printed};
    use crate::scenario::codec::decode;
    use crate::view::panels::tests::{count, text};

    #[test]
    fn every_input_that_says_something_is_printed() {
        let scenario = decode("v1&m=llama3-8b&n=8").scenario;
        let printed = printed(&scenario);
        assert_eq!(count(&printed, "printed__input\""), inputs(&scenario).len());
        assert!(inputs(&scenario).iter().any(|(name, value, _)| *name == "GPUs" && value == "8"));
        assert!(text(&printed).contains("8192 tokens"), "{}", text(&printed));
    }
}
