"""Names the window that every moment of a training step belongs to, by hooks in the model."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..job import Job, JobError
from .recorder import Recorder

LISTS = ("layers", "h", "blocks")
#: Lists of networks behind whose layers stands no norm of these names (BERT's, BART's).
OTHER_LISTS = (*LISTS, "layer")
#: What comes after the layers: the final norm. OPT 350M has none; there it is the projection.
NORMS = ("norm", "final_layernorm", "final_layer_norm", "ln_f", "norm_f", "embedding_norm", "project_out", "layer_norm")
#: Networks with several lists of layers, which run more than once or have a part of each layer: those whose layers have windows. The head begins behind the network without it.
SEVERAL_LISTS = {"hrm_text": ("model.L_module.layers", "model.H_module.layers"), "xlm": ("transformer.attentions",)}
#: Once an update, whatever the number of its batches.
OF_THE_UPDATE = ("clip", "optimizer", "zero_grad")
#: Once a run.
OF_THE_RUN = ("precompute_reference",)


def with_head(model: torch.nn.Module) -> Any:
    """The library's network inside of what wraps it."""
    return next((m for m in model.modules() if isinstance(m, transformers.PreTrainedModel)), None)


def several_lists(model: torch.nn.Module) -> list[torch.nn.Module]:
    """The layers of a network with several lists of them."""
    network = with_head(model)
    names = SEVERAL_LISTS.get(network.config.model_type, ()) if network is not None else ()
    return [layer for name in names for layer in network.get_submodule(name)]


def decoder(model: torch.nn.Module) -> tuple[list[torch.nn.Module], torch.nn.Module | None]:
    """The decoder layers and the norm after them, if there is one. Towers beside the text part (moss_transcribe_diarize's) may have both too."""
    for parent in (module for name, module in model.named_modules() if "_tower" not in name):
        for layers in (getattr(parent, name, None) for name in LISTS):
            for norm in (getattr(parent, name, None) for name in NORMS):
                if isinstance(layers, torch.nn.ModuleList) and isinstance(norm, torch.nn.Module):
                    return list(layers), norm
    lists = [layers for parent in model.modules() for name in OTHER_LISTS if isinstance(layers := getattr(parent, name, None), torch.nn.ModuleList)]
    if len(lists) == 1:
        return list(lists[0]), None
    raise JobError("the model has no list of decoder layers, or several without a norm after them: its windows cannot be named")


def entry(windows: Any, stage: str, when_complete: str) -> Any:
    """A hook that enters `stage` with the module, and `when_complete` with the gradient of the module's input."""

    def hook(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if windows.in_backward or windows.phase:  # recomputation belongs to the window it happens in
            return
        windows.enter(stage)
        hidden = args[0] if args else kwargs.get("hidden_states")
        if hidden is not None and hidden.requires_grad:
            hidden.register_hook(lambda gradient: windows.enter(when_complete))

    return hook


class Stages:
    """Hooks in the model, and what loops call between them."""

    def __init__(self, job: Job, model: torch.nn.Module, recorder: Recorder) -> None:
        self.recorder = recorder
        self.accumulates = job["training"]["gradient_accumulation_steps"] > 1
        self.step = self.micro = 0
        self.evaluation: int | None = None  # the batch of the evaluation that runs, which belongs to the step before it
        self.evaluated_step = ""
        self.in_backward = False
        self.phase = ""  # of the library's own, which no module's hook ends
        self.stage = "inputs"
        several = several_lists(model)
        layers, norm = (several, None) if several else decoder(model)
        for index, layer in enumerate(layers):
            below = f"backward.{index - 1}" if index else "backward.embedding"
            layer.register_forward_pre_hook(entry(self, f"forward.{index}", below), with_kwargs=True)
        self.norm = norm
        self.at_head = entry(self, "head", f"backward.{len(layers) - 1}")
        if several:
            with_head(model).base_model.register_forward_hook(lambda module, args, outputs: self.at_head(module, (outputs[0],), {}))
        elif norm is None:
            self.head_is_next(model, layers)
        else:
            norm.register_forward_pre_hook(self.behind_layers, with_kwargs=True)
        model.register_forward_pre_hook(lambda module, args: self.of_forward("embedding"))

    def behind_layers(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The last norm: one that runs in front of the layers too (nanochat's) begins nothing there."""
        if self.stage != "embedding":
            self.at_head(module, args, kwargs)

    def head_is_next(self, model: torch.nn.Module, layers: list[torch.nn.Module]) -> None:
        """Without a norm behind the layers the head begins once the last of them is left, with the next module that is entered or where the network
        without its head is left."""
        waiting = False

        def left(*_: Any) -> None:
            nonlocal waiting
            waiting = not (self.in_backward or self.phase)

        def begins(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                self.at_head(module, args, kwargs)

        layers[-1].register_forward_hook(left)
        inside = {module for layer in layers for module in layer.modules()}
        for module in model.modules():
            if module not in inside:
                module.register_forward_pre_hook(begins, with_kwargs=True)
        network = with_head(model)
        if network is not None and network.base_model is not network:
            network.base_model.register_forward_hook(lambda module, args, outputs: begins(module, (outputs[0],), {}))

    def enter(self, stage: str) -> None:
        self.stage = stage
        if stage in OF_THE_RUN:
            self.recorder.window(stage)
            return
        if self.evaluation is not None:
            self.recorder.window(f"{self.evaluated_step}evaluation{self.evaluation}.{stage}")
            return
        micro = f"micro{self.micro}." if self.accumulates and stage not in OF_THE_UPDATE else ""
        self.recorder.window(f"step{self.step}.{micro}{stage}")

    def of_forward(self, stage: str) -> None:
        """A stage around the modules, but for recomputation and phases."""
        if not self.in_backward and not self.phase:
            self.enter(stage)

    @contextlib.contextmanager
    def within(self, phase: str) -> Iterator[None]:
        """A phase of the library's own, behind which goes on what was before; a phase inside of another one is part of that."""
        if self.phase:
            yield
            return
        around = self.stage
        self.enter(phase)
        self.phase = phase
        try:
            yield
        finally:
            self.phase = ""
            self.enter(around)

    def inputs(self) -> None:
        """A batch is about to be fetched or copied."""
        self.in_backward = False
        if not self.phase:  # which may read batches of its own
            self.enter("inputs")

    def evaluate(self, batch: int) -> None:
        """A batch of an evaluation is about to be fetched."""
        if self.evaluation is None:
            self.evaluated_step = f"step{self.step - 1}." if self.step else ""
        self.evaluation = batch
        self.inputs()

    def backward(self) -> None:
        """Backward is about to be called on the loss."""
        self.in_backward = True
        self.enter("backward.loss")
