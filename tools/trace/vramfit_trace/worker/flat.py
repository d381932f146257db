"""What tensors hold that several parameters share: flat buffers of ZeRO, DDP's buckets, units of FSDP, gathered parameters."""
from __future__ import annotations

import contextlib
import functools
import importlib
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._C._profiler import _RecordFunctionFast as Annotation

from .names import is_adapter, module_of, place_of, span

#: Marks of the profile: what follows the kind is the span; a bucket's mark has its bytes in place of an address.
FLAT, BUCKET = "flat", "bucket"
#: The name of a parameter that has none yet.
NUMBER = "#"
#: DeepSpeed's buffer of `reduce_bucket_size` elements, through which all gradients pass.
REDUCE_BUCKET = "deepspeed.reduce_bucket"
REDUCING = "gradient|" + REDUCE_BUCKET


def has_gradient(of_fsdp: Any) -> bool:
    """Of FSDPParam: whether there is something to reduce."""
    whole = getattr(of_fsdp, "_unsharded_param", None)
    return getattr(of_fsdp, "unsharded_accumulated_grad", None) is not None or (whole is not None and whole.grad is not None)


class Flat:
    """Follows the libraries that put parameters or their gradients into one tensor. `names`: of parameters, by id."""

    def __init__(self, names: dict[int, str], mark: Callable[..., None], marked_inside: Callable[[str], Any],
                 rescan: Callable[[], None]) -> None:
        self.names = names
        self.mark = mark
        self.inside = marked_inside
        self.rescan = rescan  # looks at all parameters of this instant
        self.zero: list[weakref.ref[Any]] = []
        self.reducer: list[list[Any]] = []  # parameters of DDP's

    def of(self, parameters: Iterable[Any]) -> str:
        """The span of parameters as a parameter's name: of adapters, if the first is one."""
        named = [name for parameter in parameters if (name := self.names.get(id(parameter)))]
        suffix = ".lora_flat.weight" if named and is_adapter(named[0]) else ".weight"
        return span(map(module_of, named)) + suffix if named else ""

    def mark_all(self, kind: str, tensor: Any) -> None:
        if isinstance(tensor, torch.Tensor):
            self.mark(kind, tensor)

    def mark_flat(self, kind: str, tensor: Any, name: str) -> None:
        """A tensor, and those in lists: what they are, and that this name goes before all others."""
        for one in tensor if isinstance(tensor, (list, tuple)) else [tensor]:
            if isinstance(one, torch.Tensor) and name:
                self.mark(kind, one, name)
                self.mark(FLAT, one, name)

    def watch(self) -> None:
        """Where a library is not there, or of another version, nothing is watched."""
        for module, owner, method in (("torch.distributed.fsdp._fully_shard._fsdp_param_group", "FSDPParamGroup", self.watch_fsdp2),
                                      ("torch.distributed", "Reducer", self.watch_reducer),
                                      ("torch.nn.parallel", "DistributedDataParallel", self.watch_rebuilt),
                                      ("deepspeed.runtime.zero.partition_parameters", "AllGatherHandle", self.watch_gathered),
                                      ("deepspeed.runtime.zero.partition_parameters", "AllGatherCoalescedHandle", self.watch_coalesced),
                                      ("deepspeed.runtime.zero.partition_parameters", "Init", self.watch_init),
                                      ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer", self.watch_zero),
                                      ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", self.watch_zero),
                                      ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3", self.watch_sub_groups),
                                      ("torch.distributed.tensor", "DTensor", self.watch_full_tensors),
                                      ("deepspeed", "", self.watch_initialize)):
            with contextlib.suppress(ImportError, AttributeError):
                found = importlib.import_module(module)
                method(getattr(found, owner) if owner else found)

    # FSDP2

    def of_group(self, group: Any) -> str:
        """The parameters of a unit; their names are those in the whole network."""
        return self.place_of_names([one._param_fqn or "" for one in group.fsdp_params])

    def place_of_names(self, names: list[str]) -> str:
        named = [place_of(name) for name in names if name]
        return span(map(module_of, named)) + ".weight" if named else ""

    def watch_fsdp2(self, group: Any) -> None:
        """What it gathers, as a whole and parameter by parameter, and what it reduces."""
        unshard, wait, post_backward = group.unshard, group.wait_for_unshard, group.post_backward

        @functools.wraps(unshard)
        def gathering(of: Any, *args: Any, **kwargs: Any) -> None:
            with self.inside("parameter|" + module_of(self.of_group(of))):
                unshard(of, *args, **kwargs)
            if of._all_gather_result is not None:
                self.mark_flat("parameter", of._all_gather_result.all_gather_output, self.of_group(of))

        @functools.wraps(wait)
        def waiting(of: Any) -> None:
            with self.inside("parameter"):
                wait(of)
            for one in of.fsdp_params:
                if getattr(one, "_unsharded_param", None) is not None:
                    self.mark("parameter", one._unsharded_param, place_of(one._param_fqn or ""))

        @functools.wraps(post_backward)
        def reducing(of: Any, *args: Any) -> None:
            with_gradient = [one for one in of.fsdp_params if has_gradient(one)]
            name = self.place_of_names([one._param_fqn or "" for one in with_gradient])
            with self.inside("gradient|" + module_of(name)):
                post_backward(of, *args)
            self.mark_pieces("gradient", [(one.sharded_param.grad._local_tensor, one._param_fqn) for one in with_gradient
                                          if one.sharded_param.grad is not None], self.place_of_names)

        group.unshard, group.wait_for_unshard, group.post_backward = gathering, waiting, reducing

    # DDP

    def watch_reducer(self, reducer: Any) -> None:
        """The buckets that it is made with; Reducer::initialize_buckets makes one tensor for each, in their order."""
        begin = reducer.__init__

        def outer(of: Any, parameters: list[Any], buckets: list[list[int]], *rest: Any, **more: Any) -> None:
            with self.inside(BUCKET):
                begin(of, parameters, buckets, *rest, **more)
            self.reducer.append(parameters)
            self.mark_buckets(buckets)

        reducer.__init__ = outer

    def mark_buckets(self, buckets: list[list[int]]) -> None:
        for bucket in buckets:
            parameters = [self.reducer[-1][place] for place in bucket]
            size = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
            with Annotation(f"label|{BUCKET}|{size}|{self.of(parameters)}"):
                pass

    def watch_rebuilt(self, ddp: Any) -> None:
        """The buckets in the order of the first backward pass, which the logger knows from the next step on."""
        before = ddp._pre_forward

        @functools.wraps(before)
        def outer(of: Any, *args: Any, **kwargs: Any) -> Any:
            out = before(of, *args, **kwargs)
            found = of.logger._get_ddp_logging_data().strs_map.get("rebuilt_per_bucket_param_indices")
            if found and not getattr(of, "_vramfit_rebuilt", False):
                of._vramfit_rebuilt = True
                self.mark_buckets([[int(place) for place in bucket.split()] for bucket in found.split(",") if bucket.strip()])
            return out

        ddp._pre_forward = outer

    # DeepSpeed

    def name_of(self, parameter: Any) -> str:
        """Before the network is there its parameters have numbers, which are looked up at the end."""
        return self.names.get(id(parameter)) or f"{NUMBER}{id(parameter)}"

    def watch_gathered(self, handle: Any) -> None:
        """One parameter that ZeRO-3 gathers, into its own memory."""
        begin = handle.__init__

        @functools.wraps(begin)
        def outer(of: Any, *args: Any, **kwargs: Any) -> None:
            begin(of, *args, **kwargs)
            parameter = of._AllGatherHandle__param
            self.mark("parameter", parameter.data, self.name_of(parameter))

        handle.__init__ = outer

    def watch_coalesced(self, handle: Any) -> None:
        """Several, into one tensor, from which each is copied once somebody waits."""
        begin, wait = handle.__init__, handle.wait

        @functools.wraps(begin)
        def outer(of: Any, *args: Any, **kwargs: Any) -> None:
            begin(of, *args, **kwargs)
            self.mark_flat("parameter", list(of.partitions), self.of(of.params))

        @functools.wraps(wait)
        def waited(of: Any, *args: Any, **kwargs: Any) -> None:
            wait(of, *args, **kwargs)
            for parameter in of.params:
                self.mark("parameter", parameter.data, self.name_of(parameter))

        handle.__init__, handle.wait = outer, waited

    def watch_init(self, init: Any) -> None:
        """The same without a handle."""
        for name in ("_allgather_params_coalesced", "_allgather_params_sequential", "_allgather_params"):
            inner = getattr(init, name, None)
            if inner is None:
                continue

            @functools.wraps(inner)
            def outer(of: Any, params: list[Any], *args: Any, _inner: Any = inner, **kwargs: Any) -> Any:
                out = _inner(of, params, *args, **kwargs)
                for parameter in params:
                    self.mark("parameter", parameter.data, self.name_of(parameter))
                return out

            setattr(init, name, outer)

    def watch_zero(self, optimizer: Any) -> None:
        """Remembers DeepSpeed's optimizers, which are none of torch's."""
        begin = optimizer.__init__

        @functools.wraps(begin)
        def outer(zero: Any, *args: Any, **kwargs: Any) -> None:
            self.zero.append(weakref.ref(zero))
            self.rescan()
            begin(zero, *args, **kwargs)
            if hasattr(zero, "flatten"):  # of parameters until here, of gradients in a step
                zero.flatten = self.flattening(zero, zero.flatten)

        optimizer.__init__ = outer

    def flattening(self, zero: Any, flatten: Callable[..., Any]) -> Callable[..., Any]:
        """The gradients of a partition in one piece; others belong to what calls it."""

        def outer(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            averaged = getattr(zero, "averaged_gradients", None) or {}
            owned = [own for at, own in enumerate(getattr(zero, "params_in_partition", [])) if averaged.get(at) is tensors]
            with self.inside("gradient|" + module_of(self.of(owned[0]))) if owned else contextlib.nullcontext():
                return flatten(tensors, *args, **kwargs)

        return outer

    def watch_sub_groups(self, optimizer: Any) -> None:
        """A step's gradient of a sub-group of ZeRO-3."""
        prepare = optimizer._prepare_fp32_grad_for_sub_group

        @functools.wraps(prepare)
        def outer(zero: Any, number: int) -> Any:
            with self.inside("gradient|" + module_of(self.of(zero.fp16_groups[number]))):
                return prepare(zero, number)

        optimizer._prepare_fp32_grad_for_sub_group = outer

    def watch_initialize(self, library: Any) -> None:
        """What DeepSpeed is given: it makes other memory of it."""
        initialize = library.initialize

        @functools.wraps(initialize)
        def outer(*args: Any, **kwargs: Any) -> Any:
            self.rescan()
            return initialize(*args, **kwargs)

        library.initialize = outer

    def watch_full_tensors(self, dtensor: Any) -> None:
        """A parameter that a loss reads as a whole."""
        inner = dtensor.full_tensor

        @functools.wraps(inner)
        def outer(of: Any, *args: Any, **kwargs: Any) -> Any:
            name = self.names.get(id(of), "")
            with self.inside("parameter|" + module_of(name)) if name else contextlib.nullcontext():
                return inner(of, *args, **kwargs)

        dtensor.full_tensor = outer

    def scan(self) -> None:
        """The flat tensors of DeepSpeed's optimizers at this instant."""
        for one in self.zero:
            zero = one()
            if zero is None:
                continue
            self.mark_all("gradient", getattr(zero, "temp_grad_buffer_for_gpu_offload", None))
            for bucket in getattr(zero, "ipg_buckets", {}).values():
                self.mark_flat("gradient", getattr(bucket, "buffer", None), REDUCE_BUCKET + ".weight")
            self.scan_stage3(zero) if hasattr(zero, "fp16_groups") else self.scan_stage12(zero)

    def scan_stage12(self, zero: Any) -> None:
        owned = list(getattr(zero, "params_in_partition", []))
        groups = list(getattr(zero, "round_robin_bit16_groups", []))
        for group, flat in zip(groups, getattr(zero, "bit16_groups_flat", [])):
            self.mark_flat("parameter", flat, self.of(group))
        for own, flat in zip(owned, getattr(zero, "single_partition_of_fp32_groups", [])):
            self.take("optimizer", flat, self.of(own))
        self.mark_flat("gradient", getattr(zero, "grads_in_partition", None), self.of([p for own in owned for p in own]))
        averaged = getattr(zero, "averaged_gradients", None) or {}
        self.mark_pieces("gradient", [pair for at, own in enumerate(owned) for pair in zip(averaged.get(at) or [], own)], self.of)
        for parameter in (parameter for group in groups for parameter in group):
            if isinstance(getattr(parameter, "grad_accum", None), torch.Tensor):
                self.mark("gradient", parameter.grad_accum, self.name_of(parameter))

    def scan_stage3(self, zero: Any) -> None:
        groups = zero.fp16_groups
        everything = self.of([parameter for group in groups for parameter in group])
        self.mark_flat("parameter", getattr(zero, "lp_param_buffer", None), everything)
        self.mark_flat("gradient", getattr(zero, "grad_partitions_flat_buffer", None), everything)
        for group, flat in zip(groups, getattr(zero, "fp32_partitioned_groups_flat", [])):
            self.take("optimizer", flat, self.of(group))

    def mark_pieces(self, kind: str, pieces: list[tuple[Any, Any]], name: Callable[[list[Any]], str]) -> None:
        """Tensors with their parameters, some of which may be parts of one; `name` is that of several parameters."""
        of_storage: dict[int, list[tuple[Any, Any]]] = {}
        for tensor, parameter in pieces:
            of_storage.setdefault(tensor.untyped_storage().data_ptr(), []).append((tensor, parameter))
        for there in of_storage.values():
            self.mark_flat(kind, there[0][0], name([parameter for _, parameter in there]))

    def take(self, kind: str, flat: Any, name: str) -> None:
        """What an optimizer steps: its states and its gradient have the same name."""
        if isinstance(flat, torch.Tensor):
            self.names.setdefault(id(flat), name)
            self.mark_flat(kind, flat, name)
            if flat.grad is not None:
                self.mark_flat("gradient", flat.grad, name)
