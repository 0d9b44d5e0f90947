//! The planner's form: as it travels, and as it is understood.

use crate::catalog::{self, AcceleratorRow};
use crate::config::Job;
use crate::planner::search::{Degree, SearchAxis, Space};
use crate::scenario::{FieldId, Value, parse};

/// How many accelerators are gone through where nothing is typed.
pub const MOST: u64 = 1024;

/// The values of the form's inputs by name, as the page sends them: a line `name=value` for each
/// that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormInputs(Vec<(String, String)>);

impl FormInputs {
    /// Reads the lines.
    pub fn read(lines: &str) -> Self {
        let pair = |line: &str| {
            line.split_once('=').map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        };
        Self(lines.lines().filter_map(pair).filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The text in an input; an empty text where the page sent none.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// True if a box is ticked.
    pub fn is_on(&self, name: &str) -> bool {
        !self.text(name).is_empty()
    }
}

/// The question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchQuestion {
    /// The smallest number of accelerators that can run it, up to so many.
    Fewest(u64),
    /// The best layouts on exactly so many.
    At(u64),
    /// The best layouts at counts up to so many.
    UpTo(u64),
    /// The largest model of the family on exactly so many.
    Family(u64),
}

impl SearchQuestion {
    /// Name of each kind in the form, what it is called, and what its number is called.
    pub const KINDS: [(&'static str, &'static str, &'static str); 4] = [
        ("fewest", "Fewest GPUs that run it", "GPUs, at most"),
        ("at", "Best layout on this many", "GPUs"),
        ("counts", "Best layout at every count", "GPUs, at most"),
        ("family", "Largest model of the family", "GPUs"),
    ];

    /// The number where nothing is typed; `own` is the scenario's.
    pub const fn usual(kind: &str, own: u64) -> u64 {
        match kind.as_bytes() {
            b"at" | b"family" => own,
            _ => MOST,
        }
    }
}

/// A question that can be searched for.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// The question.
    pub question: SearchQuestion,
    /// Accelerators to compare, each with a price per hour where one was typed; none: the
    /// scenario's own.
    pub accelerators: Vec<(&'static AcceleratorRow, Option<f64>)>,
    /// Degrees with the values that they may have.
    limits: Vec<(Degree, Vec<u64>)>,
    /// Choices that are searched besides: schedules, host memory, sharding groups.
    choices: [bool; 3],
    /// Days that the training may take.
    pub days: Option<f64>,
    /// The price that the training may have.
    pub price: Option<f64>,
}

/// Inputs of the limits: name and what they limit.
pub const LIMITS: [(&str, Degree); 8] = [
    ("lim-t", Degree::Tensor),
    ("lim-cp", Degree::Context),
    ("lim-p", Degree::Pipeline),
    ("lim-d", Degree::Data),
    ("lim-ep", Degree::Expert),
    ("lim-etp", Degree::ExpertTensor),
    ("lim-mb", Degree::MicroBatch),
    ("lim-v", Degree::Chunks),
];

/// Boxes of further choices: name and what is searched.
pub const CHOICES: [(&str, &str); 3] = [
    ("more-schedules", "Pipeline schedules: GPipe, zero-bubble H1 and H2, DualPipe"),
    ("more-offload", "Optimizer states in host memory"),
    ("more-groups", "Sharding groups (HSDP): 2, 4 or 8"),
];

/// True if a limit can be set for that job: most stacks have some degrees at 1.
pub fn applies(degree: Degree, job: &Job) -> bool {
    let all = job.training().is_some_and(|run| run.stack.has_all_degrees);
    match degree {
        Degree::Context | Degree::Chunks => all,
        Degree::Expert | Degree::ExpertTensor => all && job.model().moe.is_some(),
        _ => true,
    }
}

impl SearchRequest {
    /// Understands a form; `own` is the scenario's number of accelerators.
    ///
    /// # Errors
    /// One sentence with a way out.
    pub fn read(form: &FormInputs, job: &Job) -> Result<Self, String> {
        let own = job.layout().world_size();
        let kind = if form.is_on("q") { form.text("q") } else { "fewest" };
        let gpus = count(form.text(&format!("n-{kind}")), SearchQuestion::usual(kind, own))?;
        let question = match kind {
            "at" => SearchQuestion::At(gpus),
            "counts" => SearchQuestion::UpTo(gpus),
            "family" => SearchQuestion::Family(gpus),
            _ => SearchQuestion::Fewest(gpus),
        };
        let mut limits = Vec::new();
        for (name, degree) in
            LIMITS.into_iter().filter(|(name, degree)| form.is_on(name) && applies(*degree, job))
        {
            limits.push((degree, values(degree, form.text(name))?));
        }
        let mut accelerators = Vec::new();
        for row in
            catalog::accelerators().iter().filter(|row| form.is_on(&format!("acc-{}", row.id)))
        {
            let price = amount(
                &format!("The price of {}", row.name),
                form.text(&format!("price-{}", row.id)),
                "2.5",
            )?;
            accelerators.push((row, price));
        }
        let bounded = kind == "counts";
        let bound = |name: &str, about: &str, example: &str| {
            if bounded { amount(about, form.text(name), example) } else { Ok(None) }
        };
        Ok(Self {
            question,
            accelerators,
            limits,
            choices: CHOICES.map(|(name, _)| form.is_on(name)),
            days: bound("days", "The deadline in days", "30")?,
            price: bound("price", "The highest price", "1e6")?,
        })
    }

    /// The space that is searched for a job.
    pub fn space(&self, job: &Job) -> Space {
        let mut space = match self.question {
            SearchQuestion::Fewest(most) => Space::smallest(job, most),
            SearchQuestion::At(gpus) | SearchQuestion::Family(gpus) => Space::at(job, &[gpus]),
            SearchQuestion::UpTo(most) => {
                Space::at(job, &counts(most, job.cluster().accelerator.accelerators_per_node))
            }
        };
        let [schedules, offload, groups] = self.choices;
        for axis in [
            (schedules, SearchAxis::schedules as fn() -> SearchAxis),
            (offload, SearchAxis::offloads),
            (groups, SearchAxis::replicas),
        ] {
            if axis.0 {
                space = space.with(axis.1());
            }
        }
        for (degree, values) in &self.limits {
            space.limit(*degree, values);
        }
        space
    }
}

/// Reads a number of accelerators; the page's own field says what it takes.
fn count(text: &str, usual: u64) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(usual);
    }
    match parse(FieldId::Gpus, text) {
        Ok(Value::Integer(count)) => Ok(count),
        Ok(_) => Ok(usual),
        Err(problem) => Err(problem),
    }
}

/// Reads an amount above zero, if there is one.
fn amount(about: &str, text: &str, example: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let plain: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace() && !matches!(letter, ',' | '_'))
        .collect();
    let number = plain.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.map(Some).ok_or_else(|| {
        format!(
            "{about} is a number above 0, such as {example}, or nothing; not “{}”.",
            quoted(text)
        )
    })
}

/// Reads the values of a degree: `1, 2, 4`.
fn values(degree: Degree, text: &str) -> Result<Vec<u64>, String> {
    let words = text
        .split(|letter: char| letter == ',' || letter == ';' || letter.is_whitespace())
        .filter(|word| !word.is_empty());
    let numbers: Result<Vec<u64>, &str> = words
        .map(|word| word.parse::<u64>().ok().filter(|number| *number > 0).ok_or(word))
        .collect();
    numbers.map_err(|word| {
        format!(
            "The {} values are whole numbers from 1, such as 1, 2, 4, 8, or nothing for every \
             divisor; not “{}”.",
            degree.name(),
            quoted(word)
        )
    })
}

/// The beginning of what was typed.
fn quoted(text: &str) -> String {
    let short: String = text.chars().filter(|letter| !letter.is_control()).take(24).collect();
    if short.chars().count() < text.chars().count() { format!("{short}…") } else { short }
}

/// The counts up to a budget: powers of two within a node, then whole nodes, eight or more for
/// every doubling, and the budget.
fn counts(most: u64, node: u64) -> Vec<u64> {
    let node = node.max(1);
    let mut all: Vec<u64> =
        (0..20).map(|power| 1 << power).filter(|count| *count < node.max(2)).collect();
    let mut nodes = 1_u64;
    while nodes.saturating_mul(node) < most {
        all.push(nodes.saturating_mul(node));
        nodes += (nodes.checked_ilog2().map_or(1, |power| 1 << power) / 8).max(1);
    }
    all.retain(|count| *count < most);
    all.push(most);
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::{FormInputs, MOST, SearchQuestion, SearchRequest, counts};
    use crate::scenario::codec::decode;

    const LINK: &str = "v1&m=llama3-70b&n=64&ker=megatron";

    fn read(lines: &str) -> Result<SearchRequest, String> {
        SearchRequest::read(
            &FormInputs::read(lines),
            &decode(LINK).scenario.resolve().expect("a job"),
        )
    }

    #[test]
    fn an_empty_form_asks_for_the_fewest() {
        let asked = read("").expect("a question");
        assert_eq!(
            (asked.question, asked.accelerators.len(), asked.days),
            (SearchQuestion::Fewest(MOST), 0, None)
        );
        assert_eq!(
            read("q=at\nn-fewest=7").map(|asked| asked.question),
            Ok(SearchQuestion::At(64))
        );
        assert_eq!(
            read("q=counts\nn-counts=2 048\ndays=30").map(|asked| (asked.question, asked.days)),
            Ok((SearchQuestion::UpTo(2048), Some(30.0)))
        );
        let several =
            read("acc-h100-80=on\nacc-a100-80=on\nprice-a100-80=1.5").expect("a question");
        assert_eq!(
            several.accelerators.iter().map(|(row, price)| (row.id, *price)).collect::<Vec<_>>(),
            [("h100-80", None), ("a100-80", Some(1.5))]
        );
    }

    #[test]
    fn what_cannot_be_read_is_a_sentence() {
        for (lines, part) in [
            ("q=at\nn-at=0", "GPUs"),
            ("q=at\nn-at=10000000", "1 000 000"),
            ("q=fewest\nn-fewest=many", "“many”"),
            ("q=counts\ndays=soon", "deadline"),
            ("q=counts\nprice=-1", "price"),
            ("acc-h100-80=on\nprice-h100-80=x", "price of"),
            ("lim-t=1, two", "tensor-parallel"),
            ("lim-p=0", "pipeline-parallel"),
        ] {
            let problem = read(lines).expect_err(lines);
            assert!(
                problem.replace(['\u{202f}', '\u{a0}'], " ").contains(part)
                    && problem.ends_with('.'),
                "{lines}: {problem}"
            );
        }
        assert!(read("q=fewest\ndays=soon").is_ok(), "only counts have a deadline");
    }

    #[test]
    fn counts_rise_and_end_with_the_budget() {
        assert_eq!(counts(8, 8), [1, 2, 4, 8]);
        assert_eq!(counts(20, 8), [1, 2, 4, 8, 16, 20]);
        assert_eq!(counts(1, 8), [1]);
        assert_eq!(counts(4, 1), [1, 2, 3, 4]);
        let many = counts(1_000_000, 8);
        assert!(
            many.windows(2).all(|pair| pair[0] < pair[1]) && many.len() < 200,
            "{}",
            many.len()
        );
        assert_eq!(many.last(), Some(&1_000_000));
    }

    #[test]
    fn limits_and_choices_reach_the_space() {
        let asked = read("q=at\nn-at=64\nlim-t=4, 8\nmore-schedules=on").expect("a question");
        let words = asked.space(&decode(LINK).scenario.resolve().expect("a job")).describe();
        assert!(
            words.contains("tensor-parallel: 4, 8;")
                && words.contains("DualPipe")
                && !words.contains("host memory"),
            "{words}"
        );
    }
}
