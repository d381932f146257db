// Fuzzing the reader of recorded networks.
#include "reads.hpp"
#include "spec/network/document.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) {
        const network::Document document = network::read_network(text, "network.json");
        if (document.variants.empty() || document.root >= document.kinds.size()) std::abort();
    });
}
