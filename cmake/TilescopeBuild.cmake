# How every target of Tilescope is built: language, warnings, outputs, precompiled headers, and the two functions that
# define a library and a test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Installed programs find their private libraries in their own folder.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

# LibTorch's RecordFunction::inputs() asserts in code compiled without NDEBUG, whatever the build type.
add_compile_definitions(NDEBUG)
# The same position-independence flag for libraries and programs, so that they can share precompiled headers.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
# Warnings apply to the project's C++ only, not to nvcc's generated code or LibTorch's headers.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor>")
if(TILESCOPE_WARNINGS_AS_ERRORS)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# GCC 12 reports false overflows and uninitialised reads inside inlined library code.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-stringop-overflow;-Wno-restrict;-Wno-array-bounds>")

if(TILESCOPE_SANITIZE)
    add_compile_options(-fsanitize=${TILESCOPE_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TILESCOPE_SANITIZE})
endif()

set(TILESCOPE_LINKER "" CACHE STRING "A linker to use where it is installed: lld, mold; empty: the compiler's")
if(TILESCOPE_LINKER)
    find_program(TILESCOPE_LINKER_PROGRAM ld.${TILESCOPE_LINKER})
    if(TILESCOPE_LINKER_PROGRAM)
        add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=${TILESCOPE_LINKER}>)
    endif()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    # Lets ccache cache precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

# Programs find their data in ../share/tilescope; in a build tree that is the source folder itself.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/resources ${CMAKE_BINARY_DIR}/share/tilescope SYMBOLIC)

# Precompiled headers, one per family of targets: plain, torch, Qt, tests. Each is a tiny target that the others reuse.
function(tilescope_pch name)
    cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES" ${ARGN})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${name}.cpp CONTENT "// Carries a precompiled header.\n")
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/pch/${name}.cpp)
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()

set(tilescope_std_headers <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <optional>
    <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
tilescope_pch(tilescope_pch HEADERS ${tilescope_std_headers})

set(TILESCOPE_BATCH 1 CACHE STRING "How many source files of a folder are compiled as one; 1 compiles each by itself")
set(TILESCOPE_TEST_BATCH 1 CACHE STRING "The same for test programs")

# tilescope_batch(TARGET [SIZE]): compiles up to SIZE (TILESCOPE_BATCH) source files of a folder as one, which reads the headers
# that they share once. A file with compile options of its own stays by itself. tests/style/batches.py checks that names of a
# folder do not collide.
function(tilescope_batch target)
    set(size ${TILESCOPE_BATCH})
    if(ARGC GREATER 1)
        set(size ${ARGV1})
    endif()
    if(size LESS_EQUAL 1)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(SORT sources)
    set(batch 0)
    set(left 0)
    set(last "")
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH folder)
        if(left EQUAL 0 OR NOT "x${folder}" STREQUAL "${last}")
            math(EXPR batch "${batch} + 1")
            set(left ${size})
            set(last "x${folder}")
        endif()
        math(EXPR left "${left} - 1")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${batch})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # GCC's warnings about types and names of an included file do not apply: these are source files.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage$<SEMICOLON>-Wno-shadow>)
endfunction()

# tilescope_library(NAME SOURCES … [PUBLIC …] [PRIVATE …] [PCH target] [SEPARATE | LARGE_BATCHES]): a static library
# tilescope_NAME with the include root at the top of the tree. PRIVATE libraries stay invisible to those who link it. SEPARATE: its
# files are not compiled in batches, because libtilescope_record.so links it and takes only the object files that it needs.
# LARGE_BATCHES: its batches have four times as many files; most of the time of such a library goes into headers that its files share.
function(tilescope_library name)
    cmake_parse_arguments(arg "SEPARATE;LARGE_BATCHES" "PCH" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    add_library(tilescope_${name} STATIC ${arg_SOURCES})
    add_library(tilescope::${name} ALIAS tilescope_${name})
    target_include_directories(tilescope_${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(tilescope_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    if(NOT arg_PCH)
        set(arg_PCH tilescope_pch)
    endif()
    target_precompile_headers(tilescope_${name} REUSE_FROM ${arg_PCH})
    set(size ${TILESCOPE_BATCH})
    if(arg_LARGE_BATCHES AND size GREATER 1)
        math(EXPR size "4 * ${size}")
    endif()
    if(NOT arg_SEPARATE)
        tilescope_batch(tilescope_${name} ${size})
    endif()
endfunction()

set(TILESCOPE_TEST_FLAGS "" CACHE STRING "Compile options of test programs without LibTorch, Qt and kernels")
separate_arguments(TILESCOPE_TEST_FLAGS)

# tilescope_test(NAME SOURCES … LIBRARIES … [PCH target] [WHOLE] [SEPARATE] [LABELS …] [ENVIRONMENT …]): a GoogleTest program
# test_NAME, compiled in batches unless SEPARATE. Each case is a separate test; with WHOLE the program is one test (for programs
# that start slowly, such as all that load LibTorch).
function(tilescope_test name)
    cmake_parse_arguments(arg "WHOLE;SEPARATE" "PCH;TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
    if(NOT TARGET tilescope_test_pch)
        tilescope_pch(tilescope_test_pch HEADERS ${tilescope_std_headers} <gtest/gtest.h> <gmock/gmock.h>
                      LIBRARIES GTest::gtest GTest::gmock)
        target_compile_options(tilescope_test_pch PRIVATE ${TILESCOPE_TEST_FLAGS})
    endif()
    add_executable(test_${name} ${arg_SOURCES})
    target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(test_${name} PRIVATE TILESCOPE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
                               TILESCOPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
    if(NOT arg_PCH)
        set(arg_PCH tilescope_test_pch)
        target_compile_options(test_${name} PRIVATE ${TILESCOPE_TEST_FLAGS})
    endif()
    target_precompile_headers(test_${name} REUSE_FROM ${arg_PCH})
    if(NOT arg_SEPARATE)
        tilescope_batch(test_${name} ${TILESCOPE_TEST_BATCH})
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300) # on a machine that others keep busy
    endif()
    if(arg_WHOLE)
        add_test(NAME ${name} COMMAND test_${name})
        set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
                             ENVIRONMENT "${arg_ENVIRONMENT}")
    else()
        include(GoogleTest)
        gtest_discover_tests(test_${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
                             PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
endfunction()
