// What every fuzz target does: the bytes as text, a reader that answers or throws Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

/// Little memory is kept back for reports, or each input touches new pages.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=8:malloc_context_size=10"; }

/// Runs the reader; only an Error with at least one problem may come out of it.
template <class Read>
int reads(const std::uint8_t* data, std::size_t size, Read read) {
    try {
        read(std::string_view(reinterpret_cast<const char*>(data), size));
    } catch (const vramfit::Error& error) {
        if (error.problems().empty()) std::abort();
    }
    return 0;
}

/// Whether a model was read again as the same: a recorded network is another object then, with the same text. A text
/// part is written without what stands beside it.
inline bool same_model(const vramfit::ModelSpec& model, vramfit::ModelSpec again) {
    again.whole_config = model.whole_config;
    if (model.recording && again.recording && to_config_text(model) == to_config_text(again))
        again.recording = model.recording;
    return again == model;
}
