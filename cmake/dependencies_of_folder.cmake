# The same libraries for another platform, whose headers and sources lie in a folder: tools/package/dependencies.
set(VRAMFIT_FMT vramfit_headers)
set(VRAMFIT_SPDLOG vramfit_headers)
set(VRAMFIT_YAML vramfit_yaml)

if(EMSCRIPTEN)  # a page has one thread
  add_library(Threads::Threads INTERFACE IMPORTED)
else()
  find_package(Threads REQUIRED)
endif()

add_library(vramfit_headers INTERFACE)
target_include_directories(vramfit_headers SYSTEM INTERFACE ${VRAMFIT_DEPENDENCIES_FOLDER}/include)
target_compile_definitions(vramfit_headers INTERFACE FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL)
add_library(nlohmann_json::nlohmann_json ALIAS vramfit_headers)
add_library(CLI11::CLI11 ALIAS vramfit_headers)

file(GLOB yaml_sources ${VRAMFIT_DEPENDENCIES_FOLDER}/yaml-cpp/src/*.cpp)
if(NOT yaml_sources)
  message(FATAL_ERROR "${VRAMFIT_DEPENDENCIES_FOLDER}/yaml-cpp is not there; tools/package/dependencies makes the folder")
endif()
add_library(vramfit_yaml STATIC EXCLUDE_FROM_ALL ${yaml_sources})
target_include_directories(vramfit_yaml SYSTEM PUBLIC ${VRAMFIT_DEPENDENCIES_FOLDER}/yaml-cpp/include)
target_compile_definitions(vramfit_yaml PUBLIC YAML_CPP_STATIC_DEFINE)
target_compile_options(vramfit_yaml PRIVATE -w)
