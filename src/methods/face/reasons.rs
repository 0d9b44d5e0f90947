//! Reasons why a method and the engine differ, worked out from the scenario.

use crate::config::{Normalization, Recompute};
use crate::optimizers::Served;
use crate::units::{Bytes, DType, grouped, to_f64};

use super::super::{MethodDifference, MethodInputs, MethodKind, product};
use super::{Scene, parameters};

/// How a method arrives at weights, gradients and optimizer.
pub(super) struct StatesUse {
    /// Parameters that the method reckons with.
    pub parameters: u64,
    /// The method's formula for the number of parameters, if it has one.
    pub formula: Option<&'static str>,
    /// Features of this model that the formula does not know.
    pub unknown_features: Vec<String>,
    /// The formula's own result where the method then rounds it.
    pub rounded_from: Option<u64>,
    /// Bytes per parameter: weights, gradients, optimizer.
    pub bytes: [f64; 3],
    /// The method's divisors of weights, gradients and optimizer.
    pub divisors: [u64; 3],
    /// A further remark on each of the three, if there is one.
    pub notes: [Option<&'static str>; 3],
}

impl StatesUse {
    /// Serving as two documents describe it: the weights in their format, split over an instance,
    /// and nothing else.
    pub fn serving(inputs: &MethodInputs, instance: u64) -> Self {
        Self {
            parameters: inputs.num_parameters,
            formula: None,
            unknown_features: Vec::new(),
            rounded_from: None,
            bytes: [to_f64(inputs.weight_dtype.bits()) / 8.0, 0.0, 0.0],
            divisors: [instance, 1, 1],
            notes: [None; 3],
        }
    }
}

/// How a method arrives at activations.
#[derive(Default)]
pub(super) struct ActivationUse {
    /// Sequences, and the number of GPUs that share them; one GPU holds the quotient at once.
    pub sequences: (u64, u64),
    /// Bytes it counts per element of one `a·s²·b·L` matrix of scores; 0 if none.
    pub score_bytes: u64,
    /// The method's further divisor of those scores.
    pub score_divisor: u64,
    /// True if the method takes the feed-forward layer to be `4h` wide.
    pub assumes_four_h: bool,
    /// True if the method leaves out the tensor degree.
    pub ignores_tensor_degree: bool,
    /// Further reasons.
    pub extra: Vec<String>,
}

/// Reasons as one sentence with capital and full stop.
pub(super) fn sentence(reasons: &[String]) -> String {
    let joined = reasons.join("; ");
    let mut letters = joined.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}.", first.to_ascii_uppercase(), letters.as_str())
    })
}

/// Bytes that the engine keeps per parameter: weights, gradients, optimizer with master weights.
fn engine_bytes(inputs: &MethodInputs) -> [f64; 3] {
    let width = |dtype: DType| to_f64(dtype.bits()) / 8.0;
    if !inputs.is_training() {
        return [width(inputs.weight_dtype), 0.0, 0.0];
    }
    let recipe = inputs.precision.recipe(inputs.gradients);
    // Where parameters keep different states there is no single figure. NaN is equal to nothing and
    // above nothing, so no comparison with it holds.
    let share = |served| if matches!(served, Served::Those(_)) { f64::NAN } else { 1.0 };
    let moments = inputs.optimizer.spec().state_bytes_per_parameter(recipe.optimizer_state, share);
    let copy = recipe.gradient_copy.map_or(0.0, width);
    [
        width(recipe.parameter),
        width(recipe.gradient) + copy,
        recipe.master.map_or(0.0, width) + moments,
    ]
}

/// The layout's divisors of weights, gradients and optimizer.
fn layout_divisors(inputs: &MethodInputs) -> [u64; 3] {
    let share = |from: u8| {
        if inputs.is_training() && inputs.zero_stage >= from {
            inputs.data_parallel_size
        } else {
            1
        }
    };
    [3, 2, 1].map(|from| product([inputs.model_parallel_size(), share(from)]).max(1))
}

/// A difference in the number of parameters.
pub(super) fn of_parameters(scene: Scene<'_>, states: &StatesUse) -> Option<MethodDifference> {
    let (says, engine) = (states.parameters, scene.engine.parameters);
    let formula = states.formula.filter(|_| says != engine)?;
    let features = if states.unknown_features.is_empty() {
        "the engine counts every tensor of the model".to_owned()
    } else {
        format!("this model has {}", states.unknown_features.join(", "))
    };
    let rounds = states
        .rounded_from
        .map(|count| format!("the document then rounds {} to whole billions", parameters(count)));
    let why = sentence(
        &[format!("it takes {formula}"), features].into_iter().chain(rounds).collect::<Vec<_>>(),
    );
    Some(MethodDifference {
        term: "parameters",
        says: parameters(says),
        engine_says: parameters(engine),
        why,
    })
}

/// Reasons for a difference in weights, gradients or optimizer.
pub(super) fn of_states(scene: Scene<'_>, states: &StatesUse, kind: MethodKind) -> Vec<String> {
    let index = match kind {
        MethodKind::Weights => 0,
        MethodKind::Gradients => 1,
        _ => 2,
    };
    let at = |values: [f64; 3]| values.get(index).copied().unwrap_or(0.0);
    let by = |values: [u64; 3]| values.get(index).copied().unwrap_or(1);
    let mut why = Vec::new();
    if matches!(kind, MethodKind::Gradients) && gradients_are_missing(scene) {
        why.push(
            "without accumulation not all gradients exist at the moment of the engine's peak"
                .to_owned(),
        );
    }
    let (says, engine) = (states.parameters, scene.engine.parameters);
    if says != engine {
        why.push(format!(
            "it assumes {} parameters, the model has {}",
            parameters(says),
            parameters(engine)
        ));
    }
    let (mine, theirs) = (at(states.bytes), at(engine_bytes(scene.inputs)));
    if (mine - theirs).abs() > 1e-9 {
        why.push(format!(
            "it takes {} bytes per parameter where this run keeps {}",
            number(mine),
            number(theirs)
        ));
        why.extend(states.notes.get(index).copied().flatten().map(str::to_owned));
    }
    let (mine, theirs) = (by(states.divisors), by(layout_divisors(scene.inputs)));
    if mine != theirs {
        why.push(apart(mine, theirs));
    }
    if scene.inputs.pipeline_model_parallel_size > 1 {
        why.push("the engine shows the most loaded stage, with embedding or head".to_owned());
    } else if scene.inputs.tensor_model_parallel_size > 1 {
        why.push("the engine keeps norms whole on every tensor rank".to_owned());
    }
    if matches!(kind, MethodKind::Optimizer) && scene.inputs.optimizer.spec().has_vectors() {
        why.push("the engine counts the optimizer's small scale and factor vectors".to_owned());
    }
    if matches!(kind, MethodKind::Optimizer)
        && scene.inputs.optimizer.spec().tells_parameters_apart()
    {
        why.push(
            "the engine counts for each parameter the states that this optimizer keeps of it"
                .to_owned(),
        );
    }
    why
}

/// True if the engine's peak lies where backward has not written all gradients.
fn gradients_are_missing(scene: Scene<'_>) -> bool {
    let ([_, bytes, _], [_, divisor, _]) =
        (engine_bytes(scene.inputs), layout_divisors(scene.inputs));
    let all = bytes * to_f64(scene.engine.parameters) / to_f64(divisor);
    scene.inputs.is_training()
        && scene.inputs.micro_batches() == 1
        && scene.engine.gradients.as_f64() < 0.95 * all
}

/// Reasons for a difference in activations.
pub(super) fn of_activations(scene: Scene<'_>, activations: &ActivationUse) -> Vec<String> {
    let inputs = scene.inputs;
    let mut why = activations.extra.clone();
    if !inputs.is_training() {
        return why;
    }
    let (batch, shared_by) = activations.sequences;
    if batch != product([inputs.micro_batch_size, shared_by]) {
        let held = to_f64(batch) / to_f64(shared_by.max(1));
        why.push(format!(
            "sequences held at once: {} there, {} in this run",
            number(held),
            inputs.micro_batch_size
        ));
    }
    why.extend(of_scores(scene, activations));
    why.extend(of_block(inputs, activations.assumes_four_h));
    let t = inputs.tensor_model_parallel_size;
    if t > 1 && activations.ignores_tensor_degree {
        why.push(format!("it does not divide by the tensor degree {t}"));
    } else if t > 1 && inputs.sequence_parallel {
        why.push("it assumes no sequence parallelism".to_owned());
    }
    if inputs.pipeline_model_parallel_size > 1 {
        let (p, m) = (inputs.pipeline_model_parallel_size, inputs.micro_batches());
        why.push(format!(
            "it counts all layers once, the first of {p} stages holds its share for {} \
             micro-batches",
            p.min(m)
        ));
    }
    if inputs.precision.recipe(inputs.gradients).activation == DType::Fp32 {
        why.push("it takes 2 bytes per element, this run computes in fp32".to_owned());
    }
    why
}

/// The difference in scores: one of the two sides counts scores that the other leaves out.
fn of_scores(scene: Scene<'_>, activations: &ActivationUse) -> Option<String> {
    let inputs = scene.inputs;
    if inputs.recompute == Recompute::Full {
        return None;
    }
    let ActivationUse { score_bytes, score_divisor, sequences: (batch, shared_by), .. } =
        *activations;
    let matrix = product([
        inputs.num_attention_heads,
        inputs.seq_length,
        inputs.seq_length,
        inputs.num_hidden_layers,
    ]);
    let counted = || {
        scene.unit.show(
            Bytes(product([score_bytes, matrix, batch]))
                .per_rank(product([shared_by, score_divisor])),
        )
    };
    let left_out = || {
        let kept = Bytes(product([5, matrix, inputs.micro_batch_size]));
        scene.unit.show(kept.per_rank(inputs.tensor_model_parallel_size))
    };
    let kept = !inputs.flash_attention() && inputs.recompute == Recompute::None;
    match (score_bytes > 0, kept) {
        (true, false) if inputs.flash_attention() => Some(format!(
            "it counts {} of attention scores although FlashAttention keeps them on the chip",
            counted()
        )),
        (true, false) => {
            Some(format!("it counts {} of attention scores that this run recomputes", counted()))
        }
        (false, true) => {
            Some(format!("it leaves out the attention scores, {} at 5 bytes each", left_out()))
        }
        (true, true) if score_bytes != 5 => Some(format!(
            "it keeps {score_bytes} bytes per attention score, without dropout's mask and output"
        )),
        _ => None,
    }
}

/// Tensors that a block of this model keeps and that the formulas do not know, in words.
fn of_block(inputs: &MethodInputs, assumes_four_h: bool) -> Vec<String> {
    let mut why = Vec::new();
    if inputs.recompute == Recompute::Full {
        why.push("the engine also keeps what lies outside the blocks".to_owned());
        return why;
    }
    let (h, inner) = (inputs.hidden_size, inputs.intermediate_size);
    if assumes_four_h && inner != product([4, h]) {
        why.push(format!(
            "it assumes a feed-forward layer of 4h = {}, this model's is {inner} wide",
            product([4, h])
        ));
    }
    if inputs.gated_mlp {
        why.push("it assumes two MLP matrices, a gated MLP keeps a third tensor".to_owned());
    }
    if inputs.num_key_value_heads != inputs.num_attention_heads {
        let width = product([inputs.num_key_value_heads, inputs.head_dim]);
        why.push(format!("it takes keys and values to be h = {h} wide, this model's are {width}"));
    }
    why.push(inputs.stack.against_formula.to_owned());
    why
}

/// Reasons for a difference in memory that lives only for a moment.
pub(super) fn of_temporary(scene: Scene<'_>, says: Bytes) -> Vec<String> {
    let inputs = scene.inputs;
    if !inputs.is_training() {
        return vec!["the engine adds the work space of prefill and the logits".to_owned()];
    }
    let mut parts = Vec::new();
    if inputs.recompute == Recompute::Full {
        parts.push("the block being recomputed");
    }
    if inputs.zero_stage >= 3 {
        parts.push("gathered weights");
    }
    parts.push("logits, loss and gradients in flight");
    let parts = parts.join(", ");
    if says == Bytes::ZERO {
        vec![format!(
            "the document has no temporary memory; the engine counts what lives at the peak: \
             {parts}"
        )]
    } else {
        vec![format!("the engine counts what lives at the peak: {parts}")]
    }
}

/// Reasons for a difference in the key/value cache.
pub(super) fn of_cache(scene: Scene<'_>, says: Bytes) -> Vec<String> {
    if says == Bytes::ZERO {
        return vec!["the document has no formula for the cache".to_owned()];
    }
    let MethodInputs { tensor_model_parallel_size: t, num_key_value_heads: heads, .. } =
        *scene.inputs;
    if t > heads {
        return vec![format!(
            "it divides by {t}, but {heads} key/value heads are copied to the other tensor ranks"
        )];
    }
    Vec::new()
}

/// Features of a model that a plain formula with tied or untied head, biases and layer norms does
/// not know.
pub(super) fn unknown_features(inputs: &MethodInputs, assumes: Assumes) -> Vec<String> {
    let mut features = Vec::new();
    if inputs.gated_mlp {
        features.push("a gated MLP with three matrices".to_owned());
    }
    if assumes.four_h && inputs.intermediate_size != product([4, inputs.hidden_size]) {
        features
            .push(format!("a feed-forward width of {} instead of 4h", inputs.intermediate_size));
    }
    if inputs.num_key_value_heads != inputs.num_attention_heads {
        features.push(format!(
            "{} key/value heads for {} query heads",
            inputs.num_key_value_heads, inputs.num_attention_heads
        ));
    }
    if product([inputs.num_attention_heads, inputs.head_dim]) != inputs.hidden_size {
        features.push(format!(
            "{} heads of {}, which is not h",
            inputs.num_attention_heads, inputs.head_dim
        ));
    }
    match (assumes.tied, inputs.tie_word_embeddings) {
        (true, false) => features.push("an output head of its own".to_owned()),
        (false, true) => features.push("an output head tied to the embedding".to_owned()),
        _ => {}
    }
    match (assumes.biases, inputs.biases) {
        (true, false) => features.push("no biases".to_owned()),
        (false, true) => features.push("biases".to_owned()),
        _ => {}
    }
    match (assumes.layer_norms, inputs.normalization) {
        (true, Normalization::RmsNorm) => features.push("norms without bias".to_owned()),
        (false, _) => features.push("norms".to_owned()),
        _ => {}
    }
    match (assumes.positions, inputs.learned_positions) {
        (true, false) => features.push("no table of positions".to_owned()),
        (true, true) => features.push("a table of positions for its longest sequence".to_owned()),
        (false, true) => features.push("a table of positions".to_owned()),
        (false, false) => {}
    }
    features
}

/// The assumptions of a parameter formula.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five independent yes-or-no assumptions of a formula"
)]
pub(super) struct Assumes {
    /// A feed-forward layer of width 4h.
    pub four_h: bool,
    /// A head tied to the embedding.
    pub tied: bool,
    /// Biases on every projection.
    pub biases: bool,
    /// Layer norms with scale and bias.
    pub layer_norms: bool,
    /// A learned table of positions.
    pub positions: bool,
}

/// A number with at most two decimals and no trailing zeros.
fn number(value: f64) -> String {
    let text = grouped(value, 2);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// In how many parts a document divides an amount, and in how many this layout does.
fn apart(mine: u64, theirs: u64) -> String {
    match (mine, theirs) {
        (0 | 1, shared) => format!("it ignores that {shared} GPUs share this"),
        (mine, 0 | 1) => format!("it divides by {mine}, which no GPUs share here"),
        (mine, theirs) => format!("it divides by {mine}, where {theirs} GPUs share this"),
    }
}
