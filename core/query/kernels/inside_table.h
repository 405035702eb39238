#pragma once

#include "core/model/kernel_samples.h"
#include "core/query/runs/process_filter.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What the rows of an InsideTable are.
enum class InsideGroup : std::uint8_t { Kernel, Line, Function, Instruction, Reason };
std::string_view wordOf(InsideGroup group);
/// \throws Error (Usage)  there is no such group; names those that there are
InsideGroup insideGroupOf(std::string_view word);

struct InsideQuery {
    std::optional<RunId> run = {}; ///< none: the last run of the file
    ProcessQuery topology = {};
    std::string kernel = {}; ///< a glob, or a part of the name; empty: all kernels
    InsideGroup group = InsideGroup::Kernel;
    std::optional<std::int32_t> step = {}; ///< only samples that were read while it ran, or soon after
};

/// Samples of a row in one state of the warps.
struct InsidePart {
    std::string reason = {};
    std::int64_t samples = 0;
    std::int64_t unissued = 0;
};

/// Samples of the warps of a kernel. Members without a value do not apply to the row, or are not known.
struct InsideRow {
    std::string kernel = {};
    std::string name = {};  ///< of the kernel, short
    SourceLine line = {};   ///< with function: only its file
    SourceLine caller = {}; ///< line of the kernel at which the function of `line` is inlined
    std::string function = {};
    std::optional<std::uint64_t> offset = {};
    std::string instruction = {};
    std::string reason = {}; ///< of the row; otherwise empty
    std::string stall = {};  ///< the most frequent reason in the row that is a stall
    std::int64_t stallSamples = 0;
    std::int64_t samples = 0;
    std::int64_t unissued = 0;          ///< at which the scheduler issued nothing
    double share = 0;                   ///< of the kernel's samples; of a kernel: of all
    std::vector<InsidePart> parts = {}; ///< by state, the most samples first; they add up to the row

    /// Share of the samples at which the scheduler issued an instruction, of this or another warp.
    double issuedShare() const
    {
        return samples > 0 ? 1 - static_cast<double>(unissued) / static_cast<double>(samples) : 0;
    }
    double stallShare() const
    {
        return samples > 0 ? static_cast<double>(stallSamples) / static_cast<double>(samples) : 0;
    }
};

struct InsideTable {
    store::RunRecord run = {};
    InsideGroup group = InsideGroup::Kernel;
    std::vector<InsideRow> rows =
        {}; ///< by kernel, the most sampled first; the rows of a kernel add up to its samples
    std::int64_t samples = 0; ///< of the kernels that the table is about
    std::int64_t cycles = 0;  ///< between two samples of a multiprocessor; 0: unknown
    bool isSampled = false;   ///< the run has samples
    bool hasTexts = true;     ///< all instructions of the kernels are disassembled
    std::string trouble = {}; ///< what the recorder says of missing samples; empty: nothing
    std::int64_t others = 0;  ///< samples of the processes that CUPTI gives no kernel for; no rows
    std::string turns = {};   ///< kSamplingTurns; empty: instructions were sampled all the time
    std::optional<std::int32_t> step = {}; ///< as asked for
    Nanoseconds stepTime{0};               ///< its wall time; of several processes the longest
    Nanoseconds readTime{0}; ///< the time of the readings that the samples are of, around the step
};

/// What the warps of a run's kernels did at sampled instants. Runs nvdisasm if instructions are asked for that the
/// recording did not disassemble.
///
/// Samples are read from the GPU every 200 ms and more: those of a step are those of all readings in which a part of it ran.
/// \throws Error  there is no such run, rank, process, device, kernel or step, or the times of samples are not known
InsideTable inside(const store::RunReader& reader, const InsideQuery& query);

} // namespace tilescope::query
