#include "tests/support/simulator/random_program.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace tilescope::simulator {

namespace {

constexpr std::int32_t kComputeStream = 7;
constexpr std::int32_t kSideStream = 13;
constexpr std::int32_t kCommunicationStream = 17;

struct KernelName {
    Work work = Work::Matmul;
    std::string_view name;
    std::string_view op;
};
constexpr std::array kKernelNames{
    KernelName{Work::Matmul, "ampere_sgemm_128x64_tn", "aten::mm"},
    KernelName{Work::Attention,
               "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
               "cutlass::bfloat16_t> >(Flash_fwd_params)",
               "aten::_flash_attention_forward"},
    KernelName{Work::Elementwise,
               "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
               "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
               "aten::add"},
    KernelName{Work::Softmax,
               "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, "
               "false>(float*, float const*, int, int, int)",
               "aten::_softmax"},
    KernelName{Work::Norm,
               "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, "
               "false>(int, float, float const*, float const*, float const*, float*, float*, float*)",
               "aten::native_layer_norm"},
    KernelName{Work::Embedding,
               "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, "
               "long, long, bool)",
               "aten::embedding"},
};

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    double real(double low, double high)
    {
        return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1.0p-53;
    }
    std::int64_t integer(std::int64_t low, std::int64_t high)
    {
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(double probability) { return real(0, 1) < probability; }
    double logarithmic(double low, double high) { return std::exp(real(std::log(low), std::log(high))); }

private:
    std::mt19937_64 engine_;
};

Duration nanoseconds(double value)
{
    return Duration(std::llround(value));
}

enum class StepEnd : std::uint8_t { Free, Item, SyncStream, SyncDevice };

struct KernelPlan {
    KernelName name;
    double duration = 0; ///< ns
};

/// What all steps and ranks of a program have in common. Durations are in nanoseconds.
struct Plan {
    std::size_t ranks = 1;
    std::int64_t steps = 6;
    std::vector<KernelPlan> forward;
    std::vector<KernelPlan> backward;
    std::vector<KernelPlan> update;
    double hostRatio = 0.5;      ///< of the host's time for a launch to the mean kernel
    bool isHostByKernel = false; ///< the ratio holds for each kernel
    double jitter = 0.05;
    double latency = 4'500;
    double gap = 1'100;
    StepEnd end = StepEnd::Free;
    bool hasOps = true;
    bool hasSideStream = false;
    bool hasPageableInput = false;
    bool hasPinnedInput = false;
    bool hasPageableOutput = false;
    bool readsMidStep = false;
    double workerLoading = 0; ///< a worker takes so long for a batch; 0: there is none
    double ownLoading = 0;    ///< the program itself
    double allocation = 0;
    bool frees = false;
    bool hasGraph = false;
    bool hasBackwardThread = false;
    double compilation = 0; ///< in the first step
    double lateness = 0;    ///< additional time of the last rank
    bool isLateOnDevice = false;
    std::size_t collectives = 0; ///< a step
    bool overlaps = false;
    double transfer = 0;
    double tracing = 0;

    double meanKernel() const
    {
        double sum = 0;
        std::size_t count = 0;
        for (const std::vector<KernelPlan>* kernels : {&forward, &backward, &update})
            for (const KernelPlan& kernel : *kernels) {
                sum += kernel.duration;
                ++count;
            }
        return sum / static_cast<double>(std::max<std::size_t>(count, 1));
    }
    double deviceTime() const
    {
        return meanKernel() * static_cast<double>(forward.size() + backward.size() + update.size());
    }
};

/// Writes the instructions of one rank.
class RankWriter {
public:
    RankWriter(const Plan& plan, std::size_t rank, Random& random) : plan_(plan), rank_(rank), random_(random)
    {
        isLate_ = plan.lateness > 0 && rank + 1 == plan.ranks;
    }

    std::vector<SimulatedThread> write()
    {
        const auto number = static_cast<std::int64_t>(4000 + 100 * rank_);
        SimulatedThread main{.rank = rank_, .number = number};
        SimulatedThread backward{.rank = rank_, .number = number + 1};
        SimulatedThread worker{.rank = rank_, .number = number + 2, .isInOtherProcess = true};
        for (step_ = 0; step_ < plan_.steps; ++step_) {
            Instruction step{.action = Action::Range,
                             .number = step_,
                             .range = RangeKind::Step,
                             .name = "ProfilerStep#" + std::to_string(step_)};
            addStep(step.body, backward.instructions);
            main.instructions.push_back(std::move(step));
            addBatch(worker.instructions);
        }
        std::vector<SimulatedThread> threads{std::move(main)};
        if (plan_.hasBackwardThread)
            threads.push_back(std::move(backward));
        if (plan_.workerLoading > 0)
            threads.push_back(std::move(worker));
        return threads;
    }

private:
    using Body = std::vector<Instruction>;

    // Flags of a step.
    std::int64_t batchFlag(std::int64_t step) const { return step * 10 + 1; }
    std::int64_t takenFlag(std::int64_t step) const { return step * 10 + 2; }
    std::int64_t backwardFlag() const { return step_ * 10 + 3; }
    std::int64_t doneFlag() const { return step_ * 10 + 4; }

    double vary(double value) { return value * random_.real(1 - plan_.jitter, 1 + plan_.jitter); }

    void addHost(Body& body, double duration, Work work = Work::Host)
    {
        if (duration >= 1)
            body.push_back(
                {.action = Action::Compute, .work = work, .duration = nanoseconds(vary(duration))});
    }

    Instruction command(Action action, Work work, double duration, double call)
    {
        return {.action = action,
                .work = work,
                .duration = nanoseconds(vary(duration)),
                .call = nanoseconds(vary(call)),
                .latency = nanoseconds(random_.real(0.9, 1.1) * plan_.latency),
                .gap = nanoseconds(random_.real(0.9, 1.1) * plan_.gap)};
    }

    double hostTimeOf(const KernelPlan& kernel) const
    {
        return plan_.hostRatio * (plan_.isHostByKernel ? kernel.duration + plan_.gap : plan_.meanKernel());
    }

    void addKernel(Body& body, const KernelPlan& kernel, std::int32_t stream = kComputeStream)
    {
        const double host = hostTimeOf(kernel);
        const double call = std::clamp(host * 0.4, 1'500.0, 6'000.0);
        const double rest = std::max(0.0, host - call);
        Instruction launch = command(Action::Launch, kernel.name.work, kernel.duration, call);
        launch.stream = stream;
        launch.name = kernel.name.name;
        addHost(body, 0.3 * rest);
        if (!plan_.hasOps) {
            addHost(body, 0.7 * rest);
            body.push_back(std::move(launch));
            return;
        }
        Instruction op{.action = Action::Range, .name = std::string(kernel.name.op)};
        addHost(op.body, 0.5 * rest);
        op.body.push_back(std::move(launch));
        addHost(op.body, 0.2 * rest);
        body.push_back(std::move(op));
    }

    void addCopy(Body& body, CopyKind kind, bool isPageable, double duration)
    {
        Instruction copy = command(Action::Copy, Work::Copy, duration, 5'000);
        copy.copy = kind;
        copy.isPageable = isPageable;
        copy.bytes = std::llround(duration * 20); // 20 GB/s
        Instruction op{.action = Action::Range, .name = "aten::copy_"};
        addHost(op.body, 3'000);
        op.body.push_back(std::move(copy));
        body.push_back(std::move(op));
    }

    /// Reads a value, as Tensor.item() does.
    void addItem(Body& body)
    {
        Instruction op{.action = Action::Range, .name = "aten::item"};
        Instruction inner{.action = Action::Range, .name = "aten::_local_scalar_dense"};
        addHost(inner.body, 2'000);
        Instruction copy = command(Action::Copy, Work::Copy, 1'500, 6'000);
        copy.copy = CopyKind::DeviceToHost;
        copy.isPageable = true;
        copy.bytes = 4;
        inner.body.push_back(std::move(copy));
        addSync(inner.body, Action::SyncStream);
        op.body.push_back(std::move(inner));
        body.push_back(std::move(op));
    }

    void addSync(Body& body, Action action)
    {
        body.push_back({.action = action, .call = nanoseconds(vary(1'500)), .stream = kComputeStream});
    }

    void addEvent(Body& body, Action action, std::int32_t stream, std::int64_t event)
    {
        body.push_back({.action = action, .call = nanoseconds(vary(900)), .stream = stream, .number = event});
    }

    void addLoading(Body& body)
    {
        if (plan_.workerLoading <= 0 && plan_.ownLoading <= 0)
            return;
        const bool isOwn = plan_.workerLoading <= 0;
        Instruction range{.action = Action::Range,
                          .range = RangeKind::Annotation,
                          .name = isOwn ? "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
                                        : "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"};
        if (!isOwn)
            range.body.push_back(
                {.action = Action::Await, .work = Work::Loading, .number = batchFlag(step_)});
        addHost(range.body, isOwn ? plan_.ownLoading : 30'000, Work::Loading);
        body.push_back(std::move(range));
        if (!isOwn)
            body.push_back({.action = Action::Signal, .number = takenFlag(step_)});
    }

    void addBatch(Body& worker)
    {
        constexpr std::int64_t kPrefetched = 2;
        if (step_ >= kPrefetched)
            worker.push_back(
                {.action = Action::Await, .work = Work::Loading, .number = takenFlag(step_ - kPrefetched)});
        addHost(worker, plan_.workerLoading, Work::Loading);
        worker.push_back({.action = Action::Signal, .number = batchFlag(step_)});
    }

    void addForward(Body& body)
    {
        if (plan_.hasGraph) {
            addGraph(body);
            return;
        }
        for (std::size_t i = 0; i < plan_.forward.size(); ++i) {
            const bool isAside = plan_.hasSideStream && i % 4 == 2 && i + 1 < plan_.forward.size();
            if (isAside) {
                addEvent(body, Action::Record, kComputeStream, ++event_);
                addEvent(body, Action::StreamWait, kSideStream, event_);
                addKernel(body, plan_.forward[i], kSideStream);
                addEvent(body, Action::Record, kSideStream, ++event_);
                sideEvent_ = event_;
            } else {
                addKernel(body, plan_.forward[i]);
                if (sideEvent_ != 0 && i % 4 == 3)
                    addEvent(body, Action::StreamWait, kComputeStream, std::exchange(sideEvent_, 0));
            }
            if (plan_.readsMidStep && i == plan_.forward.size() / 2)
                addItem(body);
        }
        if (sideEvent_ != 0)
            addEvent(body, Action::StreamWait, kComputeStream, std::exchange(sideEvent_, 0));
    }

    void addGraph(Body& body)
    {
        addHost(body, hostTimeOf(plan_.forward.front()));
        Instruction graph = command(Action::Replay, Work::Host, 0, 8'000);
        for (std::size_t i = 0; i < plan_.forward.size(); ++i) {
            Instruction node =
                command(Action::Launch, plan_.forward[i].name.work, plan_.forward[i].duration, 0);
            node.name = plan_.forward[i].name.name;
            // Each third node runs beside the one before it.
            const bool isBeside = i % 3 == 2;
            node.stream = isBeside ? kSideStream : kComputeStream;
            if (i % 3 == 0 && i > 0)
                node.after = {i - 1, i - 2};
            else if (i > 0)
                node.after = {i - (isBeside ? 2 : 1)};
            graph.body.push_back(std::move(node));
        }
        body.push_back(std::move(graph));
    }

    void addCollective(Body& body, std::vector<std::int64_t>& ends)
    {
        addEvent(body, Action::Record, kComputeStream, ++event_);
        addEvent(body, Action::StreamWait, kCommunicationStream, event_);
        Instruction collective = command(Action::Collective, Work::Communication, plan_.transfer, 8'000);
        collective.duration = nanoseconds(plan_.transfer); // the same for all ranks
        collective.stream = kCommunicationStream;
        collective.number = ++collective_;
        collective.bytes = std::llround(plan_.transfer * 100);
        collective.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
        Instruction op{.action = Action::Range, .name = "c10d::allreduce_"};
        addHost(op.body, 5'000);
        op.body.push_back(std::move(collective));
        body.push_back(std::move(op));
        addEvent(body, Action::Record, kCommunicationStream, ++event_);
        if (plan_.overlaps)
            ends.push_back(event_);
        else
            addEvent(body, Action::StreamWait, kComputeStream, event_);
    }

    void addBackward(Body& body)
    {
        std::vector<std::int64_t> ends;
        for (std::size_t i = 0; i < plan_.backward.size(); ++i) {
            addKernel(body, plan_.backward[i]);
            const std::size_t done = (i + 1) * plan_.collectives / plan_.backward.size();
            if (done > i * plan_.collectives / plan_.backward.size())
                addCollective(body, ends);
        }
        for (const std::int64_t event : ends)
            addEvent(body, Action::StreamWait, kComputeStream, event);
    }

    void addStep(Body& body, Body& backward)
    {
        addLoading(body);
        if (step_ == 0 && plan_.compilation > 0)
            addHost(body, plan_.compilation);
        if (isLate_) {
            if (plan_.isLateOnDevice) {
                KernelPlan kernel = plan_.forward.front();
                kernel.duration = plan_.lateness;
                addKernel(body, kernel);
            } else {
                addHost(body, plan_.lateness);
            }
        }
        if (plan_.hasPageableInput || plan_.hasPinnedInput)
            addCopy(body, CopyKind::HostToDevice, plan_.hasPageableInput, 60'000);
        if (plan_.allocation > 0)
            body.push_back({.action = Action::Allocate,
                            .work = Work::Allocation,
                            .duration = nanoseconds(vary(plan_.allocation))});
        addForward(body);
        if (plan_.frees)
            body.push_back({.action = Action::Free,
                            .work = Work::Allocation,
                            .duration = nanoseconds(vary(plan_.allocation)),
                            .call = nanoseconds(vary(2'000))});
        if (plan_.hasBackwardThread) {
            body.push_back({.action = Action::Signal, .number = backwardFlag()});
            backward.push_back({.action = Action::Await, .number = backwardFlag()});
            addBackward(backward);
            backward.push_back({.action = Action::Signal, .number = doneFlag()});
            body.push_back({.action = Action::Await, .number = doneFlag()});
        } else {
            addBackward(body);
        }
        if (plan_.tracing > 0 && step_ % 2 == 1)
            addHost(body, plan_.tracing, Work::Tracing);
        for (const KernelPlan& kernel : plan_.update)
            addKernel(body, kernel);
        if (plan_.hasPageableOutput)
            addCopy(body, CopyKind::DeviceToHost, true, 20'000);
        switch (plan_.end) {
        case StepEnd::Item:
            addItem(body);
            break;
        case StepEnd::SyncStream:
            addSync(body, Action::SyncStream);
            break;
        case StepEnd::SyncDevice:
            addSync(body, Action::SyncDevice);
            break;
        case StepEnd::Free:
            break;
        }
        addHost(body, 4'000);
    }

    const Plan& plan_;
    const std::size_t rank_;
    Random& random_;
    bool isLate_ = false;
    std::int64_t step_ = 0;
    std::int64_t event_ = 0;
    std::int64_t sideEvent_ = 0;
    std::int64_t collective_ = 0;
};

class ProgramMaker {
public:
    explicit ProgramMaker(std::uint64_t seed) : case_(kCases[seed % kCases.size()]), random_(seed) {}

    SimulatedProgram make()
    {
        choosePlan();
        chooseCase();
        SimulatedProgram program{.tags = {std::string(case_)}};
        program.queueDepth = queueDepth_;
        program.syncReturn = nanoseconds(random_.real(1'500, 5'000));
        program.wakeUp = nanoseconds(random_.real(5'000, 20'000));
        program.hasSyncRecords = random_.chance(0.5);
        program.clocks.assign(plan_.ranks, Duration(0));
        if (random_.chance(0.5))
            for (std::size_t rank = 1; rank < plan_.ranks; ++rank)
                program.clocks[rank] = nanoseconds(random_.real(-400'000, 400'000));
        for (std::size_t rank = 0; rank < plan_.ranks; ++rank)
            for (SimulatedThread& thread : RankWriter(plan_, rank, random_).write())
                program.threads.push_back(std::move(thread));
        if (program.hasSyncRecords)
            program.tags.emplace_back("sync-records");
        return program;
    }

private:
    std::vector<KernelPlan> kernels(std::int64_t count, double mean)
    {
        std::vector<KernelPlan> plans;
        for (std::int64_t i = 0; i < count; ++i)
            plans.push_back(
                {kKernelNames[static_cast<std::size_t>(random_.integer(0, kKernelNames.size() - 1))],
                 mean * random_.logarithmic(0.3, 2.5)});
        return plans;
    }

    void choosePlan()
    {
        const double mean = random_.logarithmic(10'000, 150'000);
        plan_.steps = random_.integer(5, 8);
        plan_.forward = kernels(random_.integer(4, 20), mean);
        plan_.backward = kernels(random_.integer(4, 20), mean);
        plan_.update = kernels(random_.integer(1, 5), mean / 2);
        for (KernelPlan& kernel : plan_.update)
            kernel.name = {Work::Optimizer,
                           "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
                           "(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::"
                           "(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::(anonymous "
                           "namespace)::ADAM_MODE)1, false> >(at::native::(anonymous namespace)::"
                           "FusedOptimizerTensorListMetadata<4>)",
                           "aten::_fused_adamw_"};
        constexpr std::array kRatios{0.15, 0.4, 0.7, 0.9, 1.1, 1.5, 3.0};
        plan_.hostRatio = kRatios[static_cast<std::size_t>(random_.integer(0, kRatios.size() - 1))];
        plan_.latency = random_.real(3'000, 6'500);
        plan_.gap = random_.real(700, 1'700);
        plan_.end = static_cast<StepEnd>(random_.integer(0, 3));
        plan_.hasOps = random_.chance(0.8);
        plan_.hasPinnedInput = random_.chance(0.3);
        if (random_.chance(0.2))
            plan_.tracing = random_.real(100'000, 1'500'000);
    }

    void chooseCase()
    {
        const bool isMixed = case_ == "mixed";
        const auto is = [&](std::string_view name) {
            return case_ == name || (isMixed && random_.chance(0.25));
        };
        if (is("slow-host")) {
            plan_.hostRatio = 1.03;
            plan_.isHostByKernel = true;
            plan_.jitter = 0.005;
            if (!isMixed) {
                plan_.end = StepEnd::Free;
                plan_.tracing = 0;
                plan_.hasPinnedInput = false; // the host would be ahead after it
                // A shorter one would not outlast the call that launches it; a longer one would delay the
                // next.
                const double duration = std::max(plan_.meanKernel(), 15'000.0);
                for (std::vector<KernelPlan>* kernels : {&plan_.forward, &plan_.backward, &plan_.update})
                    for (KernelPlan& kernel : *kernels)
                        kernel.duration = duration;
            }
        }
        if (is("full-queue")) {
            plan_.hostRatio = random_.real(0.1, 0.6);
            queueDepth_ = static_cast<std::size_t>(random_.integer(4, 48));
            plan_.end = random_.chance(0.7) ? StepEnd::Free : plan_.end;
        }
        plan_.hasSideStream = is("two-streams");
        if (is("pageable")) {
            plan_.hasPageableInput = random_.chance(0.7);
            plan_.hasPageableOutput = !plan_.hasPageableInput || random_.chance(0.5);
        }
        plan_.readsMidStep = is("item");
        if (is("slow-loader")) {
            const double time = plan_.deviceTime() * random_.real(1.2, 3) + 500'000;
            (random_.chance(0.6) ? plan_.workerLoading : plan_.ownLoading) = time;
        } else if (random_.chance(0.2)) {
            plan_.workerLoading = plan_.deviceTime() * random_.real(0.1, 0.5);
        }
        if (is("allocator")) {
            plan_.allocation = random_.real(100'000, 900'000);
            plan_.frees = random_.chance(0.6);
        }
        const bool hasLateRank = is("late-rank");
        const bool overlaps = is("overlap");
        if (hasLateRank || overlaps) {
            plan_.ranks = static_cast<std::size_t>(random_.integer(2, 4));
            plan_.collectives = static_cast<std::size_t>(random_.integer(1, 3));
            plan_.overlaps = overlaps;
            plan_.transfer = plan_.deviceTime() * random_.real(0.05, 0.4);
            plan_.lateness = hasLateRank ? plan_.deviceTime() * random_.real(0.2, 1) : 0;
            plan_.isLateOnDevice = random_.chance(0.5);
        }
        plan_.hasGraph = is("graphs");
        if (is("compile"))
            plan_.compilation = plan_.deviceTime() * random_.real(20, 60);
        plan_.hasBackwardThread = is("two-threads") || random_.chance(0.2);
    }

    std::string_view case_;
    Random random_;
    Plan plan_;
    std::size_t queueDepth_ = 1024;
};

} // namespace

SimulatedProgram randomProgram(std::uint64_t seed)
{
    return ProgramMaker(seed).make();
}

} // namespace tilescope::simulator
