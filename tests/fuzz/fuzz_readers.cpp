// Fuzzing the readers of untrusted text: whatever the bytes, a reader answers or throws Error, and what it answers can
// be written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "vramfit/alloc/replay_file.hpp"
#include "vramfit/alloc/settings.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/stacks.hpp"

namespace {

using namespace vramfit;

// Runs one reader; only Error may come out of it.
template <class Read>
void read_quietly(Read read) {
    try {
        read();
    } catch (const Error& error) {
        if (error.problems().empty()) std::abort();
    }
}

void read_config_twice(std::string_view text) {
    const ModelSpec model = read_config(text, "config.json");
    if (read_config(to_config_text(model), "config.json") != model) std::abort();
    if (total_parameters(model) <= 0) std::abort();
}

void read_job_twice(std::string_view text) {
    // A model's name may be a path: nothing outside of the text is to be read.
    if (text.find("\"model\": \"") != std::string_view::npos || text.find("\"model\":\"") != std::string_view::npos)
        return;
    const Job job = read_job(text, "job.json", {});
    const Job again = read_job(to_json_text(job), "job.json", {});
    if (again.plan != job.plan || again.stack != job.stack || again.model != job.model) std::abort();
}

void read_all(std::string_view text) {
    read_quietly([&] { read_config_twice(text); });
    read_quietly([&] { read_job_twice(text); });
    read_quietly([&] { (void)replay_text(text, "events.txt", {}); });
    if (text.size() > 200) return;
    read_quietly([&] { (void)settings_from(text, {}, {}); });
    read_quietly([&] { (void)size_from(text, "size"); });
    read_quietly([&] { (void)stack_from(text, "stack"); });
    read_quietly([&] { (void)stack_from_pip_freeze(text, "freeze"); });
    read_quietly([&] { (void)device_from(text, "gpu"); });
    read_quietly([&] { (void)card_from(text, "card"); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    read_all({reinterpret_cast<const char*>(data), size});
    return 0;
}

#ifdef VRAMFIT_FUZZ_STANDALONE
// Without libFuzzer: reads each file that is named once, or standard input.
int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        std::ifstream stream(argv[i], std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
        read_all(text);
    }
    if (argc == 1) read_all(std::string{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()});
    std::cout << "done\n";
    return 0;
}
#endif
