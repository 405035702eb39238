// Programs in which sampling of instructions has a hard time, for cases.py. Build: nvcc -lineinfo -arch=sm_90 -o cases cases.cu -lcuda.
// The modules: nvcc -cubin -lineinfo -arch=sm_90 -DALPHA (or BETA) -o FILE modules.cu. Run: cases NAME [ALPHA BETA] (files of the modules).

#include <cuda.h>
#include <cuda_runtime.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const auto error_ = (call);                                                                          \
        if (static_cast<int>(error_) != 0) {                                                                 \
            std::printf("%s: error %d\n", #call, static_cast<int>(error_));                                  \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

__global__ void gamma_work(float* out, int rounds)
{
    float a = threadIdx.x;
    for (int i = 0; i < rounds; ++i)
        a = a * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

constexpr int kRounds = 20000;

double since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

CUcontext createContext(CUdevice device)
{
    CUcontext context;
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&context, nullptr, 0, device));
#else
    CHECK(cuCtxCreate(&context, 0, device));
#endif
    return context;
}

/// Loads a module into the current context, launches its kernel for some time, and unloads it.
void useModule(const char* file, const char* name, double seconds)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr out;
    CHECK(cuModuleLoad(&module, file));
    CHECK(cuModuleGetFunction(&function, module, name));
    CHECK(cuMemAlloc(&out, 1 << 22));
    int rounds = kRounds;
    void* arguments[] = {&out, &rounds};
    const auto start = Clock::now();
    do {
        CHECK(cuLaunchKernel(function, 264, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(cuCtxSynchronize());
    } while (since(start) < seconds);
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
}

void runGamma(double seconds)
{
    float* out;
    cudaStream_t stream;
    CHECK(cudaMalloc(&out, 1 << 22));
    CHECK(cudaStreamCreate(&stream));
    const auto start = Clock::now();
    while (since(start) < seconds) {
        gamma_work<<<264, 256, 0, stream>>>(out, kRounds);
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaFree(out));
}

int main(int argc, char** argv)
{
    const std::string name = argc > 1 ? argv[1] : "";
    const char* alpha = argc > 2 ? argv[2] : "";
    const char* beta = argc > 3 ? argv[3] : "";
    if (name == "contexts") { // two contexts of a device at once; one ends before
        CHECK(cuInit(0));
        std::thread first([&] {
            CUcontext context = createContext(0);
            useModule(alpha, "alpha_work", 1.0);
            CHECK(cuCtxDestroy(context));
        });
        std::thread second([&] {
            CUcontext context = createContext(0);
            useModule(beta, "beta_work", 2.0);
            CHECK(cuCtxDestroy(context));
        });
        first.join();
        second.join();
    } else if (name == "unload") { // modules at the same addresses
        CHECK(cuInit(0));
        CUcontext context = createContext(0);
        for (int i = 0; i < 25; ++i) {
            useModule(alpha, "alpha_work", 0.03);
            useModule(beta, "beta_work", 0.03);
        }
        CHECK(cuCtxDestroy(context));
    } else if (name == "processes") {
        const pid_t child = fork();
        CHECK(cuInit(0));
        CUcontext context = createContext(0);
        useModule(child == 0 ? alpha : beta, child == 0 ? "alpha_work" : "beta_work", 1.5);
        CHECK(cuCtxDestroy(context));
        if (child == 0)
            return 0;
        int status = 0;
        waitpid(child, &status, 0);
        std::printf("child ended with %d\n", status);
    } else if (name == "threads") {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([] { runGamma(1.5); });
        for (std::thread& thread : threads)
            thread.join();
    } else if (name == "long") { // for parts of a program
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.emplace_back([] { runGamma(4); });
        for (std::thread& thread : threads)
            thread.join();
    } else if (name == "reset") { // the context ends and a new one begins
        runGamma(0.7);
        CHECK(cudaDeviceReset());
        runGamma(0.7);
    } else if (name == "graph") {
        float* out;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        CHECK(cudaMalloc(&out, 1 << 22));
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 20; ++i)
            gamma_work<<<264, 256, 0, stream>>>(out, kRounds);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        for (int i = 0; i < 100; ++i)
            CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaStreamSynchronize(stream));
    } else if (name == "exit") { // ends while the GPU works
        std::thread([] { runGamma(30); }).detach();
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        std::puts("leaves");
        std::fflush(stdout);
        _exit(3);
    } else {
        std::puts("unknown name");
        return 2;
    }
    std::puts("done");
    return 0;
}
