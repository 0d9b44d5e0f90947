//! Parts of a row of patches that attend to themselves alone: images, and windows of them.

use crate::config::AttentionKernel;
use crate::ops::modules::attention_core::Core;
use crate::ops::modules::{Build, Tables};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;

/// Parts of the row that attend to themselves alone, in groups of one length.
#[derive(Debug)]
pub(super) struct Chunks {
    /// How many patches the parts of each group have, the shape of them, `[1, heads, patches,
    /// width]`, and the core that runs them.
    groups: Vec<(u64, Form, Core)>,
    /// One number for each part and one more, and one for each.
    pub ends: Form,
    pub lengths: Form,
}

/// As many parts run one by one, where attention is written out.
const ONE_BY_ONE: u64 = 16;

impl Chunks {
    /// The parts of so many images, each of which has parts of those lengths.
    pub fn new(
        build: &Build<'_>,
        [heads, head]: [Dim; 2],
        (images, lengths): (u64, &[u64]),
    ) -> Self {
        let count = u64::try_from(lengths.len()).unwrap_or(u64::MAX).saturating_mul(images);
        let written = build.with.attention == AttentionKernel::Standard;
        let groups =
            grouped(lengths, images, (written, count)).into_iter().map(|(count, length)| {
                let rows = Dim("patches", length.saturating_mul(count));
                let form = build.tape.form([Dim("one", 1), heads, rows, head]);
                (length, form, Core::of_parts(build, [heads, head], (count, length)))
            });
        let [each, ends] =
            [count, count.saturating_add(1)].map(|count| build.tape.form([Dim("ends", count)]));
        Self { groups: groups.collect(), ends, lengths: each }
    }

    /// Attention within each part, and all results in one row; and the results themselves.
    pub fn attend<'t>(
        &self,
        tape: &'t Tape,
        qkv: [&Var<'t>; 3],
        form: Form,
    ) -> Option<(Var<'t>, Vec<Var<'t>>)> {
        let forms: Vec<Form> = self.groups.iter().map(|group| group.1).collect();
        let [queries, keys, values] = qkv.map(|x| x.clone().parts_of(&forms));
        let groups = self.groups.iter().zip(queries.iter().zip(&keys).zip(&values));
        let seen: Vec<Var<'t>> = groups
            .map(|((length, _, core), ((q, k), v))| {
                tape.meets_so_many(*length);
                core.run((q, k, v), &Tables::default()).0
            })
            .collect();
        Var::stacked(&seen, form).map(|joined| (joined, seen))
    }
}

/// Groups of parts: how many parts of which length. What a part takes for itself goes before the
/// next, so that the first, whose backward comes last, stands alone; where attention is written
/// out, the last does too, before which all others are there.
fn grouped(lengths: &[u64], images: u64, (written, count): (bool, u64)) -> Vec<(u64, u64)> {
    let one = |length: &u64| (1, *length);
    if written && count <= ONE_BY_ONE {
        return (0..images).flat_map(|_| lengths.iter().map(one)).collect();
    }
    let mut rest: Vec<(u64, u64)> = Vec::with_capacity(4);
    for length in lengths {
        match rest.iter_mut().find(|(_, known)| known == length) {
            Some(found) => found.0 = found.0.saturating_add(images),
            None => rest.push((images, *length)),
        }
    }
    let (first, last) = (lengths.first(), lengths.last().filter(|_| written && count > 1));
    for alone in first.into_iter().chain(last) {
        if let Some(found) = rest.iter_mut().find(|(_, known)| known == alone) {
            found.0 = found.0.saturating_sub(1);
        }
    }
    rest.retain(|(count, _)| *count > 0);
    first.into_iter().map(one).chain(rest).chain(last.map(one)).collect()
}
