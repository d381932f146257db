// The flat groups of ZeRO-1 and 2: which rank owns which part of which parameter.
#pragma once

#include <vector>

#include "model/parallel/zero/zero.hpp"

namespace vramfit::model {

/// A part of a parameter that lies in one rank's partition.
struct OwnedPart {
    std::int64_t rank = 0;
    std::int64_t elements = 0;
};

/// A trained parameter in its group.
struct ZeroParameter {
    Tensor tensor;
    std::int64_t elements = 0;
    std::int64_t offset = 0;       ///< in the flat group
    std::vector<OwnedPart> parts;  ///< in order
    bool is_own = false;           ///< a part of it is this rank's
    engine::Module module{};       ///< whose it is
};

/// One entry of the optimizer's param_groups.
struct ZeroGroup {
    std::vector<ZeroParameter> parameters;
    std::int64_t elements = 0;
    std::int64_t padded = 0;       ///< to a multiple of 2 * world size
    std::int64_t partition = 0;    ///< elements of each rank
    DType dtype{};                 ///< of the parameters
    Tensor flat;                   ///< the weights of all ranks
    std::vector<std::size_t> own;  ///< parameters with a part in this rank's partition
    engine::Module module;         ///< around all parameters
    engine::Module own_module;     ///< around its own
};

/// DeepSpeedZeroOptimizer.__init__, initialize_gradient_partition, get_partition_info: sizes only.
ZeroGroup make_group(const std::vector<NamedParameter>& parameters, std::int64_t world, std::int64_t rank);

/// The elements of parameter `p` that lie in the partition of `rank`, and where they begin in it.
struct Span {
    std::int64_t begin = 0;
    std::int64_t elements = 0;
};
Span span_of(const ZeroGroup& group, const ZeroParameter& p, std::int64_t rank);

}  // namespace vramfit::model
