// Reads the card from the environment.
#include "card.hpp"

#include <cstdio>
#include <cstdlib>

namespace nodevice {

namespace {

Card read_card() {
    const char* const text = std::getenv("VRAMFIT_TRACE_CARD");
    char name[128];
    Card card;
    const int fields = text ? std::sscanf(text, "%127[^,],%d,%d,%d,%zu,%zu,%zu", name, &card.major, &card.minor,
                                          &card.multiprocessors, &card.total, &card.free,
                                          &card.l2)
                            : 0;
    if (fields != 7) {
        std::fprintf(stderr, "VRAMFIT_TRACE_CARD is not NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE,L2\n");
        std::abort();
    }
    card.name = name;
    return card;
}

}  // namespace

std::size_t Card::shared_memory() const {
    if (major == 9 || major == 10) return 228 << 10;
    if (is(8, 0)) return 164 << 10;
    if (is(7, 5)) return 64 << 10;
    return 100 << 10;
}

// From capability 8.0 on, the system keeps 1 KiB of each block's share.
std::size_t Card::shared_memory_of_block() const { return is(7, 5) ? shared_memory() : shared_memory() - 1024; }

int Card::threads_of_multiprocessor() const {
    if (is(7, 5)) return 1024;
    return major == 8 && minor != 0 ? 1536 : 2048;
}

int Card::blocks_of_multiprocessor() const { return major == 8 && minor != 0 ? 16 : 32; }

// CUB compares it with the versions it was compiled for; 8.7 and 8.9 run the code of 8.6.
int Card::code_version() const {
    if (major == 7) return 75;
    if (major == 8) return minor >= 6 ? 86 : 80;
    return 10 * major;
}

const Card& card() {
    static const Card it = read_card();
    return it;
}

}  // namespace nodevice
