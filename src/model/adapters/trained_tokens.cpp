// peft 0.21.2 tuners/trainable_tokens/layer.py TrainableTokensLayer, utils/other.py TrainableTokensWrapper.
#include "model/adapters/trained_tokens.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A parameter is trained, or not, as long as this lives.
class Trained {
  public:
    Trained(Tensor& t, bool trained) : t_(t), before_(t.requires_grad()) { t_.set_requires_grad(trained); }
    Trained(const Trained&) = delete;
    Trained& operator=(const Trained&) = delete;
    ~Trained() { t_.set_requires_grad(before_); }

  private:
    Tensor& t_;
    bool before_;
};

}  // namespace

// TrainableTokensLayer.update_layer: the rows, and two copies of them.
void add_trained_tokens(const Run& run, Network& network) {
    const auto tokens = static_cast<std::int64_t>(run.plan.peft->options.token_indices.size());
    if (tokens == 0) return;
    Embedding& table = network.embed;
    // Alone the rows are taken before anything is frozen, beside LoRA behind that.
    const Trained of_table(table.weight, run.plan.peft->kind == AdapterKind::trainable_tokens);
    const Tensor rows = [&] {
        const Tensor ids = moved_from_host(run.session, {tokens}, DType::int64);
        return index_rows(table.weight, ids);
    }();
    TokenAdapter adapter;
    adapter.delta = clone(detach(rows));
    adapter.original = clone(detach(rows));
    label(adapter.original, Category::adapters);
    table.tokens = std::move(adapter);
}

Tensor merged_table(const Embedding& table) {
    const Tensor ids = moved_from_host(table.weight.session(), {table.tokens->delta.size(0)}, DType::int64);
    const Tensor rows = to(table.tokens->delta, table.weight.dtype());
    return index_copy(table.weight, ids, rows);
}

}  // namespace vramfit::model
