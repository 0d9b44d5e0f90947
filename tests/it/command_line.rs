//! The command line: exit codes, the same sentences as the page, and both forms of output.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::process::{Command, Output};

fn headroom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headroom")).args(arguments).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn fits_is_zero_and_does_not_fit_is_one() {
    let fits = headroom(&["v1"]);
    assert_eq!(fits.status.code(), Some(0));
    assert!(
        text(&fits.stdout).starts_with("Fits. Training Llama 3 8B on 8 × H100 SXM5 takes "),
        "{}",
        text(&fits.stdout)
    );
    let short = headroom(&["https://example.org/any/#v1&m=llama3-70b&n=16"]);
    assert_eq!(short.status.code(), Some(1));
    assert!(
        text(&short.stdout)
            .starts_with("Does not fit. Training Llama 3 70B on 16 × H100 SXM5 needs ")
    );
    assert!(
        text(&short.stdout)
            .contains("By memory alone at least 21 GPUs; the first count that works: 32 GPUs.")
    );
    // The tensors fit, but the allocator finds no room.
    let gaps = headroom(&["v1&m=llama3-8b&n=8&mem=25.5"]);
    assert_eq!(gaps.status.code(), Some(1));
    assert!(
        text(&gaps.stdout).starts_with("Runs out of memory. Training Llama 3 8B on 8 × H100 SXM5"),
        "{}",
        text(&gaps.stdout)
    );
    for words in [
        "the first count that works: 16 GPUs. On 8 GPUs the tensors would fit",
        "this still runs: sequences of ",
    ] {
        assert!(text(&gaps.stdout).contains(words), "{words}: {}", text(&gaps.stdout));
    }
}

#[test]
fn bad_input_is_two_and_a_sentence() {
    for (arguments, sentence) in [
        (&[][..], "name a link"),
        (&["v1", "--nonsense"][..], "--nonsense"),
        (&["v9&m=gpt2"][..], "version"),
        (&["v1&n=6&tp=4"][..], "GPUs"),
        (
            &["v1&m=llama3-7"][..],
            "Model: This link names a model that is not in the list: “llama3-7”.",
        ),
        (
            &["v1&m=llama3-8b&gpu=k80"][..],
            "GPU: This link names a GPU that is not in the list: “k80”.",
        ),
        (
            &["v1&c=000&m=llama3-70b&tp=3"][..],
            "This link was changed by hand or cut off: its check sum does not match.",
        ),
        (&["v1&c=000&zz=1"][..], "Nothing of this link can be read"),
    ] {
        let output = headroom(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(sentence), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_link_edited_by_hand_answers_what_it_says_with_a_note() {
    let output = headroom(&["v1&c=000&m=llama3-70b&n=32"]);
    let said = text(&output.stdout);
    assert!(said.starts_with("note: This link was changed by hand or cut off"), "{said}");
    assert!(said.contains("Training Llama 3 70B on 32 × H100 SXM5"), "{said}");
}

#[test]
fn json_holds_the_ledger_in_bytes() {
    let output = headroom(&["v1&do=serve&m=llama3-70b&ctx=128k&seqs=1&n=4&tp=4", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bytes: u64 = answer["ledger"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(|line| line["bytes"].as_u64())
        .sum();
    assert_eq!(Some(bytes), answer["total_bytes"].as_u64());
    assert_eq!(answer["parameters"], 70_553_706_496_u64);
    assert_eq!(answer["gpus"]["arithmetic"], 3);
    assert_eq!(answer["gpus"]["runnable"], 4);
}

#[test]
fn units_and_inputs() {
    assert!(text(&headroom(&["v1", "--gb"]).stdout).contains(" GB on each GPU."));
    assert!(text(&headroom(&["v1&u=gb", "--gib"]).stdout).contains(" GiB on each GPU."));
    let inputs = headroom(&["--inputs"]);
    assert_eq!(inputs.status.code(), Some(0));
    for field in headroom::scenario::fields() {
        assert!(text(&inputs.stdout).contains(field.name), "{}", field.name);
    }
}

#[test]
fn every_form_that_the_page_hands_over_can_be_printed() {
    let link = "https://example.org/headroom/#v1&m=llama3-8b&n=8&b.n=16";
    let document = headroom(&[link, "--export", "answer.md"]);
    assert_eq!(document.status.code(), Some(0));
    let document = text(&document.stdout);
    assert!(
        document.starts_with("# Training Llama 3 8B on 8 × H100 SXM5\n\n**Fits. "),
        "{document}"
    );
    assert!(document.contains("Link: https://example.org/headroom/#v2&c="), "{document}");
    let report = text(&headroom(&[link]).stdout);
    for line in report.lines().take(2) {
        assert!(document.contains(line), "{line}");
    }
    assert!(text(&headroom(&[link, "--export", "curves.csv"]).stdout).contains("\nB,gpus,16,"));
    assert!(text(&headroom(&[link, "--export", "ledger.csv"]).stdout).contains("\nB,Weights,"));
    let inputs: serde_json::Value =
        serde_json::from_slice(&headroom(&[link, "--export", "scenario.json"]).stdout)
            .expect("JSON");
    assert_eq!(inputs["scenarios"][1]["inputs"]["n"]["value"], 16);
    let unknown = headroom(&[link, "--export", "answer.pdf"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("answer.md, curves.csv, ledger.csv, scenario.json"));
}

#[test]
fn figures_are_listed_with_their_exact_value() {
    let output = headroom(&["v1&do=serve&m=llama2-7b&n=1&u=gb", "--figures"]);
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    assert!(lines.contains("weights\t13476831232\t13.5 GB\tWeights on one GPU\n"), "{lines}");
    assert!(!lines.contains("step-time"), "a server has no steps");
}

/// Each of 295 real files gets a line that says exact, flagged or refused; none is wrong without a
/// word.
#[test]
fn config_files_are_counted_by_what_becomes_of_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/configs/corpus");
    let counts = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/truth/parameters_corpus.jsonl");
    let output = headroom(&["import", folder, "--counts", counts]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stdout);
    assert_eq!(told.lines().count(), 296);
    let last = told.lines().last().expect("a summary");
    assert!(last.ends_with("0 off by more than 0.1 % without a word"), "{last}");
    assert!(
        last.contains(" exact, ") && last.contains(" flagged, ") && last.contains(" refused; "),
        "{last}"
    );
    assert!(
        told.contains("exact\tmeta-llama__Meta-Llama-3.1-8B.json\tllama\t8030261248\t"),
        "{told}"
    );
    assert!(
        told.contains("exact\tgoogle-bert__bert-base-uncased.json\tbert\t109514298\t"),
        "{told}"
    );
    let missing = headroom(&["import"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("name at least one config.json"));
}

/// `headroom oom` with a stored message and a link.
fn diagnosed(name: &str, arguments: &[&str]) -> Output {
    let file = format!("{}/tests/data/oom/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    headroom(&[&["oom", file.as_str()], arguments].concat())
}

#[test]
fn a_message_is_set_beside_the_estimate_of_its_link() {
    let link = "v1&m=llama3-8b&l=4&n=1&gb=4&b=4&s=2048&rc=full&att=standard&prec=bf16-pure&oi=for-loop&ker=eager&mem=26.5&fc=0.5&fr=0";
    let output = diagnosed("truth_cuda_43", &[link]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for part in [
        "PyTorch on CUDA device 0: tried to allocate 3.91 GiB.\n",
        "\nCause\n  Fragmentation: 3.91 GiB was asked for, 5.73 GiB is reserved but unallocated",
        "  3.91 GiB = fp32 log-probabilities, logits in fp32 [4 × 2048 × 128\u{202f}256] (Output \
         head and loss, when the loss is computed)\n",
        "  17.15 GiB  17.15 GiB\n",
        "\nWhat helps\n  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: ",
        "  Micro-batch of 1: 17.90 GiB in place of 23.52 GiB on each GPU, tried by the estimator.",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    let output = diagnosed("truth_cuda_43", &[link, "--json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let message = &answer["messages"][0];
    assert_eq!(message["belongs"], true);
    assert_eq!(message["tensors"][0]["shape"][2], serde_json::json!(["vocab_size", 128_256]));
    assert_eq!(message["tensors"][0]["bytes"], 4_u64 * 2048 * 128_256 * 4);
    assert_eq!(message["remedies"][1]["verified"], true);
}

#[test]
fn a_message_of_another_job_is_said_to_be_one_by_the_command() {
    for (name, link, sentence) in [
        (
            "field_deepspeed_2899",
            "v1&m=gpt2&n=1",
            "PyTorch had allocated 76.68 GiB, and the link's job never allocates more than ",
        ),
        (
            "truth_cuda_43",
            "v1&m=llama3-8b&n=8",
            "The message's GPU has 26.50 GiB, the link's 79.65 GiB: choose the accelerator",
        ),
        (
            "vllm_needed_estimate",
            "v1&m=gpt2&n=1",
            "vLLM serves models, and the link's job trains one: choose serving and its engine.",
        ),
    ] {
        let said = text(&diagnosed(name, &[link]).stdout);
        assert!(
            said.contains("\nDoubt\n  This message hardly comes from the link's job.\n"),
            "{said}"
        );
        assert!(said.contains(sentence), "{said}");
        assert!(!said.contains("tried by the estimator"), "{said}");
    }
}

#[test]
fn what_is_no_message_is_refused_with_a_way_out() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let [other, missing] = ["Cargo.toml", "no such file"].map(|name| format!("{folder}/{name}"));
    for (arguments, sentence) in [
        (
            &["oom", &other, "v1"][..],
            "no out-of-memory message was found in the text: paste the whole error, from \"out of \
             memory\"",
        ),
        (&["oom", &missing, "v1"][..], "cannot be read: "),
        (
            &["oom", &other][..],
            "name a file with the message, or - for what is piped in, and the link",
        ),
        (&["oom", &other, "v1", "v2"][..], "unexpected argument"),
        (&["oom", &other, "v9"][..], "version"),
    ] {
        let output = headroom(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(sentence), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_snapshot_stands_beside_the_job_that_wrote_it() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(folder.join("tests/data/cuda/snapshots/llama-4-layers.pickle.zz"))
        .expect("a file");
    let file =
        std::env::temp_dir().join(format!("headroom-snapshot-{}.pickle", std::process::id()));
    std::fs::write(
        &file,
        miniz_oxide::inflate::decompress_to_vec_zlib(&packed).expect("a packed file"),
    )
    .expect("a copy");
    let (name, link) = (
        file.display().to_string(),
        "v1&m=llama3-8b&l=4&n=1&gb=2&b=2&s=2048&prec=bf16-pure&ker=eager&rc=none",
    );
    let output = headroom(&["snapshot", &name, link]);
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("Reserved by PyTorch"), "{said}");
    assert!(said.contains("more in the estimate of"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&text(&headroom(&["snapshot", &name, link, "--json"]).stdout))
            .expect("JSON");
    assert_eq!(json["amounts"][1]["measured"], 21_726_494_720_u64);
    std::fs::remove_file(file).expect("the copy");
    let missing = headroom(&["snapshot", "no-such-file", link]);
    assert!(
        missing.status.code() == Some(2) && text(&missing.stderr).contains("_dump_snapshot"),
        "{}",
        text(&missing.stderr)
    );
}
