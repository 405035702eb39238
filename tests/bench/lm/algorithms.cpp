// Times the algorithms that cuBLASLt proposes for the products of a language model's layer, in bf16: each for a millisecond on an
// idle GPU, as the fused step chooses (core/engine/lm/tuned_product.cpp), and each for many milliseconds by turns, when the power
// limit holds the clock down as it does within a step.
//
//     algorithms TOKENS WIDTH HIDDEN [MILLISECONDS [ROUNDS]]        512 2560 10240 for 2.7B, 128 tokens, batch 4
//
// Prints a line for each product and algorithm: TFLOP/s for a moment and under load, and the clock under load.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <random>
#include <string>
#include <vector>

namespace {

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if (const auto status = (call); static_cast<int>(status) != 0) {                                     \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status));    \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (false)

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

/// SM clock in MHz by NVML, or 0.
unsigned smClock()
{
    using Device = void*;
    static void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library)
        return 0;
    static const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    static const auto handle =
        reinterpret_cast<int (*)(unsigned, Device*)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    static const auto clock =
        reinterpret_cast<int (*)(Device, int, unsigned*)>(dlsym(library, "nvmlDeviceGetClockInfo"));
    static Device device = [] {
        Device found = nullptr;
        return init && handle && init() == 0 && handle(0, &found) == 0 ? found : nullptr;
    }();
    unsigned value = 0;
    constexpr int kSm = 1;
    return device && clock && clock(device, kSm, &value) == 0 ? value : 0;
}

struct Shape {
    std::string name;
    long m, n, k;                  ///< target (m, n) by rows
    bool aTransposed, bTransposed; ///< as stored: a (m, k) or (k, m), b (k, n) or (n, k), by rows
    bool isFp32 = false;
};

struct Matrix {
    void* data = nullptr;
    explicit Matrix(std::size_t count, std::size_t bytes)
    {
        CHECK(cudaMalloc(&data, count * bytes));
        // Random bf16 numbers of about 1: products of zeros take less power.
        std::vector<unsigned short> values(std::min<std::size_t>(count * bytes / 2, 1 << 22));
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (auto& value : values) {
            const float x = normal(random);
            value = static_cast<unsigned short>(reinterpret_cast<const unsigned&>(x) >> 16);
        }
        for (std::size_t at = 0; at < count * bytes / 2; at += values.size())
            CHECK(cudaMemcpy(static_cast<unsigned short*>(data) + at, values.data(),
                             2 * std::min(values.size(), count * bytes / 2 - at), cudaMemcpyHostToDevice));
    }
    ~Matrix() { cudaFree(data); }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
};

struct Timer {
    cudaEvent_t begin, end;
    Timer()
    {
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
    }
    template <class Run> float milliseconds(int count, const Run& run)
    {
        CHECK(cudaEventRecord(begin));
        for (int i = 0; i < count; ++i)
            run();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float time = 0;
        CHECK(cudaEventElapsedTime(&time, begin, end));
        return time / static_cast<float>(count);
    }
};

void measure(cublasLtHandle_t handle, const Shape& shape, float loadMilliseconds, int rounds, void* workspace)
{
    Matrix a(static_cast<std::size_t>(shape.m * shape.k), 2),
        b(static_cast<std::size_t>(shape.k * shape.n), 2);
    Matrix target(static_cast<std::size_t>(shape.m * shape.n), shape.isFp32 ? 4 : 2);
    cublasLtMatmulDesc_t product{};
    CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    // By columns, in which a matrix stored by rows is its transpose: target^T = b^T a^T.
    const auto operation = [&](cublasLtMatmulDescAttributes_t which, bool isTransposed) {
        const cublasOperation_t value = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        CHECK(cublasLtMatmulDescSetAttribute(product, which, &value, sizeof(value)));
    };
    operation(CUBLASLT_MATMUL_DESC_TRANSA, shape.bTransposed);
    operation(CUBLASLT_MATMUL_DESC_TRANSB, shape.aTransposed);
    const auto layout = [](cudaDataType_t type, long rows, long columns) {
        cublasLtMatrixLayout_t made{};
        CHECK(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(columns),
                                         static_cast<std::uint64_t>(rows), columns));
        return made;
    };
    const auto bLayout =
        shape.bTransposed ? layout(CUDA_R_16BF, shape.n, shape.k) : layout(CUDA_R_16BF, shape.k, shape.n);
    const auto aLayout =
        shape.aTransposed ? layout(CUDA_R_16BF, shape.k, shape.m) : layout(CUDA_R_16BF, shape.m, shape.k);
    const auto targetLayout = layout(shape.isFp32 ? CUDA_R_32F : CUDA_R_16BF, shape.m, shape.n);
    cublasLtMatmulPreference_t preference{};
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspaceBytes, sizeof(kWorkspaceBytes)));
    const std::uint32_t reductions =
        CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                               &reductions, sizeof(reductions)));
    std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
    int count = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, product, bLayout, aLayout, targetLayout, targetLayout,
                                         preference, 8, results.data(), &count));
    const float one = 1, zero = 0;
    const auto run = [&](int i) {
        CHECK(cublasLtMatmul(handle, product, &one, b.data, bLayout, a.data, aLayout, &zero, target.data,
                             targetLayout, target.data, targetLayout,
                             &results[static_cast<std::size_t>(i)].algo, workspace, kWorkspaceBytes,
                             nullptr));
    };
    Timer timer;
    const auto number = static_cast<std::size_t>(count);
    std::vector<float> moment(number, 1e9F), load(number);
    std::vector<unsigned> clocks(number);
    for (int i = 0; i < count; ++i)
        timer.milliseconds(2, [&] { run(i); });
    const float least = timer.milliseconds(2, [&] { run(0); });
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < 3; ++round)
        for (int i = 0; i < count; ++i)
            moment[static_cast<std::size_t>(i)] =
                std::min(moment[static_cast<std::size_t>(i)],
                         timer.milliseconds(std::clamp(static_cast<int>(1 / least), 1, 50), [&] { run(i); }));
    // First until the clock has settled.
    const int many = std::max(1, static_cast<int>(loadMilliseconds / least));
    timer.milliseconds(3 * many, [&] { run(0); });
    std::vector<std::vector<float>> times(number);
    std::mt19937 random(11);
    std::vector<int> order(number);
    for (int i = 0; i < count; ++i)
        order[static_cast<std::size_t>(i)] = i;
    for (int round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const int i : order) {
            const auto at = static_cast<std::size_t>(i);
            times[at].push_back(timer.milliseconds(many, [&] { run(i); }));
            clocks[at] = smClock();
        }
    }
    for (std::size_t i = 0; i < number; ++i) {
        std::ranges::nth_element(times[i], times[i].begin() + times[i].size() / 2);
        load[i] = times[i][times[i].size() / 2];
    }
    const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k) / 1e9;
    const auto bestMoment = std::ranges::min_element(moment) - moment.begin();
    const auto bestLoad = std::ranges::min_element(load) - load.begin();
    for (std::size_t i = 0; i < number; ++i)
        std::printf("%-14s algorithm %zu: %.1f TFLOP/s for a moment, %.1f under load at %u MHz%s%s\n",
                    shape.name.c_str(), i, flops / moment[i], flops / load[i], clocks[i],
                    static_cast<long>(i) == bestMoment ? ", best for a moment" : "",
                    static_cast<long>(i) == bestLoad ? ", best under load" : "");
    std::printf(
        "%-14s chosen for a moment takes %.4f of the time of the best under load; the first proposal %.4f\n",
        shape.name.c_str(),
        load[static_cast<std::size_t>(bestMoment)] / load[static_cast<std::size_t>(bestLoad)],
        load[0] / load[static_cast<std::size_t>(bestLoad)]);
    std::fflush(stdout);
}

} // namespace

int main(int count, char** words)
{
    if (count < 4) {
        std::fprintf(stderr, "usage: algorithms TOKENS WIDTH HIDDEN [MILLISECONDS [ROUNDS]]\n");
        return 2;
    }
    const long tokens = std::atol(words[1]), width = std::atol(words[2]), hidden = std::atol(words[3]);
    const float milliseconds = count > 4 ? static_cast<float>(std::atof(words[4])) : 60;
    const int rounds = count > 5 ? std::atoi(words[5]) : 3;
    cublasLtHandle_t handle{};
    CHECK(cublasLtCreate(&handle));
    void* workspace = nullptr;
    CHECK(cudaMalloc(&workspace, kWorkspaceBytes));
    const struct {
        const char* name;
        long out, in;
    } weights[] = {{"qkv", 3 * width, width},
                   {"projection", width, width},
                   {"gate and up", 2 * hidden, width},
                   {"down", width, hidden}};
    // Weights (out, in) by rows: y = x w^T, gradX = gradY w, gradW = gradY^T x in fp32.
    for (const auto& weight : weights) {
        measure(handle, {std::string(weight.name) + " y", tokens, weight.out, weight.in, false, true},
                milliseconds, rounds, workspace);
        measure(handle, {std::string(weight.name) + " dx", tokens, weight.in, weight.out, false, false},
                milliseconds, rounds, workspace);
        measure(handle, {std::string(weight.name) + " dw", weight.out, weight.in, tokens, true, false, true},
                milliseconds, rounds, workspace);
    }
    return 0;
}
