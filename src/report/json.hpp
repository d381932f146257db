// Parts of the JSON documents that several of them share.
#pragma once

#include "spec/json_value.hpp"
#include "vramfit/alloc/replay.hpp"
#include "vramfit/base/note.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::report {

/// The keys of a job file that make up the plan.
JsonValue plan_to_json(const TrainPlan& plan);

/// {"name": ..., "torch": "2.11.0", ...}.
JsonValue stack_to_json(const Stack& stack);

/// {"name", "capacity", "context", "usable", ...}; capacity and usable are null without a card.
JsonValue device_to_json(const Device& device);

/// [{"kind", "least", "assumed", "most", "what", "source", "measure"}].
JsonValue assumptions_to_json(const Assumptions& assumptions);

/// {"worst": {"usable", "verdict"}, "best": ...}; null without a card.
JsonValue ends_to_json(const Prediction& prediction);

/// {"requested", "allocated", "reserved"}.
JsonValue levels_to_json(const Levels& levels);

/// [{"kind", "text", "hint"}].
JsonValue notes_to_json(const Notes& notes);

}  // namespace vramfit::report
