# Debian's emscripten, and how the program is compiled and linked for a page: exceptions of WebAssembly, one thread,
# files in memory, and a function that makes a fresh instance of the program for each call.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)

set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions")
string(JOIN " " CMAKE_EXE_LINKER_FLAGS_INIT
  -fwasm-exceptions -sMODULARIZE -sEXPORT_NAME=makeProgram -sENVIRONMENT=web,worker,node -sINVOKE_RUN=0 -sEXIT_RUNTIME=0
  -sFORCE_FILESYSTEM -sEXPORTED_RUNTIME_METHODS=FS,callMain -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=64MB -sTOTAL_STACK=4MB)
