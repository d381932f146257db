# The warnings of the project: an interface target that only own code links, so that no dependency is judged by them.
option(VRAMFIT_WERROR "Turn warnings into errors" OFF)

add_library(vramfit_warnings INTERFACE)
target_compile_options(vramfit_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wpedantic)
if(VRAMFIT_WERROR)
  target_compile_options(vramfit_warnings INTERFACE -Werror)
endif()
