// The tables of measured constants, as docs/constants.md shows them.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "engine/workspaces.hpp"
#include "support/catch.hpp"
#include "support/generated.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

constexpr Capability kCapabilities[] = {{7, 0}, {7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}};

std::string name_of_capability(const Capability& c) { return fmt::format("{}.{}", c.major, c.minor); }

std::string mib(std::int64_t bytes) { return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / kMiB); }

/// Cards of one capability with one figure from one source are one row.
std::string contexts() {
    std::map<std::tuple<Capability, std::string, std::int64_t>, std::vector<std::string>> rows;
    for (const KnownDevice& known : known_devices())
        rows[{known.capability, known.context_source, known.context.count}].push_back(known.name);
    std::string out = "## CUDA context\n\n| capability | bytes | | source | GPUs |\n|---|--:|--:|---|---|\n";
    for (const auto& [key, cards] : rows) {
        const auto& [capability, source, bytes] = key;
        out += fmt::format("| {} | {} | {} | {} | {} |\n", name_of_capability(capability), bytes, mib(bytes),
                           source.empty() ? "assumed" : source, fmt::join(cards, ", "));
    }
    const Device unknown = device_from("24GiB");
    out += fmt::format("| | {} | {} | assumed | a GPU of unknown kind |\n", unknown.context.count,
                       mib(unknown.context.count));
    return out + "\n";
}

std::string workspaces() {
    std::string out =
        "## Workspaces of cuBLAS and cuBLASLt\n\nFor each thread that multiplies matrices: the main one and the one of "
        "the backward pass; from torch 2.15 on for each product, given back at once. Source: "
        "torch\nATen/cuda/CublasHandlePool.cpp parseChosenWorkspaceSize, "
        "ATen/cuda/CUDABlas.cpp _getWorkspaceSize.\n\n| stack | torch |";
    for (const Capability& c : kCapabilities) out += fmt::format(" {} |", name_of_capability(c));
    out += " cuBLASLt |\n|---|---|";
    for (std::size_t i = 0; i < std::size(kCapabilities); ++i) out += "--:|";
    out += "---|\n";
    std::vector<Stack> stacks = named_stacks();
    stacks.insert(stacks.end(), trainer_stacks().begin(), trainer_stacks().end());
    for (const Stack& stack : stacks) {
        out += fmt::format("| {} | {} |", stack.name, text_of(stack.torch));
        for (const Capability& c : kCapabilities) {
            Device device = unlimited_device();
            device.capability = c;
            out += fmt::format(" {} |", mib(engine::cublas_workspace_bytes(stack, device)));
        }
        const char* held = "kept";
        if (stack.cublaslt_shares_its_workspace())
            held = "that of cuBLAS";
        else if (!stack.cublaslt_workspace_stays() || !stack.cublas_workspace_stays())
            held = "given back after each call";
        out += fmt::format(" {}, {} |\n", mib(engine::cublaslt_workspace_bytes(stack, unlimited_device())), held);
    }
    return out + "\n";
}

}  // namespace

TEST_CASE("docs/constants.md shows the tables of measured constants") {
    for (const KnownDevice& known : known_devices()) {
        INFO(known.name);
        CHECK(!known.multiprocessors_source.empty());
        CHECK(!known.total_source.empty());
        CHECK(known.context.count > 0);
    }
    test::check_generated("docs/constants.md", contexts() + workspaces());
}
