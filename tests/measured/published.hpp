// Measurements that others have published, with the program's own figures beside them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vramfit::test {

/// A measured quantity beside its prediction. Between `low` and `high` a reading is right: the source rounds.
struct Reading {
    std::string source;
    std::string job;
    std::string quantity;
    std::int64_t low = 0, measured = 0, high = 0, predicted = 0;
    bool byte_exact = false;  ///< counters of the allocator, printed whole

    bool equal() const { return low <= predicted && predicted <= high; }
    double percent() const { return 100.0 * static_cast<double>(predicted - measured) / static_cast<double>(measured); }
};

/// The readings of one source, and why some of its jobs are not predicted.
struct Source {
    std::string commit;
    std::vector<Reading> readings;
    std::map<std::string, int> refused;
    int jobs = 0;
    int on_cards = 0;                    ///< ran on a card that is named,
    std::vector<std::string> too_large;  ///< on which the program says that they do not fit
};

/// Sources by name, from tests/data/measured.jsonl.
std::map<std::string, Source> published_sources();

/// Why a reading differs, as far as it is known: tests/data/measured_causes.jsonl.
std::string cause_of(const Reading& reading);

}  // namespace vramfit::test
