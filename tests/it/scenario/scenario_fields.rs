//! The field table, reading of typed values, and turning a scenario into a job.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use headroom::config::{
    AttentionKernel, CacheFormat, DataSharding, GradientDType, MlpKind, Normalization, Optimizer,
    PositionEmbedding, Recompute, Run, Stack, TrainingPrecision, WeightFormat,
};
use headroom::scenario::{
    Applies, FieldDefault, FieldId, FieldKind, Group, Mode, Scenario, Value, Word, codec, field,
    field_of_key, fields, help, option_help, parse, range_text, reference, show,
};
use headroom::units::{Bytes, DType, MemoryUnit};

#[test]
fn every_field_is_complete_and_unique() {
    let mut ids = BTreeSet::new();
    let mut keys = BTreeSet::new();
    let mut labels = BTreeSet::new();
    for entry in fields() {
        assert!(ids.insert(entry.id), "{:?} twice", entry.id);
        assert!(keys.insert(entry.key), "{} twice", entry.key);
        if matches!(entry.default, FieldDefault::OfFile) {
            // Kinds of files name one size differently; such a field is called by the file's key.
            assert_eq!([entry.key, entry.label], [entry.name; 2]);
        } else {
            assert!(labels.insert(entry.label), "{} twice", entry.label);
            let short = (1..=6).contains(&entry.key.len())
                && entry.key.bytes().all(|byte| byte.is_ascii_lowercase());
            assert!(short, "{}", entry.key);
        }
        assert_ne!(entry.key, "c", "the check sum's key");
        assert!(!entry.name.is_empty() && !entry.label.is_empty(), "{}", entry.key);
        assert!(
            help(entry.id).len() > 20 && help(entry.id).ends_with('.'),
            "{}: {}",
            entry.key,
            help(entry.id)
        );
        assert_eq!(field(entry.id).key, entry.key);
        assert_eq!(field_of_key(entry.key).map(|field| field.id), Some(entry.id));
        assert!(!range_text(entry.id).is_empty());
        if let FieldKind::Choice(options) = entry.kind {
            for option in options {
                let help = option_help(entry.id, option.value);
                // A family's help is the name of its kind and not a sentence.
                let says = help.ends_with('.') || entry.id == FieldId::Family && !help.is_empty();
                assert!(!option.label.is_empty() && says, "{}: {}", entry.key, option.value);
            }
        }
        if entry.kilo == 1024 {
            assert!(help(entry.id).contains("4k means 4096"), "{}", entry.key);
        }
    }
    assert!(Group::ALL.iter().all(|group| fields().iter().any(|field| field.group == *group)));
    assert_eq!(reference().lines().count(), fields().len() + 2);
}

#[test]
fn choices_are_the_words_of_their_types() {
    #[track_caller]
    fn check<T: Word + std::fmt::Debug>(id: FieldId) {
        let FieldKind::Choice(options) = field(id).kind else { panic!("{id:?} is no choice") };
        for option in options {
            let case = T::from_word(option.value)
                .unwrap_or_else(|| panic!("{id:?} has no case {}", option.value));
            assert_eq!(case.word(), option.value);
        }
        if std::any::type_name::<T>() != std::any::type_name::<DType>() {
            assert_eq!(options.len(), T::WORDS.len(), "{id:?}");
        }
    }
    check::<Mode>(FieldId::Mode);
    check::<MemoryUnit>(FieldId::MemoryUnit);
    check::<Normalization>(FieldId::Normalization);
    check::<MlpKind>(FieldId::Mlp);
    check::<PositionEmbedding>(FieldId::PositionEmbedding);
    check::<TrainingPrecision>(FieldId::Precision);
    check::<GradientDType>(FieldId::Gradients);
    check::<Optimizer>(FieldId::Optimizer);
    check::<Stack>(FieldId::Stack);
    check::<AttentionKernel>(FieldId::Attention);
    check::<Recompute>(FieldId::Recompute);
    check::<DataSharding>(FieldId::Sharding);
    check::<WeightFormat>(FieldId::WeightDType);
    check::<CacheFormat>(FieldId::KvCacheDType);
}

#[test]
fn every_default_is_in_its_range_and_shown_as_it_is_read() {
    let scenario = Scenario::default();
    for entry in fields().iter().filter(|entry| scenario.asks(entry.id)) {
        let value = scenario.get(entry.id);
        let shown = show(entry.id, &value);
        let read = parse(entry.id, &shown).unwrap_or_else(|error| panic!("{}: {error}", entry.key));
        assert_eq!(show(entry.id, &read), shown, "{}", entry.key);
        // Typing the shown text again changes nothing.
        let mut typed = scenario.clone();
        typed.set(entry.id, read);
        assert_eq!(typed, scenario, "{}", entry.key);
    }
}

#[test]
fn whole_numbers_are_read_as_people_type_them() {
    let lengths = [
        ("8192", 8192),
        ("8,192", 8192),
        ("8 192", 8192),
        ("8\u{2009}192", 8192),
        ("8\u{202f}192", 8192),
        ("8\u{a0}192", 8192),
        ("8'192", 8192),
        ("8_192", 8192),
        ("  8192  ", 8192),
        ("+8192", 8192),
        ("8192.0", 8192),
        ("8.192e3", 8192),
        ("1e6", 1_000_000),
        ("1E+6", 1_000_000),
        ("4k", 4096),
        ("4K", 4096),
        ("4 k", 4096),
        ("4Ki", 4096),
        ("128k tokens", 131_072),
        ("0.5k", 512),
        ("1M", 1_048_576),
        ("8192 tokens", 8192),
        ("1 token", 1),
    ];
    for (typed, expected) in lengths {
        assert_eq!(parse(FieldId::SeqLength, typed), Ok(Value::Integer(expected)), "{typed}");
    }
    let counts = [
        ("70B", 70_000_000_000),
        ("70.6b", 70_600_000_000),
        ("70,6b", 70_600_000_000),
        ("70.6 bn", 70_600_000_000),
        ("1.5T tokens", 1_500_000_000_000),
        ("15 trillion", 15_000_000_000_000),
        ("300 billion tokens", 300_000_000_000),
        ("1,000,000", 1_000_000),
        ("4k", 4000),
        ("4Ki", 4096),
        ("9007199254740993", 9_007_199_254_740_993),
    ];
    for (typed, expected) in counts {
        assert_eq!(parse(FieldId::TrainingTokens, typed), Ok(Value::Integer(expected)), "{typed}");
    }
    assert_eq!(parse(FieldId::Gpus, "16 GPUs"), Ok(Value::Integer(16)));
    assert_eq!(parse(FieldId::Gpus, "1 GPU"), Ok(Value::Integer(1)));
    assert_eq!(parse(FieldId::VocabSize, "128k"), Ok(Value::Integer(128_000)));
    assert_eq!(parse(FieldId::MicroBatchSize, ""), Ok(Value::Empty));
    assert_eq!(parse(FieldId::MicroBatchSize, " empty "), Ok(Value::Empty));
}

#[test]
#[expect(clippy::float_cmp, reason = "reading must be exact")]
fn decimals_are_read_with_related_units() {
    let decimal = |id, typed| match parse(id, typed) {
        Ok(Value::Decimal(number)) => number,
        other => panic!("{typed}: {other:?}"),
    };
    assert_eq!(decimal(FieldId::AcceleratorMemory, "79.65"), 79.65);
    assert_eq!(decimal(FieldId::AcceleratorMemory, "79,65 GiB"), 79.65);
    assert_eq!(decimal(FieldId::AcceleratorMemory, "24g"), 24.0);
    assert_eq!(decimal(FieldId::AcceleratorMemory, "81559 MiB"), 81559.0 / 1024.0);
    assert!((decimal(FieldId::AcceleratorMemory, "80 GB") - 74.505_806).abs() < 1e-6);
    assert_eq!(decimal(FieldId::MemoryBandwidth, "3.35 TB/s"), 3350.0);
    assert_eq!(decimal(FieldId::PeakRate, "989.4 TFLOPS"), 989.4);
    assert_eq!(decimal(FieldId::Mfu, "40 %"), 40.0);
    assert_eq!(decimal(FieldId::Mfu, "37.5 per cent"), 37.5);
    assert_eq!(decimal(FieldId::PricePerHour, "$2.49"), 2.49);
    assert_eq!(decimal(FieldId::PricePerHour, "1,234.5"), 1234.5);
    assert_eq!(decimal(FieldId::PricePerHour, ".5"), 0.5);
    assert_eq!(decimal(FieldId::PricePerHour, "0"), 0.0);
    assert_eq!(parse(FieldId::PeakRate, ""), Ok(Value::Empty));
}

#[test]
fn bad_numbers_get_one_sentence() {
    let range = "a whole number from 1 to 100\u{202f}000\u{202f}000 tokens";
    let cases = [
        ("", format!("Sequence length is empty: enter {range}.")),
        ("abc", format!("“abc” does not read as a number: Sequence length takes {range}.")),
        ("NaN", format!("“NaN” does not read as a number: Sequence length takes {range}.")),
        ("inf", format!("“inf” does not read as a number: Sequence length takes {range}.")),
        (
            "8192 apples",
            format!("“8192 apples” does not read as a number: Sequence length takes {range}."),
        ),
        (
            "1,23,456",
            format!("“1,23,456” does not read as a number: Sequence length takes {range}."),
        ),
        ("1.2.3", format!("“1.2.3” does not read as a number: Sequence length takes {range}.")),
        (
            "1e999999999999",
            format!("“1e999999999999” does not read as a number: Sequence length takes {range}."),
        ),
        ("-1", format!("Sequence length takes {range}; “-1” is too small.")),
        ("−5", format!("Sequence length takes {range}; “−5” is too small.")),
        ("0", format!("Sequence length takes {range}; “0” is too small.")),
        ("1.5", format!("Sequence length takes {range}; “1.5” is not whole.")),
        ("1e12", format!("Sequence length takes {range}; “1e12” is too large.")),
        ("1e300", format!("Sequence length takes {range}; “1e300” is too large.")),
        (
            &"9".repeat(60),
            format!("Sequence length takes {range}; “{}…” is too large.", "9".repeat(40)),
        ),
        ("1e-300", format!("Sequence length takes {range}; “1e-300” is not whole.")),
        (
            "\u{202e}\u{7}x",
            format!("“x” does not read as a number: Sequence length takes {range}."),
        ),
    ];
    for (typed, expected) in cases {
        assert_eq!(parse(FieldId::SeqLength, typed), Err(expected), "{typed}");
    }
}

#[test]
fn bad_values_of_each_kind_get_one_sentence() {
    let exact = [
        (
            FieldId::NumHiddenLayers,
            "0",
            "Layers takes a whole number from 1 to 10\u{202f}000; “0” is too small.",
        ),
        (
            FieldId::AcceleratorMemory,
            "0",
            "Memory per GPU takes a number from 0.1 to 100\u{202f}000 GiB; “0” is too small.",
        ),
        (
            FieldId::Mfu,
            "101",
            "Utilisation (MFU) takes a number from 0.1 to 100\u{a0}%; “101” is too large.",
        ),
        (
            FieldId::MicroBatchSize,
            "0",
            "Micro-batch takes a whole number from 1 to 10\u{202f}000\u{202f}000 sequences, or \
             nothing; “0” is too small.",
        ),
        (
            FieldId::Recompute,
            "some",
            "Recompute activations takes one of none, selective, full, not “some”.",
        ),
        (FieldId::SequenceParallel, "maybe", "Sequence parallel takes yes or no, not “maybe”."),
        (
            FieldId::Model,
            "gpt-9",
            "“gpt-9” is not in the list of models: choose one, or start from any and change its \
             architecture.",
        ),
        (
            FieldId::Accelerator,
            "k80",
            "“k80” is not in the list of GPUs: choose one, or start from any and change its \
             memory.",
        ),
    ];
    for (id, typed, expected) in exact {
        assert_eq!(parse(id, typed), Err(expected.to_owned()));
    }
    let long = "x".repeat(61);
    assert_eq!(
        parse(FieldId::Name, &long),
        Err("Name can have at most 60 characters; this one has 61.".to_owned())
    );
}

#[test]
fn no_typed_text_panics_and_every_accepted_number_is_in_range() {
    let pieces = [
        "1", "9", "0", ".", ",", " ", "e", "E", "-", "+", "k", "Gi", "T", "%", "\u{202f}", "é",
        "’", "_", "NaN", "e9",
    ];
    let mut state = 7_u64;
    for _ in 0..20_000 {
        let mut typed = String::new();
        for _ in 0..8 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let index = usize::try_from(state >> 33).unwrap() % pieces.len();
            typed.push_str(pieces[index]);
        }
        for id in [FieldId::SeqLength, FieldId::AcceleratorMemory, FieldId::MicroBatchSize] {
            match (field(id).kind, parse(id, &typed)) {
                (FieldKind::Integer { min, max, .. }, Ok(Value::Integer(number))) => {
                    assert!((min..=max).contains(&number));
                }
                (FieldKind::Decimal { min, max, .. }, Ok(Value::Decimal(number))) => {
                    assert!((min..=max).contains(&number));
                }
                (_, Err(sentence)) => assert!(sentence.ends_with('.')),
                (kind, value) => panic!("{typed}: {kind:?} {value:?}"),
            }
        }
    }
}

#[test]
fn choices_flags_and_names_are_read_leniently() {
    assert_eq!(parse(FieldId::Optimizer, " AdamW "), Ok(Value::Choice("adamw")));
    assert_eq!(parse(FieldId::Sharding, "zero-3"), Ok(Value::Choice("3")));
    assert_eq!(parse(FieldId::SequenceParallel, "Yes"), Ok(Value::Flag(true)));
    assert_eq!(parse(FieldId::Model, "Llama 3 70B"), Ok(Value::Text("llama3-70b".to_owned())));
    assert_eq!(
        parse(FieldId::Model, "meta-llama/Meta-Llama-3-70B"),
        Ok(Value::Text("llama3-70b".to_owned()))
    );
    assert_eq!(parse(FieldId::Name, "  a\u{202e}b\u{0}\n c  "), Ok(Value::Text("ab c".to_owned())));
    assert_eq!(show(FieldId::Sharding, &Value::Choice("3")), "ZeRO-3");
    let accelerator = Scenario::default().accelerator().unwrap();
    assert_eq!(
        show(FieldId::Accelerator, &Value::Text(accelerator.id.to_owned())),
        accelerator.name
    );
}

#[test]
fn the_default_scenario_is_the_documented_one() {
    let job = Scenario::default().resolve().unwrap();
    let Run::Training(run) = job.run() else { panic!("not training") };
    assert_eq!((run.seq_length, run.global_batch_size, run.micro_batch_size), (8192, 128, Some(1)));
    assert_eq!((run.precision, run.optimizer), (TrainingPrecision::Bf16Mixed, Optimizer::DEFAULT));
    assert_eq!(
        (run.stack, run.attention, run.recompute),
        (Stack::DEFAULT, AttentionKernel::Flash, Recompute::Full)
    );
    assert!((run.mfu - 0.4).abs() < 1e-12 && (run.training_tokens - 1e12).abs() < 1.0);
    assert_eq!(
        (job.layout().world_size(), job.layout().sharding),
        (8, DataSharding::named("fsdp").unwrap())
    );
    assert_eq!(
        job.cluster().accelerator.memory,
        Bytes(81_559 << 20),
        "what the driver reports, to the byte"
    );
    assert!((job.cluster().accelerator.price_per_hour - 2.0).abs() < 1e-12);
    assert_eq!(job.model().num_key_value_heads, 8);
}

#[test]
fn a_serving_scenario_shares_gpus_and_ignores_training() {
    let mut scenario = Scenario::default();
    scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
    assert_eq!(scenario.get(FieldId::Gpus), Value::Integer(1));
    scenario.set(FieldId::TensorParallel, Value::Integer(4));
    // The number of GPUs follows from the parallel degrees until it is set.
    assert_eq!(scenario.get(FieldId::Gpus), Value::Integer(4));
    scenario.set(FieldId::Gpus, Value::Integer(8));
    scenario.set(FieldId::WeightDType, Value::choice(WeightFormat::Int4));
    // A training length of 0 is out of range, but serving does not use it.
    scenario.set(FieldId::SeqLength, Value::Integer(0));
    let job = scenario.resolve().unwrap();
    let Run::Serving(run) = job.run() else { panic!("not serving") };
    assert_eq!(
        (run.context_length, run.concurrent_sequences, run.prefill_chunk_size),
        (8192, 16, 2048)
    );
    assert_eq!(
        (run.quantization, run.kv_cache_dtype, run.activation_dtype),
        (WeightFormat::Int4, CacheFormat::Bf16, DType::Bf16)
    );
    assert_eq!(
        (job.layout().t(), job.layout().d(), job.layout().sharding),
        (4, 2, DataSharding::NOTHING)
    );
}

#[test]
fn a_custom_gpu_is_first_class() {
    let mut scenario = Scenario::default();
    scenario.set(FieldId::AcceleratorMemory, Value::Decimal(24.0));
    scenario.set(FieldId::PeakRate, Value::Decimal(165.2));
    scenario.set(FieldId::MemoryBandwidth, Value::Empty);
    scenario.set(FieldId::AcceleratorsPerNode, Value::Integer(2));
    assert!(scenario.is_custom_accelerator() && !scenario.is_custom_model());
    let device = scenario.resolve().unwrap().cluster().accelerator.clone();
    assert_eq!(device.memory, Bytes(24 << 30));
    assert_eq!(
        (device.peak.bf16, device.peak.fp16, device.peak.fp8),
        (Some(165.2), Some(165.2), None)
    );
    assert_eq!((device.memory_bandwidth, device.accelerators_per_node), (None, 2));
    scenario.set_accelerator("a100-40");
    assert!(!scenario.is_custom_accelerator());
}

#[test]
fn all_problems_come_at_once_with_a_way_out() {
    let mut scenario = Scenario::default();
    scenario.set(FieldId::HeadDim, Value::Integer(120));
    scenario.set(FieldId::NumHiddenLayers, Value::Integer(0));
    scenario.set(FieldId::NumAttentionHeads, Value::Integer(30));
    scenario.set(FieldId::Gpus, Value::Integer(10));
    scenario.set(FieldId::TensorParallel, Value::Integer(4));
    scenario.set(FieldId::Mfu, Value::Decimal(1000.0));
    let errors = scenario.resolve().unwrap_err();
    let texts: Vec<_> = errors.iter().map(|error| (error.field, error.message.as_str())).collect();
    assert_eq!(
        texts,
        [
            (
                FieldId::NumHiddenLayers,
                "Layers takes a whole number from 1 to 10\u{202f}000; “0” is too small."
            ),
            (
                FieldId::Mfu,
                "Utilisation (MFU) takes a number from 0.1 to 100\u{a0}%; “1000” is too large."
            ),
            (
                FieldId::NumKeyValueHeads,
                "30 attention heads do not split evenly over 8 key/value heads."
            ),
            (
                FieldId::Gpus,
                "4 tensor × 1 pipeline ranks need a multiple of 4 GPUs; 10 is none: 8 and 12 are \
                 the nearest."
            ),
        ]
    );
    let ways: Vec<_> = errors.iter().filter_map(|error| error.way_out.clone()).collect();
    assert_eq!(
        ways,
        [
            ("Use 32".to_owned(), Value::Integer(32)),
            ("Use 40".to_owned(), Value::Decimal(40.0)),
            ("Use 6 key/value heads".to_owned(), Value::Integer(6)),
            ("Use 12 GPUs".to_owned(), Value::Integer(12)),
        ]
    );
    for error in errors {
        scenario.set(error.field, error.way_out.expect("each of these has a way out").1);
    }
    assert!(scenario.resolve().is_ok(), "the ways out lead out");
}

#[test]
fn gpu_counts_that_do_not_divide_name_the_nearest_ones() {
    let mut scenario = Scenario::default();
    let mut message = |gpus, tensor, pipeline| {
        scenario.set(FieldId::Gpus, Value::Integer(gpus));
        scenario.set(FieldId::TensorParallel, Value::Integer(tensor));
        scenario.set(FieldId::PipelineParallel, Value::Integer(pipeline));
        scenario.resolve().map_err(|errors| errors[0].message.clone())
    };
    assert_eq!(
        message(5, 8, 2).unwrap_err(),
        "8 tensor × 2 pipeline ranks need a multiple of 16 GPUs; 5 is too few: 16 is the nearest."
    );
    assert_eq!(
        message(999_999, 1000, 1).unwrap_err(),
        "1000 tensor × 1 pipeline ranks need a multiple of 1000 GPUs; 999\u{202f}999 is none: \
         999\u{202f}000 and 1\u{202f}000\u{202f}000 are the nearest."
    );
    assert_eq!(
        message(8, 1_000_000, 10_000).unwrap_err(),
        "1\u{202f}000\u{202f}000 tensor × 10\u{202f}000 pipeline ranks need \
         10\u{202f}000\u{202f}000\u{202f}000 GPUs, more than the 1\u{202f}000\u{202f}000 this page \
         counts."
    );
    // Rules that only forbid running are left to the estimate, such as 30 GPUs that do not divide
    // 32 heads.
    assert!(message(30, 30, 1).is_ok());
}

#[test]
fn a_multi_head_model_stays_one_and_a_position_table_gets_rows() {
    let mut scenario = Scenario::default();
    scenario.set_model("llama2-7b");
    scenario.change(FieldId::Sizes, Value::Flag(true));
    scenario.set(FieldId::NumAttentionHeads, Value::Integer(40));
    scenario.set(FieldId::PositionEmbedding, Value::Choice("learned"));
    scenario.set(FieldId::PositionRows, Value::Integer(0));
    let errors = scenario.resolve().unwrap_err();
    assert_eq!(errors[0].way_out, Some(("Use 40 key/value heads".to_owned(), Value::Integer(40))));
    assert_eq!(errors[1].message, "A learned position table needs at least one row.");
    assert_eq!(errors[1].way_out, Some(("Use 4096 rows".to_owned(), Value::Integer(4096))));
}

#[test]
fn another_model_drops_changes_to_the_architecture_and_nothing_else() {
    let mut scenario = Scenario::default();
    scenario.set(FieldId::HiddenSize, Value::Integer(5120));
    scenario.set(FieldId::Gpus, Value::Integer(64));
    assert!(scenario.is_custom_model());
    assert!(!scenario.set_model("no-such-model"));
    assert!(scenario.is_custom_model(), "an unknown model changes nothing");
    assert!(scenario.set_model("llama3-70b"));
    assert!(!scenario.is_custom_model());
    assert_eq!(scenario.set_fields().collect::<Vec<_>>(), [FieldId::Model, FieldId::Gpus]);
    scenario.clear(FieldId::Model);
    scenario.clear(FieldId::Gpus);
    assert_eq!(scenario, Scenario::default());
}

/// A price that nobody typed is the listed one of the accelerator that is chosen; links state it,
/// and what an older link does not state stays the field's default.
#[test]
fn a_price_follows_the_accelerator_until_one_is_typed() {
    let price = |scenario: &Scenario| scenario.get(FieldId::PricePerHour);
    let listed = |id: &str| {
        let row = headroom::catalog::accelerator(id).expect(id);
        row.list_price().map(|price| Value::Decimal(price.us_dollars))
    };
    let mut scenario = Scenario::default();
    assert_eq!(price(&scenario), Value::Decimal(2.0));
    for id in ["b200", "rtx4090", "h100-80"] {
        scenario.set(FieldId::Accelerator, Value::Text(id.to_owned()));
        assert_eq!(Some(price(&scenario)), listed(id), "{id}");
        let link = codec::encode(&scenario);
        assert!(link.contains("price="), "{link}");
        assert_eq!(codec::decode(&link).scenario, scenario);
    }
    assert_eq!(listed("m3-ultra-256"), None);
    scenario.set_accelerator("m3-ultra-256");
    assert!(!scenario.is_set(FieldId::PricePerHour));
    scenario.set(FieldId::PricePerHour, Value::Decimal(0.25));
    scenario.set_accelerator("b200");
    assert_eq!(price(&scenario), Value::Decimal(0.25));
    let older = codec::decode("v2&gpu=b200").scenario;
    assert_eq!(price(&older), Value::Decimal(2.0));
}

#[test]
fn values_of_the_wrong_kind_are_ignored_and_equal_values_not_kept() {
    let mut scenario = Scenario::default();
    scenario.set(FieldId::Gpus, Value::Text("many".to_owned()));
    scenario.set(FieldId::Gpus, Value::Empty);
    scenario.set(FieldId::Mfu, Value::Decimal(f64::NAN));
    scenario.set(FieldId::Optimizer, Value::Choice("magic"));
    scenario.set(FieldId::Gpus, Value::Integer(8));
    scenario.set(FieldId::AcceleratorMemory, Value::Decimal(79.6475));
    assert_eq!(scenario, Scenario::default());
    scenario.set_name("  \u{202e}ZeRO \u{7}  test ");
    assert_eq!(scenario.name(), "ZeRO test");
    scenario.set_name(&"é".repeat(100));
    assert_eq!(scenario.name().chars().count(), 60);
}

#[test]
fn an_imported_model_is_recognised() {
    let imported = headroom::import::config_json(
        r#"{ "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
             "num_hidden_layers": 80, "num_key_value_heads": 8, "max_position_embeddings": 8192, "vocab_size": 32000 }"#,
    )
    .expect("a known kind");
    let mut scenario = Scenario::default();
    scenario.set(FieldId::HiddenSize, Value::Integer(99));
    scenario.apply_imported(&imported);
    assert_eq!(scenario.model_config(), imported.config);
    assert!(
        scenario.reads_keys()
            && scenario.asks(FieldId::MlpBias)
            && !scenario.asks(FieldId::NormsPerBlock)
    );
    assert!(!scenario.is_set(FieldId::VocabSize), "the library's default");
    // The width of a head that the file does not state follows from the stated hidden size.
    scenario.set(FieldId::HiddenSize, Value::Integer(4096));
    assert_eq!(
        (scenario.get(FieldId::HeadDim), scenario.model_config().head_dim),
        (Value::Integer(64), 64)
    );
}

#[test]
fn every_imported_architecture_survives_in_a_link() {
    let further = include_str!("../../data/truth/parameters_further.jsonl");
    for line in
        include_str!("../../data/truth/parameters_families.jsonl").lines().chain(further.lines())
    {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let imported =
            headroom::import::config_json(&row["config"].to_string()).expect("a known kind");
        let config = imported.config.clone();
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        assert_eq!(scenario.model_config(), config, "{line}");
        let link = headroom::scenario::codec::encode(&scenario);
        let read = headroom::scenario::codec::decode(&link);
        assert!(read.notices.is_empty(), "{link}: {:?}", read.notices);
        assert_eq!(read.scenario.model_config(), config, "{link}");
        assert!(link.len() < 500, "{link}");
    }
}

#[test]
fn differences_name_fields_that_count() {
    let first = Scenario::default();
    let mut second = first.clone();
    second.set(FieldId::Sharding, Value::Choice("2"));
    second.set(FieldId::ContextLength, Value::Integer(4096));
    assert_eq!(
        first.differences(&second),
        [FieldId::Sharding],
        "the context length does not count in training"
    );
    assert!(fields().iter().any(|field| field.applies == Applies::Serve));
}

/// Resolving a scenario does not check the values of catalog rows again, so this test checks that
/// all are in range.
#[test]
fn rows_of_the_catalog_give_values_in_range() {
    let (mut looked_at, models) = (0, headroom::catalog::models());
    for row in models {
        let mut scenario = Scenario::default();
        scenario.set_model(row.id);
        for field in fields().iter().filter(|field| field.default.is_preset()) {
            let fine = match (field.kind, scenario.get(field.id)) {
                (FieldKind::Integer { min, max, .. }, Value::Integer(number)) => {
                    (min..=max).contains(&number)
                }
                (FieldKind::Choice(options), Value::Choice(word)) => {
                    options.iter().any(|option| option.value == word)
                }
                _ => continue,
            };
            assert!(fine, "{} of {}", field.name, row.id);
            looked_at += 1;
        }
    }
    let sizes = fields().iter().filter(|field| {
        field.group == Group::Architecture && matches!(field.kind, FieldKind::Integer { .. })
    });
    assert!(looked_at >= sizes.count() * models.len(), "{looked_at}");
}

/// Megatron-LM accumulates gradients in fp32 by default; a format that the user chose stays.
#[test]
fn gradients_take_the_usual_format_of_the_stack_that_is_chosen() {
    let mut scenario = Scenario::default();
    let choose = |scenario: &mut Scenario, id, word| scenario.change(id, Value::Choice(word));
    choose(&mut scenario, FieldId::Stack, "megatron");
    assert_eq!(scenario.get(FieldId::Gradients), Value::Choice("fp32"));
    choose(&mut scenario, FieldId::Stack, "eager");
    assert!(!scenario.is_set(FieldId::Gradients));
    choose(&mut scenario, FieldId::Gradients, "fp32-copy");
    choose(&mut scenario, FieldId::Stack, "megatron");
    assert_eq!(scenario.get(FieldId::Gradients), Value::Choice("fp32-copy"));
    // A link's defaults do not change with its stack.
    assert_eq!(
        headroom::scenario::codec::decode("v1&ker=megatron").scenario.get(FieldId::Gradients),
        Value::Choice("as-weights")
    );
}
