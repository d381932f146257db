"""The flags of each command, made from `vramfit generate json`; written by tools/package/make_types.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

# Flags without a value.
SWITCHES = frozenset(
    {
        "accept_tight",
        "all_rows",
        "details",
        "each",
        "events",
        "explain_inputs",
        "force",
        "no_changes",
        "no_largest",
        "no_progress",
        "no_prune",
        "quiet",
    }
)
# Flags of which several values are several flags.
ONE_BY_ONE = frozenset(
    {
        "alloc_conf",
        "assume_off",
        "pytorch_alloc_conf",
        "pytorch_cuda_alloc_conf",
        "set",
    }
)


class PredictFlags(TypedDict, total=False):
    """Flags of vramfit predict."""

    job: str | PathLike[str] | Mapping[str, Any]
    """A job file (vramfit.job/1), - for standard input; flags override what it says"""
    recipe: str
    """A documented set of flags, which other flags override: paper, qlora, qlora-paper, trl-sft, axolotl, llama-factory, unsloth or full (docs/recipes.md) [none]"""
    method: Literal["full", "lora", "qlora"]
    """full, lora or qlora (nf4 with double quantization, prepared for k-bit training, checkpointing) [lora]"""
    adapter: Literal["lora", "ia3", "loha", "lokr", "vera", "oft", "adalora", "ln_tuning", "hra", "miss", "prompt_tuning", "p_tuning", "prefix_tuning", "trainable_tokens", "road", "randlora", "vblora", "delora", "gralora", "pvera", "unilora", "lily", "glora", "deft", "beft", "hira", "supertuning", "peanut", "adaption_prompt", "tinylora", "psoft", "osf", "cartridge"]
    """Kind of the adapters: lora, ia3, loha, lokr, vera, oft, adalora, ln_tuning, hra, miss, road, randlora, vblora, delora, gralora, pvera, unilora, lily, glora, deft, beft, hira, supertuning, peanut, tinylora, psoft, osf, prompt_tuning, p_tuning, prefix_tuning, cartridge, adaption_prompt or trainable_tokens [lora]"""
    rank: int
    """Rank of the adapters [8; vera and pvera 256, adalora 12, miss 64, vblora and unilora 4, tinylora 2; randlora, gralora, lily, hira, peanut and psoft 32]"""
    oft_block_size: int
    """Size of OFT's blocks [32]"""
    feedforward_modules: str | Sequence[str]
    """IA3's modules whose input is scaled instead of the output, or none [peft's table for the model]"""
    num_virtual_tokens: int
    """Tokens that prompt tuning, P-tuning, prefix tuning or a cartridge learns [none]"""
    encoder_hidden_size: int
    """Width of the encoder of P-tuning's virtual tokens [none]"""
    adapter_len: int
    """Tokens of adaption prompts in each layer [none]"""
    adapter_layers: int
    """How many of the last layers have adaption prompts [none]"""
    token_indices: int | Sequence[int]
    """Tokens whose embeddings are trained, alone (--adapter trainable_tokens) or beside LoRA [none]"""
    lora_alpha: float
    """LoRA's alpha; no effect on memory [8]"""
    lora_dropout: float
    """Dropout before the adapters [0]"""
    targets: str | Sequence[str]
    """Modules with adapters: names, a regular expression, all-linear, or the groups attention, mlp, embedding [those of queries and values]"""
    save_whole: str | Sequence[str]
    """Modules that are trained whole beside the adapters [none]"""
    use_rslora: bool
    """Rank-stabilized LoRA; no effect on memory [false]"""
    use_dora: bool
    """DoRA [false]"""
    load_in_4bit: bool
    """Quantize to 4 bits [true with qlora, else false]"""
    load_in_8bit: bool
    """Quantize to 8 bits [false]"""
    bnb_4bit_quant_type: Literal["nf4", "fp4"]
    """nf4 or fp4 [nf4]"""
    bnb_4bit_use_double_quant: bool
    """Quantize the scales too [true with qlora, else false]"""
    bnb_4bit_compute_dtype: Literal["bfloat16", "float16", "float32"]
    """Dtype that 4-bit layers compute in [--dtype with qlora, else float32]"""
    bnb_4bit_quant_storage: Literal["uint8", "int8", "bfloat16", "float16", "float32", "float64"]
    """Dtype that packed weights are kept in; FSDP cuts them only as the dtype of the other weights [uint8]"""
    prepare_kbit: bool
    """Call peft's prepare_model_for_kbit_training [true with qlora, else false]"""
    dtype: Literal["bfloat16", "float16", "float32", "auto"]
    """Dtype that the weights are loaded in: bfloat16, float16, float32 or auto (the checkpoint's) [bfloat16]"""
    attention: Literal["eager", "sdpa", "flash_attention_2"]
    """Attention: eager, sdpa or flash_attention_2 [sdpa]"""
    sdpa_kernel: Literal["flash", "efficient", "cudnn", "math"]
    """Use this kernel of sdpa only: flash, efficient, cudnn or math [what PyTorch chooses on the GPU]"""
    moved_by: Literal["script", "trainer"]
    """Load in host memory, from where Trainer moves the network once adapters are made (trainer) [onto the GPU: script]"""
    text_only: bool
    """Load the text part alone of a model that takes images too, or the whole (false) [as AutoModelForCausalLM]"""
    num_labels: int
    """Load AutoModelForSequenceClassification, with a head of so many labels in place of the language model's; 1: a regression [none]"""
    task_type: Literal["SEQ_CLS", "TOKEN_CLS"]
    """What --num_labels are of: SEQ_CLS (sequences), or TOKEN_CLS (tokens: AutoModelForTokenClassification) [SEQ_CLS]"""
    async_load: bool
    """transformers 5 reads weights in threads; false is HF_DEACTIVATE_ASYNC_LOAD=1 [true]"""
    batch: int
    """Sequences in each batch of one GPU [1]"""
    seq: int
    """Tokens in each sequence [1024]"""
    accumulate: int
    """Gradient accumulation steps [1]"""
    mixed_precision: Literal["no", "bf16", "fp16"]
    """Mixed precision (autocast): no, bf16 or fp16 [no]"""
    checkpointing: Literal["off", "on", "reentrant", "non-reentrant"]
    """Gradient checkpointing: off, on (of the library's default kind), reentrant or non-reentrant [on with qlora, else off]"""
    optim: Literal["adafactor", "adagrad", "adamw_8bit", "adamw_bnb_8bit", "adamw_torch", "adamw_torch_fused", "ademamix", "ademamix_8bit", "lion_32bit", "lion_8bit", "none", "paged_adamw_32bit", "paged_adamw_8bit", "paged_ademamix_32bit", "paged_ademamix_8bit", "paged_lion_32bit", "paged_lion_8bit", "rmsprop", "rmsprop_bnb", "rmsprop_bnb_32bit", "rmsprop_bnb_8bit", "sgd"]
    """Optimizer, named as in transformers [adamw_torch]"""
    max_grad_norm: float
    """Clip gradients at this norm; 0: do not clip [1]"""
    use_liger_kernel: bool
    """Use the Liger kernels [false]"""
    mask: Literal["absent", "ones", "left_padded", "right_padded"]
    """Attention mask of each batch: absent, ones, left_padded or right_padded [ones]"""
    eval_batch: int
    """Evaluate after each step, with N sequences in each batch of one GPU [no evaluation]"""
    loop: Literal["trainer", "plain", "sft", "unsloth", "dpo", "reward", "kto", "orpo", "cpo", "grpo", "rloo", "gkd", "online_dpo", "prm", "bco", "ppo"]
    """trainer (transformers' Trainer), plain (a training loop of your own), sft, dpo, reward, kto, orpo, cpo, grpo, rloo, gkd, online_dpo, prm, bco or ppo (trl's SFTTrainer, DPOTrainer, RewardTrainer, KTOTrainer, ORPOTrainer, CPOTrainer, GRPOTrainer, RLOOTrainer, GKDTrainer, OnlineDPOTrainer, PRMTrainer, BCOTrainer, PPOTrainer) or unsloth (Unsloth's own step) [trainer]"""
    steps: int
    """Optimizer steps; the second stands for all later ones [2]"""
    prompt: int
    """Tokens of each prompt; completions have the rest of --seq [1, which needs the most; GRPO, RLOO and PPO: 512]"""
    completion: int
    """Tokens of each chosen completion, and of each rejected one [what the prompt leaves of --seq]"""
    rejected: int
    """Tokens of each rejected completion [as many as of the chosen one]"""
    loss_type: str | Sequence[str]
    """trl's loss_type: of DPO one or several, whose sum is the loss [sigmoid], of KTO kto or apo_zero_unpaired [kto], of CPO sigmoid, hinge, ipo or simpo [sigmoid], of GRPO dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo or vespo [dapo]"""
    precompute_ref_log_probs: bool
    """Score the data with the reference before training, which then needs no model of its own [false]"""
    sync_ref_model: bool
    """The reference follows the policy (TR-DPO), with full fine-tuning; takes no further memory [false]"""
    cpo_alpha: float
    """CPO: the weight of the chosen rows' likelihood; memory asks only whether it is 0 [1]"""
    center_rewards_coefficient: float
    """Reward models: the loss has a term that centers rewards, with any coefficient [none]"""
    num_generations: int
    """Completions of each prompt; --batch counts completions [8, RLOO: 2]"""
    max_completion_length: int
    """Tokens that a completion may have; without --completion each one has so many [512]"""
    padded: bool
    """The rows of a batch differ in length, up to --prompt and --completion, and are padded; false: all are as long [true]"""
    steps_per_generation: int
    """Batches whose completions are generated at once [the steps of accumulation]"""
    num_iterations: int
    """How often completions are trained on [1]"""
    beta: float
    """Weight of the divergence from a reference; memory asks only whether it is 0, which needs no reference [0, RLOO: 0.05]; of GKD the part of the mixture, between 0 and 1 [0.5]"""
    temperature: float
    """Of sampling; memory asks only whether it is 1 [1]"""
    repetition_penalty: float
    """Of sampling; memory asks only whether it is 1 [1]"""
    top_k: int
    """Tokens are drawn from so many of the likeliest [0: from all]"""
    top_p: float
    """Tokens are drawn from the likeliest with this share of the probability; memory asks only whether it is 1 [1]"""
    min_p: float
    """Tokens are drawn from those with this part of the likeliest one's probability; memory asks only whether it is given [none]"""
    mask_truncated_completions: bool
    """Completions that end at the limit of tokens are not trained on [false]"""
    importance_sampling_level: str
    """GRPO: token, or sequence (GSPO): what has a ratio to the old policy [token]"""
    delta: float
    """GRPO: ratios are clipped above too, as in INTELLECT-2; memory asks only whether they are [none]"""
    use_bias_correction_kl: bool
    """GRPO: the divergence is weighted by the ratio [true]"""
    normalize_advantages: bool
    """RLOO: advantages are normalized [false]"""
    use_vllm: bool
    """vLLM generates, in the same process or on a server [false: transformers generates]"""
    vllm_mode: str
    """colocate: in the same process, its share of the GPU is kept free; server: on a GPU of its own [colocate]"""
    vllm_gpu_memory_utilization: float
    """The share of the GPU that vLLM takes [0.3]"""
    vllm_max_model_length: int
    """Tokens of prompt and completion that vLLM keeps keys and values of; it stops where its share does not hold them [the model's]"""
    vllm_enable_sleep_mode: bool
    """Not predicted: vLLM holds its share all the time [false]"""
    vllm_importance_sampling_correction: bool
    """GRPO: the loss is corrected for the distance between vLLM's log-probabilities and the trainer's [true]"""
    vllm_importance_sampling_mode: str
    """GRPO: sequence_mask, sequence_truncate, token_mask or token_truncate [sequence_mask]"""
    response_length: int
    """Tokens of each response, as --completion [53]"""
    num_ppo_epochs: int
    """How often the rows of a rollout are trained on [4]"""
    num_mini_batches: int
    """Parts of a rollout, --batch times --accumulate rows, behind each of which the cache is emptied [1]"""
    local_rollout_forward_batch_size: int
    """Rows that generate, and that are scored, at once [64]"""
    stop_token: str
    """eos: responses are cut behind their end; none: they are not [none]"""
    missing_eos_penalty: float
    """What a response without an end loses; memory asks only whether it is given [none]"""
    whiten_rewards: bool
    """Rewards are normalized, in mini batches of 8 rows or more [false]"""
    kl_estimator: str
    """k1 or k3 [k1]"""
    ref_model: bool
    """The script loads the reference of full fine-tuning itself; false: the trainer copies the policy [false]"""
    reward_model: str | Sequence[str]
    """Networks that give rewards, each with a head of one number; without --reward_functions no function does [none]"""
    reward_dtype: str
    """Of the reward models' weights [their checkpoint's; PPO: as of the policy's]"""
    value_model: str
    """PPO: the network with a head of one number that is trained beside the policy [the reward model's]"""
    value_dtype: str
    """Of the value model's weights [as of the policy's]"""
    reward_functions: int
    """Functions on the host that give rewards [1, beside models 0]"""
    teacher: str
    """GKD: the network whose logits the student learns, with the same vocabulary [none; required with --loop gkd]"""
    teacher_dtype: str
    """Of the teacher's weights [its checkpoint's]"""
    lmbda: float
    """GKD: how often the student's own completions are trained on; 0: never, 1: always, between: both kinds of steps are predicted [0.5]"""
    max_new_tokens: int
    """GKD, online DPO: tokens of what is generated [128, online DPO: 64]"""
    seq_kd: bool
    """GKD: other steps train on the teacher's completions [false]"""
    use_gradient_checkpointing: str
    """unsloth (inputs of layers above 2 MiB wait in host memory) or true [unsloth]"""
    llm_int8_skip_modules: str
    """Layers that the 4-bit checkpoint has in 16 bits, divided by +: model.layers.1.mlp+model.layers.3.self_attn [what quantization_config of the model's config.json says]"""
    embedding_learning_rate: str
    """UnslothTrainer's own, for an embedding and a head that --save-whole names [as all others']"""
    row_lengths: str
    """Tokens of each row of the data, over and over: 2048+700+300 [all rows of --seq]"""
    gpu: str
    """A GPU's name (vramfit gpus), a size (24GiB), or NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE in bytes [none: nothing is too large]"""
    gpu_total: str
    """The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]"""
    context: str
    """What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]"""
    reserve: str
    """GPU memory to keep free [0GiB]"""
    alloc_conf: str
    """Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]"""
    stack: str
    """Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file [hf-2026-11]"""
    gpus: int
    """Number of processes, each with its own GPU: DistributedDataParallel unless a flag below chooses another method; the answer is about one of them [1]"""
    gpus_per_node: int
    """Processes in each node, over which FSDP1's hybrid strategies shard, with --fsdp-sharding-strategy [all]"""
    tp: int
    """Tensor parallelism over N processes: transformers' tp_plan "auto"; all of them see the same batches [off]"""
    pp: int
    """Pipeline parallelism over N processes: torch.distributed.pipelining in a plain loop; the answer is about the stage that needs the most [off]"""
    pp_schedule: Literal["gpipe", "1f1b", "interleaved_1f1b"]
    """Pipeline schedule, with --pp: 1f1b, gpipe or interleaved_1f1b [1f1b]"""
    micro_batches: int
    """Microbatches of --batch sequences in each step, with --pp [one for each process]"""
    pp_virtual_stages: int
    """Stages in each process, with --pp-schedule interleaved_1f1b [1]"""
    pp_return_outputs: bool
    """The last stage keeps the logits of all microbatches, schedule.step(return_outputs=...), with --pp [true]"""
    cp: int
    """Context parallelism over N processes, which share each sequence, as accelerate has it; implies --fsdp 2; the answer is about the process that needs the most [off]"""
    cp_comm_strategy: Literal["allgather", "alltoall"]
    """How keys and values reach the other processes, with --cp: allgather or alltoall [allgather]"""
    fsdp: Literal["1", "2"] | int
    """Fully Sharded Data Parallel, version 1 or 2, as accelerate sets it up: weights, gradients and optimizer states are sharded; with --gpus [off]"""
    fsdp_backward_prefetch: Literal["no_prefetch", "backward_pre", "backward_post"]
    """backward_pre gathers the next layer's weights before the current layer's gradients are computed, backward_post after that, with --fsdp 1 [no_prefetch]"""
    fsdp_forward_prefetch: bool
    """Gather the next layer's weights while the current layer runs, from the second step on, with --fsdp 1 [false]"""
    fsdp_limit_all_gathers: bool
    """Let the CPU wait rather than have a third layer gathered ahead, with --fsdp 1 [true]"""
    fsdp_sharding_strategy: Literal["full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"]
    """full_shard; shard_grad_op: a layer's gathered weights stay until its backward; hybrid_shard and hybrid_shard_zero2: the same within a node; no_shard; with --fsdp 1 [full_shard]"""
    fsdp_use_orig_params: bool
    """The optimizer sees the model's own parameters; false: one flat parameter for each layer, with --fsdp 1 [true]"""
    dp_replicate: int
    """Number of replicas, each sharded over its own group of processes (HSDP): accelerate's dp_replicate_size; implies --fsdp 2 [1]"""
    fsdp_reshard_after_forward: bool
    """Free a layer's gathered weights after its forward, with --fsdp 2 [true]"""
    fsdp_cpu_offload: bool
    """Keep the weights, gradients and optimizer states of each process in host memory, with --fsdp [false]"""
    fsdp_auto_wrap_policy: Literal["transformer_based_wrap", "size_based_wrap", "no_wrap"]
    """What is an FSDP unit, with --fsdp: transformer_based_wrap: each decoder layer; size_based_wrap: each module with many parameters; no_wrap: only the whole model, accelerate's own default [transformer_based_wrap]"""
    fsdp_transformer_layer_cls_to_wrap: str
    """Class of the decoder layers, with --fsdp: for models with towers for images, whose other layers stay out of units then [all that the model names]"""
    fsdp_min_num_params: int
    """Parameters that a module needs to be a unit, with --fsdp-auto-wrap-policy size_based_wrap [100000000]"""
    fsdp_cpu_ram_efficient_loading: bool
    """Only the first process reads the weights and sends them to the others, with --fsdp 2 [false]"""
    process: int
    """The process that the answer is about, counted from 0, with --gpus; the first has the largest shards [0; with --pp the stage that needs the most]"""
    ddp_find_unused_parameters: bool
    """Trainer's argument, with --gpus [true with adapters or without checkpointing]"""
    ddp_bucket_cap_mb: int
    """Trainer's argument, with --gpus [1 for the first bucket, 25 for the others]"""
    ddp_static_graph: bool
    """Trainer's argument, with --gpus [false]"""
    deepspeed: str | PathLike[str]
    """DeepSpeed config as Trainer takes it: ZeRO instead of DDP; with --gpus [none]"""
    zero_stage: Literal["1", "2", "3"] | int
    """DeepSpeed ZeRO stage 1, 2 or 3; without --deepspeed: its AdamW and "auto" sizes; with --gpus [none]"""
    accept_tight: bool
    """Exit with 0 where it is tight: it fits unless what is not known turns out badly"""
    details: bool
    """Show all: what was asked, every named peak, levels of memory, notes with hints"""
    no_changes: bool
    """Skip the search for changes that make it fit, and for the largest run that fits"""


class SweepFlags(TypedDict, total=False):
    """Flags of vramfit sweep."""

    recipe: str
    """A documented set of flags, which other flags override: paper, qlora, qlora-paper, trl-sft, axolotl, llama-factory, unsloth or full (docs/recipes.md) [none]"""
    method: str | Sequence[str]
    """full, lora or qlora (nf4 with double quantization, prepared for k-bit training, checkpointing) [lora]"""
    adapter: str | Sequence[str]
    """Kind of the adapters: lora, ia3, loha, lokr, vera, oft, adalora, ln_tuning, hra, miss, road, randlora, vblora, delora, gralora, pvera, unilora, lily, glora, deft, beft, hira, supertuning, peanut, tinylora, psoft, osf, prompt_tuning, p_tuning, prefix_tuning, cartridge, adaption_prompt or trainable_tokens [lora]"""
    rank: int | str | Sequence[int] | Sequence[str]
    """Ranks: 8,16,32 or 8..256:x2 [1..128:x2]"""
    oft_block_size: str | int | Sequence[int]
    """Size of OFT's blocks [32]"""
    feedforward_modules: str | Sequence[str]
    """IA3's modules whose input is scaled instead of the output, or none [peft's table for the model]"""
    num_virtual_tokens: str | int | Sequence[int]
    """Tokens that prompt tuning, P-tuning, prefix tuning or a cartridge learns [none]"""
    encoder_hidden_size: str | int | Sequence[int]
    """Width of the encoder of P-tuning's virtual tokens [none]"""
    adapter_len: str | int | Sequence[int]
    """Tokens of adaption prompts in each layer [none]"""
    adapter_layers: str | int | Sequence[int]
    """How many of the last layers have adaption prompts [none]"""
    token_indices: str | int | Sequence[int]
    """Tokens whose embeddings are trained, alone (--adapter trainable_tokens) or beside LoRA [none]"""
    lora_alpha: str | float | Sequence[float]
    """LoRA's alpha; no effect on memory [8]"""
    lora_dropout: str | float | Sequence[float]
    """Dropout before the adapters [0]"""
    targets: int | str | Sequence[int] | Sequence[str]
    """Sets of target modules: attention,attention+mlp,q_proj+v_proj [all sets of embedding, attention, mlp]"""
    save_whole: str | Sequence[str]
    """Modules that are trained whole beside the adapters [none]"""
    use_rslora: str | bool | Sequence[bool]
    """Rank-stabilized LoRA; no effect on memory [false]"""
    use_dora: str | bool | Sequence[bool]
    """DoRA [false]"""
    load_in_4bit: str | bool | Sequence[bool]
    """Quantize to 4 bits [true with qlora, else false]"""
    load_in_8bit: str | bool | Sequence[bool]
    """Quantize to 8 bits [false]"""
    bnb_4bit_quant_type: str | Sequence[str]
    """nf4 or fp4 [nf4]"""
    bnb_4bit_use_double_quant: str | bool | Sequence[bool]
    """Quantize the scales too [true with qlora, else false]"""
    bnb_4bit_compute_dtype: str | Sequence[str]
    """Dtype that 4-bit layers compute in [--dtype with qlora, else float32]"""
    bnb_4bit_quant_storage: str | Sequence[str]
    """Dtype that packed weights are kept in; FSDP cuts them only as the dtype of the other weights [uint8]"""
    prepare_kbit: str | bool | Sequence[bool]
    """Call peft's prepare_model_for_kbit_training [true with qlora, else false]"""
    dtype: str | Sequence[str]
    """Dtype that the weights are loaded in: bfloat16, float16, float32 or auto (the checkpoint's) [bfloat16]"""
    attention: str | Sequence[str]
    """Attention: eager, sdpa or flash_attention_2 [sdpa]"""
    sdpa_kernel: str | Sequence[str]
    """Use this kernel of sdpa only: flash, efficient, cudnn or math [what PyTorch chooses on the GPU]"""
    moved_by: str | Sequence[str]
    """Load in host memory, from where Trainer moves the network once adapters are made (trainer) [onto the GPU: script]"""
    text_only: str | bool | Sequence[bool]
    """Load the text part alone of a model that takes images too, or the whole (false) [as AutoModelForCausalLM]"""
    num_labels: str | int | Sequence[int]
    """Load AutoModelForSequenceClassification, with a head of so many labels in place of the language model's; 1: a regression [none]"""
    task_type: str | Sequence[str]
    """What --num_labels are of: SEQ_CLS (sequences), or TOKEN_CLS (tokens: AutoModelForTokenClassification) [SEQ_CLS]"""
    async_load: str | bool | Sequence[bool]
    """transformers 5 reads weights in threads; false is HF_DEACTIVATE_ASYNC_LOAD=1 [true]"""
    batch: int | str | Sequence[int] | Sequence[str]
    """Batch sizes [1..8:x2, doubled on while anything fits]"""
    seq: int | str | Sequence[int] | Sequence[str]
    """Sequence lengths: 512..4096:+512 [16..512:x2, doubled on while anything fits]"""
    accumulate: str | int | Sequence[int]
    """Gradient accumulation steps [1]"""
    mixed_precision: str | Sequence[str]
    """Mixed precision (autocast): no, bf16 or fp16 [no]"""
    checkpointing: str | Sequence[str]
    """Gradient checkpointing: off, on (of the library's default kind), reentrant or non-reentrant [on with qlora, else off]"""
    optim: str | Sequence[str]
    """Optimizer, named as in transformers [adamw_torch]"""
    max_grad_norm: str | float | Sequence[float]
    """Clip gradients at this norm; 0: do not clip [1]"""
    use_liger_kernel: str | bool | Sequence[bool]
    """Use the Liger kernels [false]"""
    mask: str | Sequence[str]
    """Attention mask of each batch: absent, ones, left_padded or right_padded [ones]"""
    eval_batch: str | int | Sequence[int]
    """Evaluate after each step, with N sequences in each batch of one GPU [no evaluation]"""
    loop: str | Sequence[str]
    """trainer (transformers' Trainer), plain (a training loop of your own), sft, dpo, reward, kto, orpo, cpo, grpo, rloo, gkd, online_dpo, prm, bco or ppo (trl's SFTTrainer, DPOTrainer, RewardTrainer, KTOTrainer, ORPOTrainer, CPOTrainer, GRPOTrainer, RLOOTrainer, GKDTrainer, OnlineDPOTrainer, PRMTrainer, BCOTrainer, PPOTrainer) or unsloth (Unsloth's own step) [trainer]"""
    steps: str | int | Sequence[int]
    """Optimizer steps; the second stands for all later ones [2]"""
    prompt: str | int | Sequence[int]
    """Tokens of each prompt; completions have the rest of --seq [1, which needs the most; GRPO, RLOO and PPO: 512]"""
    completion: str | int | Sequence[int]
    """Tokens of each chosen completion, and of each rejected one [what the prompt leaves of --seq]"""
    rejected: str | int | Sequence[int]
    """Tokens of each rejected completion [as many as of the chosen one]"""
    loss_type: str | Sequence[str]
    """trl's loss_type: of DPO one or several, whose sum is the loss [sigmoid], of KTO kto or apo_zero_unpaired [kto], of CPO sigmoid, hinge, ipo or simpo [sigmoid], of GRPO dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo or vespo [dapo]"""
    precompute_ref_log_probs: str | bool | Sequence[bool]
    """Score the data with the reference before training, which then needs no model of its own [false]"""
    sync_ref_model: str | bool | Sequence[bool]
    """The reference follows the policy (TR-DPO), with full fine-tuning; takes no further memory [false]"""
    cpo_alpha: str | float | Sequence[float]
    """CPO: the weight of the chosen rows' likelihood; memory asks only whether it is 0 [1]"""
    center_rewards_coefficient: str | float | Sequence[float]
    """Reward models: the loss has a term that centers rewards, with any coefficient [none]"""
    num_generations: str | int | Sequence[int]
    """Completions of each prompt; --batch counts completions [8, RLOO: 2]"""
    max_completion_length: str | int | Sequence[int]
    """Tokens that a completion may have; without --completion each one has so many [512]"""
    padded: str | bool | Sequence[bool]
    """The rows of a batch differ in length, up to --prompt and --completion, and are padded; false: all are as long [true]"""
    steps_per_generation: str | int | Sequence[int]
    """Batches whose completions are generated at once [the steps of accumulation]"""
    num_iterations: str | int | Sequence[int]
    """How often completions are trained on [1]"""
    beta: str | float | Sequence[float]
    """Weight of the divergence from a reference; memory asks only whether it is 0, which needs no reference [0, RLOO: 0.05]; of GKD the part of the mixture, between 0 and 1 [0.5]"""
    temperature: str | float | Sequence[float]
    """Of sampling; memory asks only whether it is 1 [1]"""
    repetition_penalty: str | float | Sequence[float]
    """Of sampling; memory asks only whether it is 1 [1]"""
    top_k: str | int | Sequence[int]
    """Tokens are drawn from so many of the likeliest [0: from all]"""
    top_p: str | float | Sequence[float]
    """Tokens are drawn from the likeliest with this share of the probability; memory asks only whether it is 1 [1]"""
    min_p: str | float | Sequence[float]
    """Tokens are drawn from those with this part of the likeliest one's probability; memory asks only whether it is given [none]"""
    mask_truncated_completions: str | bool | Sequence[bool]
    """Completions that end at the limit of tokens are not trained on [false]"""
    importance_sampling_level: str | Sequence[str]
    """GRPO: token, or sequence (GSPO): what has a ratio to the old policy [token]"""
    delta: str | float | Sequence[float]
    """GRPO: ratios are clipped above too, as in INTELLECT-2; memory asks only whether they are [none]"""
    use_bias_correction_kl: str | bool | Sequence[bool]
    """GRPO: the divergence is weighted by the ratio [true]"""
    normalize_advantages: str | bool | Sequence[bool]
    """RLOO: advantages are normalized [false]"""
    use_vllm: str | bool | Sequence[bool]
    """vLLM generates, in the same process or on a server [false: transformers generates]"""
    vllm_mode: str | Sequence[str]
    """colocate: in the same process, its share of the GPU is kept free; server: on a GPU of its own [colocate]"""
    vllm_gpu_memory_utilization: str | float | Sequence[float]
    """The share of the GPU that vLLM takes [0.3]"""
    vllm_max_model_length: str | int | Sequence[int]
    """Tokens of prompt and completion that vLLM keeps keys and values of; it stops where its share does not hold them [the model's]"""
    vllm_enable_sleep_mode: str | bool | Sequence[bool]
    """Not predicted: vLLM holds its share all the time [false]"""
    vllm_importance_sampling_correction: str | bool | Sequence[bool]
    """GRPO: the loss is corrected for the distance between vLLM's log-probabilities and the trainer's [true]"""
    vllm_importance_sampling_mode: str | Sequence[str]
    """GRPO: sequence_mask, sequence_truncate, token_mask or token_truncate [sequence_mask]"""
    response_length: str | int | Sequence[int]
    """Tokens of each response, as --completion [53]"""
    num_ppo_epochs: str | int | Sequence[int]
    """How often the rows of a rollout are trained on [4]"""
    num_mini_batches: str | int | Sequence[int]
    """Parts of a rollout, --batch times --accumulate rows, behind each of which the cache is emptied [1]"""
    local_rollout_forward_batch_size: str | int | Sequence[int]
    """Rows that generate, and that are scored, at once [64]"""
    stop_token: str | Sequence[str]
    """eos: responses are cut behind their end; none: they are not [none]"""
    missing_eos_penalty: str | float | Sequence[float]
    """What a response without an end loses; memory asks only whether it is given [none]"""
    whiten_rewards: str | bool | Sequence[bool]
    """Rewards are normalized, in mini batches of 8 rows or more [false]"""
    kl_estimator: str | Sequence[str]
    """k1 or k3 [k1]"""
    ref_model: str | bool | Sequence[bool]
    """The script loads the reference of full fine-tuning itself; false: the trainer copies the policy [false]"""
    reward_model: str | Sequence[str]
    """Networks that give rewards, each with a head of one number; without --reward_functions no function does [none]"""
    reward_dtype: str | Sequence[str]
    """Of the reward models' weights [their checkpoint's; PPO: as of the policy's]"""
    value_model: str | Sequence[str]
    """PPO: the network with a head of one number that is trained beside the policy [the reward model's]"""
    value_dtype: str | Sequence[str]
    """Of the value model's weights [as of the policy's]"""
    reward_functions: str | int | Sequence[int]
    """Functions on the host that give rewards [1, beside models 0]"""
    teacher: str | Sequence[str]
    """GKD: the network whose logits the student learns, with the same vocabulary [none; required with --loop gkd]"""
    teacher_dtype: str | Sequence[str]
    """Of the teacher's weights [its checkpoint's]"""
    lmbda: str | float | Sequence[float]
    """GKD: how often the student's own completions are trained on; 0: never, 1: always, between: both kinds of steps are predicted [0.5]"""
    max_new_tokens: str | int | Sequence[int]
    """GKD, online DPO: tokens of what is generated [128, online DPO: 64]"""
    seq_kd: str | bool | Sequence[bool]
    """GKD: other steps train on the teacher's completions [false]"""
    use_gradient_checkpointing: str | Sequence[str]
    """unsloth (inputs of layers above 2 MiB wait in host memory) or true [unsloth]"""
    llm_int8_skip_modules: str | Sequence[str]
    """Layers that the 4-bit checkpoint has in 16 bits, divided by +: model.layers.1.mlp+model.layers.3.self_attn [what quantization_config of the model's config.json says]"""
    embedding_learning_rate: str | Sequence[str]
    """UnslothTrainer's own, for an embedding and a head that --save-whole names [as all others']"""
    row_lengths: str | Sequence[str]
    """Tokens of each row of the data, over and over: 2048+700+300 [all rows of --seq]"""
    gpu: str | Sequence[str]
    """A GPU's name (vramfit gpus), a size (24GiB), or NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE in bytes [none: nothing is too large]"""
    gpu_total: str | Sequence[str]
    """The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]"""
    context: str | Sequence[str]
    """What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]"""
    reserve: str | Sequence[str]
    """GPU memory to keep free [0GiB]"""
    alloc_conf: str | Sequence[str]
    """Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]"""
    stack: str | Sequence[str]
    """Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file [hf-2026-11]"""
    gpus: str | int | Sequence[int]
    """Number of processes, each with its own GPU: DistributedDataParallel unless a flag below chooses another method; the answer is about one of them [1]"""
    gpus_per_node: str | int | Sequence[int]
    """Processes in each node, over which FSDP1's hybrid strategies shard, with --fsdp-sharding-strategy [all]"""
    tp: str | int | Sequence[int]
    """Tensor parallelism over N processes: transformers' tp_plan "auto"; all of them see the same batches [off]"""
    pp: str | int | Sequence[int]
    """Pipeline parallelism over N processes: torch.distributed.pipelining in a plain loop; the answer is about the stage that needs the most [off]"""
    pp_schedule: str | Sequence[str]
    """Pipeline schedule, with --pp: 1f1b, gpipe or interleaved_1f1b [1f1b]"""
    micro_batches: str | int | Sequence[int]
    """Microbatches of --batch sequences in each step, with --pp [one for each process]"""
    pp_virtual_stages: str | int | Sequence[int]
    """Stages in each process, with --pp-schedule interleaved_1f1b [1]"""
    pp_return_outputs: str | bool | Sequence[bool]
    """The last stage keeps the logits of all microbatches, schedule.step(return_outputs=...), with --pp [true]"""
    cp: str | int | Sequence[int]
    """Context parallelism over N processes, which share each sequence, as accelerate has it; implies --fsdp 2; the answer is about the process that needs the most [off]"""
    cp_comm_strategy: str | Sequence[str]
    """How keys and values reach the other processes, with --cp: allgather or alltoall [allgather]"""
    fsdp: str | int | Sequence[str | int]
    """Fully Sharded Data Parallel, version 1 or 2, as accelerate sets it up: weights, gradients and optimizer states are sharded; with --gpus [off]"""
    fsdp_backward_prefetch: str | Sequence[str]
    """backward_pre gathers the next layer's weights before the current layer's gradients are computed, backward_post after that, with --fsdp 1 [no_prefetch]"""
    fsdp_forward_prefetch: str | bool | Sequence[bool]
    """Gather the next layer's weights while the current layer runs, from the second step on, with --fsdp 1 [false]"""
    fsdp_limit_all_gathers: str | bool | Sequence[bool]
    """Let the CPU wait rather than have a third layer gathered ahead, with --fsdp 1 [true]"""
    fsdp_sharding_strategy: str | Sequence[str]
    """full_shard; shard_grad_op: a layer's gathered weights stay until its backward; hybrid_shard and hybrid_shard_zero2: the same within a node; no_shard; with --fsdp 1 [full_shard]"""
    fsdp_use_orig_params: str | bool | Sequence[bool]
    """The optimizer sees the model's own parameters; false: one flat parameter for each layer, with --fsdp 1 [true]"""
    dp_replicate: str | int | Sequence[int]
    """Number of replicas, each sharded over its own group of processes (HSDP): accelerate's dp_replicate_size; implies --fsdp 2 [1]"""
    fsdp_reshard_after_forward: str | bool | Sequence[bool]
    """Free a layer's gathered weights after its forward, with --fsdp 2 [true]"""
    fsdp_cpu_offload: str | bool | Sequence[bool]
    """Keep the weights, gradients and optimizer states of each process in host memory, with --fsdp [false]"""
    fsdp_auto_wrap_policy: str | Sequence[str]
    """What is an FSDP unit, with --fsdp: transformer_based_wrap: each decoder layer; size_based_wrap: each module with many parameters; no_wrap: only the whole model, accelerate's own default [transformer_based_wrap]"""
    fsdp_transformer_layer_cls_to_wrap: str | Sequence[str]
    """Class of the decoder layers, with --fsdp: for models with towers for images, whose other layers stay out of units then [all that the model names]"""
    fsdp_min_num_params: str | int | Sequence[int]
    """Parameters that a module needs to be a unit, with --fsdp-auto-wrap-policy size_based_wrap [100000000]"""
    fsdp_cpu_ram_efficient_loading: str | bool | Sequence[bool]
    """Only the first process reads the weights and sends them to the others, with --fsdp 2 [false]"""
    process: str | int | Sequence[int]
    """The process that the answer is about, counted from 0, with --gpus; the first has the largest shards [0; with --pp the stage that needs the most]"""
    ddp_find_unused_parameters: str | bool | Sequence[bool]
    """Trainer's argument, with --gpus [true with adapters or without checkpointing]"""
    ddp_bucket_cap_mb: str | int | Sequence[int]
    """Trainer's argument, with --gpus [1 for the first bucket, 25 for the others]"""
    ddp_static_graph: str | bool | Sequence[bool]
    """Trainer's argument, with --gpus [false]"""
    deepspeed: str | PathLike[str] | Sequence[str | PathLike[str]]
    """DeepSpeed config as Trainer takes it: ZeRO instead of DDP; with --gpus [none]"""
    zero_stage: str | int | Sequence[str | int]
    """DeepSpeed ZeRO stage 1, 2 or 3; without --deepspeed: its AdamW and "auto" sizes; with --gpus [none]"""
    targets_each: str | Sequence[str]
    """Every set of these modules or groups, with at least one, in place of --targets"""
    effective_batch: int
    """Sequences in each optimizer step: batch size x accumulation is N; without --accumulate it is chosen so"""
    min_tokens_per_step: int
    """N tokens or more in each optimizer step: batch size x length x accumulation"""
    min_rank: int
    """Ranks of N or more"""
    min_batch: int
    """Batch sizes of N or more"""
    min_seq: int
    """Sequences of N tokens or more"""
    sort: Literal["capacity", "tokens", "rank", "sequence", "batch", "effective-batch", "memory"]
    """Which rows come first, those with most of: capacity, tokens, rank, sequence, batch, effective-batch, memory [capacity]"""
    pareto: str | Sequence[str]
    """Only rows that no other row beats in all of these, named as for --sort"""
    per_group: Literal["rank", "batch", "seq", "targets"]
    """The best rows for each value of rank, batch, seq, targets or a flag with a list"""
    top: int
    """Rows to show [10; with --per-group 1 of each; with --pareto all]"""
    no_prune: bool
    """Simulate every configuration by itself: slow, and the answer is the same"""
    threads: int
    """Threads to search on; the answer is the same [as many as the machine runs]"""
    all_rows: bool
    """JSON: every row of the space with its status"""
    max: Literal["seq", "batch", "rank"]
    """The largest seq, batch or rank that fits, for each combination of the other axes; without values of its own up to 131072, 1024 or 512"""
    space: str | PathLike[str]
    """A sweep file (vramfit.space/1), - for standard input; docs/sweep.md"""


class PlanFlags(TypedDict, total=False):
    """Flags of vramfit plan."""

    job: str | PathLike[str] | Mapping[str, Any]
    """A job file (vramfit.job/1), - for standard input; flags override what it says"""
    recipe: str
    """A documented set of flags, which other flags override: paper, qlora, qlora-paper, trl-sft, axolotl, llama-factory, unsloth or full (docs/recipes.md) [none]"""
    method: Literal["full", "lora", "qlora"]
    """full, lora or qlora (nf4 with double quantization, prepared for k-bit training, checkpointing) [lora]"""
    adapter: Literal["lora", "ia3", "loha", "lokr", "vera", "oft", "adalora", "ln_tuning", "hra", "miss", "prompt_tuning", "p_tuning", "prefix_tuning", "trainable_tokens", "road", "randlora", "vblora", "delora", "gralora", "pvera", "unilora", "lily", "glora", "deft", "beft", "hira", "supertuning", "peanut", "adaption_prompt", "tinylora", "psoft", "osf", "cartridge"]
    """Kind of the adapters: lora, ia3, loha, lokr, vera, oft, adalora, ln_tuning, hra, miss, road, randlora, vblora, delora, gralora, pvera, unilora, lily, glora, deft, beft, hira, supertuning, peanut, tinylora, psoft, osf, prompt_tuning, p_tuning, prefix_tuning, cartridge, adaption_prompt or trainable_tokens [lora]"""
    rank: int
    """Rank of the adapters [8; vera and pvera 256, adalora 12, miss 64, vblora and unilora 4, tinylora 2; randlora, gralora, lily, hira, peanut and psoft 32]"""
    oft_block_size: int
    """Size of OFT's blocks [32]"""
    feedforward_modules: str | Sequence[str]
    """IA3's modules whose input is scaled instead of the output, or none [peft's table for the model]"""
    num_virtual_tokens: int
    """Tokens that prompt tuning, P-tuning, prefix tuning or a cartridge learns [none]"""
    encoder_hidden_size: int
    """Width of the encoder of P-tuning's virtual tokens [none]"""
    adapter_len: int
    """Tokens of adaption prompts in each layer [none]"""
    adapter_layers: int
    """How many of the last layers have adaption prompts [none]"""
    token_indices: int | Sequence[int]
    """Tokens whose embeddings are trained, alone (--adapter trainable_tokens) or beside LoRA [none]"""
    lora_alpha: float
    """LoRA's alpha; no effect on memory [8]"""
    lora_dropout: float
    """Dropout before the adapters [0]"""
    targets: str | Sequence[str]
    """Modules with adapters: names, a regular expression, all-linear, or the groups attention, mlp, embedding [those of queries and values]"""
    save_whole: str | Sequence[str]
    """Modules that are trained whole beside the adapters [none]"""
    use_rslora: bool
    """Rank-stabilized LoRA; no effect on memory [false]"""
    use_dora: bool
    """DoRA [false]"""
    load_in_4bit: bool
    """Quantize to 4 bits [true with qlora, else false]"""
    load_in_8bit: bool
    """Quantize to 8 bits [false]"""
    bnb_4bit_quant_type: Literal["nf4", "fp4"]
    """nf4 or fp4 [nf4]"""
    bnb_4bit_use_double_quant: bool
    """Quantize the scales too [true with qlora, else false]"""
    bnb_4bit_compute_dtype: Literal["bfloat16", "float16", "float32"]
    """Dtype that 4-bit layers compute in [--dtype with qlora, else float32]"""
    bnb_4bit_quant_storage: Literal["uint8", "int8", "bfloat16", "float16", "float32", "float64"]
    """Dtype that packed weights are kept in; FSDP cuts them only as the dtype of the other weights [uint8]"""
    prepare_kbit: bool
    """Call peft's prepare_model_for_kbit_training [true with qlora, else false]"""
    dtype: Literal["bfloat16", "float16", "float32", "auto"]
    """Dtype that the weights are loaded in: bfloat16, float16, float32 or auto (the checkpoint's) [bfloat16]"""
    attention: Literal["eager", "sdpa", "flash_attention_2"]
    """Attention: eager, sdpa or flash_attention_2 [sdpa]"""
    sdpa_kernel: Literal["flash", "efficient", "cudnn", "math"]
    """Use this kernel of sdpa only: flash, efficient, cudnn or math [what PyTorch chooses on the GPU]"""
    moved_by: Literal["script", "trainer"]
    """Load in host memory, from where Trainer moves the network once adapters are made (trainer) [onto the GPU: script]"""
    text_only: bool
    """Load the text part alone of a model that takes images too, or the whole (false) [as AutoModelForCausalLM]"""
    num_labels: int
    """Load AutoModelForSequenceClassification, with a head of so many labels in place of the language model's; 1: a regression [none]"""
    task_type: Literal["SEQ_CLS", "TOKEN_CLS"]
    """What --num_labels are of: SEQ_CLS (sequences), or TOKEN_CLS (tokens: AutoModelForTokenClassification) [SEQ_CLS]"""
    async_load: bool
    """transformers 5 reads weights in threads; false is HF_DEACTIVATE_ASYNC_LOAD=1 [true]"""
    batch: int
    """Sequences in each batch of one GPU [1]"""
    seq: int
    """Tokens in each sequence [1024]"""
    accumulate: int
    """Gradient accumulation steps [1]"""
    mixed_precision: Literal["no", "bf16", "fp16"]
    """Mixed precision (autocast): no, bf16 or fp16 [no]"""
    checkpointing: Literal["off", "on", "reentrant", "non-reentrant"]
    """Gradient checkpointing: off, on (of the library's default kind), reentrant or non-reentrant [on with qlora, else off]"""
    optim: Literal["adafactor", "adagrad", "adamw_8bit", "adamw_bnb_8bit", "adamw_torch", "adamw_torch_fused", "ademamix", "ademamix_8bit", "lion_32bit", "lion_8bit", "none", "paged_adamw_32bit", "paged_adamw_8bit", "paged_ademamix_32bit", "paged_ademamix_8bit", "paged_lion_32bit", "paged_lion_8bit", "rmsprop", "rmsprop_bnb", "rmsprop_bnb_32bit", "rmsprop_bnb_8bit", "sgd"]
    """Optimizer, named as in transformers [adamw_torch]"""
    max_grad_norm: float
    """Clip gradients at this norm; 0: do not clip [1]"""
    use_liger_kernel: bool
    """Use the Liger kernels [false]"""
    mask: Literal["absent", "ones", "left_padded", "right_padded"]
    """Attention mask of each batch: absent, ones, left_padded or right_padded [ones]"""
    eval_batch: int
    """Evaluate after each step, with N sequences in each batch of one GPU [no evaluation]"""
    loop: Literal["trainer", "plain", "sft", "unsloth", "dpo", "reward", "kto", "orpo", "cpo", "grpo", "rloo", "gkd", "online_dpo", "prm", "bco", "ppo"]
    """trainer (transformers' Trainer), plain (a training loop of your own), sft, dpo, reward, kto, orpo, cpo, grpo, rloo, gkd, online_dpo, prm, bco or ppo (trl's SFTTrainer, DPOTrainer, RewardTrainer, KTOTrainer, ORPOTrainer, CPOTrainer, GRPOTrainer, RLOOTrainer, GKDTrainer, OnlineDPOTrainer, PRMTrainer, BCOTrainer, PPOTrainer) or unsloth (Unsloth's own step) [trainer]"""
    steps: int
    """Optimizer steps; the second stands for all later ones [2]"""
    prompt: int
    """Tokens of each prompt; completions have the rest of --seq [1, which needs the most; GRPO, RLOO and PPO: 512]"""
    completion: int
    """Tokens of each chosen completion, and of each rejected one [what the prompt leaves of --seq]"""
    rejected: int
    """Tokens of each rejected completion [as many as of the chosen one]"""
    loss_type: str | Sequence[str]
    """trl's loss_type: of DPO one or several, whose sum is the loss [sigmoid], of KTO kto or apo_zero_unpaired [kto], of CPO sigmoid, hinge, ipo or simpo [sigmoid], of GRPO dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo or vespo [dapo]"""
    precompute_ref_log_probs: bool
    """Score the data with the reference before training, which then needs no model of its own [false]"""
    sync_ref_model: bool
    """The reference follows the policy (TR-DPO), with full fine-tuning; takes no further memory [false]"""
    cpo_alpha: float
    """CPO: the weight of the chosen rows' likelihood; memory asks only whether it is 0 [1]"""
    center_rewards_coefficient: float
    """Reward models: the loss has a term that centers rewards, with any coefficient [none]"""
    num_generations: int
    """Completions of each prompt; --batch counts completions [8, RLOO: 2]"""
    max_completion_length: int
    """Tokens that a completion may have; without --completion each one has so many [512]"""
    padded: bool
    """The rows of a batch differ in length, up to --prompt and --completion, and are padded; false: all are as long [true]"""
    steps_per_generation: int
    """Batches whose completions are generated at once [the steps of accumulation]"""
    num_iterations: int
    """How often completions are trained on [1]"""
    beta: float
    """Weight of the divergence from a reference; memory asks only whether it is 0, which needs no reference [0, RLOO: 0.05]; of GKD the part of the mixture, between 0 and 1 [0.5]"""
    temperature: float
    """Of sampling; memory asks only whether it is 1 [1]"""
    repetition_penalty: float
    """Of sampling; memory asks only whether it is 1 [1]"""
    top_k: int
    """Tokens are drawn from so many of the likeliest [0: from all]"""
    top_p: float
    """Tokens are drawn from the likeliest with this share of the probability; memory asks only whether it is 1 [1]"""
    min_p: float
    """Tokens are drawn from those with this part of the likeliest one's probability; memory asks only whether it is given [none]"""
    mask_truncated_completions: bool
    """Completions that end at the limit of tokens are not trained on [false]"""
    importance_sampling_level: str
    """GRPO: token, or sequence (GSPO): what has a ratio to the old policy [token]"""
    delta: float
    """GRPO: ratios are clipped above too, as in INTELLECT-2; memory asks only whether they are [none]"""
    use_bias_correction_kl: bool
    """GRPO: the divergence is weighted by the ratio [true]"""
    normalize_advantages: bool
    """RLOO: advantages are normalized [false]"""
    use_vllm: bool
    """vLLM generates, in the same process or on a server [false: transformers generates]"""
    vllm_mode: str
    """colocate: in the same process, its share of the GPU is kept free; server: on a GPU of its own [colocate]"""
    vllm_gpu_memory_utilization: float
    """The share of the GPU that vLLM takes [0.3]"""
    vllm_max_model_length: int
    """Tokens of prompt and completion that vLLM keeps keys and values of; it stops where its share does not hold them [the model's]"""
    vllm_enable_sleep_mode: bool
    """Not predicted: vLLM holds its share all the time [false]"""
    vllm_importance_sampling_correction: bool
    """GRPO: the loss is corrected for the distance between vLLM's log-probabilities and the trainer's [true]"""
    vllm_importance_sampling_mode: str
    """GRPO: sequence_mask, sequence_truncate, token_mask or token_truncate [sequence_mask]"""
    response_length: int
    """Tokens of each response, as --completion [53]"""
    num_ppo_epochs: int
    """How often the rows of a rollout are trained on [4]"""
    num_mini_batches: int
    """Parts of a rollout, --batch times --accumulate rows, behind each of which the cache is emptied [1]"""
    local_rollout_forward_batch_size: int
    """Rows that generate, and that are scored, at once [64]"""
    stop_token: str
    """eos: responses are cut behind their end; none: they are not [none]"""
    missing_eos_penalty: float
    """What a response without an end loses; memory asks only whether it is given [none]"""
    whiten_rewards: bool
    """Rewards are normalized, in mini batches of 8 rows or more [false]"""
    kl_estimator: str
    """k1 or k3 [k1]"""
    ref_model: bool
    """The script loads the reference of full fine-tuning itself; false: the trainer copies the policy [false]"""
    reward_model: str | Sequence[str]
    """Networks that give rewards, each with a head of one number; without --reward_functions no function does [none]"""
    reward_dtype: str
    """Of the reward models' weights [their checkpoint's; PPO: as of the policy's]"""
    value_model: str
    """PPO: the network with a head of one number that is trained beside the policy [the reward model's]"""
    value_dtype: str
    """Of the value model's weights [as of the policy's]"""
    reward_functions: int
    """Functions on the host that give rewards [1, beside models 0]"""
    teacher: str
    """GKD: the network whose logits the student learns, with the same vocabulary [none; required with --loop gkd]"""
    teacher_dtype: str
    """Of the teacher's weights [its checkpoint's]"""
    lmbda: float
    """GKD: how often the student's own completions are trained on; 0: never, 1: always, between: both kinds of steps are predicted [0.5]"""
    max_new_tokens: int
    """GKD, online DPO: tokens of what is generated [128, online DPO: 64]"""
    seq_kd: bool
    """GKD: other steps train on the teacher's completions [false]"""
    use_gradient_checkpointing: str
    """unsloth (inputs of layers above 2 MiB wait in host memory) or true [unsloth]"""
    llm_int8_skip_modules: str
    """Layers that the 4-bit checkpoint has in 16 bits, divided by +: model.layers.1.mlp+model.layers.3.self_attn [what quantization_config of the model's config.json says]"""
    embedding_learning_rate: str
    """UnslothTrainer's own, for an embedding and a head that --save-whole names [as all others']"""
    row_lengths: str
    """Tokens of each row of the data, over and over: 2048+700+300 [all rows of --seq]"""
    gpu: str
    """A GPU's name (vramfit gpus), a size (24GiB), or NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE in bytes [none: nothing is too large]"""
    gpu_total: str
    """The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]"""
    context: str
    """What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]"""
    reserve: str
    """GPU memory to keep free [0GiB]"""
    alloc_conf: str
    """Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]"""
    stack: str
    """Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file [hf-2026-11]"""
    gpus: int | str | Sequence[int] | Sequence[str]
    """How many GPUs of which kind: 4x24GiB, "8xA100 80GB", or several: 8xH100,16xH100 (required)"""
    gpus_per_node: int
    """Processes in each node, over which FSDP1's hybrid strategies shard, with --fsdp-sharding-strategy [all]"""
    tp: int
    """Tensor parallelism over N processes: transformers' tp_plan "auto"; all of them see the same batches [off]"""
    pp: int
    """Pipeline parallelism over N processes: torch.distributed.pipelining in a plain loop; the answer is about the stage that needs the most [off]"""
    pp_schedule: Literal["gpipe", "1f1b", "interleaved_1f1b"]
    """Pipeline schedule, with --pp: 1f1b, gpipe or interleaved_1f1b [1f1b]"""
    micro_batches: int
    """Microbatches of --batch sequences in each step, with --pp [one for each process]"""
    pp_virtual_stages: int
    """Stages in each process, with --pp-schedule interleaved_1f1b [1]"""
    pp_return_outputs: bool
    """The last stage keeps the logits of all microbatches, schedule.step(return_outputs=...), with --pp [true]"""
    cp: int
    """Context parallelism over N processes, which share each sequence, as accelerate has it; implies --fsdp 2; the answer is about the process that needs the most [off]"""
    cp_comm_strategy: Literal["allgather", "alltoall"]
    """How keys and values reach the other processes, with --cp: allgather or alltoall [allgather]"""
    fsdp: Literal["1", "2"] | int
    """Fully Sharded Data Parallel, version 1 or 2, as accelerate sets it up: weights, gradients and optimizer states are sharded; with --gpus [off]"""
    fsdp_backward_prefetch: Literal["no_prefetch", "backward_pre", "backward_post"]
    """backward_pre gathers the next layer's weights before the current layer's gradients are computed, backward_post after that, with --fsdp 1 [no_prefetch]"""
    fsdp_forward_prefetch: bool
    """Gather the next layer's weights while the current layer runs, from the second step on, with --fsdp 1 [false]"""
    fsdp_limit_all_gathers: bool
    """Let the CPU wait rather than have a third layer gathered ahead, with --fsdp 1 [true]"""
    fsdp_sharding_strategy: Literal["full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"]
    """full_shard; shard_grad_op: a layer's gathered weights stay until its backward; hybrid_shard and hybrid_shard_zero2: the same within a node; no_shard; with --fsdp 1 [full_shard]"""
    fsdp_use_orig_params: bool
    """The optimizer sees the model's own parameters; false: one flat parameter for each layer, with --fsdp 1 [true]"""
    dp_replicate: int
    """Number of replicas, each sharded over its own group of processes (HSDP): accelerate's dp_replicate_size; implies --fsdp 2 [1]"""
    fsdp_reshard_after_forward: bool
    """Free a layer's gathered weights after its forward, with --fsdp 2 [true]"""
    fsdp_cpu_offload: bool
    """Keep the weights, gradients and optimizer states of each process in host memory, with --fsdp [false]"""
    fsdp_auto_wrap_policy: Literal["transformer_based_wrap", "size_based_wrap", "no_wrap"]
    """What is an FSDP unit, with --fsdp: transformer_based_wrap: each decoder layer; size_based_wrap: each module with many parameters; no_wrap: only the whole model, accelerate's own default [transformer_based_wrap]"""
    fsdp_transformer_layer_cls_to_wrap: str
    """Class of the decoder layers, with --fsdp: for models with towers for images, whose other layers stay out of units then [all that the model names]"""
    fsdp_min_num_params: int
    """Parameters that a module needs to be a unit, with --fsdp-auto-wrap-policy size_based_wrap [100000000]"""
    fsdp_cpu_ram_efficient_loading: bool
    """Only the first process reads the weights and sends them to the others, with --fsdp 2 [false]"""
    process: int
    """The process that the answer is about, counted from 0, with --gpus; the first has the largest shards [0; with --pp the stage that needs the most]"""
    ddp_find_unused_parameters: bool
    """Trainer's argument, with --gpus [true with adapters or without checkpointing]"""
    ddp_bucket_cap_mb: int
    """Trainer's argument, with --gpus [1 for the first bucket, 25 for the others]"""
    ddp_static_graph: bool
    """Trainer's argument, with --gpus [false]"""
    deepspeed: str | PathLike[str]
    """DeepSpeed config as Trainer takes it: ZeRO instead of DDP; with --gpus [none]"""
    zero_stage: Literal["1", "2", "3"] | int
    """DeepSpeed ZeRO stage 1, 2 or 3; without --deepspeed: its AdamW and "auto" sizes; with --gpus [none]"""
    no_largest: bool
    """Do not look for the largest batch of each method"""
    operations_per_byte: float
    """Operations that a GPU does while it sends a byte: about 2600 over PCIe, 900 over NVLink [2000]"""
    host_memory: str
    """Memory of the machine: methods whose weights, gradients and optimizer states need more of it do not fit [no limit]"""
    row: int
    """The row of the table whose launch command is shown [1]"""
    write: str
    """Write the file of accelerate or DeepSpeed with which that row runs into FOLDER"""
    force: bool
    """Let --write overwrite files that say something else"""
    accept_tight: bool
    """Exit with 0 where it is tight: it fits unless what is not known turns out badly"""


class CheckFlags(TypedDict, total=False):
    """Flags of vramfit check."""

    each: bool
    """Each file is a run of its own; the worst exit status counts"""
    gpu: str | Sequence[str]
    """A GPU's name (vramfit gpus) or a size (24GiB), several separated by commas [none: nothing is too large]"""
    gpus: int
    """How many GPUs the run has [what the files say, else 1]"""
    gpu_total: str
    """The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]"""
    context: str
    """What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]"""
    reserve: str
    """GPU memory to keep free [0GiB]"""
    alloc_conf: str
    """Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]"""
    stack: str
    """Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file [the trainer's own, else hf-2026-11]"""
    seq: int
    """Tokens of the longest sequence, where the data decides [the most that the file allows]"""
    prompt: int
    """GRPO, RLOO: tokens of the longest prompt, which the data decides [what an older file's max_prompt_length says]"""
    lengths: str | PathLike[str]
    """Lengths of the sequences of the data (GRPO, RLOO: of the prompts): a number or {"length": N} on each line"""
    model: str
    """Overrides the model that the file names"""
    model_config: str | PathLike[str]
    """The config.json of the model that the file names"""
    assume_off: str | Sequence[str]
    """Read the file as if it did not have this key; may be repeated"""
    set: str | Sequence[str]
    """Read the file as if it had this value; may be repeated"""
    format_of: Literal["accelerate", "axolotl", "deepspeed", "fsdp-json", "litgpt", "llama-factory", "llama-factory-v1", "megatron-bridge", "model-config", "ms-swift", "nemo-automodel", "peft-adapter", "torchtune", "trainer-script", "training-args", "trl", "trl-gkd-script", "trl-grpo", "trl-grpo-script", "trl-online-dpo-script", "trl-preferences", "trl-preferences-script", "trl-rloo", "trl-rloo-script", "trl-script", "unsloth-script", "unsloth-studio"]
    """The trainer that the first file belongs to: accelerate, axolotl, deepspeed, fsdp-json, litgpt, llama-factory, llama-factory-v1, megatron-bridge, model-config, ms-swift, nemo-automodel, peft-adapter, torchtune, trainer-script, training-args, trl, trl-gkd-script, trl-grpo, trl-grpo-script, trl-online-dpo-script, trl-preferences, trl-preferences-script, trl-rloo, trl-rloo-script, trl-script, unsloth-script, unsloth-studio [by its content]"""
    explain_inputs: bool
    """Show every value and where it comes from"""
    no_changes: bool
    """Skip the search for changes that make it fit"""
    accept_tight: bool
    """Exit with 0 where it is tight: it fits unless what is not known turns out badly"""
    unsupported: str
    """Exit status where something is not supported, or an upper bound decides nothing: fail (3) or pass (0) [fail]"""


class TimelineFlags(TypedDict, total=False):
    """Flags of vramfit timeline."""

    job: str | PathLike[str] | Mapping[str, Any]
    """A job file (vramfit.job/1), - for standard input; flags override what it says"""
    recipe: str
    """A documented set of flags, which other flags override: paper, qlora, qlora-paper, trl-sft, axolotl, llama-factory, unsloth or full (docs/recipes.md) [none]"""
    method: Literal["full", "lora", "qlora"]
    """full, lora or qlora (nf4 with double quantization, prepared for k-bit training, checkpointing) [lora]"""
    adapter: Literal["lora", "ia3", "loha", "lokr", "vera", "oft", "adalora", "ln_tuning", "hra", "miss", "prompt_tuning", "p_tuning", "prefix_tuning", "trainable_tokens", "road", "randlora", "vblora", "delora", "gralora", "pvera", "unilora", "lily", "glora", "deft", "beft", "hira", "supertuning", "peanut", "adaption_prompt", "tinylora", "psoft", "osf", "cartridge"]
    """Kind of the adapters: lora, ia3, loha, lokr, vera, oft, adalora, ln_tuning, hra, miss, road, randlora, vblora, delora, gralora, pvera, unilora, lily, glora, deft, beft, hira, supertuning, peanut, tinylora, psoft, osf, prompt_tuning, p_tuning, prefix_tuning, cartridge, adaption_prompt or trainable_tokens [lora]"""
    rank: int
    """Rank of the adapters [8; vera and pvera 256, adalora 12, miss 64, vblora and unilora 4, tinylora 2; randlora, gralora, lily, hira, peanut and psoft 32]"""
    oft_block_size: int
    """Size of OFT's blocks [32]"""
    feedforward_modules: str | Sequence[str]
    """IA3's modules whose input is scaled instead of the output, or none [peft's table for the model]"""
    num_virtual_tokens: int
    """Tokens that prompt tuning, P-tuning, prefix tuning or a cartridge learns [none]"""
    encoder_hidden_size: int
    """Width of the encoder of P-tuning's virtual tokens [none]"""
    adapter_len: int
    """Tokens of adaption prompts in each layer [none]"""
    adapter_layers: int
    """How many of the last layers have adaption prompts [none]"""
    token_indices: int | Sequence[int]
    """Tokens whose embeddings are trained, alone (--adapter trainable_tokens) or beside LoRA [none]"""
    lora_alpha: float
    """LoRA's alpha; no effect on memory [8]"""
    lora_dropout: float
    """Dropout before the adapters [0]"""
    targets: str | Sequence[str]
    """Modules with adapters: names, a regular expression, all-linear, or the groups attention, mlp, embedding [those of queries and values]"""
    save_whole: str | Sequence[str]
    """Modules that are trained whole beside the adapters [none]"""
    use_rslora: bool
    """Rank-stabilized LoRA; no effect on memory [false]"""
    use_dora: bool
    """DoRA [false]"""
    load_in_4bit: bool
    """Quantize to 4 bits [true with qlora, else false]"""
    load_in_8bit: bool
    """Quantize to 8 bits [false]"""
    bnb_4bit_quant_type: Literal["nf4", "fp4"]
    """nf4 or fp4 [nf4]"""
    bnb_4bit_use_double_quant: bool
    """Quantize the scales too [true with qlora, else false]"""
    bnb_4bit_compute_dtype: Literal["bfloat16", "float16", "float32"]
    """Dtype that 4-bit layers compute in [--dtype with qlora, else float32]"""
    bnb_4bit_quant_storage: Literal["uint8", "int8", "bfloat16", "float16", "float32", "float64"]
    """Dtype that packed weights are kept in; FSDP cuts them only as the dtype of the other weights [uint8]"""
    prepare_kbit: bool
    """Call peft's prepare_model_for_kbit_training [true with qlora, else false]"""
    dtype: Literal["bfloat16", "float16", "float32", "auto"]
    """Dtype that the weights are loaded in: bfloat16, float16, float32 or auto (the checkpoint's) [bfloat16]"""
    attention: Literal["eager", "sdpa", "flash_attention_2"]
    """Attention: eager, sdpa or flash_attention_2 [sdpa]"""
    sdpa_kernel: Literal["flash", "efficient", "cudnn", "math"]
    """Use this kernel of sdpa only: flash, efficient, cudnn or math [what PyTorch chooses on the GPU]"""
    moved_by: Literal["script", "trainer"]
    """Load in host memory, from where Trainer moves the network once adapters are made (trainer) [onto the GPU: script]"""
    text_only: bool
    """Load the text part alone of a model that takes images too, or the whole (false) [as AutoModelForCausalLM]"""
    num_labels: int
    """Load AutoModelForSequenceClassification, with a head of so many labels in place of the language model's; 1: a regression [none]"""
    task_type: Literal["SEQ_CLS", "TOKEN_CLS"]
    """What --num_labels are of: SEQ_CLS (sequences), or TOKEN_CLS (tokens: AutoModelForTokenClassification) [SEQ_CLS]"""
    async_load: bool
    """transformers 5 reads weights in threads; false is HF_DEACTIVATE_ASYNC_LOAD=1 [true]"""
    batch: int
    """Sequences in each batch of one GPU [1]"""
    seq: int
    """Tokens in each sequence [1024]"""
    accumulate: int
    """Gradient accumulation steps [1]"""
    mixed_precision: Literal["no", "bf16", "fp16"]
    """Mixed precision (autocast): no, bf16 or fp16 [no]"""
    checkpointing: Literal["off", "on", "reentrant", "non-reentrant"]
    """Gradient checkpointing: off, on (of the library's default kind), reentrant or non-reentrant [on with qlora, else off]"""
    optim: Literal["adafactor", "adagrad", "adamw_8bit", "adamw_bnb_8bit", "adamw_torch", "adamw_torch_fused", "ademamix", "ademamix_8bit", "lion_32bit", "lion_8bit", "none", "paged_adamw_32bit", "paged_adamw_8bit", "paged_ademamix_32bit", "paged_ademamix_8bit", "paged_lion_32bit", "paged_lion_8bit", "rmsprop", "rmsprop_bnb", "rmsprop_bnb_32bit", "rmsprop_bnb_8bit", "sgd"]
    """Optimizer, named as in transformers [adamw_torch]"""
    max_grad_norm: float
    """Clip gradients at this norm; 0: do not clip [1]"""
    use_liger_kernel: bool
    """Use the Liger kernels [false]"""
    mask: Literal["absent", "ones", "left_padded", "right_padded"]
    """Attention mask of each batch: absent, ones, left_padded or right_padded [ones]"""
    eval_batch: int
    """Evaluate after each step, with N sequences in each batch of one GPU [no evaluation]"""
    loop: Literal["trainer", "plain", "sft", "unsloth", "dpo", "reward", "kto", "orpo", "cpo", "grpo", "rloo", "gkd", "online_dpo", "prm", "bco", "ppo"]
    """trainer (transformers' Trainer), plain (a training loop of your own), sft, dpo, reward, kto, orpo, cpo, grpo, rloo, gkd, online_dpo, prm, bco or ppo (trl's SFTTrainer, DPOTrainer, RewardTrainer, KTOTrainer, ORPOTrainer, CPOTrainer, GRPOTrainer, RLOOTrainer, GKDTrainer, OnlineDPOTrainer, PRMTrainer, BCOTrainer, PPOTrainer) or unsloth (Unsloth's own step) [trainer]"""
    steps: int
    """Optimizer steps; the second stands for all later ones [2]"""
    prompt: int
    """Tokens of each prompt; completions have the rest of --seq [1, which needs the most; GRPO, RLOO and PPO: 512]"""
    completion: int
    """Tokens of each chosen completion, and of each rejected one [what the prompt leaves of --seq]"""
    rejected: int
    """Tokens of each rejected completion [as many as of the chosen one]"""
    loss_type: str | Sequence[str]
    """trl's loss_type: of DPO one or several, whose sum is the loss [sigmoid], of KTO kto or apo_zero_unpaired [kto], of CPO sigmoid, hinge, ipo or simpo [sigmoid], of GRPO dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo or vespo [dapo]"""
    precompute_ref_log_probs: bool
    """Score the data with the reference before training, which then needs no model of its own [false]"""
    sync_ref_model: bool
    """The reference follows the policy (TR-DPO), with full fine-tuning; takes no further memory [false]"""
    cpo_alpha: float
    """CPO: the weight of the chosen rows' likelihood; memory asks only whether it is 0 [1]"""
    center_rewards_coefficient: float
    """Reward models: the loss has a term that centers rewards, with any coefficient [none]"""
    num_generations: int
    """Completions of each prompt; --batch counts completions [8, RLOO: 2]"""
    max_completion_length: int
    """Tokens that a completion may have; without --completion each one has so many [512]"""
    padded: bool
    """The rows of a batch differ in length, up to --prompt and --completion, and are padded; false: all are as long [true]"""
    steps_per_generation: int
    """Batches whose completions are generated at once [the steps of accumulation]"""
    num_iterations: int
    """How often completions are trained on [1]"""
    beta: float
    """Weight of the divergence from a reference; memory asks only whether it is 0, which needs no reference [0, RLOO: 0.05]; of GKD the part of the mixture, between 0 and 1 [0.5]"""
    temperature: float
    """Of sampling; memory asks only whether it is 1 [1]"""
    repetition_penalty: float
    """Of sampling; memory asks only whether it is 1 [1]"""
    top_k: int
    """Tokens are drawn from so many of the likeliest [0: from all]"""
    top_p: float
    """Tokens are drawn from the likeliest with this share of the probability; memory asks only whether it is 1 [1]"""
    min_p: float
    """Tokens are drawn from those with this part of the likeliest one's probability; memory asks only whether it is given [none]"""
    mask_truncated_completions: bool
    """Completions that end at the limit of tokens are not trained on [false]"""
    importance_sampling_level: str
    """GRPO: token, or sequence (GSPO): what has a ratio to the old policy [token]"""
    delta: float
    """GRPO: ratios are clipped above too, as in INTELLECT-2; memory asks only whether they are [none]"""
    use_bias_correction_kl: bool
    """GRPO: the divergence is weighted by the ratio [true]"""
    normalize_advantages: bool
    """RLOO: advantages are normalized [false]"""
    use_vllm: bool
    """vLLM generates, in the same process or on a server [false: transformers generates]"""
    vllm_mode: str
    """colocate: in the same process, its share of the GPU is kept free; server: on a GPU of its own [colocate]"""
    vllm_gpu_memory_utilization: float
    """The share of the GPU that vLLM takes [0.3]"""
    vllm_max_model_length: int
    """Tokens of prompt and completion that vLLM keeps keys and values of; it stops where its share does not hold them [the model's]"""
    vllm_enable_sleep_mode: bool
    """Not predicted: vLLM holds its share all the time [false]"""
    vllm_importance_sampling_correction: bool
    """GRPO: the loss is corrected for the distance between vLLM's log-probabilities and the trainer's [true]"""
    vllm_importance_sampling_mode: str
    """GRPO: sequence_mask, sequence_truncate, token_mask or token_truncate [sequence_mask]"""
    response_length: int
    """Tokens of each response, as --completion [53]"""
    num_ppo_epochs: int
    """How often the rows of a rollout are trained on [4]"""
    num_mini_batches: int
    """Parts of a rollout, --batch times --accumulate rows, behind each of which the cache is emptied [1]"""
    local_rollout_forward_batch_size: int
    """Rows that generate, and that are scored, at once [64]"""
    stop_token: str
    """eos: responses are cut behind their end; none: they are not [none]"""
    missing_eos_penalty: float
    """What a response without an end loses; memory asks only whether it is given [none]"""
    whiten_rewards: bool
    """Rewards are normalized, in mini batches of 8 rows or more [false]"""
    kl_estimator: str
    """k1 or k3 [k1]"""
    ref_model: bool
    """The script loads the reference of full fine-tuning itself; false: the trainer copies the policy [false]"""
    reward_model: str | Sequence[str]
    """Networks that give rewards, each with a head of one number; without --reward_functions no function does [none]"""
    reward_dtype: str
    """Of the reward models' weights [their checkpoint's; PPO: as of the policy's]"""
    value_model: str
    """PPO: the network with a head of one number that is trained beside the policy [the reward model's]"""
    value_dtype: str
    """Of the value model's weights [as of the policy's]"""
    reward_functions: int
    """Functions on the host that give rewards [1, beside models 0]"""
    teacher: str
    """GKD: the network whose logits the student learns, with the same vocabulary [none; required with --loop gkd]"""
    teacher_dtype: str
    """Of the teacher's weights [its checkpoint's]"""
    lmbda: float
    """GKD: how often the student's own completions are trained on; 0: never, 1: always, between: both kinds of steps are predicted [0.5]"""
    max_new_tokens: int
    """GKD, online DPO: tokens of what is generated [128, online DPO: 64]"""
    seq_kd: bool
    """GKD: other steps train on the teacher's completions [false]"""
    use_gradient_checkpointing: str
    """unsloth (inputs of layers above 2 MiB wait in host memory) or true [unsloth]"""
    llm_int8_skip_modules: str
    """Layers that the 4-bit checkpoint has in 16 bits, divided by +: model.layers.1.mlp+model.layers.3.self_attn [what quantization_config of the model's config.json says]"""
    embedding_learning_rate: str
    """UnslothTrainer's own, for an embedding and a head that --save-whole names [as all others']"""
    row_lengths: str
    """Tokens of each row of the data, over and over: 2048+700+300 [all rows of --seq]"""
    gpu: str
    """A GPU's name (vramfit gpus), a size (24GiB), or NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE in bytes [none: nothing is too large]"""
    gpu_total: str
    """The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]"""
    context: str
    """What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]"""
    reserve: str
    """GPU memory to keep free [0GiB]"""
    alloc_conf: str
    """Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]"""
    stack: str
    """Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file [hf-2026-11]"""
    gpus: int
    """Number of processes, each with its own GPU: DistributedDataParallel unless a flag below chooses another method; the answer is about one of them [1]"""
    gpus_per_node: int
    """Processes in each node, over which FSDP1's hybrid strategies shard, with --fsdp-sharding-strategy [all]"""
    tp: int
    """Tensor parallelism over N processes: transformers' tp_plan "auto"; all of them see the same batches [off]"""
    pp: int
    """Pipeline parallelism over N processes: torch.distributed.pipelining in a plain loop; the answer is about the stage that needs the most [off]"""
    pp_schedule: Literal["gpipe", "1f1b", "interleaved_1f1b"]
    """Pipeline schedule, with --pp: 1f1b, gpipe or interleaved_1f1b [1f1b]"""
    micro_batches: int
    """Microbatches of --batch sequences in each step, with --pp [one for each process]"""
    pp_virtual_stages: int
    """Stages in each process, with --pp-schedule interleaved_1f1b [1]"""
    pp_return_outputs: bool
    """The last stage keeps the logits of all microbatches, schedule.step(return_outputs=...), with --pp [true]"""
    cp: int
    """Context parallelism over N processes, which share each sequence, as accelerate has it; implies --fsdp 2; the answer is about the process that needs the most [off]"""
    cp_comm_strategy: Literal["allgather", "alltoall"]
    """How keys and values reach the other processes, with --cp: allgather or alltoall [allgather]"""
    fsdp: Literal["1", "2"] | int
    """Fully Sharded Data Parallel, version 1 or 2, as accelerate sets it up: weights, gradients and optimizer states are sharded; with --gpus [off]"""
    fsdp_backward_prefetch: Literal["no_prefetch", "backward_pre", "backward_post"]
    """backward_pre gathers the next layer's weights before the current layer's gradients are computed, backward_post after that, with --fsdp 1 [no_prefetch]"""
    fsdp_forward_prefetch: bool
    """Gather the next layer's weights while the current layer runs, from the second step on, with --fsdp 1 [false]"""
    fsdp_limit_all_gathers: bool
    """Let the CPU wait rather than have a third layer gathered ahead, with --fsdp 1 [true]"""
    fsdp_sharding_strategy: Literal["full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"]
    """full_shard; shard_grad_op: a layer's gathered weights stay until its backward; hybrid_shard and hybrid_shard_zero2: the same within a node; no_shard; with --fsdp 1 [full_shard]"""
    fsdp_use_orig_params: bool
    """The optimizer sees the model's own parameters; false: one flat parameter for each layer, with --fsdp 1 [true]"""
    dp_replicate: int
    """Number of replicas, each sharded over its own group of processes (HSDP): accelerate's dp_replicate_size; implies --fsdp 2 [1]"""
    fsdp_reshard_after_forward: bool
    """Free a layer's gathered weights after its forward, with --fsdp 2 [true]"""
    fsdp_cpu_offload: bool
    """Keep the weights, gradients and optimizer states of each process in host memory, with --fsdp [false]"""
    fsdp_auto_wrap_policy: Literal["transformer_based_wrap", "size_based_wrap", "no_wrap"]
    """What is an FSDP unit, with --fsdp: transformer_based_wrap: each decoder layer; size_based_wrap: each module with many parameters; no_wrap: only the whole model, accelerate's own default [transformer_based_wrap]"""
    fsdp_transformer_layer_cls_to_wrap: str
    """Class of the decoder layers, with --fsdp: for models with towers for images, whose other layers stay out of units then [all that the model names]"""
    fsdp_min_num_params: int
    """Parameters that a module needs to be a unit, with --fsdp-auto-wrap-policy size_based_wrap [100000000]"""
    fsdp_cpu_ram_efficient_loading: bool
    """Only the first process reads the weights and sends them to the others, with --fsdp 2 [false]"""
    process: int
    """The process that the answer is about, counted from 0, with --gpus; the first has the largest shards [0; with --pp the stage that needs the most]"""
    ddp_find_unused_parameters: bool
    """Trainer's argument, with --gpus [true with adapters or without checkpointing]"""
    ddp_bucket_cap_mb: int
    """Trainer's argument, with --gpus [1 for the first bucket, 25 for the others]"""
    ddp_static_graph: bool
    """Trainer's argument, with --gpus [false]"""
    deepspeed: str | PathLike[str]
    """DeepSpeed config as Trainer takes it: ZeRO instead of DDP; with --gpus [none]"""
    zero_stage: Literal["1", "2", "3"] | int
    """DeepSpeed ZeRO stage 1, 2 or 3; without --deepspeed: its AdamW and "auto" sizes; with --gpus [none]"""
    events: bool
    """Also list every allocation and free"""
