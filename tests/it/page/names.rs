//! Names and remarks of pasted or edited models: no answer carries the name of another model, and
//! everywhere an answer appears it states what is not counted.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use headroom::catalog;
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Mode, Scenario, Value, field, fields};
use headroom::units::MemoryUnit;
use headroom::view::answers::{Answers, Other};
use headroom::view::basis::catalog_rows;
use headroom::view::compared::lines;
use headroom::view::export::{ExportFormat, Luggage, file};
use headroom::view::history::UndoStep;
use headroom::view::panels::verdict::{spoken, verdict};
use headroom::view::panels::{compare, printed};
use headroom::view::report::{Report, json};
use headroom::view::ui::{FromWorkers, Opened};
use headroom::view::words::{about, accelerator_name, model_name, remarks};
use headroom::worker::answer;
use headroom::worker::question::WorkerQuestion;
use headroom::worker::wire::{MARK, Reply, Request, What};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/configs")
}

fn text_of(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The paste dialog's answer to a text, where the shown scenario serves under vLLM's rule on GPUs
/// that are not the default.
fn pasted(text: &str) -> Reply {
    let fragment = "v1&do=serve&gpu=h200&n=8&tp=8&m=llama2-13b".to_owned();
    let request = Request {
        number: 1,
        unit: MemoryUnit::Gib,
        fragment,
        question: WorkerQuestion::read(What::Paste, text).expect("a question"),
    };
    answer(&request)
}

/// The scenario with the model of a text.
fn scenario_of(text: &str) -> Option<Scenario> {
    pasted(text).fragment.map(|link| decode(&link).scenario)
}

/// Reads a file; where its kind is not known, as a generic decoder.
fn at_any_rate(text: &str) -> Option<Scenario> {
    scenario_of(text).or_else(|| scenario_of(&format!("as-generic{MARK}{text}")))
}

fn answers(scenario: &Scenario) -> Answers {
    Answers::of(&UndoStep { scenario: scenario.clone(), compare: Vec::new() }, None).0
}

/// The words of some HTML.
fn words(html: &str) -> String {
    let text: String = html
        .split('<')
        .map(|piece| piece.split_once('>').map_or(piece, |(_, words)| words))
        .collect();
    text.replace("&#39;", "'").replace("&quot;", "\"").replace("&amp;", "&")
}

fn same_shape(scenario: &Scenario, id: &str) -> bool {
    let mut row = Scenario::default();
    row.set_model(id);
    fields()
        .iter()
        .filter(|field| field.group.is_architecture())
        .all(|field| row.get(field.id) == scenario.get(field.id))
}

/// File, name, and the beginnings of the remarks on the card.
const FILES: [(&str, &str, &[&str]); 9] = [
    (
        "gemma-3-27b.json",
        "Gemma 3 · 27.4 B",
        &["Texts alone: the vision tower and its projector lie in memory"],
    ),
    (
        "corpus/Qwen__Qwen3-VL-8B-Instruct.json",
        "Qwen3-VL · 8.8 B",
        &["Texts alone: the vision tower"],
    ),
    (
        "corpus/zai-org__GLM-4.5-Air.json",
        "GLM-4.5 · 107 B",
        &["Not counted: `model_type`; the result may be too low."],
    ),
    ("corpus/allenai__Olmo-3-7B-Think.json", "OLMo 3 · 7.3 B", &[]),
    (
        "corpus/nvidia__NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4.json",
        "Nemotron-H · 31.6 B",
        &["Not loaded, as the library's class has none: layers"],
    ),
    (
        "corpus/google__gemma-4-26B-A4B.json",
        "Gemma 4 · 25.8 B",
        &["Texts alone: the vision tower and its projector lie in memory"],
    ),
    (
        "corpus/XiaomiMiMo__MiMo-V2-Flash.json",
        "MiMo-V2-Flash · 309 B",
        &["Not loaded, as the library's class has none: layers"],
    ),
    (
        "corpus/nvidia__DeepSeek-V3.2-NVFP4.json",
        "DeepSeek-V3.2 · 672 B",
        &["Not loaded, as the library's class has none: layers"],
    ),
    ("corpus/openai__gpt-oss-120b.json", "gpt-oss · 117 B", &[]),
];

#[test]
fn a_pasted_model_has_its_own_name_and_its_remarks_wherever_its_answer_goes() {
    for (name, called, said) in FILES {
        let scenario = scenario_of(&text_of(name)).unwrap_or_else(|| panic!("{name} is refused"));
        // A pasted file gets the name of a catalog row only where it has that row's shape.
        let row = catalog::models().iter().find(|row| row.name == model_name(&scenario));
        assert!(
            model_name(&scenario) == called || row.is_some_and(|row| same_shape(&scenario, row.id)),
            "{name}: {}",
            model_name(&scenario)
        );
        let remarks: Vec<String> =
            remarks(&scenario).into_iter().map(|remark| remark.text).collect();
        assert_eq!(remarks.len(), said.len(), "{name}: {remarks:?}");
        assert!(
            remarks.iter().zip(said).all(|(remark, start)| remark.starts_with(start)),
            "{name}: {remarks:?}"
        );
        everywhere(name, &scenario, &remarks);
        // The link, opened anywhere, gives the same scenario and name.
        let opened = decode(&encode(&scenario));
        assert!(opened.notices.is_empty(), "{name}: {:?}", opened.notices);
        assert_eq!(opened.scenario, scenario, "{name}");
    }
}

/// Checks every place that names a model: card, report, exports.
fn everywhere(name: &str, scenario: &Scenario, remarks: &[String]) {
    let model = model_name(scenario);
    let answers = answers(scenario);
    assert!(answers.problems.is_empty(), "{name}: {:?}", answers.problems);
    let plain: Vec<String> = remarks.iter().map(|remark| remark.replace('`', "")).collect();
    let card = verdict(&answers, answers.standing, &FromWorkers::default(), &Opened::default());
    assert_eq!(card.as_str().matches("role=\"note\"").count(), remarks.len(), "{name}");
    let luggage = Luggage { scenario: scenario.clone(), ..Luggage::default() };
    let of = |form| file(form, &luggage).unwrap();
    let report = Report::of(scenario, scenario.resolve().as_ref().unwrap(), None);
    let places = [
        words(card.as_str()),
        spoken(&answers, answers.standing, &FromWorkers::default()),
        report.text(&[]),
        json(&report, scenario, &[]),
        of(ExportFormat::Answer).replace('\\', ""),
        of(ExportFormat::Curves),
        of(ExportFormat::Ledger),
        of(ExportFormat::Scenario),
    ];
    for place in &places {
        assert!(place.contains(&model), "{name}: {place:.400}");
        for remark in &plain {
            assert!(
                place.replace('`', "").contains(remark),
                "{name}: {remark} is missing in {place:.600}"
            );
        }
        no_other_name(name, place, &model);
    }
    no_other_name(name, &words(printed::printed(scenario).as_str()), &model);
    for ground in catalog_rows(scenario, MemoryUnit::Gib).iter().take(1) {
        assert_eq!(ground.name, model, "{name}");
        no_other_name(name, &ground.sentences.join(" "), &model);
    }
}

/// Asserts that the text names no other row of the catalog.
fn no_other_name(file: &str, text: &str, model: &str) {
    // The model's own name is removed first, because it may contain another row's: “DeepSeek-V3.2”
    // contains “DeepSeek-V3”.
    let text = text.replace(model, "");
    for row in catalog::models().iter().filter(|row| row.name != model && row.name.len() > 4) {
        assert!(!text.contains(row.name), "{file} names {}: {text:.600}", row.name);
    }
}

/// Each of 296 real files is read, counted as a generic decoder on request, or refused; none has
/// the name of a row of another shape.
#[test]
fn no_real_file_takes_the_name_of_a_row_that_it_is_not() {
    let mut found = [0_usize; 3];
    for entry in fs::read_dir(folder().join("corpus")).expect("a folder").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a file");
        let refused = pasted(&text).fragment.is_none();
        let Some(scenario) = at_any_rate(&text) else {
            found[2] += 1;
            continue;
        };
        found[usize::from(refused)] += 1;
        let name = model_name(&scenario);
        for row in catalog::models().iter().filter(|row| row.name == name) {
            assert!(same_shape(&scenario, row.id), "{} is called {name}", path.display());
        }
        let guessed = remarks(&scenario)
            .iter()
            .any(|remark| remark.text.starts_with("Assumed: counted as a generic decoder"));
        assert_eq!(guessed, refused, "{}", path.display());
        assert_eq!(decode(&encode(&scenario)).scenario, scenario, "{}", path.display());
    }
    assert!(found[0] > 280 && found[1] + found[2] > 3, "{found:?}");
}

#[test]
fn a_file_of_a_rows_shape_is_that_row_unless_it_says_another_name() {
    let llama = |extra: &str| {
        format!(
            r#"{{"model_type": "llama", {extra} "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
            "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 32000, "max_position_embeddings": 4096}}"#
        )
    };
    let named = |extra: &str| {
        let scenario = scenario_of(&llama(extra)).expect("a model");
        (model_name(&scenario), scenario.is_pasted())
    };
    assert_eq!(
        named(r#""_name_or_path": "meta-llama/Llama-2-70b-hf","#),
        ("Llama 2 70B".to_owned(), false)
    );
    assert_eq!(
        named(r#""_name_or_path": "someone/Platypus-70B","#),
        ("Platypus-70B".to_owned(), true)
    );
    // A row's name in a file of another shape tells what the model was made from, so it is not
    // taken.
    assert_eq!(
        named(r#""_name_or_path": "meta-llama/Llama-2-7b-hf","#),
        ("Llama · 69.0 B".to_owned(), true)
    );
    assert!(named(r#""vision_config": {"hidden_size": 1024},"#).1);
}

/// The text part may be made from another model; the whole model does not take that model's name.
#[test]
fn a_model_of_several_parts_goes_by_the_kind_of_the_whole() {
    let named = |name: &str| {
        model_name(&scenario_of(&text_of(&format!("corpus/{name}.json"))).expect("a model"))
    };
    for (file, start) in [
        ("nvidia__Kimi-K2.6-NVFP4", "Kimi K2.5 · "),
        ("llava-hf__llava-1.5-7b-hf", "LLaVA 1.5 7B"),
        ("google__paligemma-3b-pt-448", "PaliGemma · "),
        ("OpenGVLab__InternVL2-4B", "InternVL · "),
    ] {
        assert!(named(file).starts_with(start), "{file}: {}", named(file));
    }
}

#[test]
fn an_edited_model_goes_by_its_family_and_size() {
    let named = |link: &str| model_name(&decode(link).scenario);
    assert_eq!(named("v1&m=llama3-8b"), "Llama 3 8B");
    assert_eq!(named("v1&m=llama3-8b&l=40"), "Llama · 9.8 B");
    assert_eq!(named("v1&m=llama3-8b&mn=My-own"), "My own");
    assert_eq!(named("v1&m=llama3-8b&l=40&mn=My-own"), "My own");
    // With heads that do not divide, the model's size is unknown, so the name has none.
    assert_eq!(named("v1&m=llama3-8b&kv=7"), "Llama");
    // A pasted model of a link from before models carried names.
    assert_eq!(
        named(
            "v1&m=llama3.2-1b&fam=gemma3&h=5376&l=62&a=32&kv=16&hd=128&ff=21504&v=262208&nb=4&qn=1"
        ),
        "Gemma 3 · 27.0 B"
    );
}

#[test]
fn another_model_of_the_list_drops_what_the_file_said() {
    let mut scenario =
        scenario_of(&text_of("corpus/nvidia__DeepSeek-V3.2-NVFP4.json")).expect("a model");
    assert!(!remarks(&scenario).is_empty());
    scenario.change(FieldId::NumHiddenLayers, Value::Integer(40));
    assert!(
        !remarks(&scenario).is_empty() && model_name(&scenario).starts_with("DeepSeek-V3.2 · "),
        "{}",
        model_name(&scenario)
    );
    scenario.set_model("llama3-8b");
    assert!(remarks(&scenario).is_empty());
    assert_eq!((model_name(&scenario).as_str(), scenario.mode()), ("Llama 3 8B", Mode::Serve));
}

#[test]
fn scenarios_beside_each_other_are_told_apart() {
    let said = |first: &str, second: &str| {
        let [first, second] = [first, second].map(|link| decode(link).scenario);
        let snapshot = UndoStep { scenario: first, compare: vec![second] };
        let answers = Answers::of(&snapshot, None).0;
        let table: Vec<(String, String, String)> = lines(&snapshot.scenario, &answers)
            .into_iter()
            .map(|line| (line.name, line.shown, line.others[0].text.clone()))
            .collect();
        (words(compare::compare(&snapshot, &answers).as_str()), table)
    };
    let (page, table) = said("v1&n=1", "v1&n=1&mem=12");
    assert!(
        page.contains("Llama 3 8B, 1 × H100 SXM5B, kept")
            && page.contains("1 × H100 SXM5 (edited: 12 GiB)"),
        "{page}"
    );
    assert!(!table.iter().any(|(name, ..)| name == "Model"));
    let (_, table) = said("v1&n=1&m=qwen3-30b-a3b&mt=mimo-v2&l=40&nc=swa-head-dim", "v1&n=1");
    let line = |name: &str| table.iter().find(|(known, ..)| known == name).cloned();
    assert!(line("Model").is_some_and(|(_, shown, other)| shown.starts_with("MiMo")
        || shown.starts_with("Mimo") && other == "Llama 3 8B"));
    let not = line("Not in the answer").expect("a line");
    assert_eq!(
        (not.1.as_str(), not.2.as_str()),
        ("Not counted: swa_head_dim; the result may be too low.", "–")
    );
    for id in [FieldId::ModelName, FieldId::ModelType, FieldId::NotCounted] {
        assert_eq!(line(field(id).label), None);
    }
    assert_eq!(Other::of(&decode("v1").scenario).scenario, Scenario::default());
}

#[test]
fn an_edited_accelerator_never_has_the_rows_name_alone() {
    for row in catalog::accelerators() {
        let mut scenario = Scenario::default();
        scenario.set_accelerator(row.id);
        assert_eq!(accelerator_name(&scenario), row.name);
        scenario.set(FieldId::AcceleratorMemory, Value::Decimal(12.5));
        assert_eq!(accelerator_name(&scenario), format!("{} (edited: 12.5 GiB)", row.name));
        assert!(about(&scenario).ends_with(&format!("on 8 × {} (edited: 12.5 GiB)", row.name)));
    }
}
