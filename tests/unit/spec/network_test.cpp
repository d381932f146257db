// The strict reader of recorded networks: what it reads, and what it refuses.
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "spec/network/document.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;

namespace {

std::string file_text(std::string_view name) {
    std::ifstream file(fmt::format("{}/networks/{}", VRAMFIT_TEST_DATA_DIR, name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

constexpr std::string_view kKinds = R"([{"class":"Linear","leaf":"linear","parameters":[["weight","weights",[5,7]]]},
    {"class":"Tiny","children":[["proj",0]]}])";
constexpr std::string_view kLinear =
    R"(["call","torch.nn.functional.linear",["%0","@weight",null],{},[[1,"weights",["=B","=S",5]]]])";
constexpr std::string_view kTiny = R"(["module","proj",0,[0],[1]],
    ["call","torch.Tensor.add",["%1","%1"],{},[[2,"weights",["=B","=S",5]]]],["end",[1]],
    ["call","torch.Tensor.sum",["%2"],{},[[3,"weights",[]]]],["end",[2]])";

std::string document_of(std::string_view kinds, std::string_view linear, std::string_view tiny,
                        std::string_view schema = "vramfit.network/1") {
    return fmt::format(
        R"({{"schema":"{}","recorded_with":{{"torch":"2.11.0","transformers":"5.17.0"}},
        "network":{{"class":"Tiny","head":"causal_lm","model_type":"tiny","no_split_modules":[],"tp_plan":{{}},"pp_plan":{{}},
        "supports_gradient_checkpointing":false,"config":{{}}}},"modules":{},"root":1,"ties":[],"programs":[
        {{"class":"Linear","inputs":[["0",0,"weights",["=B","=S",7]]],"code":[{}],"outputs":[["","%1"]]}},
        {{"class":"Tiny","inputs":[["x",0,"weights",["=B","=S",7]]],"code":[{}],"outputs":[["loss","%3"]]}}],
        "variants":[{{"attention":"sdpa","mask":"absent","use_cache":false,"labels":true,"checkpointing":false,"program":1}}],
        "refused":[]}})",
        schema, kinds, linear, tiny);
}

/// The first problem, as "WHERE: WHAT".
std::string refusal_of(const std::string& text, ErrorKind kind = ErrorKind::invalid) {
    try {
        network::read_network(text, "n.json");
    } catch (const Error& error) {
        CHECK(error.kind() == kind);
        CHECK(!error.problems().at(0).hint.empty());
        return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
    }
    return "read";
}

/// The tiny network with this for its code.
std::string with_code(std::string_view tiny) { return refusal_of(document_of(kKinds, kLinear, tiny)); }

}  // namespace

TEST_CASE("a recorded llama is read whole") {
    const network::Document document = network::read_network(file_text("llama-tiny.json"), "llama-tiny.json");
    CHECK(document.model_type == "llama");
    CHECK(document.transformers == "5.17.0");
    CHECK(document.kinds.at(document.root).class_name == "LlamaForCausalLM");
    REQUIRE(!document.variants.empty());
    const network::Program& program = document.programs.at(document.variants[0].program);
    CHECK(program.class_name == "LlamaForCausalLM");
    CHECK(program.inputs.at(0).name == "input_ids");
    CHECK(program.outputs.at(0).name == "loss");
}

TEST_CASE("a network of one layer is read with its parts") {
    const network::Document document = network::read_network(document_of(kKinds, kLinear, kTiny), "n.json");
    const network::Program& tiny = document.programs.at(1);
    CHECK(tiny.values == 4);
    CHECK(tiny.given() == std::vector<network::Number>{0});
    CHECK(tiny.left() == std::vector<network::Number>{3});
    const auto& run = std::get<network::Run>(tiny.code.at(0));
    CHECK(run.path == "proj");
    CHECK(run.program == 0);
    const auto& add = std::get<network::Call>(tiny.code.at(1));
    CHECK(add.function == "torch.Tensor.add");
    CHECK(add.arguments.at(1).value == 1);
    CHECK(add.results.at(0).sizes.at(2).integer == 5);
    CHECK(document.kinds.at(0).parameters.at(0).sizes.at(1).integer == 7);
}

namespace {

/// The tiny network whose class has these rows of a checkpoint.
std::string with_checkpoint(std::string_view rows) {
    std::string text = document_of(kKinds, kLinear, kTiny);
    text.insert(text.find(R"("config")"), fmt::format(R"("checkpoint":{},)", rows));
    return text;
}

}  // namespace

TEST_CASE("what a checkpoint has in place of a parameter is read, or refused where it cannot be") {
    const auto rows = network::read_network(with_checkpoint(R"([["proj.weight","old.weight"],["layers.*.experts.up",
                                              "layers.*.experts.*.w1.weight","layers.*.experts.*.w3.weight"]])"),
                                            "n.json")
                          .checkpoint;
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].parameter == "proj.weight");
    CHECK(!rows[0].by_expert());
    CHECK(rows[1].by_expert());
    CHECK(rows[1].files.at(1) == "layers.*.experts.*.w3.weight");
    const auto parts = network::read_network(with_checkpoint(R"([["a.b","c.b","d.b","e.b"]])"), "n.json").checkpoint;
    CHECK(!parts.at(0).by_expert());
    CHECK(parts.at(0).files == std::vector<std::string>{"c.b", "d.b", "e.b"});
    const auto refused = [](std::string_view row) { return refusal_of(with_checkpoint(fmt::format("[{}]", row))); };
    CHECK(refused(R"(["a.*.b","c.b"])") ==
          "n.json /network/checkpoint/0: a checkpoint's name has other numbers (*) than the parameter's");
    CHECK(refused(R"(["a.b","c.*.b","c.*.d","c.*.e"])") ==
          "n.json /network/checkpoint/0: more than two matrices of each expert");
    CHECK(refused(R"(["a.b","c*.b"])") == "n.json /network/checkpoint/0: an expert's matrix is called NAME.*.FILE");
    CHECK(refused(R"(["a.b","c.*.b","d.*.b"])") == "n.json /network/checkpoint/0: matrices of different experts");
    CHECK(refused(R"(["a.b"])") != "read");
}

TEST_CASE("a recording is refused at the place that is wrong") {
    CHECK(refusal_of("{}") == "n.json: no recorded network: there is no \"schema\"");
    CHECK(refusal_of("[") != "read");
    CHECK(refusal_of(document_of(kKinds, kLinear, kTiny, "vramfit.network/2"), ErrorKind::unsupported) ==
          "n.json /schema: \"vramfit.network/2\" is not known to this version");
    CHECK(with_code(R"(["call","f",["%9"],{},[]])") == "n.json /programs/1/code/0: value 9 is not there");
    CHECK(with_code(R"(["end",[0]],["end",[0]])") == "n.json /programs/1/code/1: value 0 has ended");
    CHECK(with_code(R"(["module","proj",0,[0],[1]])") == "n.json /programs/1: value 3 is not there");
    CHECK(with_code(R"(["module","proj",0,[0],[1]],["module","proj",0,[0],[3]])") ==
          "n.json /programs/1: value 1 never ends");
    CHECK(with_code(R"(["module","other",0,[0],[3]])") == "n.json /programs/1/code/0: there is no module 'other'");
    CHECK(with_code(R"(["module","proj",1,[0],[3]])") == "n.json /programs/1/code/0/2: 1 is not between 0 and 0");
    CHECK(with_code(R"(["module","proj",0,[0,0],[3]])") ==
          "n.json /programs/1/code/0: program 0 is given 2 values in place of 1");
    CHECK(with_code(R"(["call","f",["@weight"],{},[[3,"weights",[]]]])") ==
          "n.json /programs/1/code/0: there is no parameter 'weight'");
    CHECK(with_code(R"(["call","f",["=B+hidden"],{},[[3,"weights",[]]]])") ==
          "n.json /programs/1/code/0: 'hidden' is none of the keys that were varied");
    CHECK(with_code(R"(["call","f",["=B+"],{},[]])") == "n.json /programs/1/code/0/2/0: \"=B+\" is no sum of sizes");
    CHECK(with_code(R"(["loop",3])") == "n.json /programs/1/code/0/0: unknown instruction 'loop'");
    CHECK(with_code(R"(["if","B",true])") == "n.json /programs/1/code/0/1: \"B\" compares no sizes");
    CHECK(with_code(R"(["call","f",["%100000"],{},[]])") != "read");
    CHECK(with_code(R"(["call","f",["$3"],{},[]])") == "n.json /programs/1/code/0/2/0: unknown argument \"$3\"");
    std::string sized = document_of(kKinds, kLinear, kTiny);
    sized.replace(sized.find("\"checkpointing\":"), 0, "\"when\":{\"sizes\":\"S\"},");
    CHECK(refusal_of(sized) == "n.json /variants/0/when/sizes: \"S\" compares no sizes");
    std::string untied = document_of(kKinds, kLinear, kTiny);
    untied.replace(untied.find("\"ties\":[]"), 9, "\"ties\":[[]]");
    CHECK(refusal_of(untied) == "n.json /ties/0: 0 elements, fewer than 2");
}

TEST_CASE("a loop is read with its rounds, all of which leave the same values") {
    // x; then each round doubles what the round before has made.
    const auto loop = [](std::string_view begin, std::string_view next, std::string_view count = "\"=S//64\"") {
        return with_code(
            fmt::format(R"(["repeat",{},1,1,[{}],[{}]],["call","f",["%1"],{{}},[[3,"weights",[]]]],["end",[1]])", count,
                        begin, next));
    };
    constexpr std::string_view kBegin = R"(["call","f",["%0"],{},[[1,"weights",[]]]])";
    constexpr std::string_view kNext = R"(["call","f",["%1","#varies"],{},[[2,"weights",[]]]],["end",[1]])";
    CHECK(loop(kBegin, kNext) == "read");
    CHECK(loop(kBegin, kNext, "3") == "read");
    CHECK(loop(kBegin, kNext, "\"=hidden\"") ==
          "n.json /programs/1/code/0: 'hidden' is none of the keys that were varied");
    CHECK(loop(kBegin, kNext, "true") == "n.json /programs/1/code/0/1: a number of rounds is wanted, not true");
    CHECK(loop(kBegin, R"(["call","f",["%1"],{},[[2,"weights",[]]]])") ==
          "n.json /programs/1/code/0: value 1 does not end in the next round");
    CHECK(loop(kBegin, R"(["end",[1]])") == "n.json /programs/1/code/0: the rounds of a loop leave different values");
    CHECK(loop(kBegin, R"(["call","f",["%0"],{},[[2,"weights",[]]]],["end",[0,1]])") !=
          "read");  // what ends in the second round cannot end in the third
    CHECK(loop(R"(["module","proj",0,[0],[1]])", kNext) ==
          "n.json /programs/1/code/0/4/0/0: unknown instruction 'module' in a loop");
}

TEST_CASE("values of all rounds of a loop are kept, and used as a list") {
    const auto loop = [](std::string_view used, std::string_view kept) {
        return with_code(fmt::format(
            R"(["repeat","=S",1,1,[["call","f",["%0"],{{}},[[1,"weights",[]]]]],[["call","f",["%0"],{{}},[[2,"weights",[]]]]]{}],)"
            R"(["call","torch.stack",[{}],{{}},[[3,"weights",[]]]],["end",[1]])",
            kept, used));
    };
    CHECK(loop(R"({"rounds":"%1"})", ",[1]") == "read");
    CHECK(loop(R"({"rounds":"%1"})", "") == "n.json /programs/1/code/0: value 1 does not end in the next round");
    CHECK(loop(R"({"rounds":"%0"})", ",[1]") == "n.json /programs/1/code/1: value 0 is not kept by a loop");
    CHECK(loop(R"({"rounds":"%1"})", ",[3]") == "n.json /programs/1/code/0/6: values of the loop are wanted");
}

TEST_CASE("what grows without bounds is refused before it does") {
    std::string kinds = R"({"class":"A"})";
    for (int i = 0; i < 30; ++i) kinds += fmt::format(R"(,{{"class":"A","children":[["a",{}],["b",{}]]}})", i, i);
    std::string many = document_of(fmt::format("[{}]", kinds), kLinear, kTiny);
    many.replace(many.find("\"root\":1"), 8, "\"root\":30");
    CHECK(refusal_of(many) == "n.json /root: the network has more than 100000 modules, or more than 32 in one another");

    const std::string twice =
        R"({"class":"A","inputs":[],"code":[["module","",N,[],[]],["module","",N,[],[]]],"outputs":[]})";
    std::string programs = R"({"class":"A","inputs":[],"code":[],"outputs":[]})";
    for (int i = 0; i < 25; ++i) {
        std::string next = twice;
        for (std::size_t at; (at = next.find('N')) != std::string::npos;) next.replace(at, 1, fmt::format("{}", i));
        programs += fmt::format(",{}", next);
    }
    std::string steps = document_of(kKinds, kLinear, kTiny);
    const std::size_t from = steps.find("\"programs\":[") + 12, to = steps.find("],\n        \"variants\"");
    steps.replace(from, to - from, programs);
    CHECK(refusal_of(steps).ends_with("more than 1000000 instructions in one pass"));
    CHECK(refusal_of(std::string(network::kMostBytes + 1, ' '))
              .ends_with("more than the 8388608 that a recording may have"));
}

TEST_CASE("sums of sizes are read to postfix order") {
    const auto sum = network::parse_formula("2*B*S+1");
    REQUIRE(sum);
    CHECK(sum->steps.size() == 7);
    CHECK(sum->steps.back().kind == network::FormulaStep::Kind::add);
    CHECK(network::parse_formula("(S+7)//8*heads")->keys == std::vector<std::string>{"heads"});
    CHECK(!network::parse_formula(""));
    CHECK(!network::parse_formula("(B"));
    CHECK(!network::parse_formula("B S"));
    CHECK(!network::parse_formula("99999999999999999999"));
    CHECK(!network::parse_formula(std::string(100, '(') + "B" + std::string(100, ')')));
    CHECK(network::parse_comparison("S >= 2*B")->relation == network::Relation::at_least);
    CHECK(!network::parse_comparison("S > "));
}
