//! Out-of-memory messages compared with the estimate of the job that printed them.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::config::Job;
use headroom::diagnosis::{
    self, AskedFor, Diagnosis, Doubt, Remedy, ShownAmount, estimated_amounts,
};
use headroom::estimator::{MemoryKind, asked_tensors, estimate, events};
use headroom::import::oom::{Cause, read};
use headroom::scenario::codec::decode;
use headroom::units::Bytes;

/// PyTorch 2.15 ran these jobs on a pretended GPU (`tests/data/oom/truth_cuda_*.txt`), which keeps
/// 0.5 GiB for the context.
const TRUTH_43: &str = "v1&m=llama3-8b&l=4&n=1&gb=4&b=4&s=2048&rc=full&att=standard&prec=bf16-pure&oi=for-loop&ker=eager&mem=26.5&fc=0.5&fr=0";
const TRUTH_45: &str = "v1&m=llama2-7b&n=1&gb=1&b=1&s=4096&rc=full&prec=amp-bf16&oi=fused&ker=eager&gpu=h100-sxm&fc=0.5&fr=0";

fn job(link: &str) -> Job {
    match decode(link).scenario.resolve() {
        Ok(job) => job,
        Err(problems) => panic!("{link}: {}", problems.len()),
    }
}

/// A text of `tests/data/oom` without its head.
fn text(name: &str) -> String {
    let path = format!("{}/tests/data/oom/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read_to_string(&path).expect("a stored text");
    whole.split_once("\n---\n").expect("a head").1.to_owned()
}

/// The first diagnosis of a stored text.
fn of(name: &str, link: &str) -> Diagnosis {
    let messages = read(&text(name)).expect("a message");
    diagnosis::of(&job(link), messages.first().expect("a message"))
}

#[test]
fn the_tensor_of_a_real_run_is_named_with_its_moment() {
    let found = of("truth_cuda_43", TRUTH_43);
    assert_eq!(found.doubts, []);
    let first = found.asked_for.tensors().first().expect("a tensor");
    // The run ended in forward, where the loss takes the logarithm of the logits in fp32:
    // `log_softmax` of [4 × 2048, 128256].
    assert_eq!(first.to_string(), "3.91 GiB = fp32 log-probabilities [4 × 2048 × 128\u{202f}256]");
    assert_eq!(first.moment.map(|moment| moment.name), Some("when the loss is computed"));
    // The message states 17.15 GiB as allocated; the estimate at that moment agrees to the printed
    // digits.
    let [low, high] = first.alive_before().expect("the tape knows what is alive");
    let allocated = found.message.allocated.expect("stated");
    assert!(low == high && allocated.contains(low.0), "{low:?} to {high:?} instead of {allocated}");
    let said = found.request();
    assert!(said[0].ends_with("(Output head and loss, when the loss is computed)"), "{said:?}");
}

#[test]
fn the_first_step_of_the_optimizer_is_told_from_others() {
    let found = of("truth_cuda_45", TRUTH_45);
    assert_eq!(found.doubts, []);
    // The run ended in the optimizer's first step, which makes its states: weights of 4096 × 4096
    // in fp32.
    let first = found.asked_for.tensors().first().expect("a tensor");
    let moment = first.moment.expect("a moment");
    assert!(moment.in_first_step && moment.name == "when the optimizer steps", "{first}");
    let [low, high] = first.alive_before().expect("the tape knows what is alive");
    let allocated = found.message.allocated.expect("stated").range();
    assert!(low.0 <= allocated.low && allocated.high <= high.0);
    let said = found.request();
    assert!(said[0].contains("query weight, key weight, value weight, output weight"), "{said:?}");
}

/// The replay of PyTorch's allocator ends in the message that PyTorch printed, with every number
/// equal, with expandable segments and without.
#[test]
fn the_replay_prints_what_pytorch_printed() {
    let runs = [
        ("43", TRUTH_43.to_owned()),
        ("45", TRUTH_45.to_owned()),
        ("46", format!("{TRUTH_45}&xs=1")),
    ];
    for (name, link) in runs.map(|(line, link)| (format!("truth_cuda_{line}"), link)) {
        let found = of(&name, &link);
        let message = &found.message;
        let numbers = found.failure.expect("the replay fails, too").numbers;
        for (stated, bytes) in [
            (message.tried, numbers.tried),
            (message.total, numbers.total),
            (message.free, numbers.free),
            (message.allocated, numbers.allocated),
            (message.unallocated, numbers.unallocated),
        ] {
            assert!(
                stated.expect("stated").contains(bytes),
                "{name}: {bytes} instead of {stated:?}"
            );
        }
        assert!(found.is_replayed);
        let said = found.explanation();
        assert!(
            said[2].starts_with(
                "PyTorch's allocator, replayed with the link's job, ends in this very message: "
            ),
            "{said:?}"
        );
    }
}

#[test]
fn fragmentation_gets_the_allocators_own_setting_and_changes_that_save_enough() {
    let found = of("truth_cuda_43", TRUTH_43);
    assert!(
        !found.estimate.fits && found.estimate.tensors_over().is_none(),
        "tensors alone fit: {:?}",
        found.estimate
    );
    let said = found.explanation();
    assert!(
        said[2].ends_with(
            "ends in this very message: log-probabilities (Output head and loss) is asked for."
        ),
        "{said:?}"
    );
    let Cause::Fragmentation { asked, free, .. } = found.cause else { panic!("{:?}", found.cause) };
    // The measured run with that setting did not run out of memory: shared/truth/cuda.jsonl, line
    // 44.
    let Some(Remedy::Setting { setting, tried: Some(tried), .. }) = found.remedies.first() else {
        panic!("{:?}", found.remedies)
    };
    assert!(
        *setting == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" && tried.fits,
        "{tried:?}"
    );
    let changes: Vec<_> = found
        .remedies
        .iter()
        .filter_map(|remedy| match remedy {
            Remedy::Change(fix) => Some(fix),
            Remedy::Setting { .. } | Remedy::Advice(_) => None,
        })
        .collect();
    assert!(!changes.is_empty());
    let short = asked.minus(free).low;
    for fix in changes {
        assert!(fix.fits && fix.before.0 - fix.after.0 >= short, "{fix:?}");
    }
}

#[test]
fn what_does_not_fit_anyway_is_said_although_the_message_blames_gaps() {
    let found = of("truth_cuda_45", TRUTH_45);
    assert!(matches!(found.cause, Cause::Fragmentation { .. }) && !found.estimate.fits);
    assert!(
        found
            .explanation()
            .last()
            .expect("a sentence")
            .starts_with("By the estimate the job would not have fitted anyway")
    );
    // The setting alone is not enough, so that changes come first.
    assert!(
        matches!(found.remedies.first(), Some(Remedy::Change(fix)) if fix.fits),
        "{:?}",
        found.remedies
    );
}

#[test]
fn the_issues_example_is_read_as_it_says() {
    // LLaMA-Factory issue 4253: 3.90 GiB are the logits of 4 × 1023 tokens, which agree with no
    // tensor of 4 × 1024.
    let link = "v1&do=tune&m=gemma-7b&n=1&gb=4&b=4&s=1024&ft=lora&ker=eager";
    let names = |amount: &str| {
        let text = format!(
            "CUDA out of memory. Tried to allocate {amount}. GPU 0 has a total capacity of 79.65 \
             GiB"
        );
        let found = diagnosis::of(&job(link), &read(&text).expect("a message")[0]);
        found.asked_for.tensors().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let shapes = names("3.91 GiB");
    assert!(
        !shapes.is_empty()
            && shapes.iter().all(|shape| shape.ends_with("[4 × 1024 × 256\u{202f}000]")),
        "{shapes:?}"
    );
    assert!(shapes.iter().any(|shape| shape.contains("logits")), "{shapes:?}");
    assert!(names("3.90 GiB").is_empty());
    let text =
        "CUDA out of memory. Tried to allocate 3.90 GiB. GPU 0 has a total capacity of 79.65 GiB";
    let said = diagnosis::of(&job(link), &read(text).expect("a message")[0]).request();
    assert!(
        said[0].starts_with("No tensor of the link's job has 3.90 GiB; the nearest is fp32 "),
        "{said:?}"
    );
    assert!(said[0].ends_with(" [4 × 1024 × 256\u{202f}000] with 3.91 GiB."), "{said:?}");
}

#[test]
fn a_segment_that_tensors_share_names_none_of_them() {
    for amount in ["2.00 MiB", "20.00 MiB"] {
        let text = format!(
            "CUDA out of memory. Tried to allocate {amount}. GPU 0 has a total capacity of 79.65 \
             GiB"
        );
        let found = diagnosis::of(&job("v1&n=1"), &read(&text).expect("a message")[0]);
        assert!(
            matches!(found.asked_for, AskedFor::SharedSegment { .. }),
            "{amount}: {:?}",
            found.asked_for
        );
        assert!(
            found.request()[0].starts_with(&format!("{amount} is a whole segment")),
            "{:?}",
            found.request()
        );
    }
}

#[test]
fn a_message_of_another_job_is_said_to_be_one() {
    // Training GPT-2 medium cannot have allocated 79 GiB, so the diagnosis must doubt the scenario.
    let found = of("field_deepspeed_2899", "v1&m=gpt2&n=1");
    let kinds: Vec<bool> = found
        .doubts
        .iter()
        .map(|doubt| matches!(doubt, Doubt::MoreAllocated { .. } | Doubt::LargerTensor { .. }))
        .collect();
    assert_eq!(kinds, [true, true], "{:?}", found.doubts);
    assert_eq!(found.objections()[0], "This message hardly comes from the link's job.");
    assert!(found.remedies.iter().all(|remedy| !matches!(remedy, Remedy::Change(_))));
    let capacity = of("truth_cuda_43", "v1&m=llama3-8b&n=8");
    assert!(
        capacity.doubts.iter().any(|doubt| matches!(doubt, Doubt::OtherCapacity { .. })),
        "{:?}",
        capacity.doubts
    );
    let serves = of("vllm_needed_wrapped", "v1&m=gpt2");
    assert!(
        serves.doubts.iter().any(|doubt| matches!(doubt, Doubt::Serves(_))),
        "{:?}",
        serves.doubts
    );
    let context = of("vllm_needed_wrapped", "v1&do=serve&m=llama3-8b&n=1&ctx=8192");
    assert!(
        context
            .doubts
            .iter()
            .any(|doubt| matches!(doubt, Doubt::OtherContext { stated: 1280, estimated: 8192 }))
    );
}

#[test]
fn the_cache_of_a_request_is_set_beside_the_servers() {
    // 64.00 GiB for 524288 tokens are 131072 bytes a token: Llama 3 8B in 16 bits.
    let text = "To serve at least one request with the models's max seq len (524288), (64.00 GiB \
        KV cache is needed, which is larger than the available KV cache memory (60.92 GiB).";
    let found = diagnosis::of(
        &job("v1&do=serve&m=llama3-8b&n=1&ctx=524288"),
        &read(text).expect("a message")[0],
    );
    assert_eq!(found.doubts, []);
    let needed = found.amounts.iter().find(|row| row.label == "Needed").expect("a row");
    assert_eq!(
        [needed.message, needed.estimate].map(|measure| measure.map(|measure| measure.to_string())),
        [Some("64.00 GiB".to_owned()), Some("64.00 GiB".to_owned())]
    );
}

#[test]
fn ranks_that_print_alike_are_one_diagnosis() {
    let message = text("truth_cuda_43");
    let ranks: Vec<String> =
        (0..3).map(|rank| format!("[rank{rank}]: {}", message.trim())).collect();
    let other = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. \
        GPU 3 has a total capacity of 26.50 GiB";
    let messages = read(&format!("{}\n{other}", ranks.join("\n"))).expect("messages");
    let found = diagnosis::of_each(&job(TRUTH_43), &messages);
    let summary: Vec<(usize, &[u32])> =
        found.iter().map(|found| (found.count, found.ranks.as_slice())).collect();
    assert_eq!(summary, [(3, &[0, 1, 2][..]), (1, &[3][..])]);
    assert!(
        found[0].heading().contains(", ranks 0, 1, 2: tried to allocate 3.91 GiB."),
        "{}",
        found[0].heading()
    );
}

/// Every tensor that the diagnosis gives a moment occurs in the played step with the same number of
/// bytes.
#[test]
fn tensors_with_moments_are_among_the_steps_events() {
    let mut compared = 0;
    for link in [
        TRUTH_43,
        "v1&m=gpt2&n=1&b=2&ker=eager",
        "v1&m=llama3-8b&n=8&z=fsdp",
        "v1&m=mixtral-8x7b&n=8&z=3&rc=full",
    ] {
        let job = job(link);
        let tensors = asked_tensors(&job);
        assert!(!tensors.is_empty(), "{link}");
        let taken: std::collections::BTreeSet<(&str, i128)> =
            events(&job).iter().map(|event| (event.name, event.bytes)).collect();
        // Some libraries gather weights module by module; the ledger groups those weights, so its
        // peak differs from the replay's.
        let ledger = estimate(&job).ledger;
        let tensors_at_peak = ledger.total().saturating_sub(ledger.of(MemoryKind::Framework));
        let peak = estimated_amounts(&job, &estimate(&job)).allocated.max(tensors_at_peak);
        for tensor in &tensors {
            assert!(
                tensor.bytes > Bytes::ZERO || tensor.shape.elements().0 == 0,
                "{link}: {tensor:?}"
            );
            for moment in tensor
                .moments
                .iter()
                .filter(|moment| moment.name != "when the optimizer steps" && !moment.in_first_step)
            {
                assert!(
                    taken.contains(&(tensor.name, i128::from(tensor.bytes.0)))
                        || moment.name == "before the step",
                    "{link}: {tensor:?}"
                );
                let highest =
                    moment.alive_before.map_or(Bytes::ZERO, |[_, most]| most + tensor.bytes);
                assert!(highest <= peak, "{link}: {tensor:?} would be above the peak of {peak:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0, "no tensor has a moment");
}

#[test]
fn every_stored_message_gets_finished_sentences_beside_any_job() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oom");
    let texts = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| std::fs::read_to_string(entry.path()).expect("text"));
    let messages =
        texts.filter_map(|whole| Some(read(whole.split_once("\n---\n")?.1).unwrap_or_default()));
    let messages: Vec<_> = messages.flatten().collect();
    assert!(messages.len() > 100);
    for link in [
        "v1&m=gpt2&n=1",
        "v1&do=serve&m=llama3-8b&n=1&srv=vllm",
        "v1&m=llama3-70b&n=64&tp=8&ker=megatron&gb=128&z=1",
    ] {
        for found in diagnosis::of_each(&job(link), &messages) {
            let sentences = [
                vec![found.heading()],
                found.objections(),
                found.explanation(),
                found.request(),
                found.advice(),
            ]
            .concat();
            for sentence in sentences {
                assert!(
                    sentence.ends_with(['.', ')', ']']) && !sentence.contains("  "),
                    "{link}: {sentence}"
                );
            }
            for row in &found.amounts {
                assert!(
                    row.message.is_some() && !matches!(row.message, Some(ShownAmount::Between(_))),
                    "{link}: {}",
                    row.label
                );
            }
        }
    }
}
