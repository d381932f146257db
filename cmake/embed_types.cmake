# Puts models/types/*.json, the recordings of types, into the library: compressed (xz) in groups, since types are much alike.
# To read one its group is unpacked up to its end, so groups are no longer than this.
set(longest_group 400000)

set(packed_dir ${CMAKE_CURRENT_BINARY_DIR}/generated/types)
file(MAKE_DIRECTORY ${packed_dir})
file(GLOB type_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/types/*.json)
list(SORT type_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${type_files})

set(groups "")
set(rows "")
set(group 0)
set(at 0)
set(text "")

# The group's text, compressed; of the file (xz-file-format.txt), the chunks of its one block without headers.
macro(close_group)
  set(plain ${packed_dir}/${group}.json)
  set(packed ${packed_dir}/${group}.xz)
  set(known "")
  if(EXISTS ${plain})
    file(READ ${plain} known)
  endif()
  if(NOT EXISTS ${packed} OR NOT known STREQUAL text)
    file(WRITE ${plain} "${text}")
    file(ARCHIVE_CREATE OUTPUT ${packed} PATHS ${plain} FORMAT raw COMPRESSION XZ COMPRESSION_LEVEL 9)
  endif()
  file(READ ${packed} hex HEX)
  string(SUBSTRING "${hex}" 0 12 magic)
  string(SUBSTRING "${hex}" 24 2 words)
  string(SUBSTRING "${hex}" 26 6 filters)  # flags: one filter, and no sizes; the filter: LZMA2, whose properties are one byte
  if(NOT magic STREQUAL "fd377a585a00" OR NOT filters STREQUAL "002101")
    message(FATAL_ERROR "${packed} begins with ${magic} and ${filters}, not as xz writes a block of LZMA2")
  endif()
  math(EXPR begin "24 + 8 * (0x${words} + 1)")
  string(SUBSTRING "${hex}" ${begin} -1 hex)
  string(REGEX REPLACE "(..)" "\\\\x\\1" hex "${hex}")
  string(APPEND groups "constexpr std::string_view kGroup${group} = \"${hex}\"sv;\n")
  math(EXPR group "${group} + 1")
  set(at 0)
  set(text "")
endmacro()

# Adds a document to the group; sets `row`, as a TypeRecording is written.
macro(add_document file)
  file(SIZE ${file} size)
  math(EXPR end "${at} + ${size}")
  if(at GREATER 0 AND end GREATER longest_group)
    close_group()
  endif()
  file(READ ${file} document)
  set(facts "")
  foreach(pattern IN ITEMS "\"transformers\": ?(\"[^\"]+\")" "\"torch\": ?(\"[^\"]+\")" "\"networks\": ?([0-9]+)" "\"jobs\": ?([0-9]+)")
    if(NOT document MATCHES "${pattern}")
      message(FATAL_ERROR "${file} does not say what it was recorded with and compared with: nothing is as ${pattern}")
    endif()
    list(APPEND facts "${CMAKE_MATCH_1}")
  endforeach()
  list(JOIN facts ", " facts)
  set(row "{kGroup${group}, ${at}, ${size}, {${facts}}}")
  string(APPEND text "${document}")
  math(EXPR at "${at} + ${size}")
endmacro()

# Of a type that differs between releases of transformers, those beside the one that all types were recorded with stand in
# folders of their own, models/types/RELEASE.
set(others "")
set(other_count 0)
foreach(type_file IN LISTS type_files)
  cmake_path(GET type_file STEM name)
  add_document(${type_file})
  set(own_row "${row}")
  file(GLOB release_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/types/*/${name}.json)
  list(SORT release_files)
  list(LENGTH release_files count)
  foreach(release_file IN LISTS release_files)
    add_document(${release_file})
    string(APPEND others "    ${row},\n")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${release_files})
  string(APPEND rows "    {${own_row}, \"${name}\", {kOthers.data() + ${other_count}, ${count}}},\n")
  math(EXPR other_count "${other_count} + ${count}")
endforeach()
close_group()

set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/type_data.cpp)
file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[// The recorded types, written by cmake/embed_types.cmake.
#include "spec/network/type.hpp"

#include <array>

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Woverlength-strings"  // every compiler used here takes longer ones
#endif

namespace vramfit::network {

namespace {
// With its length each: compilers count the steps in which they find the end of a text.
using namespace std::string_view_literals;
@groups@
constexpr std::array<TypeRecording, @other_count@> kOthers = {{
@others@}};
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
