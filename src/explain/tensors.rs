//! Lines of the ledger as formulas: a tensor from its named dimensions, width, count and sharding;
//! a line from its tensors.
//!
//! A formula is taken only where its value is the ledger's bytes exactly, in whole numbers;
//! otherwise the figure stands for itself.

use crate::estimator::{LineItem, MemoryKind, TensorLine};
use crate::ops::{self, Dim, OpList, Role, Split, Tensor};
use crate::sharding::CarriedOutBy;
use crate::units::DType;

use super::expr::{Expr, FormulaValue};
use super::inputs::Inputs;

/// The inputs and tensors with which lines are explained.
pub(super) struct Lines<'a> {
    pub inputs: Inputs<'a>,
    /// The operation list, whose tensors say over which ranks they are split; empty where shapes
    /// are a rank's own already.
    split: Vec<(&'static str, Tensor)>,
    /// Values that are gathered and reduced together where weights are shared out row by row, each
    /// group as a formula of its parts.
    groups: Vec<Expr>,
}

impl<'a> Lines<'a> {
    /// Prepares the explanation of a job's lines.
    pub fn of(inputs: Inputs<'a>) -> Self {
        let job = inputs.job;
        let listed = job.training().is_none_or(|run| run.stack.is_listed());
        let in_groups = !listed && job.layout().sharding.shards_gradients();
        let mut lines = Self { inputs, split: Vec::new(), groups: Vec::new() };
        if !listed && !in_groups {
            return lines;
        }
        let with = ops::lowering(job);
        let list = ops::lower(&with);
        if in_groups {
            lines.groups = lines.groups_of(&list);
            return lines;
        }
        let cache = job
            .training()
            .is_none()
            .then(|| ops::cache(&with, 0..job.model().num_hidden_layers).op);
        for op in list.all().chain(&cache) {
            lines.split.extend(op.tensors.iter().map(|tensor| (op.name, *tensor)));
        }
        lines
    }

    /// The groups of full sharding: a block of each kind, and everything outside the blocks. For
    /// each, all values, with rows filled up so that every rank has equally many, and the values
    /// that one rank keeps.
    fn groups_of(&self, list: &OpList) -> Vec<Expr> {
        let ends: Vec<_> = list.embedding.iter().chain(&list.head).cloned().collect();
        let blocks = list.kinds.iter().map(|kind| ("values of a block", &kind.ops));
        let mut found = Vec::with_capacity(6);
        for (label, ops) in blocks.chain([("values outside the blocks", &ends)]) {
            let parameters: Vec<&Tensor> =
                ops::tensors(ops, Role::Parameter).map(|(_, tensor)| tensor).collect();
            if parameters.is_empty() {
                continue;
            }
            let all = |kept: bool| {
                let each = parameters
                    .iter()
                    .map(|tensor| (tensor.name.to_owned(), self.rows_of(tensor, kept)))
                    .collect();
                Expr::sum(joined(each).into_iter().map(|(name, values)| counted(name, values)))
            };
            found.push(counted(label.to_owned(), all(false)));
            found.push(counted(format!("a rank's {label}"), all(true)));
        }
        found
    }

    /// The values of a parameter whose rows are dealt out: those that a rank keeps if `kept`, else
    /// those of all ranks.
    fn rows_of(&self, tensor: &Tensor, kept: bool) -> Expr {
        let ranks = self.inputs.shards();
        let mut dims = tensor.shape.dims().copied();
        let Some(rows) = dims.next() else { return Expr::whole(1) };
        let rest = dims.map(|dim| self.inputs.dim(dim));
        let whole = self.inputs.dim(rows);
        let own = whole.clone().over_up(ranks.clone());
        let rows = match (&own, kept) {
            (_, true) => own,
            // The rows divide evenly, so none are filled up.
            (Expr::Quotient(..), false) => whole,
            (_, false) => Expr::product([ranks, own]),
        };
        Expr::product(std::iter::once(rows).chain(rest))
    }

    /// One tensor's values before they are shared over data-parallel ranks, in every way in which
    /// they may be counted.
    fn values(&self, tensor: &TensorLine) -> Vec<Expr> {
        let whole = self.product(tensor.shape.dims().copied());
        let group = || self.groups.iter().find(|group| group.exact() == whole.exact());
        if let (Expr::Symbol(symbol), Some(group)) = (&whole, group())
            && symbol.name.is_empty()
        {
            return vec![group.clone()];
        }
        let found = self.split.iter().find(|(op, known)| {
            *op == tensor.op && known.name == tensor.name && known.shape == tensor.shape
        });
        match found {
            Some((_, known)) => vec![self.on_rank(known, whole)],
            None => vec![whole],
        }
    }

    fn product(&self, dims: impl Iterator<Item = Dim>) -> Expr {
        Expr::product(dims.map(|dim| self.inputs.dim(dim)))
    }

    /// A tensor's values on the most loaded tensor-parallel rank, as [`Tensor::elements_per_rank`]
    /// counts them.
    fn on_rank(&self, tensor: &Tensor, whole: Expr) -> Expr {
        let (t, layout) = (|| self.inputs.t(), self.inputs.job.layout());
        let activation = matches!(tensor.role, Role::Saved | Role::Workspace);
        // Values of one head: the product of the dimensions other than that of heads, or all values
        // over the heads.
        let of_each = |heads: u64| {
            let at = tensor.shape.dims().position(|dim| dim.1 == heads);
            match at {
                Some(at) => self.product(
                    tensor
                        .shape
                        .dims()
                        .enumerate()
                        .filter(|(place, _)| *place != at)
                        .map(|(_, dim)| *dim),
                ),
                None => Expr::Floor(
                    Box::new(whole.clone()),
                    Box::new(Expr::meant(heads.max(1), "heads")),
                ),
            }
        };
        let heads_of = |heads: u64| {
            let model = self.inputs.job.model();
            let all = if tensor.shape.dims().any(|dim| dim.0.contains("the state")) {
                Expr::meant(heads, "heads of the state or of its keys")
            } else if heads == model.num_attention_heads {
                self.inputs.heads()
            } else if heads == model.num_key_value_heads {
                self.inputs.kv_heads()
            } else {
                Expr::meant(heads, "heads")
            };
            all.over_up(t())
        };
        match tensor.split {
            _ if layout.t() <= 1 => whole,
            Split::Tensor => whole.over_up(t()),
            Split::Heads(heads) => Expr::product([of_each(heads), heads_of(heads)]),
            Split::Joint { heads, kv_heads } => {
                let two = Expr::meant(2, "keys and values");
                let columns = heads.saturating_add(kv_heads.saturating_mul(2)).max(1);
                let one = Expr::Floor(
                    Box::new(whole),
                    Box::new(Expr::meant(columns, "heads of queries, keys and values")),
                );
                Expr::product([
                    one,
                    Expr::sum([heads_of(heads), Expr::product([two, heads_of(kv_heads)])]),
                ])
            }
            Split::Replicated if activation && layout.sequence_parallel => whole.over_up(t()),
            Split::Replicated | Split::Rank => whole,
        }
    }

    /// True if lines of that kind are shared out over data-parallel ranks.
    fn is_shared(&self, kind: MemoryKind) -> bool {
        let sharding = self.inputs.job.layout().sharding;
        self.inputs.trains()
            && match kind {
                MemoryKind::Parameter => sharding.shards_parameters(),
                MemoryKind::Gradient => sharding.shards_gradients(),
                MemoryKind::OptimizerState => sharding.shards_optimizer(),
                _ => false,
            }
    }

    /// The ranks that share a tensor of a shared line out.
    fn ranks(&self, tensor: &TensorLine) -> Expr {
        let by_stack =
            self.inputs.job.training().is_some_and(|run| run.stack.sharding == CarriedOutBy::Stack);
        if !by_stack {
            return self.inputs.shards();
        }
        if tensor.shape.is_of_experts() {
            return self.inputs.expert_shards();
        }
        let (shards, cp) = (self.inputs.shards(), self.inputs.cp());
        Expr::product([shards, cp])
    }

    /// Bytes on this rank of one of the tensors of an entry of a line; `None` where no formula
    /// gives them.
    fn one(&self, kind: MemoryKind, tensor: &TensorLine) -> Option<Expr> {
        let each = (tensor.count > 0 && tensor.bytes.0.is_multiple_of(tensor.count))
            .then(|| tensor.bytes.0 / tensor.count)?;
        let shared = self.is_shared(kind);
        let mut ways: Vec<Expr> = Vec::with_capacity(4);
        if shared {
            // FSDP and the like deal out whole rows; flat buffers are cut anywhere.
            let mut dims = tensor.shape.dims().copied();
            if let Some(rows) = dims.next() {
                let rows = self.inputs.dim(rows).over_up(self.ranks(tensor));
                ways.push(Expr::product(
                    std::iter::once(rows).chain(dims.map(|dim| self.inputs.dim(dim))),
                ));
            }
            ways.extend(
                self.values(tensor).into_iter().map(|values| values.over_up(self.ranks(tensor))),
            );
        }
        ways.extend(self.values(tensor));
        ways.into_iter()
            .map(|values| stored(values, tensor.dtype))
            .find(|bytes| bytes.comes_to(each))
    }

    /// The bytes of all tensors of one entry of a line.
    pub fn tensor(&self, line: &LineItem, tensor: &TensorLine) -> Expr {
        let many = || Expr::meant(tensor.count, "how many of them this GPU holds");
        if let Some(one) = self.one(line.kind, tensor) {
            return if tensor.count == 1 { one } else { Expr::product([many(), one]) };
        }
        self.slice(line, tensor)
            .unwrap_or_else(|| itself(&format!("{}: {}", tensor.op, tensor.name), tensor.bytes.0))
    }

    /// A tensor's part of a flat buffer that ranks cut evenly: its end in a rank's share less its
    /// beginning.
    fn slice(&self, line: &LineItem, tensor: &TensorLine) -> Option<Expr> {
        if !self.is_shared(line.kind) {
            return None;
        }
        let alike =
            |other: &&TensorLine| other.shape.is_of_experts() == tensor.shape.is_of_experts();
        let before =
            line.tensors.iter().take_while(|other| !std::ptr::eq(*other, tensor)).filter(alike);
        let before = before
            .map(|other| self.all_values(other)?.exact())
            .try_fold(0_u128, |sum, count| sum.checked_add(count?))?;
        let before = Expr::word(
            "values before it",
            "values that lie before it in the buffer",
            FormulaValue::Whole(u64::try_from(before).ok()?),
        );
        let ranks = self.ranks(tensor);
        let end = Expr::sum([before.clone(), self.all_values(tensor)?]).over_up(ranks.clone());
        let own = Expr::Less(Box::new(end), Box::new(before.over_up(ranks)));
        Some(stored(own, tensor.dtype)).filter(|bytes| bytes.comes_to(tensor.bytes.0))
    }

    /// All values of an entry's tensors before sharing.
    fn all_values(&self, tensor: &TensorLine) -> Option<Expr> {
        let many = Expr::meant(tensor.count, "how many of them this GPU holds");
        let values = self.values(tensor).pop()?;
        Some(if tensor.count == 1 { values } else { Expr::product([many, values]) })
    }

    /// A line: the sum of its tensors, or one shared buffer.
    pub fn item(&self, line: &LineItem) -> Option<Expr> {
        if line.tensors.is_empty() {
            return None;
        }
        let found = self.buffer(line).unwrap_or_else(|| self.sum(line));
        Some(found).filter(|sum| sum.comes_to(line.bytes.0))
    }

    /// One flat buffer of everything, cut evenly: `⌈values / ranks⌉ · width`.
    fn buffer(&self, line: &LineItem) -> Option<Expr> {
        if !self.is_shared(line.kind) || line.tensors.len() < 2 {
            return None;
        }
        let dtype = line.tensors.first()?.dtype;
        let mut cut = Vec::with_capacity(2);
        for experts in [false, true] {
            let own: Vec<&TensorLine> = line
                .tensors
                .iter()
                .filter(|tensor| tensor.shape.is_of_experts() == experts)
                .collect();
            let Some(first) = own.first() else { continue };
            let ranks = self.ranks(first);
            let values = own.iter().map(|tensor| Some((name(tensor), self.all_values(tensor)?)));
            let values = joined(values.collect::<Option<Vec<_>>>()?);
            let values = Expr::sum(values.into_iter().map(|(label, how)| counted(label, how)));
            let total = whole(&values)?;
            let label =
                if experts { "expert parameters of this rank" } else { "parameters of this rank" };
            let all = Expr::part(label, FormulaValue::Whole(total), Some(values));
            cut.push(stored(all.over_up(ranks), dtype));
        }
        Some(Expr::sum(cut)).filter(|sum| sum.comes_to(line.bytes.0))
    }

    /// The sum over the tensors; equal terms are joined, and terms of tensors that are equally many
    /// are multiplied by their number once.
    fn sum(&self, line: &LineItem) -> Expr {
        let mut groups: Vec<(u64, Vec<(String, Expr)>)> = Vec::new();
        let mut rest = Vec::new();
        for tensor in &line.tensors {
            let Some(one) = self.one(line.kind, tensor) else {
                rest.push((name(tensor), self.tensor(line, tensor)));
                continue;
            };
            match groups.iter_mut().find(|(count, _)| *count == tensor.count) {
                Some((_, known)) => known.push((name(tensor), one)),
                None => groups.push((tensor.count, vec![(name(tensor), one)])),
            }
        }
        let mut terms = Vec::with_capacity(groups.len() + rest.len());
        for (count, tensors) in groups {
            let parts =
                joined(tensors).into_iter().map(|(label, how)| named(label, line.kind, how));
            let all = Expr::sum(parts);
            let many = Expr::meant(count, "how many of them this GPU holds");
            terms.push(if count == 1 { all } else { Expr::product([many, all]) });
        }
        terms.extend(joined(rest).into_iter().map(|(label, how)| named(label, line.kind, how)));
        let flat = terms.into_iter().flat_map(|term| match term {
            Expr::Sum(inner) => inner,
            other => vec![other],
        });
        Expr::sum(flat)
    }

    /// The largest tensors of some lines that have one shape: the formula of one, such as
    /// `2 · b · a · s² · 2`, and how many there are; `None` where no tensors stand out.
    pub fn largest(&self, lines: &[&LineItem]) -> Option<(String, u64, Expr)> {
        type Alike<'a> = (&'a TensorLine, Vec<(String, Expr)>, u64);
        let mut found: Vec<Alike> = Vec::new();
        for line in lines {
            for tensor in &line.tensors {
                let Some(one) = self.one(line.kind, tensor) else { continue };
                let alike = |(known, ..): &&mut Alike| {
                    known.shape == tensor.shape
                        && known.count == tensor.count
                        && known.dtype == tensor.dtype
                };
                match found.iter_mut().find(alike) {
                    Some((_, parts, bytes)) => {
                        parts.push((tensor.name.to_owned(), one));
                        *bytes = bytes.saturating_add(tensor.bytes.0);
                    }
                    None => {
                        found.push((tensor, vec![(tensor.name.to_owned(), one)], tensor.bytes.0));
                    }
                }
            }
        }
        let (tensor, parts, _) =
            found.into_iter().reduce(|best, other| if other.2 > best.2 { other } else { best })?;
        let parts = joined(parts);
        let labels: Vec<String> = parts.iter().map(|(label, _)| label.clone()).collect();
        Some((labels.join(", "), tensor.count, Expr::sum(parts.into_iter().map(|(_, one)| one))))
    }
}

/// The name of a tensor beside others of its line.
fn name(tensor: &TensorLine) -> String {
    tensor.name.to_owned()
}

/// Equal terms become one, with their number before it.
fn joined(terms: Vec<(String, Expr)>) -> Vec<(String, Expr)> {
    let mut alike: Vec<(Vec<String>, u64, Expr)> = Vec::with_capacity(terms.len());
    for (label, term) in terms {
        match alike.iter_mut().find(|(.., known)| *known == term) {
            Some((labels, count, _)) => {
                if !labels.contains(&label) {
                    labels.push(label);
                }
                *count += 1;
            }
            None => alike.push((vec![label], 1, term)),
        }
    }
    let join = |(labels, count, term): (Vec<String>, u64, Expr)| {
        (
            labels.join(", "),
            if count == 1 { term } else { Expr::product([Expr::whole(count), term]) },
        )
    };
    alike.into_iter().map(join).collect()
}

/// Bytes with their name, which are explained on a line of their own.
fn named(label: String, kind: MemoryKind, how: Expr) -> Expr {
    match whole(&how) {
        Some(bytes) => Expr::memory(label, Some(kind), bytes, Some(how)),
        None => how,
    }
}

/// Values with their name.
fn counted(label: String, how: Expr) -> Expr {
    match whole(&how) {
        Some(values) => Expr::part(label, FormulaValue::Whole(values), Some(how)),
        None => how,
    }
}

fn whole(expr: &Expr) -> Option<u64> {
    u64::try_from(expr.exact()?).ok()
}

/// Bytes of those values: times the bytes of one value, or times its bits over 8, rounded up, where
/// these are no whole bytes.
pub(super) fn stored(values: Expr, dtype: DType) -> Expr {
    let bits = dtype.bits();
    if bits.is_multiple_of(8) {
        return match bits / 8 {
            1 => values,
            width => Expr::product([
                values,
                Expr::meant(width, format!("bytes of one {} value", dtype.name())),
            ]),
        };
    }
    let bits = Expr::meant(bits, format!("bits of one {} value", dtype.name()));
    Expr::product([values, bits]).over_up(Expr::meant(8, "bits of a byte"))
}

/// A figure that stands for itself.
pub(super) fn itself(label: &str, bytes: u64) -> Expr {
    Expr::memory(label, None, bytes, None)
}
