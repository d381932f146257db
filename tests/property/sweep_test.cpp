// A sweep with early stopping says the same as one without, on random small spaces.
#include <algorithm>
#include <random>

#include "support/catch.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

namespace {

using Random = std::mt19937;

template <class T>
std::vector<T> some(Random& random, std::vector<T> from, std::size_t most) {
    std::shuffle(from.begin(), from.end(), random);
    from.resize(1 + random() % std::min(most, from.size()));
    return from;
}

/// A network of two layers, odd sizes, in one of three families.
ModelSpec small_model(Random& random) {
    const char* names[] = {"gemma-2b", "llama-3.2-1b", "qwen2.5-0.5b"};
    ModelSpec model = load_model(names[random() % 3], Environment{});
    model.num_hidden_layers = 2 + static_cast<std::int64_t>(random() % 2);
    if (!model.layer_types.empty()) model.layer_types.resize(static_cast<std::size_t>(model.num_hidden_layers));
    model.vocab_size = 8000;
    return model;
}

SweepQuestion question(Random& random) {
    SweepQuestion q;
    q.model = small_model(random);
    q.stack = stack_from("").stack;
    q.base.peft = LoraPlan{};
    q.base.training.gradient_checkpointing = random() % 2;
    q.base.training.optim = random() % 2 ? "paged_adamw_32bit" : "adamw_torch";
    q.base.training.bf16 = random() % 2;
    if (random() % 2) q.base.load.dtype = DType::float32;
    q.space.ranks = some<std::int64_t>(random, {1, 4, 8, 32, 64, 128}, 3);
    q.space.batches = some<std::int64_t>(random, {1, 2, 3, 8}, 2);
    q.space.lengths = some<std::int64_t>(random, {16, 100, 256, 512, 1000}, 3);
    q.space.targets = some<TargetSet>(random,
                                      {{"attention", target_group("attention")},
                                       {"mlp", target_group("mlp")},
                                       {"embedding", target_group("embedding")}},
                                      2);
    const std::int64_t mib = 250 + static_cast<std::int64_t>(random() % 2500);
    q.device = device_from(std::to_string(mib + 300) + "MiB");
    return q;
}

}  // namespace

TEST_CASE("early stopping changes no verdict and no ranking") {
    Random random(20261121);
    for (int i = 0; i < 120; ++i) {
        const SweepQuestion q = question(random);
        SweepOptions with, without;
        with.top = 1 + random() % 5;
        without.prune = false;
        const SweepResult pruned = sweep(q, with);
        const SweepResult whole = sweep(q, without);
        INFO("space " << i << ": " << q.model.name << ", " << whole.counts.total << " rows");
        for (std::size_t row = 0; row < whole.rows.size(); ++row) {
            INFO("row " << row);
            if (pruned.rows[row].verdict) CHECK(pruned.rows[row].verdict == whole.rows[row].verdict);
            if (pruned.rows[row].status == RowStatus::simulated)
                CHECK(pruned.rows[row].requested == whole.rows[row].requested);
        }
        std::vector<std::size_t> top = whole.ranking;
        top.resize(std::min(top.size(), with.top));
        CHECK(pruned.ranking == top);
    }
}

}  // namespace vramfit::test
