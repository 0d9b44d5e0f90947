//! Recorded answers that guard changes of the engine's structure: the answers to 2,904 links of
//! version 1.
//!
//! The links cover all modes, families, stacks, shardings, formats and engines. Memory must stay
//! equal to the byte and sentences to the letter; times may move by 0.1 %. The links were drawn
//! from a fixed seed by the program of version 1 (this file at commit 0418bbb), and the archive
//! holds each with its answer. An answer is recorded anew only for a change that the changelog
//! names under *Estimates* ([`RECORDED_ANEW`]).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use headroom::scenario::codec::decode;
use headroom::scenario::{FieldDefault, FieldKind, Scenario, field, fields};
use headroom::sharding::Buckets;
use headroom::view::report::{Report, json};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use serde_json::{Value, json as object};

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/links/answers/answers.jsonl.zz")
}

/// The recorded answers, one JSON object a line.
fn recorded() -> String {
    String::from_utf8(decompress_to_vec_zlib(&fs::read(file()).unwrap()).unwrap()).unwrap()
}

/// Everything that the program answers to a link.
fn answer(link: &str) -> Value {
    let decoded = decode(link);
    match decoded.scenario.resolve() {
        Err(errors) => {
            let sentences: Vec<String> = errors
                .iter()
                .map(|error| format!("{}: {}", field(error.field).key, error.message))
                .collect();
            object!({ "input": sentences })
        }
        Ok(job) => {
            let report = Report::of(&decoded.scenario, &job, None);
            let mut answer: Value =
                serde_json::from_str(&json(&report, &decoded.scenario, &[])).unwrap();
            let fields = answer.as_object_mut().unwrap();
            // Texts about the scenario and the link as written today are not part of the estimate,
            // so they may change.
            for words in ["about", "link", "notices"] {
                fields.remove(words);
            }
            answer
        }
    }
}

/// The first place where two answers differ by more than they may.
fn difference(path: &str, was: &Value, is: &Value) -> Option<String> {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => was.iter().find_map(|(key, value)| {
            difference(&format!("{path}.{key}"), value, is.get(key).unwrap_or(&Value::Null))
        }),
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            (was.iter().zip(is).enumerate())
                .find_map(|(at, (was, is))| difference(&format!("{path}[{at}]"), was, is))
        }
        // Bytes and counts are whole numbers and compared exactly; other numbers are times, rates
        // or prices.
        (Value::Number(was), Value::Number(is)) if was.is_f64() && is.is_f64() => {
            let (was, is) = (was.as_f64().unwrap(), is.as_f64().unwrap());
            ((was - is).abs() > 1e-3 * was.abs()).then(|| format!("{path}: {was} became {is}"))
        }
        _ => (was != is).then(|| format!("{path}: {was} became {is}")),
    }
}

#[test]
fn answers_stay_what_they_were() {
    let text = recorded();
    let (mut asked, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let link = row["link"].as_str().unwrap();
        asked += 1;
        wrong.extend(
            difference("", &row["answer"], &answer(link)).map(|what| format!("{link}\n    {what}")),
        );
    }
    assert!(asked >= 2000, "{asked}");
    assert!(
        wrong.is_empty(),
        "{} of {asked} answers moved:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

/// The reason why answers about layers with a state changed.
const STATES_TUNED: &str =
    "adapters on layers that keep a state are modelled; the refusal names learned prompts alone";

/// The reason why answers about models that give a score changed.
const SCORES: &str =
    "a new head that gives a score has optimizer states in its own format, beside fp32 adapters";

/// The reason why answers about six further kinds changed.
const OWN_MODULES: &str =
    "it has modules of its own, and their name; it was played as the usual block";

/// Parts of links whose changed answers were recorded anew, and the reason; CHANGELOG names each
/// under *Estimates*.
const RECORDED_ANEW: &[(&str, &str)] = &[
    ("&m=command-r-08-2024&gpu=gb10", "DGX Spark has rates in 16 and 8 bits, and so a time"),
    (
        "&m=codellama-70b&gpu=rtx4080-super&rc=none&att=standard&ker=megatron",
        "where embedding and loss count as layers, the first stages get the layers that are left",
    ),
    ("&m=nemotron-h-8b&srv=none", "its modules have a name"),
    ("&m=gpt-neo-", OWN_MODULES),
    ("&m=gpt-j-6b", OWN_MODULES),
    ("&m=santacoder-1.1b", OWN_MODULES),
    ("&m=starcoder-15b", OWN_MODULES),
    ("&m=wizardcoder-15b", OWN_MODULES),
    ("&m=persimmon-8b", OWN_MODULES),
    ("&m=olmo-1b", OWN_MODULES),
    ("&m=olmo-7b", OWN_MODULES),
    ("&m=codestral-mamba-7b", STATES_TUNED),
    ("&m=mamba-370m", STATES_TUNED),
    ("&m=falcon-11b", SCORES),
    ("&m=llama3.2-1b&gpu=rtx3060-ti&rc=selective&ker=fused&obj=ppo", SCORES),
    (
        "&m=nemotron-h-8b&mt=nemotron-h&l=6",
        "modules with experts are known: training them is modelled",
    ),
    ("&m=kimi-linear-48b", "its training is modelled now; it was refused"),
    ("&m=qwen3.5-", "the vision tower of its file lies in memory, too"),
    (
        "&m=glm4.5",
        "modules of its own: the router's correction is a buffer in fp32 (23 kB); no longer \
         assumed",
    ),
    (
        "&m=glm4.6",
        "modules of its own: the router's correction is a buffer in fp32 (57 kB); no longer \
         assumed",
    ),
    ("&m=afm-4.5b", OWN),
    ("&m=ernie4.5-0.3b", OWN),
    ("&m=exaone4-", OWN),
    ("&m=glm4-9b-chat", OWN),
    ("&m=granite3.1-", OWN),
    ("&m=olmo3-", OWN),
    ("&m=deepseek-v2", LATENT),
    ("&m=deepseek-v3", LATENT),
    ("&m=deepseek-r1", LATENT),
    ("&m=kimi-k2", LATENT),
    ("&m=kimi-linear-48b", LATENT),
    ("&m=moonlight-16b", LATENT),
    ("&m=qwen1.5-moe", GATE),
    ("&m=qwen2-57b", GATE),
    ("&m=qwen3-next-80b", GATE),
    ("&m=qwen3.5-35b-a3b", GATE),
    (
        "&m=opt-350m",
        "FLOPs: its head is 512 wide, with a product before and behind the blocks, in place of one \
         of 1,024",
    ),
    ("m=lfm2-", STATES),
    ("m=qwen3-next-80b", STATES),
    ("m=qwen3.5-", STATES),
    ("m=codestral-mamba", STATES),
    ("m=nemotron-nano-9b-v2", STATES),
    ("m=jamba-", STATES),
    ("m=mamba-", STATES),
    ("m=minimax-", STATES),
    ("m=granite4-", GRANITE_4),
    ("m=smollm3", UNROTATED),
    ("m=command-r7b", UNROTATED),
    ("m=starcoder2", ONE_SEARCH),
    ("m=phi-3", ONE_SEARCH),
    ("m=phi3", ONE_SEARCH),
    ("m=mixtral", ONE_SEARCH),
    ("m=ministral", ONE_SEARCH),
    ("prec=fp32", "a remark says that the time is that of products in TF32"),
    (
        "do=tune",
        "FLOPs: adapters' products are counted, and a score's head has one column in place of the \
         vocabulary. Adapters under ZeRO have the formats that DeepSpeed gives them, and stage 3 \
         keeps the inputs of linear layers; FSDP without a cast has no second copy of shares",
    ),
];
const OWN: &str =
    "modules of its own, which rows of the memory tracker meet to the byte; no longer assumed";
const UNROTATED: &str = "layers without rotation take no rotated queries and keys";
const ONE_SEARCH: &str = "a model with a window looks for packed texts once, Ministral twice";
const STATES: &str = "layers that keep a state are trained, by modules of their own";
const GRANITE_4: &str =
    "modules of its own: gate and up in one matrix, factors, no rotation where the file says so";
const LATENT: &str =
    "FLOPs: values of latent attention are counted at their own width in place of the queries'";
const GATE: &str = "FLOPs: the shared experts' gate of one column is counted";

/// True if the times of an answer were recorded anew. Stacks with played modules now take times
/// from the played operations, and serving takes them from measured kernels.
fn is_timed_anew(link: &str) -> bool {
    let job = decode(link).scenario.resolve();
    job.is_ok_and(|job| job.training().is_none_or(|run| run.stack.is_played()))
}

/// True if an answer was recorded anew because data-parallel ranks reduce gradients through
/// buckets. DDP keeps its buckets, DeepSpeed frees its own after the reduction, and stage 3 keeps
/// as many parameters gathered as its limit allows. Answers on one rank changed as well, because
/// they also give counts of more GPUs.
fn is_reduced_anew(link: &str) -> bool {
    let job = decode(link).scenario.resolve();
    job.is_ok_and(|job| {
        let played = job.training().is_some_and(|run| run.stack.is_played());
        played && job.layout().sharding.buckets != Buckets::None
    })
}

/// True if an answer was recorded anew because its step is now played with CUDA's kernels. Before,
/// it was played with the CPU's kernels, on which PyTorch's memory tracker runs.
fn is_of_cuda(link: &str) -> bool {
    let job = decode(link).scenario.resolve();
    job.is_ok_and(|job| job.training().is_some_and(|run| run.stack.is_played()))
}

/// True if an answer was recorded anew because Megatron-LM copies queries out of the projection's
/// output for their norm where several heads share keys.
fn is_copied_anew(link: &str) -> bool {
    let job = decode(link).scenario.resolve();
    job.is_ok_and(|job| {
        let (model, scheduled) =
            (job.model(), job.training().is_some_and(|run| run.stack.has_own_schedule()));
        scheduled && model.qk_norm && model.num_key_value_heads < model.num_attention_heads
    })
}

/// True if the model's name was recorded anew. Where the link's family has no modules of that
/// shape, the size in the name is now counted by the modules that run it, as in the answer.
fn is_named_anew(link: &str) -> bool {
    let model = decode(link).scenario.checked_model();
    model.is_some_and(|model| model.family_of_shape() != model.family)
}

/// Sentences: the page's words were made plainer, and the count of blockers stays.
const SENTENCES: [&str; 2] = ["/gpus/reason", "/blockers"];

/// Records changed answers anew for the links above: whole answers for some, only times or names
/// for others; everything else stays. Run it once after an entry is added.
#[test]
#[ignore = "it writes what the others compare with"]
fn record_some_anew() {
    let text = recorded();
    let written = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let link = row["link"].as_str().unwrap();
        let anew = RECORDED_ANEW.iter().any(|(part, _)| link.contains(part))
            || is_reduced_anew(link)
            || is_of_cuda(link)
            || is_copied_anew(link);
        let is_timed = is_timed_anew(link);
        let of_users =
            ["/serving/users/own/time", "/serving/users/fewest/time"].map(|part| (part, is_timed));
        let parts: Vec<&str> = [
            ("/time", is_timed),
            ("/serving/load/time", is_timed),
            ("/model", is_named_anew(link)),
        ]
        .into_iter()
        .chain(of_users)
        .chain(SENTENCES.map(|part| (part, true)))
        .filter_map(|(part, anew)| anew.then_some(part))
        .collect();
        if !anew && parts.is_empty() {
            return line.to_owned();
        }
        let mut now = answer(link);
        if !anew {
            let mut kept = row["answer"].clone();
            for part in parts {
                let count = |value: &Value| value.as_array().map_or(1, Vec::len);
                if let Some((was, is)) = kept.pointer_mut(part).zip(now.pointer_mut(part))
                    && count(was) == count(is)
                {
                    *was = is.take();
                }
            }
            now = kept;
        }
        let moved = difference("", &row["answer"], &now).is_some();
        if moved { object!({ "link": link, "answer": now }).to_string() } else { line.to_owned() }
    });
    let rows: Vec<String> = written.collect();
    fs::write(file(), compress_to_vec_zlib(rows.join("\n").as_bytes(), 9)).unwrap();
}

/// Choices that did not exist when the answers were recorded. Each is tested against rows of
/// PyTorch's memory tracker or allocator.
const CHOICES_SINCE: &[&str] = &[
    "ft=lora8",
    "opt=adamw8ao",
    "opt=adamw4ao",
    "opt=lion",
    "opt=lion8t",
    "opt=rmsprop",
    "opt=adagrad",
    "opt=adamw32",
    "fam=olmoe",
    "fam=minimax-m2",
    "fam=glm4-moe",
    "fam=granite-swa",
    "fam=nanochat",
    "fam=apertus",
    "fam=hunyuan-moe",
    "fam=ernie-moe",
    "fam=mimo-v2-flash",
    "fam=gemma3n",
    "fam=cwm",
    "fam=jais2",
    "fam=vaultgemma",
    "fam=glm4-moe-lite",
    "fam=youtu",
    "fam=mellum",
    "fam=dots1",
    "fam=hyperclovax",
    "fam=exaone-moe",
    "fam=hy-v3",
    "fam=minicpm3",
    "fam=biogpt",
    "fam=flex-olmo",
    "fam=granite-moe",
    "fam=granite-moe-shared",
    "fam=granite-moe-swa",
    "fam=exaone4",
    "fam=arcee",
    "fam=ernie4-5",
    "fam=bert",
    "fam=roberta",
    "fam=distilbert",
    "fam=megatron-bert",
    "fam=roberta-prelayernorm",
    "fam=xlm-roberta-xl",
    "fam=eurobert",
    "fam=nomic-bert",
    "fam=gte",
    "fam=jina-v3",
    "fam=electra",
    "fam=rembert",
    "fam=modernbert",
    "fam=mpnet",
    "fam=roc-bert",
    "fam=layoutlm",
    "fam=albert",
    "fam=deberta-v2",
    "fam=deberta",
    "fam=bert-generation",
    "fam=nystromformer",
    "fam=yoso",
    "fam=mra",
    "fam=longformer",
    "fam=big-bird",
    "fam=luke",
    "fam=tapas",
    "fam=xmod",
    "fam=ibert",
    "fam=roformer",
    "fam=xlm",
    "fam=flaubert",
    "fam=esmc",
    "fam=esm",
    "fam=glm",
    "fam=hunyuan-dense",
    "fam=solar-open",
    "fam=olmo3",
    "fam=lfm2",
    "fam=olmo-hybrid",
    "fam=falcon-h1",
    "fam=lfm2-moe",
    "fam=qwen3-next",
    "fam=qwen3-5",
    "fam=qwen3-5-moe",
    "fam=bamba",
    "fam=granite4",
    "fam=nemotron-h",
    "fam=mamba2",
    "pos=none",
    "fam=qwen2-moe",
    "fam=bitnet",
    "fam=axk1",
    "fam=afmoe",
    "fam=laguna",
    "fam=cohere2-moe",
    "fam=deepseek-v32",
    "fam=glm-moe-dsa",
    "fam=diffllama",
    "fam=gemma4",
    "fam=minimax-m3",
    "fam=modernbert-decoder",
    // For these families only parameters are counted, or no public code runs them, so no rows
    // exist.
    "fam=axk2",
    "fam=hy-v4",
    "fam=doge",
    "fam=longcat-flash",
    "fam=cpmant",
    "fam=xlnet",
    "fam=jetmoe",
    "fam=deepseek-v4",
    "fam=telechat",
    "fam=qwen3vlmoe",
    "fam=qwen3omnimoe",
    "fam=paddleocrvl",
    "fam=glmocr",
    "fam=cosmos3edge",
    // Muse Glimmer normalises embedded tokens in a way of its own; 8 bytes a token of it are not
    // modelled.
    "fam=museglimmer",
    // The tracker cannot run Step-3.5's experts, because their code reads values of tensors.
    "fam=step3p5",
    // TensorRT-LLM's memory rule is taken from its code; its speed is tested against rows.
    "srv=tensorrt-llm",
    "act=xielu",
    "opt=muon",
    "xef=native",
    "ker=torchtitan",
    "ker=liger",
    "ker=torchtune",
    "opt=adamw8t",
    "lfn=transformers-4",
    "lfn=trl",
    "lfn=not-compiled",
    "lfn=cut",
    "lfn=torchtitan-chunks",
    "opt=adafactort",
    "ker=torchtitan-2025",
    "z=fsdp1",
    "oc=on",
    "oc=off",
    "fle=tensorwise",
    "fle=rowwise",
    "fle=rowwise-with-gw-hp",
    "fam=qwen2vl",
    "fam=qwen3vl",
    "fam=mamba",
    "fam=falcon-mamba",
    "fam=jamba",
    "mx=falcon-mamba",
    "fam=gemma4",
    "fam=telechat",
    "fam=minimax-m3",
    "fam=modernbert-decoder",
    "fam=bart",
    "fam=mbart",
    "fam=plbart",
    "fam=blenderbot",
    "fam=blenderbotsmall",
    "fam=pegasus",
    "fam=marian",
    "fam=m2m100",
    "fam=mvp",
    "fam=t5",
    "fam=mt5",
    "fam=umt5",
    "fam=longt5",
    "fam=pop2piano",
    "fam=switchtransformers",
    "fam=fsmt",
    "fam=led",
    "fam=bigbirdpegasus",
    "fam=pegasusx",
    "fam=prophetnet",
    "fam=nllbmoe",
    "fam=whisper",
    "fam=seamlessm4t",
    "fam=minimax",
    "fam=lfm3",
    "fam=t5gemma",
    "fam=zamba",
    "fam=zamba2",
    "mx=mamba-heads",
    "mx=kda-whole",
    "fam=kimi-linear",
    "fam=recurrent-gemma",
    "fam=rwkv",
    "fam=xlstm",
    "fam=bailing-hybrid",
    "mx=rg-lru",
    "mx=wkv",
    "mx=mlstm",
    "fam=counted",
    "fam=gpt-neox-japanese",
    "fam=zaya",
    "fam=inkling",
    "fam=inkling2",
    "fam=dots3-note",
    "fam=hrm-text",
    "fam=muse-spark",
    "fam=mistral-large-4",
    "fam=glm5-next",
    "fam=kosmos-2-5",
    "fam=moshi",
    "fam=voxtral-realtime",
    "fam=kyutai-stt",
    "fam=blt",
    "fam=speechtotext",
    "fam=moonshine",
    "fam=canary",
    "fam=cohereasr",
    "fam=dia",
    "fam=voxtralrealtime",
    "fam=kyutai",
    "fam=speecht5",
    "fam=seamlessspeech",
    "fam=seamlessv2speech",
    "fam=squeezebert",
    "fam=convbert",
    "fam=fnet",
    "fam=mobilebert",
    "fam=ultrabert",
    "fam=trocr",
    "fam=moshi",
    "fam=udop",
    "fam=pix2struct",
    "spd=draft-model",
    "spd=mtp",
    "spd=eagle",
    "spd=eagle3",
    "sdf=as-model",
    "fam=ministral",
    "fam=helium",
    "fam=codegen",
    "fam=persimmon",
    "fam=seed-oss",
    "z=0",
];

/// Every choice of the field table occurs in some recorded link, except later ones, so that no
/// family, stack or format is left out.
#[test]
fn the_links_go_over_every_choice() {
    let text = recorded();
    let scenarios: Vec<Scenario> = text
        .lines()
        .map(|line| {
            decode(serde_json::from_str::<Value>(line).unwrap()["link"].as_str().unwrap()).scenario
        })
        .collect();
    let mut missing = Vec::new();
    // Fields with the keys of model files came with version 2, so no recorded link has them.
    for field in fields().iter().filter(|field| !matches!(field.default, FieldDefault::OfFile)) {
        if let FieldKind::Choice(options) = field.kind {
            let unused = options.iter().filter(|option| {
                !scenarios.iter().any(|scenario| {
                    scenario.get(field.id) == headroom::scenario::Value::Choice(option.value)
                })
            });
            missing.extend(unused.map(|option| format!("{}={}", field.key, option.value)));
        }
    }
    missing.retain(|choice| !CHOICES_SINCE.contains(&choice.as_str()));
    assert!(missing.is_empty(), "{missing:?}");
}
