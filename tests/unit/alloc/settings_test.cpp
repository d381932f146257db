// PYTORCH_CUDA_ALLOC_CONF: what is taken, what is refused and with which words.
#include "vramfit/alloc/settings.hpp"

#include <string>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;

namespace {

Error refusal(const char* conf, const SettingsDialect& dialect = {}) {
    try {
        settings_from(conf, {}, dialect);
    } catch (const Error& error) {
        return error;
    }
    FAIL("not refused: " << conf);
    throw std::logic_error("not reached");
}

}  // namespace

TEST_CASE("nothing given: PyTorch's defaults") { CHECK(settings_from("") == AllocatorSettings{}); }

TEST_CASE("every key") {
    const AllocatorSettings s = settings_from(
        "backend:native, max_split_size_mb:64,max_non_split_rounding_mb:32,garbage_collection_threshold:0.8,"
        "expandable_segments:True,per_process_memory_fraction:0.5,release_lock_on_cudamalloc:True,"
        "throw_on_cudamalloc_oom:True,graph_capture_record_stream_reuse:False,pinned_use_cuda_host_register:True,"
        "pinned_num_register_threads:8,pinned_reserve_segment_size_mb:64,roundup_power2_divisions:8,");
    CHECK(s.max_split_size == 64 * kMiB);
    CHECK(s.max_non_split_rounding == 32 * kMiB);
    CHECK(s.garbage_collection_threshold == 0.8);
    CHECK(s.expandable_segments);
    CHECK(s.memory_fraction == 0.5);
    CHECK(s.throw_on_device_oom);
    for (const std::int64_t divisions : s.roundup_divisions) CHECK(divisions == 8);
}

TEST_CASE("lists of divisions fill slots") {
    const auto slots = settings_from("roundup_power2_divisions:[4:8,16:2,>:4]").roundup_divisions;
    CHECK(slots == std::array<std::int64_t, 16>{8, 8, 8, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    const auto far = settings_from("roundup_power2_divisions:[1:2,1048576:16]").roundup_divisions;
    CHECK(far == std::array<std::int64_t, 16>{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16});
}

TEST_CASE("a new text resets some settings and lends the others") {
    const AllocatorSettings before = settings_from(
        "max_split_size_mb:64,garbage_collection_threshold:0.5,roundup_power2_divisions:4,expandable_segments:True,"
        "max_non_split_rounding_mb:64");
    SettingsDialect torch_2_6;
    torch_2_6.large_segment_size = torch_2_6.memory_fraction = torch_2_6.throw_on_device_oom = false;
    const AllocatorSettings after = settings_from("", before, torch_2_6);
    CHECK(after.max_split_size == kNoSplitLimit);
    CHECK(after.garbage_collection_threshold == 0.0);
    CHECK(after.roundup_divisions == std::array<std::int64_t, 16>{});
    CHECK(after.expandable_segments);
    CHECK(after.max_non_split_rounding == 64 * kMiB);
    CHECK(settings_from("", before).max_non_split_rounding == 20 * kMiB);
    CHECK(settings_from("large_segment_size_mb:40").max_non_split_rounding == 40 * kMiB);
}

TEST_CASE("refused texts name the place and a way out") {
    struct Row {
        const char *conf, *message;
    };
    const Row rows[] = {
        {"foo:1", "PYTORCH_CUDA_ALLOC_CONF foo: unknown setting"},
        {"max_split_size_mb:2",
         "PYTORCH_CUDA_ALLOC_CONF max_split_size_mb: 2 is not above 20, the size of a large segment"},
        {"max_split_size_mb:20", "max_split_size_mb: 20 is not above 20"},
        {"max_split_size_mb:30,large_segment_size_mb:40", "max_split_size_mb: 30 is not above 40"},
        {"max_split_size_mb:64MB", "max_split_size_mb: \"64MB\" is not a whole number"},
        {"max_split_size_mb:-64", "max_split_size_mb: \"-64\" is not a whole number"},
        {"max_split_size_mb:99999999999999999999", "is not a whole number"},
        {"max_split_size_mb", "max_split_size_mb: no value"},
        {"max_split_size_mb:", "max_split_size_mb: \"\" is not a whole number"},
        {"max_non_split_rounding_mb:20", "max_non_split_rounding_mb: 20 is not above 20"},
        {"garbage_collection_threshold:1.2", "garbage_collection_threshold: \"1.2\" is not a number between 0 and 1"},
        {"garbage_collection_threshold:nan", "garbage_collection_threshold: \"nan\""},
        {"per_process_memory_fraction:1.5", "per_process_memory_fraction: \"1.5\" is not a number from 0 to 1"},
        {"expandable_segments:true", "expandable_segments: \"true\" is neither True nor False"},
        {"expandable_segments:True:False", "expandable_segments: \":\" after the value"},
        {"roundup_power2_divisions:3", "roundup_power2_divisions: 3 is not a power of two"},
        {"roundup_power2_divisions:0", "roundup_power2_divisions: 0 is not a power of two"},
        {"roundup_power2_divisions:[64:8", "roundup_power2_divisions: the list is not closed"},
        {"roundup_power2_divisions:[", "roundup_power2_divisions: the list is not closed"},
        {"roundup_power2_divisions:[65:8]", "roundup_power2_divisions: 65 is not a power of two"},
        {"roundup_power2_divisions:[64]", "roundup_power2_divisions: item \"64\" has no divisions"},
        {"backend:best", "backend: \"best\" is no backend"},
        {",", "\",\" where a key should stand"},
        {":5", "\":\" where a key should stand"},
    };
    for (const Row& row : rows) {
        const Error error = refusal(row.conf);
        INFO(row.conf << "\n" << error.what());
        CHECK(std::string(error.what()).find(row.message) != std::string::npos);
        CHECK(error.kind() == ErrorKind::invalid);
        for (const Problem& problem : error.problems()) CHECK_FALSE(problem.hint.empty());
    }
}

TEST_CASE("known but not modelled") {
    CHECK(refusal("backend:cudaMallocAsync").kind() == ErrorKind::unsupported);
    CHECK(refusal("large_segment_size_mb:4").kind() == ErrorKind::unsupported);
    CHECK(refusal("backend:cudaMallocAsync,foo:1").kind() == ErrorKind::invalid);
}

TEST_CASE("all problems at once") {
    CHECK(refusal("foo:[1:2,3:4],expandable_segments:1,roundup_power2_divisions:[3:1,4:1],bar:2").problems().size() ==
          4);
}

TEST_CASE("keys of later versions are unknown to earlier ones") {
    SettingsDialect old;
    old.max_non_split_rounding = old.memory_fraction = old.large_segment_size = old.throw_on_device_oom = false;
    for (const char* conf : {"max_non_split_rounding_mb:30", "per_process_memory_fraction:0.5",
                             "large_segment_size_mb:40", "throw_on_cudamalloc_oom:True"})
        CHECK(refusal(conf, old).problems().size() == 1);
}
