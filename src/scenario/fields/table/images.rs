//! Images in the texts of a vision-language model. A model without a vision tower is not asked for
//! them.

use super::{FieldDefault, Group};

fields! { $
    /// Images in every sequence. Their tokens are part of the sequence length, and the vision tower
    /// and its projector run over them; how many tokens one becomes stands beside the answer. 0:
    /// texts alone.
    ImagesPerSequence("im", "images_per_sequence", "Images per sequence")
        .whole(0..=10_000).step(1).unit("images").group(Group::Run).folded().default(FieldDefault::Integer(0)),
    /// Width of the images as they come. The model's processor resizes them: to one size for all,
    /// or in proportion, so that a larger image becomes more tokens.
    ImageWidth("iw", "image_width", "Image width")
        .whole(1..=100_000).unit("px").group(Group::Run).folded().default(FieldDefault::Integer(1024)),
    /// Height of the images as they come.
    ImageHeight("ih", "image_height", "Image height")
        .whole(1..=100_000).unit("px").group(Group::Run).folded().default(FieldDefault::Integer(1024)),
    /// The vision tower does not learn: it has no gradients and no optimizer states, and saves
    /// nothing for backward. The projector behind it learns.
    FrozenTower("fvt", "freeze_vision_tower", "Frozen vision tower")
        .flag().group(Group::Run).train().folded().default(FieldDefault::Flag(false)),
    /// Images of fewer pixels are made larger, where the model's processor resizes in proportion.
    /// Empty: as the files of the published models say.
    FewestPixels("ipf", "image_min_pixels", "Fewest pixels of an image")
        .whole(1..=1_000_000_000).unit("px").optional().group(Group::Run).folded().default(FieldDefault::Empty),
    /// Images of more pixels are made smaller, likewise. A smaller number caps the tokens of an
    /// image.
    MostPixels("ipm", "image_max_pixels", "Most pixels of an image")
        .whole(1..=1_000_000_000).unit("px").optional().group(Group::Run).folded().default(FieldDefault::Empty),
}
