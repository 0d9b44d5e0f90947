//! The smallest number of accelerators that can really run, by a method's own memory.

use crate::units::{Bytes, MemoryUnit};

use super::{GpuAnswer, MethodInputs, product};

/// The largest divisor that is searched for directly; the larger ones are found as its cofactors.
const SEARCH_LIMIT: u64 = 1 << 16;

/// The rules that a training layout must respect, and the memory that one rank needs.
pub(super) struct Rules<'a> {
    /// Tensor degree, which the search keeps.
    pub t: u64,
    /// Pipeline degree, which the search keeps.
    pub p: u64,
    /// Query heads, which `t` must divide.
    pub num_attention_heads: u64,
    /// Layers, which `p` must divide.
    pub num_hidden_layers: u64,
    /// Sequences per step.
    pub global_batch_size: u64,
    /// Sequences held at once; `None`: the rank's whole share, no accumulation.
    pub micro_batch_size: Option<u64>,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// Accelerators of one node.
    pub accelerators_per_node: u64,
    /// How amounts are written.
    pub unit: MemoryUnit,
    /// Bytes on one rank, from the number of data-parallel ranks and the sequences held at once.
    pub memory: &'a dyn Fn(u64, u64) -> Bytes,
}

/// A number of ranks with the memory that each holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// Accelerators in all.
    pub gpus: u64,
    /// Sequences each rank holds at once.
    pub sequences: u64,
    /// Bytes that each rank needs.
    pub bytes: Bytes,
}

impl<'a> Rules<'a> {
    /// The rules of a scenario for a method that keeps `t` and `p`.
    pub fn of(
        inputs: &MethodInputs,
        unit: MemoryUnit,
        memory: &'a dyn Fn(u64, u64) -> Bytes,
    ) -> Self {
        Self {
            t: inputs.tensor_model_parallel_size.max(1),
            p: inputs.pipeline_model_parallel_size.max(1),
            num_attention_heads: inputs.num_attention_heads,
            num_hidden_layers: inputs.num_hidden_layers,
            global_batch_size: inputs.global_batch_size.max(1),
            micro_batch_size: inputs.fixed_micro_batch.then(|| inputs.micro_batch_size.max(1)),
            capacity: inputs.capacity,
            accelerators_per_node: inputs.accelerators_per_node.max(1),
            unit,
            memory,
        }
    }

    /// These rules for a method that knows data parallelism only and no accumulation.
    pub fn data_parallel_only(self) -> Self {
        Self { t: 1, p: 1, micro_batch_size: None, ..self }
    }

    /// The smallest placement that fits, if there is one.
    pub fn smallest(&self) -> Option<Placement> {
        if self.layout_problem().is_some() {
            return None;
        }
        let whole_nodes = |gpus: u64| {
            gpus <= self.accelerators_per_node || gpus.is_multiple_of(self.accelerators_per_node)
        };
        self.ranks()
            .into_iter()
            .map(|ranks| self.place(ranks))
            .find(|placement| whole_nodes(placement.gpus) && placement.bytes <= self.capacity)
    }

    /// Both counts, and the reason for their difference in words.
    pub fn answer(&self, arithmetic: Option<u64>) -> GpuAnswer {
        let found = self.smallest();
        let reason = match (self.layout_problem(), found) {
            (Some(problem), _) => problem,
            (None, None) => self.why_never(),
            (None, Some(found)) => self.why_this(arithmetic, found),
        };
        GpuAnswer { arithmetic, runnable: found.map(|placement| placement.gpus), reason }
    }

    fn ranks(&self) -> Vec<u64> {
        divisors(self.global_batch_size / self.micro_batch_size.unwrap_or(1).max(1))
    }

    fn place(&self, ranks: u64) -> Placement {
        let sequences =
            self.micro_batch_size.unwrap_or_else(|| self.global_batch_size.div_ceil(ranks.max(1)));
        Placement {
            gpus: product([self.t, self.p, ranks]),
            sequences,
            bytes: (self.memory)(ranks, sequences),
        }
    }

    fn layout_problem(&self) -> Option<String> {
        let Self {
            t,
            p,
            num_attention_heads: heads,
            num_hidden_layers: layers,
            global_batch_size: batch,
            ..
        } = *self;
        let micro = self.micro_batch_size.unwrap_or(1).max(1);
        if !heads.is_multiple_of(t) {
            Some(format!("{heads} attention heads cannot be split evenly over {t} tensor ranks."))
        } else if !layers.is_multiple_of(p) {
            Some(format!("{layers} layers cannot be split evenly over {p} pipeline stages."))
        } else if !batch.is_multiple_of(micro) {
            Some(format!("A batch of {batch} is not a whole number of micro-batches of {micro}."))
        } else {
            None
        }
    }

    fn why_never(&self) -> String {
        let most = self.ranks().last().copied().unwrap_or(1);
        let placed = self.place(most);
        let (need, room) = (self.unit.show(placed.bytes), self.unit.show(self.capacity));
        let batch = sequences(self.global_batch_size);
        let held = sequences(placed.sequences);
        if placed.bytes <= self.capacity {
            let node = self.accelerators_per_node;
            return format!(
                "No count that fits shares {batch} evenly and fills whole nodes of {node}."
            );
        }
        format!(
            "At most {} can share {batch} in whole micro-batches; even then one holds {held} and \
             needs {need} of {room}.",
            ranks(most)
        )
    }

    fn why_this(&self, arithmetic: Option<u64>, found: Placement) -> String {
        let holds = format!(
            "{} can run: each rank holds {} at once and needs {} of {}.",
            gpus(found.gpus),
            sequences(found.sequences),
            self.unit.show(found.bytes),
            self.unit.show(self.capacity)
        );
        match arithmetic {
            Some(count) if count != found.gpus => format!("{} {holds}", self.why_not(count)),
            _ => holds,
        }
    }

    /// The reason why exactly `count` accelerators are not the answer.
    fn why_not(&self, count: u64) -> String {
        let instance = product([self.t, self.p]).max(1);
        let per_node = self.accelerators_per_node;
        let batch = self.global_batch_size;
        if !count.is_multiple_of(instance) {
            return format!("{count} is not a multiple of the {instance} GPUs of one model copy.");
        }
        let placed = self.place((count / instance).max(1));
        let (need, room) = (self.unit.show(placed.bytes), self.unit.show(self.capacity));
        let shared = product([count / instance, self.micro_batch_size.unwrap_or(1)]).max(1);
        if !batch.is_multiple_of(shared) {
            return format!(
                "{shared} does not divide {batch}: one rank would hold {} and need {need} of \
                 {room}.",
                sequences(placed.sequences)
            );
        }
        if count > per_node && !count.is_multiple_of(per_node) {
            return format!("{} do not fill whole nodes of {per_node}.", gpus(count));
        }
        if placed.bytes > self.capacity {
            return format!("With {} one would need {need} of {room}.", gpus(count));
        }
        format!("{} would fit too, but fewer do.", gpus(count))
    }
}

/// Returns the tensor and the pipeline degree for an instance of that many accelerators; `None`
/// where no degrees fit.
///
/// It is the largest tensor degree that divides the query heads, fits one node and either divides
/// the key/value heads or is divided by them, with the rest as stages that divide the layers.
///
/// ```
/// # use headroom::methods::instance_shape;
/// assert_eq!(instance_shape(14, 64, 8, 80, 8), None);
/// assert_eq!(instance_shape(40, 64, 8, 80, 8), Some((8, 5)));
/// ```
pub fn instance_shape(
    gpus: u64,
    num_attention_heads: u64,
    num_key_value_heads: u64,
    num_hidden_layers: u64,
    accelerators_per_node: u64,
) -> Option<(u64, u64)> {
    let kv = num_key_value_heads.max(1);
    let splits = |t: &u64| {
        gpus.is_multiple_of(*t)
            && num_attention_heads.is_multiple_of(*t)
            && (kv.is_multiple_of(*t) || t.is_multiple_of(kv))
            && num_hidden_layers.is_multiple_of(gpus / t)
    };
    let largest = gpus.min(accelerators_per_node).min(num_attention_heads).min(SEARCH_LIMIT);
    (1..=largest).rev().find(splits).map(|t| (t, gpus / t))
}

/// The smallest serving instance from `arithmetic` accelerators upwards that has a shape and fills
/// whole nodes.
pub(super) fn smallest_instance(inputs: &MethodInputs, arithmetic: u64) -> Option<(u64, u64, u64)> {
    let node = inputs.accelerators_per_node.max(1);
    let most =
        product([node.min(inputs.num_attention_heads), inputs.num_hidden_layers]).min(SEARCH_LIMIT);
    (arithmetic.max(1)..=most).filter(|gpus| *gpus <= node || gpus.is_multiple_of(node)).find_map(
        |gpus| {
            let MethodInputs {
                num_attention_heads, num_key_value_heads, num_hidden_layers, ..
            } = *inputs;
            let (t, p) = instance_shape(
                gpus,
                num_attention_heads,
                num_key_value_heads,
                num_hidden_layers,
                node,
            )?;
            Some((gpus, t, p))
        },
    )
}

/// "40 GPUs as 8 tensor ranks × 5 stages".
pub(super) fn instance_in_words(count: u64, t: u64, p: u64) -> String {
    format!(
        "{} as {} × {}",
        gpus(count),
        counted(t, "tensor rank", "tensor ranks"),
        counted(p, "stage", "stages")
    )
}

/// All divisors in ascending order; above 2³² those whose smaller cofactor exceeds 2¹⁶ are left
/// out.
fn divisors(number: u64) -> Vec<u64> {
    let number = number.max(1);
    let small: Vec<u64> = (1..=SEARCH_LIMIT)
        .take_while(|i| i.saturating_mul(*i) <= number)
        .filter(|i| number.is_multiple_of(*i))
        .collect();
    let large = small.iter().rev().map(|i| number / i).filter(|i| !small.contains(i));
    let large: Vec<u64> = large.collect();
    small.into_iter().chain(large).collect()
}

/// "1 stage", "5 stages".
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

fn sequences(count: u64) -> String {
    counted(count, "sequence", "sequences")
}

fn ranks(count: u64) -> String {
    counted(count, "rank", "ranks")
}

/// "1 GPU", "16 GPUs".
pub(super) fn gpus(count: u64) -> String {
    counted(count, "GPU", "GPUs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_complete_and_sorted() {
        assert_eq!(divisors(1), [1]);
        assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
        assert_eq!(divisors(0), [1]);
        assert_eq!(divisors(97), [1, 97]);
    }

    #[test]
    fn fourteen_cards_have_no_shape_and_sixteen_do() {
        assert_eq!(instance_shape(14, 64, 8, 80, 8), None);
        assert_eq!(instance_shape(16, 64, 8, 80, 8), Some((8, 2)));
        assert_eq!(instance_shape(3, 64, 8, 80, 8), None);
        assert_eq!(instance_shape(4, 64, 8, 80, 8), Some((4, 1)));
    }
}
