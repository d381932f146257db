"""Of vllm.distributed.device_communicators, what trl imports."""
