//! The evidence of an answer: rows of the catalog, assumed amounts, and the bibliography. No
//! browser in here.

use super::words::{model_name, parameters, per_cent, remarks, whole};
use crate::catalog::{AcceleratorRow, ModelRow, Provenance};
use crate::config::{Job, Speed};
use crate::estimator::time::{IDLE_SHARE, Timing};
use crate::estimator::{Certainty, Estimate, Printed};
use crate::scenario::{FieldId, Remark, Scenario, Value, field, show};
use crate::sources::{self, Source, SourceKind};
use crate::units::MemoryUnit;

/// One thing that the answer rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The name of the thing.
    pub name: String,
    /// How sure it is: `checked`, `not checked`, `assumed`, `your value`.
    pub tag: &'static str,
    /// Short sentences, most important first.
    pub sentences: Vec<String>,
}

/// The model and the accelerator that the scenario starts from, with everything in them that has no
/// checked source.
pub fn catalog_rows(scenario: &Scenario, unit: MemoryUnit) -> Vec<Ground> {
    let accelerator = scenario.accelerator().map(|row| of_accelerator(row, scenario, unit));
    model(scenario).into_iter().chain(accelerator).collect()
}

const BY_HAND: &str = "Values changed by hand are yours; the rest is this row's.";

/// The model: a row as it stands, a row that somebody changed, or a file that is no row.
fn model(scenario: &Scenario) -> Option<Ground> {
    let row = scenario.model()?;
    if scenario.is_pasted() {
        return Some(of_file(scenario));
    }
    Some(if scenario.is_custom_model() { of_edited(row, scenario) } else { of_row(row, scenario) })
}

/// A model that was read from a file and is no row of the catalog.
fn of_file(scenario: &Scenario) -> Ground {
    let kind = show(FieldId::ModelType, &scenario.get(FieldId::ModelType));
    let mut sentences = vec![format!(
        "Read from a config.json of the kind {kind}; values changed since are yours."
    )];
    sentences.extend(parameters(scenario).map(|count| {
        format!("The number of parameters, {}, follows from its values.", whole(count))
    }));
    sentences.extend(remarks(scenario).iter().map(Remark::plain));
    Ground { name: model_name(scenario), tag: "your values", sentences }
}

/// A model that began as a row and was changed by hand. The row is named only while it is still of
/// that family.
fn of_edited(row: &ModelRow, scenario: &Scenario) -> Ground {
    let mut sentences = Vec::new();
    if scenario.is_set(FieldId::Family) {
        sentences.push("Its values were entered by hand or read from a file.".to_owned());
    } else {
        sentences.push(format!("Edited; started from {}. {BY_HAND}", row.name));
        push_source(&mut sentences, row.provenance());
    }
    sentences.extend(parameters(scenario).map(|count| {
        format!("The number of parameters, {}, follows from its values.", whole(count))
    }));
    Ground { name: model_name(scenario), tag: "your values", sentences }
}

fn of_row(row: &ModelRow, scenario: &Scenario) -> Ground {
    let mut sentences = Vec::new();
    let name = model_name(scenario);
    if name != row.name {
        sentences.push(format!("Its shape is that of {}.", row.name));
    }
    sentences.push(match row.published_parameters {
        Some(count) => {
            format!("The published count of {} parameters equals the computed one.", whole(count))
        }
        None => {
            "No published exact count: the number of parameters follows from the shape.".to_owned()
        }
    });
    if !row.verified {
        sentences.push("The shape was not checked against its publisher.".to_owned());
    }
    push_source(&mut sentences, row.provenance());
    Ground { name, tag: tag(row.verified, false), sentences }
}

fn of_accelerator(row: &AcceleratorRow, scenario: &Scenario, unit: MemoryUnit) -> Ground {
    let changed = scenario.is_custom_accelerator();
    let mut sentences = Vec::new();
    if changed {
        sentences.push(format!("Edited; started from {}. {BY_HAND}", row.name));
    }
    let memory = unit.show(row.accelerator.memory);
    let whose = if changed {
        format!("{} has {memory} of memory", row.name)
    } else {
        format!("Memory {memory}")
    };
    sentences.push(format!(
        "{whose}, {}. Sold with {} GB.",
        row.memory_basis.text(),
        row.marketed_gb
    ));
    if !row.unverified_fields.is_empty() {
        let fields: Vec<&str> =
            row.unverified_fields.iter().map(|field| field_name(field)).collect();
        sentences.push(format!("Without a checked source: {}.", fields.join(", ")));
    }
    push_source(&mut sentences, row.provenance());
    let checked =
        row.verified && row.unverified_fields.is_empty() && !row.memory_basis.is_assumed();
    Ground { name: scenario.accelerator_name(), tag: tag(checked, changed), sentences }
}

const fn tag(checked: bool, changed: bool) -> &'static str {
    match (changed, checked) {
        (true, _) => "your values",
        (false, true) => "checked",
        (false, false) => "partly unchecked",
    }
}

fn push_source(sentences: &mut Vec<String>, provenance: &Provenance) {
    sentences.push(format!("Source: {}", provenance.source));
    if !provenance.note.is_empty() {
        sentences.push(provenance.note.to_owned());
    }
}

/// A field of an accelerator's row in words.
fn field_name(field: &str) -> &str {
    match field {
        "memory_bandwidth" => "memory bandwidth",
        "peak" => "peak rates",
        "peak.bf16" => "peak rate in bf16",
        "peak.fp8" => "peak rate in fp8",
        "accelerators_per_node" => "GPUs per node",
        "tdp_watts" => "board power",
        other => other,
    }
}

/// Every line of the answer that is an assumption, with its amount and where to change it.
pub fn assumed_lines(estimate: &Estimate, unit: MemoryUnit) -> Vec<Ground> {
    let printed = Printed::of(estimate, unit);
    let lines = estimate.ledger.lines.iter().zip(&printed.lines);
    lines
        .filter(|(line, _)| line.certainty == Certainty::Assumed)
        .map(|(line, amount)| Ground {
            name: format!("{}, {} {unit}", line.label, printed.scale.number(*amount)),
            tag: "assumed",
            sentences: vec![
                line.note.to_owned(),
                format!("{}: {}.", line.source.who, line.source.title()),
            ],
        })
        .collect()
}

/// Figures of time, cost and energy that are assumptions or the user's; none where there is no
/// time.
pub fn assumed_figures(scenario: &Scenario, job: &Job, timing: &Timing) -> Vec<Ground> {
    if matches!(timing, Timing::Unknown(_)) {
        return Vec::new();
    }
    let cluster = job.cluster();
    let ground = |id: FieldId, sentence: &str| Ground {
        name: format!("{}, {} {}", field(id).label, show(id, &scenario.get(id)), field(id).unit)
            .trim_end()
            .to_owned(),
        tag: if scenario.is_set(id) { "your value" } else { "assumed" },
        sentences: vec![sentence.to_owned()],
    };
    let mut grounds = vec![price(scenario)];
    if cluster.speed.matmul_16bit.is_none() {
        let name = format!("Rate of matrix products, {} of the peak", per_cent(Speed::UNMEASURED));
        let sentence = "On this accelerator nothing was measured: the share is that of A100 and \
            H100. So are the shares of its memory's bandwidth and of its links, and the rate of \
            attention.";
        grounds.push(Ground { name, tag: "assumed", sentences: vec![sentence.to_owned()] });
    }
    let Some(run) = job.training() else { return grounds };
    grounds.push(ground(
        FieldId::NetworkBandwidth,
        "One direction, as the vendor's own systems have it where nothing is entered.",
    ));
    if cluster.speed.tdp_watts.is_some() {
        let name = format!("Power of a waiting GPU, {} of its board power", per_cent(IDLE_SHARE));
        let sentence = "A computing GPU is taken to draw all of its board power. Hosts, network \
            and cooling are not counted.";
        grounds.push(Ground { name, tag: "assumed", sentences: vec![sentence.to_owned()] });
        grounds.push(ground(
            FieldId::GridEmissions,
            "Near the world's average; grids range from about 30 to 800.",
        ));
    }
    if run.stated_mfu().is_some() {
        grounds.push(ground(
            FieldId::Mfu,
            "A second answer at this rate stands beside the modelled one; nothing else uses it.",
        ));
    }
    grounds
}

/// The price of a GPU-hour: somebody's list, the user's, or an assumption.
fn price(scenario: &Scenario) -> Ground {
    let id = FieldId::PricePerHour;
    let value = scenario.get(id);
    let row = scenario.accelerator().and_then(AcceleratorRow::list_price);
    let listed = row.filter(|listed| value == Value::Decimal(listed.us_dollars));
    let (tag, sentence) = match listed {
        Some(listed) => (
            "assumed",
            format!(
                "{} listed this GPU at this price, in US dollars, on {}. Others ask for more or \
                 less: enter your price.",
                listed.seller, listed.read
            ),
        ),
        None if scenario.is_set(id) => ("your value", "In US dollars.".to_owned()),
        None => ("assumed", "Assumed, in US dollars: enter your price.".to_owned()),
    };
    Ground {
        name: format!("{}, {} {}", field(id).label, show(id, &value), field(id).unit),
        tag,
        sentences: vec![sentence],
    }
}

/// The entries of the bibliography that the answer uses, in its order; assumptions stand among
/// [`assumed_lines`].
pub fn cited(estimate: &Estimate, timing: &Timing) -> Vec<Source> {
    let of_compute = [sources::PALM_2022, sources::CHINCHILLA_2022];
    let of_step = |source: &Source| match timing {
        Timing::Training { step, .. } => step.lines.iter().any(|line| line.source == *source),
        _ => false,
    };
    let used = |source: &Source| {
        estimate.ledger.lines.iter().any(|line| line.source == *source)
            || estimate.compute.is_some() && of_compute.contains(source)
            || of_step(source)
    };
    sources::ALL
        .iter()
        .copied()
        .filter(|source| source.kind != SourceKind::Assumption && used(source))
        .collect()
}

/// The kind of evidence in one word.
pub const fn evidence(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Paper => "paper",
        SourceKind::Document => "document",
        SourceKind::Code => "code",
        SourceKind::Measurement => "measurement",
        SourceKind::Arithmetic => "arithmetic",
        SourceKind::Assumption => "assumption",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::estimator::estimate;
    use crate::estimator::time::timing;
    use crate::scenario::codec::decode;

    fn grounds(link: &str) -> Vec<Ground> {
        catalog_rows(&decode(link).scenario, MemoryUnit::Gib)
    }

    #[test]
    fn a_checked_row_says_so_and_an_unchecked_field_is_named() {
        let rows = grounds("v1&m=llama3-8b&gpu=h100-80");
        assert_eq!(rows.iter().map(|row| row.tag).collect::<Vec<_>>(), ["checked", "checked"]);
        assert!(rows[1].sentences[0].contains("as the driver reports it"), "{:?}", rows[1]);
        let rows = grounds("v1&m=gpt3-175b&gpu=a10g");
        assert_eq!(
            rows.iter().map(|row| row.tag).collect::<Vec<_>>(),
            ["partly unchecked", "partly unchecked"]
        );
        assert!(rows[1].sentences[1].contains("memory bandwidth, peak rates"), "{:?}", rows[1]);
    }

    #[test]
    fn values_changed_by_hand_are_the_users() {
        let rows = grounds("v1&m=llama3-8b&l=40&gpu=h100-80&mem=60");
        assert_eq!(
            rows.iter().map(|row| row.tag).collect::<Vec<_>>(),
            ["your values", "your values"]
        );
        assert_eq!(
            [rows[0].name.as_str(), rows[1].name.as_str()],
            ["Llama · 9.8 B", "H100 SXM5 (edited: 60 GiB)"]
        );
        assert!(
            rows[0].sentences[0].starts_with("Edited; started from Llama 3 8B."),
            "{:?}",
            rows[0]
        );
    }

    /// The count that was published for a row says nothing about another shape, whoever made it.
    #[test]
    fn a_published_count_equals_the_computed_one_only_where_the_shape_is_the_rows() {
        let said = |link: &str| grounds(link)[0].sentences.join(" ");
        assert!(said("v1&m=llama3-8b").contains("equals the computed one"));
        assert!(
            said("v1&m=llama3-8b&mn=Mine")
                .contains("Its shape is that of Llama 3 8B. The published count")
        );
        for other in [
            "v1&m=llama3-8b&l=40",
            "v1&m=llama3-8b&mp=4096",
            "v1&m=qwen3-30b-a3b&mt=mimo-v2-flash&l=48&kv=8",
        ] {
            assert!(!said(other).contains("published count"), "{other}: {}", said(other));
        }
    }

    /// The row that a pasted model is written from is nothing to the reader.
    #[test]
    fn a_pasted_model_names_no_row() {
        for link in
            ["v1&m=qwen3-30b-a3b&mt=mimo-v2-flash&l=50", "v1&m=llama3.2-1b&fam=gemma3&h=5376&l=62"]
        {
            let ground = &grounds(link)[0];
            let words = format!("{} {}", ground.name, ground.sentences.join(" "));
            assert!(!words.contains("Qwen") && !words.contains("Llama"), "{words}");
            assert_eq!(ground.tag, "your values");
        }
    }

    #[test]
    fn every_unverified_field_of_the_catalog_has_words() {
        for field in catalog::accelerators().iter().flat_map(|row| row.unverified_fields) {
            assert!(!field_name(field).contains(['_', '.']), "{field}");
        }
    }

    #[test]
    fn every_line_is_either_cited_or_assumed() {
        for link in ["v1&m=llama3-8b&n=8&z=3", "v1&m=llama3-8b&do=serve&n=1&ovh=10"] {
            let job = decode(link).scenario.resolve().expect("a job");
            let estimate = estimate(&job);
            let timing = timing(&job, &estimate);
            let (cited, assumed) =
                (cited(&estimate, &timing), assumed_lines(&estimate, MemoryUnit::Gib));
            assert!(!assumed.is_empty());
            for line in &estimate.ledger.lines {
                let named = cited.contains(&line.source)
                    || assumed.iter().any(|ground| ground.name.starts_with(line.label));
                assert!(named, "{} has no source", line.label);
            }
        }
    }

    #[test]
    fn a_figure_of_time_is_assumed_until_it_is_entered() {
        let tags = |link: &str| {
            let scenario = decode(link).scenario;
            let job = scenario.resolve().expect("a job");
            let figures = assumed_figures(&scenario, &job, &timing(&job, &estimate(&job)));
            figures.into_iter().map(|ground| (ground.name, ground.tag)).collect::<Vec<_>>()
        };
        let plain = tags("v1&m=llama3-8b&n=8");
        assert!(plain.len() == 4 && plain.iter().all(|(_, tag)| *tag == "assumed"), "{plain:?}");
        let entered = tags("v1&m=llama3-8b&n=8&price=3&net=100&grid=50&mfu=45");
        assert_eq!(
            entered.iter().filter(|(_, tag)| *tag == "your value").count(),
            4,
            "{entered:?}"
        );
        assert!(
            tags("v1&m=llama3-8b&n=8&gpu=l4")
                .iter()
                .any(|(name, _)| name.starts_with("Rate of matrix products, 75 %"))
        );
        assert_eq!(tags("v1&m=llama3-8b&n=8&gpu=m3-ultra"), Vec::new());
    }
}
