# Every library that Keymill links, found once. All of them are Debian 12 packages
# (THIRD_PARTY.md says why each is here); ./dev installs them.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
# Not its CMake package, which also wants the web server and the HTTP client of parts that are not
# used here.
find_package(PkgConfig REQUIRED)
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
if(KEYMILL_POSTGRES)
  # CMake's own module wants the headers of the server too.
  pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
endif()
if(KEYMILL_MARIADB)
  pkg_check_modules(mariadb REQUIRED IMPORTED_TARGET libmariadb)
endif()
if(KEYMILL_GRPC AND KEYMILL_SANITIZE STREQUAL "thread")
  # The library has no sanitizer in it, so all that it hands from thread to thread looks like a race.
  message(STATUS "ThreadSanitizer: building without libkeymill_grpc.so")
  set(KEYMILL_GRPC OFF)
endif()
if(KEYMILL_GRPC)
  # Not its CMake package, which names every library that gRPC itself needs. Without TLS, which this
  # version does not speak over gRPC.
  pkg_check_modules(grpc IMPORTED_TARGET grpc++_unsecure)
  pkg_check_modules(protobuf IMPORTED_TARGET protobuf)
  find_program(Protobuf_PROTOC_EXECUTABLE protoc)
  find_program(KEYMILL_GRPC_PLUGIN grpc_cpp_plugin)
  find_path(KEYMILL_GRPC_PROTOS grpc/reflection/v1/reflection.proto PATHS /usr/share/grpc-proto)
  if(NOT (grpc_FOUND AND protobuf_FOUND AND Protobuf_PROTOC_EXECUTABLE AND KEYMILL_GRPC_PLUGIN AND
    KEYMILL_GRPC_PROTOS))
    message(STATUS "gRPC is not here (libgrpc++-dev, protobuf-compiler-grpc, grpc-proto): building "
      "without libkeymill_grpc.so")
    set(KEYMILL_GRPC OFF)
  endif()
endif()

if(KEYMILL_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
