# What `cmake --install` leaves: the program, libkeymill with its headers, and the files by which
# CMake (find_package) and everybody else (pkg-config) find it. All of it may be moved together.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS keymill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libkeymill EXPORT keymillTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(KEYMILL_GRPC)
  install(TARGETS keymill_grpc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/keymill)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/keymill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/keymill)
set(generated_dir ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/keymillConfig.cmake.in
  ${generated_dir}/keymillConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${generated_dir}/keymillConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${generated_dir}/keymillConfig.cmake ${generated_dir}/keymillConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT keymillTargets NAMESPACE keymill:: DESTINATION ${package_dir})

# keymill.pc finds its prefix from where it lies, for the prefix is only known at installation.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /prefix/${pc_dir} /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/keymill.pc.in ${generated_dir}/keymill.pc @ONLY)
install(FILES ${generated_dir}/keymill.pc DESTINATION ${pc_dir})
