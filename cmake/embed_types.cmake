# Puts models/types/*.json, the recordings of types, into the library: each compressed (deflate), a tenth of its size.
set(rows "")
set(packed_dir ${CMAKE_CURRENT_BINARY_DIR}/generated/types)
file(MAKE_DIRECTORY ${packed_dir})
file(GLOB type_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/types/*.json)
list(SORT type_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${type_files})
foreach(type_file IN LISTS type_files)
  cmake_path(GET type_file STEM name)
  set(packed ${packed_dir}/${name}.gz)
  if(${type_file} IS_NEWER_THAN ${packed})
    file(ARCHIVE_CREATE OUTPUT ${packed} PATHS ${type_file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  endif()
  file(SIZE ${type_file} size)
  # RFC 1952: a header of ten bytes, the fourth of which says that nothing stands between it and the data.
  file(READ ${packed} hex HEX)
  string(SUBSTRING "${hex}" 0 8 magic)
  if(NOT magic STREQUAL "1f8b0800")
    message(FATAL_ERROR "${packed} begins with ${magic}, not as gzip writes a file without a name")
  endif()
  string(SUBSTRING "${hex}" 20 -1 hex)
  string(REGEX REPLACE "(..)" "\\\\x\\1" text "${hex}")
  string(APPEND rows "    {\"${name}\", \"${text}\"sv, ${size}},\n")
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
