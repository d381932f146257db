// Trainers of trl whose loops are not predicted, by name.
#include "vramfit/spec/other_loops.hpp"

#include <algorithm>
#include <array>

namespace vramfit {

namespace {

// Folders of trl 1.16's trainer and experimental, and trainers of 0.24 that are gone.
constexpr std::array<std::string_view, 13> kOthers = {"gold",
                                                      "distillation",
                                                      "async_grpo",
                                                      "async_distillation",
                                                      "server_distillation",
                                                      "sdft",
                                                      "sdpo",
                                                      "a2po",
                                                      "gmpo",
                                                      "tpo",
                                                      "iw_opd",
                                                      "xpo",
                                                      "nash_md"};

}  // namespace

bool is_other_loop(std::string_view name) { return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end(); }

}  // namespace vramfit
