"""Of vllm.distributed, what trl imports."""
