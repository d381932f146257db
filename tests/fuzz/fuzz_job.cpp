// Fuzzing the reader of job files, whose answers can be written and read again as the same, and the check of plans.
#include "reads.hpp"
#include "spec/json_parse.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;

namespace {

// A model's name may be a path: nothing outside of the text is to be read.
bool names_a_file(std::string_view text) {
    Problems problems("");
    const JsonValue job = parse_json(text, problems);
    const JsonValue* model = job.find("model");
    return model && model->kind == JsonValue::Kind::text && !find_built_in(model->text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) {
        if (names_a_file(text)) return;
        const Job job = read_job(text, "job.json", {});
        const Job again = read_job(to_json_text(job), "job.json", {});
        if (again.plan != job.plan || again.stack != job.stack || !same_model(job.model, again.model)) std::abort();
        (void)check_plan(job.model, job.plan, job.stack);
    });
}
