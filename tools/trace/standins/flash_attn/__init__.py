"""Stands in for the package flash_attn on a machine without a GPU: makes the tensors that flash_attn 2.x makes, computes nothing."""
import importlib.metadata

from .bert_padding import not_traced as flash_attn_with_kvcache
from .flash_attn_interface import flash_attn_func, flash_attn_varlen_func

__version__ = importlib.metadata.version("flash_attn")
__all__ = ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"]
