//! Runs of Hugging Face's Trainer and of the tools around it: the settings that follow from several
//! flags together.

use headroom::launch::{Format, Pasted, Way, read, write};
use headroom::scenario::{FieldId, Scenario, Value};

fn scenario(text: &str) -> Scenario {
    read(&[Pasted { name: "", text }], &Scenario::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .scenario
}

fn word(scenario: &Scenario, id: FieldId) -> &'static str {
    match scenario.get(id) {
        Value::Choice(word) => word,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_says_how_weights_are_loaded_and_computed_with() {
    let precision = |text: &str| {
        let read = scenario(text);
        (word(&read, FieldId::Precision), read.get(FieldId::Autocast) == Value::Flag(true))
    };
    // TRL loads in fp32 and casts to bf16 unless told otherwise.
    assert_eq!(precision("trl sft --model_name_or_path Qwen/Qwen2.5-0.5B"), ("amp-bf16", true));
    assert_eq!(
        precision("trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dtype bfloat16"),
        ("bf16-pure", true)
    );
    // ms-swift loads in 16 bits; under DeepSpeed the optimizer has fp32 copies.
    assert_eq!(
        precision("swift sft --model Qwen/Qwen2.5-7B --tuner_type full"),
        ("bf16-pure", true)
    );
    assert_eq!(
        precision("swift sft --model Qwen/Qwen2.5-7B --tuner_type full --deepspeed zero2"),
        ("bf16", false)
    );
    // LLaMA-Factory casts trained parameters to fp32.
    let full = "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-7B --stage sft \
        --finetuning_type full --bf16 true";
    assert_eq!(precision(full), ("amp-bf16", true));
    assert_eq!(precision(&format!("{full} --finetuning_type lora")), ("bf16-pure", true));
    assert_eq!(
        precision(&format!("{full} --deepspeed examples/deepspeed/ds_z3_config.json")),
        ("bf16", false)
    );
}

#[test]
fn batches_multiply() {
    let read = scenario(
        "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-7B --per_device_train_batch_size 2",
    );
    // With nothing stated, a step has 16 sequences on four GPUs, in two micro-batches each.
    assert_eq!(
        (read.get(FieldId::Gpus), read.get(FieldId::GlobalBatchSize)),
        (Value::Integer(4), Value::Integer(16))
    );
    let read = scenario(
        "accelerate launch --num_processes 3 sft.py --model_name_or_path Qwen/Qwen2.5-7B \
         --gradient_accumulation_steps 5",
    );
    assert_eq!(
        (read.get(FieldId::Gpus), read.get(FieldId::GlobalBatchSize)),
        (Value::Integer(3), Value::Integer(120))
    );
}

#[test]
fn automatic_sizes_of_deepspeed_follow_from_the_model() {
    let read = scenario(
        "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B --tuner_type full --deepspeed zero3",
    );
    let hidden = 3584u64;
    assert_eq!(read.get(FieldId::ReduceBucket), Value::Integer(hidden * hidden));
    assert_eq!(read.get(FieldId::PrefetchBucket), Value::Integer(hidden * hidden * 9 / 10));
    assert_eq!(read.get(FieldId::PersistenceThreshold), Value::Integer(hidden * 10));
    assert_eq!(word(&read, FieldId::OverlapComm), "off");
}

#[test]
fn files_beside_a_command_are_read_where_it_names_them() {
    let command = "torchrun --nproc_per_node 2 run_clm.py --model_name_or_path Qwen/Qwen2.5-7B \
        --output_dir o --per_device_train_batch_size 1 --bf16 --deepspeed configs/ds.json";
    let zero = "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 1e8}, \"bf16\": \
        {\"enabled\": \"auto\"}}";
    let pasted = [Pasted { name: "", text: command }, Pasted { name: "ds.json", text: zero }];
    let launched = read(&pasted, &Scenario::default()).expect("read");
    assert_eq!(word(&launched.scenario, FieldId::Sharding), "2");
    assert_eq!(launched.scenario.get(FieldId::ReduceBucket), Value::Integer(100_000_000));
    let alone = read(&pasted[..1], &Scenario::default()).expect("read");
    assert!(alone.not_counted().any(|row| row.flag == "deepspeed" && row.note.contains("ds.json")));
}

#[test]
fn fsdp_is_read_in_the_words_of_both_libraries() {
    let read = scenario(
        "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir o \
         --num_train_epochs 1 --bf16 True --fsdp \"shard_grad_op auto_wrap\"",
    );
    assert_eq!(
        (word(&read, FieldId::Sharding), word(&read, FieldId::Precision)),
        ("fsdp", "fsdp-mixed")
    );
    assert_eq!(read.get(FieldId::ReshardAfterForward), Value::Flag(false));
    let read = scenario(
        "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: \
         FULL_SHARD\nmixed_precision: bf16\nnum_processes: 4\n",
    );
    assert_eq!(
        (word(&read, FieldId::Sharding), read.get(FieldId::Gpus)),
        ("fsdp1", Value::Integer(4))
    );
}

/// Settings that code and not a table of flags handles are written and read back.
#[test]
fn sharding_formats_and_adapters_are_written_and_read_back() {
    let changes: [(&str, &[(FieldId, Value)]); 6] = [
        (
            "zero",
            &[
                (FieldId::Sharding, Value::Choice("3")),
                (FieldId::Precision, Value::Choice("bf16")),
                (FieldId::Autocast, Value::Flag(false)),
                (FieldId::ReduceBucket, Value::Integer(12_845_056)),
                (FieldId::OffloadOptimizer, Value::Flag(true)),
            ],
        ),
        ("full", &[(FieldId::Method, Value::Choice("full"))]),
        ("lora", &[(FieldId::Method, Value::Choice("lora")), (FieldId::Rank, Value::Integer(64))]),
        ("growing", &[(FieldId::ExpandableSegments, Value::Flag(true))]),
        ("liger", &[(FieldId::Stack, Value::Choice("liger"))]),
        ("evaluation", &[(FieldId::EvaluationBatch, Value::Integer(2))]),
    ];
    for key in ["trl", "swift", "llamafactory", "hf_trainer"] {
        let format = Format::named(key).expect("a format");
        let start = scenario(match key {
            "trl" => "trl sft --model_name_or_path meta-llama/Meta-Llama-3-8B",
            "swift" => "swift sft --model meta-llama/Meta-Llama-3-8B --max_length 2048",
            "llamafactory" => {
                "llamafactory-cli train --model_name_or_path meta-llama/Meta-Llama-3-8B --stage \
                 sft --bf16 true"
            }
            _ => {
                "python run_clm.py --model_name_or_path meta-llama/Meta-Llama-3-8B --output_dir o \
                 --num_train_epochs 1 --bf16"
            }
        });
        for (name, change) in &changes {
            let mut changed = start.clone();
            for (id, value) in *change {
                changed.set(*id, value.clone());
            }
            if *name == "liger" && key == "trl" {
                changed.set(FieldId::Loss, Value::Choice("stack"));
            }
            if *name == "evaluation" {
                changed.set(FieldId::EvaluationLogits, Value::Flag(key == "swift"));
            }
            if *name == "zero" && key != "hf_trainer" && key != "trl" {
                changed.set(FieldId::Method, Value::Choice("full"));
            }
            if *name == "full" || *name == "lora" {
                // Only in LLaMA-Factory does the format of the weights follow from the training
                // method.
                if key == "llamafactory" {
                    continue;
                }
            }
            let written = write(&changed, format);
            assert_eq!(written.missing, Vec::<String>::new(), "{key} {name}: {}", written.text);
            let back = scenario(&written.text);
            assert_eq!(back.differences(&changed), [], "{key} {name}: {}", written.text);
        }
    }
}

#[test]
fn frozen_weights_of_eight_bits_are_read_and_written() {
    let texts = [
        "trl sft --model_name_or_path meta-llama/Meta-Llama-3-8B --use_peft --load_in_8bit",
        "swift sft --model meta-llama/Meta-Llama-3-8B --max_length 2048 --quant_method bnb \
         --quant_bits 8",
        "llamafactory-cli train --model_name_or_path meta-llama/Meta-Llama-3-8B --stage sft \
         --finetuning_type lora --quantization_bit 8 --bf16 true",
        "python run_clm.py --model_name_or_path meta-llama/Meta-Llama-3-8B --output_dir o \
         --num_train_epochs 1 --bf16 --use_lora true --load_in_8bit true",
        "base_model: meta-llama/Meta-Llama-3-8B\nadapter: lora\nload_in_8bit: true\n\
         sequence_len: 4096\nsample_packing: true\nmicro_batch_size: 2\n\
         lora_target_linear: true\n",
    ];
    for text in texts {
        let launched = read(&[Pasted { name: "", text }], &Scenario::default()).expect("read");
        assert_eq!(word(&launched.scenario, FieldId::Method), "lora8", "{text}");
        let not_counted: Vec<_> = launched.not_counted().map(|row| row.flag.clone()).collect();
        assert_eq!(not_counted, Vec::<String>::new(), "{text}");
        let written = write(&launched.scenario, launched.format);
        let back = scenario(&written.text);
        assert_eq!(back.differences(&launched.scenario), [], "{text}: {}", written.text);
    }
    // Adapters of other kinds are not modelled beside them.
    let dora = "llamafactory-cli train --model_name_or_path meta-llama/Meta-Llama-3-8B --stage sft \
        --finetuning_type lora --quantization_bit 8 --use_dora true";
    let launched = read(&[Pasted { name: "", text: dora }], &Scenario::default()).expect("read");
    assert!(launched.not_counted().any(|row| row.flag == "quantization_bit"));
}

/// peft finds layers by their names, and latent attention has names of its own.
#[test]
fn adapters_of_latent_attention_stand_where_peft_finds_them() {
    let adapted = |model: &str, targets: &str| {
        let read = scenario(&format!(
            "trl sft --model_name_or_path deepseek-ai/{model} --use_peft --lora_target_modules \
             {targets}"
        ));
        let on = |id| read.get(id) == Value::Flag(true);
        [FieldId::AdaptQuery, FieldId::AdaptKey, FieldId::AdaptValue, FieldId::AdaptOutput].map(on)
    };
    assert_eq!(adapted("DeepSeek-V3", "q_proj k_proj v_proj o_proj"), [false, false, false, true]);
    assert_eq!(adapted("DeepSeek-V3", "q_a_proj q_b_proj kv_b_proj"), [true, false, true, false]);
    // Without compressed queries there is one layer for them, with the usual name.
    assert_eq!(adapted("DeepSeek-V2-Lite", "q_proj v_proj"), [true, false, false, false]);
    assert_eq!(adapted("DeepSeek-V3", "all-linear"), [true; 4]);
    let text = "trl sft --model_name_or_path deepseek-ai/DeepSeek-V3 --use_peft \
                --lora_target_modules q_b_proj";
    let half = read(&[Pasted { name: "", text }], &Scenario::default()).expect("read");
    assert!(half.not_counted().any(|row| row.flag == "lora_target_modules"));
}

#[test]
fn magnitudes_beside_weights_of_four_bits_are_named() {
    let text = "trl sft --model_name_or_path meta-llama/Meta-Llama-3-8B --use_peft --load_in_4bit \
                --use_dora";
    let launched = read(&[Pasted { name: "", text }], &Scenario::default()).expect("read");
    assert_eq!(word(&launched.scenario, FieldId::Method), "qlora");
    assert!(launched.not_counted().any(|row| row.flag == "use_dora"));
}

#[test]
fn optimizers_of_few_bits_are_read_by_name() {
    for (optim, ours, paged) in [
        ("adamw_torch_8bit", "adamw8ao", false),
        ("adamw_torch_4bit", "adamw4ao", false),
        ("lion_32bit", "lion", false),
        ("lion_8bit", "lion8t", false),
        ("paged_lion_8bit", "lion8t", true),
    ] {
        let swift = format!("swift sft --model Qwen/Qwen2.5-7B --optim {optim}");
        let axolotl = format!(
            "base_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: 2\noptimizer: {optim}\n"
        );
        for text in [swift, axolotl] {
            let read = scenario(&text);
            assert_eq!(word(&read, FieldId::Optimizer), ours, "{text}");
            assert_eq!(read.get(FieldId::PagedOptimizer), Value::Flag(paged), "{text}");
        }
    }
}

#[test]
fn flags_that_change_memory_and_are_not_modelled_are_said() {
    let text = "swift sft --model Qwen/Qwen2.5-7B --sequence_parallel_size 2 --tuner_type boft \
        --quant_bits 8";
    let launched = read(&[Pasted { name: "", text }], &Scenario::default()).expect("read");
    let said: Vec<&str> = launched.not_counted().map(|row| row.flag.as_str()).collect();
    assert_eq!(said, ["sequence_parallel_size", "quant_bits", "tuner_type"]);
    assert!(launched.report.iter().all(|row| row.way != Way::Unknown));
}

#[test]
fn axolotls_sharding_is_read_and_written() {
    let start = "base_model: Qwen/Qwen2.5-7B\nsequence_len: 2048\nmicro_batch_size: 1\nnum_epochs: \
        1\nbf16: true\n";
    let of = |more: &str| {
        read(&[Pasted { name: "", text: &format!("{start}{more}") }], &Scenario::default())
            .expect("read")
            .scenario
    };
    let second =
        of("fsdp_version: 2\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  \
         offload_params: true\n");
    assert_eq!(second.get(FieldId::Sharding), Value::Choice("fsdp"));
    assert_eq!(second.get(FieldId::Precision), Value::Choice("fsdp-mixed"));
    assert_eq!(second.get(FieldId::OffloadParameters), Value::Flag(true));
    let first = of("fsdp:\n  - full_shard\n  - auto_wrap\n");
    assert_eq!(first.get(FieldId::Sharding), Value::Choice("fsdp1"));
    let third = of("deepspeed: deepspeed_configs/zero3_bf16.json\n");
    assert_eq!(third.get(FieldId::Sharding), Value::Choice("3"));
    assert_eq!(
        (third.get(FieldId::Precision), third.get(FieldId::OverlapComm)),
        (Value::Choice("bf16"), Value::Choice("on"))
    );
    let format = Format::named("axolotl").expect("axolotl");
    for scenario in [second, first, third] {
        let written = write(&scenario, format);
        let back = read(&[Pasted { name: "", text: &written.text }], &Scenario::default())
            .expect("read")
            .scenario;
        let mut different = back.differences(&scenario);
        different.retain(|id| *id != FieldId::FlagsNotCounted);
        assert_eq!(different, [], "{}", written.text);
    }
}

#[test]
fn the_trainer_looks_for_unused_parameters_where_blocks_are_not_recomputed() {
    let of = |more: &str| {
        let text = format!(
            "torchrun --nproc_per_node 2 run_clm.py --model_name_or_path Qwen/Qwen2.5-7B \
             --do_train --output_dir out --per_device_train_batch_size 1 --learning_rate 1e-5 \
             --bf16 {more}"
        );
        let read = read(&[Pasted { name: "", text: &text }], &Scenario::default()).expect("read");
        read.scenario.get(FieldId::FindUnusedParameters)
    };
    assert_eq!(of(""), Value::Flag(true));
    assert_eq!(of("--gradient_checkpointing"), Value::Flag(false));
    assert_eq!(of("--ddp_find_unused_parameters false"), Value::Flag(false));
}
