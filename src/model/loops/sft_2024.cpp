// trl 0.8.6 trainer/sft_trainer.py SFTTrainer.__init__.
#include "model/loops/sft_2024.hpp"

#include "model/adapters/adapters.hpp"
#include "model/loading/prepare.hpp"

namespace vramfit::model {

void adapt_in_sft_trainer(const Run& run, Network& network) {
    engine::Recorder& recorder = run.session.recorder;
    const TrainingPlan& args = run.plan.training;
    const bool quantized = run.plan.load.quantization.has_value();
    recorder.begin({PhaseKind::trainer});
    if (quantized) {
        recorder.begin({PhaseKind::prepare});
        PreparePlan plan;
        plan.use_gradient_checkpointing = args.gradient_checkpointing;
        plan.use_reentrant = args.use_reentrant;
        prepare_for_kbit_training(run, network, plan);
        recorder.begin({PhaseKind::trainer});
    } else if (args.gradient_checkpointing && args.use_reentrant.value_or(true)) {
        require_input_grads(network);
    }
    recorder.mark("after_load");
    recorder.begin({PhaseKind::adapters});
    add_adapters(run, network);
    recorder.begin({PhaseKind::trainer});
    const bool in_4bit = quantized && run.plan.load.quantization->method != QuantMethod::int8;
    if (args.bf16 && in_4bit) cast_to_bf16_by_trl_0_8(run, network);
    recorder.mark("after_adapter");
}

}  // namespace vramfit::model
