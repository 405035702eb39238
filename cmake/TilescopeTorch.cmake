# LibTorch, CUDA and CUPTI as imported targets, from the torch package folder TILESCOPE_TORCH and the CUDA toolkit that
# packaging/dev exports (CUDACXX, CUDAToolkit_ROOT). find_package(Torch) is not used, because it searches for a
# GPU, needs a full toolkit and adds its own flags to every target.

set(TILESCOPE_TORCH "$ENV{TILESCOPE_TORCH}" CACHE PATH "A torch 2.11 package folder (holds include/ and lib/)")
if(NOT EXISTS ${TILESCOPE_TORCH}/include/torch/csrc/api/include/torch/torch.h)
    message(FATAL_ERROR "TILESCOPE_TORCH='${TILESCOPE_TORCH}' has no LibTorch headers; run packaging/dev setup, or name another folder")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/TilescopeKernelSet.cmake)

# sm_90a is for Hopper, sm_80 for other GPUs up to 9.0, PTX for newer ones.
set(CMAKE_CUDA_ARCHITECTURES 80 90a CACHE STRING "CUDA architectures of the kernels")
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
find_package(CUDAToolkit REQUIRED)

set(tilescope_cuda_root ${CUDAToolkit_LIBRARY_ROOT})
if(NOT EXISTS ${tilescope_cuda_root}/include/cupti.h)
    get_filename_component(tilescope_cuda_root ${CMAKE_CUDA_COMPILER} DIRECTORY)
    get_filename_component(tilescope_cuda_root ${tilescope_cuda_root} DIRECTORY)
endif()

# Wheels have lib, an installed toolkit has lib64.
set(tilescope_cuda_lib ${tilescope_cuda_root}/lib)
if(NOT EXISTS ${tilescope_cuda_lib}/libcudart.so)
    set(tilescope_cuda_lib ${tilescope_cuda_root}/lib64)
endif()

add_library(tilescope_torch_headers INTERFACE)
target_include_directories(tilescope_torch_headers SYSTEM INTERFACE ${TILESCOPE_TORCH}/include
                           ${TILESCOPE_TORCH}/include/torch/csrc/api/include ${tilescope_cuda_root}/include)
target_compile_definitions(tilescope_torch_headers INTERFACE USE_C10D_NCCL)

# torch and c10, linked by path; the run path of the build tree contains that path.
add_library(tilescope_torch INTERFACE)
add_library(torch::torch ALIAS tilescope_torch)
target_link_libraries(tilescope_torch INTERFACE tilescope_torch_headers ${TILESCOPE_TORCH}/lib/libtorch_cpu.so
                      ${TILESCOPE_TORCH}/lib/libc10.so)
# Without OpenMP at::parallel_for is serial. All targets have the option, because they share a precompiled header.
target_compile_options(tilescope_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
target_link_options(tilescope_torch INTERFACE -Wl,-rpath-link,${TILESCOPE_TORCH}/lib -Wl,-rpath-link,${tilescope_cuda_lib}
                    -Wl,--allow-shlib-undefined)
if(EXISTS ${TILESCOPE_TORCH}/lib/libtorch_cuda.so)
    # Loading it registers the CUDA backend, so the linker must not drop it.
    target_link_libraries(tilescope_torch INTERFACE -Wl,--no-as-needed ${TILESCOPE_TORCH}/lib/libtorch_cuda.so
                          ${TILESCOPE_TORCH}/lib/libtorch.so -Wl,--as-needed ${TILESCOPE_TORCH}/lib/libc10_cuda.so)
endif()

# The same CUPTI and CUDA runtime as LibTorch's: two copies of CUPTI in one process do not work.
add_library(tilescope_cupti INTERFACE)
add_library(cuda::cupti ALIAS tilescope_cupti)
add_library(tilescope_cupti_headers INTERFACE)
add_library(cuda::cupti_headers ALIAS tilescope_cupti_headers)
target_include_directories(tilescope_cupti_headers SYSTEM INTERFACE ${tilescope_cuda_root}/include)
target_link_libraries(tilescope_cupti INTERFACE cuda::cupti_headers ${tilescope_cuda_lib}/libcupti.so)
add_library(tilescope_cudart INTERFACE)
add_library(cuda::runtime ALIAS tilescope_cudart)
target_include_directories(tilescope_cudart SYSTEM INTERFACE ${tilescope_cuda_root}/include)
target_link_libraries(tilescope_cudart INTERFACE ${tilescope_cuda_lib}/libcudart.so)

list(APPEND CMAKE_BUILD_RPATH ${TILESCOPE_TORCH}/lib ${tilescope_cuda_lib})

tilescope_pch(tilescope_torch_pch HEADERS ${tilescope_std_headers} <ATen/ATen.h> <torch/csrc/autograd/custom_function.h>
              LIBRARIES torch::torch)
