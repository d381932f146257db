// What Unsloth's loss kernels take at once, by network and card.
#include "model/unsloth/kernel_loss_rows.hpp"

#include "support/catch.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;
using model::HeadSizes;

namespace {

constexpr std::int64_t kPlenty = std::int64_t{4} << 30;
constexpr HeadSizes kLlama{2048, 128256}, kMistral{4096, 32000}, kGemma{2048, 256000};

struct Case {
    HeadSizes head;
    const char* card;
    std::int64_t scored, bytes;
    std::int64_t rows, columns;
    bool tiled;
};

}  // namespace

TEST_CASE("the loss takes whole rows, or pieces of the vocabulary on small cards and of many tokens") {
    // unsloth_zoo 2026.10.9 fused_losses/fused_linear.py; those with plenty of memory are traced.
    constexpr Case kCases[] = {
        {kLlama, "A100", 2046, kPlenty, 512, 128256, false},
        {kLlama, "A100", 4095, kPlenty, 512, 128256, false},
        {kLlama, "A100", 4096, kPlenty, 4096, 16384, true},
        {kLlama, "A100", 16380, kPlenty, 4096, 16384, true},
        {kLlama, "RTX4090", 1022, kPlenty, 4096, 16384, true},
        {kLlama, "T4", 1022, kPlenty, 512, 128256, false},
        {kLlama, "T4", 130000, kPlenty, 2048, 128256, false},
        {kMistral, "A100", 4094, kPlenty, 2048, 32000, false},
        {kMistral, "RTX4090", 4094, kPlenty, 2048, 32000, false},
        {kGemma, "A100", 2046, kPlenty, 512, 256000, false},
        {{2048, 128256, true}, "A100", 4096, kPlenty, 512, 128256, false},  // a head that is trained
        {{1024, 50257}, "T4", 100, kPlenty, 1024, 50264, false},
        {kLlama, "T4", 1022, std::int64_t{128} << 20, 261, 128256, false},
        {kLlama, "T4", 1022, 1, 2, 128256, false},
        {kLlama, "RTX4090", 1022, std::int64_t{128} << 20, 2048, 16384, true},
        {kLlama, "A100", 4096, std::int64_t{128} << 20, 2048, 16384, true},
    };
    for (const Case& each : kCases) {
        INFO(each.card << " " << each.head.vocabulary << " " << each.scored << " " << each.bytes);
        const model::KernelLossLayout out =
            model::kernel_loss_layout(each.head, device_from(each.card), each.scored, each.bytes);
        CHECK(out.rows == each.rows);
        CHECK(out.columns == each.columns);
        CHECK(out.tiled == each.tiled);
    }
}

TEST_CASE("a loss of more tokens takes no less, but where it begins to take pieces of the vocabulary") {
    for (const HeadSizes& head : {kLlama, kMistral, kGemma})
        for (const char* card : {"A100", "RTX4090", "T4"}) {
            const Device device = device_from(card);
            std::int64_t before = 0;
            for (std::int64_t scored = 1; scored < 70000; scored += scored < 5000 ? 1 : 997) {
                const std::int64_t now = model::kernel_loss_bytes(head, device, scored, kPlenty);
                if (now < before) CHECK(scored == model::kFewestInTiles);
                before = now;
            }
            CHECK(before > 0);
        }
}
