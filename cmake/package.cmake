# Installation: the program, the library, its headers, and a package for find_package(vramfit CONFIG).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vramfit)
install(TARGETS vramfit EXPORT vramfit-targets FILE_SET public_headers)
if(SKBUILD)  # pip: the program lies beside python
  install(TARGETS vramfit-cli DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT program)
else()
  install(TARGETS vramfit-cli COMPONENT program)
endif()
install(EXPORT vramfit-targets NAMESPACE vramfit:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/vramfit-config.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/vramfit-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/vramfit-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vramfit-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/vramfit-config-version.cmake
        DESTINATION ${package_dir})
