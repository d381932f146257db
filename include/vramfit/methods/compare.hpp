// One run on several cards, by each method that can share it among them: which fit, and which should be taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/predict/prediction.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit {

/// Operations that a card does in the time in which it sends one byte: what makes computing and sending comparable.
/// An RTX 4090 at 40 % of its 165 TFLOP/s in bfloat16 over PCIe 4.0 x16 (25 GB/s): 2,600; an H100 SXM at 40 % of 990
/// TFLOP/s over NVLink (450 GB/s each way): 880 (NVIDIA's data sheets).
inline constexpr double kOperationsPerByte = 2000;

/// The run and the cards. `job.plan.distributed` is not looked at: each method brings its own.
struct MethodsQuestion {
    Job job;                           ///< on a card whose capacity is known
    std::int64_t cards = 1;            ///< of this kind, one process each
    std::optional<Job> quantized;      ///< the same run as QLoRA; absent: it is not considered
    bool choose_checkpointing = true;  ///< try without, then with gradient checkpointing; false: as the job says
    bool largest_batch = true;         ///< look for it
    double operations_per_byte = kOperationsPerByte;
    std::optional<Bytes> host_memory;  ///< of the node; absent: no limit
    std::size_t threads = 1;
};

/// What one process sends in one optimizer step, in bytes. Collectives count as rings: an all-reduce of n bytes among w
/// sends 2 n (w - 1) / w, an all-gather or a reduce-scatter half of it. Collectives of single values are left out.
struct Traffic {
    std::int64_t all_reduce = 0;
    std::int64_t all_gather = 0;
    std::int64_t reduce_scatter = 0;
    std::int64_t with_host = 0;  ///< in both directions
    std::int64_t send = 0;       ///< from one process to another

    std::int64_t between_cards() const { return all_reduce + all_gather + reduce_scatter + send; }

    friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// One method and what it needs.
struct MethodRow {
    std::string id;     ///< "zero2_offload"
    std::string title;  ///< "ZeRO-2, states in host memory"
    Job job;            ///< of the process that reserves most
    std::int64_t cards = 1;
    bool quantized = false;                ///< trains over quantized weights although the question does not
    std::string refusal;                   ///< why it is not predicted; empty: `prediction` is there
    std::optional<Prediction> prediction;  ///< of that process
    std::vector<std::int64_t> processes;   ///< that were looked at
    std::optional<std::int64_t> largest;   ///< rows of a batch: it fits, one more does not; 0: none; absent: not asked
    Traffic traffic;
    std::int64_t host_bytes = 0;     ///< of all processes, for states that stay there
    bool lacks_host_memory = false;  ///< `host_bytes` are more than the question's node has
    double operations = 0;           ///< of one card in one optimizer step: two for a weight, a token and a pass
    double cost = 0;                 ///< operations, and those that could have been done while `traffic` is sent

    /// How many different batches are trained on at the same time.
    std::int64_t replicas() const { return job.plan.distributed ? job.plan.distributed->replicas() : 1; }

    /// Of a row that is predicted.
    Verdict verdict() const { return lacks_host_memory ? Verdict::too_large : prediction->verdict; }
    bool fits() const { return prediction && verdict() == Verdict::fits; }
    bool is_tight() const { return prediction && verdict() == Verdict::tight; }
};

/// Best first: what fits before what is tight, that before what does not fit, and the refused last; the question's own
/// weights before quantized ones; nothing in host memory before something; less cost; less reserved.
struct MethodsAnswer {
    std::vector<MethodRow> rows;

    /// The row of that place, from 1, among those that fit; or nullptr.
    const MethodRow* ranked(std::size_t place) const {
        return place >= 1 && place <= rows.size() && rows[place - 1].fits() ? &rows[place - 1] : nullptr;
    }
};

/// Each method is asked about the same rows for each optimizer step: fewer cards accumulate more batches. Throws Error
/// (invalid) for a run that makes no sense by itself; what one method does not support is its row's refusal.
MethodsAnswer compare_methods(const MethodsQuestion& question);

}  // namespace vramfit
