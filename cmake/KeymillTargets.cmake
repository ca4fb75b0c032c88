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
if(sanitize)
  target_compile_options(keymill_flags INTERFACE ${sanitize})
  target_link_options(keymill_flags INTERFACE ${sanitize})
else()
  target_link_options(keymill_flags INTERFACE -Wl,-z,relro,-z,now)
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
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
endfunction()
