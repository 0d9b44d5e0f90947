"""The images of a row's run, as the processors of transformers 5.23 hand them to a model, and its vision tower, frozen or not."""
import torch
from torch._subclasses import fake_tensor
from torch.distributed._tools import mod_tracker
from torch.utils._python_dispatch import _disable_current_modes
from transformers.models.got_ocr2 import image_processing_pil_got_ocr2
from transformers.models.idefics3 import image_processing_pil_idefics3
from transformers.models.llava_next import modeling_llava_next
from transformers.models.pixtral import modeling_pixtral
from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl

# Kinds whose processors say of every token whether it is of an image, in 64 bits.
TYPED = ["gemma3", "paligemma"]

# Small tensors of whole numbers, such as the sizes of images, keep their values, because models read them as numbers of Python.
fake_tensor.CONSTANT_NUMEL_LIMIT = 1 << 20
TENSOR = torch.tensor


def of_values(data, **keys):
    """`torch.tensor` of tensors that have no values is as large as one of numbers."""
    unknown = isinstance(data, list) and data and isinstance(data[0], fake_tensor.FakeTensor)
    return torch.zeros(len(data), dtype=data[0].dtype, **keys) if unknown else TENSOR(data, **keys)


torch.tensor = of_values
WINDOWS = modeling_qwen2_5_vl.get_vision_window_index


def of_windows(grid, **keys):
    """Where windows begin and end follows from values alone; what is made on the way there is small, and not followed."""
    sizes = grid.tolist()
    with _disable_current_modes():
        made = [found.tolist() for found in WINDOWS(TENSOR(sizes), **keys)]
    return torch.tensor(made[0]), torch.tensor(made[1], dtype=torch.int32)


modeling_qwen2_5_vl.get_vision_window_index = of_windows


def asks_for_flash(config):
    """The flash profile is flash attention, which is told where images end, in place of a mask."""
    return config._attn_implementation == "truth_fa"


modeling_pixtral.is_flash_attention_requested = asks_for_flash


def inputs(config, run):
    """What a model is given beside its token ids: pixels, and where a processor says so their grid."""
    images = run["micro_batch_size"] * run.get("images_per_sequence", 0)
    Tokens.of_image, Tokens.in_places = 0, []
    if not images:
        return {}
    vision = getattr(config, "vision_config", None)
    if hasattr(vision, "temporal_patch_size"):
        return packed(vision, run, images, config.image_token_id)
    of_kind = vision.model_type if config.model_type == "llava" else config.model_type
    if of_kind in TILES:
        return TILES[of_kind](config, run, images)
    made = dict(pixel_values=torch.zeros(images, 3, run["image_height"], run["image_width"]))
    if config.model_type in TYPED:
        made["token_type_ids"] = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64)
    return made


def side_of(config):
    """The side of the tower's own images."""
    side = config.vision_config.image_size
    return side if isinstance(side, int) else side[0]


def canvas(config, run, images):
    """As many images of the tower's own size as the processor cuts one into, and the whole as one more."""
    side = side_of(config)
    grid = image_processing_pil_got_ocr2.get_optimal_tiled_canvas((run["image_height"], run["image_width"]), (side, side), 1, 12)
    tiles = grid[0] * grid[1]
    return dict(pixel_values=torch.zeros(images * (tiles + (tiles > 1)), 3, side, side))


def pinpoints(config, run, images):
    """As many as the resolution that fits an image best has, and the whole as one more; one of several images of a text stays whole
    where the model is told how many there are."""
    size, several = [run["image_height"], run["image_width"]], {}
    tiles = modeling_llava_next.image_size_to_num_patches(size, config.image_grid_pinpoints, side_of(config))
    if config.model_type == "llava_onevision":
        several["batch_num_images"] = [run["images_per_sequence"]] * run["micro_batch_size"]
        tiles = tiles if run["images_per_sequence"] == 1 else 1
    pixels = torch.zeros(images, tiles, 3, side_of(config), side_of(config))
    return dict(pixel_values=pixels, image_sizes=torch.tensor([size] * images), **several)


def splits(config, run, images):
    """As many as an image has that is resized in proportion, and the whole as one more; the model looks for empty ones among them."""
    side, sequences = side_of(config), run["micro_batch_size"]
    processor = image_processing_pil_idefics3.Idefics3ImageProcessorPil(size=dict(longest_edge=4 * side), max_image_size=dict(longest_edge=side))
    tiles, _, _ = processor.get_number_of_image_patches(run["image_height"], run["image_width"], {})
    made = torch.zeros(sequences, max(tiles, 1) * images // sequences, 3, side, side)
    mask = torch.ones(sequences, made.shape[1], side, side, dtype=torch.int64)
    with _disable_current_modes():
        made.constant, mask.constant = torch.ones(made.shape), torch.ones(mask.shape, dtype=torch.int64)
    return dict(pixel_values=made, pixel_attention_mask=mask)


def in_one_row(config, run, images):
    """Images of any form, of which the model is told the sizes."""
    size = [run["image_height"], run["image_width"]]
    return dict(pixel_values=torch.zeros(images, 3, *size), image_sizes=torch.tensor([size] * images))


TILES = dict(internvl=canvas, llava_next=pinpoints, llava_next_video=pinpoints, llava_onevision=pinpoints, idefics3=splits, smolvlm=splits, mistral3=in_one_row, pixtral=in_one_row,
             lighton_ocr=in_one_row, qianfan_ocr=canvas)


def packed(vision, run, images, token):
    """Patches of all images in one row, in the order of the tokens that they are merged to, as Qwen2-VL's processor makes them."""
    side, merge = vision.patch_size, vision.spatial_merge_size
    height, width = run["image_height"] // side, run["image_width"] // side
    numbers = 3 * vision.temporal_patch_size * side * side
    tokens = height * width // merge ** 2
    # A text stands before every image, which is what the marks around images are.
    of_sequence = ([0] + [1] * tokens) * run["images_per_sequence"]
    kinds = of_sequence + [0] * (run["seq_length"] - len(of_sequence))
    if getattr(vision, "deepstack_visual_indexes", None):
        Tokens.of_image, Tokens.in_places = token, kinds
    return dict(pixel_values=torch.zeros(images * height * width, numbers),
                image_grid_thw=torch.tensor([[1, height, width]] * images),
                mm_token_type_ids=torch.tensor([kinds] * run["micro_batch_size"]))


def placed(config, run, keys):
    """Token ids that say where images are, for models that pick their tokens out of the text by a mask, whose values must be known."""
    if Tokens.of_image and Tokens.in_places:
        kinds = Tokens.in_places
        with _disable_current_modes():
            values = TENSOR([[Tokens.of_image if of_image else 0 for of_image in kinds]] * run["micro_batch_size"])
        keys["input_ids"].constant = values
    return keys


class Tokens:
    """The number of an image's token in a text, and of each place whether it is one."""
    of_image, in_places = 0, []


def tower(model):
    """The vision tower, by the name that its model gives it."""
    for name in ("visual", "vision_tower", "vision_model"):
        if hasattr(model.model, name):
            return getattr(model.model, name)


def prepare(model, run):
    """Takes the tower out of training where the run says so."""
    if run.get("freeze_vision_tower"):
        tower(model).requires_grad_(False)


WITH_GRAPH = mod_tracker.register_multi_grad_hook


def without_graph(tensors, called, mode="all"):
    """`register_multi_grad_hook` whose hooks do not hold the graph. PyTorch's do, in a ring that nobody breaks where no gradient comes,
    as behind the last block of a vision tower that nothing reads."""
    left = [len(tensors) if mode == "all" else 1]

    def come(gradient):
        left[0] -= 1
        if left[0] == 0:
            called(gradient)

    for tensor in tensors:
        tensor.register_hook(come)
