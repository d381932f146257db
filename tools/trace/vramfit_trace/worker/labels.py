"""Labels of storages, told from the outside while a run goes on: marks in the profile, which the allocations are read from too."""
from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._C._profiler import _RecordFunctionFast as Annotation

from .flat import BUCKET, REDUCING, Flat
from .names import place_of

#: Marks are annotations of the profile: what is seen, at which address, and a name.
MARK, MODULE, INSIDE = "label|", "module|", "inside|"
#: The functions of libraries that gather parameters, and those that hand gradients on: module, class or none, function, what they make.
CALLS = (
    ("transformers.modeling_utils", "", "caching_allocator_warmup", "temporary"),
    ("bitsandbytes.functional", "", "quantize_4bit", "temporary"),
    ("bitsandbytes.functional", "", "int8_vectorwise_quant", "temporary"),
    ("torch.nn.parallel.distributed", "DistributedDataParallel", "_ddp_init_helper", "gradient"),
    ("torch.nn.parallel.distributed", "DistributedDataParallel", "_build_params_for_reducer", "gradient"),
    ("torch.nn.parallel.distributed", "", "_sync_module_states", "parameter"),
    ("torch.nn.parallel.distributed", "DistributedDataParallel", "_sync_buffers", "parameter"),
    ("torch.distributed", "Reducer", "_rebuild_buckets", BUCKET),
    ("torch.distributed.fsdp._flat_param", "FlatParamHandle", "pre_unshard", "parameter"),
    ("torch.distributed.fsdp._flat_param", "FlatParamHandle", "unshard", "parameter"),
    ("torch.distributed.fsdp._flat_param", "FlatParamHandle", "post_unshard", "parameter"),
    ("torch.distributed.fsdp._runtime_utils", "", "_post_backward_hook", "gradient"),
    ("torch.distributed.fsdp._runtime_utils", "", "_reduce_grad", "gradient"),
    ("torch.distributed.fsdp.fully_sharded_data_parallel", "FullyShardedDataParallel", "__init__", "parameter"),
    ("accelerate.accelerator", "", "fsdp2_prepare_model", "parameter"),
    ("deepspeed.runtime.zero.partitioned_param_coordinator", "PartitionedParameterCoordinator", "fetch_sub_module", "parameter"),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "initialize_optimizer_states", "gradient"),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "backward_prologue", "gradient"),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "backward_epilogue", REDUCING),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "reduce_independent_p_g_buckets_and_remove_grads", REDUCING),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "setup_buckets", REDUCING),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "initialize_optimizer_states", "gradient"),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "flatten_dense_tensors_aligned", "gradient"),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "backward_epilogue", REDUCING),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "reduce_independent_p_g_buckets_and_remove_grads", REDUCING),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "reduce_leaf_module_grads", REDUCING),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "reduce_ready_partitions_and_remove_grads", REDUCING),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", "independent_gradient_partition_epilogue", REDUCING),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "reduce_ready_partitions_and_remove_grads", REDUCING),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "reduce_gradients", REDUCING),
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", "independent_gradient_partition_epilogue", REDUCING),
)

def addresses(tensor: torch.Tensor) -> Iterator[int]:
    """Where the tensor's storage begins on the device."""
    local = getattr(tensor, "_local_tensor", None)
    if local is not None:
        yield from addresses(local)
    elif tensor.is_cuda and tensor.layout == torch.strided:
        begin = tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
        if tensor.data_ptr():
            yield begin


def mark(kind: str, tensor: torch.Tensor, name: str = "") -> None:
    for address in addresses(tensor):
        with Annotation(f"{MARK}{kind}|{address}|{name}"):
            pass


def mark_all(kind: str, values: Any, name: str = "") -> None:
    """The tensors among values, in lists and dictionaries too."""
    if isinstance(values, torch.Tensor):
        mark(kind, values, name)
    elif isinstance(values, (list, tuple)):
        for value in values:
            mark_all(kind, value, name)
    elif isinstance(values, dict):
        mark_all(kind, list(values.values()), name)


def mark_quantized(state: Any, name: str) -> None:
    """bitsandbytes' QuantState, the inner one of a double quantization too."""
    if state is not None:
        mark_all("quantization", [state.absmax, state.code, state.offset], name)
        mark_quantized(state.state2, name)


def mark_quantized_as(kind: str, state: Any, name: str) -> None:
    """The same of a network that is only evaluated."""
    if state is not None:
        mark_all(kind, [state.absmax, state.code, state.offset], name)
        mark_quantized_as(kind, state.state2, name)


def mark_parameter(parameter: Any, name: str) -> None:
    """A parameter, what bitsandbytes keeps beside it, and its gradient."""
    mark("parameter", parameter, name)
    mark_quantized(getattr(parameter, "quant_state", None), name)
    mark_all("quantization", [getattr(parameter, "SCB", None)], name)
    mark_all("parameter", [getattr(parameter, "CB", None), getattr(parameter, "ds_tensor", None)], name)
    if parameter.grad is not None:
        mark("gradient", parameter.grad, name)


class Labels:
    """Watches a run. Nothing is kept alive, nothing is copied."""

    def __init__(self, with_events: bool) -> None:
        self.with_events = with_events  # the trace keeps each allocation's label, not only the sums
        self.roots: list[torch.nn.Module] = []
        self.seconds: list[tuple[torch.nn.Module, str]] = []  # networks that are only evaluated, and what their weights are
        self.names: dict[int, str] = {}
        self.running: list[torch.nn.Module] = []  # the innermost last
        self.parameters: dict[int, str] = {}
        self.flat = Flat(self.parameters, mark, lambda kind: Annotation(INSIDE + kind), self.scan)
        self.shapes: set[tuple[int, ...]] = set()  # of parameters with three dimensions

    def watch(self) -> None:
        """From here on: modules, what is saved for backward, optimizers."""
        torch.autograd.graph.saved_tensors_hooks(self.saved, lambda tensor: tensor).__enter__()
        self.watch_modules()
        self.watch_functions()
        self.watch_checkpoints()
        self.watch_bitsandbytes()
        optimizers = importlib.import_module("torch.optim.optimizer")
        optimizers.register_optimizer_step_pre_hook(self.steps)
        optimizers.register_optimizer_step_post_hook(self.stepped)
        for module, owner, name, kind in CALLS:
            with contextlib.suppress(ImportError, AttributeError):  # not there, or of another version
                place = importlib.import_module(module)
                annotate(getattr(place, owner) if owner else place, name, kind)
        self.flat.watch()

    def saved(self, tensor: torch.Tensor) -> torch.Tensor:
        """An output that were given back itself would hold the node that saves it. A parameter that ZeRO-3 gathers is given back itself:
        its memory changes until then."""
        mark("saved", tensor)
        for parameter in self.running[-1]._parameters.values() if self.running else ():
            if hasattr(parameter, "ds_id") and parameter.data_ptr() == tensor.data_ptr() and parameter.shape == tensor.shape:
                return parameter
        return tensor.detach()

    def scan(self) -> None:
        """The parameters, buffers and gradients of this instant."""
        for root in self.roots:
            for name, parameter in root.named_parameters(remove_duplicate=False):
                self.parameters.setdefault(id(parameter), place_of(name))  # one that two modules share has the first name
                mark_parameter(parameter, place_of(name))
            for name, buffer in root.named_buffers():
                mark("parameter", buffer, place_of(name))
        for second, kind in self.seconds:
            for name, tensor in (*second.named_parameters(), *second.named_buffers()):
                mark(kind, tensor, place_of(name))
                mark_quantized_as(kind, getattr(tensor, "quant_state", None), place_of(name))
        self.flat.scan()

    def end(self) -> None:
        """After the last window: the workspaces of cuBLAS are those that this gives back."""
        self.scan()
        torch._C._cuda_clearCublasWorkspaces()

    def know(self, root: torch.nn.Module) -> None:
        """Learns the names of a network's modules."""
        self.roots = [root]
        self.shapes |= {shape for p in root.parameters() if len(shape := tuple(getattr(p, "ds_shape", p.shape))) == 3}
        self.scan()
        for name, module in root.named_modules():
            self.names[id(module)] = place_of(name)

    def know_second(self, network: torch.nn.Module, kind: str) -> None:
        """Learns of a network beside it: all that it is made of has one category."""
        self.seconds.append((network, kind))
        for name, module in network.named_modules():
            self.names[id(module)] = place_of(name)
        self.scan()

    def watch_modules(self) -> None:
        """Every call of a module stands in the profile with its place; its own parameters are seen when it begins."""
        call = torch.nn.Module.__call__

        def outer(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if id(module) not in self.names:
                return call(module, *args, **kwargs)
            self.running.append(module)
            try:
                with Annotation(MODULE + self.names[id(module)]):
                    return call(module, *args, **kwargs)
            finally:
                self.running.pop()

        torch.nn.Module.__call__ = outer  # type: ignore[method-assign]

    def watch_functions(self) -> None:
        """Tensors that a Python function keeps as attributes of its context are saved too."""
        apply = torch.autograd.Function.apply.__func__  # type: ignore[attr-defined]

        def outer(cls: Any, *args: Any, **kwargs: Any) -> Any:
            out = apply(cls, *args, **kwargs)
            first = out[0] if isinstance(out, tuple) and out else out
            node = getattr(first, "grad_fn", None)
            if node is not None and type(node).__name__ == cls.__name__ + "Backward":
                mark_all("saved", list(vars(node).values()))
            return out

        torch.autograd.Function.apply = classmethod(outer)  # type: ignore[assignment, method-assign]

    def watch_checkpoints(self) -> None:
        """What is saved while a checkpointed layer runs again, the layers' inputs, and the gradients of these."""
        from torch.utils import checkpoint

        begin = checkpoint._recomputation_hook.__init__

        def outer(hook: Any, *args: Any) -> None:
            begin(hook, *args)
            pack = hook.pack_hook

            def packed(tensor: torch.Tensor) -> Any:
                mark("saved", tensor)
                return pack(tensor)

            hook.pack_hook = packed

        checkpoint._recomputation_hook.__init__ = outer
        inner = checkpoint.checkpoint

        @functools.wraps(inner)
        def checkpointed(function: Any, *args: Any, **kwargs: Any) -> Any:
            mark_all("saved", [args, kwargs, getattr(function, "keywords", {})])
            return inner(function, *args, **kwargs)

        for place in ("torch.utils.checkpoint", "transformers.modeling_utils", "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"):
            module = importlib.import_module(place)
            for name in ("checkpoint", "torch_utils_checkpoint"):
                if getattr(module, name, None) is inner:
                    setattr(module, name, checkpointed)
        backward = checkpoint.CheckpointFunction.backward

        def marked(context: Any, *gradients: Any) -> Any:
            out = backward(context, *gradients)
            mark_all("activation", out)
            return out

        checkpoint.CheckpointFunction.backward = staticmethod(marked)

    def watch_bitsandbytes(self) -> None:
        """Weights that it unpacks, by themselves or for one product."""
        with contextlib.suppress(ImportError, AttributeError):
            from bitsandbytes.backends.cuda import ops

            unpack = ops._dequantize_4bit_impl

            def outer(*args: Any, **kwargs: Any) -> Any:
                mark_all("dequantized", kwargs.get("out", args[-1]))
                return unpack(*args, **kwargs)

            ops._dequantize_4bit_impl = outer

    def steps(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """What a step works on: DeepSpeed's optimizers make gradients in one piece for it."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    mark("gradient", parameter.grad, self.parameters.get(id(parameter), ""))

    def stepped(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """What an optimizer keeps."""
        for parameter, state in optimizer.state.items():
            mark_all("optimizer", state, self.parameters.get(id(parameter), ""))


def annotate(owner: Any, name: str, kind: str) -> None:
    """Puts the function's calls into the profile."""
    inner: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        with Annotation(INSIDE + kind):
            return inner(*args, **kwargs)

    setattr(owner, name, outer)
