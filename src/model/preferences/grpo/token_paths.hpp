// Which tokens of a generation do what the one before did, with a cache that is one place longer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/network/run.hpp"

namespace vramfit::model {

/// A tensor that outlives a token, and the dimension in which each token's is one longer; -1: none.
struct Grown {
    Tensor* tensor = nullptr;
    int dim = -1;
};

/// Watches tokens as they are run, in stretches of one or, where a mask is padded to a multiple of eight places, of
/// eight. Where three stretches in a row have done the same with sizes that grow by the same, those that follow on the
/// same path are written down without being run.
class TokenPaths {
  public:
    TokenPaths(const Run& run, const Tensor& prompts, std::int64_t tokens, bool padded, Missing missing);

    /// Around a token that is run.
    void begin();
    void end();

    /// How many stretches of tokens from `token` on need not be run; the last token always is.
    std::int64_t repeats(std::int64_t token);
    /// Writes them; `live` become the last one's. Gives how many tokens they are.
    std::int64_t write(std::int64_t times, const std::vector<Grown>& live);

  private:
    /// What of a token depends on how many places it sees, but for sizes that grow with them.
    std::vector<std::int64_t> path_of(std::int64_t token) const;
    void add_packing(const Size& places, std::vector<std::int64_t>& path) const;
    /// Whether so many tokens from `first` on have the path.
    bool have_path(std::int64_t first, std::int64_t count, const std::vector<std::int64_t>& path) const;

    const Run& run_;
    Size rows_;
    std::int64_t prompt_ = 0, tokens_ = 0;
    bool padded_ = false;           ///< prompts: attention takes a mask
    Missing missing_;               ///< its zeros
    std::vector<Size> windows_;     ///< of caches that slide, each once
    std::int64_t period_ = 1;       ///< tokens of a stretch
    engine::Stretch stretches_[3];  ///< of the last tokens that were run, the latest one last
    std::int64_t run_in_a_row_ = 0;
};

}  // namespace vramfit::model
