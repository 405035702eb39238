#pragma once

#include "core/analysis/advice/stake.h"
#include "core/query/advice/advice_table.h"
#include "core/query/advice/advice_trace.h"
#include "core/query/advice/methods_in_use.h"
#include "core/query/advice/waiting_advice.h"
#include "core/query/generation/generation_table.h"
#include "core/query/kernels/kernel_use.h"
#include "core/query/ranks/rank_delays.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Why a rule about the GPU is not judged.
inline constexpr const char* kNoGpu = "no GPU activity was recorded";

inline bool isCompute(const ActivityKind& kind)
{
    return kind.work == analysis::DeviceWork::Compute;
}

inline bool isCommunication(const ActivityKind& kind)
{
    return kind.work == analysis::DeviceWork::Communication;
}

inline bool isKernel(const ActivityKind& kind)
{
    return kind.event == DeviceEventKind::Kernel;
}

/// Applies the rules to the traces: to each process by itself, so that what is at stake in a mean step is the mean of
/// theirs. Used once, by one thread.
///
/// The rules are in files by what they are about: advisor_idle.cpp, advisor_kernels.cpp, advisor_hardware.cpp for what was
/// sampled of the GPU, advisor_generation.cpp, and advisor_transfers.cpp for copies, collectives and ranks. advisor.cpp has
/// what they share.
class Advisor {
public:
    Advisor(const store::RunReader& reader, AdviceTraces traces);
    AdviceTable judge(const RankDelays& delays);

private:
    using AdviceRule = analysis::AdviceRule;
    using Stake = analysis::Stake;

    /// Of steps that the host limits, what only shortens kernels comes after the rest, and says so.
    void putHiddenLast();
    void cannotJudge(AdviceRule rule, std::string why) { table_.unjudged.push_back({rule, std::move(why)}); }
    /// Whether there is GPU activity; otherwise notes why the rule is not judged.
    bool hasGpuFor(AdviceRule rule);
    std::string timeText(Nanoseconds time) const;
    /// "12 small kernels" in a mean step.
    std::string countText(const Stake& stake, std::string_view one, std::string_view several = {}) const;
    double countOf(const Stake& stake) const; ///< in a mean step
    /// The word that follows countText(): "runs" or "run".
    std::string_view verb(const Stake& stake, std::string_view one, std::string_view several) const
    {
        return countOf(stake) == 1 ? one : several;
    }
    std::string show(const std::string& section) const;
    /// A section about all ranks.
    std::string showAll(const std::string& section) const;
    bool isWorthNaming(Nanoseconds atStake) const;
    void add(AdviceRule rule, const Stake& stake, Advice advice);
    std::uint32_t kernelSource(const ActivityKind& kind, std::string note = {});
    std::uint32_t copySource(const ActivityKind& kind);
    std::uint32_t placeSource(const ActivityKind& kind);
    /// The sum over the processes.
    /// \param ofOne  the stake of a trace
    template <class OfOne> Stake sumOver(const OfOne& ofOne)
    {
        std::vector<Stake> stakes;
        for (AdviceTrace& trace : traces_.processes)
            stakes.push_back(ofOne(trace));
        return analysis::sumOf(stakes);
    }
    std::string ofAStep() const { return isWhole_ ? " of the recording" : " of a step"; }
    std::string inAStep() const { return isWhole_ ? " in the recording" : " in a step"; }
    /// The idle times of the steps; without steps the path of the whole recording.
    std::string showSteps() const { return show(isWhole_ ? "path" : "steps"); }
    /// \param command   shows related rows
    /// \param sentence  makes it; called if enough is at stake
    template <class Sentence>
    void find(AdviceRule rule, const Stake& stake, std::string command, const Sentence& sentence)
    {
        if (isWorthNaming(stake.time))
            add(rule, stake, {.sentence = sentence(), .command = std::move(command)});
    }

    // Idle time of the GPU, and what the host does meanwhile.
    void judgeIdle();
    /// " Most at train.py:41 in step: 12.1 ms of a step (11.0 ms to 13.2 ms)." Empty: no line is known, or the time of that
    /// line is more than is at stake, because other rules count a part of it.
    std::string costliest(std::initializer_list<analysis::HostCause> causes, Nanoseconds stake) const;
    /// " 28.1 ms are below LlamaForCausalLM, forward of modeling_llama.py:26: compile that module."
    std::string moduleText(Nanoseconds stake) const;
    /// " Between a.py:12 and a.py:15, 54 of 432 waits take 90 % of 40.7 ms, …". Empty: the waits there are alike, or short.
    std::string placeText(Nanoseconds stake) const;
    void judgeHost();
    void startUp(const Stake& stake);
    void loading(const Stake& stake);
    void launching(const Stake& stake);
    /// Of the idle time, the share in which no thread runs code that records itself.
    std::string pythonText() const;
    /// As the steps of the run show it: whatever made the host late. 0 if the whole recording counts as one step.
    Nanoseconds idleWhileLaunching() const;
    void synchronization(const Stake& stake);
    void memory(const Stake& stake);
    /// Steps that replay no graph, while others replay most of their work.
    void judgeEagerSteps();
    Bytes meanOfProcesses(Bytes AdviceTrace::*bytes) const;

    // Programs that generate text, in advisor_generation.cpp. Before judgeIdle(), which takes the reasons of idle times.
    void judgeGeneration();
    void hostBoundDecode();
    void growingAttention();
    void smallBatch();
    void stallingPrefill();
    void hostSampling();
    void iterationCopies();
    /// The walls of a process' decode iterations within its steps.
    std::vector<analysis::Interval> decodeWalls(const AdviceTrace& trace) const;
    /// Whether most decode iterations have one of these activities, whose times are in start order.
    bool isInMost(const AdviceTrace& trace, const std::vector<analysis::GroupedTime>& times) const;
    /// Copies from the GPU in decode iterations that are larger than ids of tokens: indices of activities.
    std::vector<std::uint32_t> logitCopies(const AdviceTrace& trace) const;

    // Kernels of the GPU.
    void judgeSmallKernels();
    void judgeLayouts();
    void judgeOccupancy();
    bool knowsRates() const;
    void judgeTensorCores();
    void judgeConversions();
    void judgeRecomputation();
    /// Of sampled kernels.
    void judgeStalls();

    // What was sampled of the hardware: advisor_hardware.cpp.
    void judgeHardware();
    void judgeTensorPipe(const KernelUses& uses);
    void judgeTraffic(const KernelUses& uses);
    void judgeIssue(const KernelUses& uses);
    void judgeClocks();
    /// A finding about kernels by their use of the hardware.
    struct UseFinding {
        Stake stake;
        const KernelUse* use = nullptr; ///< of the kernel with the most at stake
        const ActivityKind* kind = nullptr;
    };
    /// \param share  of a kernel's time that is at stake; none: the kernel does not count
    /// \param noteOf words for its row of evidence
    UseFinding
    findUse(const KernelUses& uses,
            const std::function<std::optional<double>(const ActivityKind&, const KernelUse&)>& share,
            const std::function<std::string(const KernelUse&)>& noteOf);
    std::string showKernel(const std::string& section, const ActivityKind& kind) const;

    // Copies, collectives and ranks.
    void judgeCopies();
    /// Copies that cannot be hidden beside kernels, because there are too few of these: only fewer bytes help.
    /// \param hidden  what page-locked memory, or copies beside kernels, save at most
    void judgeHostCopies(Nanoseconds hidden);
    /// " Every step copies the same 5 sizes, 1.2 GB in all; …": what is copied again may not have changed.
    std::string equalCopiesText() const;
    void judgeCommunication();
    /// All-reduces of few bytes take their latency, however few the bytes are.
    void judgeSmallCollectives();
    /// Time without compute that the ranks wait, by name and place.
    Stake stakeOfDelays(const RankDelays& delays, std::vector<RankDelay> RankDelays::Waiting::*list,
                        const char* kind);
    void judgeRanks(const RankDelays& delays);
    void judgeUnevenRanks();

    const store::RunReader& reader_;
    AdviceTraces traces_;
    WaitingAdvice waiting_;
    MethodsInUse methods_;
    bool onGpu_;
    bool isWhole_;                 ///< no steps were recorded
    Nanoseconds idle_{0};          ///< of the GPUs in all steps, for reasons that the recording may hold
    Nanoseconds unrecorded_{0};    ///< beside it: the GPUs work on, or wait for, what was not recorded
    Nanoseconds outsideOfCode_{0}; ///< of it: no thread is in an op or a CUDA call
    GenerationTable generation_;   ///< of the run
    AdviceTable table_;
};

} // namespace tilescope::query
