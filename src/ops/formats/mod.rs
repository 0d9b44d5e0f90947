//! Bytes that quantised weights and caches really take: one table of formats, each with the tensors
//! stored beside the numbers.
//!
//! Bytes follow from the shapes of the operation list. Parameters that a format leaves alone
//! (embedding, head, norms, biases, routers) stay in 16 bits, or as the format's software stores
//! them.

mod gguf;

use crate::config::{CacheFormat, ModelConfig, WeightFormat};
use crate::sources::{self, Source};
use crate::units::{Bytes, DType, Elements};

use super::tensor::{Dim, Op, Shape, Tensor};

/// Where a parameter stands, as far as formats tell parameters apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The table of tokens.
    Embedding,
    /// The output head.
    Head,
    Query,
    Key,
    Value,
    /// Queries, keys and values, or keys and values, in one matrix.
    Joint,
    /// Attention's output.
    Output,
    /// Into the feed-forward layer or an expert: up and gate.
    Up,
    /// Out of it.
    Down,
    /// Any other matrix.
    Other,
    /// Parameters that no format quantises: vectors, positions, routers.
    Small,
}

/// The place of a parameter, from the names under which modules declare them.
fn place(tensor: &Tensor) -> Place {
    match tensor.name {
        "token embedding" | "embedding of each layer" => Place::Embedding,
        "head weight" => Place::Head,
        "position embedding" | "router weight" => Place::Small,
        // A gate with one column weighs the shared experts.
        _ if !tensor.name.contains("weight") || rows(&tensor.shape) <= 1 => Place::Small,
        "query weight" => Place::Query,
        "key weight" => Place::Key,
        "value weight" => Place::Value,
        "query, key and value weight" | "key and value weight" => Place::Joint,
        "output weight" => Place::Output,
        "gate weight" | "up weight" | "gate and up weight" | "gate and up weights" => Place::Up,
        "down weight" | "down weights" => Place::Down,
        _ => Place::Other,
    }
}

/// Numbers that one output column of a matrix is a sum over: modules declare `[output, input]`,
/// experts in front.
fn input(shape: &Shape) -> u64 {
    shape.dims().last().map_or(1, |dim| dim.1).max(1)
}

/// Output columns of all its matrices together.
fn rows(shape: &Shape) -> u64 {
    if shape.dims().count() < 2 { 1 } else { shape.elements().0 / input(shape) }
}

/// Matrices in a parameter: one for each expert.
pub(crate) fn matrices(shape: &Shape) -> u64 {
    if shape.dims().count() > 2 { shape.dims().next().map_or(1, |dim| dim.1) } else { 1 }
}

/// The weights that share one value of a further tensor, such as a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    /// So many numbers along the input of one output column.
    Group(u64),
    /// As many as the user says.
    ChosenGroup,
    /// All numbers of one output column.
    Column,
    /// A square of so many output columns and inputs.
    Square(u64),
    /// So many numbers, wherever they stand.
    Flat(u64),
    /// A whole matrix.
    Matrix,
}

impl Per {
    /// Values for a whole tensor.
    fn values(self, shape: &Shape, group_size: u64) -> u64 {
        let along = |size: u64| rows(shape).saturating_mul(input(shape).div_ceil(size.max(1)));
        match self {
            Self::Group(size) => along(size),
            Self::ChosenGroup => along(group_size),
            Self::Column => rows(shape),
            Self::Square(side) => {
                let each = rows(shape) / matrices(shape).max(1);
                let squares = each.div_ceil(side).saturating_mul(input(shape).div_ceil(side));
                matrices(shape).saturating_mul(squares)
            }
            Self::Flat(size) => shape.elements().0.div_ceil(size),
            Self::Matrix => matrices(shape),
        }
    }
}

/// Which matrices a format quantises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covers {
    /// All linear layers but the output head.
    Linear,
    /// The experts alone where there are experts, as in gpt-oss.
    Experts,
}

/// A tensor stored beside the weights.
type Beside = (&'static str, DType, Per);

/// One format that is stored as tensors.
struct Format {
    of: WeightFormat,
    covers: Covers,
    beside: &'static [Beside],
    source: Source,
}

const SCALES: &str = "scales";
const ZEROS: &str = "zero points";

/// Every format that is stored as tensors; GGUF is stored in blocks.
const FORMATS: [Format; 10] = [
    of(WeightFormat::Fp8Tensor, &[(SCALES, DType::Fp32, Per::Matrix)], sources::VLLM_QUANTIZATION),
    of(WeightFormat::Fp8Channel, &[(SCALES, DType::Fp32, Per::Column)], sources::VLLM_QUANTIZATION),
    of(WeightFormat::Fp8Block, &[(SCALES, DType::Fp32, Per::Square(128))], sources::DEEPSEEK_V3),
    of(
        WeightFormat::Int8Channel,
        &[(SCALES, DType::Fp32, Per::Column)],
        sources::VLLM_QUANTIZATION,
    ),
    of(
        WeightFormat::Gptq,
        &[(SCALES, DType::Fp16, Per::ChosenGroup), (ZEROS, DType::Int4, Per::ChosenGroup)],
        sources::GPTQ_2022,
    ),
    of(
        WeightFormat::Awq,
        &[(SCALES, DType::Fp16, Per::ChosenGroup), (ZEROS, DType::Int4, Per::ChosenGroup)],
        sources::AWQ_2023,
    ),
    of(WeightFormat::Nf4, &[(SCALES, DType::Fp32, Per::Flat(64))], sources::QLORA_2023),
    of(
        WeightFormat::Nf4Double,
        &[
            (SCALES, DType::Int8, Per::Flat(64)),
            ("scales of the scales", DType::Fp32, Per::Flat(64 * 256)),
        ],
        sources::QLORA_2023,
    ),
    Format {
        covers: Covers::Experts,
        ..of(WeightFormat::Mxfp4, &[(SCALES, DType::Int8, Per::Group(32))], sources::OCP_MX_2023)
    },
    of(
        WeightFormat::Nvfp4,
        &[(SCALES, DType::Fp8, Per::Group(16)), ("scales of all", DType::Fp32, Per::Matrix)],
        sources::NVFP4,
    ),
];

const fn of(format: WeightFormat, beside: &'static [Beside], source: Source) -> Format {
    Format { of: format, covers: Covers::Linear, beside, source }
}

/// The weights of one job's model in their format.
#[derive(Clone, Copy)]
pub struct Formats {
    format: WeightFormat,
    table: Option<&'static Format>,
    facts: gguf::Facts,
    has_experts: bool,
    group_size: u64,
}

/// Bytes that one parameter takes on a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredParameter {
    /// Format of the numbers.
    pub dtype: DType,
    /// The numbers.
    pub bytes: Bytes,
    /// Tensors stored beside the numbers: name, format, number of values, bytes.
    pub beside: [Option<(&'static str, DType, u64, Bytes)>; 2],
}

impl StoredParameter {
    /// Returns the bytes of the numbers and of the tensors beside them.
    pub fn total(&self) -> Bytes {
        self.bytes + self.extra()
    }

    /// Returns the bytes of the tensors beside the numbers.
    pub fn extra(&self) -> Bytes {
        self.beside.iter().flatten().map(|beside| beside.3).sum()
    }
}

impl Formats {
    /// Returns the format `format` for that model; `group_size` counts for formats that leave it
    /// open.
    pub fn of(model: &ModelConfig, format: WeightFormat, group_size: u64) -> Self {
        let table = FORMATS.iter().find(|row| row.of == format);
        let has_experts = model.moe.is_some();
        Self {
            format,
            table,
            facts: gguf::Facts::of(model),
            has_experts,
            group_size: group_size.max(1),
        }
    }

    /// Where the format is described.
    pub fn source(&self) -> Source {
        match self.table {
            Some(row) => row.source,
            None if self.format.is_plain() => sources::ARITHMETIC,
            None => sources::GGUF,
        }
    }

    /// Calls `visit` with the bytes that `elements` of a parameter's elements take in each of those
    /// layers; layers alike are counted together.
    pub fn each(
        &self,
        tensor: &Tensor,
        elements: u64,
        layers: impl Iterator<Item = u64>,
        mut visit: impl FnMut(StoredParameter, u64),
    ) {
        let place = place(tensor);
        if self.table.is_some() || self.format.is_plain() || !gguf::by_layer(place) {
            let count = u64::try_from(layers.count()).unwrap_or(u64::MAX);
            if count > 0 {
                visit(self.stored_at(tensor, place, 0, elements), count);
            }
            return;
        }
        let input = input(&tensor.shape);
        let mut kinds: Vec<(gguf::Block, u64, u64)> = Vec::with_capacity(3);
        for layer in layers {
            let block = gguf::chosen(self.format, place, (layer, input), &self.facts);
            match kinds.iter_mut().find(|(known, ..)| *known == block) {
                Some((_, _, count)) => *count += 1,
                None => kinds.push((block, layer, 1)),
            }
        }
        for (_, layer, count) in kinds {
            visit(self.stored_at(tensor, place, layer, elements), count);
        }
    }

    /// Returns the bytes that `elements` of a parameter's elements take outside the layers.
    pub fn stored(&self, tensor: &Tensor, elements: u64) -> StoredParameter {
        self.stored_at(tensor, place(tensor), 0, elements)
    }

    /// Bytes that `elements` of a parameter's elements take in that layer.
    fn stored_at(
        &self,
        tensor: &Tensor,
        place: Place,
        layer: u64,
        elements: u64,
    ) -> StoredParameter {
        let shape = &tensor.shape;
        let all = shape.elements().0.max(1);
        // A rank's share of the values that belong to whole rows or groups.
        let share = |values: u64| {
            let part = u128::from(values) * u128::from(elements);
            u64::try_from(part.div_ceil(u128::from(all))).unwrap_or(u64::MAX)
        };
        let plain = |dtype| StoredParameter {
            dtype,
            bytes: Elements(elements).stored_as(dtype),
            beside: [None; 2],
        };
        if self.table.is_none() && self.format.is_plain() {
            return plain(self.format.dtype());
        }
        if shape.is_of_copies() {
            // Quantised files keep vision towers in 16 bits.
            return plain(DType::Bf16);
        }
        let Some(row) = self.table else {
            let block = gguf::chosen(self.format, place, (layer, input(shape)), &self.facts);
            let mut stored = plain(block.payload);
            if block.beside > 0 {
                let bytes =
                    share(Per::Group(block.numbers).values(shape, 1)).saturating_mul(block.beside);
                stored.beside =
                    [Some(("scales of blocks", DType::Int8, bytes, Bytes(bytes))), None];
            }
            return stored;
        };
        let expert = matrices(shape) > 1 || !self.has_experts;
        let covered = !matches!(place, Place::Small | Place::Embedding | Place::Head);
        if !covered || (row.covers == Covers::Experts && !expert) {
            return plain(DType::Bf16);
        }
        let mut stored = plain(self.format.dtype());
        for (slot, (name, dtype, per)) in stored.beside.iter_mut().zip(row.beside) {
            let values = share(per.values(shape, self.group_size));
            *slot = Some((name, *dtype, values, Elements(values).stored_as(*dtype)));
        }
        stored
    }
}

/// Values that a cache stores beside its numbers for each head and token, by the width of a head:
/// their name and how many there are; `None` for formats without such values.
pub(super) fn beside_cache(format: CacheFormat, width: u64) -> Option<(&'static str, u64)> {
    match format {
        CacheFormat::Int4 => Some(("scales and zero points", 2)),
        CacheFormat::Q8_0 | CacheFormat::Q4_0 => Some(("scales of blocks", width.div_ceil(32))),
        _ => None,
    }
}

/// Returns a shape of values beside the weights.
pub fn values(count: u64) -> Shape {
    Shape::of([Dim("values", count)])
}

/// Returns true if a parameter belongs to experts of which a token takes some.
pub fn is_routed(op: &Op, tensor: &Tensor) -> bool {
    matrices(&tensor.shape) > 1 && op.name.starts_with("Experts")
}
