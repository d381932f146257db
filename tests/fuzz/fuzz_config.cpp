// Fuzzing the reader of config.json: what it answers can be written and read again as the same.
#include "reads.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) {
        const ModelSpec model = read_config(text, "config.json");
        if (!same_model(model, read_config(to_config_text(model), "config.json"))) std::abort();
        if (total_parameters(model) <= 0) std::abort();
        if (total_parameters(as_loaded(model, false)) <= 0) std::abort();
    });
}
