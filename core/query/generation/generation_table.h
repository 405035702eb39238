#pragma once

#include "core/query/generation/iterations.h"
#include "core/query/runs/generation_figures.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What the GPU does in an iteration. An instant at which several kinds run counts for the first of them.
enum class GenerationPart : std::uint8_t { Attention, Products, Sampling, Other, Communication, Copies };
inline constexpr std::size_t kGenerationParts = 6;
std::string_view wordOf(GenerationPart part); ///< attention, products, …

/// What the rows of a GenerationTable are.
enum class GenerationGroup : std::uint8_t { Iteration, Type, Batch };
std::string_view wordOf(GenerationGroup group);
/// \throws Error (Usage)  there is no such group; names those that there are
GenerationGroup generationGroupOf(std::string_view word);

/// Where the number of bytes that an iteration moves comes from.
enum class BytesSource : std::uint8_t {
    None,
    Metrics, ///< samples of the GPU's DRAM counters (record --metrics)
    Sizes,   ///< all parameters and the cache, once: what a decode iteration must read
};
std::string_view wordOf(BytesSource source); ///< metrics, sizes; none: empty

struct GenerationRow {
    Iteration iteration = {};
    std::string title = {};                ///< of the process; empty in a run of one
    std::optional<std::int32_t> rank = {}; ///< of the process
    ProcessNumbers numbers = {};
    bool onGpu = false;
    std::array<Nanoseconds, kGenerationParts>
        parts{};                            ///< disjoint; their sum is the time that the GPU is busy
    std::optional<std::int64_t> bytes = {}; ///< of device memory
    BytesSource bytesSource = BytesSource::None;

    Nanoseconds wall() const { return iteration.wall.length(); }
    Nanoseconds part(GenerationPart part) const { return parts[static_cast<std::size_t>(part)]; }
    Nanoseconds gpuBusy() const;
    Nanoseconds gpuIdle() const { return wall() - gpuBusy(); } ///< the rest: the GPU waits for the host
    /// Tokens that the model processes a second; none: their number is not known.
    std::optional<double> tokensPerSecond() const;
    /// New tokens that leave it: one a sequence, or unknown where several are verified.
    std::optional<std::int64_t> outputTokens() const;
};

/// Figures of times: of iterations of one kind.
struct TimeFigures {
    std::int64_t n = 0;
    double mean = 0; ///< ns, as all
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
};

/// Iterations of one type, or of one type and batch. Means are over the iterations.
struct GenerationSummary {
    StepType type = StepType::Other;
    std::optional<std::int64_t> sequences = {}; ///< none: they differ, or are not known
    std::optional<double> contextFrom = {};
    std::optional<double> contextTo = {};
    TimeFigures wall = {};
    bool onGpu = false;
    std::array<double, kGenerationParts> parts{}; ///< ns, means
    double gpuBusy = 0;
    double gpuIdle = 0;
    double unrecorded = 0;                      ///< of it, for what was not recorded
    std::optional<double> tokensPerSecond = {}; ///< tokens of all by the sum of their times
    std::optional<double> bytes = {};           ///< mean; none: not known of all
    BytesSource bytesSource = BytesSource::None;
    std::int32_t median =
        0; ///< index in GenerationTable::rows of the iteration whose time is the median, or the next longer one
};

/// The iterations of a program that generates text. \see iterationsOf()
struct GenerationTable {
    store::RunRecord run = {};
    std::vector<GenerationRow> rows = {}; ///< by process, then start
    IterationSource source = IterationSource::None;
    std::string marks = {}; ///< who marks the iterations, or the class of the model
    StepChoice choice = {}; ///< of the run's steps
    bool hasProcesses = false;
    std::optional<double> bandwidth = {}; ///< B/s that the GPU's memory reaches
    std::string bandwidthFrom = {};       ///< "measured copy", "data sheet of NVIDIA H200"; without one, why
    std::string whyNoBytes = {};          ///< empty: every iteration on a GPU has bytes
    std::optional<std::int64_t> weightBytes =
        {}; ///< of all parameters of a process on its GPUs; none: unknown, or they differ
    /// Of the first tokens: iterations of type prefill that a program waits for. A server's requests are not followed.
    std::optional<TimeFigures> firstToken = {};
    /// Of iterations of type decode: each makes a token a sequence, speculative ones at least one. \see perTokenWords()
    std::optional<TimeFigures> perToken = {};
    std::optional<GenerationFigures> timed = {}; ///< of a run of mode generate, whose rows are traced steps
    Nanoseconds between{
        0}; ///< from the end of an iteration to the next of the same generation, or of a server

    /// Share of what the memory reaches, per cent.
    std::optional<double> bandwidthPercent(const GenerationRow& row) const;
    std::optional<double> bandwidthPercent(const GenerationSummary& summary) const;
    /// What perToken is: "time per output token", or "time per decode iteration" where some are speculative.
    std::string_view perTokenWords() const;
    const GenerationSummary* of(StepType type) const; ///< null: no iteration has it
    std::vector<GenerationSummary> types = {};        ///< prefill, decode, other
    std::vector<GenerationSummary> batches = {};      ///< likewise, then by sequences
};

/// \param cancelled  checked regularly; true returns a table without rows
/// \throws Error  there is no such run, rank, process or device
/// Reads the events of the run. O(n log n).
GenerationTable generation(
    const store::RunReader& reader, std::optional<RunId> run, const ProcessQuery& topology = {},
    const std::function<bool()>& cancelled = [] { return false; });

/// Figures of times in any order; none without times.
std::optional<TimeFigures> figuresOf(std::vector<double> times);

} // namespace tilescope::query
