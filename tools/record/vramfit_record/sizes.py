"""Sizes as expressions: numbers of the same place in several passes, as one formula of batch B and length S.

Also the numbers that a network reads off shapes: they report what they are compared with, since that decides which way the code takes.
"""
from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import Any, Callable, Iterator, Sequence

import torch


class Number(int):
    """A number that was read off a shape, or was computed from one."""
    report: Callable[[str, int, int, bool], None] | None = None

    def __hash__(self) -> int:
        return int.__hash__(self)


def _compare(name: str, sign: str) -> None:
    plain = getattr(int, name)

    def compare(self: Number, other: Any) -> Any:
        answer = plain(self, other)
        if Number.report is not None and answer is not NotImplemented and not isinstance(other, bool):
            Number.report(sign, int(self), int(other), answer)
        return answer
    setattr(Number, name, compare)


def _compute(name: str) -> None:
    plain = getattr(int, name)

    def compute(self: Number, *others: Any) -> Any:
        answer = plain(self, *others)
        return Number(answer) if type(answer) is int else answer
    setattr(Number, name, compute)


for _name, _sign in (("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">="), ("__eq__", "=="), ("__ne__", "!=")):
    _compare(_name, _sign)
for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod", "neg"):
    _compute(f"__{_name}__")


@contextlib.contextmanager
def compared(report: Callable[[str, int, int, bool], None]) -> Iterator[None]:
    """Comparisons are reported to this function meanwhile."""
    Number.report = report
    try:
        yield
    finally:
        Number.report = None


def shape_of(t: torch.Tensor) -> torch.Size:
    return torch.Size([Number(n) for n in t.shape])


#: What sizes are made of beside keys of the configuration, simplest first.
MONOMIALS: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("B", lambda b, s: b), ("S", lambda b, s: s), ("B*S", lambda b, s: b * s), ("S*S", lambda b, s: s * s), ("B*S*S", lambda b, s: b * s * s), ("B*B", lambda b, s: b * b), ("B*(S-1)", lambda b, s: b * (s - 1)))
QUOTIENTS = (2, 4, 8, 16, 32, 64, 128, 256)

#: Ends of the names of keys that are added up.
PARTS = ("_head_dim", "_lora_rank")


def times(x: Sequence[int], y: Sequence[int]) -> tuple[int, ...]:
    return tuple(a * b for a, b in zip(x, y))


def direction_of(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The same of all multiples of these numbers; nothing where one of them is zero."""
    if 0 in numbers:
        return ()
    common = math.gcd(*numbers) * (1 if numbers[0] > 0 else -1)
    return tuple(n // common for n in numbers)


#: The values of a symbol at each point, by its name: B, S, and keys of the configuration.
Places = dict[str, tuple[int, ...]]


class Fit:
    """Formulas of numbers at the same points. With three points each formula is checked by at least one more than it needs."""

    def __init__(self, places: Places) -> None:
        self.places, self.known = places, {}
        self.sizes = list(zip(places["B"], places["S"]))
        self.keys = {k: tuple(map(int, v)) for k, v in places.items() if k not in ("B", "S") and len(set(v)) > 1}
        self.plain = [(name, [value(*p) for p in self.sizes]) for name, value in MONOMIALS]
        self.products: dict[tuple[int, ...], tuple[str, tuple[int, ...]]] = {}  # by their direction: the first one says all its multiples
        for name, terms in self.of_keys():
            if direction := direction_of(terms):
                self.products.setdefault(direction, (name, terms))
        self.sums: dict[tuple[int, ...], str] = {}
        for name, terms in (*self.of_parts(), *self.of_experts(), *self.of_linear_attention(), *self.of_state_space(), *self.of_rounded(), *self.of_one_matrix()):
            self.sums.setdefault(terms, name)

    def of_keys(self) -> list[tuple[str, tuple[int, ...]]]:
        """Keys, quotients and products of two, alone and times a monomial."""
        keys = list(self.keys.items())
        parts = list(keys)
        for i, (a, x) in enumerate(keys):
            parts += [(f"{a}*{b}", times(x, y)) for b, y in keys[i:]]
            parts += [(f"{a}//{b}", tuple(p // q for p, q in zip(x, y))) for b, y in keys if a != b and all(p % q == 0 for p, q in zip(x, y))]
        self.quotients = [(name, v) for name, v in parts if "//" in name]
        parts += [(f"{c}*({name})", times(x, v)) for name, v in self.quotients for c, x in keys if c not in name.split("//")]
        return parts + [(f"{m}*{name}" if "//" not in name else f"{m}*({name})", times(terms, v)) for m, terms in self.plain for name, v in parts]

    def of_parts(self) -> list[tuple[str, tuple[int, ...]]]:
        """Two parts of a head beside one another (multi-head latent attention), of one and of all heads."""
        parts = [(k, v) for k, v in self.keys.items() if k.endswith(PARTS)]
        sums = [(f"({a}+{b})", tuple(x + y for x, y in zip(v, w))) for i, (a, v) in enumerate(parts) for b, w in parts[i + 1:]]
        three = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")  # queries beside gates (transformers modeling_axk2.py, AXK2Attention)
        if all(name in self.keys for name in three):
            sums.append((f"({'+'.join(three)})", tuple(map(sum, zip(*(self.keys[name] for name in three))))))
        sums += [(f"{k}*{name}", times(v, terms)) for name, terms in sums for k, v in self.keys.items() if k not in name]
        whole, turned = self.keys.get("index_head_dim"), self.keys.get("qk_rope_head_dim")  # what an indexer does not turn (transformers modeling_deepseek_v32.py, DeepseekV32Indexer)
        return sums + ([("index_head_dim-qk_rope_head_dim", tuple(a - b for a, b in zip(whole, turned)))] if whole and turned else [])

    def of_one_matrix(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Queries of all heads beside keys of fewer, and these and values (transformers modeling_falcon.py, FalconAttention; modeling_phi4_multimodal.py, Phi4MultimodalAttention; modeling_dbrx.py, DbrxAttention)."""
        for width, pairs, heads in (("hidden_size", "num_kv_heads", "num_attention_heads"), ("hidden_size", "num_key_value_heads", "num_attention_heads"), ("d_model", "attn_config_kv_n_heads", "n_heads")):
            names = (width, pairs, heads)
            if all(name in self.keys for name in names):
                rows = list(zip(*(self.keys[name] for name in names)))
                for times, text in ((1, ""), (2, "2*")):
                    yield f"{width}+{text}{pairs}*({width}//{heads})", tuple(h + times * kv * (h // n) for h, kv, n in rows)

    def of_rounded(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Two thirds of a feed-forward size, rounded up to blocks of 256 (transformers modeling_lfm2.py, Lfm2MLP)."""
        if "intermediate_size" in self.keys:
            yield "256*((2*intermediate_size//3+255)//256)", tuple(256 * ((2 * n // 3 + 255) // 256) for n in self.keys["intermediate_size"])

    def of_state_space(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """What goes through the convolution, and all that is projected (transformers modeling_granitemoehybrid.py, GraniteMoeHybridMambaLayer)."""
        names = ("mamba_num_heads", "mamba_head_dim", "ssm_state_size")  # eight groups (transformers modeling_nemotron_h.py, NemotronHMamba2Mixer)
        if all(name in self.keys for name in names):
            rows = list(zip(*(self.keys[name] for name in names)))
            yield "mamba_num_heads*mamba_head_dim+16*ssm_state_size", tuple(n * h + 16 * d for n, h, d in rows)
            yield "2*mamba_num_heads*mamba_head_dim+16*ssm_state_size+mamba_num_heads", tuple(2 * n * h + 16 * d + n for n, h, d in rows)
        for rank, state in (("time_step_rank", "state_size"), ("mamba_dt_rank", "mamba_d_state")):  # a step beside two states (transformers modeling_mamba.py, MambaMixer)
            if rank in self.keys and state in self.keys:
                yield f"{rank}+2*{state}", tuple(n + 2 * d for n, d in zip(self.keys[rank], self.keys[state]))
        names = ("mamba_d_ssm", "mamba_d_state", "mamba_n_heads")  # a width of its own (transformers modeling_falcon_h1.py, FalconH1Mixer)
        if all(name in self.keys for name in names):
            rows = list(zip(*(self.keys[name] for name in names)))
            for groups in (1, 2):
                yield f"mamba_d_ssm+{2 * groups}*mamba_d_state", tuple(w + 2 * groups * d for w, d, _ in rows)
                yield f"2*mamba_d_ssm+{2 * groups}*mamba_d_state+mamba_n_heads", tuple(2 * w + 2 * groups * d + n for w, d, n in rows)
        for state, heads in (("mamba_d_state", "mamba_n_heads"), ("state_size", "num_heads")):
            names = ("hidden_size", state, heads)
            if not all(name in self.keys for name in names):
                continue
            rows = list(zip(*(self.keys[name] for name in names)))
            for groups in (1, 8):  # of heads, each with states of its own
                yield f"2*hidden_size+{2 * groups}*{state}", tuple(2 * h + 2 * groups * d for h, d, _ in rows)
                yield f"4*hidden_size+{2 * groups}*{state}+{heads}", tuple(4 * h + 2 * groups * d + n for h, d, n in rows)

    def of_experts(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Experts that compute something beside those that give back what they are given (transformers modeling_longcat_flash.py)."""
        names = ("n_routed_experts", "zero_expert_num")
        if all(name in self.keys for name in names):
            yield "+".join(names), tuple(map(sum, zip(*(self.keys[name] for name in names))))

    def of_linear_attention(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Keys of all heads beside values of all heads (gated delta rules), also of the heads that share a key."""
        names = ("linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim")
        if not all(name in self.keys for name in names if name != "linear_num_value_heads"):
            return
        more = names[2] if names[2] in self.keys else names[0]
        k, v = (f"{names[0]}*{names[1]}", times(self.keys[names[0]], self.keys[names[1]])), (f"{more}*{names[3]}", times(self.keys[more], self.keys[names[3]]))
        shared = (f"{names[3]}*({more}//{names[0]})", tuple(d * (m // n) for d, m, n in zip(self.keys[names[3]], self.keys[more], self.keys[names[0]]))) if more != names[0] else (names[3], self.keys[names[3]])
        for (a, x), (b, y) in ((k, v), ((names[1], self.keys[names[1]]), shared)):
            for p in (1, 2):
                for q in (1, 2):
                    yield f"{_text(p, a, 0)}+{_text(q, b, 0)}", tuple(p * m + q * n for m, n in zip(x, y))

    def __call__(self, numbers: Sequence[int]) -> int | str | None:
        """A plain number, a formula, or None where there is none."""
        key = tuple(int(n) for n in numbers)
        if key not in self.known:
            self.known[key] = key[0] if len(set(key)) == 1 else self.monomial(key) or self.of_configuration(key) or self.quotient(key)
        return self.known[key]

    def monomial(self, numbers: tuple[int, ...]) -> str | None:
        """Times a number, or plus one."""
        found = None
        for name, terms in self.plain:
            pairs = [(i, j) for i in range(len(terms)) for j in range(i) if terms[i] != terms[j]]
            if not pairs:
                continue
            i, j = pairs[0]
            slope = Fraction(numbers[i] - numbers[j], terms[i] - terms[j])
            constant = numbers[i] - slope * terms[i]
            if slope.denominator == 1 and slope and all(slope * t + constant == n for t, n in zip(terms, numbers)):
                if constant == 0:
                    return _text(int(slope), name, 0)
                found = found or _text(int(slope), name, int(constant))
        return found

    def of_configuration(self, numbers: tuple[int, ...]) -> str | None:
        """A product with a key of the configuration, times or divided by a number; or plus one."""
        if numbers in self.sums:
            return self.sums[numbers]
        direction = direction_of(numbers)
        if direction in self.products:
            name, terms = self.products[direction]
            slope = Fraction(numbers[0], terms[0])
            if slope.denominator == 1:
                return _text(int(slope), name if "//" not in name or slope == 1 else f"({name})", 0)
            return f"{_text(slope.numerator, name, 0)}//{slope.denominator}"
        for name, terms in self.keys.items():
            if len({n - t for t, n in zip(terms, numbers)}) == 1:
                return _text(1, name, numbers[0] - terms[0])
            if len({n + t for t, n in zip(terms, numbers)}) == 1:
                return f"{numbers[0] + terms[0]}-{name}"
            for monomial, values in self.plain:
                if all(t - v == n for t, v, n in zip(terms, values, numbers)):
                    return f"{name}-{monomial}"
        if "max_position_embeddings" in self.keys and (found := self.positions(numbers)):
            return found
        for name, terms in self.quotients:  # heads that share a key and a value, beside these
            if len({n - t for t, n in zip(terms, numbers)}) == 1:
                return f"{name}{numbers[0] - terms[0]:+d}"
        return self.two_parts(numbers)

    def positions(self, numbers: tuple[int, ...]) -> str | None:
        """Positions behind the row, and those of two streams (transformers modeling_prophetnet.py, compute_buffered_relative_buckets)."""
        name, terms = "max_position_embeddings", self.keys["max_position_embeddings"]
        if all(t + s == n for t, (_, s), n in zip(terms, self.sizes, numbers)):
            return f"{name}+S"
        return _text(2, name, numbers[0] - 2 * terms[0]) if len({n - 2 * t for t, n in zip(terms, numbers)}) == 1 else None

    def two_parts(self, numbers: tuple[int, ...]) -> str | None:
        """A key and some heads beside it (queries of all heads, keys and values of one), or what a key leaves of a head."""
        for name, terms in self.keys.items():
            for other, values in self.quotients:
                if all(v - t == n for t, v, n in zip(terms, values, numbers)):
                    return f"({other})-{name}"
                count, rest = divmod(numbers[0] - terms[0], values[0])
                if count > 0 and not rest and all(t + count * v == n for t, v, n in zip(terms, values, numbers)):
                    return f"{name}+{_text(count, f'({other})', 0)}"
        return None

    def quotient(self, numbers: tuple[int, ...]) -> str | None:
        """Chunks of the length, what fills the last one, and what is left beside them."""
        lengths = [s for _, s in self.sizes]
        for divisor in QUOTIENTS:
            parts = [s // divisor for s in lengths]
            if parts[0] and (numbers[0] - lengths[0]) % parts[0] == 0:
                times = (numbers[0] - lengths[0]) // parts[0]
                if times > 0 and all(s + times * p == n for s, p, n in zip(lengths, parts, numbers)):
                    return f"S+{times}*(S//{divisor})"
        for divisor in QUOTIENTS:
            for name, terms in (("S", lengths), ("B*S", [b * s for b, s in self.sizes])):
                if [-t % divisor for t in terms] == list(numbers):
                    return f"{divisor}*(({name}+{divisor - 1})//{divisor})-{name}"
                for up in (0, divisor - 1):
                    text = f"({name}+{up})//{divisor}" if up else f"{name}//{divisor}"
                    found = self.times([(t + up) // divisor for t in terms], text, numbers)
                    if found:
                        return found
        return None

    def times(self, terms: list[int], text: str, numbers: tuple[int, ...]) -> str | None:
        for name, there in ((f"({text})", terms), (f"B*({text})", [t * b for t, (b, _) in zip(terms, self.sizes)])):
            if there[0] and numbers[0] % there[0] == 0 and numbers[0]:
                times = numbers[0] // there[0]
                if all(t * times == n for t, n in zip(there, numbers)):
                    return name if times == 1 else f"{times}*{name}"
        return f"({text}){numbers[0] - terms[0]:+d}" if len({n - t for t, n in zip(terms, numbers)}) == 1 else None


def _text(slope: int, monomial: str, constant: int) -> str:
    text = monomial if slope == 1 else f"-{monomial}" if slope == -1 else f"{slope}*{monomial}"
    return text if constant == 0 else f"{text}{constant:+d}"
