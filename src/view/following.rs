//! Inputs of serving that follow the others: the smallest replica that runs, and the requests that
//! the users make of it. No browser in here.

use super::modules::job_of;
use crate::config::Job;
use crate::planner::{StatedLayout, UserLoad, UsersAnswer, requests_of_users, smallest_replica};
use crate::scenario::{FOLLOWING, FieldId, FieldKind, Mode, Scenario, Value, field};

/// Gives every input that follows its value.
///
/// GPUs, tensor-parallel degree and pipeline stages: of the smallest replica on which the model
/// runs with the requests that are stated, or with as many as a fresh page has. Requests at once:
/// those that the users make of the fullest replica, as far as they find room.
pub fn follow(scenario: &mut Scenario) {
    if scenario.mode() != Mode::Serve || !FOLLOWING.iter().any(|id| scenario.follows(*id)) {
        return;
    }
    let mut next = scenario.clone();
    for id in FOLLOWING {
        next.let_follow(id, next.start_of_following(id));
    }
    next.follow_degrees();
    // With an input that needs a look first, all stays as it is but for what has to agree.
    let Ok(job) = job_of(&next) else { return };
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
    for (id, degree) in
        [(FieldId::TensorParallel, layout.t()), (FieldId::PipelineParallel, layout.p())]
    {
        scenario.let_follow(id, Value::Integer(degree));
    }
    scenario.follow_degrees();
}

/// The requests of the fullest replica, or as many as find room there; without users as many as a
/// fresh page has.
fn follow_users(scenario: &mut Scenario) {
    if !scenario.follows(FieldId::ConcurrentSequences) {
        return;
    }
    let requests = job_of(scenario).ok().and_then(|job| requests_of_users(&job));
    if let (Some(requests), FieldKind::Integer { max, .. }) =
        (requests, field(FieldId::ConcurrentSequences).kind)
    {
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

#[cfg(test)]
mod tests {
    use super::{adopt, adoptable, follow};
    use crate::estimator::Verdict;
    use crate::scenario::codec::{decode, encode};
    use crate::scenario::{FieldId, Mode, Scenario, Value, parse};
    use crate::view::answers::Answers;
    use crate::view::history::UndoStep;

    const LAYOUT: [FieldId; 4] = [
        FieldId::Gpus,
        FieldId::TensorParallel,
        FieldId::PipelineParallel,
        FieldId::ConcurrentSequences,
    ];

    /// A fresh page on which somebody chooses a model and serving, and then sets these inputs.
    fn fresh(model: &str, set: &[(FieldId, &str)]) -> Scenario {
        let mut scenario = Scenario::default();
        scenario.set_model(model);
        change(&mut scenario, FieldId::Mode, "serve");
        for (id, text) in set {
            change(&mut scenario, *id, text);
        }
        scenario
    }

    fn change(scenario: &mut Scenario, id: FieldId, text: &str) {
        scenario.set(id, parse(id, text).expect("a value"));
        follow(scenario);
    }

    fn layout(scenario: &Scenario) -> [u64; 4] {
        LAYOUT.map(|id| match scenario.get(id) {
            Value::Integer(count) => count,
            _ => 0,
        })
    }

    fn answers(scenario: &Scenario) -> Answers {
        Answers::of(&UndoStep { scenario: scenario.clone(), compare: Vec::new() }, None).0
    }

    /// 61 layers make no even stages: the ranks of two or four nodes share the heads instead.
    #[test]
    fn a_model_of_an_odd_number_of_layers_is_spread_over_nodes() {
        assert_eq!(layout(&fresh("deepseek-v3", &[])), [32, 32, 1, 16]);
        assert_eq!(
            layout(&fresh("deepseek-r1", &[(FieldId::WeightDType, "fp8-block")])),
            [16, 16, 1, 16]
        );
    }

    /// Inputs that followed one model follow the next: a small model does not keep a large one's
    /// ranks.
    #[test]
    fn another_model_is_followed_too() {
        let mut scenario =
            fresh("deepseek-v3", &[(FieldId::ContextLength, "131072"), (FieldId::Gpus, "16")]);
        let file = r#"{"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 4, "hybrid_override_pattern": "M-M*"}"#;
        scenario.apply_imported(&crate::import::config_json(file).expect("a file"));
        follow(&mut scenario);
        assert_eq!(layout(&scenario), [16, 1, 1, 16]);
    }

    #[test]
    fn serving_begins_with_the_smallest_replica_that_runs() {
        assert_eq!(layout(&fresh("llama3-8b", &[])), [1, 1, 1, 16]);
        // 131 GiB of weights and 40 of cache: two H100 of 80 GiB do not hold them, four do.
        assert_eq!(layout(&fresh("llama3-70b", &[])), [4, 4, 1, 16]);
        assert_eq!(layout(&fresh("llama3-70b", &[(FieldId::Accelerator, "h200")])), [2, 2, 1, 16]);
        assert_eq!(layout(&fresh("llama3.1-405b", &[])), [16, 8, 2, 16]);
        for model in ["llama3-8b", "llama3-70b", "llama3.1-405b", "deepseek-v3", "mixtral-8x7b"] {
            let found = answers(&fresh(model, &[]));
            assert!(
                found.problems.is_empty()
                    && matches!(found.headline().verdict, Verdict::Fits | Verdict::Tight),
                "{model}"
            );
        }
    }

    #[test]
    fn what_was_set_stays_and_the_rest_goes_with_it() {
        assert_eq!(layout(&fresh("llama3-70b", &[(FieldId::TensorParallel, "8")])), [8, 8, 1, 16]);
        assert_eq!(layout(&fresh("llama3-70b", &[(FieldId::Gpus, "8")])), [8, 4, 1, 16]);
        // Nothing on two GPUs fits: both hold the model, which is nearest.
        assert_eq!(layout(&fresh("llama3-70b", &[(FieldId::Gpus, "2")])), [2, 2, 1, 16]);
        assert_eq!(layout(&fresh("llama3-8b", &[(FieldId::PipelineParallel, "2")])), [2, 1, 2, 16]);
        assert_eq!(
            layout(&fresh("llama3-70b", &[(FieldId::ConcurrentSequences, "1")])),
            [2, 2, 1, 1]
        );
        let mut scenario = fresh("llama3-8b", &[(FieldId::Gpus, "1")]);
        assert!(!scenario.follows(FieldId::Gpus) && scenario.follows(FieldId::TensorParallel));
        scenario.set_model("llama3-70b");
        follow(&mut scenario);
        assert_eq!(layout(&scenario), [1, 1, 1, 16]);
        scenario.clear(FieldId::Gpus);
        follow(&mut scenario);
        assert_eq!(layout(&scenario), [4, 4, 1, 16]);
    }

    #[test]
    fn modes_back_and_forth_keep_what_was_set() {
        let mut scenario = fresh("llama3-70b", &[]);
        for (mode, gpus) in [("train", 8), ("serve", 4), ("tune", 8), ("serve", 4)] {
            change(&mut scenario, FieldId::Mode, mode);
            assert_eq!(scenario.get(FieldId::Gpus), Value::Integer(gpus), "{mode}");
        }
        // Eight, the default of training, is a number that somebody can set all the same.
        change(&mut scenario, FieldId::Gpus, "8");
        for mode in ["train", "serve", "tune", "serve"] {
            change(&mut scenario, FieldId::Mode, mode);
            assert_eq!(scenario.get(FieldId::Gpus), Value::Integer(8), "{mode}");
        }
        let mut before = Scenario::default();
        change(&mut before, FieldId::Gpus, "16");
        change(&mut before, FieldId::Mode, "serve");
        assert_eq!(layout(&before), [16, 1, 1, 16]);
    }

    #[test]
    fn a_link_states_what_followed() {
        let scenario = fresh("llama3-70b", &[]);
        let link = encode(&scenario);
        assert!(link.ends_with("&m=llama3-70b&do=serve&n=4&tp=4"), "{link}");
        let mut opened = decode(&link).scenario;
        assert_eq!(opened, scenario.settled());
        assert!(LAYOUT.iter().all(|id| !opened.follows(*id)));
        opened.set_model("llama3-8b");
        follow(&mut opened);
        assert_eq!(layout(&opened), [4, 4, 1, 16]);
    }

    #[test]
    fn old_links_serve_on_eight_replicas() {
        let mut opened = decode("v1&do=serve&m=llama3-70b").scenario;
        follow(&mut opened);
        assert_eq!(layout(&opened), [8, 1, 1, 16]);
        assert_eq!(opened, decode("v1&do=serve&m=llama3-70b&n=8&tp=1").scenario);
        // A link to a training says nothing about serving: whoever chooses it begins anew.
        let mut training = decode("v1&m=llama3-8b").scenario;
        assert_eq!(layout(&training)[0], 8);
        change(&mut training, FieldId::Mode, "serve");
        assert_eq!(layout(&training), [1, 1, 1, 16]);
    }

    #[test]
    fn requests_follow_the_users_as_far_as_they_find_room() {
        let scenario =
            fresh("llama3-70b", &[(FieldId::Accelerator, "h200"), (FieldId::Users, "200")]);
        let [gpus, tensor, _, requests] = layout(&scenario);
        assert_eq!((gpus, tensor), (2, 2));
        let found = answers(&scenario);
        let own = found.users().expect("asked").own;
        assert_eq!((requests, own.carries()), (own.room, false));
        assert!(found.estimate.runs(), "as many as find room");
        let mut adopted = scenario.clone();
        adopt(&mut adopted, adoptable(found.users().expect("asked")).expect("others"));
        follow(&mut adopted);
        let found = answers(&adopted);
        let own = found.users().expect("asked").own;
        assert!(
            own.carries()
                && layout(&adopted)[3] == own.each
                && own.gpus == own.replicas * own.layout.world_size()
        );
        assert!(
            adoptable(found.users().expect("asked")).is_none()
                && found.headline().word.starts_with("Fits")
        );
        assert!(!adopted.follows(FieldId::Gpus) && adopted.follows(FieldId::ConcurrentSequences));
        let mut few = adopted;
        change(&mut few, FieldId::Users, "3");
        assert_eq!(layout(&few)[3], 1);
    }

    #[test]
    fn what_is_taken_over_from_a_link_lets_the_rest_follow() {
        let before = fresh("llama3-70b", &[]);
        let mut taken =
            decode(&format!("{}&kvd=fp8", encode(&before).replace("&c=", "&zz="))).scenario;
        taken.follow_as(&before);
        assert!(LAYOUT.iter().all(|id| taken.follows(*id)) && layout(&taken) == layout(&before));
        assert_eq!(taken.mode(), Mode::Serve);
    }
}
