"""Imported by models with vision, not called by the traced ones."""
from ..bert_padding import not_traced

apply_rotary_emb = not_traced
