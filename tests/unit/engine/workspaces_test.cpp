// Sizes of workspaces, as traces of the real libraries show them.
#include "engine/workspaces.hpp"

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

TEST_CASE("torch 2.11 gives cublasLt no more than cuBLAS has, 2.10 what is asked for") {
    struct Row {
        const char *stack, *cublas, *cublaslt;
        std::int64_t bytes;
    };
    const Row row = GENERATE(values<Row>({
        {"hf-2026-11", nullptr, nullptr, 1048576},
        {"hf-2026-11", nullptr, "0", 0},
        {"hf-2026-11", nullptr, "1", 1024},
        {"hf-2026-11", nullptr, "4096", 4194304},
        {"hf-2026-11", nullptr, "9000", 8519680},
        {"hf-2026-11", nullptr, "32768", 8519680},
        {"hf-2026-11", ":4096:8", "32768", 33554432},
        {"hf-2026-11", ":16:8", nullptr, 131072},
        {"hf-2026-01", nullptr, "1", 1024},
        {"hf-2026-01", nullptr, "32768", 33554432},
        {"hf-2026-01", ":16:8", nullptr, 1048576},
    }));
    Device device = unlimited_device();
    if (row.cublas) device.cublas_workspace_config = row.cublas;
    if (row.cublaslt) device.cublaslt_workspace_size = row.cublaslt;
    CHECK(engine::cublaslt_workspace_bytes(stack_from(row.stack).stack, device) == row.bytes);
}

TEST_CASE("a size that is no number is refused") {
    Device device = unlimited_device();
    device.cublaslt_workspace_size = "1 MiB";
    CHECK_THROWS_AS(engine::cublaslt_workspace_bytes(stack_from("hf-2026-11").stack, device), Error);
}
