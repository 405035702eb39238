# Which CUDA attention kernels are built, and for which GPUs.

set(TILESCOPE_KERNEL_SET small CACHE STRING
    "CUDA kernels to build: all; those of some GPUs, by compute capability: 8.6;9.0; or small, bf16 by mma.sync up to head dim 128 for 8.0, quick to build")

# tilescope_kernel_plan(SET ARCHITECTURES HOPPER) interprets a value of TILESCOPE_KERNEL_SET. ARCHITECTURES receives the
# CUDA architectures of the mma.sync kernels, HOPPER whether the kernels for compute capability 9.0 are built, too.
#
# The mma.sync kernels run on every GPU from 8.0 on. GPUs newer than 9.0 compile their PTX when they first load it.
function(tilescope_kernel_plan value architectures hopper)
    if(value STREQUAL small)
        set(${architectures} 80 PARENT_SCOPE)
        set(${hopper} FALSE PARENT_SCOPE)
        return()
    endif()
    if(value STREQUAL all)
        set(value 8.0 8.9 9.0 10.0)
    endif()
    set(found)
    set(has_hopper FALSE)
    foreach(capability IN LISTS value)
        if(NOT capability MATCHES "^[0-9]+\\.[0-9]$")
            message(FATAL_ERROR "TILESCOPE_KERNEL_SET='${value}' is not known; give all, small or compute capabilities: 8.6;9.0")
        elseif(capability VERSION_LESS 8.0)
            message(STATUS "no CUDA attention kernel serves compute capability ${capability}; they begin at 8.0")
        elseif(capability VERSION_LESS 8.9)
            list(APPEND found 80-real)
        elseif(capability VERSION_LESS 9.0)
            list(APPEND found 89-real)
        elseif(capability VERSION_LESS 9.1)
            list(APPEND found 90-real)
            set(has_hopper TRUE)
        else()
            list(APPEND found 90-virtual)
        endif()
    endforeach()
    list(REMOVE_DUPLICATES found)
    if(NOT found)
        message(FATAL_ERROR "TILESCOPE_KERNEL_SET='${value}' names no GPU that a CUDA attention kernel serves; give small")
    endif()
    set(${architectures} ${found} PARENT_SCOPE)
    set(${hopper} ${has_hopper} PARENT_SCOPE)
endfunction()
