// Kernels whose stall reasons and lines are known, for tests/gpu/inside/run.py: each has one line that dominates, marked with
// its name. Build: nvcc -lineinfo -arch=sm_90 known.cu -o known. Run: known NAME|all|launches|cost MILLISECONDS [SCALE].
// Prints the median time of a launch, or of a step of 400 launches, in ms. SCALE multiplies the work of a launch; cost: of 200 us and launches.

#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const cudaError_t error_ = (call);                                                                   \
        if (error_ != cudaSuccess) {                                                                         \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                             \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

__global__ void fma_only(float* out, int rounds)
{
    float a[8];
    for (int i = 0; i < 8; ++i)
        a[i] = threadIdx.x + i;
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int i = 0; i < 8; ++i)
            a[i] = a[i] * 1.0001f + 0.5f; // fma_only
    float sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += a[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void dram_copy(const float4* from, float4* to, size_t count)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        to[i] = from[i]; // dram_copy
}

__global__ void bank_conflicts(float* out, int rounds)
{
    __shared__ float cells[32 * 32];
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
        cells[i] = i;
    __syncthreads();
    float sum = 0;
    int at = (threadIdx.x % 32) * 32;
    for (int round = 0; round < rounds; ++round) {
        sum += cells[at]; // bank_conflicts
        at = (at + 1) % (32 * 32);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void barrier_imbalance(float* out, int rounds)
{
    float a = threadIdx.x;
    for (int round = 0; round < rounds; ++round) { // barrier_imbalance
        if (threadIdx.x < 32)
            for (int i = 0; i < 200; ++i)
                a = a * 1.0001f + 0.5f;
        __syncthreads(); // ptxas gives what follows it the line of the loop
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

__global__ void tensor_cores(float* out, int rounds)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, col_major> b;
    fragment<accumulator, 16, 16, 16, float> c[4];
    fill_fragment(a, __float2half(0.5f));
    fill_fragment(b, __float2half(0.25f));
    for (auto& each : c)
        fill_fragment(each, 0.f);
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            mma_sync(c[i], a, b, c[i]); // tensor_cores
    for (int i = 1; i < 4; ++i)
        for (int k = 0; k < c[0].num_elements; ++k)
            c[0].x[k] += c[i].x[k];
    store_matrix_sync(out + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 256, c[0], 16, mem_row_major);
}

__global__ void pointer_chase(const unsigned* next, unsigned* out, int rounds)
{
    unsigned at = threadIdx.x * 97;
    for (int round = 0; round < rounds; ++round)
        at = next[at]; // pointer_chase
    out[threadIdx.x] = at;
}

__global__ void tiny(float* out)
{
    out[threadIdx.x] += 1;
}

constexpr size_t kFloat4 = size_t(1) << 24; // 256 MiB each way, times the scale
constexpr unsigned kCells = 1 << 26;

int main(int argc, char** argv)
{
    const std::string name = argc > 1 ? argv[1] : "all";
    const double wanted = argc > 2 ? std::atof(argv[2]) : 300;
    const int scale = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
    const size_t count = kFloat4 * scale;
    float4 *from, *to;
    unsigned *next, *ends;
    float* out;
    CHECK(cudaMalloc(&from, count * sizeof(float4)));
    CHECK(cudaMalloc(&to, count * sizeof(float4)));
    CHECK(cudaMemset(from, 1, count * sizeof(float4)));
    CHECK(cudaMalloc(&out, size_t(1) << 26));
    CHECK(cudaMalloc(&ends, 4096));
    CHECK(cudaMalloc(&next, kCells * sizeof(unsigned)));
    if (name == "all" || name == "pointer_chase") {
        std::vector<unsigned> cells(kCells);
        for (unsigned i = 0; i < kCells; ++i)
            cells[i] = (i * 1664525u + 1013904223u) % kCells;
        CHECK(cudaMemcpy(next, cells.data(), kCells * sizeof(unsigned), cudaMemcpyHostToDevice));
    }
    int sms = 0;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    const auto timed = [&](const char* kernel, auto launch) {
        const bool isShort = std::strcmp(kernel, "short_fma") == 0;
        if (name != kernel && (name != "all" || (isShort && scale > 1)) && (name != "cost" || !isShort))
            return;
        std::vector<float> times;
        double spent = 0;
        launch(); // loads the kernel
        CHECK(cudaDeviceSynchronize());
        while (spent < wanted || times.size() < 5) {
            CHECK(cudaEventRecord(start));
            launch();
            CHECK(cudaEventRecord(end));
            CHECK(cudaEventSynchronize(end));
            CHECK(cudaGetLastError());
            float ms = 0;
            CHECK(cudaEventElapsedTime(&ms, start, end));
            spent += ms;
            times.push_back(ms);
        }
        std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
        std::printf("%s_ms: %.5f\n", kernel, times[times.size() / 2]);
    };
    timed("fma_only", [&] { fma_only<<<sms * 4, 512>>>(out, 20000 * scale); });
    timed("dram_copy", [&] { dram_copy<<<sms * 8, 256>>>(from, to, count); });
    timed("bank_conflicts", [&] { bank_conflicts<<<sms * 4, 256>>>(out, 4000 * scale); });
    timed("barrier_imbalance", [&] { barrier_imbalance<<<sms * 4, 256>>>(out, 2000 * scale); });
    timed("tensor_cores", [&] { tensor_cores<<<sms * 4, 256>>>(out, 6000 * scale); });
    timed("pointer_chase", [&] { pointer_chase<<<sms, 32>>>(next, ends, 3000 * scale); });
    // 200 µs, for the cost.
    timed("short_fma", [&] { fma_only<<<sms * 4, 512>>>(out, 2400); });
    if (name == "launches" || name == "cost") {
        std::vector<double> times;
        double spent = 0;
        while (spent < wanted || times.size() < 5) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < 400; ++i)
                tiny<<<1, 64>>>(out);
            CHECK(cudaDeviceSynchronize());
            const double ms =
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
            spent += ms;
            times.push_back(ms);
        }
        std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
        std::printf("launches_ms: %.5f\n", times[times.size() / 2]);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
