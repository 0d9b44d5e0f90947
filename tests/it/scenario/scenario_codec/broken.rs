//! Links that are cut, edited by hand or made of nonsense: each says what is wrong and does no
//! harm.

use super::{assert_alphabet, scenario};
use headroom::catalog;
use headroom::config::Optimizer;
use headroom::scenario::codec::{Decoded, decode, encode, encode_all};
use headroom::scenario::{FieldId, Scenario, Value, fields};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The sentence about a link whose check sum does not match.
pub(super) const ALTERED: &str = "This link was changed by hand or cut off: its check sum does not match. \
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

/// The sentence about a link of which nothing can be read.
pub(super) const NOTHING_LEFT: &str =
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
    // The model that is chosen then keeps the link's other settings, and the GPU brings its price.
    for problem in problems {
        scenario.set(problem.field, problem.way_out.unwrap().1);
    }
    let meant = decode("v1&l=40&h=5120&mem=12&n=4&price=2.71").scenario;
    assert_eq!(scenario.resolve(), meant.resolve());
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
    let long = decode(&format!("v1&{}", "x".repeat(3400)));
    assert!(long.failed);
    assert!(
        long.notices[0].starts_with(
            "This link has 3403 characters, more than the 3400 that links of this page have."
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
pub(super) struct Random(u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % bound
    }
}

/// Cuts a link and puts pieces into it, or only adds pieces at its end.
pub(super) fn garbled(
    mut link: String,
    pieces: &[String],
    only_append: bool,
    random: &mut Random,
) -> String {
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
