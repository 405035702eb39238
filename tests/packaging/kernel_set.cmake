# What TILESCOPE_KERNEL_SET stands for.
cmake_minimum_required(VERSION 3.28)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/TilescopeKernelSet.cmake)

# A refusal ends CMake, so each value that is refused is tried in a CMake of its own.
if(DEFINED VALUE)
    tilescope_kernel_plan("${VALUE}" architectures hopper)
    return()
endif()

function(expect value expected_architectures expected_hopper)
    tilescope_kernel_plan("${value}" architectures hopper)
    if(NOT "${architectures}" STREQUAL "${expected_architectures}" OR NOT "${hopper}" STREQUAL "${expected_hopper}")
        message(SEND_ERROR "'${value}' stands for '${architectures}', Hopper ${hopper}; expected '${expected_architectures}', ${expected_hopper}")
    endif()
endfunction()

expect("small" "80" FALSE)
expect("all" "80-real;89-real;90-real;90-virtual" TRUE)
expect("9.0" "90-real" TRUE)
expect("8.0" "80-real" FALSE)
expect("8.6;8.9" "80-real;89-real" FALSE)
expect("8.0;8.6;8.7" "80-real" FALSE)
expect("8.9;9.0;12.0" "89-real;90-real;90-virtual" TRUE)
expect("10.0" "90-virtual" FALSE)
expect("7.5;8.6" "80-real" FALSE)

foreach(value "" "7.5" "most" "90" "8.6,9.0")
    execute_process(COMMAND ${CMAKE_COMMAND} -DVALUE=${value} -P ${CMAKE_CURRENT_LIST_FILE}
                    RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    if(code EQUAL 0)
        message(SEND_ERROR "TILESCOPE_KERNEL_SET='${value}' is not refused")
    endif()
endforeach()
