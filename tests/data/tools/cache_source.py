"""Bytes that transformers' `EncoderDecoderCache` holds of an encoder beside a decoder, in bf16: rows of truth/cache_source.jsonl."""
import json
import torch
import transformers
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

SIZES = ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim",
         "d_kv", "num_heads", "num_layers", "num_decoder_layers", "vocab_size", "is_encoder_decoder")
SHAPE = dict(d_model=256, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=8, encoder_ffn_dim=768,
             decoder_ffn_dim=512, vocab_size=1003)
# Kind, sizes, tokens of a target, tokens of a source, sequences.
CASES = [
    ("Whisper", dict(d_model=384, encoder_layers=4, decoder_layers=3, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536,
                     decoder_ffn_dim=1536), 40, 1500, 3),
    ("T5", dict(d_model=512, d_kv=48, num_heads=6, num_layers=4, num_decoder_layers=5, vocab_size=1000), 77, 300, 2),
    ("Bart", SHAPE, 100, 65, 2), ("M2M100", SHAPE, 64, 200, 1),
    ("MT5", dict(d_model=512, d_kv=64, num_heads=6, num_layers=4, vocab_size=1000), 33, 129, 4),
]
for kind, sizes, target, source, sequences in CASES:
    config = getattr(transformers, kind + "Config")(**sizes)
    model = getattr(transformers, kind + "ForConditionalGeneration")(config).to(torch.bfloat16).eval()
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    states = torch.empty(sequences, source, config.d_model, dtype=torch.bfloat16)
    with torch.no_grad():
        model(encoder_outputs=(states,), decoder_input_ids=torch.zeros(sequences, target, dtype=torch.long), past_key_values=cache, use_cache=True)
    held = [sum(kept.numel() * kept.element_size() for layer in part.layers for kept in (layer.keys, layer.values))
            for part in (cache.self_attention_cache, cache.cross_attention_cache)]
    keys = {key: value for key, value in config.to_dict().items() if key in SIZES}
    keys |= dict(model_type=config.model_type, architectures=[type(model).__name__])
    print(json.dumps(dict(config=keys, context_length=target, source_length=source, sequences=sequences, self_bytes=held[0], cross_bytes=held[1])))
