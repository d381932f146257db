// Every model family: what its file says agrees with how its config.json is read, and its network has the right size.
#include "model/layers/family.hpp"

#include <functional>
#include <numeric>

#include "spec/config_family.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/config.hpp"

using namespace vramfit;
using namespace vramfit::model;

namespace {

std::int64_t parameters(const Linear& l) { return (l.in * l.out + (l.has_bias ? l.out : 0)).value(); }

std::int64_t parameters(const Norm& n) { return (n.has_bias ? 2 * n.width : n.width).value(); }

std::int64_t parameters(const BareModule& m) {
    std::int64_t sum = 0;
    for (const BareParameter& p : m.parameters)
        sum += std::accumulate(p.sizes.begin(), p.sizes.end(), std::int64_t{1}, std::multiplies<>());
    return sum;
}

std::int64_t parameters(Network& n) {
    std::int64_t sum = ((n.embed.rows + n.positions.rows) * n.spec->hidden_size).value() + parameters(n.norm);
    const auto add = [&sum](const auto& module) { sum += parameters(module); };
    for (DecoderLayer& l : n.layers) for_each_module(l, add, add, add);
    return n.tied ? sum : sum + parameters(n.head);
}

}  // namespace

TEST_CASE("each family has a reader of its configuration") {
    REQUIRE(all_families().size() == all_configs().size());
    for (const Family* family : all_families()) {
        CAPTURE(family->model_type);
        const ConfigFamily* config = config_family(family->model_type);
        REQUIRE(config);
        CHECK(family->norm);
        CHECK(family->layer);
    }
}

TEST_CASE("a network has as many parameters as its configuration says") {
    for (const Family* family : all_families()) {
        const std::string text = "{\"model_type\": \"" + std::string(family->model_type) +
                                 "\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, "
                                 "\"num_key_value_heads\": 2, \"head_dim\": 16, \"vocab_size\": 100}";
        CAPTURE(text);
        const ModelSpec spec = read_config(text, "config.json");
        Network network = make_network(spec);
        CHECK(parameters(network) == total_parameters(spec));
    }
}

TEST_CASE("a type without a file is unsupported") { CHECK_THROWS(family_of("bert")); }
