//! Servers: containers, files that scripts write or name, weight formats in a model's name, and
//! contexts that are divided among requests.

use headroom::estimator::Verdict;
use headroom::launch::{Launched, Pasted, Way, read};
use headroom::scenario::{FieldId, Scenario, Value};
use headroom::view::report::Report;

fn said(text: &str) -> Launched {
    read(&[Pasted { name: "", text }], &Scenario::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[test]
fn a_container_stands_aside() {
    let read = said(
        "docker run --gpus all -e HF_TOKEN=x -it -p 1:1 vllm/vllm-openai:v0.11.0 --model \
         Qwen/Qwen2.5-7B-Instruct -tp 2",
    );
    assert_eq!(
        (read.format.key, read.scenario.get(FieldId::TensorParallel)),
        ("vllm", Value::Integer(2))
    );
    let read = said("docker run --rm vllm/vllm-openai:latest meta-llama/Llama-3.1-8B-Instruct");
    assert_eq!(read.scenario.model().map(|row| row.id), Some("llama3.1-8b"));
    let read = said(
        "docker run --shm-size 32g lmsysorg/sglang:latest python3 -m sglang.launch_server --model \
         deepseek-ai/DeepSeek-V3 --tp 8",
    );
    assert_eq!((read.format.key, read.scenario.get(FieldId::Gpus)), ("sglang", Value::Integer(8)));
}

#[test]
fn a_file_beneath_counts_where_the_command_is_silent() {
    let text = "vllm serve Qwen/Qwen2.5-7B-Instruct --config a.yaml --max-model-len 4096";
    let file =
        "max-model-len: 8192\nmax-num-batched-tokens: 1024\nno-enable-prefix-caching: true\n";
    let beside = [Pasted { name: "", text }, Pasted { name: "a.yaml", text: file }];
    let read = read(&beside, &Scenario::default()).expect("read");
    assert_eq!(read.scenario.get(FieldId::ContextLength), Value::Integer(4096));
    assert_eq!(read.scenario.get(FieldId::PrefillChunkSize), Value::Integer(1024));
    let alone = said(text);
    assert!(alone.not_counted().any(|row| row.flag == "config"), "the file is not there");
}

#[test]
fn a_file_that_the_script_writes_is_read() {
    let read = said(
        "F=/tmp/o.yml\ncat << EOF > ${F}\nkv_cache_config:\n  dtype: fp8\nmax_batch_size: \
         7\nEOF\ntrtllm-serve Qwen/Qwen3-8B --max_batch_size 9 --extra_llm_api_options $F",
    );
    assert_eq!(read.scenario.get(FieldId::KvCacheDType), Value::Choice("fp8"));
    assert_eq!(
        read.scenario.get(FieldId::ConcurrentSequences),
        Value::Integer(7),
        "the file counts before the command"
    );
}

#[test]
fn the_beginning_of_a_flag_stands_for_it() {
    let read = said(
        "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilizatio 0.8 --tensor_parallel 2 \
         --max-n 3",
    );
    assert_eq!(read.scenario.get(FieldId::MemoryUtilization), Value::Decimal(0.8));
    assert_eq!(read.scenario.get(FieldId::TensorParallel), Value::Integer(2));
    let unknown: Vec<&str> = read.not_counted().map(|row| row.flag.as_str()).collect();
    assert_eq!(unknown, ["max-n"], "several flags begin so");
}

#[test]
fn a_file_that_names_itself_ends() {
    let text = "vllm serve Qwen/Qwen2.5-7B-Instruct --config a.yaml";
    let file = "max-model-len: 8192\nconfig: a.yaml\n";
    let beside = [Pasted { name: "", text }, Pasted { name: "a.yaml", text: file }];
    assert!(read(&beside, &Scenario::default()).is_ok());
}

#[test]
fn names_tell_the_format_of_weights() {
    let weights = |text: &str| said(text).scenario.get(FieldId::WeightDType);
    assert_eq!(
        weights("vllm serve nvidia/Llama-3.3-70B-Instruct-FP8"),
        Value::Choice("fp8-tensor")
    );
    assert_eq!(weights("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ"), Value::Choice("awq"));
    assert_eq!(weights("vllm serve openai/gpt-oss-120b"), Value::Choice("mxfp4"));
    assert_eq!(
        weights("vllm serve Qwen/Qwen2.5-7B-Instruct --quantization fp8"),
        Value::Choice("fp8-tensor")
    );
    assert_eq!(weights("vllm serve Qwen/Qwen2.5-7B-Instruct --dtype half"), Value::Choice("fp16"));
    assert_eq!(
        weights("llama-server -m /m/Meta-Llama-3.1-8B-Instruct-Q5_K_M.gguf"),
        Value::Choice("q5-k-m")
    );
    assert_eq!(weights("llama-server -hf ggml-org/gemma-3-4b-it-GGUF"), Value::Choice("q4-k-m"));
    let other = said("llama-server -hf unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL");
    assert_eq!(other.scenario.get(FieldId::WeightDType), Value::Choice("q4-k-m"));
    assert!(other.not_counted().any(|row| row.way == Way::NotModelled), "another mix is said");
}

#[test]
fn slots_of_llama_cpp_share_the_context_out() {
    let lengths = |text: &str| {
        let scenario = said(text).scenario;
        (scenario.get(FieldId::ContextLength), scenario.get(FieldId::ConcurrentSequences))
    };
    let model = "llama-server -m Qwen3-8B-Q8_0.gguf -c 32768";
    assert_eq!(lengths(model), (Value::Integer(32_768), Value::Integer(1)));
    assert_eq!(lengths(&format!("{model} -np 4")), (Value::Integer(8_192), Value::Integer(4)));
    assert_eq!(
        lengths(&format!("{model} -np 4 -kvu")),
        (Value::Integer(32_768), Value::Integer(1))
    );
}

#[test]
fn layers_on_the_gpu_count_the_head() {
    let counted = |layers: &str| {
        !said(&format!("llama-server -m Qwen3-8B-Q8_0.gguf -ngl {layers}"))
            .not_counted()
            .any(|row| row.flag == "ngl")
    };
    assert!(["99", "all", "37", "20"].into_iter().all(counted));
    let layers = |text: &str| said(text).scenario.get(FieldId::GpuLayers);
    let model = "llama-server -m Qwen3-8B-Q8_0.gguf -ngl";
    assert_eq!(layers(&format!("{model} 37")), Value::Empty, "36 layers and the head");
    assert_eq!(layers(&format!("{model} 36")), Value::Integer(36));
}

#[test]
fn a_key_of_an_object_and_a_level_are_their_flags() {
    let read = said(
        "vllm serve Qwen/Qwen2.5-7B --compilation-config.mode 3 -O1 --no-enable-prefix-caching",
    );
    let flags: Vec<&str> = read.not_counted().map(|row| row.flag.as_str()).collect();
    assert_eq!(flags, ["compilation-config", "optimization-level"]);
}

fn verdict(text: &str) -> (Verdict, Option<u64>, String) {
    let mut scenario = said(text).scenario;
    scenario.set(FieldId::Accelerator, Value::Text("h100-80".to_owned()));
    let job = scenario.resolve().expect("a job");
    let report = Report::of(&scenario, &job, None);
    (report.verdict(), report.estimate.at_once, report.headline())
}

#[test]
fn requests_that_find_no_room_wait() {
    for server in [
        "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --max-num-seqs",
        "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --context-length \
         32768 --max-running-requests",
        "trtllm-serve Qwen/Qwen2.5-7B-Instruct --max_seq_len 32768 --max_batch_size",
    ] {
        let (found, running, said) = verdict(&format!("{server} 256"));
        assert_eq!(found, Verdict::Fits, "{said}");
        assert!(running.is_some_and(|running| (20..40).contains(&running)), "{said}");
        assert!(
            said.contains("at once; the server would run up to 256, and those without room wait."),
            "{said}"
        );
        let (found, running, said) = verdict(&format!("{server} 4"));
        assert_eq!((found, running), (Verdict::Fits, Some(4)), "{said}");
        assert!(
            said.contains("tokens run at once, as many as the server lets in; more wait."),
            "{said}"
        );
    }
}

#[test]
fn a_request_of_the_whole_length_without_room_ends_the_start() {
    let (found, running, said) =
        verdict("vllm serve Qwen/Qwen2.5-32B-Instruct --max-model-len 131072 --max-num-seqs 256");
    assert_eq!((found, running), (Verdict::DoesNotFit, Some(1)), "{said}");
    assert!(!said.contains("wait"), "{said}");
    let slots = verdict("llama-server -m Qwen2.5-7B-Instruct-Q8_0.gguf -c 8388608 -np 256");
    assert_eq!(
        (slots.0, slots.1),
        (Verdict::DoesNotFit, None),
        "slots of llama.cpp have their room from the start: {}",
        slots.2
    );
}

#[test]
fn containers_of_files_are_commands() {
    let pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: server\n      image: \
               vllm/vllm-openai:latest\n      env:\n        - name: LENGTH\n          value: \
               \"8192\"\n      args: [\"--model\", \"Qwen/Qwen2.5-7B-Instruct\", \
               \"--max-model-len\", \"$(LENGTH)\"]\n";
    let read = said(pod);
    assert_eq!(
        (read.format.key, read.scenario.get(FieldId::ContextLength)),
        ("vllm", Value::Integer(8192))
    );
    let shell = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      \
        containers:\n        - image: vllm/vllm-openai:latest\n          command: [\"/bin/sh\", \
        \"-c\"]\n          args: [\"vllm serve Qwen/Qwen2.5-7B-Instruct -tp 2\"]\n---\napiVersion: \
        v1\nkind: Service\n";
    assert_eq!(said(shell).scenario.get(FieldId::TensorParallel), Value::Integer(2));
    let compose = "services:\n  server:\n    image: lmsysorg/sglang:latest\n    command: python3 \
        -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --tp 4\n  page:\n    image: \
        nginx\n";
    let read = said(compose);
    assert_eq!(
        (read.format.key, read.scenario.get(FieldId::TensorParallel)),
        ("sglang", Value::Integer(4))
    );
    let image = "services:\n  vllm:\n    image: vllm/vllm-openai:v0.11.0\n    command:\n      - \
        --model\n      - Qwen/Qwen2.5-7B-Instruct\n      - --max-num-seqs\n      - \"8\"\n";
    assert_eq!(said(image).scenario.get(FieldId::ConcurrentSequences), Value::Integer(8));
}

#[test]
fn parts_in_host_memory_are_read_and_written() {
    let of = |text: &str| said(text).scenario;
    let model = "llama-server -m Qwen3-30B-A3B-Q4_K_M.gguf -c 4096 -np 1";
    assert_eq!(of(&format!("{model} -ngl 20")).get(FieldId::GpuLayers), Value::Integer(20));
    assert_eq!(of(&format!("{model} -ngl 99")).get(FieldId::GpuLayers), Value::Empty);
    let experts = FieldId::ExpertLayersOnHost;
    for all in ["--cpu-moe", "-cmoe", "--n-cpu-moe 48", "-ot exps=CPU"] {
        assert_eq!(of(&format!("{model} {all}")).get(experts), Value::Integer(48), "{all}");
    }
    let some = said(&format!("{model} -ot blk.1.ffn_up=CPU"));
    assert!(some.not_counted().any(|row| row.flag == "ot"));
    for (flag, away) in [("--no-kv-offload", true), ("-nkvo", true), ("--kv-offload", false)] {
        let read = of(&format!("{model} {flag}"));
        assert_eq!(read.get(FieldId::CacheOnHost), Value::Flag(away), "{flag}");
    }
    for command in [
        "vllm serve Qwen/Qwen3-8B --cpu-offload-gb 4",
        "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --cpu-offload-gb 4",
    ] {
        let read = said(command);
        assert_eq!(read.scenario.get(FieldId::WeightsOnHost), Value::Decimal(4.0));
        let written = headroom::launch::write(&read.scenario, read.format).text;
        assert!(written.contains("cpu-offload-gb 4"), "{written}");
    }
    let placed = of(&format!("{model} -ngl 30 --n-cpu-moe 7 -nkvo"));
    let written = headroom::launch::write(&placed, said(model).format).text;
    assert_eq!(of(&written).get(FieldId::GpuLayers), Value::Integer(30), "{written}");
    assert_eq!(of(&written).get(experts), Value::Integer(7), "{written}");
    assert_eq!(of(&written).get(FieldId::CacheOnHost), Value::Flag(true), "{written}");
}
