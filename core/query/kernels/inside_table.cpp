#include "core/query/kernels/inside_table.h"

#include "core/analysis/kernels/disassembly.h"
#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/kernels/stall_reasons.h"
#include "core/analysis/time/busy_time.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/model/environment_facts.h"
#include "core/model/metric.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/run_tables.h"
#include "core/store/kernel_sample_reader.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace tilescope::query {

namespace {

constexpr std::array<std::pair<InsideGroup, std::string_view>, 5> kInsideGroups{
    {{InsideGroup::Kernel, "kernel"},
     {InsideGroup::Line, "line"},
     {InsideGroup::Function, "function"},
     {InsideGroup::Instruction, "instruction"},
     {InsideGroup::Reason, "reason"}}};

constexpr std::chrono::seconds kLongestDisassembly(10);

/// Kernel (name), line, caller, function, offset, reason: what a row is of.
using RowKey = std::tuple<std::string, SourceLine, SourceLine, std::string, std::uint64_t, std::string>;

std::string shortName(const std::string& name)
{
    const std::string readable = analysis::readableKernelName(name);
    const std::string_view root = analysis::parseKernelName(readable).root;
    return std::string(root.empty() ? std::string_view(readable) : root);
}

class InsideReading {
public:
    InsideReading(const store::RunReader& reader, const InsideQuery& query)
        : reader_(reader), query_(query), run_(chooseRun(reader, query.run)),
          filter_(reader, run_.run, query.topology)
    {
        table_.run = run_;
        table_.group = query.group;
    }

    InsideTable read()
    {
        const std::vector<EnvironmentEntry> facts = reader_.environment(run_.run);
        for (const EnvironmentEntry& fact : facts) // processes may differ in it
            if (fact.key == "record.inside")
                table_.trouble += (table_.trouble.empty() ? "" : "; ") + fact.value;
        table_.turns = factOf(facts, kSamplingTurns);
        for (const auto& [process, others] : numbersOf(facts, kInsideOthers))
            table_.others += isWanted(process) ? others : 0;
        std::set<std::int64_t> cycles;
        for (const auto& [process, number] : numbersOf(facts, kInsideCycles))
            if (isWanted(process))
                cycles.insert(number);
        table_.cycles = cycles.size() == 1 ? *cycles.begin() : 0;
        const bool needsTexts = query_.group == InsideGroup::Instruction;
        samples_ = store::kernelSamples(reader_.file(), run_.run, needsTexts);
        table_.isSampled = !samples_.empty();
        if (!table_.isSampled)
            return std::move(table_);
        if (needsTexts)
            analysis::addInstructions(samples_, analysis::findNvdisasm(), kLongestDisassembly);
        selectKernels();
        if (query_.step)
            selectStep();
        table_.hasTexts =
            !needsTexts || std::ranges::none_of(samples_.instructions, [this](const auto& each) {
                return selected_[each.kernel] && each.text.empty();
            });
        for (const StallSamples& stall : samples_.stalls)
            add(stall);
        finish();
        return std::move(table_);
    }

private:
    void selectKernels()
    {
        std::vector<std::string> names;
        for (const SampledKernel& kernel : samples_.kernels) {
            const bool isOfProcess =
                (!query_.topology.device || kernel.device.value == *query_.topology.device) &&
                isWanted(kernel.process);
            const bool matches = isOfProcess && (query_.kernel.empty() || isNamed(kernel));
            selected_.push_back(matches);
            short_.push_back(shortName(kernel.name));
            if (isOfProcess && std::ranges::find(names, short_.back()) == names.end())
                names.push_back(short_.back());
        }
        if (query_.kernel.empty() || std::ranges::find(selected_, true) != selected_.end())
            return;
        std::string known;
        constexpr std::size_t kMostNamed = 5;
        for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
            known += (known.empty() ? "" : ", ") + names[i];
        throw Error{.what = "no sampled kernel is named '" + query_.kernel + "'",
                    .where = "--kernel",
                    .remedy = "sampled were " + known + (names.size() > kMostNamed ? ", …" : "") +
                              "; write a part of a name, or a glob"};
    }

    /// Leaves out the samples of other steps.
    void selectStep()
    {
        // What the GPU has sampled arrives within that time.
        constexpr Nanoseconds kLate = std::chrono::milliseconds(100);
        const auto isKnown = [](const StallSamples& each) { return each.start != each.end; };
        if (std::ranges::none_of(samples_.stalls, isKnown))
            throw Error{.what =
                            "the samples of this run have no times, so that those of a step are not known",
                        .where = "--step",
                        .remedy = "record again, or that step alone: tilescope record --inside --steps " +
                                  std::to_string(*query_.step)};
        std::vector<analysis::RecordedStep> steps =
            pathSteps(reader_, run_.run, filter_.topology(), [] { return false; });
        std::erase_if(steps, [this](const auto& step) { return step.step != *query_.step; });
        if (steps.empty())
            throw Error{.what = "run " + std::to_string(run_.run.value) + " has no step " +
                                std::to_string(*query_.step),
                        .where = "--step",
                        .remedy = "`tilescope show FILE steps` lists them"};
        std::vector<analysis::Interval> readings;
        std::erase_if(samples_.stalls, [&](const StallSamples& each) {
            const ProcessIndex process =
                samples_.kernels[samples_.instructions[each.instruction].kernel].process;
            const bool isOfStep = isKnown(each) && std::ranges::any_of(steps, [&](const auto& step) {
                                      return (!process || !step.process || process == step.process) &&
                                             each.start < step.wall.end + kLate && each.end > step.wall.start;
                                  });
            if (isOfStep)
                readings.push_back({each.start, each.end});
            return !isOfStep;
        });
        table_.step = query_.step;
        for (const analysis::RecordedStep& step : steps)
            table_.stepTime = std::max(table_.stepTime, step.wall.length());
        for (const analysis::Interval& each : analysis::unionOf(std::move(readings)))
            table_.readTime += each.length();
    }

    /// Numbers of processes. Older recordings have facts such as "rank 0, rank 1: 7" instead, or "7" if it is that of all.
    std::map<ProcessIndex, std::int64_t> numbersOf(std::span<const EnvironmentEntry> facts,
                                                   std::string_view key) const
    {
        std::map<ProcessIndex, std::int64_t> numbers = numbersOfProcesses(facts, key);
        for (const EnvironmentEntry& fact : facts) {
            const std::size_t end = fact.key == key ? fact.value.rfind(": ") : std::string::npos;
            if (end == std::string::npos)
                continue;
            const auto number = parseNumber<std::int64_t>(std::string_view(fact.value).substr(end + 2));
            const std::string titles = ", " + fact.value.substr(0, end) + ", ";
            for (const TracedProcess& each : filter_.topology().topology().processes)
                if (number &&
                    titles.find(", " + filter_.topology().titleOf(each.id) + ", ") != std::string::npos)
                    numbers[each.id] = *number;
        }
        return numbers;
    }

    /// Whether a table of the chosen process, if one is chosen, has what is of this process; none: of all processes.
    bool isWanted(ProcessIndex process) const
    {
        if (!process || (!query_.topology.rank && !query_.topology.pid))
            return true;
        return std::ranges::any_of(filter_.topology().topology().processes, [&](const TracedProcess& each) {
            return each.id == process && (!query_.topology.rank || each.rank == query_.topology.rank) &&
                   (!query_.topology.pid || each.pid == *query_.topology.pid);
        });
    }

    bool isNamed(const SampledKernel& kernel) const
    {
        const std::string& wanted = query_.kernel;
        if (wanted.find_first_of("*?[") == std::string::npos)
            return kernel.name.find(wanted) != std::string::npos || kernel.symbol == wanted;
        const std::string root = shortName(kernel.name);
        return fnmatch(wanted.c_str(), kernel.name.c_str(), 0) == 0 ||
               fnmatch(wanted.c_str(), root.c_str(), 0) == 0;
    }

    void add(const StallSamples& stall)
    {
        const SampledInstruction& instruction = samples_.instructions[stall.instruction];
        if (!selected_[instruction.kernel])
            return;
        const SampledKernel& kernel = samples_.kernels[instruction.kernel];
        const std::string& reason = samples_.reasons[stall.reason];
        RowKey key;
        std::get<0>(key) = kernel.name;
        switch (query_.group) {
        case InsideGroup::Kernel:
            break;
        case InsideGroup::Line:
            std::get<1>(key) = instruction.line;
            std::get<2>(key) = instruction.caller;
            std::get<3>(key) = instruction.inlined;
            break;
        case InsideGroup::Function:
            std::get<1>(key) = {.file = instruction.line.file};
            std::get<3>(key) = instruction.inlined.empty() ? short_[instruction.kernel] : instruction.inlined;
            break;
        case InsideGroup::Instruction:
            std::get<4>(key) = instruction.offset;
            // Two versions of a kernel may have different code.
            std::get<5>(key) = std::to_string(kernel.cubin);
            break;
        case InsideGroup::Reason:
            std::get<5>(key) = reason;
            break;
        }
        const auto [place, isNew] = places_.try_emplace(std::move(key), table_.rows.size());
        if (isNew) {
            InsideRow row{.kernel = kernel.name, .name = short_[instruction.kernel]};
            const bool isOfCode =
                query_.group == InsideGroup::Line || query_.group == InsideGroup::Instruction;
            if (isOfCode) {
                row.line = instruction.line;
                row.caller = instruction.caller;
                row.function = instruction.inlined;
            }
            if (query_.group == InsideGroup::Function) {
                row.line = std::get<1>(place->first);
                row.function = std::get<3>(place->first);
            }
            if (query_.group == InsideGroup::Instruction) {
                row.offset = instruction.offset;
                row.instruction = instruction.text;
            }
            if (query_.group == InsideGroup::Reason)
                row.reason = reason;
            table_.rows.push_back(std::move(row));
            stalls_.emplace_back();
        }
        InsideRow& row = table_.rows[place->second];
        row.samples += stall.samples;
        row.unissued += stall.unissued;
        InsidePart& part = stalls_[place->second][stall.reason];
        part.samples += stall.samples;
        part.unissued += stall.unissued;
        table_.samples += stall.samples;
        kernels_[kernel.name] += stall.samples;
    }

    void finish()
    {
        for (std::size_t i = 0; i < table_.rows.size(); ++i) {
            InsideRow& row = table_.rows[i];
            for (auto& [reason, part] : stalls_[i]) {
                part.reason = samples_.reasons[reason];
                if (analysis::stallReason(part.reason).isStall && part.samples > row.stallSamples) {
                    row.stall = part.reason;
                    row.stallSamples = part.samples;
                }
                row.parts.push_back(std::move(part));
            }
            std::ranges::stable_sort(row.parts, std::greater{}, &InsidePart::samples);
            const std::int64_t whole =
                query_.group == InsideGroup::Kernel ? table_.samples : kernels_[row.kernel];
            row.share = whole > 0 ? static_cast<double>(row.samples) / static_cast<double>(whole) : 0;
        }
        const auto order = [this](const InsideRow& row) {
            return std::tuple(-kernels_[row.kernel], row.kernel, -row.samples);
        };
        std::ranges::stable_sort(table_.rows, {}, order);
    }

    const store::RunReader& reader_;
    const InsideQuery& query_;
    store::RunRecord run_;
    ProcessFilter filter_;
    KernelSamples samples_;
    InsideTable table_;
    std::vector<bool> selected_;     ///< by kernel
    std::vector<std::string> short_; ///< names, by kernel
    std::map<RowKey, std::size_t> places_;
    std::vector<std::map<std::uint32_t, InsidePart>> stalls_; ///< by row and reason
    std::map<std::string, std::int64_t> kernels_;             ///< samples by name
};

} // namespace

std::string_view wordOf(InsideGroup group)
{
    return std::ranges::find(kInsideGroups, group, &std::pair<InsideGroup, std::string_view>::first)->second;
}

InsideGroup insideGroupOf(std::string_view word)
{
    const auto* const known =
        std::ranges::find(kInsideGroups, word, &std::pair<InsideGroup, std::string_view>::second);
    if (known == kInsideGroups.end())
        throw Error{.what = "show inside cannot be grouped by '" + std::string(word) + "'",
                    .where = "--group",
                    .remedy = "allowed here: kernel, line, function, instruction, reason"};
    return known->first;
}

InsideTable inside(const store::RunReader& reader, const InsideQuery& query)
{
    InsideTable table;
    reader.atOnce([&] { table = InsideReading(reader, query).read(); });
    return table;
}

} // namespace tilescope::query
