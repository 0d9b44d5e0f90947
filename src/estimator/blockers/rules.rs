//! The sentences of rules that software sets, or that this program does not model.

rules! {
    INTERLEAVED_ALONE: MEGATRON_CORE,
        "Megatron-LM has chunks of layers only with two pipeline stages or more; use 1 chunk";
    CHUNKS_ELSEWHERE: MEGATRON_CORE,
        "Chunks of layers belong to the interleaved schedule; use one forward, one backward, or 1 chunk";
    // Adapters are put beside transformers' own modules here.
    TUNING_ELSEWHERE: PEFT,
        "Adapters and frozen layers are modelled for transformers' modules and fused kernels; use one of these software stacks";
    TUNING_SPLIT: PEFT,
        "Adapters and frozen layers are not modelled with tensor, sequence or pipeline parallelism; use data-parallel ranks alone";
    // ms-swift 4.0, `swift/megatron`: `LoraParallelLinear`, "does not support DoRA", "Currently,
    // LoRA does not support ETP".
    TUNING_MEGATRON: MS_SWIFT,
        "Under Megatron-LM fine-tuning is modelled with LoRA from examples beside weights of 16 bits; choose these, or a software stack of transformers' modules";
    ADAPTED_OTHERWISE: MS_SWIFT,
        "Under Megatron-LM adapters stand beside Transformer Engine's layers alone; use its modules";
    ADAPTED_LATENT: MS_SWIFT,
        "Adapters are not modelled for latent attention under Megatron-LM; use a software stack of transformers' modules";
    ADAPTED_SHARED: MS_SWIFT,
        "Adapters are not modelled under Megatron-FSDP; share out optimizer states alone";
    ADAPTED_EXPERTS_SPLIT: MS_SWIFT,
        "Experts that tensor ranks share have no adapters under Megatron-LM; use 1 tensor-parallel rank for experts, or leave gate, up and down without adapters";
    ADAPTED_EXPERTS_APART: MS_SWIFT,
        "Adapters of experts are modelled in grouped products alone; multiply experts together (moe_grouped_gemm), or leave gate, up and down without adapters";
    NOTHING_LEARNS: PEFT,
        "No linear layer of this model has an adapter, so that nothing learns; choose other layers for adapters";
    // peft 0.21, `PeftModel.add_adapter`: blocks that run again have no cache.
    PREFIX_RECOMPUTED: PEFT,
        "peft's prefix tuning does not work with recomputation; recompute nothing, or choose a learned prompt";
    PREFIX_ELSEWHERE: PEFT,
        "Learned keys and values are not modelled for Falcon, Bloom and latent attention; choose a learned prompt, or LoRA";
    // peft 0.21, `utils/transformers_weight_conversion.py`: "Cannot convert PEFT target(s) …
    // because they are fused".
    EXPERTS_ADAPTED_IN_HALVES: PEFT,
        "Experts hold gate and up in one matrix, and peft adapts both or none; choose both";
    // `ParamWrapper`: "does not work with lora_dropout != 0", "does not work with use_dora=True".
    EXPERTS_ADAPTED_PLAINLY: PEFT,
        "peft adapts experts and routers without dropout and without DoRA; choose LoRA without dropout, or leave gate, up, down and other linear layers without adapters";
    EXPERTS_ADAPTED_SHARED: PEFT,
        "Adapters of experts are modelled on one GPU, with copies of the model on every GPU, and under Megatron-LM; leave gate, up and down without adapters, or share nothing out";
    SAVED_TIED: PEFT,
        "An embedding or a head that learns beside adapters is not modelled where both are one tensor; leave both as they are";
    SAVED_SHARED: PEFT,
        "An embedding or a head that learns beside adapters is modelled on one GPU, and with copies of the model on every GPU; leave both as they are, or share nothing out";
    // peft 0.21, `tuners_utils.py`: "is incompatible with Mamba-based models".
    STATES_ADAPTED: PEFT,
        "peft refuses adapters on the output of this model's Mamba layers; leave other linear layers without adapters";
    STEPS_IN_BACKWARD: TORCHTUNE,
        "An optimizer that steps in backward is modelled on one GPU, with one micro-batch a step, weights without fp32 copies, and the fused step; let it step behind backward";
    // DeepSpeed's engine, Megatron-LM's buffers and torchtune's hooks each do it their own way;
    // FSDP joins a step's first gradients with kept ones.
    GRADIENTS_KEPT: PYTORCH_AUTOGRAD,
        "Gradients that are filled with zeros are modelled where PyTorch's own optimizer steps behind backward and every micro-batch reduces them; let them go (set_to_none)";
    LOSS_OF_TORCHTITAN: TORCHTITAN,
        "torchtitan's loss in chunks is modelled for torchtitan 0.3 under FSDP, with an untied head, a multiple of 8 tokens, nothing compiled, and gradients reduced with every micro-batch; use the stack's own loss";
    AUTOCAST_SHARED: PEFT,
        "Autocast beside adapters is modelled on one GPU and with plain data parallelism alone: DeepSpeed and FSDP cast for themselves; leave it out";
    UPCAST_SHARED: PEFT,
        "Weights in fp32 beside those of 4 bits are modelled on one GPU and with plain data parallelism alone; leave them in 16 bits";
    BYTES_SHARED: LLM_INT8_2022,
        "Weights of 8 bits and experts of few bits are modelled where every rank has all of them; use linear layers of 4 bits, or share no weights out";
    EXPERTS_PACKED: PEFT,
        "Experts of 4 bits are modelled without adapters of their own, in the modules of transformers; choose other layers, or leave experts in 16 bits";
    // transformers 5.23 keeps texts apart by position_ids: lengths for FlashAttention, a mask for
    // each sequence elsewhere.
    PACKED_SCORES: PACKING_2024,
        "Texts that share a sequence are modelled with FlashAttention alone, which needs no mask to keep them apart; use it, or pad";
    LAYERS_ELSEWHERE: PYTORCH_AUTOGRAD,
        "Training layers with heads of different shapes, gates, an indexer or several residual streams is modelled for transformers' modules and fused kernels; use one of these software stacks";
    STREAMS_IN_STAGES: PYTORCH_AUTOGRAD,
        "Pipeline stages of a model with several residual streams, or with an indexer, are not modelled; use 1 stage";
    STREAMS_TUNED: PEFT,
        "Learned prompts are not modelled for several residual streams, or for an indexer; choose LoRA, or full fine-tuning";
    STATES_OTHERWISE: PYTORCH_AUTOGRAD,
        "Learned prompts and torch.compile are not modelled for layers that keep a state; choose LoRA, or full fine-tuning, not compiled";
    INDEXED_BY_MASKS: PYTORCH_AUTOGRAD,
        "transformers trains attention to chosen tokens by masks, which flash kernels do not take; choose standard attention";
    // `cce_backward_kernel`: "Backwards requires embeddings to be bf16 or fp16".
    CUT_IN_32_BITS: CUT_CROSS_ENTROPY,
        "Cut Cross-Entropy takes head and hidden states of 16 bits alone; train in them, or choose another loss";
    // The modules of each family say where they drop out; of others nothing is known.
    DROPOUT_ELSEWHERE: PYTORCH_AUTOGRAD,
        "Dropout is modelled in transformers' own modules, not compiled, and for kinds of models whose places for it are known; set it to 0";
    EVALUATION_SPLIT: TRANSFORMERS_TRAINER,
        "Evaluations between steps are modelled on data-parallel ranks alone; use 1 tensor-, pipeline-, context- and expert-parallel rank, or leave the evaluation batch empty";
    EVALUATION_GATHERED: TRANSFORMERS_TRAINER,
        "Evaluations between steps are modelled where every rank has all weights, and under ZeRO-3 where all weights learn; share out optimizer states and gradients alone, or leave the evaluation batch empty";
    EVALUATION_AWAY: TRANSFORMERS_TRAINER,
        "Evaluations between steps are not modelled beside memory that waits in the host's; keep it on the device, or leave the evaluation batch empty";
    EVALUATION_TUNED: TRANSFORMERS_TRAINER,
        "Evaluations between steps are modelled for the next token, without other models beside; leave the evaluation batch empty";
    EVALUATION_LOSS: TRANSFORMERS_TRAINER,
        "Evaluations between steps are modelled with the stack's own loss and that of transformers 4; use one of them, or leave the evaluation batch empty";
    PACKED_ELSEWHERE: PACKING_2024,
        "Texts that share a sequence are modelled for the next token, transformers' modules and fused kernels, without learned prompts and prefixes; pad them";
}
