# What runs once, in the build without sanitizers: scripts, layout, packages, documents, shells and pictures.
# The scripts' own tests, with nothing but Python.
find_program(VRAMFIT_PYTHON NAMES python3)
if(VRAMFIT_PYTHON)
  add_test(NAME "python: the tracer's commands"
    COMMAND ${VRAMFIT_PYTHON} -m unittest discover -s tests -t . WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tools/trace)
  add_test(NAME "python: the recorder"
    COMMAND ${VRAMFIT_PYTHON} -m unittest discover -s tests -t . WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tools/record)
  add_test(NAME "docs: links" COMMAND ${VRAMFIT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/site/links.py)
  add_test(NAME "python: snapshots are read back"
    COMMAND ${VRAMFIT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/snapshot_read_back.py $<TARGET_FILE:vramfit-cli>)
  add_test(NAME "python: the measurement kit"
    COMMAND ${VRAMFIT_PYTHON} -m unittest discover -s tests/measured WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endif()

# The Python module's types are those of the schemas and flags as they are now; the module itself is tried by .ci/run.
set(accept_types "")
if(VRAMFIT_PYTHON)
  set(accept_types COMMAND ${VRAMFIT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/package/make_types.py $<TARGET_FILE:vramfit-cli>)
  add_test(NAME "python: the module's types are current"
    COMMAND ${VRAMFIT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/package/make_types.py $<TARGET_FILE:vramfit-cli> --check)
endif()

# Every public header compiles alone.
add_test(NAME "headers: each public header compiles alone"
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target vramfit_verify_interface_header_sets)

# The installed package works for a stranger's project.
add_test(NAME "package: an installed copy can be found, linked and run"
  COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR} -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/package
    -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -DCONFIG=$<CONFIG>
    -P ${CMAKE_CURRENT_SOURCE_DIR}/package/run.cmake)

# Layout. Other versions of clang-format than Debian 12's lay a few things out differently, so only 14 judges.
find_program(VRAMFIT_CLANG_FORMAT NAMES clang-format-14 clang-format)
if(VRAMFIT_CLANG_FORMAT)
  set(format ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DCLANG_FORMAT=${VRAMFIT_CLANG_FORMAT})
  add_custom_target(format COMMAND ${format} -DFIX=ON -P ${CMAKE_CURRENT_SOURCE_DIR}/tree/format.cmake VERBATIM)
  execute_process(COMMAND ${VRAMFIT_CLANG_FORMAT} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(version MATCHES "version 14\\.")
    add_test(NAME "tree: the layout is clang-format's"
      COMMAND ${format} -P ${CMAKE_CURRENT_SOURCE_DIR}/tree/format.cmake)
  endif()
endif()

# The commands of the transcripts with --format json: every document is as its schema says.
add_executable(validate_json schemas/validate.cpp support/json_schema.cpp)
target_include_directories(validate_json PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(validate_json PRIVATE VRAMFIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(validate_json PRIVATE ${VRAMFIT_FMT} nlohmann_json::nlohmann_json vramfit_warnings)
set(with_documents ${transcripts})  # those that ask for each kind of document
list(FILTER with_documents INCLUDE REGEX
  "/(adapters|basics|check|check_keys|compare|deepspeed|explain|facts|generate|job|plan|predict|recorded|replay|sweep_lists|sweep_max|terminal|timeline|types)\\.txt$|/README\\.md$")
foreach(file IN LISTS with_documents)
  cmake_path(GET file STEM name)
  add_test(NAME "schemas: ${name}"
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/transcripts/json $<TARGET_FILE:vramfit-cli> $<TARGET_FILE:validate_json> ${file})
  set_tests_properties("schemas: ${name}" PROPERTIES TIMEOUT ${VRAMFIT_TEST_SECONDS})
endforeach()

# What `vramfit generate` writes works in the shells that this machine has.
foreach(shell IN ITEMS bash zsh fish)
  add_test(NAME "completions: ${shell}"
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/completions/run $<TARGET_FILE:vramfit-cli> ${shell})
  set_tests_properties("completions: ${shell}" PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

# The pictures of the README are what the program draws.
set(draw ${PROJECT_SOURCE_DIR}/docs/images/make $<TARGET_FILE:vramfit-cli>)
add_test(NAME "docs: the pictures are current" COMMAND ${draw} --check)

# The script of the GitHub Action, as far as a shell can run it.
add_test(NAME "ci: the action's script" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/transcripts/check_in_ci
  $<TARGET_FILE:vramfit-cli> ${PROJECT_SOURCE_DIR})

# One command accepts what transcripts and golden pictures now show, and writes the Python module's types: cmake --build BUILD --target accept
add_custom_target(accept
  COMMAND ${transcripts_run} --accept $<TARGET_FILE:vramfit-cli> ${transcripts}
  COMMAND ${CMAKE_COMMAND} -E env VRAMFIT_ACCEPT=1 $<TARGET_FILE:test_golden>
  COMMAND ${draw}
  ${accept_types}
  COMMAND ${CMAKE_COMMAND} -E env VRAMFIT_ACCEPT=1 $<$<TARGET_EXISTS:test_measured>:$<TARGET_FILE:test_measured>>
  USES_TERMINAL VERBATIM)
