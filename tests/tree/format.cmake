# Checks (or with FIX=ON repairs) the layout of every C++ file. Variables: SOURCE_DIR, CLANG_FORMAT, FIX.
file(GLOB_RECURSE files ${SOURCE_DIR}/include/*.?pp ${SOURCE_DIR}/src/*.?pp ${SOURCE_DIR}/tests/*.?pp
     ${SOURCE_DIR}/bench/*.?pp)
set(mode --dry-run --Werror)
if(FIX)
  set(mode -i)
endif()
execute_process(COMMAND ${CLANG_FORMAT} ${mode} ${files} RESULT_VARIABLE status ERROR_VARIABLE findings)
if(NOT status EQUAL 0)
  string(REGEX MATCHALL "[^\n]*clang-format-violations\\]" findings "${findings}")
  list(JOIN findings "\n" findings)
  message(FATAL_ERROR "${findings}\nRepair: cmake --build BUILD --target format")
endif()
