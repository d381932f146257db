# Prints what a configured build is made of.
list(JOIN VRAMFIT_DEPENDENCIES ", " dependencies)
list(JOIN VRAMFIT_SANITIZE ", " sanitizers)
if(NOT sanitizers)
  set(sanitizers "none")
endif()
message(STATUS "vramfit ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, "
               "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, sanitizers: ${sanitizers}")
message(STATUS "  uses ${dependencies}")
