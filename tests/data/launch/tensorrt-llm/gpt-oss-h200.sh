#!/usr/bin/env bash

hf download "$MODEL"
SERVER_LOG=/workspace/server.log
PORT=${PORT:-8888}

export TRTLLM_ENABLE_PDL=1 

set -x
cat > gptoss-config.yml << EOF
cuda_graph_config:
  enable_padding: true
  max_batch_size: $CONC
enable_attention_dp: $DP_ATTENTION
kv_cache_config:
  dtype: auto
  enable_block_reuse: false
  free_gpu_memory_fraction: 0.85
moe_config:
  backend: TRITON
num_postprocess_workers: 4
print_iter_log: true
stream_interval: 20 
EOF

PYTHONNOUSERSITE=1 mpirun -n 1 --oversubscribe --allow-run-as-root \
trtllm-serve $MODEL \
--max_batch_size $CONC \
--max_num_tokens 20000 \
--backend pytorch \
--extra_llm_api_options gptoss-config.yml \
--ep_size=$EP_SIZE \
--trust_remote_code \
--gpus_per_node 8 \
--host 0.0.0.0 \
--port $PORT \
--tp_size=$TP \
--pp_size=1 \
> $SERVER_LOG 2>&1 &
