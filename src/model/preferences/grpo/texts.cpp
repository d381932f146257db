// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._generate_and_score_completions: gather_object.
#include "model/preferences/grpo/texts.hpp"

#include <algorithm>

#include "model/parallel/collectives.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

namespace {

/// Texts are not known: a letter for each token and a space between, as the tracer's rows have.
std::int64_t letters(std::int64_t tokens) { return std::max<std::int64_t>(0, 2 * tokens - 1); }

/// Python 3.11's pickle of a list of texts: its frame, the list, and for each text its length, itself and a memo.
template <class TokensOf>
std::int64_t pickled(std::int64_t rows, const TokensOf& tokens_of) {
    constexpr std::int64_t kFrame = 11, kList = 2, kEnds = 3;
    std::int64_t bytes = kFrame + kList + (rows > 1 ? kEnds : kEnds - 1);
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t text = letters(tokens_of(row));
        bytes += text + (text < 256 ? 2 : 5) + 1;
    }
    return bytes;
}

}  // namespace

void gather_texts(const Run& run) {
    if (!run.plan.distributed) return;
    const PairLengths& pairs = run.plan.batch.pairs;
    const GroupRows group = group_rows(run.plan);
    const std::int64_t world = run.plan.distributed->world_size;
    const std::int64_t generations = run.plan.preference.grpo.num_generations;
    gather_object(run.session,
                  pickled(group.rows,
                          [&](auto row) { return of_row(pairs.prompt, static_cast<std::size_t>(row / generations)); }),
                  world);
    // The end-of-sequence token is left out.
    const auto completion = [&](auto row) {
        return group.completion - of_row(pairs.chosen_shorter, static_cast<std::size_t>(row)) - 1;
    };
    gather_object(run.session, pickled(group.rows, completion), world);
    constexpr std::int64_t kEmptyList = 5;
    for (int names = 0; names < 2; ++names) gather_object(run.session, kEmptyList, world);
}

}  // namespace vramfit::model
