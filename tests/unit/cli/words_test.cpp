// The words that completions offer for a flag of a plan are those that the flag takes.
#include <algorithm>

#include "base/split.hpp"
#include "cli/plan_flags.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/models.hpp"

using namespace vramfit;
using namespace vramfit::cli;

namespace {

Job job_with(std::initializer_list<std::pair<const char*, const char*>> flags) {
    Job job = default_job(spec_of(*find_built_in("llama-3.2-1b")));
    for (const auto& [name, value] : flags) find_plan_flag(name)->apply(job, value, name);
    return job;
}

/// Every flag means something in one of these.
std::vector<Job> situations() {
    return {job_with({}),
            job_with({{"loop", "kto"}}),
            job_with({{"loop", "cpo"}}),
            job_with({{"loop", "grpo"}}),
            job_with({{"loop", "rloo"}}),
            job_with({{"method", "qlora"}}),
            job_with({{"gpus", "2"}}),
            job_with({{"gpus", "2"}, {"fsdp", "1"}}),
            job_with({{"gpus", "2"}, {"cp", "2"}}),
            job_with({{"gpus", "2"}, {"pp", "2"}})};
}

bool is_taken(const PlanFlag& flag, std::string_view value) {
    for (Job job : situations()) {
        try {
            flag.apply(job, value, "here");
            return true;
        } catch (const Error&) {
        }
    }
    return false;
}

}  // namespace

TEST_CASE("every word that is offered is taken, and another one is not") {
    int with_words = 0;
    for (const PlanFlag* flag : plan_flags()) {
        if (!flag->words) continue;
        ++with_words;
        for (const std::string_view word : flag->words()) {
            CAPTURE(flag->name, std::string(word));
            CHECK(is_taken(*flag, word));
        }
        CAPTURE(flag->name);
        CHECK_FALSE(is_taken(*flag, "no-such-word"));
    }
    CHECK(with_words > 15);
}

TEST_CASE("where an error lists the known words, all of them are offered") {
    for (const PlanFlag* flag : plan_flags()) {
        if (!flag->words) continue;
        const Words words = flag->words();
        for (Job job : situations()) {
            try {
                flag->apply(job, "qqqqqqqqqqqqqqqq", "here");
            } catch (const Error& error) {
                const std::string hint = error.problems().front().hint;
                if (!hint.starts_with("known: ")) continue;
                for (const std::string_view known : split(std::string_view(hint).substr(7), ',')) {
                    const std::string_view word = known.substr(known.find_first_not_of(' '));
                    CAPTURE(flag->name, std::string(word));
                    const bool offered = std::find(words.begin(), words.end(), word) != words.end();
                    const bool refused =
                        flag->name == std::string_view("optim") || flag->name == std::string_view("loop");
                    CHECK((offered || refused));  // named in transformers, and not supported
                }
            }
        }
    }
}
