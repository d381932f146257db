// Signatures of short networks, bisected along the rank.
#include "sweep/classes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "model/record.hpp"

namespace vramfit {

namespace {

/// The network cut to its first layers: all kinds of layers, and of each kind one that is neither first nor last.
ModelSpec shortened(const ModelSpec& model) {
    ModelSpec spec = model;
    bool alternating = false;
    for (const LayerAttention a : model.layer_types) alternating = alternating || a != model.layer_types[0];
    spec.num_hidden_layers = std::min<std::int64_t>(model.num_hidden_layers, alternating ? 4 : 2);
    if (!spec.layer_types.empty()) spec.layer_types.resize(static_cast<std::size_t>(spec.num_hidden_layers));
    return spec;
}

class Signatures {
  public:
    Signatures(const SweepQuestion& question, std::size_t rows)
        : question_(question), spec_(shortened(question.model)), out_(rows, 0) {}

    /// Signatures of rows that differ in rank alone, given by rising rank. Decisions about rank are thresholds, so
    /// rows between two of equal signature have it, too.
    void fill(const std::vector<std::size_t>& rows) {
        if (rows.empty()) return;
        out_[rows.front()] = signature(rows.front());
        out_[rows.back()] = rows.size() > 1 ? signature(rows.back()) : out_[rows.front()];
        split(rows, 0, rows.size() - 1);
    }
    const std::vector<std::uint64_t>& all() const { return out_; }

  private:
    std::uint64_t signature(std::size_t row) const {
        const TrainPlan plan = plan_of(question_.space, question_.base, row);
        return model::summarize(spec_, plan, question_.stack, question_.device).shape.hash;
    }
    void split(const std::vector<std::size_t>& rows, std::size_t low, std::size_t high) {
        if (high - low < 2) return;
        if (out_[rows[low]] == out_[rows[high]]) {
            for (std::size_t i = low + 1; i < high; ++i) out_[rows[i]] = out_[rows[low]];
            return;
        }
        const std::size_t middle = low + (high - low) / 2;
        out_[rows[middle]] = signature(rows[middle]);
        split(rows, low, middle);
        split(rows, middle, high);
    }

    const SweepQuestion& question_;
    ModelSpec spec_;
    std::vector<std::uint64_t> out_;
};

}  // namespace

std::vector<std::size_t> class_of_rows(const SweepQuestion& question, const std::vector<bool>& valid) {
    const SweepSpace& space = question.space;
    // Rows that differ in rank alone, by rising rank.
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<std::size_t>> chains;
    for (std::size_t row = 0; row < valid.size(); ++row) {
        if (!valid[row]) continue;
        const Coordinates c = coordinates_of(space, row);
        chains[{c.target, c.batch, c.length}].push_back(row);
    }
    Signatures signatures(question, valid.size());
    for (auto& [key, rows] : chains) {
        std::sort(rows.begin(), rows.end(), [&space](std::size_t a, std::size_t b) {
            return space.ranks[coordinates_of(space, a).rank] < space.ranks[coordinates_of(space, b).rank];
        });
        signatures.fill(rows);
    }
    std::vector<std::size_t> out(valid.size(), kNoClass);
    std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> numbers;
    for (std::size_t row = 0; row < valid.size(); ++row) {
        if (!valid[row]) continue;
        const auto key = std::pair{coordinates_of(space, row).target, signatures.all()[row]};
        out[row] = numbers.emplace(key, numbers.size()).first->second;
    }
    return out;
}

}  // namespace vramfit
