# Puts models/*.json and src/spec/gpus.json into the library: a generated source with their texts and names.
# Names, ids and aliases are read here so that finding a model parses no JSON.
set(embedded "")
file(GLOB model_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*.json)
list(SORT model_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${model_files} ${PROJECT_SOURCE_DIR}/src/spec/gpus.json
             ${PROJECT_SOURCE_DIR}/models/not_supported.txt)

set(rows "")
foreach(model_file IN LISTS model_files)
  file(READ "${model_file}" text)
  string(JSON model_name GET "${text}" name)
  string(JSON model_id GET "${text}" id)
  string(JSON alias_count LENGTH "${text}" aliases)
  cmake_path(GET model_file STEM LAST_ONLY stem)
  if(NOT stem STREQUAL model_name)
    message(FATAL_ERROR "${model_file}: its name is ${model_name}")
  endif()
  set(aliases "")
  if(alias_count GREATER 0)
    math(EXPR last "${alias_count} - 1")
    foreach(i RANGE ${last})
      string(JSON alias GET "${text}" aliases ${i})
      if(i GREATER 0)
        string(APPEND aliases "\\n")
      endif()
      string(APPEND aliases "${alias}")
    endforeach()
  endif()
  string(APPEND rows "    {\"${model_name}\", \"${model_id}\", \"${aliases}\", R\"json(${text})json\"},\n")
endforeach()
file(READ "${PROJECT_SOURCE_DIR}/src/spec/gpus.json" gpus)
file(READ "${PROJECT_SOURCE_DIR}/models/not_supported.txt" others)

set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/spec_data.cpp)
file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[// The built-in models and cards, written by cmake/embed_spec_data.cmake.
#include "spec/embedded.hpp"
#include "vramfit/spec/models.hpp"

namespace vramfit {

namespace {
constexpr BuiltInModel kModels[] = {
@rows@};
}  // namespace

std::span<const BuiltInModel> built_in_models() { return kModels; }

std::string_view embedded_gpus() {
    return R"json(@gpus@)json";
}

std::string_view embedded_other_models() {
    return R"text(@others@)text";
}

}  // namespace vramfit
]])
target_sources(vramfit PRIVATE ${out})
