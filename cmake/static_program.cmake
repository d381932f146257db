# The program without shared libraries, from the objects of the ordinary one. Debian ships fmt and spdlog as shared
# libraries only: their own code is compiled from their headers, so nothing else has to be compiled a second time.
find_library(VRAMFIT_YAML_STATIC libyaml-cpp.a)
if(VRAMFIT_STATIC OR VRAMFIT_SANITIZE OR NOT VRAMFIT_YAML_STATIC OR NOT fmt_VERSION MATCHES "^9\\.")
  return()
endif()
add_executable(vramfit-static EXCLUDE_FROM_ALL src/cli/main.cpp cmake/static/fmt.cpp cmake/static/spdlog.cpp)
set_target_properties(vramfit-static PROPERTIES UNITY_BUILD OFF)
target_include_directories(vramfit-static PRIVATE src)
get_target_property(spdlog_definitions spdlog::spdlog INTERFACE_COMPILE_DEFINITIONS)
target_compile_definitions(vramfit-static PRIVATE ${spdlog_definitions})
add_dependencies(vramfit-static vramfit-cli-parts vramfit)
target_link_libraries(vramfit-static PRIVATE
  $<TARGET_FILE:vramfit-cli-parts> $<TARGET_FILE:vramfit> ${VRAMFIT_YAML_STATIC} Threads::Threads)
# Its third of a megabyte of relocations takes a few kilobytes when packed (glibc 2.36 reads them; fmt 9 is no older).
target_link_options(vramfit-static PRIVATE -static-pie -Wl,--gc-sections -Wl,-z,pack-relative-relocs)
