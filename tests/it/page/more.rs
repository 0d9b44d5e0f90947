//! The worker program's answers, as text in and text out, the way the page sends and shows them.

#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::estimator::estimate;
use headroom::import::config_json;
use headroom::scenario::Scenario;
use headroom::scenario::codec::{decode, encode};
use headroom::units::MemoryUnit;
use headroom::worker::answer;
use headroom::worker::plan::Desk;
use headroom::worker::question::WorkerQuestion;
use headroom::worker::wire::{Reply, Request, What};

const LINKS: [&str; 7] = [
    "v1",
    "v1&m=llama3-70b&n=64&tp=8&pp=2&z=1&rc=none&att=standard",
    "v1&m=gpt3-175b&gpu=a10g&n=1024",
    "v1&m=ju-7b&gpu=a100-40&mem=37.2529&n=8&z=3&s=4096&gb=128&b=16&rc=full&att=flash",
    "v1&do=serve&m=llama3-8b&n=1",
    "v1&do=serve&m=llama2-70b&ctx=131072&tp=4&n=4&w=int4&kvd=fp8",
    "v1&h=18446744073709551615&l=999999",
];

const CONFIG: &str = r#"{ // as in the wild
    "model_type": "llama", "_name_or_path": "<b>me</b>", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "rope_theta": Infinity, }"#;

/// A question as it travels.
fn question(what: What, text: &str) -> WorkerQuestion {
    WorkerQuestion::read(what, text).expect("a question")
}

fn ask(what: What, unit: MemoryUnit, link: &str, text: &str) -> Reply {
    let request =
        Request { number: 7, unit, fragment: link.to_owned(), question: question(what, text) };
    let request = Request::read(&request.write()).expect("a request");
    let reply = Reply::read(&answer(&request).write()).expect("a reply");
    assert_eq!((reply.number, reply.what), (7, what));
    reply
}

/// The text between each `start` and the next `end`, without tags.
fn texts(html: &str, start: &str, end: &str) -> Vec<String> {
    let inside = html.split(start).skip(1).filter_map(|rest| rest.split_once(end));
    inside
        .map(|(inside, _)| {
            inside
                .split('<')
                .enumerate()
                .map(
                    |(at, part)| {
                        if at == 0 {
                            part
                        } else {
                            part.split_once('>').map_or("", |(_, text)| text)
                        }
                    },
                )
                .collect()
        })
        .collect()
}

/// Every element that is opened is closed, in order.
fn assert_balanced(html: &str) {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).expect("a tag has a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
        } else if !tag.ends_with('/') && name != "input" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} is never closed");
}

#[test]
fn every_panel_is_whole_for_every_scenario() {
    for link in LINKS {
        for unit in [MemoryUnit::Gib, MemoryUnit::Gb] {
            for what in [What::Methods, What::Evidence, What::Timeline, What::Accuracy] {
                let reply = ask(what, unit, link, "");
                assert_balanced(&reply.html);
                assert_eq!(reply.fragment, None);
                let job = decode(link).scenario.resolve().ok();
                let empty = match what {
                    What::Accuracy => false,
                    _ => job.is_none(),
                };
                assert_eq!(reply.html.is_empty(), empty, "{link}");
                assert!(
                    reply
                        .html
                        .split(|c: char| !c.is_alphanumeric())
                        .all(|word| !["NaN", "inf"].contains(&word)),
                    "{link}"
                );
            }
        }
    }
}

#[test]
fn the_table_of_methods_has_the_ledgers_total_and_a_column_for_each_document() {
    for link in &LINKS[..6] {
        let job = decode(link).scenario.resolve().expect("a job");
        let html = ask(What::Methods, MemoryUnit::Gb, link, "").html;
        let total = &texts(&html, "data-testid=\"methods-row-total\"", "</tr>")[0];
        let whole = MemoryUnit::Gb.show(estimate(&job).total());
        // The table may print more decimals than `whole` has, so only the digits before the point
        // are compared.
        let amount = whole.split(['.', ' ']).next().expect("a number");
        assert!(
            total.contains(&format!(
                "Total per GPU{}",
                amount.split('\u{202f}').next().expect("digits")
            )),
            "{link}: {total} {whole}"
        );
        assert_eq!(texts(&html, "<th scope=\"col\" class=\"num\">", "</th>").len(), 5);
        assert_eq!(html.matches("<details class=\"fold\" data-testid=\"methods-").count(), 5);
        assert_eq!(html.matches("data-testid=\"methods-story\"").count(), 1);
        for id in ["fits", "against", "division", "runnable", "why"] {
            assert_eq!(
                html.matches(&format!("data-testid=\"methods-row-{id}\"")).count(),
                1,
                "{id}"
            );
        }
        assert!(html.contains("How it counts") && html.contains("With these numbers, in bytes"));
    }
}

#[test]
fn the_unit_of_the_question_counts() {
    let in_unit = |unit| ask(What::Methods, unit, "v1&u=gib", "").html;
    assert!(in_unit(MemoryUnit::Gb).contains("Memory per GPU, GB<"));
    assert!(in_unit(MemoryUnit::Gib).contains("Memory per GPU, GiB<"));
    assert!(
        ask(What::Evidence, MemoryUnit::Gb, "v1", "")
            .html
            .contains(" GB, as the driver reports it")
    );
}

#[test]
fn the_evidence_names_rows_assumptions_sources_and_slips() {
    let html = ask(What::Evidence, MemoryUnit::Gib, "v1&m=llama3-8b&l=40&gpu=h100-80", "").html;
    let names = texts(&html, "<p class=\"evidence__name\">", "</p>");
    assert_eq!(&names[..2], ["Llama · 9.8 B your values", "H100 SXM5 checked"]);
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("Framework context") || name.ends_with(" assumed")),
        "{names:?}"
    );
    assert_eq!(texts(&html, "<h3>", "</h3>").len(), 3);
    let slips = &texts(&html, "data-testid=\"document-errors\"", "</details>")[0];
    assert!(slips.contains("Arithmetic mistakes in these documents"), "{slips}");
    assert_eq!(
        html.matches("<tr><th scope=\"row\">").count(),
        headroom::methods::wrong::TABLE.len()
    );
}

#[test]
fn a_config_becomes_the_scenario_that_applying_it_gives() {
    for link in ["v1&n=16&z=2&name=Mine", "v1&do=serve&m=gpt2&l=3", "v1&m=llama2-13b&gpu=a100-40"] {
        for text in [
            CONFIG,
            r#"{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"vocab_size":50257}"#,
        ] {
            let mut wanted: Scenario = decode(link).scenario;
            wanted.apply_imported(&config_json(text).expect("a model"));
            let reply = ask(What::Paste, MemoryUnit::Gib, link, text);
            let fragment = reply.fragment.expect("a link");
            assert_eq!(fragment, encode(&wanted));
            assert_eq!(decode(&fragment).scenario, wanted);
            assert_balanced(&reply.html);
        }
    }
}

#[test]
fn nothing_in_a_file_becomes_markup() {
    let html = ask(What::Paste, MemoryUnit::Gib, "v1", CONFIG).html;
    assert!(!html.contains("<b>me</b>"), "{html}");
    let refusals = [
        ("<script>alert(1)</script>", "paste-error"),
        ("{\"model_type\": \"<img src=x>\"}", "paste-unknown"),
        ("{\"<i>\": [}", "paste-error"),
        ("", "paste-error"),
        ("[1]", "paste-error"),
    ];
    for (text, card) in refusals {
        let reply = ask(What::Paste, MemoryUnit::Gib, "v1", text);
        assert_eq!(reply.fragment, None);
        assert!(
            !reply.html.contains("<script")
                && !reply.html.contains("<img")
                && !reply.html.contains("<i>"),
            "{}",
            reply.html
        );
        assert_eq!(
            texts(&reply.html, &format!("data-testid=\"{card}\">"), "</p>").len(),
            1,
            "{text}"
        );
        assert_balanced(&reply.html);
    }
}

/// A pasted message is compared with the shown scenario, whatever text surrounds it, and offers no
/// model to use.
#[test]
fn a_pasted_message_is_set_beside_the_scenario() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oom");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let whole = std::fs::read_to_string(entry.path()).expect("text");
        let Some((_, text)) = whole.split_once("\n---\n") else { continue };
        for link in ["v1&m=gpt2&n=1", "v1&do=serve&m=llama3-8b&n=1"] {
            let reply = ask(What::Paste, MemoryUnit::Gib, link, text);
            assert_eq!(reply.fragment, None);
            assert_balanced(&reply.html);
            read += usize::from(reply.html.contains("data-testid=\"oom\""));
        }
    }
    // A few of the texts contain no message.
    assert!(read > 2 * 100, "{read}");
    let without_job = ask(
        What::Paste,
        MemoryUnit::Gib,
        "v1&n=6&tp=4",
        "CUDA out of memory. Tried to allocate 1.00 GiB.",
    )
    .html;
    assert!(without_job.contains("correct its inputs first"), "{without_job}");
    let hostile = "<b>CUDA out of memory. Tried to allocate 1.00 GiB.</b><script>alert(1)</script>";
    assert!(!ask(What::Paste, MemoryUnit::Gib, "v1", hostile).html.contains("<script"));
    let neither = ask(What::Paste, MemoryUnit::Gib, "v1", "loss is nan").html;
    assert!(neither.contains("Nor is it a command or file of a tool"), "{neither}");
}

#[test]
fn a_text_longer_than_any_config_is_refused_at_once() {
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(5_000_000));
    let reply = ask(What::Paste, MemoryUnit::Gib, "v1", &text);
    assert!(reply.html.contains("more than any config.json"), "{}", reply.html);
}

#[test]
fn what_is_no_question_has_no_answer() {
    for text in ["", "ready", "1 methods GiB", "x methods GiB v1\n"] {
        assert_eq!(Request::read(text), None);
    }
}

/// The planner's panel at every moment of a search: all tags are closed, no number is broken, and
/// nothing changes after the search has ended.
#[test]
fn the_planners_panel_is_whole_at_every_moment() {
    let ticks = std::cell::Cell::new(0.0);
    let clock = || {
        ticks.set(ticks.get() + 8.0);
        ticks.get()
    };
    let forms = [
        "",
        "q=at\nwhy=<b>\nkind=memory",
        "q=counts\nn-counts=8\ndays=100\nmore-offload=on",
        "q=family\nn-family=2",
        "q=fewest\nn-fewest=4\nacc-h100-80=on\nacc-t4=on",
        "q=at\nn-at=<i>",
    ];
    let links = [
        "v1&m=llama3-8b&n=8&ker=megatron&gb=16",
        "v1&m=gpt2&n=4&gb=8",
        "v1&m=llama3-8b&n=2&pk=",
        "v1&do=serve&m=llama3-8b&n=1",
    ];
    for (link, form) in links.into_iter().flat_map(|link| forms.map(|form| (link, form))) {
        let mut desk = Desk::default();
        let text = format!("search\n{form}");
        desk.hear(&Request {
            number: 1,
            unit: MemoryUnit::Gib,
            fragment: link.to_owned(),
            question: question(What::Plan, &text),
        });
        loop {
            let reply = Reply::read(&desk.reply()).expect("a reply");
            assert_balanced(&reply.html);
            assert!(
                reply
                    .html
                    .split(|c: char| !c.is_alphanumeric())
                    .all(|word| !["NaN", "inf"].contains(&word)),
                "{link} {form}"
            );
            assert!(!reply.html.contains("<b>\"") && !reply.html.contains("<i>"), "{link} {form}");
            assert_eq!(reply.more, desk.is_running());
            if !reply.more {
                break;
            }
            for _ in 0..20 {
                desk.slice(&clock);
            }
        }
    }
}
