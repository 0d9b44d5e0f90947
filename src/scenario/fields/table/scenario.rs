//! The scenario itself: its mode, its name, and the model that it starts from.

use super::{FieldDefault, Group, option};

fields! { $
    /// The model is trained, fine-tuned or served; each needs other memory.
    Mode("do", "mode", "Mode")
        .choice(&[
            option("train", "Train",
                "Weights, gradients, optimizer states and saved activations share the memory."),
            option("tune", "Fine-tune",
                "A trained model learns more: adapters or all of it, with the models beside it that this takes."),
            option("serve", "Serve", "Weights and the key/value cache share the memory."),
        ]).group(Group::Run).default(FieldDefault::Choice("train")),
    /// A name for this scenario, for you and for those who open its link; it changes no memory.
    Name("name", "name", "Name").text(60).default(FieldDefault::Text("")),
    /// How memory is written on the page; it changes no result.
    MemoryUnit("u", "memory_unit", "Memory unit")
        .choice(&[
            option("gb", "GB", "Decimal gigabytes: 1 GB is 1 000 000 000 bytes."),
            option("gib", "GiB", "Binary gigabytes: 1 GiB is 1 073 741 824 bytes."),
        ]).default(FieldDefault::Choice("gib")),
    /// The model the architecture starts from; its number of parameters decides most of the memory.
    Model("m", "model", "Model").model().default(FieldDefault::Text("llama3-8b")),
    /// The name of this model here; without one, its kind and its number of parameters stand for
    /// it. It changes no number.
    ModelName("mn", "model_name", "Model's own name").text(60).default(FieldDefault::Text("")),
    /// The model_type of the config.json that the architecture was read from.
    ModelType("mt", "model_type", "Read from a file of kind")
        .keys(32).default(FieldDefault::Text("")),
    /// The kind whose keys are read, where a larger model's part for text is of another kind than
    /// the whole.
    TextModelType("tmt", "text_model_type", "Text part of kind").keys(32).default(FieldDefault::Text("")),
    /// Every size is said by hand, by this page's own words, rather than by the keys that the
    /// model's family reads: for shapes that no family has.
    Sizes("hand", "sizes_by_hand", "Every size by hand")
        .flag().group(Group::Structure).folded().default(FieldDefault::Flag(false)),
    /// The file's kind is not known: the architecture is put together from the sizes that the file
    /// states.
    AsGeneric("gd", "as_generic", "Counted as a generic decoder")
        .flag().default(FieldDefault::Flag(false)),
    /// Keys of the file that were not understood and may change the answer.
    NotCounted("nc", "not_counted", "Not counted").keys(160).default(FieldDefault::Text("")),
    /// Parts of the model that are not counted, each with its number of parameters where that is
    /// known.
    LeftOut("lo", "left_out", "Left out").keys(80).default(FieldDefault::Text("")),
    /// Flags of the command that the scenario was read from which change memory or time, or may,
    /// and are not modelled.
    FlagsNotCounted("fnc", "flags_not_counted", "Flags not counted").keys(100).default(FieldDefault::Text("")),
}
