// Versions and stacks: names, overrides, unknown versions, lists of installed packages.
#include "vramfit/spec/stacks.hpp"

#include "expect.hpp"
#include "support/catch.hpp"

using namespace vramfit;

TEST_CASE("versions are read as libraries print them") {
    CHECK(version_from("2.11.0") == Version{2, 11, 0});
    CHECK(version_from("2.2") == Version{2, 2, 0});
    CHECK(version_from("5") == Version{5, 0, 0});
    CHECK(version_from("5.17.0.dev0") == Version{5, 17, 0});
    CHECK(version_from("2.11.0+cu130") == Version{2, 11, 0});
    CHECK(version_from("2.5.9.post1") == Version{2, 5, 9});
    CHECK(version_from("1.0rc1") == Version{1, 0, 0});
    CHECK(text_of(Version{2, 11, 0}) == "2.11.0");
    for (const char* text : {"", "x", "v1", ".1", "1.", "1..2", "-1", "1 2", "99999999999", "1.2.3 ", "1,2"}) {
        INFO(text);
        CHECK_FALSE(version_from(text));
    }
}

TEST_CASE("stacks have names") {
    CHECK(named_stacks().size() == 7);
    CHECK(trainer_stacks().size() == 5);
    CHECK(stack_from("").stack.name == kDefaultStack);
    CHECK(stack_from("hf-2024-04").stack.transformers == Version{4, 40, 2});
    CHECK(stack_from("hf-2024-04").stack.trl == Version{0, 8, 6});
    CHECK(stack_from("hf-2026-11").stack.trl == Version{1, 16, 0});
    for (const Stack& stack : named_stacks()) {
        CHECK(stack_from(stack.name).stack == stack);
        CHECK(stack_from(stack.name).notes.empty());
    }
    for (const Stack& stack : trainer_stacks()) {
        CHECK(stack_from(stack.name).stack == stack);
        CHECK(stack_from(stack.name).notes.empty());
    }
    CHECK(says(error_of([] { stack_from("hf-2024-4"); }), "--stack", "did you mean 'hf-2024-04'?"));
    CHECK(says(error_of([] { stack_from("hf-2024-04,hf-2024-08"); }), "--stack", "unknown stack"));
}

TEST_CASE("a release of Unsloth is a fact of the stack") {
    CHECK(stack_from("unsloth-2026.10").stack.unsloth == Version{2026, 10, 7});
    CHECK_FALSE(stack_from("unsloth-2026.10").stack.unsloth_scores_by_kernels());
    CHECK(stack_from("unsloth-2026.10.9").stack.unsloth_scores_by_kernels());
    const StackChoice alone = stack_from("unsloth=2026.10.9");
    CHECK(alone.stack.torch == Version{2, 11, 0});
    CHECK(alone.stack.trl == Version{1, 15, 0});
    const StackChoice frozen = stack_from_pip_freeze(
        "torch==2.11.0\ntransformers==5.17.0\npeft==0.21.2\nbitsandbytes==0.50.2\naccelerate==1.15.0\n"
        "trl==1.15.0\nunsloth==2026.10.9\nunsloth_zoo==2026.10.9\n",
        "freeze.txt");
    CHECK(frozen.stack == stack_from("unsloth-2026.10.9").stack);
    CHECK(frozen.notes.empty());
    CHECK_FALSE(stack_from("unsloth-2026.10,unsloth=2026.10.8").stack.unsloth_is_known());
    CHECK(stack_from("hf-2026-11").stack.unsloth_is_known());
}

TEST_CASE("single versions can be overridden") {
    const StackChoice named = stack_from("hf-2024-04,torch=2.3.1");
    CHECK(named.stack.torch == Version{2, 3, 1});
    CHECK(named.stack.peft == Version{0, 10, 0});
    CHECK(named.stack.name == "hf-2024-04,torch=2.3.1");
    CHECK(named.notes.empty());
    CHECK(stack_from(named.stack.name).stack == named.stack);

    const StackChoice nearest = stack_from("torch=2.6.0,peft=0.13");
    CHECK(nearest.stack.torch == Version{2, 6, 0});
    CHECK(nearest.stack.peft == Version{0, 13, 0});
    CHECK(nearest.stack.transformers == Version{4, 48, 3});
    REQUIRE(nearest.notes.size() == 1);
    CHECK(nearest.notes[0].kind == NoteKind::version_unknown);

    CHECK(says(error_of([] { stack_from("tourch=2.6.0"); }), "--stack", "did you mean 'torch'?"));
    CHECK(says(error_of([] { stack_from("torch=abc"); }), "--stack", "'abc' is no version of torch"));
    CHECK(says(error_of([] { stack_from("torch="); }), "--stack", "no version"));
    CHECK(says(error_of([] { stack_from("torch=2.6.0,torch=2.5.0"); }), "--stack", "twice"));
    CHECK(says(error_of([] { stack_from(","); }), "--stack", "unknown stack ''"));
}

TEST_CASE("unknown versions come from the nearest named stack") {
    const auto nearest = [](std::initializer_list<LibraryVersion> versions) {
        const std::vector<LibraryVersion> list(versions);
        return stack_from_versions(list, "job");
    };
    CHECK(nearest({{"transformers", "4.40"}, {"torch", "unknown"}}).stack.torch == Version{2, 2, 2});
    CHECK(nearest({{"transformers", "4.44.2"}, {"torch", "2.4.1"}, {"peft", "unknown"}}).stack.peft ==
          Version{0, 12, 0});
    CHECK(nearest({{"transformers", "5.8.1"}, {"torch", "2.6.0+cu124"}, {"peft", "0.19.1"}}).stack.accelerate ==
          Version{1, 13, 0});
    CHECK(nearest({{"torch", "unknown (a)"}, {"transformers", "unknown (b)"}}).stack.torch ==
          named_stacks().back().torch);
    CHECK(nearest({{"torch", "2.2.2"}}).stack.flash_attn == Version{2, 5, 9});
    CHECK(nearest({{"torch", "2.6.0"}}).stack.flash_attn == Version{2, 7, 3});
    CHECK(nearest({{"torch", "2.2.2"}, {"deepspeed", "0.14.2"}}).stack.deepspeed == Version{0, 14, 2});
}

TEST_CASE("versions outside of the known range are noted") {
    const StackChoice old = stack_from("hf-2024-04,transformers=4.39.3");
    REQUIRE(old.notes.size() == 1);
    CHECK(old.notes[0].kind == NoteKind::version_out_of_range);
    CHECK(old.notes[0].text.find("older than 4.40.2") != std::string::npos);
    CHECK(stack_from("hf-2026-11,torch=3.0").notes.at(0).text.find("newer than 2.15.0") != std::string::npos);
}

TEST_CASE("a pip freeze gives a stack") {
    const StackChoice choice = stack_from_pip_freeze(
        "accelerate==0.29.3\nnumpy==1.26.4\ntorch==2.2.2+cu121\r\n# "
        "comment\npeft==0.10.0\ntransformers==4.40.2\nbitsandbytes==0.43.1\n-e .\ntrl==0.8.6\nflash-attn==2.5.9.post1",
        "freeze.txt");
    CHECK(choice.stack.name == "hf-2024-04");
    CHECK(choice.notes.empty());
    CHECK(says(error_of([] { stack_from_pip_freeze("numpy==1.0\n", "freeze.txt"); }), "freeze.txt", "pip freeze"));
}
