# Flags that hold for every target of our own, and the two functions with which each
# folder declares itself.

add_library(keymill_flags INTERFACE)
target_include_directories(keymill_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(keymill_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -fstack-protector-strong)
if(KEYMILL_WERROR)
  target_compile_options(keymill_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(keymill_flags INTERFACE -Wthread-safety)
endif()
if(KEYMILL_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(KEYMILL_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
  # The sanitizer does not know fences; Asio's are not needed where locks do the same.
  target_compile_definitions(keymill_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
elseif(NOT KEYMILL_SANITIZE STREQUAL "")
  message(FATAL_ERROR "KEYMILL_SANITIZE is '${KEYMILL_SANITIZE}'; use address or thread")
endif()
# GCC sees uninitialized values and wrong bounds in what the sanitizers insert, and in the library's
# headers where they are read beforehand; what is built without either looks for real ones.
set(no_false_alarms $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict
  -Wno-stringop-overflow -Wno-stringop-overread>)
if(sanitize)
  target_compile_options(keymill_flags INTERFACE ${sanitize} ${no_false_alarms})
  target_link_options(keymill_flags INTERFACE ${sanitize})
else()
  target_link_options(keymill_flags INTERFACE -Wl,-z,relro,-z,now)
endif()

# Tests are compiled once and run once: quickly is better than well.
if(sanitize)
  set(test_optimization -O0)
else()
  set(test_optimization -O1)  # Less than that, and the C library's own checks complain.
endif()

# A quarter of compiling is reading the same headers. They are read once for tests and, where
# everything is compiled once more for a sanitizer, for libraries. What a file forgot to include is
# found by the clang preset, which reads them everywhere.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(common_headers <algorithm> <array> <atomic> <chrono> <cstdint> <filesystem> <functional> <map>
    <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <utility>
    <vector> <fmt/format.h>)
  file(WRITE ${CMAKE_BINARY_DIR}/headers.cc "int main() {}\n")
  if(sanitize)
    add_library(keymill_headers OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
    target_link_libraries(keymill_headers PRIVATE keymill_flags fmt::fmt spdlog::spdlog)
    target_precompile_headers(keymill_headers PRIVATE ${common_headers})
  endif()
  if(KEYMILL_TESTS)
    add_executable(keymill_test_headers EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/headers.cc)
    target_link_libraries(keymill_test_headers PRIVATE keymill_flags fmt::fmt spdlog::spdlog
      GTest::gmock GTest::gtest rapidcheck)
    target_compile_options(keymill_test_headers PRIVATE ${test_optimization} ${no_false_alarms})
    target_precompile_headers(keymill_test_headers PRIVATE ${common_headers} <gmock/gmock.h>
      <gtest/gtest.h>)
  endif()
endif()

# keymill_library(<name> LINK <targets…>): the sources of this folder as one static
# library, and its *_test.cc as one test program. The link list is the layer rule.
# UNSANITIZED names the tests that no sanitizer can run, and is rarely right.
function(keymill_library name)
  cmake_parse_arguments(arg "" "" "LINK;TEST_LINK;UNSANITIZED" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sanitize)
    foreach(test IN LISTS arg_UNSANITIZED)
      list(REMOVE_ITEM tests ${CMAKE_CURRENT_SOURCE_DIR}/${test})
    endforeach()
  endif()
  add_library(keymill_${name} STATIC ${sources})
  target_link_libraries(keymill_${name} PUBLIC keymill_flags ${arg_LINK})
  if(TARGET keymill_headers)
    target_precompile_headers(keymill_${name} REUSE_FROM keymill_headers)
  endif()
  if(KEYMILL_TESTS AND tests)
    keymill_test(${name}_test SOURCES ${tests} LINK keymill_${name} ${arg_TEST_LINK})
  endif()
endfunction()

# keymill_test(<name> SOURCES <files…> LINK <targets…> [LABELS …]): a GoogleTest program,
# one ctest entry per test case.
function(keymill_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} keymill_test_support GTest::gmock
    GTest::gtest_main rapidcheck)
  target_compile_options(${name} PRIVATE ${test_optimization} ${no_false_alarms})
  if(TARGET keymill_test_headers)
    target_precompile_headers(${name} REUSE_FROM keymill_test_headers)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
endfunction()

# keymill_embed(<target> HEADER <header> FUNCTION <name> FILES <files…>): the files become part of
# the target, as what <name>, which <header> declares, returns: a span of keymill::EmbeddedFile.
function(keymill_embed target)
  cmake_parse_arguments(arg "" "HEADER;FUNCTION" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_files.cc)
  list(JOIN arg_FILES "," files)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${arg_HEADER} -DFUNCTION=${arg_FUNCTION}
      -DFILES=${files} -DVERSION=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${arg_FILES} ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake VERBATIM COMMENT "")
  target_sources(${target} PRIVATE ${output})
  # Compilers need not take such long constants; ours do.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()
