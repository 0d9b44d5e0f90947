"""Exact parameter counts of encoders of sound and of images, and of models with both, by the class that a file names (transformers 5.23, on the meta device).

    python tests/data/tools/encoders.py > tests/data/truth/parameters_encoders.jsonl
"""

import json
import warnings

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
SMALL = {"hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4}
SOUND = {**SMALL, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
CONVOLUTIONS = {"conv_dim": [32, 64, 48], "conv_kernel": [8, 3, 2], "conv_stride": [4, 2, 2], "num_feat_extract_layers": 3}
IMAGES = {**SMALL, "image_size": 96, "patch_size": 8}
LABELS = {"id2label": {str(label): f"class {label}" for label in range(7)}}
TEXT = {"model_type": "gemma4_text", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 5, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1000, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0}
SEEN = {"model_type": "gemma4_vision", **SMALL, "num_key_value_heads": 2, "head_dim": 32, "patch_size": 8, "position_embedding_size": 100}
HEARD = {"model_type": "gemma4_audio", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "conv_kernel_size": 3,
         "output_proj_dims": 48}
CASES = [
    ("wav2vec2", "Wav2Vec2Model", {"num_hidden_layers": 2}),
    ("wav2vec2", "Wav2Vec2ForPreTraining", {**SOUND, "feat_extract_norm": "layer", "do_stable_layer_norm": True}),
    ("wav2vec2", "Wav2Vec2ForPreTraining", {**SOUND, "num_codevectors_per_group": 40, "codevector_dim": 64, "proj_codevector_dim": 48}),
    ("wav2vec2", "Wav2Vec2ForCTC", {**SOUND, **CONVOLUTIONS, "vocab_size": 50, "conv_bias": True}),
    ("wav2vec2", "Wav2Vec2Model", {**SOUND, **CONVOLUTIONS, "mask_time_prob": 0.0, "feat_extract_norm": "layer"}),
    ("hubert", "HubertModel", {"num_hidden_layers": 2}),
    ("hubert", "HubertForCTC", {**SOUND, **CONVOLUTIONS, "feat_proj_layer_norm": False, "vocab_size": 40}),
    ("wavlm", "WavLMModel", {"num_hidden_layers": 2}),
    ("wavlm", "WavLMForCTC", {**SOUND, **CONVOLUTIONS, "num_buckets": 64}),
    ("vit", "ViTModel", {"num_hidden_layers": 2}),
    ("vit", "ViTModel", {**IMAGES, "qkv_bias": False, "num_channels": 1}),
    ("vit", "ViTForImageClassification", {**IMAGES, **LABELS}),
    ("deit", "DeiTModel", {**IMAGES}),
    ("deit", "DeiTForImageClassification", {**IMAGES, **LABELS}),
    ("deit", "DeiTForImageClassificationWithTeacher", {**IMAGES, **LABELS}),
    ("siglip", "SiglipModel", {"text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}}),
    ("siglip", "SiglipModel", {"text_config": {**SMALL, "vocab_size": 500}, "vision_config": {**IMAGES, "vision_use_head": False}}),
    ("clip", "CLIPModel", {"text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}}),
    ("clip", "CLIPModel", {"text_config": {**SMALL, "vocab_size": 500}, "vision_config": IMAGES, "projection_dim": 64}),
    ("gemma4", "Gemma4ForConditionalGeneration", {"text_config": TEXT, "vision_config": SEEN, "audio_config": HEARD}),
    ("gemma4", "Gemma4ForConditionalGeneration", {"text_config": TEXT, "vision_config": {"model_type": "gemma4_vision"}, "audio_config": None}),
]


def main():
    for kind, name, keys in CASES:
        config = CONFIG_MAPPING[kind].from_dict(dict(keys))
        with torch.device("meta"):
            model = getattr(transformers, name)(config)
        count = sum(parameter.numel() for parameter in model.parameters())
        print(json.dumps({"model": kind, "parameters": count, "config": {"model_type": kind, "architectures": [name], **keys}}))


main()
