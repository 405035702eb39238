#include "core/engine/run/engine.h"

#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/failure.h"
#include "core/engine/common/inspection.h"
#include "core/engine/lm/compiled_model.h"
#include "core/engine/lm/fp8_product.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/cpu_ranks.h"
#include "core/engine/ranks/gpu_ranks.h"
#include "core/engine/run/graphed_experiment.h"
#include "core/engine/run/point_run.h"
#include "core/engine/studies/ceilings.h"
#include "core/engine/studies/memory_reader.h"
#include "core/engine/studies/numerics.h"
#include "core/engine/studies/replay.h"
#include "core/model/attention_backend.h"
#include "core/model/flags.h"
#include "core/model/parallelism.h"
#include "core/model/set_up_path.h"
#include "core/model/text.h"
#include "core/trace/allocators/cpu_allocator.h"
#include "core/trace/cupti/kernel_sampler.h"
#include "core/trace/host/range.h"
#include "core/trace/tracer.h"
#include "kernels/include/kernel_set.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/DispatchStub.h>
#include <c10/util/StringUtil.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <algorithm>
#include <optional>

namespace tilescope::engine {
namespace {

int gpuCount()
{
    return at::hasCUDA() ? static_cast<int>(at::cuda::device_count()) : 0;
}

/// Rank r uses GPU r. The number of GPUs is checked when a point begins.
at::Device torchDevice(const DeviceRequest& request, int rank = 0)
{
    using Kind = DeviceRequest::Kind;
    if (request.kind == Kind::Cpu)
        return at::Device(at::kCPU);
    const int gpus = gpuCount();
    if (request.kind == Kind::Auto && gpus == 0)
        return at::Device(at::kCPU);
    if (gpus == 0)
        throw Error{.what = "no usable NVIDIA GPU on this machine",
                    .where = "device: " + toText(request),
                    .remedy = "use device: cpu or auto, or see 'tilescope doctor'",
                    .kind = ErrorKind::Environment};
    const int index = request.index.value_or(std::min(rank, gpus - 1));
    if (index >= gpus)
        throw Error{.what = c10::str("there is no GPU ", index),
                    .where = "device: " + toText(request),
                    .remedy = c10::str("this machine has ", gpus, ", numbered from 0"),
                    .kind = ErrorKind::Environment};
    return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index));
}

std::string versionText(int version, int major, int minor)
{
    return c10::str(version / major, ".", version % major / minor);
}

void addGpu(std::vector<EnvironmentEntry>& entries)
{
    int driver = 0;
    int runtime = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
        entries.push_back({"cuda_driver_api", versionText(driver, 1000, 10)});
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess)
        entries.push_back({"cuda_runtime", versionText(runtime, 1000, 10)});
    const long cudnn = at::detail::getCUDAHooks().versionRuntimeCuDNN();
    entries.push_back({"cudnn", c10::str(cudnn / 10000, ".", cudnn % 10000 / 100, ".", cudnn % 100)});
    for (int i = 0; i < gpuCount(); ++i) {
        const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(i));
        const std::string key = c10::str("gpu.", i, ".");
        entries.push_back({key + "name", gpu.name});
        entries.push_back({key + "compute_capability", c10::str(gpu.major, ".", gpu.minor)});
        entries.push_back({key + "multiprocessors", std::to_string(gpu.multiProcessorCount)});
        entries.push_back({key + "memory", std::to_string(gpu.totalGlobalMem), "B"});
        entries.push_back({key + "l2_cache", std::to_string(gpu.l2CacheSize), "B"});
    }
}

/// Copies leave more multiprocessors to products than NCCL, but take longer for short messages.
CollectiveMeans meansOf(const ExperimentSpec& spec)
{
    const CollectiveMeans chosen = chosenMeans();
    const bool runBesideProducts = hasBuckets(spec.parallel) || spec.parallel == Parallel::Fsdp;
    return chosen == CollectiveMeans::Auto && !runBesideProducts ? CollectiveMeans::Nccl : chosen;
}

/// The facts of a workload without steps; none for other workloads.
std::optional<std::vector<EnvironmentEntry>> inspect(const ExperimentSpec& spec, const Device& device)
{
    switch (spec.workload) {
    case Workload::Accumulation:
        return inspectAccumulation(device);
    case Workload::Dtypes:
        return inspectDtypes(device);
    case Workload::Products:
        return inspectProducts(device, spec.seed);
    case Workload::Attention:
    case Workload::Lm:
    case Workload::Collective:
        break;
    }
    return {};
}

std::unique_ptr<Ranks> join(const ExperimentSpec& spec, const RankInfo& rankInfo, const Device& device)
{
    if (!device.isCuda())
        return joinOnCpu(rankInfo);
    if (rankInfo.localSize > gpuCount())
        throw Unsupported{c10::str("gpus ", rankInfo.size, " needs ", rankInfo.localSize,
                                   " GPUs on this machine, which has ", gpuCount())};
    return joinOnGpus(rankInfo, device, meansOf(spec));
}

void requireNumerics(const ExperimentSpec& spec, const Device& device)
{
    if (spec.precision == Precision::Tf32 && !device.isCuda())
        throw Unsupported{"tf32 is a mode of NVIDIA tensor cores and this point runs on the CPU"};
    if (spec.precision != Precision::Fp8 || !device.isCuda())
        return;
    const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(device.torch().index());
    if (!multipliesE4m3(gpu.major, gpu.minor))
        throw Unsupported{c10::str("precision fp8 needs a GPU of compute capability 8.9 or later; ", gpu.name,
                                   " has ", gpu.major, ".", gpu.minor)};
}

} // namespace

class Engine::Impl {
public:
    explicit Impl(StringTable& table) : strings(table), defaultThreads(at::get_num_threads()) {}

    RunResult run(const ExperimentSpec& spec, const std::optional<RankInfo>& rankInfo,
                  PointObserver& observer, std::stop_token stop);

    StringTable& strings;
    int defaultThreads;

private:
    void attempt(const ExperimentSpec& spec, const std::optional<RankInfo>& rankInfo, const Device& device,
                 PointObserver& observer, std::stop_token stop, RunResult& result, std::string_view& phase);
    std::unique_ptr<Experiment> setUp(const ExperimentSpec& spec, const Device& device, Ranks* ranks,
                                      trace::KernelSampler* sampler, PointObserver& observer,
                                      RunResult& result, std::string_view phase);
};

RunResult Engine::Impl::run(const ExperimentSpec& spec, const std::optional<RankInfo>& rankInfo,
                            PointObserver& observer, std::stop_token stop)
{
    const Timestamp started = TraceClock::now();
    RunResult result;
    std::string_view phase = "setup";
    Device device{at::Device(at::kCPU)};
    try {
        device = Device{torchDevice(spec.device, rankInfo ? rankInfo->localRank : 0)};
        result.device = device.name();
        attempt(spec, rankInfo, device, observer, std::move(stop), result, phase);
    } catch (...) {
        recordFailure(result, phase);
    }
    try {
        device.liftMemoryLimit();
        device.clean();
    } catch (const c10::Error& error) {
        // The device is unusable; the result must say so whatever else happened.
        result.status = RunStatus::Error;
        result.reason =
            c10::str("the device failed after ", phase, ": ", condensed(error.what_without_backtrace()));
        result.flags.push_back(flagText(FlagKind::DeviceLost));
    }
    result.duration = TraceClock::now() - started;
    return result;
}

// If set-up runs out of memory, it is repeated with recording, which shows the failing op and the holders of
// the memory.
std::unique_ptr<Experiment> Engine::Impl::setUp(const ExperimentSpec& spec, const Device& device,
                                                Ranks* ranks, trace::KernelSampler* sampler,
                                                PointObserver& observer, RunResult& result,
                                                std::string_view phase)
{
    try {
        return makeExperiment(spec, device, ranks);
    } catch (const c10::OutOfMemoryError&) {
        // Other ranks do not repeat their set-up.
        if (!spec.memory || ranks)
            throw;
        recordFailure(result, phase);
    }
    if (sampler)
        sampler->endWatch();
    device.clean();
    trace::TracerOptions options{.level = TraceLevel::Full, .memory = true, .shapes = true};
    options.cuda = device.isCuda();
    if (device.isCuda())
        options.device = DeviceIndex{static_cast<std::int16_t>(device.torch().index())};
    trace::Tracer tracer(options, strings, observer);
    std::string otherwise = "did not run out of memory";
    tracer.start();
    try {
        const trace::ScopedRange range(kSetUpRange);
        makeExperiment(spec, device);
    } catch (const c10::OutOfMemoryError&) {
        otherwise.clear();
    } catch (const std::exception& error) {
        otherwise = c10::str("failed in another way (", condensed(error.what()), ")");
    }
    tracer.stop();
    MemoryFacts facts;
    facts.places = tracer.places();
    observer.memoryLearnt(std::move(facts));
    if (!otherwise.empty())
        result.flags.push_back(
            flagText(FlagKind::OomNotSeen, c10::str("the setup ", otherwise, " when it was repeated")));
    return nullptr;
}

void Engine::Impl::attempt(const ExperimentSpec& spec, const std::optional<RankInfo>& rankInfo,
                           const Device& device, PointObserver& observer, std::stop_token stop,
                           RunResult& result, std::string_view& phase)
{
    if (device.isCuda())
        initializeCuda();
    const int processes = rankInfo ? rankInfo->localSize : 1;
    const Numerics numerics(spec, device, std::max(1, defaultThreads / processes));
    const DeviceScope onDevice(device, replaysGraphs(spec));
    device.clean();
    device.limitMemory(spec.memoryLimit, processes);
    at::manual_seed(static_cast<std::uint64_t>(spec.seed));
    phase = wordOf(spec.workload);
    if (auto facts = inspect(spec, device)) {
        observer.factsFound(std::move(*facts));
        return;
    }
    phase = "setup";
    // Memory that this process already uses: the CUDA context, and modules and libraries loaded by previous
    // points.
    if (device.isCuda() && spec.memory) {
        MemoryFacts facts;
        facts.readings.push_back(readMemory(device, "before set-up"));
        observer.memoryLearnt(std::move(facts));
    }
    if (lacksKernels(spec.backend, device.isCuda(), kernels::hasAllCudaKernels))
        result.flags.push_back(flagText(FlagKind::SmallKernelSet));
    if (spec.compile.kind == CompileRequest::Kind::Inductor) {
        requireNumerics(spec, device);
        compiledModel(spec, device, stop, [&observer] { observer.stateChanged(PointState::Compile); });
        if (stop.stop_requested()) {
            result.status = RunStatus::Cancelled;
            return;
        }
    }
    const std::unique_ptr<Ranks> ranks = rankInfo ? join(spec, *rankInfo, device) : nullptr;
    if (ranks)
        observer.factsFound({{"result.collectives", ranks->means()}});
    // First, so that it sees all modules that the experiment loads.
    const std::unique_ptr<trace::KernelSampler> sampler =
        spec.inside && device.isCuda() ? trace::makeKernelSampler() : nullptr;
    const std::unique_ptr<Experiment> experiment =
        setUp(spec, device, ranks.get(), sampler.get(), observer, result, phase);
    if (!experiment)
        return;
    result.parameters = experiment->parameters();
    PointRun(spec, device, *experiment, ranks.get(), sampler.get(), observer, std::move(stop), result, phase,
             strings)
        .run();
}

bool lacksKernels(Backend backend, bool onGpu, bool (*hasAllCudaKernels)())
{
    // Every build has all CPU kernels.
    return onGpu && traitsOf(backend).isOurs && !hasAllCudaKernels();
}

Engine::Engine(StringTable& strings)
{
    // Before the first tensor, because earlier blocks are not counted.
    trace::CpuAllocator::install();
    impl_ = std::make_unique<Impl>(strings);
}

Engine::~Engine() = default;

RunResult Engine::runPoint(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop,
                           const std::optional<RankInfo>& rankInfo)
{
    return impl_->run(spec, rankInfo, observer, std::move(stop));
}

ReplayResult Engine::replay(const ReplayRequest& request)
{
    const Device device{torchDevice(request.device)};
    if (device.isCuda())
        initializeCuda();
    return engine::replay(request, device);
}

std::vector<Ceiling> Engine::measureCeilings(const DeviceRequest& request)
{
    const Device device{torchDevice(request)};
    if (device.isCuda())
        initializeCuda();
    try {
        device.clean();
        std::vector<Ceiling> ceilings = engine::measureCeilings(device);
        device.clean();
        return ceilings;
    } catch (const c10::Error& error) {
        throw Error{.what = c10::str("the ceilings could not be measured: ",
                                     condensed(error.what_without_backtrace())),
                    .where = device.name(),
                    .kind = ErrorKind::Failure};
    }
}

std::vector<EnvironmentEntry> Engine::environment() const
{
    std::vector<EnvironmentEntry> entries;
    entries.push_back({"libtorch", TORCH_VERSION});
    entries.push_back({"torch_cpu_capability", at::get_cpu_capability()});
    entries.push_back({"torch_threads", std::to_string(impl_->defaultThreads)});
    if (gpuCount() > 0)
        addGpu(entries);
    return entries;
}

std::string Engine::resolveDevice(const DeviceRequest& request, int rank) const
{
    return Device{torchDevice(request, rank)}.name();
}

std::unique_ptr<Experiment> makeExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks)
{
    requireNumerics(spec, device);
    if (spec.mode == Mode::Generate) {
        auto generation = makeGenerationExperiment(spec, device);
        const bool isFused = spec.compile.kind == CompileRequest::Kind::Fused;
        return spec.compile.kind == CompileRequest::Kind::Graph || (isFused && device.isCuda())
                   ? makeGraphed(std::move(generation), device, spec.timing)
                   : std::move(generation);
    }
    if (spec.compile.kind == CompileRequest::Kind::Package)
        return makePackagedExperiment(spec, device);
    if (spec.compile.kind == CompileRequest::Kind::Fused) {
        auto fused = makeFusedLmExperiment(spec, device, ranks);
        return device.isCuda() && replaysGraphs(spec) ? makeGraphed(std::move(fused), device, spec.timing)
                                                      : std::move(fused);
    }
    if (spec.compile.kind == CompileRequest::Kind::Inductor) {
        auto compiled = makeInductorLmExperiment(spec, device);
        return device.isCuda() ? makeGraphed(std::move(compiled), device, spec.timing) : std::move(compiled);
    }
    if (spec.workload == Workload::Collective) {
        if (!ranks)
            throw Error{.what = "a collective needs ranks", .where = "workload: collective"};
        return makeCollectiveExperiment(spec, device, *ranks);
    }
    auto experiment = spec.workload == Workload::Lm ? makeLmExperiment(spec, device, ranks)
                                                    : makeAttentionExperiment(spec, device);
    if (spec.compile.kind == CompileRequest::Kind::Graph)
        return makeGraphed(std::move(experiment), device, spec.timing);
    return experiment;
}

} // namespace tilescope::engine
