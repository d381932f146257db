// The order of parameters in a unit.
#include "model/parallel/fsdp1/unit_parameters.hpp"

#include <algorithm>

namespace vramfit::model {

void UnitParameters::add(int depth, engine::Tensor& t) {
    if (!t.defined()) return;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!(*all_[i][0] == t)) continue;
        all_[i].push_back(&t);
        by_depth_[i].second.push_back(&t);
        if (depth < by_depth_[i].first) {  // met there first
            by_depth_.push_back({depth, all_[i]});
            by_depth_[i].second.clear();
        }
        return;
    }
    all_.push_back({&t});
    by_depth_.push_back({depth, {&t}});
}

std::vector<ParameterPlaces> UnitParameters::to_move() const {
    auto sorted = by_depth_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<ParameterPlaces> out;
    for (const auto& [depth, places] : sorted)
        if (!places.empty()) out.push_back(places);
    return out;
}

}  // namespace vramfit::model
