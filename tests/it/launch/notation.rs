//! The parts of shells, YAML, TOML, JSON and Python that people use to start runs.

use headroom::launch::notation::Text;
use headroom::launch::{LaunchError, Pasted, Place, Way, read};
use headroom::scenario::{FieldId, Scenario, Value};

/// The words after the program's name in the first `vllm` command, joined with blanks.
fn words(script: &str) -> String {
    let text = Text::new("", script);
    let run = text.invocations().iter().find(|run| run.program == "vllm").expect("a command");
    run.arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn quotes_comments_and_lines_that_go_on_are_read() {
    assert_eq!(
        words("vllm serve a --b 'c d' \\\n  --e \"f # g\" # no word\n"),
        "serve a --b c d --e f # g"
    );
    assert_eq!(
        words("# vllm serve x\ncd /work && CUDA_VISIBLE_DEVICES=0,1 vllm serve a > log.txt 2>&1 &"),
        "serve a"
    );
    assert_eq!(words("nohup python -u -m vllm a\\ b | tee log"), "a b");
}

#[test]
fn variables_lists_and_sums_are_put_in_place() {
    assert_eq!(
        words("TP=4\nN=$((TP * 2 + 1))\nvllm serve $MODEL -tp ${TP} --n $N --o ${O:-7}"),
        "serve $MODEL -tp 4 --n 9 --o 7"
    );
    assert_eq!(
        words("ARGS=(\n  --a 1 # one\n  --b \"c d\"\n)\nARGS+=(--e)\nvllm serve \"${ARGS[@]}\""),
        "serve --a 1 --b c d --e"
    );
    assert_eq!(words("ARGS=\"--a 1\n  --b 2\"\nvllm serve ${ARGS}"), "serve --a 1 --b 2");
    assert_eq!(words("export n=2\nvllm serve --g $(expr 16 / $n)"), "serve --g 8");
}

#[test]
fn a_text_that_doubles_itself_stays_short() {
    let doubled = "A=aaaaaaaaaaaaaaaa\n".to_owned() + &"A=$A$A\n".repeat(60) + "vllm serve $A";
    assert!(words(&doubled).len() < 2_000_000);
}

#[test]
fn launchers_stand_aside() {
    let text = Text::new(
        "",
        "torchrun --nproc_per_node=8 --nnodes 2 --standalone pretrain_gpt.py --num-layers 4",
    );
    let run = &text.invocations()[0];
    assert_eq!((run.program.as_str(), run.arguments.len()), ("pretrain_gpt.py", 2));
    assert_eq!(run.launcher.as_ref().expect("torchrun").flags.len(), 3);
}

#[test]
fn keys_have_their_places() {
    let keys = |text: &str| Text::new("", text).keys().expect("keys").clone().expect("read");
    let yaml = keys("# c\na:\n  b: 4\n  c: [x, y]\nd: true\n");
    assert_eq!(
        yaml.iter().map(|key| (key.key.as_str(), key.text(), key.place.line)).collect::<Vec<_>>(),
        [("a.b", "4".to_owned(), 3), ("a.c", "x y".to_owned(), 4), ("d", "true".to_owned(), 5)]
    );
    let toml = keys("[training]\nseq_len = 8192 # t\nsteps = 1_000\n");
    assert_eq!(
        (toml[0].key.as_str(), toml[0].text().as_str(), toml[0].place),
        ("training.seq_len", "8192", Place { line: 2, column: 1 })
    );
    assert_eq!(toml[1].whole(), Ok(1000));
    let json = keys("{\n \"zero_optimization\": {\"stage\": 3},\n // c\n \"x\": 5e8,\n}");
    assert_eq!(json[0].key, "zero_optimization.stage");
    assert_eq!(json[1].whole(), Ok(500_000_000));
}

#[test]
fn python_calls_have_literal_arguments() {
    let text = Text::new(
        "",
        "n = 2\nllm = LLM(model=\"a/b\", # c\n  tensor_parallel_size=n, x=[1, 'd'], y=f(3), \
         z=len(q) + 1)\n",
    );
    let call = text.calls().iter().find(|call| call.name == "LLM").expect("the call");
    let said: Vec<(String, String)> =
        call.arguments.iter().map(|given| (given.key.clone(), given.text())).collect();
    let expected = [
        ("model", "a/b"),
        ("tensor_parallel_size", "2"),
        ("x", "1 d"),
        ("y", "$f()"),
        ("z", "$len(q) + 1"),
    ];
    assert_eq!(said, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

#[test]
fn flags_that_are_not_known_are_said_and_wrong_values_have_a_place() {
    let said = |text: &str| read(&[Pasted { name: "", text }], &Scenario::default());
    let read =
        said("vllm serve Qwen/Qwen2.5-7B --frobnicate 3 --kv-offloading-size 4").expect("read");
    let ways: Vec<(&str, Way)> =
        read.not_counted().map(|row| (row.flag.as_str(), row.way)).collect();
    assert_eq!(ways, [("frobnicate", Way::Unknown), ("kv-offloading-size", Way::NotModelled)]);
    assert_eq!(
        read.scenario.get(FieldId::FlagsNotCounted),
        Value::Text("frobnicate,kv-offloading-size".to_owned())
    );
    let error =
        said("vllm serve Qwen/Qwen2.5-7B \\\n --tensor-parallel-size two").expect_err("no number");
    assert_eq!(
        error.to_string(),
        "Line 2, column 2: `tensor-parallel-size` takes a whole number from 1 to \
         1\u{202f}000\u{202f}000 GPUs, not “two”."
    );
    assert_eq!(said("hello").expect_err("no command"), LaunchError::NoFormat);
    let read = said("vllm serve a --port $PORT --max-num-seqs $N").expect("read");
    assert!(read.not_counted().any(|row| row.flag == "max-num-seqs"), "nobody knows $N");
    assert!(read.not_counted().all(|row| row.flag != "port"));
}
