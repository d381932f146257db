// What a recorded network's parameters are called where a number stands for any number: in plans and checkpoints.
#include "model/loading/checkpoint_names.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "spec/network/any_number.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

namespace {

/// The name with these numbers in place of its first stars.
std::string with_numbers(std::string_view name, const std::vector<std::string_view>& numbers) {
    std::string out;
    std::size_t next = 0;
    for (const char c : name) {
        if (c == '*' && next < numbers.size())
            out += numbers[next++];
        else
            out += c;
    }
    return out;
}

/// How many matrices of experts become this block.
std::int64_t matrices_in(const network::Document& recording, const Entry& entry, std::int64_t files,
                         std::int64_t so_far) {
    const auto refuse = [&](std::string what) {
        throw Error(ErrorKind::invalid, fmt::format("{} /network/checkpoint", recording.file), std::move(what),
                    "record the network again (tools/record)");
    };
    if (entry.sizes.size() != 3 || entry.sizes[1].value() % files != 0)
        refuse(fmt::format("{} is no block of {} matrices of each expert", entry.name, files));
    const std::int64_t experts = entry.sizes[0].value();
    if (experts > (network::kMostMatrices - so_far) / files)
        refuse(fmt::format("more than {} matrices of experts", network::kMostMatrices));
    return experts * files;
}

/// Parameters that a checkpoint has as one tensor, each as many rows of it (core_model_loading.py Chunk): the first one
/// gets the others' places.
void gather_parts(const network::Document& recording, std::vector<Entry>& entries,
                  const std::vector<std::size_t>& renamed) {
    std::map<std::string, std::size_t, std::less<>> first;
    for (const std::size_t i : renamed) {
        const auto [known, is_first] = first.emplace(entries[i].name, i);
        if (is_first) continue;
        Entry& whole = entries[known->second];
        bool alike = entries[i].sizes.size() == whole.sizes.size() && whole.sizes.size() > 0;
        for (int d = 0; alike && d < whole.sizes.size(); ++d) alike = same(entries[i].sizes[d], whole.sizes[d]);
        if (!alike)
            throw Error(ErrorKind::invalid, fmt::format("{} /network/checkpoint", recording.file),
                        fmt::format("parts of {} have several sizes", whole.name),
                        "record the network again (tools/record)");
        whole.cut_with.push_back(i);
        entries[i].is_cut_from_other = true;
    }
}

}  // namespace

void name_as_published(const network::Document& recording, std::vector<Entry>& entries) {
    const std::vector<network::Published>& rows = recording.checkpoint;
    if (rows.empty()) return;
    std::int64_t matrices = 0;
    std::vector<std::size_t> renamed;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Entry& entry = entries[i];
        const std::string own = entry.name;
        const network::AnyNumber any = network::any_number(own);
        const auto row = std::find_if(rows.begin(), rows.end(),
                                      [&](const network::Published& one) { return one.parameter == any.name; });
        if (row == rows.end()) continue;
        if (!row->by_expert()) {
            entry.name = with_numbers(row->files[0], any.numbers);
            if (row->files.size() == 1) {
                renamed.push_back(i);
                continue;
            }
            if (entry.sizes.size() == 0 || entry.sizes[0].value() < static_cast<std::int64_t>(row->files.size()))
                throw Error(ErrorKind::invalid, fmt::format("{} /network/checkpoint", recording.file),
                            fmt::format("{} has fewer rows than parts", own),
                            "record the network again (tools/record)");
            for (const std::string& file : row->files) entry.joined_from.push_back(with_numbers(file, any.numbers));
            continue;
        }
        matrices += matrices_in(recording, entry, static_cast<std::int64_t>(row->files.size()), matrices);
        for (const std::string& file : row->files) {
            const std::size_t expert = file.rfind(".*.");
            entry.name = with_numbers(std::string_view(file).substr(0, expert), any.numbers);
            entry.merged_from.push_back(file.substr(expert + 3));
        }
    }
    gather_parts(recording, entries, renamed);
}

}  // namespace vramfit::model
