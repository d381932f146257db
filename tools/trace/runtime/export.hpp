// How an entry point of a CUDA library is declared here: visible, with C linkage, under its own or a given name.
#pragma once

#define ENTRY extern "C" __attribute__((visibility("default")))

/// A function that answers to `symbol`: for entry points whose name or signature differs between CUDA versions.
#define ENTRY_NAMED(symbol, type, function, parameters) \
    ENTRY type function parameters __asm__(symbol);     \
    type function parameters
