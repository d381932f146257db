// Errors, element types, checked sums and notes.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/dtype.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/note.hpp"

using namespace vramfit;

TEST_CASE("an error's text holds every problem and its hint") {
    const Error error(ErrorKind::invalid, {{"a.json /x", "7 does not divide 32", "use 8"}, {"", "nothing given", ""}});
    CHECK(std::string(error.what()) == "error: a.json /x: 7 does not divide 32\nhint: use 8\nerror: nothing given");
    CHECK(error.problems().size() == 2);
    const Error single(ErrorKind::unsupported, "--method", "unknown", "use lora");
    CHECK(single.kind() == ErrorKind::unsupported);
    CHECK(std::string(single.what()) == "error: --method: unknown\nhint: use lora");
    CHECK(Error(ErrorKind::invalid, {}).problems().size() == 1);
}

TEST_CASE("element types: names, sizes, bytes") {
    constexpr std::array kAll{DType::uint8,   DType::int8,    DType::int32,   DType::int64,   DType::float16,
                              DType::float32, DType::float64, DType::boolean, DType::bfloat16};
    for (const DType dtype : kAll) {
        CHECK(dtype_from(name_of(dtype)) == dtype);
        CHECK(size_of(3, dtype).count == 3 * element_size(dtype));
    }
    CHECK(name_of(DType::boolean) == "bool");
    CHECK(dtype_from("bf16") == DType::bfloat16);
    CHECK(dtype_from("fp16") == DType::float16);
    CHECK(dtype_from("half") == DType::float16);
    CHECK(dtype_from("fp32") == DType::float32);
    CHECK(dtype_from("float") == DType::float32);
    for (const std::string_view unknown : {"", "float8", "BFLOAT16", "torch.float16", "bfloat16 "})
        CHECK_FALSE(dtype_from(unknown));
    CHECK_THROWS_AS(size_of(INT64_MAX / 2, DType::float32), Error);
}

TEST_CASE("arithmetic that would overflow is refused") {
    CHECK(checked_mul(1 << 30, 1 << 30) == std::int64_t{1} << 60);
    CHECK(checked_add(INT64_MAX - 1, 1) == INT64_MAX);
    CHECK(checked_product(std::array<std::int64_t, 3>{2, 3, 4}) == 24);
    CHECK(checked_product({}) == 1);
    CHECK_THROWS_AS(checked_mul(INT64_MAX, 2), Error);
    CHECK_THROWS_AS(checked_add(INT64_MAX, 1), Error);
    CHECK_THROWS_AS(checked_product(std::array<std::int64_t, 3>{1 << 30, 1 << 30, 1 << 30}), Error);
    CHECK(ceil_div(1, 512) == 1);
    CHECK(round_up(513, 512) == 1024);
}

TEST_CASE("bytes are signed and ordered") {
    CHECK(Bytes{5} - Bytes{7} == Bytes{-2});
    CHECK(Bytes{5} < Bytes{7});
}

TEST_CASE("notes have identifiers") {
    CHECK(std::string(name_of(NoteKind::sequence_beyond_model)) == "sequence_beyond_model");
    CHECK(std::string(name_of(NoteKind::load_order_varies)) == "load_order_varies");
    CHECK(std::string(name_of(NoteKind::workspace_not_modelled)) == "workspace_not_modelled");
    CHECK(std::string(name_of(NoteKind::without_effect)) == "without_effect");
}
