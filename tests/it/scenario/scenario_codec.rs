//! Links carry every scenario, stay short, survive the changes that chat programs make, and open in
//! every later version.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken;

use std::fs;
use std::path::Path;

use headroom::catalog;
use headroom::config::LayerSet;
use headroom::scenario::codec::{self, Decoded, LONGEST, decode, encode, encode_all};
use headroom::scenario::{
    Applies, FOLLOWING, Field, FieldDefault, FieldId, FieldKind, Group, Mode, Scenario, Value,
    field, field_of_key, fields, parse,
};
use proptest::prelude::*;

/// A value that the field accepts, chosen by two numbers.
fn value(id: FieldId, seed: u64, share: f64) -> Value {
    let pick = |count: usize| usize::try_from(seed).unwrap_or_default() % count;
    match field(id).kind {
        FieldKind::Integer { optional: true, .. } | FieldKind::Decimal { optional: true, .. }
            if seed.is_multiple_of(5) =>
        {
            Value::Empty
        }
        FieldKind::Integer { min, max, .. } => {
            Value::Integer(min + (seed >> (seed % 60)) % (max - min + 1))
        }
        FieldKind::Decimal { min, max, .. } => Value::Decimal(min + (max - min) * share),
        FieldKind::Choice(options) => Value::Choice(options[pick(options.len())].value),
        FieldKind::Flag => Value::Flag(seed.is_multiple_of(2)),
        FieldKind::Layers => Value::Layers(match seed % 5 {
            0 => LayerSet::None,
            1 => LayerSet::All,
            2 => LayerSet::AllButEvery(2 + seed % 99),
            3 => LayerSet::From(1 + seed % 99),
            _ => LayerSet::Listed((0..64).map(|bit| seed >> bit & 1 == 1).chain([true]).collect()),
        }),
        FieldKind::Model => {
            Value::Text(catalog::models()[pick(catalog::models().len())].id.to_owned())
        }
        FieldKind::Accelerator => {
            Value::Text(catalog::accelerators()[pick(catalog::accelerators().len())].id.to_owned())
        }
        FieldKind::Words { .. } => Value::Text(format!("{} full_attention, mamba", 2 + seed % 9)),
        FieldKind::Keys { .. } => Value::Text(format!("key_{seed:x},other.{}-{seed}", seed % 7)),
        FieldKind::Text { .. } => Value::Text(format!(
            "{seed:x} – ö.z-{}",
            char::from_u32(0x4e00 + u32::from(seed.to_le_bytes()[0])).unwrap()
        )),
    }
}

prop_compose! {
    fn scenario()(changes in prop::collection::vec((0..fields().len(), any::<u64>(), 0.0..=1.0_f64),
        0..30), name in "\\PC{0,70}")
        -> Scenario
    {
        let mut scenario = Scenario::default();
        for (index, seed, share) in changes {
            let id = fields()[index].id;
            scenario.set(id, value(id, seed, share));
        }
        if name.len() % 2 == 0 {
            scenario.set_name(&name);
        }
        scenario
    }
}

#[track_caller]
fn assert_alphabet(link: &str) {
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'=' | b'&');
    assert!(link.bytes().all(is_allowed), "{link}");
    assert!(link.bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric()), "{link}");
    assert!(link.len() <= codec::LONGEST, "{} characters", link.len());
}

/// The names that people give, which a link leaves out where it has no room for them.
const NAMES: [FieldId; 2] = [FieldId::Name, FieldId::ModelName];

fn without_names(scenario: &Scenario) -> Scenario {
    let mut unnamed = scenario.clone();
    for id in NAMES {
        unnamed.clear(id);
    }
    unnamed.settled()
}

/// An upper bound on the characters that the scenarios' names take in a link: the names themselves,
/// and `unset` where only the first scenario has one.
fn names_length(scenarios: &[Scenario]) -> usize {
    let own = |scenario: &Scenario| encode(scenario).len() - encode(&without_names(scenario)).len();
    let none: usize = NAMES.iter().map(|id| format!("&b.{}=unset", field(*id).key).len()).sum();
    scenarios.iter().map(|scenario| own(scenario) + none).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_link_brings_back_the_scenario(scenario in scenario()) {
        let link = encode(&scenario);
        assert_alphabet(&link);
        let decoded = decode(&link);
        prop_assert_eq!(&decoded.scenario, &scenario.settled());
        prop_assert_eq!(&decoded.notices, &Vec::<String>::new());
        prop_assert!(decoded.compare.is_empty() && !decoded.failed);
        prop_assert_eq!(encode(&decoded.scenario), link);
        prop_assert!(decoded.scenario.differences(&scenario).is_empty(), "what follows is stated");
        prop_assert!(FOLLOWING.iter().all(|id| !decoded.scenario.follows(*id)));
    }

    #[test]
    fn a_link_brings_back_several_scenarios(first in scenario(),
        others in prop::collection::vec(scenario(), 1..4)) {
        let link = encode_all(&first, &others);
        assert_alphabet(&link);
        let decoded = decode(&link);
        // Scenarios that a link has no room for are left out from the end; two always fit.
        prop_assert!(!decoded.compare.is_empty());
        let sent: Vec<Scenario> = [&first].into_iter().chain(&others[..decoded.compare.len()]).map(Scenario::settled).collect();
        let read: Vec<Scenario> = [&decoded.scenario].into_iter().chain(&decoded.compare).map(Scenario::settled).collect();
        if read != sent {
            // Given names are left out before scenarios, and only where they would not fit.
            prop_assert_eq!(read, sent.iter().map(without_names).collect::<Vec<_>>());
            prop_assert!(link.len() + names_length(&sent) > LONGEST);
        }
        prop_assert!(decoded.compare.len() == others.len() || link.len() > LONGEST / 2);
        prop_assert_eq!(decoded.notices, Vec::<String>::new());
    }

    #[test]
    fn every_scenario_resolves_or_says_why(scenario in scenario()) {
        match scenario.resolve() {
            Ok(job) => {
                let estimate = headroom::estimator::estimate(&job);
                prop_assert_eq!(estimate.total(), estimate.ledger.total());
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(error.message.ends_with('.'), "{}", error.message);
                    prop_assert!(field(error.field).applies == Applies::Both
                        || field(error.field).applies.in_mode(scenario.mode()));
                }
            }
        }
    }
}

/// Links name a model file's keys as the file does.
#[test]
fn links_of_version_2_name_keys_of_files() {
    let frozen: Vec<&str> = include_str!("../../links/inputs/v2.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    let of_model = fields().iter().filter(|field| field.default.is_of_model());
    let today: Vec<String> = of_model
        .map(|field| {
            format!("{} {}", field.name.trim_start_matches('_').replace('_', "-"), field.name)
        })
        .collect();
    assert_eq!(
        frozen, today,
        "a key that comes new goes to tests/links/inputs/v2.txt, and none is ever changed"
    );
}

/// Keys and defaults of links of version 1, in the order of links; no default where the model or
/// the accelerator has its own value.
fn version_1() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let rows =
        include_str!("../../links/inputs/v1.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let (key, default) = row.split_once(' ').unwrap_or_else(|| panic!("{row}"));
        (key, (default != "preset").then_some(default))
    })
}

#[test]
fn version_1_has_the_keys_and_the_defaults_of_the_field_table() {
    let frozen: Vec<&str> = version_1().map(|(key, _)| key).collect();
    // Fields that came with version 2.
    let is_new = |field: &Field| {
        matches!(field.default, FieldDefault::OfFile)
            || matches!(field.id, FieldId::TextModelType | FieldId::Sizes)
    };
    let today: Vec<&str> =
        fields().iter().filter(|field| !is_new(field)).map(|field| field.key).collect();
    assert_eq!(frozen, today, "an input that comes new goes to tests/links/inputs/v1.txt");
    for (key, default) in version_1() {
        let field = field_of_key(key).unwrap();
        assert_eq!(default.is_none(), field.default.is_preset(), "{key}");
        if let Some(default) = default {
            let decoded = decode(&format!("v1&{key}={default}"));
            assert_eq!(
                (decoded.scenario, decoded.notices),
                (Scenario::default(), Vec::new()),
                "{key}"
            );
        }
    }
}

#[test]
fn what_a_mode_begins_with_and_version_1_does_not_is_in_the_link() {
    let mut differing = Vec::new();
    for mode in [Mode::Train, Mode::Tune, Mode::Serve] {
        let mut fresh = Scenario::default();
        fresh.set(FieldId::Mode, Value::choice(mode));
        let link = encode(&fresh);
        for (key, _) in version_1().filter(|(key, default)| *key != "do" && default.is_some()) {
            let id = field_of_key(key).unwrap().id;
            if fresh.get(id) != Scenario::default().get(id) {
                assert!(link.contains(&format!("&{key}=")), "{link} lacks {key}");
                assert_eq!(decode(&link).scenario.get(id), fresh.get(id), "{key}");
                differing.push(id);
            }
        }
    }
    assert_eq!(differing, [FieldId::Gpus]);
}

/// A new serving scenario has one GPU, which its link states. A link without a number of GPUs still
/// means eight.
#[test]
fn what_serving_begins_with_is_stated_and_old_links_keep_their_eight() {
    let mut fresh = Scenario::default();
    fresh.set(FieldId::Mode, Value::Choice("serve"));
    assert!(encode(&fresh).ends_with("&do=serve&n=1"), "{}", encode(&fresh));
    let layout =
        |scenario: &Scenario| [FieldId::Gpus, FieldId::TensorParallel].map(|id| scenario.get(id));
    for (link, gpus, tensor) in [
        ("v1&do=serve&m=llama3-70b", 8, 1),
        ("v1&do=serve&tp=4", 8, 4),
        ("v1&do=serve&n=1", 1, 1),
        ("v1&do=serve&usr=1000", 8, 1),
        ("v1&m=llama3-8b&b.do=serve", 8, 1),
    ] {
        let decoded = decode(link);
        let served = decoded.compare.first().unwrap_or(&decoded.scenario);
        assert_eq!(layout(served), [gpus, tensor].map(Value::Integer), "{link}");
        assert!(FOLLOWING.iter().all(|id| !served.follows(*id)), "{link}");
        let again = encode_all(&decoded.scenario, &decoded.compare);
        assert_eq!(
            (decode(&again).scenario, decode(&again).compare),
            (decoded.scenario, decoded.compare),
            "{link}"
        );
    }
}

#[test]
fn links_are_short() {
    let mut preset = Scenario::default();
    preset.set_model("llama3.1-405b");
    preset.set_accelerator("h100-80");
    preset.set(FieldId::Gpus, Value::Integer(512));
    preset.set(FieldId::TensorParallel, Value::Integer(8));
    preset.set(FieldId::SeqLength, Value::Integer(131_072));
    assert!(encode(&preset).len() <= 120, "{}", encode(&preset));

    let mut typical = preset.clone();
    typical.set_name("Llama 405B, long context");
    typical.set_accelerator("a100-40");
    for (id, value) in [
        (FieldId::GlobalBatchSize, Value::Integer(1024)),
        (FieldId::Optimizer, Value::Choice("adafactor")),
        (FieldId::Recompute, Value::Choice("selective")),
        (FieldId::TrainingTokens, Value::Integer(15_000_000_000_000)),
    ] {
        typical.set(id, value);
        assert!(typical.is_set(id), "{id:?}");
    }
    assert!(preset.set_fields().all(|id| typical.is_set(id)));
    assert!(encode(&typical).len() <= 200, "{}", encode(&typical));

    // Every field of the architecture and of the hardware, and a full run besides.
    let mut custom = typical;
    custom.change(FieldId::Sizes, Value::Flag(true));
    for field in fields().iter().filter(|field| field.group == Group::Architecture) {
        let value = match custom.get(field.id) {
            Value::Integer(number) => Value::Integer(number.max(2) - 1),
            Value::Flag(yes) => Value::Flag(!yes),
            Value::Choice(word) => match field.kind {
                FieldKind::Choice(options) => {
                    Value::Choice(options.iter().find(|option| option.value != word).unwrap().value)
                }
                _ => panic!("{}", field.key),
            },
            other => panic!("{}: {other:?}", field.key),
        };
        custom.set(field.id, value);
        assert!(custom.is_set(field.id), "{}", field.key);
    }
    for (id, value) in [
        (FieldId::AcceleratorMemory, Value::Decimal(23.68)),
        (FieldId::PeakRate, Value::Decimal(165.2)),
        (FieldId::MemoryBandwidth, Value::Decimal(1008.0)),
        (FieldId::AcceleratorsPerNode, Value::Integer(4)),
        (FieldId::PricePerHour, Value::Decimal(0.35)),
    ] {
        custom.set(id, value);
        assert!(custom.is_set(id), "{id:?}");
    }
    assert!(encode(&custom).len() <= 500, "{}: {}", encode(&custom).len(), encode(&custom));
}

#[test]
fn the_longest_links_stay_within_the_limit() {
    let mut longest = Scenario::default();
    longest.set(FieldId::Sizes, Value::Flag(true));
    let by_hand = |field: &&Field| {
        !matches!(field.default, FieldDefault::OfFile) && field.id != FieldId::TextModelType
    };
    for field in fields().iter().filter(by_hand) {
        let value = match field.kind {
            FieldKind::Integer { max, .. } => Value::Integer(max - 1),
            FieldKind::Decimal { max, .. } => Value::Decimal(max / 3.0),
            FieldKind::Choice(options) => Value::Choice(options.last().unwrap().value),
            FieldKind::Flag => Value::Flag(true),
            FieldKind::Layers => {
                Value::Layers(LayerSet::Listed((0..128).map(|layer| layer % 3 == 1).collect()))
            }
            FieldKind::Text { .. } => Value::Text("\u{10fffd}".repeat(60)),
            FieldKind::Words { .. } => {
                Value::Text("5 sliding_attention, full_attention".to_owned())
            }
            FieldKind::Keys { max_len } => Value::Text("a-".repeat(max_len / 2)),
            FieldKind::Model | FieldKind::Accelerator => continue,
        };
        longest.set(field.id, value);
    }
    let link = encode(&longest);
    assert_alphabet(&link);
    let names = |id: &FieldId| matches!(id, FieldId::Name | FieldId::ModelName);
    let missing = decode(&link).scenario.differences(&longest);
    assert!(missing.iter().all(names), "only names may be left out: {missing:?}");
    // Names of an ordinary length fit.
    for id in [FieldId::Name, FieldId::ModelName] {
        longest.set(id, Value::Text("Ünusual name – 27B".to_owned()));
    }
    assert_eq!(decode(&encode(&longest)).scenario, longest);
    let mut other = Scenario::default();
    other.set_name(&"\u{10fffc}".repeat(60));
    // A scenario with the longest remarks of a file may not fit as the second of a pair; it is then
    // left out whole, never in part.
    let pair = decode(&encode_all(&other, &[longest.clone()]));
    assert!(!pair.failed && pair.compare.iter().all(|second| *second == longest));
    for id in [FieldId::ModelType, FieldId::NotCounted, FieldId::LeftOut] {
        longest.clear(id);
    }
    for (first, second) in [(&longest, &other), (&other, &longest)] {
        let pair = encode_all(first, &[(*second).clone()]);
        assert_alphabet(&pair);
        let decoded = decode(&pair);
        assert!(!decoded.failed);
        assert!(
            decoded.scenario.differences(first).iter().all(names),
            "only names may be left out"
        );
        assert!(decoded.compare[0].differences(second).iter().all(names));
    }
}

#[test]
fn what_surrounds_a_link_is_ignored() {
    let mut scenario = Scenario::default();
    scenario.set_model("llama3-70b");
    scenario.set_name("70B & co.");
    scenario.set(FieldId::Gpus, Value::Integer(64));
    let link = encode(&scenario);
    let forms = [
        format!("#{link}"),
        format!("%23{link}"),
        format!("https://example.org/headroom/#{link}"),
        format!("https://example.org/headroom/index.html?x=1#{link}"),
        format!("<https://example.org/#{link}>"),
        format!("(see #{link})."),
        format!("{link}),"),
        format!("  {link}\n"),
        format!("\u{200b}#{link}…"),
        format!("“#{link}”"),
        link.replace('&', "&amp;"),
        format!("#{}", link.replace('&', "%26").replace('=', "%3D")),
        format!("%23{}", link.replace('&', "%2526").replace('=', "%253d")),
        format!("#{}\n{}", &link[..20], &link[20..]),
    ];
    for form in forms {
        let decoded = decode(&form);
        assert_eq!(decoded.notices, Vec::<String>::new(), "{form}");
        assert_eq!(decoded.scenario, scenario, "{form}");
    }
    for nothing in ["", "#", " # ", "%23"] {
        assert_eq!(decode(nothing), Decoded::default(), "{nothing}");
    }
}

/// Links that were published: each file holds a link and its required meaning. Files are added but
/// never edited.
///
/// `link` is the link, `failed` says that it cannot be used, `notices` how many sentences there
/// are, `notice` one of them, `refused` the fields that the answer's card names, `parameters` how
/// many the model has, `image tokens` what the images of a sequence become, `set`, `b.set`, `c.set`
/// and `d.set` the fields that differ from their start (`-`: none), and every other line a field's
/// key with its value.
#[test]
fn links_of_every_version_open() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/links");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    assert!(files.len() >= 8, "{} fixtures", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<(&str, &str)> = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| {
                line.split_once(" = ").unwrap_or_else(|| panic!("{}: {line}", file.display()))
            })
            .collect();
        let (first, link) = lines[0];
        assert_eq!(first, "link", "{}", file.display());
        let decoded = decode(link);
        for (key, expected) in &lines[1..] {
            assert_line(&decoded, key, expected, &file);
        }
    }
}

/// The tokens of an image, as exercises write them.
fn image_tokens(side: &Scenario) -> Option<String> {
    let facts = headroom::lessons::figure::Facts::of(side)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    let tokens = headroom::lessons::figure::Figure::find("image-tokens")
        .and_then(|figure| (figure.of)(&facts));
    tokens.and_then(headroom::lessons::figure::Amount::number).map(|tokens| tokens.to_string())
}

fn assert_line(decoded: &Decoded, key: &str, expected: &str, file: &Path) {
    let place = format!("{}, {key}", file.display());
    let at = ["b.", "c.", "d."].iter().position(|prefix| key.starts_with(prefix));
    let side = match at {
        Some(at) => decoded.compare.get(at).unwrap_or_else(|| panic!("{place}: no such scenario")),
        None => &decoded.scenario,
    };
    match key.get(if at.is_some() { 2 } else { 0 }..).unwrap() {
        "failed" => assert_eq!(decoded.failed.to_string(), expected, "{place}"),
        "notices" => assert_eq!(
            decoded.notices.len().to_string(),
            expected,
            "{place}: {:?}",
            decoded.notices
        ),
        "notice" => assert!(
            decoded.notices.iter().any(|notice| notice == expected),
            "{place}: {:?}",
            decoded.notices
        ),
        "refused" => {
            let refused = side.resolve().expect_err(&place);
            assert_eq!(
                refused
                    .iter()
                    .map(|problem| field(problem.field).key)
                    .collect::<Vec<_>>()
                    .join(" "),
                expected,
                "{place}"
            );
        }
        "compare" => assert_eq!((!decoded.compare.is_empty()).to_string(), expected, "{place}"),
        "scenarios" => assert_eq!((1 + decoded.compare.len()).to_string(), expected, "{place}"),
        "parameters" => {
            let parameters = headroom::ops::parameters_of(&side.model_config());
            assert_eq!(parameters.to_string(), expected, "{place}");
        }
        "image tokens" => {
            assert_eq!(image_tokens(side).as_deref(), Some(expected), "{place}");
        }
        "set" => {
            // Version 1 knew no other way than sizes by hand.
            let keys: Vec<_> = side
                .set_fields()
                .filter(|id| *id != FieldId::Sizes)
                .map(|id| field(id).key)
                .collect();
            assert_eq!(
                if keys.is_empty() { "-".to_owned() } else { keys.join(" ") },
                expected,
                "{place}"
            );
        }
        key => {
            let field = field_of_key(key).unwrap_or_else(|| panic!("{place}: no such field"));
            assert_eq!(Ok(side.get(field.id)), parse(field.id, expected), "{place}");
        }
    }
}

#[test]
fn what_a_link_says_about_a_lesson_is_no_input() {
    let link = encode(&decode("v1&m=llama3-70b&n=64").scenario);
    for part in ["present=zero.3", "present=own.2&story=eNp.abcz", "task=algebra"] {
        for with in [format!("{link}&{part}"), link.replacen("v2&", &format!("v2&{part}&"), 1)] {
            let decoded = decode(&with);
            assert_eq!((decoded.notices, decoded.failed), (Vec::new(), false), "{with}");
            assert_eq!(encode(&decoded.scenario), link, "{with}");
        }
    }
}
