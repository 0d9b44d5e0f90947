//! Parts of a pasted file that the answer leaves out, in sentences that stand beside every answer.

use super::keys::MORE;
use super::{FieldId, Mode, Scenario, Value, field};
use crate::config::{MixerKind, Tower};
use crate::import::MTP_OF_CHECKPOINT;
use crate::units::{grouped, to_f64};

/// A sentence beside the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Its subject.
    pub kind: RemarkKind,
    /// The sentence; names of keys stand in backticks.
    pub text: String,
}

/// The subject of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemarkKind {
    /// The kind of the model is not known, and a generic decoder stands in for it.
    Assumed,
    /// Keys that may change the answer were not understood.
    NotCounted,
    /// Flags of the command that the scenario was read from are not counted.
    Flags,
    /// A part of the model is not counted.
    LeftOut,
    /// The vision tower lies in memory, and no image is counted.
    NoImages,
    /// How many tokens the images become.
    Images,
    /// The time rests on products that PyTorch runs so where it is asked to.
    Tf32,
    /// Experts stay in 16 bits beside weights of 4 bits.
    Experts,
    /// Kernels of other packages would take the place of those that are counted.
    Kernels,
    /// Parameters and cache of the model are known, and not how it works.
    Counted,
    /// Keys were set that the model's family does not look at.
    NoEffect,
}

impl Remark {
    /// Returns the sentence without the marks around names of keys: to be spoken, or where text is
    /// plain.
    pub fn plain(&self) -> String {
        self.text.replace('`', "")
    }
}

impl RemarkKind {
    /// Returns its word, in machine-readable answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::NotCounted => "not_counted",
            Self::Flags => "flags_not_counted",
            Self::LeftOut => "left_out",
            Self::NoImages => "no_images",
            Self::Images => "images",
            Self::Tf32 => "tf32",
            Self::Experts => "experts",
            Self::Kernels => "kernels",
            Self::Counted => "parameters_alone",
            Self::NoEffect => "no_effect",
        }
    }
}

impl Scenario {
    /// Parts of the pasted file that the answer leaves out, most important first, and keys that
    /// were set in vain. `parameters` are the model's, to tell how large a part left out is.
    pub fn remarks(&self, parameters: impl FnOnce() -> Option<u64>) -> Vec<Remark> {
        let [kind, keys, parts] =
            [FieldId::ModelType, FieldId::NotCounted, FieldId::LeftOut].map(|id| self.text(id));
        let as_generic = self.get(FieldId::AsGeneric) == Value::Flag(true);
        let said = (as_generic || !keys.is_empty()).then(|| not_counted(as_generic, &kind, &keys));
        let flags = self.text(FieldId::FlagsNotCounted);
        let flags = (!flags.is_empty()).then(|| Remark {
            kind: RemarkKind::Flags,
            text: format!(
                "Not counted of the command: {}; the result may differ from its run.",
                listed(&flags)
            ),
        });
        let left_out = (!parts.is_empty())
            .then(|| Remark { kind: RemarkKind::LeftOut, text: left_out(&parts, parameters()) });
        let idle: Vec<&str> =
            self.keys_without_effect().into_iter().map(|id| field(id).name).collect();
        let idle = (!idle.is_empty()).then(|| Remark {
            kind: RemarkKind::NoEffect,
            text: format!(
                "Without effect, as this model's family does not look at it: {}.",
                listed(&idle.join(","))
            ),
        });
        let no_images = self.shape().tower.as_ref().map(|tower| match self.seen(tower) {
            Some(text) => Remark { kind: RemarkKind::Images, text },
            None => Remark {
                kind: RemarkKind::NoImages,
                text: if tower.hears() { NO_SOUND } else { NO_IMAGES }.to_owned(),
            },
        });
        let kernels = self
            .kernels_of_states()
            .into_iter()
            .chain(self.rounded_products())
            .chain(self.experts_beside_packed());
        let kernels = kernels.chain(self.counted_and_served());
        said.into_iter()
            .chain(flags)
            .chain(left_out)
            .chain(no_images)
            .chain(kernels)
            .chain(idle)
            .collect()
    }

    /// bitsandbytes packs linear layers, which the experts of transformers 5 are not: it keeps all
    /// experts of a layer in one parameter.
    fn experts_beside_packed(&self) -> Option<Remark> {
        let is_packed = self.mode() == Mode::Tune
            && matches!(self.get(FieldId::Method), Value::Choice("qlora" | "lora8"));
        let keeps_experts = self.get(FieldId::PackExperts) != Value::Flag(true)
            || self.get(FieldId::Method) != Value::Choice("qlora");
        self.shape().moe.as_ref().filter(|_| is_packed && keeps_experts)?;
        Some(Remark { kind: RemarkKind::Experts, text: EXPERTS_IN_16_BITS.to_owned() })
    }

    /// Of a model that is counted and served, what a rank holds and works with is not known in all
    /// detail.
    fn counted_and_served(&self) -> Option<Remark> {
        let shape = self.shape();
        let serves = self.mode() == Mode::Serve
            && shape.is_counted_and_served()
            && shape.compressed.is_none();
        serves.then(|| Remark { kind: RemarkKind::Counted, text: COUNTED_AND_SERVED.to_owned() })
    }

    /// PyTorch multiplies fp32 in full unless it is asked to round, which takes several times as
    /// long.
    fn rounded_products(&self) -> Option<Remark> {
        let is_fp32 =
            self.mode() != Mode::Serve && self.get(FieldId::Precision) == Value::Choice("fp32");
        let rounds = is_fp32 && self.flag(FieldId::AllowTf32);
        let peak = self.accelerator().map(|row| row.accelerator.peak)?;
        let (rounded, full) = peak.tf32.zip(peak.fp32).filter(|_| rounds)?;
        let times = grouped(rounded / full, 1);
        let text = format!(
            "The time is that of products in TF32 (`allow_tf32`), which PyTorch runs where it is \
             asked to; in full fp32 they take {times} times as long."
        );
        Some(Remark { kind: RemarkKind::Tf32, text })
    }

    /// A sentence about the images, where there are some and the tower sees them.
    fn seen(&self, tower: &Tower) -> Option<String> {
        let images = self.images();
        let seen = (images.per_sequence > 0).then(|| tower.seen(images)).flatten()?;
        let [width, height] = seen.pixels;
        let (count, all) = (images.per_sequence, images.per_sequence.saturating_mul(seen.tokens));
        let number = |number: u64| grouped(to_f64(number), 0);
        let many = if count == 1 {
            "the image of a sequence takes".to_owned()
        } else {
            format!("the {} images of a sequence take", number(count))
        };
        let (length, behind) = match self.mode() {
            Mode::Train | Mode::Tune => (self.integer(FieldId::SeqLength), ""),
            Mode::Serve => (
                self.integer(FieldId::ContextLength),
                " Their time in the vision tower, a server's cache of encoded images, and copies \
                 of pixels in the host's memory are not counted.",
            ),
        };
        let cut = if seen.tiles > 1 {
            format!("cut into {} of", number(seen.tiles))
        } else {
            "resized to".to_owned()
        };
        Some(format!(
            "Images: each of {} × {} pixels is {cut} {} × {} and becomes {} tokens; {many} {} of \
             its {} tokens.{behind}",
            number(images.width),
            number(images.height),
            number(width),
            number(height),
            number(seen.tokens),
            number(all),
            number(length),
        ))
    }

    /// Layers that keep a state are trained by transformers' own code, whose tensors other
    /// packages' kernels do not keep.
    fn kernels_of_states(&self) -> Option<Remark> {
        let model = self.shape();
        let kind = (self.mode() != Mode::Serve)
            .then(|| model.mixer().map(|mixer| mixer.kind))
            .flatten()?;
        let packages = match kind {
            MixerKind::Qwen3Next | MixerKind::KimiLinear | MixerKind::KimiWhole => {
                "`fla` and `causal-conv1d`"
            }
            // transformers has no place for one.
            MixerKind::Minimax | MixerKind::RgLru => return None,
            MixerKind::Rwkv => "`kernels`",
            MixerKind::Mlstm => "`xlstm` and `mlstm_kernels`",
            MixerKind::Mamba
            | MixerKind::Zamba
            | MixerKind::FalconMamba
            | MixerKind::Jamba
            | MixerKind::Mamba2
            | MixerKind::FalconH1 => "`mamba-ssm` and `causal-conv1d`",
            MixerKind::Lfm2 => "`causal-conv1d`",
        };
        let several = if model.shared.is_some() {
            " Run again in backward, blocks that layers share hold a few hidden states until \
             Python collects garbage: up to half a per cent more or less."
        } else if matches!(
            kind,
            MixerKind::Qwen3Next | MixerKind::KimiLinear | MixerKind::KimiWhole
        ) {
            " Beyond 1 024 tokens several chunks of the text are counted together, which is a \
             little too much."
        } else if kind == MixerKind::Mlstm {
            " A text is counted in whole chunks, as the library's mode for training takes it; in \
             its mode for inference, which published files state, it does not multiply in bf16."
        } else {
            ""
        };
        let text = format!(
            "Layers that keep a state are counted as transformers' own PyTorch code trains them. \
             Kernels of {packages}, which take its place where they are installed and keep less, \
             are not modelled.{several}"
        );
        Some(Remark { kind: RemarkKind::Kernels, text })
    }
}

/// The remark about experts under QLoRA.
const EXPERTS_IN_16_BITS: &str = "The experts stay in 16 bits: transformers 5 keeps all experts of \
    a layer in one parameter, and bitsandbytes packs linear layers alone.";

/// The remark about a model whose parameters are counted alone, and whose cache is told.
const COUNTED_AND_SERVED: &str = "Weights and cache are those of transformers. What attention \
    works with while a prompt is read is not counted. Of its weights every tensor rank is taken to \
    hold all, which is an upper bound; stages are taken to have equal parts of the cache.";

/// The remark about a model with a vision tower.
const NO_IMAGES: &str = "Texts alone: the vision tower and its projector lie in memory, and no \
    image is counted. An image's tokens, and what the tower works with, come on top.";

/// The remark about a model with a tower for sound.
const NO_SOUND: &str = "Texts alone: the audio tower and its projector lie in memory, and no sound \
    is counted. A sound's tokens, and what the tower works with, come on top.";

/// The remark about keys, or about a kind, that was not understood.
fn not_counted(as_generic: bool, kind: &str, keys: &str) -> Remark {
    if !as_generic {
        let text = format!("Not counted: {}; the result may be too low.", listed(keys));
        return Remark { kind: RemarkKind::NotCounted, text };
    }
    let why = if kind.is_empty() {
        String::new()
    } else {
        format!(", because the kind `{kind}` is not known")
    };
    let and =
        if keys.is_empty() { String::new() } else { format!(" Not understood: {}.", listed(keys)) };
    Remark {
        kind: RemarkKind::Assumed,
        text: format!("Assumed: counted as a generic decoder{why}.{and}"),
    }
}

/// Keys in backticks, and how many more there are.
fn listed(keys: &str) -> String {
    let key = |key: &str| match key.strip_prefix(MORE).and_then(|rest| rest.parse::<u64>().ok()) {
        Some(more) => format!("and {more} more"),
        None => format!("`{key}`"),
    };
    keys.split(',').map(key).collect::<Vec<_>>().join(", ")
}

/// The parts left out, each with its size where that is known.
fn left_out(parts: &str, of: Option<u64>) -> String {
    let part = |part: &str| {
        let sized = part
            .rsplit_once('_')
            .and_then(|(words, count)| Some((words, count.parse::<u64>().ok()?)));
        match sized {
            Some((words, count)) => {
                format!("the {} ({})", words.replace('_', " "), share(count, of))
            }
            None => format!("the {}", part.replace('_', " ")),
        }
    };
    let of_checkpoint = |part: &&str| part.replace('_', " ") == MTP_OF_CHECKPOINT;
    let (loaded, others): (Vec<&str>, Vec<&str>) =
        parts.split(',').partition(|part| !of_checkpoint(part));
    let missing = loaded.iter().map(|own| part(own)).collect::<Vec<_>>().join(", ");
    let missing = (!loaded.is_empty()).then(|| format!("Left out: {missing}."));
    let stays = (!others.is_empty())
        .then(|| format!("Not loaded, as the library's class has none: {MTP_OF_CHECKPOINT}."));
    missing.into_iter().chain(stays).collect::<Vec<_>>().join(" ")
}

/// A part's parameters, and their share of the whole model's.
fn share(count: u64, of: Option<u64>) -> String {
    let billions = format!("{} B", grouped(to_f64(count) / 1e9, 2));
    match of {
        Some(counted) => {
            let share = 100.0 * to_f64(count) / to_f64(counted.saturating_add(count).max(1));
            format!("{billions}, {} % of the parameters", grouped(share, 1))
        }
        None => billions,
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldId, Scenario, Value};

    fn said(values: &[(FieldId, Value)]) -> Vec<String> {
        let mut scenario = Scenario::default();
        for (id, value) in values {
            scenario.set(*id, value.clone());
        }
        scenario.remarks(|| Some(27_580_000_000)).into_iter().map(|remark| remark.text).collect()
    }

    fn text(id: FieldId, text: &str) -> (FieldId, Value) {
        (id, Value::Text(text.to_owned()))
    }

    #[test]
    fn what_was_not_counted_is_said() {
        assert_eq!(said(&[]), Vec::<String>::new());
        assert_eq!(
            said(&[
                text(FieldId::ModelType, "mimo_v2_flash"),
                text(FieldId::NotCounted, "hybrid_layer_pattern,swa_head_dim")
            ]),
            ["Not counted: `hybrid_layer_pattern`, `swa_head_dim`; the result may be too low."]
        );
        assert_eq!(
            said(&[
                text(FieldId::ModelType, "zebra"),
                (FieldId::AsGeneric, Value::Flag(true)),
                text(FieldId::NotCounted, "a,b,more_3")
            ]),
            ["Assumed: counted as a generic decoder, because the kind `zebra` is not known. Not \
                 understood: `a`, `b`, and 3 more."]
        );
        assert_eq!(
            said(&[text(FieldId::LeftOut, "vision_tower_420000000,audio_tower")]),
            ["Left out: the vision tower (0.42 B, 1.5 % of the parameters), the audio tower."]
        );
        assert_eq!(
            said(&[text(
                FieldId::LeftOut,
                "audio_tower,layers_of_the_checkpoint_that_predict_further_tokens"
            )]),
            ["Left out: the audio tower. Not loaded, as the library's class has none: layers of \
                 the checkpoint that predict further tokens."]
        );
    }
}
