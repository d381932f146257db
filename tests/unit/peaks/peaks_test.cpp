// Every window of a run belongs to a named peak.
#include "vramfit/peaks/peak.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"

using namespace vramfit;

namespace {

/// A phase of every kind; the layered ones for each layer.
std::vector<Phase> phases_of(std::int32_t layers) {
    std::vector<Phase> phases;
    for (int kind = 0; kind <= static_cast<int>(PhaseKind::loss); ++kind) {
        const auto k = static_cast<PhaseKind>(kind);
        if (k == PhaseKind::forward_layer || k == PhaseKind::backward_layer) {
            for (std::int32_t layer = 0; layer < layers; ++layer) phases.push_back({k, 1, -1, layer});
        } else {
            phases.push_back({k, 1, -1, -1});
        }
    }
    return phases;
}

std::vector<std::string> peaks_of(const Phase& phase, const RunShape& run) {
    std::vector<std::string> names;
    for (const Peak* peak : peaks_in_order()) {
        if (peak->covers(phase, run)) names.emplace_back(peak->name);
    }
    return names;
}

}  // namespace

TEST_CASE("each window belongs to exactly one peak") {
    const auto layers = GENERATE(2, 3, 32);
    const auto quantized = GENERATE(false, true);
    for (const Phase& phase : phases_of(layers)) {
        CAPTURE(name_of(phase), layers, quantized);
        CHECK(peaks_of(phase, {layers, quantized}).size() == 1);
    }
}

TEST_CASE("with one layer its backward is both the top and the bottom layer's") {
    CHECK(peaks_of({PhaseKind::backward_layer, 1, -1, 0}, {1, false}) ==
          std::vector<std::string>{"backward_top_layer", "backward_bottom_layer"});
    for (const Phase& phase : phases_of(1)) {
        CAPTURE(name_of(phase));
        CHECK_FALSE(peaks_of(phase, {1, false}).empty());
    }
}

TEST_CASE("windows and their peaks") {
    struct Row {
        Phase phase;
        bool quantized;
        std::string peak;
    };
    const Row rows[] = {
        {{PhaseKind::load, -1, -1, -1}, false, "load"},
        {{PhaseKind::load, -1, -1, -1}, true, "quantization"},
        {{PhaseKind::prepare, -1, -1, -1}, false, "quantization"},
        {{PhaseKind::adapters, -1, -1, -1}, true, "adapters"},
        {{PhaseKind::embedding, 0, -1, -1}, false, "forward"},
        {{PhaseKind::forward_layer, 0, 2, 3}, false, "forward_top_layer"},
        {{PhaseKind::forward_layer, 0, -1, 0}, false, "forward"},
        {{PhaseKind::head, 0, -1, -1}, false, "central_activations"},
        {{PhaseKind::backward_loss, 1, -1, -1}, false, "central_autograd"},
        {{PhaseKind::backward_layer, 1, -1, 3}, false, "backward_top_layer"},
        {{PhaseKind::backward_layer, 1, -1, 2}, false, "backward"},
        {{PhaseKind::backward_layer, 1, -1, 0}, false, "backward_bottom_layer"},
        {{PhaseKind::backward_embedding, 1, -1, -1}, false, "embedding_autograd"},
        {{PhaseKind::clip, 1, -1, -1}, false, "clip"},
        {{PhaseKind::inputs, 1, -1, -1, 0}, false, "evaluation"},
        {{PhaseKind::embedding, 1, -1, -1, 0}, false, "evaluation"},
        {{PhaseKind::forward_layer, 1, -1, 2, 1}, false, "evaluation"},
        {{PhaseKind::forward_layer, 1, -1, 3, 1}, false, "evaluation"},
        {{PhaseKind::head, -1, -1, -1, 0}, true, "evaluation"},
        {{PhaseKind::zero_grad, 1, -1, -1}, false, "optimizer_step"},
    };
    for (const Row& row : rows) {
        CAPTURE(name_of(row.phase));
        CHECK(peaks_of(row.phase, {4, row.quantized}) == std::vector<std::string>{row.peak});
    }
}

TEST_CASE("peaks have different names and places, a question, and a page in the documents") {
    std::set<std::string> names;
    int order = 0;
    for (const Peak* peak : peaks_in_order()) {
        CAPTURE(peak->name);
        CHECK(names.insert(peak->name).second);
        CHECK(peak->order > order);
        order = peak->order;
        CHECK(std::string_view(peak->question).ends_with("?"));
        std::ostringstream page;
        page << std::ifstream(fmt::format(VRAMFIT_SOURCE_DIR "/docs/peaks/{}.md", peak->name)).rdbuf();
        CHECK(page.str().find(peak->moment) != std::string::npos);
    }
}
