        uv run torchrun --nproc_per_node=8 run_recipe.py \
            --recipe llama32_1b_sft_config \
            --dataset llm-finetune \
            dataset.dataset_name=gsm8k
