//! A layout in words, and as a scenario.

use std::num::NonZeroU64;

use crate::config::{Choice, Offload, PipelineSchedule, PipelineSplit, Recompute};
use crate::planner::search::Degree;
use crate::scenario::{FieldId, Scenario, Value};

/// How a degree is called in a short line; those that are 1 are left out.
const SHORT: [(Degree, &str); 7] = [
    (Degree::Tensor, "TP"),
    (Degree::Context, "CP"),
    (Degree::Pipeline, "PP"),
    (Degree::Data, "DP"),
    (Degree::Expert, "EP"),
    (Degree::ExpertTensor, "ETP"),
    (Degree::Chunks, "VP"),
];

/// `TP 8 × PP 8 × DP 8 × VP 3, ZeRO-1, selective, micro-batch 1`: degrees above 1, then everything
/// that was chosen.
pub fn words(choice: &Choice) -> String {
    let layout = &choice.layout;
    let experts = layout.ep() > 1;
    let shown =
        |degree: Degree| degree.of(choice) > 1 && (degree != Degree::ExpertTensor || experts);
    let degrees: Vec<String> = SHORT
        .into_iter()
        .filter(|(degree, _)| shown(*degree))
        .map(|(degree, short)| format!("{short} {}", degree.of(choice)))
        .collect();
    let first = if degrees.is_empty() { "one GPU".to_owned() } else { degrees.join(" × ") };
    let mut parts = vec![first, layout.sharding.short.to_owned()];
    if layout.replicas() > 1 {
        parts.push(format!("{} sharding groups", layout.replicas()));
    }
    if layout.sequence_parallel {
        parts.push("sequence parallel".to_owned());
    }
    parts.extend(schedule(layout.pipeline_schedule).map(str::to_owned));
    parts.extend(split(layout.pipeline_split));
    parts.push(recompute(choice.recompute).to_owned());
    parts.extend(offload(layout.offload).map(str::to_owned));
    parts.push(format!("micro-batch {}", choice.micro_batch_size));
    parts.join(", ")
}

const fn recompute(recompute: Recompute) -> &'static str {
    match recompute {
        Recompute::None => "no recomputation",
        Recompute::Selective => "selective",
        Recompute::Full => "full recomputation",
    }
}

/// The schedule, unless it is the usual one.
const fn schedule(schedule: PipelineSchedule) -> Option<&'static str> {
    match schedule {
        PipelineSchedule::OneForwardOneBackward | PipelineSchedule::Interleaved => None,
        PipelineSchedule::GPipe => Some("GPipe"),
        PipelineSchedule::ZeroBubbleH1 => Some("ZB-H1"),
        PipelineSchedule::ZeroBubbleH2 => Some("ZB-H2"),
        PipelineSchedule::DualPipe => Some("DualPipe"),
    }
}

/// How layers are dealt out, unless evenly.
fn split(split: PipelineSplit) -> Option<String> {
    match split {
        PipelineSplit::Even => None,
        PipelineSplit::WithEnds => Some("embedding and loss as a layer each".to_owned()),
        PipelineSplit::Ends { first, last } => {
            let layers = |end: Option<NonZeroU64>| {
                end.map_or_else(|| "as others".to_owned(), |end| end.to_string())
            };
            Some(format!("{} and {} layers at the ends", layers(first), layers(last)))
        }
    }
}

const fn offload(offload: Offload) -> Option<&'static str> {
    match offload {
        Offload { optimizer: false, parameters: false, activations: false } => None,
        Offload { optimizer: true, parameters: false, activations: false } => {
            Some("optimizer in host memory")
        }
        _ => Some("more in host memory"),
    }
}

/// The fields that a layout sets.
pub const VARIED: [FieldId; 22] = [
    FieldId::Gpus,
    FieldId::TensorParallel,
    FieldId::PipelineParallel,
    FieldId::ContextParallel,
    FieldId::ExpertParallel,
    FieldId::ExpertTensorParallel,
    FieldId::VirtualPipeline,
    FieldId::PipelineSchedule,
    FieldId::FirstStageLayers,
    FieldId::LastStageLayers,
    FieldId::AccountForEnds,
    FieldId::SequenceParallel,
    FieldId::Sharding,
    FieldId::ReshardAfterForward,
    FieldId::ReduceInFp32,
    FieldId::ReduceOnce,
    FieldId::Replicas,
    FieldId::OffloadOptimizer,
    FieldId::OffloadParameters,
    FieldId::OffloadActivations,
    FieldId::MicroBatchSize,
    FieldId::Recompute,
];

/// The scenario with this layout; its job is the one that the search looked at.
pub fn taken(scenario: &Scenario, choice: &Choice) -> Scenario {
    let mut scenario = scenario.clone();
    let layout = &choice.layout;
    let end = |blocks: Option<NonZeroU64>| {
        blocks.map_or(Value::Empty, |blocks| Value::Integer(blocks.get()))
    };
    let (first, last) = match layout.pipeline_split {
        PipelineSplit::Ends { first, last } => (first, last),
        _ => (None, None),
    };
    // The field stays empty where its value is the one that an empty field means.
    let expert_tensor =
        if layout.etp() == layout.t() { Value::Empty } else { Value::Integer(layout.etp()) };
    let values = [
        Value::Integer(layout.world_size()),
        Value::Integer(layout.t()),
        Value::Integer(layout.p()),
        Value::Integer(layout.cp()),
        Value::Integer(layout.ep()),
        expert_tensor,
        Value::Integer(layout.chunks()),
        Value::choice(usual(layout.pipeline_schedule)),
        end(first),
        end(last),
        Value::Flag(layout.pipeline_split == PipelineSplit::WithEnds),
        Value::Flag(layout.sequence_parallel),
        Value::choice(layout.sharding),
        Value::Flag(layout.reshard_after_forward),
        Value::Flag(layout.reduce_in_fp32),
        Value::Flag(layout.reduce_once),
        Value::Integer(layout.replicas()),
        Value::Flag(layout.offload.optimizer),
        Value::Flag(layout.offload.parameters),
        Value::Flag(layout.offload.activations),
        Value::Integer(choice.micro_batch_size.get()),
        Value::choice(choice.recompute),
    ];
    for (field, value) in VARIED.into_iter().zip(values) {
        scenario.set(field, value);
    }
    scenario
}

/// The schedule as it can be chosen. Interleaving cannot: it follows from the chunks.
const fn usual(schedule: PipelineSchedule) -> PipelineSchedule {
    match schedule {
        PipelineSchedule::Interleaved => PipelineSchedule::OneForwardOneBackward,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::{taken, words};
    use crate::config::{Choice, Recompute};
    use crate::estimator::estimate;
    use crate::planner::search::{Search, SearchAxis, Space};
    use crate::scenario::codec::{decode, encode};
    use crate::units::Bytes;

    #[test]
    fn a_published_layout_reads_as_people_write_it() {
        let link = "v1&m=gpt3-175b&ker=megatron&n=512&tp=8&pp=8&vp=3&z=1&rc=selective&sp=true";
        let job = decode(link).scenario.resolve().expect("a job");
        let choice = Choice {
            layout: *job.layout(),
            micro_batch_size: NonZeroU64::MIN,
            recompute: Recompute::Selective,
        };
        assert_eq!(
            words(&choice),
            "TP 8 × PP 8 × DP 8 × VP 3, ZeRO-1, sequence parallel, selective, micro-batch 1"
        );
    }

    /// A scenario with a layout that was found resolves to a job with the layout's bytes, and its
    /// link keeps them.
    #[test]
    fn a_layout_that_is_taken_is_the_one_that_was_found() {
        let links = [
            ("v1&m=llama3-8b&n=8&ker=megatron&gb=16", SearchAxis::schedules()),
            ("v1&m=llama3-8b&n=8&gb=16&rs=false", SearchAxis::replicas()),
            ("v1&m=mixtral-8x7b&n=16&ker=megatron&gb=8&tp=2&etp=1&oa=true", SearchAxis::offloads()),
        ];
        for (link, axis) in links {
            let scenario = decode(link).scenario;
            let job = scenario.resolve().expect("a job");
            let most = job.layout().world_size();
            let space = Space::at(&job, &[1, 2, most / 2, most]).with(axis);
            let capacity = job.cluster().accelerator.memory;
            let answer = Search::new(&job, space).finish();
            let fits =
                answer.counts.iter().flat_map(|count| [count.leanest, count.fastest]).flatten();
            let fits = fits.map(|found| (found.choice, found.memory));
            let misses =
                answer.why_not.iter().filter_map(|why| Some((why.example, capacity + why.short?)));
            let all: Vec<(Choice, Bytes)> = fits.chain(misses).collect();
            assert!(all.len() > 5, "{link} {}", all.len());
            for (choice, bytes) in all {
                let again =
                    decode(&encode(&taken(&scenario, &choice))).scenario.resolve().expect("a job");
                assert_eq!(estimate(&again).total(), bytes, "{link} {}", words(&choice));
            }
        }
    }
}
