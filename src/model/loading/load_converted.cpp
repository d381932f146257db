// transformers 5.17 core_model_loading.py: tensors of a checkpoint in order of their names, experts put together.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "engine/session.hpp"
#include "model/loading/load_entries.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// One tensor of the checkpoint: part of an entry.
struct FileTensor {
    std::string key;  ///< sorts as the name does
    std::size_t entry = 0;
    std::size_t source = 0;  ///< which of the entry's files
};

/// The tensors of each file of one entry: lists of one for what is not merged.
using Sources = std::vector<std::vector<Tensor>>;

std::string_view take_part(std::string_view& rest) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    rest.remove_prefix(dot == rest.npos ? rest.size() : dot + 1);
    return part;
}

/// A part of a name: its text and the number behind it.
std::pair<std::string_view, std::int64_t> split_number(std::string_view part) {
    const std::size_t end = part.find_last_not_of("0123456789") + 1;
    std::int64_t number = -1;
    std::from_chars(part.data() + end, part.data() + part.size(), number);
    return {part.substr(0, end), number};
}

/// dot_natural_key: numbers before words, numbers by value. As bytes, so that names are taken apart once.
std::string natural_key(std::string_view name) {
    std::string key;
    key.reserve(name.size() + 64);
    while (!name.empty()) {
        const auto [text, number] = split_number(take_part(name));
        key.append(text);
        key.push_back('\0');
        for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>((number + 1) >> shift));
    }
    return key;
}

std::vector<FileTensor> file_tensors(const std::vector<Entry>& entries) {
    std::vector<FileTensor> out;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& e = entries[i];
        if (e.is_cut_from_other) continue;
        if (e.merged_from.empty() && e.joined_from.empty()) out.push_back({natural_key(e.name), i, 0});
        for (std::size_t source = 0; source < e.joined_from.size(); ++source)
            out.push_back({natural_key(e.joined_from[source]), i, source});
        for (std::size_t source = 0; source < e.merged_from.size(); ++source)
            for (std::int64_t expert = 0; expert < e.sizes[0]; ++expert)
                out.push_back({natural_key(fmt::format("{}.{}.{}", e.name, expert, e.merged_from[source])), i, source});
    }
    std::sort(out.begin(), out.end(), [](const FileTensor& a, const FileTensor& b) { return a.key < b.key; });
    return out;
}

/// _materialize_copy: one tensor of the checkpoint on the device.
Tensor materialize(const Run& run, const Entry& entry, std::size_t source) {
    Dims sizes = entry.sizes;
    if (!entry.joined_from.empty()) {  // parts of one size, as Chunk saves them; together they are as large in any case
        const auto files = static_cast<std::int64_t>(entry.joined_from.size());
        const Size rows = (entry.sizes[0] + (files - 1)) / files;
        sizes[0] = source + 1 < entry.joined_from.size() ? rows : entry.sizes[0] - rows * (files - 1);
    }
    if (!entry.cut_with.empty()) sizes[0] *= static_cast<std::int64_t>(1 + entry.cut_with.size());
    if (!entry.merged_from.empty()) {
        sizes = sizes.erase(0);
        sizes[0] /= static_cast<std::int64_t>(entry.merged_from.size());
    }
    return empty(run.session, sizes, entry.dtype, Op::to_copy);
}

/// Concatenate: all parts are there until it is done.
Tensor joined(Session& session, const Entry& entry, const Sources& parts) {
    (void)parts;
    return empty(session, entry.sizes, entry.dtype, Op::cat);
}

/// MergeModulelist, then Concatenate where there are several files: each list goes when the next one is taken.
Tensor merged(Session& session, const Entry& entry, Sources sources) {
    const auto files = static_cast<std::int64_t>(sources.size());
    Dims stacked = entry.sizes;
    stacked[1] /= files;
    std::vector<Tensor> stacks;
    {
        std::vector<Tensor> tensors;
        for (std::vector<Tensor>& source : sources) {
            tensors = std::move(source);
            stacks.push_back(empty(session, stacked, entry.dtype, Op::cat));
        }
    }
    return files == 1 ? stacks[0] : empty(session, entry.sizes, entry.dtype, Op::cat);
}

/// Chunk: as many rows for each parameter, which stay one tensor's (torch.chunk, whose parts are contiguous as they
/// are).
void place_parts(const Run& run, const std::vector<Entry>& entries, const Entry& first, const Tensor& whole) {
    const auto place = [&](const Entry& entry) {
        const Tensor part = alias(whole, entry.sizes, whole.strides());
        part->is_view = false;  // as nn.Parameter makes it
        place_entry(run, entry, part);
    };
    place(first);
    for (const std::size_t other : first.cut_with) place(entries[other]);
}

/// How many parameters are on the device before the one that is being converted takes its place.
std::size_t lead_of_readers(const Run& run) {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max() / 2;
    const auto& plan = run.plan.load.quantization;
    if (run.plan.load.without_threads) return 0;
    if (!plan) return kAll;
    if (!run.stack.loader_runs_ahead_of_quantizer()) return 0;
    // What goes through host memory and back (integrations/bitsandbytes.py Bnb8bitQuantize.convert) is slower than four
    // threads that read; packing 4 bits is about as fast as one of them. The least that every run has.
    return plan->method == QuantMethod::int8 ? kAll : 1;
}

}  // namespace

// The threads that read have loaded everything by the time the first experts are put together: which of the two is
// ahead is a race, whose outcome shows as far as the largest experts go.
void load_converted(const Run& run, const std::vector<Entry>& entries) {
    std::vector<Sources> loaded(entries.size());
    std::vector<std::size_t> order;
    const bool in_file_order = !run.plan.load.quantization && !run.plan.load.without_threads;
    const std::vector<FileTensor> files = file_tensors(entries);
    for (const FileTensor& file : files) {
        Sources& sources = loaded[file.entry];
        if (sources.empty()) {
            order.push_back(file.entry);
            const Entry& entry = entries[file.entry];
            sources.resize(std::max({std::size_t{1}, entry.merged_from.size(), entry.joined_from.size()}));
        }
        if (in_file_order) sources[file.source].push_back(materialize(run, entries[file.entry], file.source));
    }
    const std::size_t lead = lead_of_readers(run);
    std::size_t read = in_file_order ? order.size() : 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (; read < order.size() && read <= i + lead; ++read) {
            const Entry& next = entries[order[read]];
            Sources& sources = loaded[order[read]];
            for (std::size_t source = 0; source < sources.size(); ++source)
                for (Size n = next.merged_from.empty() ? 1 : next.sizes[0]; n > 0; n -= 1)
                    sources[source].push_back(materialize(run, next, source));
        }
        const Entry& entry = entries[order[i]];
        Sources sources = std::move(loaded[order[i]]);
        Tensor value = !entry.joined_from.empty()  ? joined(run.session, entry, sources)
                       : entry.merged_from.empty() ? std::move(sources[0][0])
                                                   : merged(run.session, entry, std::move(sources));
        sources.clear();
        if (entry.cut_with.empty())
            place_entry(run, entry, std::move(value));
        else
            place_parts(run, entries, entry, value);
    }
}

}  // namespace vramfit::model
