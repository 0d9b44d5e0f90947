"""How many tokens an image becomes, by the processors of transformers 5.23 themselves.

Usage: image_tokens.py > ../truth/image_tokens.jsonl (with Pillow, which some processors look for)
A line has a kind of model, what its processor's file says (as far as the rule reads it), an image, its resized form and its tokens.
"""
import functools
import json
import types

import numpy
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches
from transformers.models.llava_next.processing_llava_next import LlavaNextProcessor
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor
from transformers.models.pixtral.image_processing_pil_pixtral import get_resize_output_image_size
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil, smart_resize

# Of an image's width and height.
IMAGES = [(1, 1), (28, 28), (42, 14), (100, 7000), (224, 224), (256, 255), (336, 336), (448, 672), (512, 512), (640, 480), (1000, 800),
          (1024, 1024), (1280, 720), (1920, 1080), (4096, 4096), (3584, 3584), (4000, 3000), (6000, 4000), (8192, 64), (12000, 9000)]
# Side of a patch, and the fewest and most pixels, as preprocessor_config.json of Qwen/Qwen2-VL-7B-Instruct, Qwen2.5-VL and Qwen3-VL say.
QWEN = dict(qwen2_vl=(14, 3136, 12845056), qwen2_5_vl=(14, 3136, 12845056), qwen3_vl=(16, 65536, 16777216), qwen3_5=(16, 65536, 16777216))

for kind, (side, fewest, most) in QWEN.items():
    processor = Qwen2VLImageProcessorPil(patch_size=side, size=dict(shortest_edge=fewest, longest_edge=most))
    for width, height in IMAGES:
        resized = smart_resize(height, width, side * processor.merge_size, fewest, most)
        patches = processor.get_number_of_image_patches(height, width, {})
        print(json.dumps(dict(model_type=kind, patch_size=side, width=width, height=height, resized=[resized[1], resized[0]],
                              tokens=patches // processor.merge_size ** 2)))

TEXT = dict(model_type="llama")


def line(config, image, resized, tokens, tiles=1):
    print(json.dumps(dict(model_type=config["model_type"], config=dict(config, text_config=TEXT), width=image[0], height=image[1],
                          resized=list(resized), tokens=tokens, tiles=tiles)))


# As the files of InternVL3 and their processor say: tiles of 448 pixels, 256 tokens each.
for side, seen in ((448, 256), (224, 64)):
    processor = GotOcr2ImageProcessorPil(size=dict(height=side, width=side), crop_to_patches=True, max_patches=12)
    config = dict(model_type="internvl", vision_config=dict(model_type="internvl_vision", image_size=[side, side], patch_size=[14, 14]))
    for width, height in IMAGES:
        tiles = processor.get_number_of_image_patches(height, width, {})
        line(config, (width, height), (side, side), tiles * seen, tiles)
# SmolVLM 256M, SmolVLM2 2.2B and Idefics3 8B.
for side, patch, merge in ((512, 16, 4), (384, 14, 3), (364, 14, 2)):
    processor = Idefics3ImageProcessorPil(size=dict(longest_edge=4 * side), max_image_size=dict(longest_edge=side))
    config = dict(model_type="idefics3", scale_factor=merge, vision_config=dict(image_size=side, patch_size=patch))
    for width, height in IMAGES:
        tiles = max(processor.get_number_of_image_patches(height, width, {})[0], 1)
        line(config, (width, height), (side, side), tiles * (side // patch // merge) ** 2, tiles)
# Mistral Small 3.1, and Pixtral 12B as LLaVA's class runs it.
for kind, longest, merge in (("mistral3", 1540, 2), ("llava", 1024, 1)):
    patch = 14 if kind == "mistral3" else 16
    config = dict(model_type=kind, vision_config=dict(model_type="pixtral", patch_size=patch), vision_feature_layer=-1,
                  vision_feature_select_strategy="full")
    for width, height in IMAGES:
        resized = get_resize_output_image_size(numpy.zeros((3, height, width), dtype=numpy.uint8), (longest, longest), (patch * merge, patch * merge))
        if all(resized):
            line(config, (width, height), (resized[1], resized[0]), resized[0] * resized[1] // (patch * merge) ** 2)
# LLaVA-NeXT and LLaVA-OneVision, whose processors count from what their files say.
NEXT = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]
ONE = [[384 * rows, 384 * columns] for rows in range(1, 7) for columns in range(1, 7)]
for kind, of, side, patch, grids in (("llava_next", LlavaNextProcessor, 336, 14, NEXT), ("llava_onevision", LlavaOnevisionProcessor, 384, 14, ONE)):
    tower = "clip_vision_model" if kind == "llava_next" else "siglip_vision_model"
    config = dict(model_type=kind, image_grid_pinpoints=grids, vision_config=dict(model_type=tower, image_size=side, patch_size=patch,
                  vision_use_head=False))
    # LLaVA-NeXT's class token is counted, and then taken away.
    own = types.SimpleNamespace(image_processor=types.SimpleNamespace(image_grid_pinpoints=grids), patch_size=patch, vision_aspect_ratio="anyres_max_9",
                                num_additional_image_tokens=0, num_image_tokens=(side // patch) ** 2)
    own._get_unpadded_features = functools.partial(of._get_unpadded_features, own)
    for width, height in IMAGES:
        tokens = of._get_number_of_features(own, height, width, side, side)
        line(config, (width, height), (side, side), tokens, image_size_to_num_patches([height, width], grids, side))
