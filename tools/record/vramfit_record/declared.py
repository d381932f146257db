"""What a network's class declares about itself and the programs do not show: plans, embeddings, dtypes, loss, checkpoints."""
from __future__ import annotations

import inspect
import math
from typing import Any

from .checkpoint import checkpoint
from .networks import WHOLE


def described(network: Any, head: str, config: Any) -> dict[str, Any]:
    plan = {k: v for k, v in sorted((getattr(network, "tp_plan", None) or getattr(network, "_tp_plan", None) or {}).items())}
    pipeline = {k: [list(x) for x in v] for k, v in sorted((getattr(network, "pp_plan", None) or getattr(network, "_pp_plan", None) or {}).items())}
    out = {"class": type(network).__name__, "head": "causal_lm" if head == WHOLE else head, "model_type": config.model_type,
           "no_split_modules": sorted(getattr(network, "_no_split_modules", None) or []), "tp_plan": plan, "pp_plan": pipeline,
           "supports_gradient_checkpointing": bool(getattr(network, "supports_gradient_checkpointing", False))}
    for key, found in (("input_embeddings", "get_input_embeddings"), ("output_embeddings", "get_output_embeddings")):
        path = path_of(network, found)
        if path:
            out[key] = path
    for key in ("keep_in_fp32_modules", "keep_in_fp32_modules_strict"):
        if names := getattr(network, f"_{key}", None):
            out[key] = sorted(names)
    out |= {"accepts_loss_kwargs": accepts_loss_kwargs(network), "loss_shifts_labels": loss_shifts_labels(network)}
    if ties_bias_first(network, out.get("output_embeddings", "")):
        out["ties_bias_first"] = True
    rows, rule = checkpoint(network)
    if rows:
        out["checkpoint"] = rows
    if rule:
        out["conversion"] = rule
    skipped = {"transformers_version", "_name_or_path", "torch_dtype", "id2label", "label2id", "_attn_implementation_autoset"}
    out["config"] = {k: v for k, v in sorted(plain(config.to_dict()).items()) if k not in skipped and v is not None}
    return out


def ties_bias_first(network: Any, head: str) -> bool:
    """modeling_utils.py, tie_weights: whether the head has the bias that is tied before its weight is."""
    tied = getattr(network, "_tied_weights_keys", None)
    names = list(tied) if isinstance(tied, dict) else []
    weight, bias = f"{head}.weight", f"{head}.bias"
    return weight in names and bias in names and names.index(bias) < names.index(weight)


def path_of(network: Any, getter: str) -> str | None:
    """The path of the module that the network's own method gives."""
    try:
        wanted = getattr(network, getter)()
    except (AttributeError, NotImplementedError):
        return None
    return next((name for name, module in network.named_modules() if module is wanted), None)


def accepts_loss_kwargs(network: Any) -> bool:
    """trainer.py, Trainer.__init__: whether the forward is given num_items_in_batch."""
    if hasattr(network, "accepts_loss_kwargs"):
        return bool(network.accepts_loss_kwargs)
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(network.forward).parameters.values())


def loss_shifts_labels(network: Any) -> bool:
    """trainer.py, Trainer.__init__, _loss_shifts_labels."""
    try:
        from transformers.loss.loss_utils import LOSS_MAPPING, ForCausalLMLoss
    except ImportError:
        return False
    return LOSS_MAPPING.get(getattr(network, "loss_type", None)) is ForCausalLMLoss and not getattr(network.config, "is_encoder_decoder", False)


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple, set)):
        return [plain(v) for v in (sorted(x, key=str) if isinstance(x, set) else x)]
    finite = not isinstance(x, float) or math.isfinite(x)  # JSON has no Infinity, which bounds of a clamp may be
    return x if (x is None or isinstance(x, (bool, int, float, str))) and finite else str(x)
