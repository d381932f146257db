// The readers of text: scalars as PyYAML reads them, places, limits, hostile input.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "trainers/read_text.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::trainers;

namespace {

using Kind = Value::Kind;

Kind kind_of(const std::string& text) { return plain_scalar(text, {"f", {1, 1}}).kind; }

/// Where and what the reader complains about.
template <class Read>
std::string problem_of(Read read) {
    try {
        read();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::invalid);
        return error.problems().front().where + ": " + error.problems().front().what;
    }
    return "none";
}

std::string yaml_problem(const std::string& text) {
    return problem_of([&] { read_yaml(text, "f.yaml"); });
}

std::string json_problem(const std::string& text) {
    return problem_of([&] { read_json(text, "f.json"); });
}

}  // namespace

TEST_CASE("scalars are read as PyYAML does it for the trainers") {
    for (const char* text : {"", "~", "null", "Null", "NULL"}) CHECK(kind_of(text) == Kind::null);
    for (const char* text : {"yes", "no", "on", "Off", "TRUE", "false"}) CHECK(kind_of(text) == Kind::boolean);
    for (const char* text : {"1e-4", "2.0e-4", ".5", "1.", "-0.5"}) CHECK(kind_of(text) == Kind::real);
    for (const char* text : {"y", "n", "1e", "4bit", "0x10", "1:30", "nan", ".inf", "-", "+", "99999999999999999999"})
        CHECK(kind_of(text) == Kind::text);
    CHECK(plain_scalar("500_000", {}).integer == 500000);
    CHECK(plain_scalar("-7", {}).integer == -7);
    CHECK(plain_scalar("1e-4", {}).real == 1e-4);
    CHECK(problem_of([] {
              plain_scalar("010", {"f", {3, 4}});
          }) == "f:3:4: 010 is read as octal by YAML 1.1 and as decimal by YAML 1.2");
    CHECK(plain_scalar("0", {}).integer == 0);
}

TEST_CASE("YAML: places, anchors, merges, duplicates") {
    const Document d = read_yaml(
        "# comment\na: 1\nb:\n  c: [x, 'yes']\nbase: &m {p: 1, q: 2}\nd:\n  <<: *m\n  q: 3\na: 4\n", "f.yaml");
    CHECK(d.root.place_of("b.c") == Place{4, 3});
    CHECK(d.root.at("b.c")->items[1].kind == Kind::text);
    CHECK(d.root.at("d.p")->integer == 1);
    CHECK(d.root.at("d.q")->integer == 3);
    CHECK(d.root.at("a")->integer == 4);
    CHECK(d.root.place_of("a") == Place{9, 1});
    REQUIRE(d.remarks.size() == 1);
    CHECK(d.remarks[0].key == "a");
    CHECK(read_yaml("", "f.yaml").root.keys.empty());
    CHECK(read_yaml("a:\n", "f.yaml").root.at("a")->kind == Kind::null);
}

TEST_CASE("YAML that is broken or hostile is one clear error") {
    CHECK(yaml_problem("a: [1, 2\nb: 3\n").find("f.yaml:") == 0);
    CHECK(yaml_problem("a: b: c\n").find("f.yaml:1:") == 0);
    CHECK(yaml_problem("a: &x [*x]\n") == "f.yaml:1:8: an alias stands inside of its own anchor");
    CHECK(yaml_problem("a: !!python/object:os.system x\n").find("the tag") != std::string::npos);
    CHECK(yaml_problem("a: 1\n---\nb: 2\n").find("a second document begins") != std::string::npos);
    CHECK(yaml_problem(std::string(5000, '[')).find("nested more than") != std::string::npos);
    CHECK(yaml_problem(std::string("a: \0b", 5)) == "f.yaml:1:4: the byte 0x00 is no text");
    CHECK(yaml_problem("a: \xff\n") == "f.yaml:1:4: the byte 0xff is no text");
    CHECK(yaml_problem(std::string(std::size_t{5} << 20, 'a')) == "f.yaml: more than 4 MiB");
    std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int k = 0; k < 9; ++k) laughs += (k ? ", *a" : "*a") + std::to_string(i - 1);
        laughs += "]\n";
    }
    CHECK(yaml_problem(laughs).find("once aliases are written out") != std::string::npos);
}

TEST_CASE("JSON: places and errors") {
    const Document d = read_json("{\n  \"a\": {\"b\": [1, 2.5, \"x\\n\"]},\n  \"c\": null\n}\n", "f.json");
    CHECK(d.root.place_of("a.b") == Place{2, 9});
    CHECK(d.root.at("a.b")->items[2].text == "x\n");
    CHECK(json_problem("{\"a\": 1,}") == "f.json:1:9: broken JSON: a comma stands before the end");
    CHECK(json_problem("{\n // note\n}").find("no comments") != std::string::npos);
    CHECK(json_problem("{\"a\": STAGE}").find("'STAGE' is no value") != std::string::npos);
    CHECK(json_problem("{\"a\": 1} x").find("something follows") != std::string::npos);
    CHECK(json_problem("{\"a\": \"x").find("no end") != std::string::npos);
    CHECK(json_problem(std::string(5000, '[')).find("nested more than") != std::string::npos);
}

TEST_CASE("shell lines: words, variables, launchers") {
    const auto all = read_shell(
        "#!/bin/bash\nMODEL=meta-llama/Llama-3.2-1B\nexport BS=2\n\naccelerate launch --num_processes 4 \\\n  train.py "
        "--model_name_or_path \"$MODEL\" \\\n  --per_device_train_batch_size=${BS} --bf16 # tail\n",
        "run.sh");
    REQUIRE(all.size() == 2);
    CHECK(all[0].program == "train.py");
    CHECK(all[0].root.at("model_name_or_path")->text == "meta-llama/Llama-3.2-1B");
    CHECK(all[0].root.at("per_device_train_batch_size")->integer == 2);
    CHECK(all[0].root.at("bf16")->boolean);
    CHECK(all[0].root.place_of("per_device_train_batch_size") == Place{7, 3});
    CHECK(all[1].launcher == "accelerate launch");
    CHECK(all[1].root.at("num_processes")->integer == 4);
    CHECK(problem_of([] { read_shell("python 'train.py", "r.sh"); }) == "r.sh:1:8: a quote is never closed");
    CHECK(read_shell("python train.py -- --lr 1e-4", "r.sh")[0].root.at("lr")->real == 1e-4);
    CHECK(problem_of([] { read_shell("ls -l\n", "r.sh"); }).find("no command") != std::string::npos);
    // A carriage return inside a line is an escaped character, no end of a line.
    CHECK(read_shell("python train.py --seed 4\\\r2 --lr 1", "r.sh")[0].root.at("lr")->integer == 1);
}

TEST_CASE("variables that double themselves are refused before they fill the memory", "[trainers]") {
    std::string python = "x = [1, 1]\n";
    for (int i = 0; i < 60; ++i) python += "x = [x, x]\n";
    CHECK(problem_of([&] {
              read_python(python + "Trainer(model=1, args=SFTConfig(a=x))", "t.py");
          }).find("no trainer") == std::string::npos);
    std::string shell = "A=0123456789\n";
    for (int i = 0; i < 60; ++i) shell += "A=$A$A\n";
    CHECK(problem_of([&] { read_shell(shell, "r.sh"); }).ends_with("variables grow without end"));
    std::string yaml = "a0: &a0 [1, 1]\n";
    for (int i = 0; i < 60; ++i) yaml += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i + 1, i + 1, i, i);
    CHECK(problem_of([&] { read_yaml(yaml, "c.yaml"); }).find("once aliases are written out") != std::string::npos);
}

TEST_CASE("the kind of a file is seen from its content") {
    CHECK(syntax_of("{\"a\": 1}", "-") == Syntax::json);
    CHECK(syntax_of("a: 1\n", "-") == Syntax::yaml);
    CHECK(syntax_of("#!/usr/bin/env bash\ntrl sft\n", "-") == Syntax::shell);
    CHECK(syntax_of("# run\nCUDA_VISIBLE_DEVICES=0 swift sft --model x\n", "-") == Syntax::shell);
    CHECK(syntax_of("import torch\n", "-") == Syntax::python);
    CHECK(syntax_of("x", "f.yml") == Syntax::yaml);
}
