//! Keys of a file's vision part and of the projector behind it. The file's own value, or the library's default, is the default.

use super::SIZE;

fields! { $
    /// The kind of file whose vision tower and projector stand before the text. Empty: the text part
    /// alone.
    VisionOf("vision-of", "vision_of", "Vision tower of").text(40).of_file(),
    /// The kind of vision tower.
    VisionKind("vision-config.model-type", "vision_config.model_type", "Kind of vision tower").text(40).of_file(),
    /// Width of the vision tower's hidden states.
    VisionHidden("vision-config.hidden-size", "vision_config.hidden_size", "Vision: hidden size").whole(1..=SIZE).step(128).of_file(),
    /// Width of the vision tower's hidden states.
    VisionEmbed("vision-config.embed-dim", "vision_config.embed_dim", "Vision: hidden size").whole(1..=SIZE).step(128).of_file(),
    /// Inner width of the vision tower's feed-forward layers.
    VisionInner("vision-config.intermediate-size", "vision_config.intermediate_size", "Vision: feed-forward size").whole(1..=SIZE).step(128).of_file(),
    /// Inner width of the vision tower's feed-forward layers, as a multiple of its hidden size.
    VisionRatio("vision-config.mlp-ratio", "vision_config.mlp_ratio", "Vision: feed-forward by hidden size").whole(1..=1000).step(1).of_file(),
    /// Blocks of the vision tower.
    VisionLayers("vision-config.num-hidden-layers", "vision_config.num_hidden_layers", "Vision: layers").whole(1..=10_000).step(1).of_file(),
    /// Blocks of the vision tower.
    VisionDepth("vision-config.depth", "vision_config.depth", "Vision: layers").whole(1..=10_000).step(1).of_file(),
    /// Query heads of the vision tower.
    VisionHeads("vision-config.num-heads", "vision_config.num_heads", "Vision: heads").whole(1..=SIZE).step(1).of_file(),
    /// Query heads of the vision tower.
    VisionQueryHeads("vision-config.num-attention-heads", "vision_config.num_attention_heads", "Vision: heads")
        .whole(1..=SIZE).step(1).of_file(),
    /// Key/value heads of the vision tower.
    VisionKvHeads("vision-config.num-key-value-heads", "vision_config.num_key_value_heads", "Vision: key/value heads").whole(1..=SIZE).step(1).of_file(),
    /// Channels of an image: 3 for red, green and blue.
    VisionChannels("vision-config.num-channels", "vision_config.num_channels", "Vision: channels").whole(1..=1024).step(1).of_file(),
    /// Channels of an image: 3 for red, green and blue.
    VisionInput("vision-config.in-channels", "vision_config.in_channels", "Vision: channels").whole(1..=1024).step(1).of_file(),
    /// Side of the images that the table of positions was made for, pixels.
    VisionImage("vision-config.image-size", "vision_config.image_size", "Vision: side of an image").whole(1..=100_000).step(14).unit("px").of_file(),
    /// Side of a patch, pixels.
    VisionPatch("vision-config.patch-size", "vision_config.patch_size", "Vision: side of a patch").whole(1..=10_000).step(1).unit("px").of_file(),
    /// Frames of a video that are taken together.
    VisionFrames("vision-config.temporal-patch-size", "vision_config.temporal_patch_size", "Vision: frames taken together").whole(1..=1024).step(1).of_file(),
    /// Patches along each side that become one token of the text.
    VisionMerge("vision-config.spatial-merge-size", "vision_config.spatial_merge_size", "Vision: patches merged along a side").whole(1..=1024).step(1).of_file(),
    /// Patches along each side that become one token of the text.
    VisionKernel("vision-config.merge-kernel-size", "vision_config.merge_kernel_size", "Vision: patches merged along a side").whole(1..=1024).step(1).of_file(),
    /// Width behind the vision tower.
    VisionOut("vision-config.out-hidden-size", "vision_config.out_hidden_size", "Vision: width behind it").whole(1..=SIZE).step(128).of_file(),
    /// Width behind the vision tower.
    VisionOutput("vision-config.vision-output-dim", "vision_config.vision_output_dim", "Vision: width behind it").whole(1..=SIZE).step(128).of_file(),
    /// Rows of the vision tower's table of positions.
    VisionPositions("vision-config.num-position-embeddings", "vision_config.num_position_embeddings", "Vision: rows of positions").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the vision tower's table of positions.
    VisionPatches("vision-config.num-patches", "vision_config.num_patches", "Vision: rows of positions").whole(1..=SIZE).step(1).of_file(),
    /// Places along the height in the vision tower's table of positions.
    VisionHeight("vision-config.pos-emb-height", "vision_config.pos_emb_height", "Vision: positions along the height").whole(1..=100_000).step(1).of_file(),
    /// Places along the width in the vision tower's table of positions.
    VisionWidth("vision-config.pos-emb-width", "vision_config.pos_emb_width", "Vision: positions along the width").whole(1..=100_000).step(1).of_file(),
    /// Frames in the vision tower's table of times.
    VisionTimes("vision-config.pos-emb-time", "vision_config.pos_emb_time", "Vision: positions in time").whole(1..=100_000).step(1).of_file(),
    /// Blocks of the vision tower whose output feeds the text too.
    VisionFed("vision-config.deepstack-visual-indexes", "vision_config.deepstack_visual_indexes", "Vision: blocks that feed the text").whole(0..=1024).step(1).of_file(),
    /// A head that pools the patches; the text does not read it, but it takes memory.
    VisionHead("vision-config.vision-use-head", "vision_config.vision_use_head", "Vision: pooling head").flag().of_file(),
    /// Bias vectors on the vision tower's queries, keys and values; very few parameters.
    VisionBias("vision-config.attention-bias", "vision_config.attention_bias", "Vision: attention bias").flag().of_file(),
    /// Norms of the vision tower's queries and keys; very few parameters.
    VisionQkNorm("vision-config.use-qk-norm", "vision_config.use_qk_norm", "Vision: norms on queries and keys").flag().of_file(),
    /// A learned vector in place of hidden patches; very few parameters.
    VisionMask("vision-config.use-mask-token", "vision_config.use_mask_token", "Vision: mask token").flag().of_file(),
    /// A learned table of positions.
    VisionTable("vision-config.use-absolute-position-embeddings", "vision_config.use_absolute_position_embeddings", "Vision: table of positions").flag().of_file(),
    /// The kind of norm in the vision tower: with a bias, or without.
    VisionNorm("vision-config.norm-type", "vision_config.norm_type", "Vision: kind of norm").text(20).of_file(),
    /// Width behind the vision adapter's first matrix.
    VisionAdapter("vision-config.projector-input-dim", "vision_config.projector_input_dim", "Vision: width of the adapter").whole(1..=SIZE).step(128).of_file(),
    /// Width behind the vision adapter's second matrix.
    VisionAdapted("vision-config.projector-output-dim", "vision_config.projector_output_dim", "Vision: width behind the adapter").whole(1..=SIZE).step(128).of_file(),
    /// Layers of the vision tower that the projector reads, side by side.
    FeatureLayers("vision-feature-layer", "vision_feature_layer", "Projector: layers of the tower").whole(1..=1024).step(1).of_file(),
    /// Bias vectors on the projector's matrices; very few parameters.
    ProjectorBias("multimodal-projector-bias", "multimodal_projector_bias", "Projector: bias").flag().of_file(),
    /// Bias vectors on the projector's matrices; very few parameters.
    ProjectorBiases("projector-bias", "projector_bias", "Projector: bias").flag().of_file(),
    /// A norm before the projector's matrices; very few parameters.
    ProjectorNorm("projector-use-layernorm", "projector_use_layernorm", "Projector: norm").flag().of_file(),
    /// Inner width of the projector.
    ProjectorHidden("projector-hidden-size", "projector_hidden_size", "Projector: inner width").whole(1..=SIZE).step(128).of_file(),
    /// Inner width of the projector.
    ProjectorInner("alignment-intermediate-size", "alignment_intermediate_size", "Projector: inner width").whole(1..=SIZE).step(128).of_file(),
    /// Width that the projector reads.
    ProjectorInput("projection-hidden-size", "projection_hidden_size", "Projector: input width").whole(1..=SIZE).step(128).of_file(),
    /// Width behind the projector.
    ProjectorOut("projection-dim", "projection_dim", "Projector: output width").whole(1..=SIZE).step(128).of_file(),
    /// Learned queries of the projector: tokens that an image becomes at most.
    ProjectorQueries("max-value-projector-patch-to-query-dict", "max_value_projector_patch_to_query_dict", "Projector: learned queries")
        .whole(1..=SIZE).step(64).of_file(),
    /// Patches along each side that become one token of the text.
    ScaleFactor("scale-factor", "scale_factor", "Projector: patches merged along a side").whole(1..=1024).step(1).of_file(),
    /// Patches along each side that become one token of the text.
    DownsampleFactor("downsample-factor", "downsample_factor", "Projector: patches merged along a side").whole(1..=1024).step(1).of_file(),
    /// One over the number of patches along each side that become one token of the text.
    DownsampleRatio("downsample-ratio", "downsample_ratio", "Projector: share of patches along a side").number(0.0..=1.0).of_file(),
    /// Patches along each side that become one token of the text.
    SpatialMerge("spatial-merge-size", "spatial_merge_size", "Projector: patches merged along a side").whole(1..=1024).step(1).of_file(),
}
