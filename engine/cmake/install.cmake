# What users find the installed library by: find_package(xtape), or pkg-config.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/xtape)

install(TARGETS xtape EXPORT xtape
  FILE_SET HEADERS
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT xtape FILE xtapeTargets.cmake NAMESPACE xtape:: DESTINATION ${package})

# A static library's users link what it uses; of that only OpenMP is more than headers.
set(XTAPE_NEEDS_OPENMP OFF)
if(OpenMP_CXX_FOUND AND NOT BUILD_SHARED_LIBS)
  set(XTAPE_NEEDS_OPENMP ON)
endif()
configure_package_config_file(engine/cmake/xtapeConfig.cmake.in xtapeConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(xtapeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/xtapeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/xtapeConfigVersion.cmake
  DESTINATION ${package})

# From xtape.pc's own folder, so that the installed tree may be moved.
file(RELATIVE_PATH XTAPE_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH XTAPE_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH XTAPE_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(XTAPE_PC_CFLAGS)
set(XTAPE_PC_LIBS)
if(NOT BUILD_SHARED_LIBS)
  set(XTAPE_PC_CFLAGS -DXTAPE_STATIC)
  set(XTAPE_PC_LIBS ${OpenMP_CXX_FLAGS})
endif()
configure_file(engine/cmake/xtape.pc.in xtape.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/xtape.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
