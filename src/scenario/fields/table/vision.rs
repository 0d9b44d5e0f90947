//! Keys of a file's vision part and of the projector behind it. The file's own value, or the
//! library's default, is the default.

use super::SIZE;

fields! { $
    /// The kind of file whose vision tower and projector stand before the text. Empty: the text
    /// part alone.
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
    /// Patches are summed up by their mean, without a norm behind the blocks.
    VisionPools("vision-config.use-mean-pooling", "vision_config.use_mean_pooling", "Vision: mean of patches").flag().of_file(),
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
    /// Learned queries of the projector: tokens that an image becomes.
    ProjectorTokens("num-query-tokens", "num_query_tokens", "Projector: learned queries").whole(1..=SIZE).step(1).of_file(),
    /// Width of the hidden states of a further part, such as a second tower.
    FurtherHidden("further-config.hidden-size", "further_config.hidden_size", "Further part: hidden size").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the further part's feed-forward layers.
    FurtherInner("further-config.intermediate-size", "further_config.intermediate_size", "Further part: feed-forward size").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the further part.
    FurtherLayers("further-config.num-hidden-layers", "further_config.num_hidden_layers", "Further part: layers").whole(1..=SIZE).step(1).of_file(),
    /// Of so many blocks one attends to the patches.
    FurtherCrossed("further-config.cross-attention-frequency", "further_config.cross_attention_frequency", "Further part: attends to patches, one in").whole(1..=SIZE).step(1).of_file(),
    /// Width of the patches that the further part attends to.
    FurtherEncoder("further-config.encoder-hidden-size", "further_config.encoder_hidden_size", "Further part: width of patches").whole(1..=SIZE).step(1).of_file(),
    /// Texts go through the further part, too.
    FurtherTexts("further-config.use-qformer-text-input", "further_config.use_qformer_text_input", "Further part: reads texts").flag().of_file(),
    /// Inner width of the further part's feed-forward layers; 0: four times its hidden size.
    FurtherMlp("further-config.mlp-dim", "further_config.mlp_dim", "Further part: feed-forward size").whole(0..=SIZE).step(1).of_file(),
    /// Query heads of the further part.
    FurtherHeads("further-config.num-attention-heads", "further_config.num_attention_heads", "Further part: heads").whole(1..=SIZE).step(1).of_file(),
    /// Channels behind the further part.
    FurtherOutput("further-config.output-channels", "further_config.output_channels", "Further part: channels behind it").whole(1..=SIZE).step(1).of_file(),
    /// Side of the images of the further part, pixels.
    FurtherImage("further-config.image-size", "further_config.image_size", "Further part: side of an image").whole(1..=SIZE).step(1).of_file(),
    /// Side of a patch of the further part, pixels.
    FurtherPatch("further-config.patch-size", "further_config.patch_size", "Further part: side of a patch").whole(1..=SIZE).step(1).of_file(),
    /// Side of the window that most blocks of the further part see, patches.
    FurtherWindow("further-config.window-size", "further_config.window_size", "Further part: side of a window").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the further part that see the whole image.
    FurtherWhole("further-config.global-attn-indexes", "further_config.global_attn_indexes", "Further part: blocks that see all").whole(0..=1024).step(1).of_file(),
    /// Bias vectors on the further part's queries, keys and values.
    FurtherBias("further-config.qkv-bias", "further_config.qkv_bias", "Further part: attention bias").flag().of_file(),
    /// A learned table of positions in the further part.
    FurtherTable("further-config.use-abs-pos", "further_config.use_abs_pos", "Further part: table of positions").flag().of_file(),
    /// Learned distances between patches in the further part.
    FurtherRelative("further-config.use-rel-pos", "further_config.use_rel_pos", "Further part: learned distances").flag().of_file(),
    /// Channels of an image.
    FurtherChannels("further-config.num-channels", "further_config.num_channels", "Further part: channels").whole(1..=SIZE).step(1).of_file(),
    /// Learned latents: tokens that an image becomes.
    ResamplerLatents("further-config.resampler-n-latents", "further_config.resampler_n_latents", "Resampler: latents").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the resampler.
    ResamplerLayers("further-config.resampler-depth", "further_config.resampler_depth", "Resampler: layers").whole(1..=SIZE).step(1).of_file(),
    /// Query heads of the resampler.
    ResamplerHeads("further-config.resampler-n-heads", "further_config.resampler_n_heads", "Resampler: heads").whole(1..=SIZE).step(1).of_file(),
    /// Width of the resampler's heads.
    ResamplerHead("further-config.resampler-head-dim", "further_config.resampler_head_dim", "Resampler: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// Key/value heads of the further part.
    FurtherKvHeads("further-config.num-key-value-heads", "further_config.num_key_value_heads", "Further part: key/value heads").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the further part's embedding.
    FurtherRows("further-config.vocab-size", "further_config.vocab_size", "Further part: vocabulary").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the further part's table of positions.
    FurtherPositions("further-config.max-position-embeddings", "further_config.max_position_embeddings", "Further part: positions").whole(1..=SIZE).step(1).of_file(),
    /// Bias vectors on the vision tower's queries, keys and values; very few parameters.
    VisionQkvBias("vision-config.qkv-bias", "vision_config.qkv_bias", "Vision: attention bias").flag().of_file(),
    /// Inner width of the vision tower's feed-forward layers; 0: four times its hidden size.
    VisionMlp("vision-config.mlp-dim", "vision_config.mlp_dim", "Vision: feed-forward size").whole(0..=SIZE).step(1).of_file(),
    /// Channels behind the vision tower.
    VisionChannelsOut("vision-config.output-channels", "vision_config.output_channels", "Vision: channels behind it").whole(1..=SIZE).step(1).of_file(),
    /// Side of the window that most blocks see, patches.
    VisionWindow("vision-config.window-size", "vision_config.window_size", "Vision: side of a window").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the vision tower that see the whole image.
    VisionWhole("vision-config.global-attn-indexes", "vision_config.global_attn_indexes", "Vision: blocks that see all").whole(0..=1024).step(1).of_file(),
    /// A learned table of positions.
    VisionAbsolute("vision-config.use-abs-pos", "vision_config.use_abs_pos", "Vision: table of positions").flag().of_file(),
    /// Learned distances between patches.
    VisionRelative("vision-config.use-rel-pos", "vision_config.use_rel_pos", "Vision: learned distances").flag().of_file(),
    /// Patches along each side that are merged inside the vision tower.
    VisionMergeWindow("vision-config.window-kernel-size", "vision_config.window_kernel_size", "Vision: side of merged windows").whole(1..=SIZE).step(1).of_file(),
    /// Bias vectors on the vision tower's feed-forward layers; very few parameters.
    VisionMlpBias("vision-config.mlp-bias", "vision_config.mlp_bias", "Vision: feed-forward bias").flag().of_file(),
    /// Patches along each side that the head reads together.
    VisionStride("vision-config.hidden-stride", "vision_config.hidden_stride", "Vision: stride of the head").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the table of embedded images.
    VisionRows("vision-config.vocab-size", "vision_config.vocab_size", "Vision: rows of the table").whole(1..=SIZE).step(1).of_file(),
    /// Rows of that table that mark places, and that no patch picks.
    VisionMarks("vision-config.num-visual-indicator-tokens", "vision_config.num_visual_indicator_tokens", "Vision: rows of marks").whole(0..=SIZE).step(1).of_file(),
    /// The longest side of an image, pixels.
    VisionLongest("vision-config.max-img-size", "vision_config.max_img_size", "Vision: longest side").whole(1..=SIZE).step(1).of_file(),
    /// Class tokens before the patches.
    VisionClasses("vision-config.num-cls-tokens", "vision_config.num_cls_tokens", "Vision: class tokens").whole(0..=SIZE).step(1).of_file(),
    /// Registers before the patches.
    VisionRegisters("vision-config.num-registers", "vision_config.num_registers", "Vision: registers").whole(0..=SIZE).step(1).of_file(),
    /// Frames of a video that are taken together; 0: no videos.
    VisionVideoFrames("vision-config.video-temporal-patch-size", "vision_config.video_temporal_patch_size", "Vision: frames of a video").whole(0..=SIZE).step(1).of_file(),
    /// Class tokens that a summary is made of.
    VisionSummary("vision-config.summary-idxs", "vision_config.summary_idxs", "Vision: tokens of a summary").whole(0..=1024).step(1).of_file(),
    /// Width of the tower for sound.
    FurtherModel("further-config.d-model", "further_config.d_model", "Sound: hidden size").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the feed-forward layers of the tower for sound.
    FurtherFfn("further-config.encoder-ffn-dim", "further_config.encoder_ffn_dim", "Sound: feed-forward size").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the tower for sound.
    FurtherBlocks("further-config.encoder-layers", "further_config.encoder_layers", "Sound: layers").whole(1..=SIZE).step(1).of_file(),
    /// Bands of the spectrum of a sound.
    FurtherBands("further-config.num-mel-bins", "further_config.num_mel_bins", "Sound: bands").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the table of positions of the tower for sound.
    FurtherPlaces("further-config.max-source-positions", "further_config.max_source_positions", "Sound: positions").whole(1..=SIZE).step(1).of_file(),
    /// Width behind the tower for sound.
    FurtherOut("further-config.output-dim", "further_config.output_dim", "Sound: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Channels of the convolutions of the tower for sound.
    FurtherSampled("further-config.downsample-hidden-size", "further_config.downsample_hidden_size", "Sound: channels").whole(1..=SIZE).step(1).of_file(),
    /// Patches along each side that become one token of the text.
    VisionScale("vision-config.scale-factor", "vision_config.scale_factor", "Vision: patches merged along a side").whole(1..=SIZE).step(1).of_file(),
    /// A second, finer path into the text.
    VisionFine("vision-config.use-fine-route", "vision_config.use_fine_route", "Vision: fine path").flag().of_file(),
    /// Patches along each side that are merged into one.
    MergeKernel("merge-kernel-size", "merge_kernel_size", "Projector: patches merged along a side").whole(1..=SIZE).step(1).of_file(),
    /// How often patches are merged.
    MergerTimes("merger-times", "merger_times", "Projector: merges").whole(1..=SIZE).step(1).of_file(),
    /// Before one of so many blocks stands a layer that attends to patches.
    CrossInterval("cross-layer-interval", "cross_layer_interval", "Layers that attend to patches: one in").whole(1..=SIZE).step(1).of_file(),
    /// Width behind the vision tower's projector.
    VisionProjection("vision-config.projection-dim", "vision_config.projection_dim", "Vision: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Channels of the first level of the autoencoder.
    CodeChannels("further-config.base-channels", "further_config.base_channels", "Autoencoder: channels").whole(1..=SIZE).step(1).of_file(),
    /// Channels between encoder and decoder.
    CodeLatent("further-config.latent-channels", "further_config.latent_channels", "Autoencoder: latent channels").whole(1..=SIZE).step(1).of_file(),
    /// Width of a code of the table.
    CodeWidth("further-config.embed-dim", "further_config.embed_dim", "Autoencoder: width of a code").whole(1..=SIZE).step(1).of_file(),
    /// Codes that the table holds.
    Codes("further-config.num-embeddings", "further_config.num_embeddings", "Autoencoder: codes").whole(1..=SIZE).step(1).of_file(),
    /// Width that the head of images reads.
    CodeEmbedding("further-config.image-token-embed-dim", "further_config.image_token_embed_dim", "Autoencoder: input of the head").whole(1..=SIZE).step(1).of_file(),
    /// Width behind the projection of codes.
    CodeProjection("further-config.projection-dim", "further_config.projection_dim", "Autoencoder: projection").whole(1..=SIZE).step(1).of_file(),
    /// Channels of an image.
    CodeInput("further-config.in-channels", "further_config.in_channels", "Autoencoder: channels of an image").whole(1..=SIZE).step(1).of_file(),
    /// Channels of a made image.
    CodeOutput("further-config.out-channels", "further_config.out_channels", "Autoencoder: channels of a made image").whole(1..=SIZE).step(1).of_file(),
    /// Layers that attend to images alone; texts pass by them.
    CrossLayers("cross-attention-layers", "cross_attention_layers", "Layers that attend to images").layers().of_file(),
    /// Width of the further part's heads.
    FurtherHeadWidth("further-config.head-dim", "further_config.head_dim", "Further part: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// Width behind the further part.
    FurtherText("further-config.text-hidden-size", "further_config.text_hidden_size", "Further part: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Layers of the vision tower that the further part reads.
    FurtherReads("further-config.vision-feature-layer", "further_config.vision_feature_layer", "Further part: layers of the tower").whole(0..=1024).step(1).of_file(),
    /// Bias vectors on the further part's attention; very few parameters.
    FurtherBiases("further-config.attention-bias", "further_config.attention_bias", "Further part: attention bias").flag().of_file(),
    /// Rows of the embedding behind the vocabulary.
    FurtherWords("additional-vocab-size", "additional_vocab_size", "Rows behind the vocabulary").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the vision tower that see all tiles.
    VisionGlobal("vision-config.num-global-layers", "vision_config.num_global_layers", "Vision: global layers").whole(1..=SIZE).step(1).of_file(),
    /// Tiles of an image at most.
    VisionTiles("vision-config.max-num-tiles", "vision_config.max_num_tiles", "Vision: tiles").whole(1..=SIZE).step(1).of_file(),
    /// Forms of an image cut into tiles.
    VisionForms("vision-config.supported-aspect-ratios", "vision_config.supported_aspect_ratios", "Vision: forms of an image").whole(0..=1024).step(1).of_file(),
    /// Width of the vision tower's heads.
    VisionHeadWidth("vision-config.head-dim", "vision_config.head_dim", "Vision: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of an expert for images.
    FurtherExperts("further-config.moe-intermediate-size", "further_config.moe_intermediate_size", "Experts for images: feed-forward size").whole(1..=SIZE).step(1).of_file(),
    /// Width of merged patches.
    MergedHidden("merged-hidden-size", "merged_hidden_size", "Projector: width of merged patches").whole(1..=SIZE).step(1).of_file(),
    /// Width of merged patches.
    OutHidden("out-hidden-size", "out_hidden_size", "Projector: width of merged patches").whole(1..=SIZE).step(1).of_file(),
    /// Frames that are merged.
    VisionMergedFrames("vision-config.temporal-merge-size", "vision_config.temporal_merge_size", "Vision: frames merged").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the merger.
    VisionMergerWide("vision-config.projection-intermediate-size", "vision_config.projection_intermediate_size", "Vision: inner width of the merger").whole(1..=SIZE).step(1).of_file(),
    /// Places along a side in the table of positions.
    VisionGrid("vision-config.posemb-grid-size", "vision_config.posemb_grid_size", "Vision: positions along a side").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the merger.
    VisionMergerInner("vision-config.projection-hidden-dim", "vision_config.projection_hidden_dim", "Vision: inner width of the merger").whole(1..=SIZE).step(1).of_file(),
    /// Width behind the vision tower.
    VisionTextWidth("vision-config.text-hidden-size", "vision_config.text_hidden_size", "Vision: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Bias vectors on the merger; very few parameters.
    VisionMergerBias("vision-config.projector-bias", "vision_config.projector_bias", "Vision: bias of the merger").flag().of_file(),
    /// Frames of a video that are taken together.
    VisionPatchFrames("vision-config.patch-temporal", "vision_config.patch_temporal", "Vision: frames taken together").whole(1..=SIZE).step(1).of_file(),
    /// Width of the patches that the text attends to.
    EncoderHidden("encoder-hidden-size", "encoder_hidden_size", "Width of patches").whole(1..=SIZE).step(1).of_file(),
    /// Learned queries: tokens that an image becomes.
    LatentQueries("latent-query-num", "latent_query_num", "Projector: learned queries").whole(1..=SIZE).step(1).of_file(),
    /// Numbers of an action.
    ActionWidth("max-action-dim", "max_action_dim", "Numbers of an action").whole(1..=SIZE).step(1).of_file(),
    /// Numbers of a state of the robot.
    StateWidth("max-state-dim", "max_state_dim", "Numbers of a state").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the resampler.
    ProteinLayers("resampler-depth", "resampler_depth", "Resampler: layers").whole(1..=SIZE).step(1).of_file(),
    /// Width of the resampler's heads.
    ProteinHead("resampler-dim-head", "resampler_dim_head", "Resampler: width of a head").whole(1..=SIZE).step(1).of_file(),
    /// Heads of the resampler.
    ProteinHeads("resampler-heads", "resampler_heads", "Resampler: heads").whole(1..=SIZE).step(1).of_file(),
    /// Learned latents of the resampler.
    ProteinLatents("resampler-num-latents", "resampler_num_latents", "Resampler: latents").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the feed-forward layers by their width.
    ProteinFactor("resampler-ff-mult", "resampler_ff_mult", "Resampler: feed-forward by width").whole(1..=SIZE).step(1).of_file(),
    /// Layers between the blocks that attend to proteins.
    AlignerLayers("aligner-num-add-layers", "aligner_num_add_layers", "Layers that attend to proteins").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of their feed-forward layers by their width.
    AlignerFactor("aligner-ffn-mult", "aligner_ffn_mult", "Layers that attend to proteins: feed-forward by width").whole(1..=SIZE).step(1).of_file(),
    /// Bias vectors on their output; very few parameters.
    AlignerBias("aligner-enable-bias", "aligner_enable_bias", "Layers that attend to proteins: bias").flag().of_file(),
    /// The activation function of the vision tower's blocks.
    VisionAct("vision-config.hidden-act", "vision_config.hidden_act", "Vision: activation function").text(30).of_file(),
    /// The activation function between the projector's matrices.
    ProjectorAct("projector-hidden-act", "projector_hidden_act", "Projector: activation function").text(30).of_file(),
    /// Blocks of the vision tower behind the one that the projector reads: 1 where the file's
    /// `vision_feature_layer` is −2.
    FeatureBehind("vision-feature-layer-behind", "vision_feature_layer_behind", "Projector: blocks behind the one it reads").whole(0..=1024).step(1).of_file(),
    /// The projector leaves an image's class token out (`default`), or reads it too (`full`).
    FeatureStrategy("vision-feature-select-strategy", "vision_feature_select_strategy", "Projector: tokens it reads").text(20).of_file(),
    /// Tokens that pooling leaves of an image.
    PooledTokens("mm-tokens-per-image", "mm_tokens_per_image", "Projector: pooled tokens").whole(1..=SIZE).step(64).of_file(),
    /// Rows of the tables of positions.
    VisionPlaces("vision-config.max-position-embeddings", "vision_config.max_position_embeddings", "Vision: rows of positions").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the table of times.
    VisionMoments("vision-config.max-temporal-embeddings", "vision_config.max_temporal_embeddings", "Vision: positions in time").whole(1..=SIZE).step(1).of_file(),
    /// Patches along each side that a convolution sees, or moments of sound.
    VisionConvolved("vision-config.conv-kernel-size", "vision_config.conv_kernel_size", "Vision or sound: places of convolutions").whole(1..=SIZE).step(1).of_file(),
    /// Layers of convolution in the vision tower.
    VisionConvolutions("vision-config.layer-types", "vision_config.layer_types", "Vision: layers of convolution").whole(0..=1024).step(1).of_file(),
    /// Bands of sound that a further part reads.
    FurtherFeature("further-config.feature-size", "further_config.feature_size", "Further part: bands of sound").whole(1..=SIZE).step(1).of_file(),
    /// Width behind a further part.
    FurtherAdapter("further-config.adapter-out-dim", "further_config.adapter_out_dim", "Further part: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Bands of sound that have an embedding each.
    FurtherMelBands("further-config.n-mel-bins", "further_config.n_mel_bins", "Further part: bands of sound").whole(1..=SIZE).step(1).of_file(),
    /// Steps of loudness that a band of sound is told in.
    FurtherLoudness("further-config.mel-vocab-size", "further_config.mel_vocab_size", "Further part: steps of a band").whole(1..=SIZE).step(1).of_file(),
    /// Width of the first stage; each later one is twice as wide.
    FurtherWidths("further-config.hidden-sizes", "further_config.hidden_sizes", "Further part: first width").whole(1..=SIZE).step(1).of_file(),
    /// Width behind a further part.
    FurtherOutHidden("further-config.out-hidden-size", "further_config.out_hidden_size", "Further part: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of a further part.
    FurtherNumBlocks("further-config.num-blocks", "further_config.num_blocks", "Further part: blocks").whole(1..=SIZE).step(1).of_file(),
    /// Channels of the convolutions before the blocks.
    FurtherNemo("further-config.nemo-conv-channels", "further_config.nemo_conv_channels", "Further part: channels").whole(1..=SIZE).step(1).of_file(),
    /// Bands of sound behind the convolutions before the blocks.
    FurtherNemoSize("further-config.nemo-final-size", "further_config.nemo_final_size", "Further part: bands behind convolutions").whole(1..=SIZE).step(1).of_file(),
    /// Longest distance between moments of sound that has a bias of its own.
    FurtherDistance("further-config.bias-max-distance", "further_config.bias_max_distance", "Further part: longest distance").whole(1..=SIZE).step(1).of_file(),
    /// Moments of sound that a block's convolution sees.
    FurtherKernel("further-config.kernel-size", "further_config.kernel_size", "Further part: moments of convolutions").whole(1..=SIZE).step(1).of_file(),
    /// Channels behind a block's convolution.
    FurtherSeparate("further-config.depthwise-separable-out-channel", "further_config.depthwise_separable_out_channel", "Further part: channels of convolutions").whole(1..=SIZE).step(1).of_file(),
    /// Channels behind the products around a block's convolution.
    FurtherPointwise("further-config.ext-pw-out-channel", "further_config.ext_pw_out_channel", "Further part: channels of gates").whole(1..=SIZE).step(1).of_file(),
    /// Inner width of the vision tower's experts.
    VisionMoe("vision-config.moe-intermediate-size", "vision_config.moe_intermediate_size", "Vision: width of experts").whole(1..=SIZE).step(1).of_file(),
    /// Layers of the vision tower without experts.
    VisionDense("vision-config.mlp-layer-types", "vision_config.mlp_layer_types", "Vision: layers without experts").whole(0..=SIZE).step(1).of_file(),
    /// Experts in the vision tower's last layers.
    VisionExperts("vision-config.num-local-experts", "vision_config.num_local_experts", "Vision: experts").whole(1..=SIZE).step(1).of_file(),
    /// Experts of all layers of the vision tower that have a number of their own, together.
    VisionListedExperts("vision-config.per-layer-config", "vision_config.per_layer_config", "Vision: experts of listed layers").whole(0..=SIZE).step(1).of_file(),
    /// Width behind the vision tower.
    VisionAdapterOut("vision-config.adapter-out-dim", "vision_config.adapter_out_dim", "Vision: width behind it").whole(1..=SIZE).step(1).of_file(),
    /// Numbers that a patch, laid flat, has.
    VisionFlatPatch("vision-config.patch-embed-hidden-size", "vision_config.patch_embed_hidden_size", "Vision: numbers of a patch").whole(1..=SIZE).step(1).of_file(),
    /// Rows of the tables of positions by row and by column.
    VisionMostPatches("vision-config.max-num-patches", "vision_config.max_num_patches", "Vision: rows of positions").whole(1..=SIZE).step(1).of_file(),
    /// Bands of sound that a further part reads.
    FurtherInput("further-config.input-size", "further_config.input_size", "Further part: bands of sound").whole(1..=SIZE).step(1).of_file(),
    /// Blocks of the vision tower that see the whole image, where the others see windows of it.
    VisionFull("vision-config.fullatt-block-indexes", "vision_config.fullatt_block_indexes", "Vision: blocks that see all").layers().of_file(),
    /// Width of the first level of a tower whose levels each are twice as wide as the one before.
    VisionLevels("vision-config.dim-embed", "vision_config.dim_embed", "Vision: hidden size").whole(1..=SIZE).step(64).of_file(),
    /// Rows of the tables of positions along height and width.
    VisionMostPlaces("vision-config.max-pos-embeddings", "vision_config.max_pos_embeddings", "Vision: rows of positions").whole(1..=SIZE).step(1).of_file(),
    /// Rows of a table of positions along each side.
    VisionPositionRows("vision-config.position-embedding-size", "vision_config.position_embedding_size", "Vision: rows of positions").whole(1..=SIZE).step(1).of_file(),
    /// 1 where the model has a part for sound.
    Hears("audio-config", "audio_config", "Part for sound").whole(0..=1).step(1).of_file(),
    /// Width of what the part for sound gives.
    FurtherProjected("further-config.output-proj-dims", "further_config.output_proj_dims", "Further part: output width").whole(1..=SIZE).step(1).of_file(),
}
