"""Of vllm.distributed.weight_transfer, what trl imports."""
