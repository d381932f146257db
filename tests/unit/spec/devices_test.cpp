// Cards: the table, sizes instead of cards, cards written out, reserves.
#include "vramfit/spec/devices.hpp"

#include <algorithm>
#include <set>

#include "expect.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/suggest.hpp"

using namespace vramfit;

namespace {

bool has_note(const Device& device, NoteKind kind) {
    return std::any_of(device.notes.begin(), device.notes.end(),
                       [&](const Note& note) { return note.kind == kind && !note.hint.empty(); });
}

}  // namespace

TEST_CASE("every known card is found by its name and aliases, and has sources") {
    CHECK(known_devices().size() >= 70);
    std::set<std::string> names;
    for (const KnownDevice& known : known_devices()) {
        INFO(known.name);
        CHECK(names.insert(lower_case(known.name)).second);
        CHECK(device_from(known.name).name == known.name);
        for (const std::string& alias : known.aliases) {
            CHECK(device_from(alias).name == known.name);
            CHECK((names.insert(lower_case(alias)).second || lower_case(alias) == lower_case(known.name)));
        }
        CHECK(known.multiprocessors > 0);
        CHECK(known.capability >= Capability{6, 0});
        CHECK(known.total.count > 4 * kGiB);
        CHECK_FALSE(known.total_source.empty());
        CHECK_FALSE(known.multiprocessors_source.empty());
        const Device device = device_from(known.name);
        CHECK(device.usable == device.total - device.context);
        CHECK(has_note(device, NoteKind::assumed_context) == known.context_source.empty());
        CHECK(has_note(device, NoteKind::marketed_size) != known.total_is_cuda);
    }
}

TEST_CASE("well-known cards") {
    CHECK(device_from("rtx4090").capability == Capability{8, 9});
    CHECK(device_from("RTX-4090").multiprocessors == 128);
    CHECK(device_from("a100").total.count == 85094825984);
    CHECK(device_from("RTX 2070").multiprocessors == 36);
    CHECK(device_from("t4").capability == Capability{7, 5});
    CHECK(device_from("3090").context.count == 256 * kMiB);
    CHECK(says(error_of([] { device_from("rtxx 4090"); }), "--gpu", "did you mean"));
    CHECK(error_of([] { device_from("MI300X"); })->kind() == ErrorKind::unsupported);
    for (const char* text : {"", "24", "8", "gpu", "8G", "0GiB", "100MiB", "A100,8,0,108", "A,8,0,108,10,11",
                             "A,8,0,0,10,9", "A,0,0,1,10,9", "A,8,0,108,10,0", ",8,0,108,10,9", "A,8,0,108,1e9,9"}) {
        INFO(text);
        const auto error = error_of([&] { device_from(text); });
        REQUIRE(error);
        CHECK(error->kind() == ErrorKind::invalid);
    }
}

TEST_CASE("a size is a card of unknown kind") {
    const Device device = device_from("8GiB");
    CHECK(device.total.count == 8 * kGiB);
    CHECK(device.capability == Capability{8, 6});
    CHECK(device.capacity_known);
    CHECK(device.usable.count == 8 * kGiB - 300 * kMiB);
    CHECK(has_note(device, NoteKind::assumed_card));
    CHECK(has_note(device, NoteKind::marketed_size));
    CHECK(has_note(device, NoteKind::assumed_context));
    CHECK(device_from("24GB").total.count == 24'000'000'000);
}

TEST_CASE("cards as the tracer names them") {
    CHECK(card_from("a100", "card").usable.count == 84546945024);
    CHECK(card_from("rtx2070", "card").multiprocessors == 36);
    const Device device = card_from("NVIDIA GeForce RTX 4090,8,9,128,7000293376,6463422464", "card");
    CHECK(device.name == "NVIDIA GeForce RTX 4090");
    CHECK(device.usable.count == 6463422464);
    CHECK(device.context.count == 7000293376 - 6463422464);
    CHECK(device.notes.empty());
    CHECK(card_text(device) == "NVIDIA GeForce RTX 4090,8,9,128,7000293376,6463422464");
    CHECK(card_text(unlimited_device()).empty());
    CHECK(says(error_of([] { card_from("aa100", "card"); }), "card", "did you mean 'a100'?"));
}

TEST_CASE("a reserve is kept free") {
    const Device device = with_reserve(device_from("8GiB"), Bytes{kGiB});
    CHECK(device.usable.count == 7 * kGiB - 300 * kMiB);
    CHECK(device.reserve.count == kGiB);
    CHECK(says(error_of([] { with_reserve(device_from("8GiB"), Bytes{8 * kGiB}); }), "--reserve", "nothing is left"));
    CHECK_FALSE(with_reserve(unlimited_device(), Bytes{kGiB}).capacity_known);
}
