//! Answers of students: read with their units, and known mistakes are named.

use super::{facts, figure};
use headroom::lessons::answer::{check, read};
use headroom::lessons::figure::{Amount, FIGURES, Facts, Unit};
use proptest::test_runner::{Config, TestRunner};

#[test]
fn answers_are_read_with_their_units() {
    let gigabytes = |text: &str| {
        read(text, Unit::Memory).map(|amount| amount.number().expect("a number") / 1e9)
    };
    for (text, expected) in [
        ("1.2 TB", 1200.0),
        ("1200e9", 1200.0),
        ("1 200 000 MB", 1200.0),
        ("12 GiB", 12.884_901_888),
        ("12GiB", 12.884_901_888),
        ("12 gib", 12.884_901_888),
        ("16 G", 16.0),
        ("16 Gi", 17.179_869_184),
        ("0,5 TB", 500.0),
        ("2 gigabytes", 2.0),
        ("80 000 000 000 bytes", 80.0),
    ] {
        let got = gigabytes(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert!((got / expected - 1.0).abs() < 1e-12, "{text}: {got}");
    }
    assert!(gigabytes("16").is_err_and(|problem| problem.starts_with("Which unit?")));
    assert!(gigabytes("16 GPUs").is_err_and(|problem| problem.contains("12 GiB")));
    assert!(gigabytes("a lot").is_err());
    let counts = [
        ("3k", 3000.0),
        ("935 GPUs", 935.0),
        ("1 gpu", 1.0),
        ("1,024", 1024.0),
        ("2 million", 2e6),
    ];
    for (text, expected) in counts {
        assert!(
            read(text, Unit::Count("GPUs")).is_ok_and(|got| got.is(Amount::Number(expected), 0.0)),
            "{text}"
        );
    }
    assert_eq!(read("None", Unit::Count("GPUs")), Ok(Amount::Never));
    for (text, unit, expected) in [
        ("300 ms", Unit::Seconds, 0.3),
        ("2 min", Unit::Seconds, 120.0),
        ("133 %", Unit::Share, 1.33),
        ("133", Unit::Share, 1.33),
        ("4x", Unit::Times, 4.0),
        ("16 bytes", Unit::BytesPerParameter, 16.0),
        ("1e21", Unit::Flops, 1e21),
        ("1200 tokens/s", Unit::PerSecond("tokens"), 1200.0),
        ("48 hours", Unit::Days, 2.0),
    ] {
        assert!(
            read(text, unit).is_ok_and(|got| got.is(Amount::Number(expected), 1e-12)),
            "{text}: {:?}",
            read(text, unit)
        );
    }
}

#[test]
fn a_known_factor_is_named() {
    let train = facts("v1&m=llama2-7b&gpu=b200&n=1&z=none&s=512&gb=1&u=gb");
    let serve = facts("v1&do=serve&m=llama3-70b&tp=8&n=8&u=gb");
    let zero = facts("v1&m=llama2-7b&n=8&z=3&s=2048&u=gb");
    let said = |facts: &Facts, id: &str, factor: f64| {
        let truth = (figure(id).of)(facts).and_then(Amount::number).expect("a number");
        let unit = if figure(id).unit == Unit::Memory { " bytes" } else { "" };
        let feedback =
            check(&format!("{}{unit}", truth * factor), figure(id), facts, 0.005).expect("read");
        assert_eq!(feedback.right, (factor - 1.0).abs() < 0.005);
        feedback.text
    };
    for (facts, id, factor, expected) in [
        (&train, "states", 1.0, "Right."),
        (&train, "states", 14.0 / 16.0, "gradients are missing"),
        (&train, "states", 12.0 / 16.0, "master copy"),
        (&train, "states", 4.0 / 16.0, "optimizer states are missing"),
        (&train, "bytes-per-parameter", 14.0 / 16.0, "gradients are missing"),
        (&train, "states", 2.0, "Twice"),
        (&train, "states", 1.073_741_824, "GiB"),
        (&train, "states", 1.0 / 1.073_741_824, "GiB"),
        (&train, "states", 8.0, "bits"),
        (&train, "weights", 8.0 / 7.0, "Eight sevenths"),
        (&train, "weights", 1000.0, "thousand"),
        (&serve, "kv-per-token", 8.0, "only the key/value heads"),
        (&serve, "kv-per-token", 0.5, "keys and values"),
        (&serve, "kv-per-token", 1.0 / 80.0, "one layer"),
        (&serve, "kv-cache", 1.0 / 16.0, "one sequence"),
        (&zero, "states", 8.0, "all GPUs together"),
        (&zero, "weights", 1.0 / 8.0, "once too often"),
        (&train, "states", 1.31, "Too much."),
    ] {
        let text = said(facts, id, factor);
        assert!(text.contains(expected), "{id} × {factor}: {text}");
    }
    let impossible = facts("v1&m=llama2-7b&gpu=a100-40&n=8&z=none&s=512");
    let gpus = check("12", figure("runnable"), &impossible, 0.0).expect("read");
    assert!(!gpus.right && gpus.text.contains("no such number"));
    assert!(check("none", figure("runnable"), &impossible, 0.0).expect("read").right);
    assert!(check("16 GB", figure("kv-per-token"), &train, 0.1).is_err(), "training has no cache");
}

#[test]
fn no_answer_can_break_the_reader() {
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&("\\PC{0,80}", 0..FIGURES.len()), |(text, index)| {
        let _ = read(&text, FIGURES[index].unit);
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}
