// Random small questions for the sweep's property tests.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

using Random = std::mt19937;
using Plan = void (*)(Random&, SweepQuestion&);

template <class T>
T one(Random& random, std::initializer_list<T> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
}

inline bool maybe(Random& random) { return random() % 2 == 0; }

template <class T>
std::vector<T> some(Random& random, std::vector<T> from, std::size_t most) {
    std::shuffle(from.begin(), from.end(), random);
    from.resize(1 + random() % std::min(most, from.size()));
    return from;
}

ModelSpec tiny_model(Random& random);
void any_run(Random& random, SweepQuestion& q);
void lora(Random& random, SweepQuestion& q);
void qlora(Random& random, SweepQuestion& q);
void full_paged(Random& random, SweepQuestion& q);
void full_torch(Random& random, SweepQuestion& q);
void lora_torch(Random& random, SweepQuestion& q);
void lora_paged(Random& random, SweepQuestion& q);
void lora_8bit(Random& random, SweepQuestion& q);
void lora_plain(Random& random, SweepQuestion& q);
void lora_fp16(Random& random, SweepQuestion& q);
void qlora_paged(Random& random, SweepQuestion& q);
void qlora_torch(Random& random, SweepQuestion& q);
void qlora_2024(Random& random, SweepQuestion& q);
SweepSpace tiny_space(Random& random, const ModelSpec& model, bool adapters);
Device tight_card(Random& random, const SweepQuestion& q);

}  // namespace vramfit::test
