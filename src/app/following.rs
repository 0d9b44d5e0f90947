//! What follows the other inputs of serving: the smallest replica that runs, and the requests that the users make of it. No browser
//! in here.

use crate::config::Job;
use crate::planner::{StatedLayout, UserLoad, UsersAnswer, requests_of_users, smallest_replica};
use crate::scenario::{FOLLOWING, FieldId, FieldKind, Mode, Scenario, Value, field};

/// Gives every input that follows its value.
///
/// GPUs, tensor-parallel degree and pipeline stages: of the smallest replica on which the model runs with the requests that are stated,
/// or with as many as a fresh page has. Requests at once: those that the users make of the fullest replica, as far as they find room.
pub fn follow(scenario: &mut Scenario) {
    if scenario.mode() != Mode::Serve || !FOLLOWING.iter().any(|id| scenario.follows(*id)) {
        return;
    }
    let mut next = scenario.clone();
    for id in FOLLOWING {
        next.let_follow(id, next.start_of_following(id));
    }
    agree(&mut next);
    // With an input that needs a look first, all stays as it is but for what has to agree.
    let Ok(job) = next.resolve() else { return };
    follow_layout(&mut next, &job);
    follow_users(&mut next);
    *scenario = next;
}

fn whole(scenario: &Scenario, id: FieldId) -> u64 {
    match scenario.get(id) {
        Value::Integer(count) => count,
        _ => 1,
    }
}

/// As many GPUs as the degrees that were set need.
fn agree(scenario: &mut Scenario) {
    let group = [FieldId::TensorParallel, FieldId::PipelineParallel].map(|id| whole(scenario, id));
    scenario.let_follow(FieldId::Gpus, Value::Integer(group.into_iter().product()));
}

fn follow_layout(scenario: &mut Scenario, job: &Job) {
    let stated = |id| (!scenario.follows(id)).then(|| whole(scenario, id));
    let stated = StatedLayout {
        gpus: stated(FieldId::Gpus),
        tensor: stated(FieldId::TensorParallel),
        pipeline: stated(FieldId::PipelineParallel),
    };
    if stated.gpus.is_some() && stated.tensor.is_some() && stated.pipeline.is_some() {
        return;
    }
    let Some(layout) = smallest_replica(job, stated) else { return };
    let found = [
        (FieldId::TensorParallel, layout.t()),
        (FieldId::PipelineParallel, layout.p()),
        (FieldId::Gpus, layout.t() * layout.p()),
    ];
    for (id, count) in found {
        scenario.let_follow(id, Value::Integer(count));
    }
}

/// The requests of the fullest replica, or as many as find room there; without users as many as a fresh page has.
fn follow_users(scenario: &mut Scenario) {
    if !scenario.follows(FieldId::ConcurrentSequences) {
        return;
    }
    let requests = scenario.resolve().ok().and_then(|job| requests_of_users(&job));
    if let (Some(requests), FieldKind::Integer { max, .. }) = (requests, field(FieldId::ConcurrentSequences).kind) {
        scenario.let_follow(FieldId::ConcurrentSequences, Value::Integer(requests.min(max)));
    }
}

/// The fewest GPUs that carry the users, where the scenario can be and is not already on them.
pub fn adoptable(answer: &UsersAnswer) -> Option<&UserLoad> {
    let FieldKind::Integer { max, .. } = field(FieldId::Gpus).kind else { return None };
    let fewest = answer.fewest.as_ref().filter(|fewest| fewest.gpus <= max)?;
    let same = (gpus_of(fewest), fewest.layout) == (answer.own.gpus, answer.own.layout);
    (!same).then_some(fewest)
}

/// GPUs that the replicas use: of a node that they do not fill, some stay idle.
const fn gpus_of(load: &UserLoad) -> u64 {
    load.replicas.saturating_mul(load.layout.world_size())
}

/// Sets the GPUs and the layout that carry the users.
pub fn adopt(scenario: &mut Scenario, load: &UserLoad) {
    let found = [
        (FieldId::TensorParallel, load.layout.t()),
        (FieldId::PipelineParallel, load.layout.p()),
        (FieldId::Gpus, gpus_of(load)),
    ];
    for (id, count) in found {
        scenario.set(id, Value::Integer(count));
    }
}
