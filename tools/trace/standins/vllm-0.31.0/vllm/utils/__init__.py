"""Of vllm.utils, what trl imports."""
