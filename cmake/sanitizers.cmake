# Sanitizers and fuzzing: flags of a whole build, since every object of a program has to agree on them.
set(VRAMFIT_SANITIZE "" CACHE STRING "Sanitizers for all code, a list: address;undefined")
option(VRAMFIT_FUZZ "Build the fuzz targets (clang only)" OFF)

set(VRAMFIT_SANITIZE_FLAGS "")
set(VRAMFIT_COVERAGE_FLAGS "")
if(VRAMFIT_SANITIZE)
  list(JOIN VRAMFIT_SANITIZE "," sanitizers)
  set(VRAMFIT_SANITIZE_FLAGS -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # A null pointer ends in the address sanitizer's report; these three checks are a quarter of the compile time.
  list(APPEND VRAMFIT_SANITIZE_FLAGS -fno-sanitize=null,alignment,vptr)
  add_compile_options(${VRAMFIT_SANITIZE_FLAGS})
  add_link_options(${VRAMFIT_SANITIZE_FLAGS})
  find_program(VRAMFIT_LLD ld.lld)  # programs of 100 MB each, in a quarter of the time
  if(VRAMFIT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_link_options(-fuse-ld=lld)
  endif()
endif()

if(VRAMFIT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "VRAMFIT_FUZZ needs clang++ (libFuzzer); the preset `fuzz` chooses it")
  endif()
  # Of the library alone: what readers do is followed, not what tests do with it.
  set(VRAMFIT_COVERAGE_FLAGS -fsanitize=fuzzer-no-link
    -fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/not_covered.txt)
endif()
