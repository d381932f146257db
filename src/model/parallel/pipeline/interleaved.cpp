// Each process's computations first, then all of them together: who sends decides when it is received.
#include "model/parallel/pipeline/interleaved.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace vramfit::model {

namespace {

using Does = PipelineAction::Kind;
using Actions = std::vector<PipelineAction>;

/// _calculate_single_rank_operations and _get_1f1b_rank_ops, without the steps in which a process has nothing to do.
Actions computations(const InterleavedShape& shape, std::int64_t process) {
    const std::int64_t rounds = std::max<std::int64_t>(1, shape.micro_batches / shape.processes);
    const std::int64_t in_round = shape.micro_batches / rounds;
    const std::int64_t all = shape.stages * shape.micro_batches;
    const std::int64_t warm_up = std::min((shape.stages - 1) * in_round + 2 * (shape.processes - 1 - process), all);
    std::map<std::int64_t, std::int64_t> forwards, backwards;  // of each stage
    Actions out;
    const auto forward = [&](std::int64_t turn) {
        const std::int64_t stage = (turn / in_round) % shape.stages * shape.processes + process;
        out.push_back({Does::forward, stage, forwards[stage]++});
    };
    const auto backward = [&](std::int64_t turn) {
        const std::int64_t local = shape.stages - 1 - (turn / in_round) % shape.stages;
        const std::int64_t stage = local * shape.processes + process;
        out.push_back({Does::backward, stage, backwards[stage]++});
    };
    for (std::int64_t turn = 0; turn < warm_up; ++turn) forward(turn);
    for (std::int64_t turn = warm_up; turn < all; ++turn) {
        forward(turn);
        backward(turn - warm_up);
    }
    for (std::int64_t turn = all - warm_up; turn < all; ++turn) backward(turn);
    return out;
}

/// next_stage_indices: the next stages that compute something, at most three.
std::set<std::int64_t> next_stages(const Actions& actions, std::size_t from, std::int64_t stages) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(3, stages));
    std::set<std::int64_t> next;
    for (std::size_t i = from; i < actions.size() && next.size() < most; ++i) next.insert(actions[i].stage);
    return next;
}

/// _add_unshard_reshard and _add_reduce_grad: what they add does nothing here, but takes a turn.
Actions with_turns(const InterleavedShape& shape, const Actions& actions) {
    std::set<std::int64_t> active;
    std::map<std::int64_t, std::int64_t> backwards;
    Actions out;
    const auto idle = [&out](std::size_t turns) { out.insert(out.end(), turns, PipelineAction{}); };
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const std::set<std::int64_t> next = next_stages(actions, i, shape.stages);
        std::size_t changes = 0;
        for (const std::int64_t stage : active) changes += next.contains(stage) ? 0 : 1;
        for (const std::int64_t stage : next) changes += active.contains(stage) ? 0 : 1;
        active = next;
        idle(changes);
        out.push_back(actions[i]);
        if (actions[i].kind == Does::backward && ++backwards[actions[i].stage] == shape.micro_batches) idle(1);
    }
    return out;
}

/// _add_send_recv.
class Exchange {
  public:
    explicit Exchange(const InterleavedShape& shape)
        : shape_(shape), last_(shape.processes * shape.stages - 1), all_(static_cast<std::size_t>(shape.processes)) {
        for (std::int64_t rank = 0; rank < shape.processes; ++rank)
            all_[static_cast<std::size_t>(rank)].open = with_turns(shape, computations(shape, rank));
    }

    Actions order_of(std::int64_t process) {
        bool progress = true;
        while (std::exchange(progress, false))
            for (Process& own : all_) progress = take_turn(own) || progress;
        return std::move(all_[static_cast<std::size_t>(process)].done);
    }

  private:
    struct Process {
        Actions open;
        std::size_t next = 0;
        Actions done;
        std::set<PipelineAction> received;
    };

    bool is_ready(const Process& own, const PipelineAction& action) const {
        if (action.kind == Does::forward && action.stage != 0)
            return own.received.contains({Does::receive_forward, action.stage, action.micro});
        if (action.kind == Does::backward && action.stage != last_)
            return own.received.contains({Does::receive_backward, action.stage, action.micro});
        return true;
    }

    bool take_turn(Process& own) {
        if (own.next == own.open.size()) return false;
        const PipelineAction action = own.open[own.next];
        if (!is_ready(own, action)) return false;
        ++own.next;
        if (action.kind == Does::nothing) return true;
        own.done.push_back(action);
        const bool forward = action.kind == Does::forward;
        if (action.stage == (forward ? last_ : 0)) return true;
        own.done.push_back({forward ? Does::send_forward : Does::send_backward, action.stage, action.micro});
        const std::int64_t to = action.stage + (forward ? 1 : -1);
        const PipelineAction received{forward ? Does::receive_forward : Does::receive_backward, to, action.micro};
        Process& other = all_[static_cast<std::size_t>(to % shape_.processes)];
        other.done.push_back(received);
        other.received.insert(received);
        return true;
    }

    InterleavedShape shape_;
    std::int64_t last_;
    std::vector<Process> all_;
};

}  // namespace

std::vector<PipelineAction> interleaved_order(const InterleavedShape& shape, std::int64_t process) {
    return Exchange(shape).order_of(process);
}

}  // namespace vramfit::model
