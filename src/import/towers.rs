//! Parameters of vision towers, with the projector behind them: what transformers 5.23 builds of a file's `vision_config`.

use super::reader::{MAX_SIZE, whole};
use super::value::{Object, Value};
use crate::models::{self, Tower};

/// Parameters of the tower and the projector of a file of that kind, `text_hidden` wide behind it; `None` for kinds that are not counted
/// exactly here, and for files whose sizes cannot be read.
pub(super) fn parameters(model_type: &str, vision: &Object, text_hidden: u64) -> Option<u64> {
    let sizes = Sizes(vision);
    match tower(model_type)? {
        Tower::SiglipNormed => Some(sizes.siglip()? + sizes.of("hidden_size", 768)? * (text_hidden + 1)),
        Tower::SiglipLinear => Some(sizes.siglip()? + (sizes.of("hidden_size", 768)? + 1) * text_hidden),
        Tower::ClipTwoLayers if sizes.is("clip_vision_model") => {
            Some(sizes.clip()? + linear(sizes.of("hidden_size", 768)?, text_hidden) + linear(text_hidden, text_hidden))
        }
        Tower::ClipTwoLayers => None,
        Tower::FramesPlain => sizes.frames_plain(),
        Tower::FramesGated => sizes.frames_gated(),
        Tower::FramesDeep(fed) => sizes.frames_deep(fed),
    }
}

/// Towers of files whose `model_type` belongs to no family: they wrap text parts of several.
const WRAPPERS: [(&str, Tower); 2] = [("paligemma", Tower::SiglipLinear), ("llava", Tower::ClipTwoLayers)];

/// The tower of files of that kind.
fn tower(model_type: &str) -> Option<Tower> {
    let of_family = models::of(model_type).map_or(&[][..], |family| family.towers);
    of_family.iter().chain(&WRAPPERS).find(|(name, _)| *name == model_type).map(|(_, tower)| *tower)
}

/// A matrix with a bias.
const fn linear(input: u64, output: u64) -> u64 {
    input * output + output
}

/// A layer norm with a bias.
const fn norm(width: u64) -> u64 {
    2 * width
}

/// Queries, keys, values and output, all of the same width, with biases.
const fn attention(width: u64) -> u64 {
    4 * linear(width, width)
}

/// Two matrices with biases.
const fn plain(width: u64, inner: u64) -> u64 {
    linear(width, inner) + linear(inner, width)
}

/// The sizes that a `vision_config` states.
struct Sizes<'a>(&'a Object);

impl Sizes<'_> {
    /// A size, or the library's default.
    fn of(&self, key: &str, default: u64) -> Option<u64> {
        match self.0.get(key) {
            None | Some(Value::Null) => Some(default),
            Some(value) => whole(key, value, MAX_SIZE / 100).ok(),
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.0.get("model_type") == Some(&Value::Text(kind.to_owned()))
    }

    /// Blocks of attention and a plain layer, with two layer norms each, and one behind them.
    fn encoder(&self) -> Option<[u64; 3]> {
        let (width, inner) = (self.of("hidden_size", 768)?, self.of("intermediate_size", 3072)?);
        let block = attention(width) + plain(width, inner) + 2 * norm(width);
        Some([width, inner, self.of("num_hidden_layers", 12)? * block + norm(width)])
    }

    /// Values of one patch, and patches of one image.
    fn patches(&self, patch: u64) -> Option<[u64; 2]> {
        let patch = self.of("patch_size", patch)?;
        let along = self.of("image_size", 224)? / patch.max(1);
        Some([self.of("num_channels", 3)? * patch * patch, along * along])
    }

    /// `SiglipVisionModel`, with a head that pools unless the file says otherwise.
    fn siglip(&self) -> Option<u64> {
        let ([width, inner, encoder], [values, patches]) = (self.encoder()?, self.patches(16)?);
        let head = match self.0.get("vision_use_head") {
            Some(Value::Bool(false)) => 0,
            _ => width + attention(width) + norm(width) + plain(width, inner),
        };
        Some(linear(values, width) + patches * width + encoder + head)
    }

    /// `CLIPVisionModel`.
    fn clip(&self) -> Option<u64> {
        let ([width, _, encoder], [values, patches]) = (self.encoder()?, self.patches(32)?);
        Some(width + values * width + (patches + 1) * width + norm(width) + encoder)
    }

    /// Values of one patch over the frames that are taken together.
    fn cube(&self, patch: u64) -> Option<u64> {
        let patch = self.of("patch_size", patch)?;
        Some(self.of("in_channels", 3)? * self.of("temporal_patch_size", 2)? * patch * patch)
    }

    /// Width of the patches that are merged into one token.
    fn merged(&self, width: u64) -> Option<u64> {
        let merge = self.of("spatial_merge_size", 2)?;
        Some(width * merge * merge)
    }

    /// `Qwen2VisionTransformerPretrainedModel`; its `hidden_size` is the width behind it.
    fn frames_plain(&self) -> Option<u64> {
        let width = self.of("embed_dim", 1280)?;
        let block = attention(width) + plain(width, width * self.of("mlp_ratio", 4)?) + 2 * norm(width);
        let merged = self.merged(width)?;
        let merger = norm(width) + linear(merged, merged) + linear(merged, self.of("hidden_size", 3584)?);
        Some(self.cube(14)? * width + self.of("depth", 32)? * block + merger)
    }

    /// `Qwen2_5_VisionTransformerPretrainedModel`: RMS norms, and gated layers with biases.
    fn frames_gated(&self) -> Option<u64> {
        let (width, inner) = (self.of("hidden_size", 3584)?, self.of("intermediate_size", 3420)?);
        let block = attention(width) + 2 * linear(width, inner) + linear(inner, width) + 2 * width;
        let merged = self.merged(width)?;
        let merger = width + linear(merged, merged) + linear(merged, self.of("out_hidden_size", 3584)?);
        Some(self.cube(14)? * width + self.of("depth", 32)? * block + merger)
    }

    /// `Qwen3VLVisionModel`, whose blocks may feed the text through mergers of their own; that many where the file does not say.
    fn frames_deep(&self, fed: usize) -> Option<u64> {
        let (width, inner) = (self.of("hidden_size", 1152)?, self.of("intermediate_size", 4304)?);
        let block = attention(width) + plain(width, inner) + 2 * norm(width);
        let merged = self.merged(width)?;
        let merger = linear(merged, merged) + linear(merged, self.of("out_hidden_size", 3584)?);
        let fed = match self.0.get("deepstack_visual_indexes") {
            Some(Value::List(blocks)) if fed > 0 => blocks.len(),
            _ => fed,
        };
        let fed = u64::try_from(fed).ok()? * (norm(merged) + merger);
        let positions = self.of("num_position_embeddings", 2304)? * width;
        Some(linear(self.cube(16)?, width) + positions + self.of("depth", 27)? * block + norm(width) + merger + fed)
    }
}
