//! Links carry every scenario, stay short, survive the changes that chat programs make, and open in
//! every later version.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use headroom::catalog;
use headroom::config::{LayerSet, Optimizer};
use headroom::scenario::codec::{self, Decoded, LONGEST, decode, encode, encode_all};
use headroom::scenario::{
    Applies, FOLLOWING, Field, FieldDefault, FieldId, FieldKind, Group, Mode, Scenario, Value,
    field, field_of_key, fields, parse,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

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
    fn scenario()(changes in prop::collection::vec((0..fields().len(), any::<u64>(), 0.0..=1.0_f64), 0..30), name in "\\PC{0,70}")
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

/// The sentence about a link whose check sum does not match.
const ALTERED: &str = "This link was changed by hand or cut off: its check sum does not match. \
    Shown is what it says; ask for it again if something is missing.";

/// Cuts three times 150 links, always the same ones, at every place. A check sum of three letters
/// or digits accepts one altered text in 36³ by chance, and the test allows no more. For a cut that
/// is noticed, the notice comes first and the rest of the link is shown: with the same model, or
/// with one that is refused. Where nothing is left, the default scenario is shown.
#[test]
fn a_cut_link_is_noticed() {
    const LINKS: usize = 150;
    let (mut cuts, mut unnoticed) = (0_usize, Vec::new());
    for seed in [[3_u8; 32], [36; 32], [200; 32]] {
        let mut runner = TestRunner::new_with_rng(
            Config::default(),
            TestRng::from_seed(RngAlgorithm::ChaCha, &seed),
        );
        for _ in 0..LINKS {
            let scenario = scenario().new_tree(&mut runner).unwrap().current();
            let link = encode(&scenario);
            // `v1&c=` alone is the default scenario's link, and a cut that removes only punctuation
            // changes nothing; neither counts.
            for kept in 4..link.len() {
                let shorter = &link[..kept];
                let decoded = decode(shorter);
                cuts += 1;
                if decoded.failed {
                    assert_eq!(decoded.scenario, Scenario::default());
                    assert_eq!(decoded.notices.len(), 1);
                } else if decoded.altered {
                    assert_eq!(decoded.notices[0], ALTERED, "{shorter}");
                    let word = |scenario: &Scenario| match scenario.get(FieldId::Model) {
                        Value::Text(word) => word,
                        other => panic!("{other:?}"),
                    };
                    let (said, shown) = (word(&scenario), word(&decoded.scenario));
                    // A cut name may be the name or an alias of another row: `r1-distill…` cut
                    // after `r1`.
                    let cut = shorter
                        .rsplit("m=")
                        .next()
                        .unwrap_or_default()
                        .trim_end_matches(['-', '.']);
                    let finds = catalog::model(cut).map(|row| row.id);
                    assert!(
                        said == shown
                            || said.starts_with(cut)
                                && (shown == cut || finds == Some(shown.as_str())),
                        "{shorter}: {shown}"
                    );
                    assert!(
                        !decoded.scenario.is_unlisted(FieldId::Model)
                            || decoded.scenario.resolve().is_err(),
                        "{shorter}"
                    );
                } else if decoded.scenario != scenario.settled() {
                    unnoticed.push((shorter.to_owned(), link.clone()));
                }
            }
        }
    }
    let expected = cuts.div_ceil(36_usize.pow(3));
    assert!(
        cuts > 100_000 && unnoticed.len() <= 3 * expected,
        "{} of {cuts}: {unnoticed:?}",
        unnoticed.len()
    );
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
    fn a_link_brings_back_several_scenarios(first in scenario(), others in prop::collection::vec(scenario(), 1..4)) {
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
                    prop_assert!(field(error.field).applies == Applies::Both || field(error.field).applies.in_mode(scenario.mode()));
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

/// The sentence about a link of which nothing can be read.
const NOTHING_LEFT: &str =
    "Nothing of this link can be read: it was changed by hand or cut off. Ask for it again.";

#[test]
fn a_link_edited_by_hand_says_what_it_says() {
    let link = encode(&decode("v1&m=llama3-70b&n=16&s=4096").scenario);
    assert!(link.contains("&n=16"), "{link}");
    let decoded = decode(&link.replace("&n=16", "&n=32"));
    assert_eq!(
        (decoded.notices, decoded.altered, decoded.failed),
        (vec![ALTERED.to_owned()], true, false)
    );
    assert_eq!(decoded.scenario, decode("v1&m=llama3-70b&n=32&s=4096").scenario);
    // The link written next has a valid check sum again.
    assert_eq!(decode(&encode(&decoded.scenario)).notices, Vec::<String>::new());
    // Unknown parts are kept, and parts about the page stay outside the sum.
    let decoded = decode("v1&c=000&m=llama3-70b&zz=12&embed=1&present=zero.3");
    assert_eq!(decoded.notices.len(), 2);
    assert!(encode(&decoded.scenario).ends_with("&m=llama3-70b&zz=12"));
    assert_eq!(decode(&format!("{link}&embed=1")).notices, Vec::<String>::new());
}

#[test]
fn a_link_that_is_cut_off_keeps_what_is_left_of_it() {
    let link = encode(&decode("v1&m=llama3-70b&n=16&s=4096").scenario);
    let cut = |end: &str| decode(&link[..link.find(end).unwrap() + end.len()]);
    let model = cut("&m=llama3-70b");
    assert_eq!(
        (model.notices, model.scenario),
        (vec![ALTERED.to_owned()], decode("v1&m=llama3-70b").scenario)
    );
    // A cut in the model's name: no other model answers, and the only model whose name begins so is
    // offered.
    let half = cut("&m=llama3-7");
    assert_eq!(half.notices, [ALTERED]);
    let problems = half.scenario.resolve().unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].message,
        "This link names a model that is not in the list: “llama3-7”. Choose one, or paste its \
         config.json."
    );
    assert_eq!(
        problems[0].way_out,
        Some(("Use Llama 3 70B".to_owned(), Value::Text("llama3-70b".to_owned())))
    );
    assert!(encode(&half.scenario).ends_with("&m=llama3-7"));
    assert_eq!(
        decode(&encode(&half.scenario)),
        Decoded { scenario: half.scenario, ..Decoded::default() }
    );
}

#[test]
fn what_the_list_does_not_have_is_refused_and_kept() {
    let decoded = decode("v1&m=acme-13b&l=40&h=5120&gpu=k80&mem=12&n=4");
    assert_eq!(decoded.notices, Vec::<String>::new());
    let mut scenario = decoded.scenario;
    let problems = scenario.resolve().unwrap_err();
    assert_eq!(
        problems.iter().map(|problem| problem.field).collect::<Vec<_>>(),
        [FieldId::Model, FieldId::Accelerator]
    );
    assert!(
        problems[1].message.starts_with("This link names a GPU that is not in the list: “k80”."),
        "{problems:?}"
    );
    assert!(encode(&scenario).contains("&m=acme-13b&gpu=k80&"), "{}", encode(&scenario));
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
    // The model that is chosen then keeps the link's other settings.
    for problem in problems {
        scenario.set(problem.field, problem.way_out.unwrap().1);
    }
    assert_eq!(scenario.resolve(), decode("v1&l=40&h=5120&mem=12&n=4").scenario.resolve());
    assert!(scenario.resolve().is_ok());
    // For compared scenarios a notice says it, because they have no card.
    let beside = decode("v1&m=llama3-8b&b.m=acme-13b&c.gpu=k80");
    assert_eq!(
        beside.notices,
        [
            "In the second scenario: The model “acme-13b” is not in the list.",
            "In the third or fourth scenario: The GPU “k80” is not in the list.",
        ]
    );
    assert!(beside.compare.iter().all(|other| other.resolve().is_err()));
    // With any other text as the model, no other model answers either.
    for odd in ["v1&m=", "v1&m=<svg>", "v1&m=..", "v1&m=%E0%A4%A&n=8"] {
        let scenario = decode(odd).scenario;
        assert!(scenario.resolve().is_err(), "{odd}");
        assert_eq!(decode(&encode(&scenario)).scenario, scenario, "{odd}");
    }
}

#[test]
fn links_that_cannot_be_used_say_why() {
    let cases = [
        (
            "v3&m=llama3-70b",
            "This link has version v3, and this page knows versions up to v2: reload the page to \
             get its newest form.",
        ),
        ("v1&c=000&zz=1", NOTHING_LEFT),
        ("v1&c=000&s=many", NOTHING_LEFT),
        ("v1&c", NOTHING_LEFT),
        ("v1&c=0", NOTHING_LEFT),
        ("ledger", "“ledger” is not a link of this page: those start with v2."),
        ("v", "“v” is not a link of this page: those start with v2."),
        (
            "<script>alert(1)</script>",
            "“script>alert(1)</script” is not a link of this page: those start with v2.",
        ),
    ];
    for (link, reason) in cases {
        let decoded = decode(link);
        let notices = vec![format!("{reason} The default scenario is shown instead.")];
        assert_eq!(decoded, Decoded { failed: true, notices, ..Decoded::default() }, "{link}");
    }
    let beside = decode("v3&m=llama3-70b").notices_beside();
    assert_eq!(beside.len(), 1);
    assert!(beside[0].ends_with("newest form. The page stays as it was."), "{beside:?}");
    let long = decode(&format!("v1&{}", "x".repeat(3200)));
    assert!(long.failed);
    assert!(
        long.notices[0].starts_with(
            "This link has 3203 characters, more than the 3200 that links of this page have."
        ),
        "{long:?}"
    );
    assert!(decode(&"%".repeat(100_000)).failed);
}

#[test]
fn unknown_parts_are_named_and_kept_for_the_next_link() {
    let decoded = decode("v1&m=llama3-70b&zz=12&odd=a_b");
    assert_eq!(
        decoded.notices,
        [
            "This version does not know the link's part “zz=12”; it is kept for the next link.",
            "This version does not know the link's part “odd=a_b”; it is left out.",
        ]
    );
    assert!(encode(&decoded.scenario).ends_with("&m=llama3-70b&zz=12"));
    assert_eq!(decode(&encode(&decoded.scenario)).scenario, decoded.scenario);

    let many: Vec<String> = (0..200).map(|index| format!("k{index}=1")).collect();
    let decoded = decode(&format!("v1&{}", many.join("&")));
    assert_eq!(decoded.notices.len(), 13);
    assert_eq!(decoded.notices[12], "188 more parts of the link could not be used.");
    assert_alphabet(&encode(&decoded.scenario));
}

#[test]
fn values_that_do_not_fit_are_named() {
    let decoded = decode("v1&l=0&n=16&opt=magic&b.tp=x");
    let optimizers = Optimizer::ALL.map(Optimizer::key);
    assert_eq!(
        decoded.notices,
        [
            "Layers takes a whole number from 1 to 10\u{202f}000; “0” is too small. The link's \
             value is left out.",
            &format!(
                "Optimizer takes one of {}, not “magic”. The link's value is left out.",
                optimizers.join(", ")
            ),
            "In the second scenario: “x” does not read as a number: Tensor parallel takes a whole \
             number from 1 to 1\u{202f}000\u{202f}000 GPUs. The link's value is left out.",
        ]
    );
    assert_eq!(decoded.scenario.get(FieldId::Gpus), Value::Integer(16));
}

/// A seeded generator of numbers below a bound (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % bound
    }
}

/// Cuts a link and puts pieces into it, or only adds pieces at its end.
fn garbled(mut link: String, pieces: &[String], only_append: bool, random: &mut Random) -> String {
    for _ in 0..random.below(6) {
        let mut at = random.below(link.len() + 1);
        while !link.is_char_boundary(at) {
            at -= 1;
        }
        if random.below(4) == 0 {
            link.truncate(at);
        } else {
            link.insert_str(
                if only_append { link.len() } else { at },
                &pieces[random.below(pieces.len())],
            );
        }
    }
    link
}

#[test]
fn a_hundred_thousand_fragments_do_no_harm() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut full = Scenario::default();
    full.set_model("qwen2.5-7b");
    full.set_name("x < y > z – ok");
    full.set(FieldId::NumHiddenLayers, Value::Integer(40));
    let seeds = [
        encode(&full),
        encode_all(&full, &[Scenario::default(), full.clone()]),
        "v1&m=llama3-8b&n=64&name=.3cz".into(),
        "#%23v2".into(),
    ];
    let others = [
        "v1",
        "&",
        "=",
        "b.",
        "%",
        "%ff",
        "#",
        ".",
        "-",
        "z",
        "1",
        "99999999999",
        "1e9",
        "NaN",
        "é",
        "\u{202e}",
        "<",
        "&c=",
        "\0",
    ];
    let keys = fields().iter().map(|field| format!("&{}=", field.key));
    let pieces: Vec<String> = keys.chain(others.map(String::from)).collect();
    for round in 0..100_000 {
        let only_append = round % 3 == 0;
        let link =
            if only_append { "v1".to_owned() } else { seeds[random.below(seeds.len())].clone() };
        let link = garbled(link, &pieces, only_append, &mut random);
        let decoded = decode(&link);
        assert!(decoded.notices.len() <= 14, "{link}");
        assert!(
            !decoded.failed
                || (decoded.scenario == Scenario::default() && decoded.notices.len() == 1),
            "{link}"
        );
        assert!(!decoded.altered || decoded.notices[0] == ALTERED, "{link}");
        let is_hidden = |character: char| character.is_control() || character == '\u{202e}';
        assert!(!decoded.notices.iter().any(|notice| notice.contains(is_hidden)), "{link}");
        if round % 50 == 0 {
            _ = decoded.scenario.resolve();
            assert_eq!(decode(&encode(&decoded.scenario)).scenario, decoded.scenario, "{link}");
        }
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
            let facts = headroom::lessons::figure::Facts::of(side)
                .unwrap_or_else(|problems| panic!("{place}: {problems:?}"));
            let tokens = headroom::lessons::figure::Figure::find("image-tokens")
                .and_then(|figure| (figure.of)(&facts));
            assert_eq!(
                tokens
                    .and_then(headroom::lessons::figure::Amount::number)
                    .map(|tokens| tokens.to_string())
                    .as_deref(),
                Some(expected),
                "{place}"
            );
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
