// Pickles: what the writer writes, the reader reads; what is no plain data is refused.
#include "snapshot/pickle_reader.hpp"
#include "snapshot/pickle_writer.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::snapshot;

namespace {

std::string problem_of(std::string_view bytes, const PickleLimits& limits = {}) {
    try {
        (void)read_pickle(bytes, "file", limits);
    } catch (const Error& error) {
        return error.problems().front().what;
    }
    return "";
}

constexpr std::string_view operator""_bytes(const char* text, std::size_t size) { return {text, size}; }

}  // namespace

TEST_CASE("integers of every width come back") {
    const std::int64_t value = GENERATE(0, 1, 255, 256, 65535, 65536, -1, -129, 2147483647, 2147483648, -2147483648,
                                        std::int64_t{1} << 52, std::int64_t{7} << 50, -(std::int64_t{1} << 60));
    PickleWriter writer;
    writer.integer(value);
    const std::string bytes = std::move(writer).finish();
    CHECK(read_pickle(bytes, "file").integer(read_pickle(bytes, "file").root) == value);
}

TEST_CASE("lists, dictionaries and texts come back, and texts are written once") {
    PickleWriter writer;
    writer.begin_dict();
    writer.string("names");
    writer.begin_list();
    writer.string("a name");
    const std::string longer(300, 'x');
    writer.string(longer);
    writer.next_batch();
    writer.string("a name");
    writer.end_list();
    writer.string("pair");
    writer.pair(3, -4);
    writer.string("yes");
    writer.boolean(true);
    writer.string("none");
    writer.none();
    writer.end_dict();
    const std::string bytes = std::move(writer).finish();
    const Pickle pickle = read_pickle(bytes, "file");
    const std::vector<PickleValue>& names = pickle.items(pickle.at(pickle.root, "names"));
    REQUIRE(names.size() == 3);
    CHECK(pickle.text(names[0]) == "a name");
    CHECK(pickle.text(names[1]) == longer);
    CHECK(pickle.text(names[2]) == "a name");
    CHECK(bytes.find("a name") == bytes.rfind("a name"));
    const std::vector<PickleValue>& pair = pickle.items(pickle.at(pickle.root, "pair"));
    REQUIRE(pair.size() == 2);
    CHECK(pickle.integer(pair[1]) == -4);
    CHECK(pickle.at(pickle.root, "yes").number == 1);
    CHECK(pickle.at(pickle.root, "none").kind == PickleKind::none);
    CHECK(pickle.at(pickle.root, "other").kind == PickleKind::none);
}

TEST_CASE("protocol 2, as CPython writes it") {
    // pickle.dumps({"a": [1, 70000, -5], "b": ("x", 1.5, None)}, protocol=2)
    constexpr auto kBytes =
        "\x80\x02}q\x00(X\x01\x00\x00\x00"
        "aq\x01]q\x02(K\x01Jp\x11\x01\x00J\xfb\xff\xff\xff"
        "eX\x01\x00\x00\x00"
        "bq\x03X\x01\x00\x00\x00xq\x04G?\xf8\x00\x00\x00\x00\x00\x00N\x87q\x05u."_bytes;
    const Pickle pickle = read_pickle(kBytes, "file");
    const std::vector<PickleValue>& a = pickle.items(pickle.at(pickle.root, "a"));
    REQUIRE(a.size() == 3);
    CHECK(pickle.integer(a[1]) == 70000);
    CHECK(pickle.integer(a[2]) == -5);
    CHECK(pickle.items(pickle.at(pickle.root, "b")).size() == 3);
}

TEST_CASE("objects are never made") {
    CHECK(problem_of("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."_bytes).find("objects") !=
          std::string::npos);
    CHECK(problem_of("\x80\x02"
                     "cos\nsystem\n(X\x02\x00\x00\x00ls\x85R."_bytes)
              .find("objects") != std::string::npos);
}

TEST_CASE("what is damaged, cut off or too large is refused") {
    CHECK(problem_of("") == "the pickle is cut off");
    CHECK(problem_of("hello") != "");
    CHECK(problem_of("PK\x03\x04"_bytes) == "this is no pickle");
    CHECK(problem_of("\x80\x04]"_bytes) == "the pickle is cut off");
    CHECK(problem_of("\x80\x04."_bytes) == "the pickle is damaged");
    CHECK(problem_of("\x80\x04K\x01K\x02."_bytes) == "the pickle is damaged");
    CHECK(problem_of("\x80\x04}(K\x01u."_bytes) == "the pickle is damaged");
    CHECK(problem_of("\x80\x04K\x01K\x02"
                     "a."_bytes) == "the pickle is damaged");
    CHECK(problem_of("\x80\x04h\x05."_bytes) == "the pickle is damaged");
    CHECK(problem_of("\x80\x04K\x01r\xff\xff\xff\x7f."_bytes) == "the pickle is damaged");
    CHECK(problem_of("\x80\x04X\xff\xff\xff\x7f."_bytes) == "the pickle is cut off");
    CHECK(problem_of("\x80\x09N."_bytes).find("protocol 9") != std::string::npos);
    CHECK(problem_of("\x80\x04](NNNe."_bytes, {3, 10}) == "more than 3 values");
    CHECK(problem_of("\x80\x04](]]]e."_bytes, {100, 3}) == "more than 3 lists");
}

TEST_CASE("a list that holds itself is read") {
    const Pickle pickle = read_pickle(
        "\x80\x04]\x94h\x00"
        "a."_bytes,
        "file");
    CHECK(pickle.items(pickle.root).size() == 1);
}
