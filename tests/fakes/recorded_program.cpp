// A program that uses NVTX and, through the fake CUPTI that it links, CUDA; it knows nothing of the recorder. What
// the CUDA driver does at cuInit it does itself: it loads CUDA_INJECTION64_PATH.

#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

extern "C" void fakeLaunch(const char* kernel);
extern "C" void fakeCapture();
extern "C" void fakeReplay();
extern "C" void fakeRival();
extern "C" void fakeTearDown();
extern "C" void fakeWait();
extern "C" void fakeProfiler(int starts);
extern "C" int fakeFinalized();
extern "C" void fakeContext(std::uint64_t context, int isCreated);
extern "C" void fakeModule(std::uint64_t context, int isLoaded, const char* cubin, std::size_t bytes);
extern "C" void fakeSamples(std::uint64_t context, const char* cubin, std::size_t bytes, const char* symbol,
                            std::uint64_t offset, const char* reason, std::uint32_t samples,
                            std::uint32_t unissued);
extern "C" int fakeSamplingIsOn(std::uint64_t context);

namespace {

void initialiseCuda()
{
    const char* path = std::getenv("CUDA_INJECTION64_PATH");
    void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
    if (library)
        reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
}

/// Ranges of every form that NVTX has, with launches in them.
void step()
{
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    static const nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
    nvtxRangePushA("step");
    nvtxRangePushA("forward");
    fakeLaunch("gemm");
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = name;
    nvtxDomainRangePushEx(domain, &attributes);
    fakeLaunch("softmax");
    // Domains do not nest in each other.
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    const nvtxRangeId_t upload = nvtxRangeStartA("upload");
    std::thread([upload] { nvtxRangeEnd(upload); }).join();
    nvtxRangePop();
}

/// As the bootstrap in Python does.
void tellRecorder(const char* message)
{
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = message;
    nvtxDomainMarkEx(nvtxDomainCreateA("tilescope"), &attributes);
}

/// Behaves like PyTorch's emit_nvtx after the bootstrap has asked the recorder to record operators.
void runOps()
{
    tellRecorder("ops");
    nvtxRangePushA("forward");
    nvtxRangePushA("aten::mm, seq = 3, op_id = 7, sizes = [[4, 8], [8, 2]], input_op_ids = [(2,0), (5,1)]");
    fakeLaunch("mm");
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePushA("autograd::engine::evaluate_function: MmBackward0, seq = 3, op_id = 9");
    fakeLaunch("mm_backward");
    nvtxRangePop();
}

/// What NCCL does: a range of its domain, with the arguments attached as nvToolsExtPayload.h says, and a kernel in it.
void reduceByNccl()
{
    struct {
        std::uint64_t communicator = 0xab;
        std::uint64_t bytes = 4096;
        std::uint64_t operation = 0;
    } arguments;
    struct {
        std::uint64_t schema = 0;
        std::size_t bytes = sizeof(arguments);
        const void* data = nullptr;
    } payload;
    payload.data = &arguments;
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "ncclAllReduce";
    attributes.payloadType = static_cast<std::int32_t>(0xDFBD0009);
    attributes.reserved0 = 1;
    attributes.payload.ullValue = reinterpret_cast<std::uint64_t>(&payload);
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
    nvtxDomainRangePushEx(domain, &attributes);
    fakeLaunch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    nvtxDomainRangePop(domain);
}

/// Captures a graph in one range and replays it in another.
void replayGraph()
{
    nvtxRangePushA("module");
    fakeCapture();
    nvtxRangePop();
    nvtxRangePushA("replays");
    for (int i = 0; i < 3; ++i)
        fakeReplay();
    nvtxRangePop();
}

void pause(int milliseconds)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// Behaves like Proton, whose start the bootstrap tells the recorder: subscribes to CUPTI, runs, and leaves it.
void profileAsProton()
{
    tellRecorder("yield to proton");
    static int launches = 0;
    const auto count = [](void* /*owner*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                          const void* /*data*/) { ++launches; };
    char oldName[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "Proton";
    parameters.oldSubscriberName = oldName;
    parameters.oldSubscriberSize = sizeof(oldName);
    CUpti_SubscriberHandle subscriber = nullptr;
    const CUptiResult result = cuptiSubscribe_v2(&subscriber, +count, nullptr, &parameters);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    step();
    pause(300);                      // the recorder goes on with ranges
    tellRecorder("yield to proton"); // a second start
    step();
    std::printf("subscribed with %d, %d callbacks\n", static_cast<int>(result), launches);
    std::fprintf(stderr, "finalized: %d\n", fakeFinalized());
    // The process ends while it is subscribed.
}

std::string contentsOf(const char* file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs sampled kernels of a module in two contexts. Their samples are those of one call each of fakeSamples().
void runSampled(const char* file)
{
    const std::string cubin = contentsOf(file);
    const auto sample = [&](std::uint64_t context, const char* symbol, std::uint64_t offset,
                            const char* reason, std::uint32_t samples, std::uint32_t unissued) {
        fakeSamples(context, cubin.data(), cubin.size(), symbol, offset, reason, samples, unissued);
    };
    for (const std::uint64_t context : {1, 2}) {
        fakeContext(context, 1);
        fakeModule(context, 1, cubin.data(), cubin.size());
    }
    for (int i = 0; i < 3; ++i) {
        fakeLaunch("_Z5scalePfi");
        for (std::uint64_t offset = 0; offset < 160; offset += 16)
            sample(1, "_Z5scalePfi", offset, "long_scoreboard", 10, 4);
        sample(1, "_Z5scalePfi", 32, "selected", 5, 0);
        pause(300); // they are read meanwhile
    }
    sample(2, "_Z5chasePKjPji", 64, "barrier", 7, 7);
    // What is left of a context that ends.
    fakeContext(2, 0);
    // What is left at the end of the process.
    sample(1, "_Z5chasePKjPji", 64, "barrier", 11, 1);
    fakeModule(1, 0, cubin.data(), cubin.size());
    sample(1, "_Z5chasePKjPji", 80, "barrier", 2, 0);
}

/// Runs a sampled kernel for a time in which instructions and metrics take turns; says how often sampling of instructions began.
void runInTurns(const char* file, int milliseconds)
{
    const std::string cubin = contentsOf(file);
    fakeContext(1, 1);
    fakeModule(1, 1, cubin.data(), cubin.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    int begun = 0;
    bool wasOn = false;
    while (std::chrono::steady_clock::now() < end) {
        const bool isOn = fakeSamplingIsOn(1) != 0;
        begun += isOn && !wasOn ? 1 : 0;
        wasOn = isOn;
        fakeLaunch("_Z5scalePfi");
        fakeSamples(1, cubin.data(), cubin.size(), "_Z5scalePfi", 32, "long_scoreboard", 10, 4);
        pause(5);
    }
    std::printf("instructions were sampled %d times\n", begun);
}

} // namespace

int main(int argc, char** argv)
{
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "rival")
        fakeRival();
    initialiseCuda();
    for (int i = 0; i < 3; ++i)
        step();
    if (what == "ops")
        runOps();
    if (what == "graph")
        replayGraph();
    if (what == "nccl")
        reduceByNccl();
    if (what == "inside") // file of a module
        runSampled(argv[2]);
    if (what == "turns") // file of a module, milliseconds
        runInTurns(argv[2], std::atoi(argv[3]));
    std::puts("three steps");
    std::fflush(stdout);
    if (what == "exit")
        return 7;
    if (what == "profiler") {
        fakeProfiler(1);
        step();
        fakeProfiler(0);
        step();
        fakeProfiler(1);
        step();
    }
    if (what == "toggles") {
        // The recorder's thread ends parts of the recording meanwhile, by --seconds.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (std::chrono::steady_clock::now() < end) {
            for (int i = 0; i < 20; ++i)
                fakeProfiler(i % 2 == 0 ? 0 : 1);
            step();
        }
        fakeProfiler(0);
    }
    if (what == "yield") {
        // Behaves like the bootstrap when the program starts torch.profiler.
        tellRecorder("yield");
        step();
    }
    if (what == "proton")
        profileAsProton();
    if (what == "torch, proton") {
        tellRecorder("yield");
        tellRecorder("yield to proton");
        step();
        std::fprintf(stderr, "finalized: %d\n", fakeFinalized());
    }
    if (what == "graph, proton") {
        replayGraph();
        profileAsProton();
    }
    if (what == "many") {
        pause(1000);
        for (int i = 0; i < 2000; ++i)
            fakeLaunch("many");
    }
    if (what == "watched")
        for (int i = 0;; ++i) {
            step();
            pause(5);
            fakeWait();
            if (i % 20 == 0) {
                std::printf("turn %d, CUPTI left %d times\n", i, fakeFinalized());
                std::fflush(stdout);
            }
            if (access("end", F_OK) == 0)
                return 0;
        }
    if (what == "kill" || what == "crash") {
        pause(1000);
        std::raise(what == "kill" ? SIGKILL : SIGSEGV);
    }
    if (what == "torn down") {
        pause(1000);
        fakeTearDown();
    }
    if (what == "terminate") {
        pause(300); // the recorder asks CUPTI for its records every tenth of a second
        std::raise(SIGTERM);
    }
    if (what == "signal") { // number
        pause(300);
        std::raise(std::atoi(argv[2]));
    }
    if (what == "_exit")
        _exit(3);
    if (what == "quick_exit")
        std::quick_exit(3);
    if (what == "daemon") { // goes on in the background for some time
        if (fork() != 0)
            return 0;
        setsid();
        for (int i = 0; i < 20; ++i) {
            step();
            pause(50);
        }
        std::exit(0);
    }
    if (what == "wait")
        pause(60'000);
    if (what == "fork") {
        const pid_t child = fork();
        if (child == 0) {
            step();
            std::exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return status == 0 ? 0 : 1;
    }
    return 0;
}
