//! The short table for the README and the page: one line per stack or kind of figure, from whatever
//! files were given.

use serde_json::{Value, json};

use super::field;
use super::naming::Named;
use super::report::{File, percent};
use super::row::{Comparison, Quantity, Row};
use super::speed::{COMPLETE, LACKING, SELENE};
use super::statistics::{Spread, Summary, worst_of};
use headroom::config::GENERIC;
use headroom::units::{Bytes, grouped, to_f64};

/// One line of the table and the rows behind it.
struct Entry {
    what: &'static str,
    against: &'static str,
    belongs: fn(&Row) -> bool,
}

/// True if the row is in the group `name` with that value.
fn is(row: &Row, name: &str, value: &str) -> bool {
    row.groups.iter().any(|(group, found)| *group == name && found == value)
}

/// True if it is a row of that framework on the pretended GPU.
fn is_under(row: &Row, framework: &str) -> bool {
    is(row, "framework", framework) && is(row, "kind", "pretend_framework")
}

/// The reference that rows of the pretended GPU are compared with.
const ALLOCATOR: &str = "allocated, by PyTorch 2.15's CUDA allocator on a pretended H100";

/// The lines, most asked for first.
const ENTRIES: [Entry; 30] = [
    Entry {
        what: "Hugging Face modules, one GPU",
        against: "PyTorch 2.15's memory tracker on transformers 5.23",
        belongs: |row| is(row, "kind", "single") && is(row, "kernels", "eager") && !is_generic(row),
    },
    Entry {
        what: "Generic decoders, marked assumed, one GPU",
        against: "PyTorch 2.15's memory tracker on transformers 5.23",
        belongs: |row| is(row, "kind", "single") && is(row, "kernels", "eager") && is_generic(row),
    },
    Entry {
        what: "Fused kernels, one GPU",
        against: "PyTorch 2.15's memory tracker",
        belongs: |row| is(row, "kind", "single") && is(row, "kernels", "fused"),
    },
    Entry {
        what: "FSDP2, 2 to 256 ranks",
        against: "PyTorch 2.15's memory tracker",
        belongs: |row| is(row, "kind", "fsdp"),
    },
    Entry {
        what: "Tensor parallel, 2 to 8 ranks",
        against: "PyTorch 2.15's memory tracker",
        belongs: |row| is(row, "kind", "tp"),
    },
    Entry {
        what: "LoRA, DoRA, learned prompts and prefixes, frozen layers, one GPU",
        against: "PyTorch 2.15's memory tracker with peft 0.21",
        belongs: |row| {
            ["lora", "dora", "prompt", "prefix", "frozen"].iter().any(|kind| is(row, "kind", kind))
        },
    },
    Entry {
        what: "QLoRA, one GPU",
        against: "the same, with weights emulated after bitsandbytes 0.50",
        belongs: |row| is(row, "kind", "qlora"),
    },
    Entry {
        what: "PyTorch alone, one GPU",
        against: ALLOCATOR,
        belongs: |row| is(row, "kind", "pretend_cuda"),
    },
    Entry {
        what: "PyTorch, Trainer and peft on a real GPU",
        against: "allocated, by PyTorch 2.11 on an H100 80GB HBM3",
        belongs: |row| is(row, "device", "real H100"),
    },
    Entry { what: "DDP, one rank of 8", against: ALLOCATOR, belongs: |row| is_under(row, "DDP") },
    Entry {
        what: "FSDP1, one rank of 8",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "FSDP1"),
    },
    Entry {
        what: "FSDP2, one rank of 8 to 256",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "FSDP2"),
    },
    Entry {
        what: "DeepSpeed 0.19, one rank of 8 or 16",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "DeepSpeed"),
    },
    Entry {
        what: "Megatron-Core 0.16, one rank of 4 to 16",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "Megatron-Core"),
    },
    Entry {
        what: "Trainer, TRL and peft, 1 to 8 GPUs",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "Trainer, TRL, peft"),
    },
    Entry {
        what: "torchtitan 0.3, one rank of 8 to 256",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "torchtitan 0.3"),
    },
    Entry {
        what: "torchtitan 0.1, one rank of 8 to 128",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "torchtitan 0.1"),
    },
    Entry {
        what: "torchtune 0.6, one GPU",
        against: ALLOCATOR,
        belongs: |row| is_under(row, "torchtune"),
    },
    Entry {
        what: "What people published, where the row states all that decides it",
        against: "reports on ms-swift, axolotl, torchtitan and DeepSpeed",
        belongs: |row| is(row, "states", field::COMPLETE),
    },
    Entry {
        what: "Megatron-LM on B200",
        against: "peaks on 8 GPUs, from SimuMax's release notes",
        belongs: |row| row.id.starts_with("b200-"),
    },
    Entry {
        what: "Megatron-LM's functional tests",
        against: "what its continuous integration logs on A100, H100 and GB200",
        belongs: |row| is(row, "family", "megatron_golden"),
    },
    Entry {
        what: "Megatron-LM on Selene",
        against: "Korthikanti et al. 2022, A100",
        belongs: |row| row.id.starts_with("selene-"),
    },
    Entry {
        what: "Parameter counts",
        against: "published counts and transformers 5.23",
        belongs: |row| has(row, "parameters") && !has(row, "forward FLOPs") && !is_memory(row),
    },
    Entry {
        what: "FLOPs",
        against: "PyTorch's FLOP counter, forward and backward",
        belongs: |row| has(row, "forward FLOPs"),
    },
    Entry {
        what: "Key/value cache per token",
        against: "published figures and logs of serving engines",
        belongs: |row| {
            has(row, "KV bytes per token")
                && !has(row, "parameters")
                && !is(row, "kind", "vllm_startup")
        },
    },
    Entry {
        what: "Quantised weights",
        against: "sizes and bits per weight that llama.cpp prints, published files",
        belongs: |row| has(row, "weights") && !is(row, "kind", "vllm_startup"),
    },
    Entry {
        what: "Start of a server",
        against: "what vLLM prints",
        belongs: |row| is(row, "kind", "vllm_startup") && row.outcome.is_ok(),
    },
    Entry {
        what: "Time of GPT on Selene",
        against: "Narayanan et al. 2021 and Korthikanti et al. 2022, A100",
        belongs: |row| is(row, "time", SELENE) && !has(row, "activations"),
    },
    Entry {
        what: "Time where the row states all that decides it",
        against: "llm-foundry, Megatron-Bridge's dense models, MT-NLG, BLOOM",
        belongs: |row| is(row, "time", COMPLETE) && !has(row, "peak"),
    },
    Entry {
        what: "Time of mixtures of experts, software not stated",
        against: "Megatron-Bridge",
        belongs: |row| is(row, "time", LACKING),
    },
];

/// True if the row's model has no modules of its own.
fn is_generic(row: &Row) -> bool {
    row.groups.iter().any(|(group, modules)| *group == "modules" && modules == GENERIC.model_type())
}

fn has(row: &Row, quantity: &str) -> bool {
    row.outcome.iter().flatten().any(|found| found.quantity.name() == quantity)
}

fn is_memory(row: &Row) -> bool {
    has(row, "activations") || has(row, "peak")
}

/// A share in per cent with one decimal: times are known no better.
fn tenths(error: f64) -> String {
    format!("{:.1} %", 100.0 * error)
}

/// One line with rows.
struct Line {
    what: &'static str,
    against: &'static str,
    summary: Summary,
}

impl Line {
    /// Model states and allocated memory stand where the peak would: no row states two of them.
    fn peak(&self) -> Option<Spread> {
        self.summary.peak.or(self.summary.allocated).or(self.summary.model_states)
    }

    /// Counts of the rows that are met to the unit, in words.
    fn exact(&self) -> String {
        let all = &self.summary;
        let exact = [
            ("parameters", all.parameters),
            ("FLOPs", all.flops),
            ("cache", all.kv_bytes_per_token),
            ("blocks and concurrency", all.blocks),
        ];
        let exact: Vec<String> = exact
            .iter()
            .filter(|(_, exact)| exact.rows > 0)
            .map(|(name, exact)| {
                format!("{name} {} of {}", grouped(to_f64_of(exact.exact), 0), exact.rows)
            })
            .collect();
        let time = all.step_time.map(|found| {
            format!(
                "step time of {}: mean {}, largest {}",
                found.rows,
                tenths(found.mean),
                tenths(found.max)
            )
        });
        let stored = [
            ("reserved", all.reserved),
            ("weights", all.weights),
            ("room for the cache", all.cache_room),
        ]
        .into_iter()
        .filter_map(|(name, found)| {
            let found = found?;
            let (median, largest) = (percent(found.median, false), percent(found.max, false));
            Some(format!("{name} of {}: median {median}, largest {largest}", found.rows))
        });
        let parts: Vec<String> = exact.into_iter().chain(stored).chain(time).collect();
        if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
    }

    /// The line as the README has it: what, rows, activations, peak, exact.
    fn texts(&self) -> [String; 5] {
        let all = &self.summary;
        let spread = |spread: Option<Spread>| {
            let text = |spread: Spread| {
                format!("{}, {}", percent(spread.median, false), percent(spread.max, false))
            };
            spread.map_or_else(|| "–".to_owned(), text)
        };
        let rows = match all.unsupported {
            0 => all.rows.to_string(),
            unsupported => format!("{} ({unsupported} not expressed)", all.rows),
        };
        [
            format!("{} ({})", self.what, self.against),
            rows,
            spread(all.activations),
            spread(self.peak()),
            self.exact(),
        ]
    }

    /// The line as the page has it.
    fn json(&self) -> Value {
        let spread = |spread: Option<Spread>| {
            spread
                .map(|found| {
                    [found.median, found.p90, found.max].map(|error| percent(error, false))
                })
                .unwrap_or_default()
        };
        json!({
            "what": self.what, "against": self.against, "rows": self.summary.rows, "unsupported": self.summary.unsupported,
            "activations": spread(self.summary.activations), "peak": spread(self.peak()), "exact": self.exact(),
        })
    }
}

/// The lines that have rows, in their order.
fn lines(files: &[File]) -> impl Iterator<Item = Line> {
    ENTRIES.iter().filter_map(|entry| {
        let summary = Summary::of(
            files.iter().flat_map(|file| &file.rows).filter(|row| (entry.belongs)(row)),
        );
        (summary.rows > 0).then_some(Line { what: entry.what, against: entry.against, summary })
    })
}

fn to_f64_of(count: usize) -> f64 {
    to_f64(u64::try_from(count).unwrap_or(u64::MAX))
}

/// The table in Markdown.
pub fn markdown(files: &[File]) -> String {
    let head = "| what (against what) | rows | saved activations: median, largest error | peak \
        (Selene: model states): median, largest error | met to the unit, time \
        |\n|---|---|---|---|---|\n";
    lines(files)
        .fold(head.to_owned(), |table, line| table + "| " + &line.texts().join(" | ") + " |\n")
}

/// Rows of each kind that are furthest off, over all files.
const WORST: usize = 5;

/// Returns true if a figure is of a kind.
type Belongs = fn(Quantity) -> bool;

/// A kind of error with the figures that belong to it. Times are off by more than memory: in one
/// list they would hide it.
const KINDS: [(&str, Belongs); 3] = [
    ("Time", |quantity| quantity == Quantity::StepTime),
    ("Memory and counts", |quantity| {
        !matches!(
            quantity,
            Quantity::StepTime
                | Quantity::ServingSpeed
                | Quantity::Allocated
                | Quantity::Reserved
                | Quantity::OutOfMemory
        )
    }),
    ("Memory under frameworks", |quantity| {
        matches!(quantity, Quantity::Allocated | Quantity::Reserved)
    }),
];

/// The lines and the worst rows as JSON, for the page.
pub fn page(files: &[File]) -> Value {
    let lines: Vec<Value> = lines(files).map(|line| line.json()).collect();
    let worst: Vec<Value> = KINDS
        .iter()
        .map(|(kind, belongs)| json!({ "kind": kind, "rows": furthest(files, *belongs) }))
        .collect();
    json!({ "lines": lines, "worst": worst })
}

/// The rows whose figures of that kind are furthest off, each with the worst of these.
fn furthest(files: &[File], belongs: Belongs) -> Vec<Value> {
    let named = files.iter().flat_map(|file| file.rows.iter().zip(&file.names));
    let mut all: Vec<_> = named
        .filter_map(|(row, name)| Some((name, worst_of(row, belongs)?)))
        .filter(|(_, found)| found.error() != 0.0)
        .collect();
    all.sort_by(|(_, a), (_, b)| b.error().abs().total_cmp(&a.error().abs()));
    all.truncate(WORST);
    all.into_iter().map(|(name, found)| off(name, found)).collect()
}

fn off(name: &Named, found: Comparison) -> Value {
    let amount = |number| amount(found.quantity, number);
    let error = if found.quantity == Quantity::StepTime {
        // Times are known no better.
        format!("{:+.1} %", 100.0 * found.error())
    } else {
        percent(found.error(), true)
    };
    json!({
        "row": name.words, "source": name.source, "address": name.address, "figure": found.quantity.name(),
        "ours": amount(found.ours), "measured": amount(found.measured), "error": error,
    })
}

/// A figure with its unit.
fn amount(quantity: Quantity, number: u64) -> String {
    match quantity {
        Quantity::StepTime => format!("{:.3} s", to_f64(number) / 1e9),
        Quantity::ServingSpeed => format!("{:.2}", to_f64(number) / 1e6),
        Quantity::Activations
        | Quantity::Peak
        | Quantity::Allocated
        | Quantity::Reserved
        | Quantity::ModelStates
        | Quantity::KvBytesPerToken
        | Quantity::Weights
        | Quantity::CacheRoom => format!("{:.3} GiB", to_f64(number) / to_f64(Bytes::GIB)),
        Quantity::OutOfMemory => {
            if number > 0 { "ran out of memory" } else { "had room" }.to_owned()
        }
        Quantity::Concurrency => format!("{:.2}", to_f64(number) / 100.0),
        Quantity::Parameters
        | Quantity::Trainable
        | Quantity::ForwardFlops
        | Quantity::BackwardFlops
        | Quantity::Blocks => grouped(to_f64(number), 0),
    }
}
