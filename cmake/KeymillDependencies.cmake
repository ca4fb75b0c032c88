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

if(KEYMILL_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
