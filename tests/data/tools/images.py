"""The images of a row's run, as the processors of transformers 5.23 hand them to a model, and its vision tower, frozen or not."""
import torch

# Kinds whose processors say of every token whether it is of an image.
TYPED = ["gemma3", "paligemma"]


def inputs(config, run):
    """What a model is given beside its token ids: pixels, and where a processor says so their grid."""
    images = run["micro_batch_size"] * run.get("images_per_sequence", 0)
    if not images:
        return {}
    made = dict(pixel_values=torch.zeros(images, 3, run["image_height"], run["image_width"]))
    if config.model_type in TYPED:
        made["token_type_ids"] = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64)
    return made


def prepare(model, run):
    """Takes the tower out of training where the run says so."""
    if run.get("freeze_vision_tower"):
        model.model.vision_tower.requires_grad_(False)
