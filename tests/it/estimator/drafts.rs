//! Speculative decoding: the memory of what proposes tokens by closed forms, and the time of a step
//! that checks them.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::catalog;
use headroom::config::{Job, Run};
use headroom::estimator::time::{Pace, Traffic};
use headroom::estimator::{DRAFT_CACHE, DRAFT_LOGITS, DRAFT_WEIGHTS, Estimate, estimate};
use headroom::launch::{Format, Pasted, read, write};
use headroom::planner::{curve_batch, inverse};
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Scenario, Value};

const LLAMA: &str = "v2&do=serve&m=llama3-70b&n=4&tp=4&gpu=h100-80&ctx=4096&seqs=8&srv=vllm";

fn scenario(link: &str) -> Scenario {
    decode(link).scenario
}

fn job(link: &str) -> Job {
    scenario(link).resolve().unwrap_or_else(|problems| panic!("{link}: {problems:?}"))
}

fn line(answer: &Estimate, label: &str) -> u64 {
    answer.ledger.lines.iter().filter(|line| line.label == label).map(|line| line.bytes.0).sum()
}

/// Seconds of a token of each sequence, with that share of drafts accepted, in per cent.
fn token(link: &str, percent: u64) -> f64 {
    Pace::of(&job(&format!("{link}&sda={percent}"))).expect("rates").decode(8).0
}

#[test]
fn a_draft_model_has_its_own_weights_and_cache() {
    let answer = estimate(&job(&format!("{LLAMA}&spd=draft-model&sdm=llama3-8b&sdk=5")));
    let draft = &catalog::model("llama3-8b").expect("in the catalog").config;
    // 8,030,261,248 parameters: matrices over 4 ranks, 65 norms of 4,096 on each.
    let norms = 65 * 4096;
    assert_eq!(line(&answer, DRAFT_WEIGHTS), 2 * ((8_030_261_248 - norms) / 4 + norms));
    // Two of its eight heads on each rank, keys and values, 16 bits, 8 sequences of 4,096 tokens.
    let each = 2 * (draft.num_key_value_heads / 4) * draft.head_dim * 2 * draft.num_hidden_layers;
    assert_eq!(line(&answer, DRAFT_CACHE), 8 * 4096 * each);
    assert_eq!(line(&answer, DRAFT_LOGITS), 5 * line(&answer, "Logits"));
    // The model itself takes as much as without a draft.
    let alone = estimate(&job(LLAMA));
    for label in ["Weights", "KV cache", "Logits", "Prefill working set"] {
        assert_eq!(line(&answer, label), line(&alone, label), "{label}");
    }
}

#[test]
fn heads_of_llama_3_are_as_large_as_published_ones() {
    // `yuhuili/EAGLE-LLaMA3-Instruct-70B` and `EAGLE3-LLaMA3.3-Instruct-70B` on one rank: matrices
    // of a layer of Llama 3 70B, without the embedding.
    let one = "v2&do=serve&m=llama3-70b&n=1&tp=1&gpu=h200&ctx=4096&seqs=1&srv=sglang";
    let (h, f, kv) = (8192, 28_672, 1024);
    let layer = h * (2 * h + 2 * kv) + 3 * h * f;
    let of = |method: &str| line(&estimate(&job(&format!("{one}&spd={method}"))), DRAFT_WEIGHTS);
    assert_eq!(of("eagle"), 2 * (layer + 2 * h * h + h));
    let third = layer + h * (h + 2 * kv) + 3 * h * h + 32_000 * h + 4 * h;
    assert_eq!(of("eagle3"), 2 * third + 8 * 32_000);
}

#[test]
fn the_own_layer_of_deepseek_v3_has_11_5_billion_parameters() {
    let link =
        "v2&do=serve&m=deepseek-v3&n=8&tp=8&gpu=h200&ctx=4096&seqs=4&srv=vllm&w=bf16&spd=mtp";
    let answer = estimate(&job(&format!("{link}&sdk=1")));
    // 11.5 B of its own, beside the embedding and the head that it shares with the model
    // (README_WEIGHTS.md of deepseek-ai/DeepSeek-V3). Two bytes each, on 8 ranks, of which each
    // holds the latent's projections and norms whole.
    let all = 8 * line(&answer, DRAFT_WEIGHTS) / 2;
    assert!((11_400_000_000..12_700_000_000).contains(&all), "{all}");
    // One more layer of 61.
    let [own, cache] = [DRAFT_CACHE, "KV cache"].map(|label| line(&answer, label));
    assert_eq!(61 * own, cache);
    // The room for tokens is divided among 62 layers.
    let link = link.replace("w=bf16", "w=fp8-block");
    let room = |link: &str| estimate(&job(link)).cache_room.expect("serves").tokens();
    let (with, without) = (room(&link), room(&link.replace("&spd=mtp", "")));
    assert!(with < without, "{with:?} {without:?}");
}

#[test]
fn nothing_accepted_is_no_faster_and_more_accepted_never_slower() {
    for draft in ["&spd=draft-model&sdm=llama3-8b", "&spd=eagle", "&spd=eagle3"] {
        for tokens in [1, 3, 8] {
            let link = format!("{LLAMA}{draft}&sdk={tokens}");
            let alone = Pace::of(&job(LLAMA)).expect("rates").decode(8).0;
            assert!(token(&link, 0) >= alone, "{link}");
            let mut before = f64::INFINITY;
            for percent in (0..=100).step_by(10) {
                let now = token(&link, percent);
                assert!(now < before, "{link}: {percent}");
                before = now;
            }
            // k + 1 tokens of a step at most.
            assert!(before * f64::from(tokens + 1) >= alone, "{link}");
        }
    }
    // A step that checks three drafts of EAGLE reads the weights once.
    assert!(token(&format!("{LLAMA}&spd=eagle3&sdk=3"), 75) < 0.6 * token(LLAMA, 0));
}

#[test]
fn requests_curves_and_simulation_follow() {
    let with = format!("{LLAMA}&spd=eagle3&sdk=3");
    let [with, alone] = [with.as_str(), LLAMA].map(job);
    let most = |job: &Job| inverse(&headroom::estimator::Lengths::of(job)).largest_batch;
    assert!(most(&with) < most(&alone));
    let rate = |job: &Job| curve_batch(job, Some(64), 8)[0].tokens_per_second;
    assert!(rate(&with) > rate(&alone));
    let traffic = Traffic {
        requests: 40,
        at_once: Some(8),
        prompt: [200, 400],
        output: [100, 300],
        room: None,
        seed: 1,
    };
    let serve = |job: &Job| Pace::of(job).expect("rates").serve(&traffic).expect("serves");
    let (quick, slow) = (serve(&with), serve(&alone));
    assert!(quick.output_per_second > 1.3 * slow.output_per_second);
    assert!(quick.per_token[0].0 < slow.per_token[0].0);
}

#[test]
fn what_an_engine_cannot_do_is_a_sentence_with_a_way_out() {
    for (more, said) in [
        ("&spd=draft-model", "is needed"),
        ("&spd=draft-model&sdm=no-such-model", "The list has no model"),
        ("&spd=draft-model&sdm=qwen3-0.6b", "must have the same ones"),
    ] {
        let mut changed = scenario(&format!("{LLAMA}{more}"));
        let problems = changed.resolve().expect_err(more);
        assert!(problems[0].message.contains(said), "{problems:?}");
        let (_, value) = problems[0].way_out.clone().expect("a way out");
        changed.set(problems[0].field, value);
        assert!(changed.resolve().is_ok(), "{more}");
    }
    let llama = "v2&do=serve&m=llama3-8b&n=1&gpu=h100-80&srv=llama-cpp&w=q4-k-m&spd=eagle";
    let problems = scenario(llama).resolve().expect_err("no EAGLE there");
    assert!(problems[0].message.contains("llama.cpp has no speculative decoding with an EAGLE"));
    let stages = LLAMA.replace("tp=4", "tp=2&pp=2").replace("srv=vllm", "srv=sglang");
    let blockers = estimate(&job(&format!("{stages}&spd=eagle3"))).blockers;
    assert!(blockers[0].to_string().contains("no speculative decoding with pipeline stages"));
    assert!(estimate(&job(&stages)).blockers.is_empty());
}

#[test]
fn links_carry_a_draft_and_old_ones_have_none() {
    let link = format!("{LLAMA}&spd=draft-model&sdm=llama3--8b&sdf=as-model&sdk=5&sda=62.5");
    let first = scenario(&link);
    let again = decode(&encode(&first)).scenario;
    assert_eq!(first.differences(&again), []);
    let Run::Serving(run) = again.resolve().expect("a job").run().clone() else {
        panic!("it serves")
    };
    let draft = run.draft.expect("a draft");
    assert_eq!((draft.tokens, draft.acceptance), (5, 0.625));
    let Run::Serving(old) = job(LLAMA).run().clone() else { panic!("it serves") };
    assert_eq!(old.draft, None);
}

#[test]
fn engines_commands_carry_a_draft() {
    let drafts = [("draft-model", "llama3-8b"), ("mtp", ""), ("eagle", ""), ("eagle3", "")];
    for key in ["vllm", "sglang", "llama-cpp", "tensorrt-llm"] {
        let format = Format::writable().find(|format| format.key == key).expect("a format");
        for (method, model) in drafts {
            if method == "eagle" && matches!(key, "llama-cpp" | "tensorrt-llm") {
                continue;
            }
            let mut scenario = scenario(LLAMA);
            scenario.set(FieldId::Drafts, Value::Choice(method));
            scenario.set(FieldId::DraftTokens, Value::Integer(4));
            scenario.set(FieldId::DraftModel, Value::Text(model.to_owned()));
            let text = write(&scenario, format).text;
            let back = read(&[Pasted { name: "", text: &text }], &Scenario::default());
            let back = back.unwrap_or_else(|error| panic!("{text}: {error}")).scenario;
            for id in [FieldId::Drafts, FieldId::DraftTokens, FieldId::DraftModel] {
                assert_eq!(back.get(id), scenario.get(id), "{text}");
            }
        }
    }
}

#[test]
fn published_commands_with_drafts_are_read() {
    let of = |text: &str| {
        let read = read(&[Pasted { name: "", text }], &Scenario::default());
        read.unwrap_or_else(|error| panic!("{text}: {error}")).scenario
    };
    for (text, method, tokens) in [
        (
            "vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --speculative-config '{\"model\": \"yuhuili/EAGLE3-LLaMA3.3-Instruct-70B\", \"num_speculative_tokens\": 3, \"method\": \"eagle3\"}'",
            "eagle3",
            3,
        ),
        (
            "vllm serve meta-llama/Meta-Llama-3-70B --speculative-model meta-llama/Meta-Llama-3-8B --num-speculative-tokens 5",
            "draft-model",
            5,
        ),
        (
            "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config '{\"method\": \"deepseek_mtp\"}'",
            "mtp",
            1,
        ),
        (
            "python3 -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-8B-Instruct --speculative-algorithm EAGLE --speculative-draft-model-path lmsys/sglang-EAGLE-LLaMA3-Instruct-8B --speculative-num-steps 5 --speculative-eagle-topk 8 --speculative-num-draft-tokens 64",
            "eagle",
            5,
        ),
        (
            "llama-server -m Meta-Llama-3-70B-Instruct-Q4_K_M.gguf -md Meta-Llama-3-8B-Instruct-Q4_K_M.gguf --draft-max 16 -c 8192",
            "draft-model",
            16,
        ),
    ] {
        let scenario = of(text);
        assert_eq!(scenario.get(FieldId::Drafts), Value::Choice(method), "{text}");
        assert_eq!(scenario.get(FieldId::DraftTokens), Value::Integer(tokens), "{text}");
    }
}
