# Tables of plug-ins: a folder whose every file defines one constant, and a generated source that lists them.
#
#   vramfit_plugin_table(TARGET vramfit FOLDER src/spec/families TYPE ModelFamily
#                        HEADER spec/families.hpp OUT families_table.cpp [EXCEPT helper.cpp ...])
#
# Each FOLDER/foo.cpp (not its subfolders) defines, and OUT lists in order of file names:
#
#   namespace vramfit::families {             // the folder's name
#   extern const ModelFamily foo_entry;       // the file's name; write `extern const` or include a declaration
#   const ModelFamily foo_entry = { ... };
#   }
#
# HEADER (a public or private one) declares TYPE in namespace vramfit, and the function that OUT defines:
#
#   namespace vramfit { std::span<const ModelFamily* const> all_families(); }
#
# A new file needs no other edit: the folder is read again at each build. Nothing is registered while the program
# starts, so the linker of a static library cannot lose an entry. Helpers live in a subfolder or are named in EXCEPT.
function(vramfit_plugin_table)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;FOLDER;TYPE;HEADER;OUT" "EXCEPT")
  if(NOT arg_TARGET)
    set(arg_TARGET vramfit)
  endif()
  foreach(name IN ITEMS FOLDER TYPE HEADER OUT)
    if(NOT arg_${name})
      message(FATAL_ERROR "vramfit_plugin_table: ${name} is missing")
    endif()
  endforeach()

  cmake_path(GET arg_FOLDER FILENAME group)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${arg_FOLDER}/*.cpp)
  list(SORT files)
  set(declarations "")
  set(pointers "")
  foreach(file IN LISTS files)
    cmake_path(GET file FILENAME filename)
    cmake_path(GET file STEM name)
    if(filename IN_LIST arg_EXCEPT)
      continue()
    endif()
    string(APPEND declarations "extern const ${arg_TYPE} ${name}_entry;\n")
    string(APPEND pointers "    &${group}::${name}_entry,\n")
  endforeach()
  if(NOT pointers)
    return()
  endif()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/${arg_OUT})
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[// The table of @arg_FOLDER@, written by cmake/plugins.cmake.
#include <span>

#include "@arg_HEADER@"

namespace vramfit {
namespace @group@ {
@declarations@}  // namespace @group@

namespace {
const @arg_TYPE@* const @group@_entries[] = {
@pointers@};
}  // namespace

std::span<const @arg_TYPE@* const> all_@group@() { return @group@_entries; }

}  // namespace vramfit
]])
  target_sources(${arg_TARGET} PRIVATE ${out})
  # A table names every plug-in: where only some layers are built, nothing else may draw it in.
  set_source_files_properties(${out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
