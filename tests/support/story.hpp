// What a program's events say in order, as text.
#pragma once

#include <string>

#include "spec/network/document.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

/// The first place where the events of the recording and of the family written by hand differ, with what is around it;
/// empty: they are equal. Where the checkpoint is converted on its way, which no recording says, loading is left out.
/// `any_order`: of frees that follow each other, as where a recomputation stops in the middle of a layer and Python's
/// frames go.
std::string difference(const Job& job, const network::Document& recording, bool any_order = false);

}  // namespace vramfit::test
