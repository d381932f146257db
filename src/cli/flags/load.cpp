// Flags of a plan: how the network is loaded.
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kLoad = "Load";

// "auto" is from_pretrained's word for the dtype of the checkpoint.
void set_dtype(Job& job, std::string_view value, const std::string& where) {
    DType& dtype = job.plan.load.dtype;
    dtype = value == "auto" ? job.model.checkpoint_dtype.value_or(DType::float32) : dtype_value_from(value, where);
}

constexpr Named<bool> kMovers[] = {{"script", false}, {"trainer", true}};

constexpr PlanFlag kLoadFlags[] = {
    {"dtype", "torch_dtype", "DTYPE", nullptr, kLoad,
     "Dtype that the weights are loaded in: bfloat16, float16, float32 or auto (the checkpoint's) [bfloat16]",
     set_dtype, 0,
     [] {
         return Words{"bfloat16", "float16", "float32", "auto"};
     }},
    {"attention", "attn_implementation", "NAME", nullptr, kLoad, "Attention: eager, sdpa or flash_attention_2 [sdpa]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.attention = value_from(value, where, kAttentionNames);
     },
     1, words_of<kAttentionNames>},
    {"sdpa-kernel", "", "NAME", nullptr, kLoad,
     "Use this kernel of sdpa only: flash, efficient, cudnn or math [what PyTorch chooses on the GPU]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.sdpa_kernel = value_from(value, where, kSdpaKernelNames);
     },
     1, words_of<kSdpaKernelNames>},
    {"moved_by", "", "WHO", nullptr, kLoad,
     "Load in host memory, from where Trainer moves the network once adapters are made (trainer) [onto the GPU: "
     "script]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.moved_by_trainer = value_from(value, where, kMovers);
         if (job.plan.load.moved_by_trainer) job.plan.load.on_device = false;
     },
     1, words_of<kMovers>},
    {"text-only", "text_part", "BOOL", "true", kLoad,
     "Load the text part alone of a model that takes images too, or the whole (false) [as AutoModelForCausalLM]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.text_part = boolean_from(value, where);
     }},
    {"num_labels", "", "N", nullptr, kLoad,
     "Load AutoModelForSequenceClassification, with a head of so many labels in place of the language model's; 1: a "
     "regression [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.num_labels = integer_from(value, where);
     }},
    {"task_type", "", "NAME", nullptr, kLoad,
     "What --num_labels are of: SEQ_CLS (sequences), or TOKEN_CLS (tokens: AutoModelForTokenClassification) [SEQ_CLS]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.labels_tokens = value_from(value, where, kTaskNames);
     },
     1, words_of<kTaskNames>},
    {"async-load", "", "BOOL", "true", kLoad,
     "transformers 5 reads weights in threads; false is HF_DEACTIVATE_ASYNC_LOAD=1 [true]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.load.without_threads = !boolean_from(value, where);
     }},
};

}  // namespace

std::span<const PlanFlag> load_flags() { return kLoadFlags; }

}  // namespace vramfit::cli
