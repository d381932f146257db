"""Over how many parts of the keys flash_attn divides its forward pass (csrc/flash_attn/flash_api.cpp, num_splits_heuristic)."""
import math

#: Enough tiles to fill this share of the card: one part.
FULL = 0.8
#: The fewest parts that reach this share of the best efficiency.
GOOD = 0.85
MOST = 128


def key_block(head: int) -> int:
    """Keys that a block of the kernel reads at once."""
    return 256 if head <= 64 else 128 if head <= 128 else 64


def parts(tiles: int, multiprocessors: int, blocks: int) -> int:
    """`tiles`: batch x heads x blocks of queries; `blocks`: blocks of keys."""
    if tiles >= FULL * multiprocessors:
        return 1

    def efficiency(count: int) -> float:
        if count > 1 and math.ceil(blocks / count) == math.ceil(blocks / (count - 1)):
            return 0.0  # no part gets shorter
        waves = tiles * count / multiprocessors
        return waves / math.ceil(waves)

    found = {count: efficiency(count) for count in range(1, min(MOST, multiprocessors, blocks) + 1)}
    best = max(found.values())
    return next((count for count, value in found.items() if value and value >= GOOD * best), 1)
