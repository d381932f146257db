"""trl's PPOTrainer: a loop of its own over a policy and a value model in one module, a reference and a reward model."""
from __future__ import annotations

import functools
import sys
from typing import Any

import torch
import transformers

from ..job import Job
from .libraries import dtype_key
from .model import lora_config
from .phases import marked, switched
from .recorder import Recorder
from .rows import Completions
from .second import Seconds
from .stages import Stages


def rows_of_update(job: Job) -> int:
    """local_batch_size."""
    training = job["training"]
    return int(training["per_device_train_batch_size"] * training["gradient_accumulation_steps"])


def arguments_of(job: Job, arguments: dict[str, Any]) -> dict[str, Any]:
    """PPOConfig's, with as many episodes as the job's steps read; it has no limit of steps."""
    return {"total_episodes": rows_of_update(job) * job["loop"]["steps"], "num_sample_generations": 0, **arguments}


def reference_of(job: Job, model: torch.nn.Module) -> Any:
    """Loaded by the script in host memory as the policy is, or nothing: the trainer copies the policy, or switches its adapters off."""
    if "ref_model" not in job["loop"]:
        return None
    arguments = {dtype_key(): getattr(torch, job["load"]["dtype"]), "attn_implementation": job["load"]["attn_implementation"]}
    return transformers.AutoModelForCausalLM.from_pretrained(model.config._name_or_path, **arguments)


def mark_moving(network: Any, window: str, recorder: Recorder) -> None:
    """The window in which the trainer moves a network onto the device."""
    move = network.to

    def marked_move(*args: Any, **kwargs: Any) -> Any:
        recorder.window(window)
        out = move(*args, **kwargs)
        recorder.window("trainer")
        return out

    network.to = marked_move


def mark_wrapper(module: Any, recorder: Recorder) -> None:
    """accelerate moves PolicyAndValueWrapper, of which the policy is there already."""

    class Wrapper(module.PolicyAndValueWrapper):  # type: ignore[misc, name-defined]
        def to(self, *args: Any, **kwargs: Any) -> Any:
            recorder.window("load_value")
            out = super().to(*args, **kwargs)
            recorder.window("trainer")
            return out

    module.PolicyAndValueWrapper = Wrapper


def make(job: Job, cls: Any, model: torch.nn.Module, arguments: Any, rows: Any, tokenizer: Any, progress: Any, recorder: Recorder) -> Any:
    """The trainer. `rows` are more than it reads: with the last batch of a table accelerate steps after each of its parts."""
    seconds = Seconds()
    value = seconds.make("value_model", job["loop"]["value_model"], recorder, by_name=False)
    reward = seconds.make("reward_models", job["loop"]["reward_models"][0], recorder, by_name=False)
    reference = reference_of(job, model)
    tokenizer.padding_side = "left"
    module = sys.modules[cls.__module__]
    mark_wrapper(module, recorder)
    mark_moving(reward, "load_reward", recorder)
    if reference is not None:
        mark_moving(reference, "load_reference", recorder)
    more = {"peft_config": lora_config(job)} if job["peft"] is not None and job["trl"]["peft_config"] else {}
    return cls(args=arguments, processing_class=tokenizer, model=model, ref_model=reference, reward_model=reward, value_model=value,
               train_dataset=rows, callbacks=[progress], **more)


def without_gradients(function: Any, enter: Any) -> Any:
    """The function in the phase, but where it trains."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if torch.is_grad_enabled() else marked(function, enter)(*args, **kwargs)

    return call


def mark(trainer: Any, stages: Stages, completions: Completions | None) -> None:
    """Windows of a step: of the rollout by functions of trl's module, of training by the two networks' forward."""
    module, wrapper = sys.modules[type(trainer).__module__], trainer.model
    stages.accumulates = trainer.args.num_ppo_epochs * trainer.args.gradient_accumulation_steps > 1

    def generation(*_: Any) -> Any:
        if completions:
            completions.restart()
        return stages.within("generation")

    module.generate = marked(module.generate, generation)
    module.batch_generation = marked(module.batch_generation, generation)
    module.forward = without_gradients(module.forward, lambda *_: stages.within("reference_forward"))
    module.selective_log_softmax = without_gradients(module.selective_log_softmax, lambda *_: stages.within("log_probabilities"))
    module.get_reward = marked(module.get_reward, lambda network, *_: stages.within("reward" if network is trainer.reward_model else "value_forward"))
    trainer.null_ref_context = switched(trainer.null_ref_context, stages)
    mark_training(wrapper, stages)


def mark_training(wrapper: Any, stages: Stages) -> None:
    """The value model's forward is in front of the policy's, its backward behind."""
    passes = 0

    def value(*_: Any) -> None:
        nonlocal passes
        passes = passes + 1 if stages.stage == "metrics" else 0
        stages.micro = passes
        stages.in_backward = False
        stages.enter("value_forward")

    def behind_value(_module: Any, _args: Any, output: Any) -> None:
        if torch.is_grad_enabled():
            output.hidden_states[-1].register_hook(lambda gradient: stages.enter("backward.value"))

    def policy(*_: Any) -> None:
        if torch.is_grad_enabled():
            stages.of_forward("embedding")

    wrapper._forward_pre_hooks.clear()  # of a network that is trained alone
    wrapper.register_forward_pre_hook(value)
    wrapper.critic_backbone.register_forward_hook(behind_value)
    wrapper.policy.register_forward_pre_hook(policy)
    wrapper.register_forward_hook(lambda *_: stages.of_forward("loss"))
    from accelerate.optimizer import AcceleratedOptimizer

    zero_grad = AcceleratedOptimizer.zero_grad

    def marked_zero_grad(self: Any, *args: Any, **kwargs: Any) -> None:
        zero_grad(self, *args, **kwargs)
        stages.enter("metrics")

    AcceleratedOptimizer.zero_grad = marked_zero_grad  # type: ignore[method-assign]
