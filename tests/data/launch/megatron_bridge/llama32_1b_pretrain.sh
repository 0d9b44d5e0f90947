        uv run torchrun --nproc_per_node=8 run_recipe.py \
            --recipe llama32_1b_pretrain_config \
            --dataset llm-pretrain-mock \
            train.train_iters=5000 \
            optimizer.lr=0.0003
