// How a run is started as it was predicted: the command, the files that it reads, what the script has to do itself.
#pragma once

#include <string>
#include <vector>

#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// A file that a launcher or TrainingArguments read.
struct LaunchFile {
    std::string name;  ///< "accelerate.yaml"
    std::string text;
};

struct Launch {
    std::vector<std::string> words;      ///< of the launcher up to the script: "accelerate", "launch", ...
    std::vector<std::string> arguments;  ///< TrainingArguments, a flag with its value each: "--bf16 true"
    std::vector<std::string> script;     ///< what the script itself has to do, a sentence each
    std::vector<LaunchFile> files;
};

/// The launch of a plan. Files are named as they lie in `folder`; empty: in the folder where the run starts.
Launch launch_of(const TrainPlan& plan, const std::string& folder = {});

}  // namespace vramfit
