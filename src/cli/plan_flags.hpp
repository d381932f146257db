// The flags of a plan, the same in every command: one table, from which help, aliases and the job come.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/given_words.hpp"
#include "cli/words.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"

namespace CLI {
class App;
}

namespace vramfit::cli {

/// One flag. `apply` changes the job; it throws Error with `where` as its place for a value that makes no sense.
struct PlanFlag {
    const char* name;     ///< "batch"; the flag is --batch
    const char* aliases;  ///< the libraries' names, separated by blanks: "per_device_train_batch_size"
    const char* value;    ///< what stands for the value in help: "N"
    const char* alone;    ///< the value of the flag given without one, or nullptr if it needs one
    const char* group;    ///< heading in help; empty: not shown
    const char* help;     ///< one sentence, the default in brackets
    void (*apply)(Job& job, std::string_view value, const std::string& where);
    int turn = 1;                ///< flags of a lower turn are applied first
    Words (*words)() = nullptr;  ///< values that a shell can complete, where there is a list of them
};

/// All flags of a plan in the order of help, without --model and --job.
std::vector<const PlanFlag*> plan_flags();

/// The flag of that name (not an alias), or nullptr.
const PlanFlag* find_plan_flag(std::string_view name);

/// The text as one word of a shell.
std::string shell_word(std::string_view text);

/// The question without any flag: the network, LoRA as peft's and transformers' defaults have it, 1024 tokens, no card.
Job default_job(const ModelSpec& model);

/// A flag of the table whose value is a list of values, which the command reads itself.
struct PlanAxis {
    const char* name;
    const char* help;
};

/// A flag with several values.
struct PlanChoice {
    std::string name;  ///< in the table; "model" too
    std::vector<std::string> values;
};

/// One value for each of some flags, by the names of the table.
using Chosen = std::map<std::string, std::string>;

/// The plan flags of one command line.
class PlanFlags {
  public:
    PlanFlags();

    /// Declares --model, --job and all flags that the given words call for. Those in `axes` take a text that is not
    /// applied to the job.
    void add(CLI::App& app, const GivenWords& given, std::span<const PlanAxis> axes = {}, bool with_job = true);

    /// What was given for an axis.
    std::optional<std::string> axis(std::string_view name) const;

    /// The question that was asked: the job file or the defaults, and every flag applied. Throws Error. `chosen` goes
    /// before what was given, and is applied where nothing was.
    Job job(const Chosen& chosen = {}) const;

    /// Applies the given flags to another job.
    Job applied(Job job, const Chosen& chosen = {}) const;

    /// How errors call the places of chosen values that no flag gives, by the names of the table.
    void name_places(std::map<std::string, std::string> places);

    /// Flags that stand for several questions: their values are lists (--optim adamw_torch,sgd). Throws Error for a
    /// value that is given twice.
    std::vector<PlanChoice> choices() const;

    /// What `answer` returns. Its errors name flags where they would name the keys of a job that the flags stand for.
    template <class Answer>
    auto answered(Answer answer) const {
        try {
            return answer();
        } catch (const Error& error) {
            throw named_by_flags(error);
        }
    }

    /// Whether the flag (by its name in the table) or one of its aliases was given.
    bool given(std::string_view name) const;

    /// What was given, without the axes and the choices: flags with their values, as a shell reads them.
    std::vector<std::string> words() const;

  private:
    struct State;
    Error named_by_flags(const Error& error) const;
    void apply_chosen(const PlanFlag& flag, const Chosen& chosen, Job& job) const;
    std::shared_ptr<State> state_;
};

}  // namespace vramfit::cli
