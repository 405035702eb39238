// A CUDA program without a framework; its ten steps are NVTX ranges.

#include <nvtx3/nvToolsExt.h>

#include <cstdio>

__global__ void add(const float* a, const float* b, float* sum, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

int main()
{
    constexpr int kCount = 1 << 20;
    float* values = nullptr;
    cudaMalloc(&values, 3 * kCount * sizeof(float));
    cudaMemset(values, 0, 3 * kCount * sizeof(float));
    for (int i = 0; i < 10; ++i) {
        nvtxRangePushA("step");
        add<<<kCount / 256, 256>>>(values, values + kCount, values + 2 * kCount, kCount);
        nvtxRangePop();
    }
    const cudaError_t error = cudaDeviceSynchronize();
    std::puts(cudaGetErrorString(error));
    return error == cudaSuccess ? 0 : 1;
}
