// Arithmetic of partitions.
#include "model/parallel/zero/groups.hpp"

#include <algorithm>

#include "model/network/in_module.hpp"
#include "model/network/shared_module.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

ZeroGroup make_group(const std::vector<NamedParameter>& parameters, std::int64_t world, std::int64_t rank) {
    constexpr std::int64_t kStartAlignment = 2;  // nccl_start_alignment_factor
    ZeroGroup group;
    group.dtype = parameters.at(0).tensor->dtype();
    for (const NamedParameter& p : parameters) {
        const std::int64_t elements = count_of(*p.tensor);
        group.parameters.push_back({*p.tensor, elements, group.elements, {}, false});
        group.elements += elements;
    }
    group.padded = round_up(group.elements, kStartAlignment * world);
    group.partition = group.padded / world;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
        ZeroParameter& p = group.parameters[i];
        const std::int64_t first = p.offset / group.partition;
        const std::int64_t last = (p.offset + p.elements - 1) / group.partition;
        for (std::int64_t owner = first; owner <= last; ++owner) {
            p.parts.push_back({owner, span_of(group, p, owner).elements});
            if (owner != rank) continue;
            p.is_own = true;
            group.own.push_back(i);
        }
    }
    std::vector<engine::Module> all, own;
    engine::Recorder& recorder = parameters[0].tensor->session().recorder;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        all.push_back(module_named(recorder, parameters[i].module));
        group.parameters[i].module = all.back();
    }
    for (const std::size_t i : group.own) own.push_back(all[i]);
    group.module = around(recorder, all);
    group.own_module = around(recorder, own);
    return group;
}

Span span_of(const ZeroGroup& group, const ZeroParameter& p, std::int64_t rank) {
    const std::int64_t begin = std::max(p.offset, rank * group.partition);
    const std::int64_t end = std::min(p.offset + p.elements, (rank + 1) * group.partition);
    return {begin - p.offset, std::max<std::int64_t>(end - begin, 0)};
}

}  // namespace vramfit::model
