# Puts models/types/*.json, the recordings of types, into the library as they are.
set(rows "")
set(texts "")
file(GLOB type_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/types/*.json)
list(SORT type_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${type_files})
foreach(type_file IN LISTS type_files)
  file(READ "${type_file}" text)
  string(STRIP "${text}" text)
  cmake_path(GET type_file STEM name)
  string(APPEND rows "    {\"${name}\", R\"json(${text})json\"sv},\n")
endforeach()

set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/type_data.cpp)
file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[// The recorded types, written by cmake/embed_types.cmake.
#include "spec/network/type.hpp"

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Woverlength-strings"  // every compiler used here takes longer ones
#endif

namespace vramfit::network {

namespace {
// With its length each: compilers count the steps in which they find the end of a text.
using namespace std::string_view_literals;
constexpr BuiltInType kTypes[] = {
@rows@};
}  // namespace

std::span<const BuiltInType> built_in_types() { return kTypes; }

}  // namespace vramfit::network

#ifdef __clang__
#pragma clang diagnostic pop
#endif
]])
target_sources(vramfit PRIVATE ${out})
