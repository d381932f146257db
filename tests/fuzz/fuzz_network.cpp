// Fuzzing the reader of recorded networks, and what commands take from one.
#include <memory>

#include "reads.hpp"
#include "spec/network/model.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) {
        auto document = std::make_shared<const network::Document>(network::read_network(text, "network.json"));
        if (document->variants.empty() || document->root >= document->kinds.size()) std::abort();
        const ModelSpec model = network::model_of(document, "network");
        if (model.vocab_size < 1 || model.num_hidden_layers < 1 || modules_of(model).empty()) std::abort();
    });
}
