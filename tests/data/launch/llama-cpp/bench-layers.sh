./llama-bench -ngl 10,20,30,31,32,33,34,35
