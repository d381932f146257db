// NVRTC, which torch compiles a few operators with while it runs (aten/src/ATen/native/cuda/jit_utils.cpp): nothing is
// compiled, as nothing is launched. Its own library ends with a segmentation fault once this runtime stands before it.
#include <cstddef>
#include <cstring>

#include "export.hpp"

namespace {

constexpr int kSuccess = 0;
constexpr std::size_t kSize = 1;  // of an empty text, and of an image that nobody loads
char program[1];

int copy_nothing(char* out) {
    std::memset(out, 0, kSize);
    return kSuccess;
}

int size_of_nothing(std::size_t* out) {
    *out = kSize;
    return kSuccess;
}

}  // namespace

ENTRY int nvrtcVersion(int* major, int* minor) {
    *major = 13;
    *minor = 0;
    return kSuccess;
}

ENTRY int nvrtcCreateProgram(void** out, const char*, const char*, int, const char* const*, const char* const*) {
    *out = program;
    return kSuccess;
}

ENTRY int nvrtcDestroyProgram(void** out) {
    *out = nullptr;
    return kSuccess;
}

ENTRY int nvrtcAddNameExpression(void*, const char*) { return kSuccess; }

ENTRY int nvrtcCompileProgram(void*, int, const char* const*) { return kSuccess; }

ENTRY int nvrtcGetLoweredName(void*, const char* expression, const char** out) {
    *out = expression;
    return kSuccess;
}

ENTRY int nvrtcGetPTXSize(void*, std::size_t* out) { return size_of_nothing(out); }
ENTRY int nvrtcGetCUBINSize(void*, std::size_t* out) { return size_of_nothing(out); }
ENTRY int nvrtcGetProgramLogSize(void*, std::size_t* out) { return size_of_nothing(out); }
ENTRY int nvrtcGetPTX(void*, char* out) { return copy_nothing(out); }
ENTRY int nvrtcGetCUBIN(void*, char* out) { return copy_nothing(out); }
ENTRY int nvrtcGetProgramLog(void*, char* out) { return copy_nothing(out); }
ENTRY const char* nvrtcGetErrorString(int) { return "nothing is compiled here"; }
