"""What transformers imports for padded batches: rows put back where padding is, by PyTorch's own operators."""
from typing import Any, NoReturn

import torch


def not_traced(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("not in the stand-in for flash_attn: inference, rotary kernels")


class PutBack(torch.autograd.Function):
    """Zeros of so many places, some of which have values (flash_attn 2.7.3 bert_padding.py IndexPutFirstAxis)."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, places: torch.Tensor, count: int) -> torch.Tensor:
        ctx.save_for_backward(places)
        whole = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
        whole[places] = values
        return whole

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        places, = ctx.saved_tensors
        return gradient[places], None, None


def pad_input(hidden_states: torch.Tensor, indices: torch.Tensor, batch: int, seqlen: int) -> torch.Tensor:
    """[tokens, ...] as [batch, seqlen, ...]."""
    return PutBack.apply(hidden_states, indices, batch * seqlen).unflatten(0, (batch, seqlen))


index_first_axis = unpad_input = not_traced
