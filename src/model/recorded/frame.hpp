// One call of a recorded program: its values, its instructions, the modules that it calls.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/autocast.hpp"
#include "model/adapters/param_wrapper.hpp"
#include "model/network/unit_hooks.hpp"
#include "model/recorded/expert_masks.hpp"
#include "model/recorded/interpreter.hpp"

namespace vramfit::model {

/// Values that a checkpointed unit leaves in a container that all units are given (transformers 5.17.0
/// modeling_gemma4.py shared_kv_states): they are replaced when the unit runs again, and are held as long as any unit
/// can run again.
struct SharedValues {
    bool is_shared = true;  ///< false: they are views of what the unit gives back
    std::vector<Tensor> values;
};

/// What all programs of a pass share; checkpointed units keep it until they have run again.
struct RecordedPass {
    const Run& run;
    const Network& network;
    const RecordedModel& model;
    RecordedWindows windows;
    recorded::Symbols symbols;
    DType weights;                                            ///< of the weights while the forward pass runs
    std::size_t units = 0;                                    ///< that have begun
    bool units_are_over = false;                              ///< the last one's output has gone on
    std::int64_t steps_of_rounds = 0;                         ///< that loops have run
    std::map<const network::Run*, SharedValues> shared = {};  ///< by the call of the unit
    SharedValues* sharing = nullptr;                          ///< of the unit that runs
    std::optional<recorded::RecordedCache> cache = {};        ///< of a pass that generates
};
using RecordedPassPointer = std::shared_ptr<RecordedPass>;

/// The values of a program by number, freed when they end.
class RecordedFrame : public recorded::Scope {
  public:
    RecordedFrame(RecordedPassPointer pass, network::Number program, std::uint32_t module, bool in_unit);

    /// Runs the program: what it leaves.
    std::vector<Tensor> call(std::vector<Tensor> given);
    /// A call of a module that this program contains, alone.
    std::vector<Tensor> called_child(const network::Run& what, std::vector<Tensor> given);

    Tensor value(network::Number number) const override { return slots_[number]; }
    const std::vector<Tensor>& rounds(network::Number number) const override { return rounds_.at(number); }
    Tensor parameter(std::string_view path) const override;
    void replace_buffer(std::string_view path, Tensor tensor) const override;
    Tensor base_of(network::Number number) const override;
    bool is_of_host(network::Number number) const override { return on_host_[number]; }
    DType dtype_of_value(network::Number number) const override { return dtypes_[number]; }
    DType weights() const override { return pass_->weights; }
    const recorded::Symbols& symbols() const override { return pass_->symbols; }
    engine::Session& session() const override { return pass_->run.session; }
    const Run& run() const override { return pass_->run; }
    recorded::RecordedCache* cache() const override { return pass_->cache ? &*pass_->cache : nullptr; }
    bool dropout_is_off() const override;
    std::string_view path() const override { return here().path; }

  private:
    const RecordedModule& here() const { return pass_->model.module(module_); }
    std::string place() const;
    DType gate_of_hunyuan() const;
    const network::Program& program_of(const network::Run& what) const;
    std::vector<Tensor> run_program(network::Number program, std::uint32_t module, std::vector<Tensor> given,
                                    bool in_unit) const;

    // Instructions.
    void execute(const network::Call& call, recorded::Operator run_it);
    void execute_of_experts(const network::Call& call, recorded::Operator run_it);
    void execute_of_angles(const network::Call& call, recorded::Operator run_it);
    void execute(const network::Call&) {}
    bool is_call_of_host(const network::Call& call) const;
    bool is_copied_from_host(const network::Call& call) const;
    void copy_from_host(const network::Call& call);
    void execute(const network::End& end);
    static void end_rounds(std::vector<std::vector<Tensor>*>& kept);
    void execute(const network::If& condition) const;
    void execute(const network::Run& what);
    void execute(const network::Repeat& loop, const recorded::Operator* operators);
    void execute(const network::Repeat&) {}
    void run_round(const std::vector<network::Step>& steps, const recorded::Operator* operators);
    void put(network::Number number, Tensor tensor);
    void keep(const network::Call& call, const network::Result& result, Tensor made);
    void expect(const network::Call& call, const network::Result& result, const Tensor& made) const;

    // Modules.
    void begin_unit(int unit, const Tensor& hidden);
    bool begins_head(const RecordedModule& child) const;
    std::vector<Tensor> called_unit(const network::Run& what, std::uint32_t index, std::vector<Tensor> given);
    std::vector<Tensor> call_module(const network::Run& what, std::uint32_t index, std::vector<Tensor> given);
    void ask_router(const network::Run& what, const std::vector<Tensor>& results) const;
    std::vector<Tensor> between_hooks(const network::Run& what, std::uint32_t index, std::vector<Tensor> given);
    Tensor call_linear(const Linear& linear, const Tensor& input) const;
    std::vector<Tensor> call_embedding(const network::Run& what, std::uint32_t index, std::vector<Tensor> given);
    std::vector<Tensor> call_table(const network::Run& what, std::uint32_t index, std::vector<Tensor> given);

    // Hooks of what shares the network by its decoder layers.
    UnitHooks* unit_hooks() const { return pass_->network.hooks; }
    void cast_inputs(const RecordedModule& unit, std::vector<Tensor>& given) const;
    void enter_unit(const RecordedModule& unit, std::vector<Tensor>& given);
    void leave_unit(const RecordedModule& unit, const std::vector<Tensor>& results) const;

    // Checkpointed units.
    const RecordedModule* unit_inside(const network::Program& unit) const;
    std::vector<std::size_t> order_of_closure(const network::Program& unit) const;
    Tensor result_of_unit(const std::vector<Tensor>& left, std::size_t outputs) const;
    void share(network::Number made) const;
    void remember_shared(const network::Run& what, std::size_t outputs);
    void judge_unit(const std::vector<Tensor>& arguments, std::size_t outputs, bool hooked) const;
    std::vector<Tensor> checkpoint(const network::Run& what, std::vector<Tensor> given);

    RecordedPassPointer pass_;
    network::Number number_;
    const network::Program& program_;
    std::uint32_t module_;
    bool in_unit_;
    std::vector<Tensor> slots_;
    std::map<network::Number, std::vector<Tensor>> rounds_;  ///< values of all rounds, by their number in the first
    std::vector<DType> dtypes_;
    std::vector<network::Number> bases_;  ///< of a view: what it is a view of; else itself
    std::map<network::Number, std::pair<const network::Run*, std::size_t>> shared_;  ///< which unit's, and where
    std::unique_ptr<FoldedParameters> folded_;  ///< of the module, where they have adapters
    std::optional<ExpertMasks> masks_;          ///< of experts
    bool makes_angles_ = false;                 ///< of rotary embeddings, as newer releases do than the recorded one
    bool gate_is_half_ = false;                 ///< of a router that casts tokens for a weight in float32
    std::vector<bool> on_host_;                 ///< values that were made on the host, of which no tensor is kept
};

}  // namespace vramfit::model
