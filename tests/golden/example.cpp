// Results written by hand, so that pictures change only when reports do.
#include "example.hpp"

#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

namespace {

constexpr std::int64_t kMiBs = kMiB;

ModelSpec example_model() {
    ModelSpec model;
    model.name = "example-2b";
    model.model_type = "llama";
    model.vocab_size = 256000;
    model.hidden_size = 2048;
    model.intermediate_size = 16384;
    model.num_hidden_layers = 18;
    model.num_attention_heads = 8;
    model.num_key_value_heads = 8;
    model.head_dim = 256;
    model.max_position_embeddings = 8192;
    model.layer_types.assign(18, LayerAttention::full);
    return model;
}

TrainPlan example_plan() {
    TrainPlan plan;
    plan.load.quantization = QuantizationPlan{};
    plan.load.quantization->double_quant = true;
    plan.load.quantization->compute_dtype = DType::bfloat16;
    plan.prepare_kbit = PreparePlan{};
    plan.peft = LoraPlan{};
    plan.peft->r = 16;
    plan.training.gradient_checkpointing = true;
    plan.training.gradient_accumulation_steps = 4;
    plan.training.optim = "paged_adamw_32bit";
    plan.batch.sequence_length = 512;
    return plan;
}

PeakResult peak(const char* id, const char* name, const char* window, std::int64_t mebibytes) {
    PeakResult result;
    result.id = id;
    result.name = name;
    result.window = window;
    result.requested = mebibytes * kMiBs;
    result.allocated = result.requested + 7 * kMiBs;
    result.reserved = result.requested + 300 * kMiBs;
    result.process = result.reserved + 256 * kMiBs;
    result.shares[static_cast<std::size_t>(Category::weights)] = result.requested;
    return result;
}

}  // namespace

Prediction example_prediction() {
    Prediction p;
    p.verdict = Verdict::fits;
    p.ends = {Verdict::fits, Verdict::fits};
    p.model = example_model();
    p.plan = example_plan();
    p.stack = stack_from("hf-2024-04").stack;
    p.device = device_from("Example GPU,7,5,36,8589934592,8321499136");
    p.peaks = {peak("A", "quantization", "prepare", 4100), peak("B", "forward_top_layer", "step1.forward.17", 2900),
               peak("D", "central_autograd", "step1.micro3.backward.loss", 5000),
               peak("G,H", "backward_bottom_layer", "step1.micro3.backward.0", 3100)};
    PeakResult& highest = p.peaks[2];
    highest.shares = {};
    const auto share = [&](Category category, std::int64_t mebibytes) {
        highest.shares[static_cast<std::size_t>(category)] = mebibytes * kMiBs;
    };
    share(Category::weights, 3000);
    share(Category::quantization_state, 60);
    share(Category::adapters, 10);
    share(Category::gradients, 9);
    share(Category::logits_and_loss, 1900);
    share(Category::workspaces, 20);
    share(Category::unattributed, 1);
    p.highest = "central_autograd";
    p.peak = {5000 * kMiBs, 5007 * kMiBs, 5007 * kMiBs, 5300 * kMiBs, 90 * kMiBs};
    p.after_load = {3060 * kMiBs, 3062 * kMiBs, 3062 * kMiBs, 4400 * kMiBs, 0};
    p.resident = {3070 * kMiBs, 3072 * kMiBs, 3072 * kMiBs, 4410 * kMiBs, 0};
    p.end = {3090 * kMiBs, 3092 * kMiBs, 3092 * kMiBs, 3100 * kMiBs, 90 * kMiBs};
    p.quantities = {{"allocated_peak", 5007 * kMiBs}, {"phase.load", 4107 * kMiBs}};
    p.next_larger = {
        {"--batch", 2, Verdict::fits, {5900 * kMiBs, 5907 * kMiBs, 5907 * kMiBs, 6200 * kMiBs, 0}, 1736 * kMiBs},
        {"--seq", 640, Verdict::too_large, {8000 * kMiBs, 8007 * kMiBs, 8007 * kMiBs, 8200 * kMiBs, 0}, -264 * kMiBs}};
    p.managed = 90 * kMiBs;
    p.trainable_parameters = 921600;
    p.total_parameters = 2507093504;
    p.notes = {{NoteKind::assumed_context, "the CUDA context of this card is not measured: 256 MiB assumed",
                "measure it with nvidia-smi while an empty CUDA process runs, and keep the difference free with "
                "--reserve"}};
    return p;
}

Prediction example_too_large() {
    Prediction p = example_prediction();
    p.verdict = Verdict::too_large;
    p.ends = {Verdict::too_large, Verdict::too_large};
    p.device = device_from("Example GPU,7,5,36,4563402752,4294967296");
    p.out_of_memory = OutOfMemory{40, 1234, 500 * kMiBs, 500 * kMiBs, 500 * kMiBs};
    p.out_of_memory_window = "step0.micro0.backward.loss";
    p.out_of_memory_levels = {3900 * kMiBs, 3902 * kMiBs, 3902 * kMiBs, 4000 * kMiBs, 0};
    p.retries = 1;
    p.managed = 0;
    p.next_larger.clear();
    p.notes.clear();
    return p;
}

Prediction example_tight() {
    Prediction p = example_prediction();
    p.verdict = Verdict::tight;
    p.ends = {Verdict::too_large, Verdict::fits};
    p.peak.reserved = 7800 * kMiBs;
    p.plan.distributed = DistributedPlan{};
    p.plan.distributed->world_size = 2;
    p.assumptions = {{AssumptionKind::context, Bytes{100 * kMiBs}, Bytes{256 * kMiBs}, Bytes{480 * kMiBs},
                      "the CUDA context of Example GPU", "a table", "it, and give --context"},
                     {AssumptionKind::communicator, Bytes{}, Bytes{}, Bytes{300 * kMiBs}, "NCCL's buffers", "an issue",
                      "nvidia-smi"}};
    p.next_larger.clear();
    p.notes.push_back({NoteKind::flags_before_job, "--seq goes before what the job file says", "write it there"});
    PlanChanges changes;
    changes.changes = {{{"sequences of 256 tokens"}, {{"seq", "256"}}, 5000 * kMiBs, 2000 * kMiBs}};
    p.changes = changes;
    return p;
}

TimelineReport example_timeline() {
    TimelineReport report;
    report.model = "example-2b";
    const auto window = [&](Phase phase, std::int64_t peak, std::int64_t end) {
        WindowLevels levels;
        levels.phase = phase;
        if (!report.timeline.windows.empty()) levels.start = report.timeline.windows.back().end;
        levels.peak = {peak, peak + 24, peak + 24, peak + 1000, 0};
        levels.end = {end, end + 24, end + 24, peak + 1000, 0};
        report.timeline.windows.push_back(levels);
    };
    window({PhaseKind::start, -1, -1, -1}, 0, 0);
    window({PhaseKind::load, -1, -1, -1}, 3 * kGiB, 2 * kGiB);
    window({PhaseKind::backward_layer, 1, 0, 17}, 5 * kGiB, 4 * kGiB);
    return report;
}

}  // namespace vramfit::test
