# Toolchain: zig as the compiler for another platform, with headers and libraries of its own (PyPI's ziglang has it).
# cmake --preset release --toolchain cmake/zig.cmake -B build/windows -DVRAMFIT_ZIG=PATH -DVRAMFIT_TARGET=x86_64-windows-gnu
# -DVRAMFIT_DEPENDENCIES_FOLDER=build/dependencies; docs/install.md says what of this is tested.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VRAMFIT_ZIG VRAMFIT_TARGET)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # zig's first link compiles a whole C++ library
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${VRAMFIT_TARGET}")
if(VRAMFIT_TARGET MATCHES "windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(VRAMFIT_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()

# CMake takes one word for each of these.
foreach(tool IN ITEMS c++ ar ranlib)
  set(target "")
  if(tool STREQUAL "c++")
    set(target "-target ${VRAMFIT_TARGET}")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/zig/${tool} CONTENT "#!/bin/sh\nexec '${VRAMFIT_ZIG}' ${tool} ${target} \"$@\"\n")
  file(CHMOD ${CMAKE_BINARY_DIR}/zig/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_CXX_COMPILER ${CMAKE_BINARY_DIR}/zig/c++)
set(CMAKE_AR ${CMAKE_BINARY_DIR}/zig/ar)
set(CMAKE_RANLIB ${CMAKE_BINARY_DIR}/zig/ranlib)

if(VRAMFIT_TARGET MATCHES "musl")  # spdlog 1.10 calls stat64, which musl has declared only on demand since 1.2.4
  set(CMAKE_CXX_FLAGS_INIT "-D_LARGEFILE64_SOURCE")
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -s")
endif()
