"""How many tokens an image becomes, by the processors of transformers 5.23 themselves.

Usage: image_tokens.py > ../truth/image_tokens.jsonl
A line has a kind of model, what its processor's file says (as far as the rule reads it), an image, its resized form and its tokens.
"""
import json

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
