// What a recorded type runs in one of several processes.
#include <optional>
#include <string>

#include "expect.hpp"
#include "spec/network/rewritten/tensor_parallel.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/models.hpp"

using namespace vramfit;

namespace {

const network::Document& recording_of(const ModelSpec& model) { return *model.recording; }

/// The numbers that a function's arguments have, of all calls.
std::size_t count_of(const network::Document& document, std::int64_t number) {
    std::size_t found = 0;
    for (const network::Program& program : document.programs)
        for (const network::Instruction& instruction : program.code)
            if (const auto* call = std::get_if<network::Call>(&instruction))
                for (const network::Argument& argument : call->arguments)
                    found += argument.is(network::Argument::Kind::integer) && argument.integer == number ? 1 : 0;
    return found;
}

}  // namespace

TEST_CASE("a class's plan names parameters by their module, with a star for a layer's number") {
    const ModelSpec model = load_model("olmo-3-1025-7b", {});
    const network::Document& recording = recording_of(model);
    CHECK(network::planned_cut(recording, "model.layers.3.self_attn.q_proj.weight") == "colwise_gather_output");
    CHECK(network::planned_cut(recording, "model.layers.31.mlp.down_proj.weight") == "rowwise");
    CHECK(network::planned_cut(recording, "lm_head.weight") == "colwise_gather_output");
    CHECK(network::planned_cut(recording, "model.norm.weight").empty());
    CHECK(network::planned_cut(recording, "model.layers.3.self_attn.q_norm.weight").empty());
}

TEST_CASE("programs of one process have its heads, and modules their names") {
    const ModelSpec model = load_model("glm-4-9b-chat-hf", {});
    const network::Document& whole = recording_of(model);
    REQUIRE(model.num_attention_heads == 32);
    REQUIRE(model.num_key_value_heads == 2);
    const network::Document piece = network::piece_of(whole, 2);
    CHECK(piece.is_piece);
    CHECK(!whole.is_piece);
    CHECK(piece.programs.size() == whole.programs.size());
    CHECK(count_of(whole, 16) < count_of(piece, 16));  // heads of one of two
    CHECK(piece.tensor_parallel_plan.size() == whole.tensor_parallel_plan.size());
    CHECK(piece.input_embeddings == whole.input_embeddings);
}

TEST_CASE("heads that do not divide cannot be cut") {
    const ModelSpec model = load_model("glm-4-9b-chat-hf", {});
    const auto error = error_of([&] { (void)network::piece_of(recording_of(model), 4); });
    REQUIRE(error.has_value());
    CHECK(error->kind() == ErrorKind::invalid);
    CHECK(error->problems().front().what.find("num_key_value_heads (2) cannot be cut into 4 pieces") !=
          std::string::npos);
}

TEST_CASE("the gradient of what bypasses a projection is summed: mla_kv_a_proj") {
    const ModelSpec model = load_model("deepseek-v2-lite", {});
    const network::Document& recording = recording_of(model);
    CHECK(network::summed_tail(recording, "model.layers.1.self_attn.kv_a_proj_with_mqa") == 64);
    CHECK(network::summed_tail(recording, "model.layers.1.self_attn.kv_b_proj") == 0);
}

TEST_CASE("types that were not compared under tensor parallelism are refused, those that stay whole are not") {
    CHECK(network::can_be_cut(recording_of(load_model("olmo-3-1025-7b", {}))));
    CHECK(network::can_be_cut(recording_of(load_model("bloom-560m", {}))));
    network::Document own = recording_of(load_model("olmo-3-1025-7b", {}));
    own.model_type = "laguna";
    CHECK(!network::can_be_cut(own));
    own.model_type = "olmo3";
    own.of_type = false;
    CHECK(!network::can_be_cut(own));
}
