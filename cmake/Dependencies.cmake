# Every dependency as one target each. All are Debian packages that scripts/setup.sh installs.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)

add_library(skipless::yaml ALIAS yaml-cpp)
add_library(skipless::json ALIAS nlohmann_json::nlohmann_json)
add_library(skipless::pcre2 ALIAS PkgConfig::pcre2)
add_library(skipless::utf8proc ALIAS PkgConfig::utf8proc)
add_library(skipless::xxhash ALIAS PkgConfig::xxhash)
add_library(skipless::zlib ALIAS PkgConfig::zlib)
add_library(skipless::zstd ALIAS PkgConfig::zstd)

# LibTorch ships fmt 12 headers, which would hide the system's fmt 9 that spdlog was built with. A folder holding only a
# link to the system's headers, searched first, keeps the two apart.
get_target_property(_fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
set(SKIPLESS_FMT_FIRST "${CMAKE_BINARY_DIR}/fmt_first")
file(MAKE_DIRECTORY "${SKIPLESS_FMT_FIRST}")
file(CREATE_LINK "${_fmt_include}/fmt" "${SKIPLESS_FMT_FIRST}/fmt" SYMBOLIC)
