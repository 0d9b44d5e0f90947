//! The worked examples as data, and how a computed value is compared with a row.

pub mod capacity_planning;
pub mod distributed_overview;
pub mod eleuther;
pub mod ju_2026;
pub mod solenya;
mod vectors;

use headroom::config::Optimizer;
use headroom::methods::ActivationShape;
use headroom::units::{Bytes, DType, to_f64};
use serde_json::Value;

/// The optimizer with that key in links.
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
fn optimizer(key: &str) -> Optimizer {
    Optimizer::named(key).expect("an optimizer")
}

/// The value that a method's function returned for a row.
#[derive(Clone, Copy, Debug)]
pub enum Computed {
    /// Memory; compared to the byte where the row has `exact_bytes`.
    Bytes(Bytes),
    /// Anything else, in base units (parameters, FLOP, fractions); the row's unit says how to scale
    /// it.
    Number(f64),
}

impl From<Bytes> for Computed {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<u64> for Computed {
    fn from(count: u64) -> Self {
        Self::Number(to_f64(count))
    }
}

impl From<f64> for Computed {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// All worked examples.
pub struct Rows(Vec<Row>);

impl Rows {
    /// Reads `tests/data/worked_examples.json`.
    pub fn load() -> Self {
        let rows: Vec<Value> =
            serde_json::from_str(include_str!("../../../data/worked_examples.json")).unwrap();
        Self(rows.into_iter().map(Row).collect())
    }

    /// All rows, in the order of the file.
    pub fn all(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }

    /// The row of that id.
    pub fn find(&self, id: &str) -> Option<&Row> {
        self.all().find(|row| row.id() == id)
    }

    /// The row of that id, for rows that take an operand from another row of their document.
    pub fn get(&self, id: &str) -> &Row {
        self.find(id).unwrap_or_else(|| panic!("no row {id}"))
    }
}

/// One worked example.
pub struct Row(Value);

impl Row {
    fn text_of(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub fn id(&self) -> &str {
        self.text_of("id")
    }

    pub fn method(&self) -> &str {
        self.text_of("method")
    }

    /// The row's verdict without its reason.
    pub fn verdict_class(&self) -> String {
        let verdict = self.text_of("verdict");
        verdict.split(" because ").next().unwrap_or(verdict).to_owned()
    }

    fn input(&self, key: &str) -> &Value {
        let value = &self.0["inputs"][key];
        assert!(!value.is_null(), "{}: no input {key}", self.id());
        value
    }

    /// A numeric input.
    pub fn f(&self, key: &str) -> f64 {
        self.input(key).as_f64().unwrap_or_else(|| panic!("{}: {key} is no number", self.id()))
    }

    /// A whole input; some are written as floats.
    pub fn u(&self, key: &str) -> u64 {
        whole(self.f(key)).unwrap_or_else(|| panic!("{}: {key} is not whole", self.id()))
    }

    /// A list of whole inputs.
    pub fn list(&self, key: &str) -> Vec<u64> {
        self.input(key).as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
    }

    /// A text input.
    pub fn text(&self, key: &str) -> &str {
        self.input(key).as_str().unwrap_or_else(|| panic!("{}: {key} is no text", self.id()))
    }

    /// An object of whole inputs, in file order or not.
    pub fn pairs(&self, key: &str) -> Vec<(String, u64)> {
        self.input(key)
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_u64().unwrap()))
            .collect()
    }

    /// An amount given in decimal gigabytes.
    pub fn gb(&self, key: &str) -> Bytes {
        bytes_of(self.f(key) * 1e9)
    }

    /// An amount given in decimal terabytes.
    pub fn tb(&self, key: &str) -> Bytes {
        bytes_of(self.f(key) * 1e12)
    }

    /// A number format.
    pub fn dtype(&self, key: &str) -> DType {
        match self.text(key) {
            "fp32" => DType::Fp32,
            "bf16" | "fp16-bf16" => DType::Bf16,
            "fp16" => DType::Fp16,
            "fp8" => DType::Fp8,
            "int8" => DType::Int8,
            "int4" | "nf4" => DType::Int4,
            other => panic!("{}: format {other}", self.id()),
        }
    }

    /// The sizes with the batch of that key.
    pub fn shape(&self, batch: &str) -> ActivationShape {
        self.shape_with(self.u(batch), self.u("seq_length"))
    }

    /// The sizes with that batch and sequence length; sizes the row does not give are 0 and must
    /// not matter.
    pub fn shape_with(&self, batch_size: u64, seq_length: u64) -> ActivationShape {
        let optional = |key: &str| self.0["inputs"][key].as_u64().unwrap_or(0);
        ActivationShape {
            hidden_size: self.u("hidden_size"),
            num_hidden_layers: self.u("num_hidden_layers"),
            num_attention_heads: optional("num_attention_heads"),
            intermediate_size: optional("intermediate_size"),
            seq_length,
            batch_size,
        }
    }

    /// The value that the document prints.
    pub fn stated(&self) -> f64 {
        self.0["stated"].as_f64().unwrap_or_else(|| panic!("{}: nothing stated", self.id()))
    }

    /// All complaints about the computed value.
    pub fn check(&self, computed: Computed) -> Vec<String> {
        let mut failures = Vec::new();
        let (value, unit) = (self.in_unit(computed), self.text_of("exact_unit"));
        let exact =
            self.0["exact"].as_f64().unwrap_or_else(|| panic!("{}: no exact value", self.id()));
        if relative(value, exact) > 1e-12 {
            failures.push(format!("{}: computed {value} {unit}, exact {exact}", self.id()));
        }
        if let Some(bytes) = self.0["exact_bytes"].as_u64() {
            match computed {
                Computed::Bytes(Bytes(computed)) if computed == bytes => {}
                other => {
                    failures
                        .push(format!("{}: computed {other:?}, exact bytes {bytes}", self.id()));
                }
            }
        }
        if let Some(stated) = self.0["stated"].as_f64() {
            let recorded = self.0["relative_difference"].as_f64().unwrap();
            if ((stated - value) / value - recorded).abs() > 1e-9 {
                failures.push(format!(
                    "{}: relative difference {} is recorded as {recorded}",
                    self.id(),
                    (stated - value) / value
                ));
            }
            let half = 0.5 * 10_f64.powi(-self.decimals());
            if self.verdict_class() == "reproduces" && (stated - value).abs() > half * (1.0 + 1e-9)
            {
                failures.push(format!("{}: computed {value} {unit}, stated {stated}", self.id()));
            }
        }
        failures
    }

    /// Number of decimals of the stated value: recorded in the row, or else counted in its digits.
    fn decimals(&self) -> i32 {
        if let Some(decimals) = self.0["stated_decimals"].as_i64() {
            return i32::try_from(decimals).unwrap();
        }
        let text = self.0["stated"].to_string();
        text.split_once('.')
            .map_or(0, |(_, fraction)| i32::try_from(fraction.trim_end_matches('0').len()).unwrap())
    }

    /// The computed value in the row's unit.
    fn in_unit(&self, computed: Computed) -> f64 {
        let unit = self.text_of("exact_unit");
        let scale = match unit.split(' ').next().unwrap_or(unit) {
            "MB" | "million" => 1e6,
            "GB" | "billion" => 1e9,
            "TB" => 1e12,
            "%" => 0.01,
            _ => 1.0,
        };
        match computed {
            Computed::Bytes(bytes) => bytes.as_f64() / scale,
            Computed::Number(value) => value / scale,
        }
    }
}

fn relative(value: f64, exact: f64) -> f64 {
    if exact == 0.0 { value.abs() } else { ((value - exact) / exact).abs() }
}

/// That many bytes, rounded to a whole number.
fn bytes_of(bytes: f64) -> Bytes {
    Bytes(whole(bytes.round()).unwrap())
}

/// A float that is a whole, non-negative number.
fn whole(value: f64) -> Option<u64> {
    format!("{value:.0}").parse().ok().filter(|count| to_f64(*count).to_bits() == value.to_bits())
}
