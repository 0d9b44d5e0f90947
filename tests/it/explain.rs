//! Explanations: every printed formula, computed in whole numbers, gives the printed figure.
//! Further tests cover walkthrough 3 and how figures grow.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::Job;
use headroom::estimator::time::Timing;
use headroom::estimator::{MemoryKind, estimate};
use headroom::explain::{
    Explainer, Explanation, Expr, Form, latex, mathml, numbers, symbols, text,
};
use headroom::scenario::codec::decode;
use headroom::units::{Bytes, MemoryUnit};
use headroom::view::answers::Answers;
use headroom::view::history::UndoStep;
use headroom::view::side::Side;
use headroom::view::{serving, timing};
use proptest::prelude::*;
use support::random;

/// Reads formulas as they are printed: `+ − · /`, brackets, rounded brackets, powers, `max`.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn all(text: &str) -> Option<u128> {
        let mut reader = Reader(text);
        let value = reader.sum()?;
        reader.0.trim().is_empty().then_some(value)
    }

    fn eat(&mut self, wanted: &str) -> bool {
        self.0 = self.0.trim_start_matches([' ']);
        let found = self.0.strip_prefix(wanted);
        self.0 = found.unwrap_or(self.0);
        found.is_some()
    }

    fn sum(&mut self) -> Option<u128> {
        let mut value = self.product()?;
        loop {
            if self.eat("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.eat("−") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    /// A product; a division must be exact.
    fn product(&mut self) -> Option<u128> {
        let mut value = self.factor()?;
        loop {
            if self.eat("·") {
                value = value.checked_mul(self.factor()?)?;
            } else if self.eat("/") {
                let below = self.factor()?;
                value = (below > 0 && value.is_multiple_of(below)).then(|| value / below)?;
            } else {
                return Some(value);
            }
        }
    }

    /// The quotient in rounded brackets.
    fn quotient(&mut self, close: &str) -> Option<(u128, u128)> {
        let mut above = self.factor()?;
        loop {
            if self.eat("·") {
                above = above.checked_mul(self.factor()?)?;
            } else if self.eat("/") {
                let below = self.factor()?;
                if self.eat(close) {
                    return Some((above, below));
                }
                above = (below > 0 && above.is_multiple_of(below)).then(|| above / below)?;
            } else {
                return None;
            }
        }
    }

    fn factor(&mut self) -> Option<u128> {
        let value = if self.eat("(") {
            let value = self.sum()?;
            self.eat(")").then_some(value)?
        } else if self.eat("⌈") {
            let (above, below) = self.quotient("⌉")?;
            above.div_ceil(below)
        } else if self.eat("⌊") {
            let (above, below) = self.quotient("⌋")?;
            above / below
        } else if self.eat("max(") {
            let mut most = self.sum()?;
            while self.eat(";") {
                most = most.max(self.sum()?);
            }
            self.eat(")").then_some(most)?
        } else {
            let end = self
                .0
                .find(|c: char| !(c.is_ascii_digit() || c == '\u{202f}'))
                .unwrap_or(self.0.len());
            let (digits, rest) = self.0.split_at(end);
            self.0 = rest;
            digits.replace('\u{202f}', "").parse().ok()?
        };
        let mut power = 0_u32;
        while let Some(digit) =
            self.0.chars().next().and_then(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|known| known == c))
        {
            power = power * 10 + u32::try_from(digit).ok()?;
            let mut rest = self.0.chars();
            rest.next();
            self.0 = rest.as_str();
        }
        if power > 0 { value.checked_pow(power) } else { Some(value) }
    }
}

/// Reads MathML back into a printed formula; fails unless every tag is closed and every text
/// escaped.
fn read_mathml(text: &str) -> String {
    let (node, rest) = element(text);
    assert!(rest.is_empty(), "something follows: {rest}");
    node
}

/// One element as a printed formula, and the text after it.
fn element(text: &str) -> (String, &str) {
    let rest = text.strip_prefix('<').unwrap_or_else(|| panic!("no element at {text}"));
    let (tag, mut rest) = rest.split_once('>').expect("a tag that ends");
    let name = tag.split(' ').next().expect("a name");
    assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
    let mut children = Vec::new();
    let close = format!("</{name}>");
    loop {
        if let Some(after) = rest.strip_prefix(&close) {
            return (written(name, &children), after);
        }
        if rest.starts_with('<') {
            let (child, after) = element(rest);
            children.push(child);
            rest = after;
        } else {
            let end = rest.find('<').expect("an end");
            let plain = rest[..end]
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'");
            assert!(!plain.replace("&amp;", "").contains('&'), "{plain} is not escaped");
            children.push(plain.replace("&amp;", "&"));
            rest = &rest[end..];
        }
    }
}

fn written(name: &str, children: &[String]) -> String {
    match (name, children) {
        ("mfrac", [above, below]) => format!("({above}) / ({below})"),
        ("msup", [base, exponent]) => {
            let raised: String = exponent
                .bytes()
                .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::from(digit - b'0')))
                .collect();
            format!("({base}){raised}")
        }
        ("math" | "mrow" | "mn" | "mi" | "mo" | "mtext" | "msub", children) => children.join(""),
        (other, children) => panic!("{other} with {} children", children.len()),
    }
}

/// Checks that every printed formula of an explanation gives the value beside it, and returns the
/// explained figure.
fn check(explanation: &Explanation) -> u128 {
    let figure =
        explanation.expr.exact().unwrap_or_else(|| panic!("{} is not whole", explanation.path));
    let said = std::iter::once((&explanation.expr, figure)).chain(
        explanation.expr.parts().into_iter().filter_map(|part| {
            Some((part.how.as_ref()?, Expr::Number(part.value).exact().expect("a whole part")))
        }),
    );
    for (expr, value) in said {
        let printed = numbers(expr);
        assert_eq!(Reader::all(&printed), Some(value), "{}: {printed}", explanation.path);
        let drawn = read_mathml(&mathml(expr, Form::Numbers));
        // Drawn with a fraction bar, which replaces some brackets, the formula must give the same
        // value.
        assert_eq!(Reader::all(&drawn), Some(value), "{}: {drawn}", explanation.path);
        read_mathml(&mathml(expr, Form::Symbols));
    }
    figure
}

/// Bytes of a path of the ledger.
fn bytes_at(job: &Job, path: &str) -> u64 {
    let ledger = estimate(job).ledger;
    let mut words = path.splitn(3, '/');
    let (first, kind, rest) = (words.next(), words.next(), words.next());
    let Some(kind) = kind else {
        assert!(matches!(first, Some("total" | "peak")), "{path}");
        return ledger.total().0;
    };
    let kind = MemoryKind::ALL.into_iter().find(|known| known.name() == kind).expect("a kind");
    let Some(rest) = rest else { return ledger.of(kind).0 };
    let line =
        |label: &str| ledger.lines.iter().find(|line| line.kind == kind && line.label == label);
    if let Some(line) = line(rest) {
        return line.bytes.0;
    }
    let (label, number) = rest.rsplit_once('/').expect("a tensor");
    line(label).expect("a line").tensors[number.parse::<usize>().expect("a number")].bytes.0
}

/// Checks the explanations of a job's whole ledger; returns how many there are, and the paths of
/// those without a formula.
fn check_ledger(job: &Job) -> (usize, Vec<String>) {
    let explainer = Explainer::new(job, &[], MemoryUnit::Gib);
    let ledger = estimate(job).ledger;
    let mut bare = Vec::new();
    let paths = explainer.ledger_paths();
    for path in &paths {
        let explanation =
            explainer.explained(path).unwrap_or_else(|| panic!("no explanation of {path}"));
        let figure = check(&explanation);
        if ledger.lines.len() < 200 {
            assert_eq!(figure, u128::from(bytes_at(job, path)), "{path}");
        }
        if matches!(&explanation.expr, Expr::Part(part) if part.how.is_none()) {
            bare.push(path.clone());
        }
    }
    (paths.len(), bare)
}

/// The job of a link in which every part is understood.
#[track_caller]
fn job_of(link: &str) -> Job {
    let decoded = decode(link);
    assert!(decoded.notices.is_empty() && !decoded.failed, "{link}: {:?}", decoded.notices);
    decoded.scenario.resolve().expect("a job")
}

const MODELS: [&str; 12] = [
    "llama3-8b",
    "llama3-70b",
    "gpt2",
    "ju-7b",
    "mixtral-8x7b",
    "deepseek-v3",
    "qwen3-30b-a3b",
    "gemma2-9b",
    "falcon-7b",
    "bloom-7b1",
    "phi-3-mini",
    "gpt-oss-20b",
];

prop_compose! {
    /// Links over the catalogue: every stack, layout and format.
    fn link()(
        model in 0..MODELS.len(), serve in any::<bool>(),
        sizes in (7_u32..14, 0_u32..4, 0_u32..3, 0_u32..3, 0_u32..4), odd in 0_u64..3,
        words in (0..4_usize, 0..5_usize, 0..3_usize, 0..2_usize, 0..5_usize, 0..5_usize),
        rest in (0..6_usize, 0..4_usize, 0..3_usize, any::<bool>()),
    ) -> String {
        let (s, b, t, p, d) = sizes;
        let (t, p, d) = (1_u64 << t, 1_u64 << p, 1_u64 << d);
        let s = (1_u64 << s) + odd;
        let model = MODELS[model];
        let n = t * p * d;
        if serve {
            let format = ["bf16", "int4", "fp8", "gptq", "q4-k-m", "nf4"][rest.0];
            let server = ["", "&srv=vllm", "&srv=sglang", "&srv=llama-cpp"][rest.1];
            let cache = ["bf16", "fp8", "int4"][rest.2];
            return format!("v1&do=serve&m={model}&ctx={s}&seqs={}&tp={t}&pp={p}&n={}&w={format}&kvd={cache}{server}", 1 << b, t * p);
        }
        let kernels = ["eager", "fused", "korthikanti", "megatron"][words.0];
        let sharding = ["none", "1", "2", "3", "fsdp"][words.1];
        let recompute = ["none", "selective", "full"][words.2];
        let attention = ["flash", "standard"][words.3];
        let precision = ["bf16", "bf16-pure", "fp32", "fsdp-mixed", "amp-bf16"][words.4];
        let optimizer = ["adamw", "adamw8", "sgd", "sgdm", "adafactor"][words.5];
        let sequence = if rest.3 { "&sp=on" } else { "" };
        let batch = d * (1 << b) * 4;
        format!(
            "v1&m={model}&s={s}&b={}&gb={batch}&tp={t}&pp={p}&n={n}&z={sharding}&ker={kernels}&rc={recompute}&att={attention}&prec={precision}&opt={optimizer}{sequence}",
            1 << b
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The printed formula of any figure of the ledger, read back and computed, gives that figure.
    #[test]
    fn every_printed_formula_comes_to_its_figure(job in random::job()) {
        check_ledger(&job);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The printed formulas give their figures for every stack, layout and format of the catalogue.
    /// Only lines with a rule of their own have no formula.
    #[test]
    fn so_it_does_for_every_stack_and_layout_of_the_catalogue(link in link()) {
        let job = job_of(&link);
        let (_, bare) = check_ledger(&job);
        for path in bare {
            // Workspaces of libraries, and one buffer for each shape of matrix.
            let rules = ["Matrix-product workspaces", "Dummy weight gradients", "Scores", "Deferred \
                output gradients"];
            // A line may also lack a formula where it is 0, because the stage has no block of its
            // kind.
            let none = bytes_at(&job, &path) == 0;
            prop_assert!(none || rules.iter().any(|rule| path.ends_with(rule)), "{}: {}", link,
                path);
        }
    }
}

prop_compose! {
    /// Links of models whose layers are not all alike: every kind of state, shared keys, layers of
    /// one half alone.
    fn unlike()(
        kind in 0..9_usize, sets in (0..4_usize, 0..4_usize, 0..3_usize, 0..3_usize), t in 0_u32..4,
        p in 0_u32..2,
        sizes in (1_u64..40, 1_u64..5, 1_u64..9, 0_u64..6),
        rest in (0..5_usize, 0..4_usize, any::<bool>(), any::<bool>()),
    ) -> String {
        let kind = ["none", "mamba", "jamba", "mamba2", "falcon-h1", "qwen3-next", "kimi-linear",
            "minimax", "lfm2"][kind];
        let states = ["all", "all-but-every-4", "0-9.20", "none"][sets.0];
        let attention = ["all", "every-4", "none", "from-3"][sets.1];
        let feed = ["all", "every-2", "none"][sets.2];
        let shared = ["none", "from-24", "every-2"][sets.3];
        let (t, p) = (1_u64 << t, 1_u64 << p);
        let (heads, head, keys, kernel) = sizes;
        let format = ["bf16", "fp8", "gptq", "q4-k-m", "nf4"][rest.0];
        let server = ["", "&srv=vllm", "&srv=sglang", "&srv=llama-cpp"][rest.1];
        let flags = format!("&mxf={}&og={}", u8::from(rest.2), u8::from(rest.3));
        format!(
            "v1&do=serve&m=qwen3-next-80b&n={}&tp={t}&pp={p}&mx={kind}&mxl={states}&al={attention}&fl={feed}&kvs={shared}&mxn={heads}&mxd={}&mxg={keys}&mxc={kernel}&mxr=7{flags}&w={format}{server}&ctx=3000&seqs=3",
            t * p,
            8 * head
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The printed formulas also give their figures where layers keep states.
    #[test]
    fn so_it_does_where_layers_are_unlike(link in unlike()) {
        let job = job_of(&link);
        let (_, bare) = check_ledger(&job);
        for path in bare {
            prop_assert!(bytes_at(&job, &path) == 0, "{}: {}", link, path);
        }
    }
}

/// The document's job: 7B parameters, 128 sequences of 4096 tokens on one card, and attention
/// scores in memory.
const DOCUMENT: &str =
    "v1&m=ju-7b&s=4096&gb=128&b=empty&gpu=a100-40&ker=korthikanti&att=standard&rc=none&n=1&z=none";

/// Walkthrough 3: why is it so big? `2·n_head·B·s²·2 = 274.9 GB (256.0 GiB)` per block, grown by
/// the square of the length.
#[test]
fn scores_explain_themselves() {
    let job = job_of(DOCUMENT);
    let side = Side::of(&job, &estimate(&job), MemoryUnit::Gb);
    let explainer = Explainer::new(&job, &side.answers, MemoryUnit::Gb);
    let all = explainer.explain("ledger/Activations").expect("activations");
    let largest = all.largest.as_ref().expect("what stands out");
    assert_eq!(symbols(&largest.one), "2 · b · a · s² · 2");
    assert_eq!(numbers(&largest.one), "2 · 128 · 32 · 4096² · 2");
    assert_eq!((largest.one.exact(), largest.count), (Some(2 * 32 * 128 * 4096 * 4096 * 2), 32));
    let words = text(&all, MemoryUnit::Gb);
    assert!(words.contains("274.9 GB (256.0 GiB), 32 times"), "{words}");
    // The explanation lists the documents with other formulas, and the comparison's reasons for the
    // difference.
    let ju = all.documents.iter().find(|said| said.title == "Li Ju 2026").expect("it differs");
    assert!(ju.formula.contains("s²") && ju.why.contains("dropout"), "{ju:?}");
    let softmax = explainer.explain("ledger/Activations/Softmax/0").expect("the probabilities");
    assert_eq!(symbols(&softmax.expr), "32 · b · a · s² · 2");
    let exponent = |input: &str| {
        softmax
            .growth
            .iter()
            .find(|one| one.input == input)
            .and_then(headroom::explain::FigureGrowth::exponent)
    };
    let inputs = [
        "seq_length",
        "global_batch_size",
        "num_hidden_layers",
        "hidden_size",
        "tensor_model_parallel_size",
    ];
    assert_eq!(inputs.map(exponent), [Some(2), Some(1), Some(1), Some(0), Some(-1)]);
    let words = text(&softmax, MemoryUnit::Gb);
    assert!(
        words.contains("wice the seq_length: ×4")
            && words.contains("s = 4096: seq_length, tokens of a sequence"),
        "{words}"
    );
    assert!(
        mathml(&softmax.expr, Form::Symbols)
            .contains("<mi title=\"seq_length: tokens of a sequence\">s</mi>")
    );
    assert!(
        latex(&softmax, MemoryUnit::Gb).contains("b \\cdot a \\cdot s^{2} \\cdot 2"),
        "{}",
        latex(&softmax, MemoryUnit::Gb)
    );
}

#[test]
fn a_shared_buffer_is_cut_evenly_and_its_tensors_are_its_slices() {
    let job = job_of("v1&m=gpt2&n=3&z=3&gb=3&b=1&s=1024&ker=korthikanti");
    let explainer = Explainer::new(&job, &[], MemoryUnit::Gib);
    let weights = explainer.explained("ledger/Weights/Weights").expect("weights");
    assert_eq!(symbols(&weights.expr), "(parameters of this rank / D) · 2");
    let odd = job_of("v1&m=gpt2&n=7&z=3&gb=7&b=1&s=1024&ker=korthikanti");
    let explainer = Explainer::new(&odd, &[], MemoryUnit::Gib);
    let weights = explainer.explained("ledger/Weights/Weights").expect("weights");
    assert_eq!(symbols(&weights.expr), "⌈parameters of this rank / D⌉ · 2");
    assert!(weights.expr.comes_to(bytes_at(&odd, "ledger/Weights")));
}

#[test]
fn what_is_held_in_full_does_not_grow_with_the_run() {
    let job = job_of("v1&m=llama3-8b&n=8&z=1&s=4096&gb=64&b=1&rc=none&ker=korthikanti");
    let explainer = Explainer::new(&job, &[], MemoryUnit::Gib);
    let exponents = |path: &str| {
        let found = explainer.explain(path).unwrap_or_else(|| panic!("no {path}"));
        ["seq_length", "micro_batch_size", "data_parallel_size"].map(|input| {
            found
                .growth
                .iter()
                .find(|one| one.input == input)
                .and_then(headroom::explain::FigureGrowth::exponent)
        })
    };
    assert_eq!(exponents("ledger/Weights"), [Some(0), Some(0), Some(0)]);
    assert_eq!(exponents("ledger/Optimizer states"), [Some(0), Some(0), Some(-1)]);
    assert_eq!(exponents("ledger/Activations/Feed-forward up"), [Some(1), Some(1), Some(0)]);
    let served = job_of("v1&do=serve&m=llama3-8b&n=1&ctx=8192&seqs=4");
    let explainer = Explainer::new(&served, &[], MemoryUnit::Gib);
    let cache = explainer.explain("ledger/KV cache").expect("a cache");
    assert_eq!(symbols(&cache.expr).replace("cached keys, cached values", "both"), "32 · both");
    let of = |input: &str| {
        cache
            .growth
            .iter()
            .find(|one| one.input == input)
            .and_then(headroom::explain::FigureGrowth::exponent)
    };
    assert_eq!(
        ["context_length", "concurrent_sequences", "hidden_size"].map(of),
        [Some(1), Some(1), Some(0)]
    );
}

#[test]
fn both_counts_and_the_peak_explain_themselves() {
    for link in [
        DOCUMENT,
        "v1&m=llama3-8b&n=8&z=2&gb=64&b=1",
        "v1&do=serve&m=llama3-70b&n=1",
        "v1&m=llama3-70b&n=64&tp=8&z=1&gb=64&b=1",
    ] {
        let job = job_of(link);
        let count = headroom::planner::gpu_count(&job, MemoryUnit::Gib);
        let explainer = Explainer::new(&job, &[], MemoryUnit::Gib);
        let arithmetic = explainer.explain("gpus/arithmetic").expect("a division");
        let printed = Reader::all(&numbers(&arithmetic.expr));
        match count.arithmetic {
            Some(gpus) => {
                assert_eq!(
                    printed,
                    Some(u128::from(gpus)),
                    "{link}: {}",
                    numbers(&arithmetic.expr)
                );
            }
            None => {
                assert!(printed > Some(u128::from(job.cluster().accelerator.memory.0)), "{link}");
            }
        }
        let runnable = explainer.explain("gpus/runnable").expect("a search");
        assert_eq!(
            runnable.expr.exact(),
            Some(u128::from(count.runnable.map_or(0, |run| run.gpus))),
            "{link}"
        );
        assert!(!runnable.notes.is_empty(), "{link}");
        let estimate = estimate(&job);
        for path in ["total", "peak"] {
            assert_eq!(
                check(&explainer.explain(path).expect("it")),
                u128::from(estimate.total().0),
                "{link}"
            );
        }
        let gap = Bytes(estimate.total().0.abs_diff(estimate.capacity.0));
        assert_eq!(check(&explainer.explain("margin").expect("it")), u128::from(gap.0), "{link}");
        assert!(
            explainer.explain("nothing").is_none() && explainer.explain("ledger/Nothing").is_none()
        );
    }
}

/// Every name in the lists of facts has an explanation, whose formula gives the figure.
/// The figures of a job are those that the page shows.
fn figures_are_what_is_shown(link: &str, answers: &Answers, explainer: &Explainer<'_>) {
    let value =
        |name: &str| explainer.explained(&format!("time/{name}")).expect("a figure").expr.value();
    let near = |name: &str, is: f64| {
        assert!(
            (value(name) / is - 1.0).abs() < 1e-9,
            "{link}: {name} is {is}, not {}",
            value(name)
        );
    };
    match answers.timing() {
        Timing::Training { step, cost } => {
            near("One step", step.seconds.0);
            near("Utilisation: model (MFU)", step.mfu);
            near("with recomputation (HFU)", step.hfu);
            near("Model FLOP/s of one GPU", step.flops_per_second);
            near("Tokens per second, all GPUs", step.tokens_per_second);
            near("The run", cost.seconds.0);
            if answers.job.training().is_some_and(|run| run.texts.is_some()) {
                near("Useful tokens per second", step.useful_tokens_per_second);
            }
            near("GPU-hours", cost.gpu_hours);
            near("Cost of the run", cost.price);
            near("Energy of the GPUs", cost.energy_kwh.expect("known power"));
            near("CO₂", cost.co2_kg.expect("known power"));
        }
        Timing::Serving(time) => {
            explains_its_load(answers, explainer);
            near("Tokens per second of one request", 1.0 / time.decode.0);
            near("Tokens per second of one instance", time.tokens_per_second);
            near("Cost of a million tokens", time.price_per_million);
            near("Energy of a million tokens", time.kwh_per_million.expect("known power"));
            near(
                "KV cache of one token",
                answers.estimate.kv_cache_per_token.expect("a cache").as_f64(),
            );
        }
        Timing::Unknown(_) => panic!("{link} takes time"),
    }
}

#[test]
fn every_figure_of_time_cost_and_model_explains_itself() {
    let links = [
        "v1&m=llama3-8b&n=8&gb=64&b=1",
        "v1&m=llama3-70b&n=64&tp=8&pp=2&z=1&ker=megatron&gb=64&b=1",
        "v1&do=serve&m=llama3-8b&n=1&srv=vllm&usr=1000",
        "v1&do=serve&m=llama3-70b&n=8&tp=8",
        "v1&do=tune&m=llama3-8b&n=1&gb=8&txt=600",
        "v1&do=tune&m=llama3-8b&n=1&gb=8&txt=600&pack=1",
        "v1&do=tune&m=mixtral-8x7b&n=8&ft=lora",
        "v1&do=serve&m=deepseek-v3&n=16&tp=8&pp=2&w=fp8-block&eep=1&ata=1",
    ];
    for link in links {
        let answers =
            Answers::of(&UndoStep { scenario: decode(link).scenario, compare: Vec::new() }, None).0;
        let explainer = Explainer::new(&answers.job, &[], MemoryUnit::Gib);
        let terms: Vec<&str> = match answers.timing() {
            Timing::Training { step, .. } => step.lines.iter().map(|line| line.label).collect(),
            _ => Vec::new(),
        };
        let timed = timing::facts(&answers.job, answers.timing());
        let cached = serving::cache(&answers.job, &answers.estimate, MemoryUnit::Gib);
        let listed =
            headroom::view::panels::cost::facts(&answers.job, &answers.estimate, MemoryUnit::Gib);
        let names = timed
            .iter()
            .chain(&cached)
            .map(|fact| fact.0)
            .chain(listed.iter().map(|fact| fact.0))
            .chain(terms);
        for name in names {
            let found = explainer
                .explain(&format!("time/{name}"))
                .unwrap_or_else(|| panic!("{link}: nothing explains {name}"));
            assert!(
                found.expr.value().is_finite()
                    && !found.sentence.is_empty()
                    && !found.sources.is_empty(),
                "{link}: {name}"
            );
        }
        figures_are_what_is_shown(link, &answers, &explainer);
    }
}

/// Every figure of the load on the answer's card, and both counts where users are stated.
fn explains_its_load(answers: &Answers, explainer: &Explainer) {
    let load = answers.load().expect("a load");
    let pace = load.pace.expect("known rates");
    for figure in serving::load_figures(&answers.job, load).expect("known rates") {
        let found = explainer
            .explain(figure.path)
            .unwrap_or_else(|| panic!("nothing explains {}", figure.path));
        assert_eq!(found.title, figure.label);
        assert!(
            !found.sentence.is_empty() && !found.sources.is_empty() && !found.notes.is_empty(),
            "{}",
            figure.path
        );
        let wanted = match figure.path {
            "load/first-token" => pace.first_token.0,
            "load/per-user" => pace.per_user,
            "load/in-all" => pace.in_all,
            _ => pace.price_per_million,
        };
        assert!((found.expr.value() / wanted - 1.0).abs() < 1e-9, "{}: {wanted}", figure.path);
    }
    let Some(users) = answers.users() else { return };
    let count = |path: &str| explainer.explain(path).expect("a count").expr.exact();
    assert_eq!(count("gpus/arithmetic"), users.arithmetic.map(u128::from));
    assert_eq!(count("gpus/runnable"), users.fewest.map(|fewest| u128::from(fewest.gpus)));
}
