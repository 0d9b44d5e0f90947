//! Reading real out-of-memory messages and the wordings of the programs' sources, the causes found
//! in them, and properties that hold for any text.
//!
//! A file of `tests/data/oom` names its source, then the expected reading of each message, then the
//! text. `UPDATE_GOLDEN=1` rewrites the expected lines; review the difference.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_collect,
    reason = "a failed expectation is a failed test"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use headroom::import::oom::{
    Agreement, Cause, OomMessage, PrintedAmount, ReportingProgram, UnreadMessage, agreement, cause,
    read,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oom");

/// Each file's path, its head and its text.
fn files() -> Vec<(PathBuf, String, String)> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    paths.sort();
    let parted = |path: PathBuf| {
        let whole = std::fs::read_to_string(&path).unwrap();
        let (head, text) = whole.split_once("\n---\n").unwrap();
        (path, head.to_owned(), text.to_owned())
    };
    paths.into_iter().map(parted).collect()
}

/// One line with all values of a message and the cause that ended the run.
fn line(message: &OomMessage) -> String {
    let mut line = format!("{} {:?}", message.program.name(), message.about);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, "; {name} {value}").unwrap();
        }
    };
    add("rank", message.rank.map(|rank| rank.to_string()));
    add("on", message.device.platform.map(str::to_owned));
    add("device", message.device.index.map(|index| index.to_string()));
    let amounts = [
        ("tried", message.tried),
        ("total", message.total),
        ("free", message.free),
        ("in use", message.in_use),
        ("allowed", message.allowed),
        ("allocated", message.allocated),
        ("private pools", message.private_pools),
        ("reserved", message.reserved),
        ("unallocated", message.unallocated),
        ("other allocations", message.other_allocations),
        ("needed", message.needed),
        ("available", message.available),
        ("short by", message.short_by),
    ];
    for (name, amount) in amounts {
        add(name, amount.map(|amount: PrintedAmount| amount.to_string()));
    }
    for process in &message.processes {
        add("process", Some(format!("{} {}", process.pid, process.in_use)));
    }
    let numbers = [
        ("max seq len", message.max_seq_len),
        ("tokens tried", message.tokens_tried),
        ("tokens available", message.tokens_available),
        ("estimated max len", message.estimated_max_len),
        ("dummy requests", message.dummy_requests),
    ];
    for (name, number) in numbers {
        add(name, number.map(|number| number.to_string()));
    }
    add("fraction", message.fraction.map(|fraction| fraction.to_string()));
    write!(line, "\ncause: {}", cause(message)).unwrap();
    line
}

#[test]
fn every_message_is_read_as_expected() {
    let mut wrong = Vec::new();
    for (path, head, text) in files() {
        let source = head.lines().next().unwrap();
        assert!(source.starts_with("source: "), "{}", path.display());
        let found = match read(&text) {
            Ok(messages) => messages.iter().map(|message| format!("\n{}", line(message))).collect(),
            Err(unread) => format!("\nunread: {unread}"),
        };
        let expected = format!("{source}{found}");
        if expected == head {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, format!("{expected}\n---\n{text}")).unwrap();
        }
        wrong.push(format!("{}:\n{expected}\ninstead of\n{head}\n", path.display()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The message of a text that has exactly one.
fn only(text: &str) -> OomMessage {
    match <[OomMessage; 1]>::try_from(read(text).unwrap_or_default()) {
        Ok([message]) => message,
        Err(messages) => panic!("not one message: {messages:?}"),
    }
}

const FULL: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 \
    has a total capacity of 26.50 GiB of which 3.12 GiB is free. Process 77 has 1.50 GiB memory in \
    use. Including non-PyTorch memory, this process has 21.88 GiB memory in use. Of the allocated \
    memory 21.15 GiB is allocated by PyTorch, with 1.25 GiB allocated in private pools (e.g., CUDA \
    Graphs), and 330.25 MiB is reserved by PyTorch but unallocated.";

#[test]
fn ranks_are_kept_apart_although_their_lines_mix() {
    let text = "[rank0]: Currently allocated     : 6.89 GiB\n[rank1]: torch.OutOfMemoryError: CUDA \
        out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total\n[rank0]: \
        torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a \
        total\n[rank1]:  capacity of 20.00 GiB of which 1.00 GiB is free.\n[rank0]:  capacity of \
        10.00 GiB of which 0.50 GiB is free.\n[rank1]: torch.OutOfMemoryError: CUDA out of memory. \
        Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 20.00 GiB of which 1.00 GiB is \
        free.";
    let found = read(text).unwrap();
    let summary: Vec<_> =
        found.iter().map(|message| (message.rank, message.total.unwrap().to_string())).collect();
    assert_eq!(summary, [(Some(1), "20.00 GiB".to_owned()), (Some(0), "10.00 GiB".to_owned())]);
}

#[test]
fn colours_frames_quotes_and_comments_do_not_hide_a_message() {
    let plain = only(FULL);
    let coloured =
        FULL.replace("3.91 GiB", "\u{1b}[1;31m3.91 GiB\u{1b}[0m").replace("26.50", "[33m26.50");
    assert_eq!(only(&coloured), plain);
    let words: Vec<&str> = FULL.split(' ').collect();
    let lines: Vec<String> = words.chunks(6).map(|line| line.join(" ")).collect();
    for (before, after) in [
        ("│ ", " │"),
        ("> ", ""),
        ("# ", ""),
        ("2025-11-19T20:16:35.668907315Z ERROR ", ""),
        ("[rank0]: ", ""),
    ] {
        let framed = lines
            .iter()
            .map(|line| format!("{before}{line}{after}"))
            .collect::<Vec<_>>()
            .join("\n");
        let mut found = only(&framed);
        found.rank = None;
        assert_eq!(found, plain, "{framed}");
    }
    assert_eq!(only(&FULL.replace(' ', "\u{a0}")), plain);
    assert_eq!(only(&FULL.replace("GiB", "\u{fffd}GiB")), plain);
    assert_eq!(only(&FULL.replace(". ", ".\\n")), plain);
}

/// True if the text contains that amount; blanks are ignored.
fn is_printed(text: &str, amount: PrintedAmount) -> bool {
    let print = amount.to_string().replace(' ', "");
    text.replace(' ', "").contains(print.trim_end_matches("bytes"))
}

#[test]
fn a_broken_line_never_makes_another_amount() {
    let amounts = |message: &OomMessage| {
        [
            message.tried,
            message.total,
            message.free,
            message.in_use,
            message.allowed,
            message.allocated,
            message.private_pools,
            message.reserved,
            message.unallocated,
            message.other_allocations,
            message.needed,
            message.available,
            message.short_by,
        ]
    };
    for (path, _, text) in files() {
        let whole = text.replace('\n', " ");
        let Ok(expected) = read(&whole) else { continue };
        for width in 7..150 {
            let letters: Vec<char> = whole.chars().collect();
            let wrapped: String =
                letters.chunks(width).map(|line| line.iter().collect::<String>() + "\n").collect();
            let found = read(&wrapped).unwrap_or_default();
            for message in &found {
                for amount in amounts(message).into_iter().flatten() {
                    let is_known =
                        expected.iter().any(|known| amounts(known).contains(&Some(amount)));
                    // llama.cpp prints a size twice. Where a line break splits the exact one, the
                    // rounded one is read.
                    let is_known = is_known || is_printed(&whole, amount);
                    assert!(is_known, "{}: {amount} at width {width}\n{wrapped}", path.display());
                }
            }
        }
    }
}

#[test]
fn what_is_no_message_gets_a_sentence_with_a_way_out() {
    let huge = format!(
        "CUDA out of memory. Tried to allocate 1{} GiB. GPU 0 has a total capacity of 5.00 GiB",
        "0".repeat(30)
    );
    let shared = "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: \
        131072, Hardware limit: 101376.";
    let cases = [
        ("", UnreadMessage::Empty),
        (" \n\t", UnreadMessage::Empty),
        ("Loss is nan", UnreadMessage::NoMessage),
        ("except torch.cuda.OutOfMemoryError:\n    retry()", UnreadMessage::NoMessage),
        (
            "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.1474 -> 0.1845",
            UnreadMessage::NoMessage,
        ),
        (
            "tensorflow/core/common_runtime/bfc_allocator.cc:246] tried to allocate 0 bytes",
            UnreadMessage::NoMessage,
        ),
        (shared, UnreadMessage::SharedMemory),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", UnreadMessage::InsideLibrary),
        (&huge, UnreadMessage::TooLarge),
        (
            "DefaultCPUAllocator: you tried to allocate 99999999999999999999999 bytes",
            UnreadMessage::TooLarge,
        ),
    ];
    for (text, unread) in cases {
        assert_eq!(read(text), Err(unread), "{text}");
        assert!(unread.to_string().contains(": "), "{unread}");
    }
}

#[test]
fn a_message_without_numbers_counts_where_none_has_numbers() {
    let bare = only("RuntimeError: CUDA error: out of memory");
    assert!(bare.is_bare());
    let both = only(&format!("RuntimeError: CUDA error: out of memory\n{FULL}"));
    assert!(!both.is_bare());
}

/// Random numbers that repeat in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }
}

#[test]
fn no_text_makes_it_panic() {
    let all: Vec<char> =
        files().into_iter().flat_map(|(_, _, text)| text.chars().collect::<Vec<_>>()).collect();
    let mut numbers = Numbers(2026);
    for _ in 0..4_000 {
        let mut text = String::new();
        for _ in 0..=numbers.below(4) {
            let start = numbers.below(all.len());
            let end = (start + numbers.below(400)).min(all.len());
            text.extend(all.get(start..end).unwrap());
            text.extend("\n \u{1b}[\u{fffd}9(\u{65e5}".chars().nth(numbers.below(8)));
        }
        for message in read(&text).unwrap_or_default() {
            assert!(!line(&message).is_empty());
            if let Some(tried) = message.tried {
                assert!(
                    agreement(tried, tried.range().middle()).is_some()
                        || tried.range().middle() == 0,
                    "{tried}"
                );
            }
        }
    }
}

#[test]
fn a_megabyte_of_nonsense_is_read_in_linear_time() {
    let parts = [
        "out of memory ",
        "tried to allocate ",
        "CUDA out of memory. Tried to allocate ",
        "Tried to allocate 1.00 GiB ",
        "process 1 has ",
        "[rank1]: ",
        "failed to allocate ",
        "failed to allocate CUDA0 buffer of size 5 ",
        "available kv cache memory: ",
        "9",
        "9.",
        "9,",
        "\u{1b}[",
        "[1;",
        "(",
        "\u{65e5}",
        "\\n",
        "no available memory for the cache blocks available kv cache memory: -1.0 GiB",
        "gib ",
        "max seq len(",
        "\u{1b}]",
        "KV cache is needed, which is larger than",
        "shape[",
        "OOM when allocating tensor with shape[",
        "Process 1 has 2 GiB memory in use. ",
    ];
    for (index, part) in parts.into_iter().enumerate() {
        let length = if index < 5 { 1_000_000 } else { 200_000 };
        let text = part.repeat(length / part.len());
        let found = read(&text).unwrap_or_default();
        assert!(found.len() <= 4_096, "{part}");
    }
    // Messages of different ranks are kept, up to a limit of 4,096.
    let of_rank = |rank| format!("[rank{rank}]: CUDA out of memory. Tried to allocate 2.00 GiB");
    let ranks = (0..10_000).map(of_rank).collect::<Vec<_>>().join("\n");
    assert_eq!(read(&ranks).unwrap().len(), 4_096);
}

#[test]
fn the_tensor_of_a_real_message_agrees() {
    // shared/truth/cuda.jsonl, line 43: Llama 3 8B, 4 sequences of 2048 tokens; the logits are
    // converted to fp32.
    let text =
        files().into_iter().find(|(path, _, _)| path.ends_with("truth_cuda_43.txt")).unwrap().2;
    let message = only(&text);
    let agrees = |bytes: u64| agreement(message.tried.unwrap(), bytes);
    assert_eq!(agrees(4 * 2048 * 128_256 * 4), Some(Agreement::Printed));
    assert_eq!(agrees(4 * 2048 * 128_256 * 2), None);
    assert!(matches!(cause(&message), Cause::Fragmentation { .. }));
    assert_eq!(message.program, ReportingProgram::PyTorch);
}
