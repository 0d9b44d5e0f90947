//! Explanations: every printed formula comes to the printed figure, in whole numbers; walkthrough 3; growth.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

mod support;

use headroom::app::side::Side;
use headroom::config::Job;
use headroom::estimator::{MemoryKind, estimate};
use headroom::explain::{Explainer, Explanation, Expr, Form, mathml, numbers, text};
use headroom::scenario::codec::decode;
use headroom::units::MemoryUnit;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
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
            let end = self.0.find(|c: char| !(c.is_ascii_digit() || c == '\u{202f}')).unwrap_or(self.0.len());
            let (digits, rest) = self.0.split_at(end);
            self.0 = rest;
            digits.replace('\u{202f}', "").parse().ok()?
        };
        let mut power = 0_u32;
        while let Some(digit) = self.0.chars().next().and_then(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|known| known == c))
        {
            power = power * 10 + u32::try_from(digit).ok()?;
            let mut rest = self.0.chars();
            rest.next();
            self.0 = rest.as_str();
        }
        if power > 0 { value.checked_pow(power) } else { Some(value) }
    }
}

/// MathML read back into a printed formula: well-formed, every tag closed, every text escaped.
fn read_mathml(text: &str) -> String {
    let (node, rest) = element(text);
    assert!(rest.is_empty(), "something follows: {rest}");
    node
}

/// One element as a printed formula, and what follows it.
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
            let plain = rest[..end].replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
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
            let raised: String =
                exponent.bytes().filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::from(digit - b'0'))).collect();
            format!("({base}){raised}")
        }
        ("math" | "mrow" | "mn" | "mi" | "mo" | "mtext" | "msub", children) => children.join(""),
        (other, children) => panic!("{other} with {} children", children.len()),
    }
}

/// Every formula of an explanation, as printed, comes to what it says; the figure itself is returned.
fn check(explanation: &Explanation) -> u128 {
    let figure = explanation.expr.exact().unwrap_or_else(|| panic!("{} is not whole", explanation.path));
    let said = std::iter::once((&explanation.expr, figure)).chain(
        explanation
            .expr
            .parts()
            .into_iter()
            .filter_map(|part| Some((part.how.as_ref()?, Expr::Number(part.value).exact().expect("a whole part")))),
    );
    for (expr, value) in said {
        let printed = numbers(expr);
        assert_eq!(Reader::all(&printed), Some(value), "{}: {printed}", explanation.path);
        let drawn = read_mathml(&mathml(expr, Form::Numbers));
        // A fraction bar groups what `max(` and rounded brackets hold; the words are the same.
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
    let line = |label: &str| ledger.lines.iter().find(|line| line.kind == kind && line.label == label);
    if let Some(line) = line(rest) {
        return line.bytes.0;
    }
    let (label, number) = rest.rsplit_once('/').expect("a tensor");
    line(label).expect("a line").tensors[number.parse::<usize>().expect("a number")].bytes.0
}

/// All of a job's ledger: how many lines and tensors there are, and how many stand for themselves.
fn check_ledger(job: &Job) -> (usize, Vec<String>) {
    let explainer = Explainer::new(job, &[], MemoryUnit::Gib);
    let ledger = estimate(job).ledger;
    let mut bare = Vec::new();
    let paths = explainer.ledger_paths();
    for path in &paths {
        let explanation = explainer.explained(path).unwrap_or_else(|| panic!("no explanation of {path}"));
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

fn job_of(link: &str) -> Option<Job> {
    decode(link).scenario.resolve().ok()
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
    "phi3-mini",
    "gpt-oss-20b",
];

prop_compose! {
    /// Links over the catalogue: every stack, layout and format.
    fn link()(
        model in 0..MODELS.len(), serve in any::<bool>(),
        sizes in (7_u32..14, 0_u32..4, 0_u32..3, 0_u32..3, 0_u32..4), odd in 0_u64..3,
        words in (0..4_usize, 0..5_usize, 0..3_usize, 0..2_usize, 0..4_usize, 0..5_usize), rest in (0..6_usize, 0..4_usize, 0..3_usize, any::<bool>()),
    ) -> String {
        let (s, b, t, p, d) = sizes;
        let (t, p, d) = (1_u64 << t, 1_u64 << p, 1_u64 << d);
        let s = (1_u64 << s) + odd;
        let model = MODELS[model];
        let n = t * p * d;
        if serve {
            let format = ["bf16", "int4", "fp8", "gptq", "q4_k_m", "nf4"][rest.0];
            let server = ["", "&srv=vllm", "&srv=sglang", "&srv=llamacpp"][rest.1];
            let cache = ["bf16", "fp8", "int4"][rest.2];
            return format!("v1&do=serve&m={model}&ctx={s}&seqs={}&tp={t}&pp={p}&n={}&w={format}&kvd={cache}{server}", 1 << b, t * p);
        }
        let kernels = ["eager", "fused", "korthikanti", "megatron"][words.0];
        let sharding = ["0", "1", "2", "3", "fsdp"][words.1];
        let recompute = ["none", "selective", "full"][words.2];
        let attention = ["flash", "standard"][words.3];
        let precision = ["bf16", "bf16-pure", "fp32", "fp16"][words.4];
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
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// What is printed for any figure of the ledger, read back, is the figure.
    #[test]
    fn every_printed_formula_comes_to_its_figure(job in random::job()) {
        check_ledger(&job);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn so_it_does_for_every_stack_and_layout_of_the_catalogue(link in link()) {
        if let Some(job) = job_of(&link) {
            check_ledger(&job);
        }
    }
}

#[test]
#[ignore = "prints"]
fn dump() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut all, mut jobs, mut failed) = (0, 0, 0);
    let mut bare: std::collections::BTreeMap<String, (usize, String, String)> = std::collections::BTreeMap::new();
    let mut words = std::collections::BTreeMap::new();
    for _ in 0..600 {
        let link = link().new_tree(&mut runner).expect("a link").current();
        let decoded = decode(&link);
        if !decoded.notices.is_empty() {
            println!("{link}: {:?}", decoded.notices);
        }
        let Ok(job) = decoded.scenario.resolve() else {
            failed += 1;
            continue;
        };
        jobs += 1;
        let (count, found) = check_ledger(&job);
        all += count;
        let explainer = Explainer::new(&job, &[], MemoryUnit::Gib);
        for path in explainer.ledger_paths() {
            for symbol in explainer.explained(&path).expect("it").expr.symbols() {
                if symbol.name.is_empty() && !symbol.letter.chars().all(|d| d.is_ascii_digit()) {
                    *words.entry(symbol.letter.clone()).or_insert((0, path.clone(), link.clone())) =
                        (0, path.clone(), link.clone());
                }
            }
        }
        let ledger = estimate(&job).ledger;
        for path in found {
            let mut it = path.splitn(3, '/');
            let key = path.clone();
            let (_, kind, rest) = (it.next(), it.next().unwrap_or(""), it.next().unwrap_or(""));
            let label = rest.rsplit_once('/').map_or(rest, |(label, _)| label);
            let number = rest.rsplit_once('/').and_then(|(_, n)| n.parse::<usize>().ok());
            let line = ledger.lines.iter().find(|line| line.kind.name() == kind && (line.label == label || line.label == rest));
            let what = match (line, number) {
                (Some(line), Some(n)) => format!("{:?}", line.tensors.get(n)),
                (Some(line), None) => format!("{} tensors {:?}", line.tensors.len(), line.bytes),
                _ => String::new(),
            };
            bare.entry(key).or_insert((0, what, link.clone())).0 += 1;
        }
    }
    println!("{jobs} jobs, {failed} failed, {all} paths");
    for (path, (count, what, link)) in bare {
        println!("{count} {path}: {what}\n      {link}");
    }
    for (word, (_, path, link)) in words {
        println!("WORD {word}: {path} {link}");
    }
}
