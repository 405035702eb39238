// A CUDA program without a framework, whose steps are NVTX ranges. As turns.py describes: a block of steps for each line
// of standard input.

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void add(const float* a, const float* b, float* sum, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

int main()
{
    constexpr int kCount = 1 << 20;
    constexpr int kSteps = 20;
    float* values = nullptr;
    cudaMalloc(&values, 3 * kCount * sizeof(float));
    cudaMemset(values, 0, 3 * kCount * sizeof(float));
    cudaDeviceSynchronize();
    std::puts("ready");
    std::fflush(stdout);
    for (int c = std::getchar(); c != EOF; c = std::getchar()) {
        if (c != '\n')
            continue;
        std::vector<double> times;
        for (int i = 0; i < kSteps; ++i) {
            const auto start = std::chrono::steady_clock::now();
            nvtxRangePushA("step");
            add<<<kCount / 256, 256>>>(values, values + kCount, values + 2 * kCount, kCount);
            nvtxRangePop();
            cudaDeviceSynchronize();
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
        }
        std::sort(times.begin(), times.end());
        std::printf("{\"step_ms\": %f, \"quiet_ms\": %f}\n", times[kSteps / 2], times[kSteps / 10]);
        std::fflush(stdout);
    }
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
