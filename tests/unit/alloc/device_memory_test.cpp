// The simulated device: how much it gives, and where.
#include "vramfit/alloc/device_memory.hpp"

#include "support/catch.hpp"
#include "vramfit/base/bytes.hpp"

using namespace vramfit;

TEST_CASE("memory is handed out in units of 2 MiB until it is used up") {
    DeviceMemory device(10 * kMiB, AddressRule::rising);
    const auto first = device.take(3 * kMiB);
    REQUIRE(first);
    CHECK(device.used() == 4 * kMiB);
    CHECK(device.take_pieces(3, 2 * kMiB));
    CHECK_FALSE(device.take(1));
    CHECK_FALSE(device.take_pieces(1, 2 * kMiB));
    device.give(*first, 3 * kMiB);
    device.give_pieces(3, 2 * kMiB);
    CHECK(device.used() == 0);
}

TEST_CASE("first fit takes the lowest hole that is large enough") {
    DeviceMemory device(std::nullopt, AddressRule::first_fit);
    const auto a = device.take(4 * kMiB).value();
    const auto b = device.take(2 * kMiB).value();
    const auto c = device.take(8 * kMiB).value();
    const auto d = device.take(2 * kMiB).value();
    device.give(a, 4 * kMiB);
    device.give(c, 8 * kMiB);
    CHECK(device.take(6 * kMiB).value() == c);
    CHECK(device.take(2 * kMiB).value() == a);
    CHECK(device.take(4 * kMiB).value() == d + 2 * kMiB);
    CHECK(device.take(2 * kMiB).value() == b - 2 * kMiB);
}

TEST_CASE("rising addresses are not used twice; by size large ones fall") {
    DeviceMemory rising(std::nullopt, AddressRule::rising);
    const auto a = rising.take(20 * kMiB).value();
    rising.give(a, 20 * kMiB);
    CHECK(rising.take(2 * kMiB).value() == a + 20 * kMiB);

    DeviceMemory by_size(std::nullopt, AddressRule::small_up_large_down);
    const auto small = by_size.take(2 * kMiB).value();
    const auto large = by_size.take(20 * kMiB).value();
    CHECK(by_size.take(2 * kMiB).value() == small + 2 * kMiB);
    CHECK(by_size.take(4 * kMiB).value() == large - 4 * kMiB);
    CHECK(small < large);
}

TEST_CASE("reserved addresses cost no memory, lie below segments and come back") {
    DeviceMemory device(2 * kMiB, AddressRule::rising);
    const auto range = device.reserve_addresses(kGiB).value();
    CHECK(device.used() == 0);
    CHECK(range + kGiB <= device.take(kMiB).value());
    const auto other = device.reserve_addresses(kGiB).value();
    CHECK(other >= range + kGiB);
    device.return_addresses(range, kGiB);
    CHECK(device.reserve_addresses(kGiB).value() == range);
}
