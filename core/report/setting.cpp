#include "core/report/setting.h"

#include "core/base/plural.h"
#include "core/exchange/tables/number.h"
#include "core/model/flags.h"
#include "core/model/losses.h"
#include "core/model/text.h"
#include "core/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::report {

namespace {

constexpr std::size_t kFewSamples = 5;

struct Shown {
    std::string_view key;
    std::string_view title;
    bool names = false; ///< identifies the machine or its owner
};

constexpr std::array kFacts{Shown{"gpu.name", "GPU"},
                            Shown{"gpu.memory", "GPU memory"},
                            Shown{"gpu.power_limit", "GPU power limit"},
                            Shown{"gpu.clock.sm.max", "GPU clock, highest"},
                            Shown{"driver", "NVIDIA driver"},
                            Shown{"cpu.model", "CPU"},
                            Shown{"cpu.threads", "CPU threads"},
                            Shown{"torch_threads", "threads used"},
                            Shown{"memory.total", "memory"},
                            Shown{"os", "system"},
                            Shown{"kernel", "kernel"},
                            Shown{"libtorch", "LibTorch"},
                            Shown{"cuda_runtime", "CUDA"},
                            Shown{"cudnn", "cuDNN"},
                            Shown{"program", "program"},
                            Shown{"build", "build"},
                            Shown{"host", "host", true},
                            Shown{"slurm.job", "Slurm job", true}};

std::string valueOf(const EnvironmentEntry& entry)
{
    if (entry.unit == "B")
        return exchange::withUnit(std::stod(entry.value), exchange::Unit::Bytes);
    if (entry.unit == "mW")
        return fmt::format("{:g} W", std::stod(entry.value) / 1000);
    return entry.unit.empty() ? entry.value : entry.value + " " + entry.unit;
}

std::string joined(const std::vector<std::string>& values)
{
    return fmt::format("{}", fmt::join(values, "; "));
}

/// Counts the runs for each sentence.
class Tally {
public:
    void add(const std::string& what) { ++counts_[what]; }
    void into(std::vector<Caution>& cautions) const
    {
        for (const auto& [what, count] : counts_)
            cautions.push_back({what, count});
    }

private:
    std::map<std::string, std::size_t> counts_;
};

/// A flag as a sentence, without details of a single run.
std::string sentenceOf(const std::string& flag)
{
    const FlagInfo* info = findFlag(flag);
    return info != nullptr ? std::string(info->sentence) : "Flagged " + std::string(flagName(flag));
}

} // namespace

std::vector<std::pair<std::string, std::string>> settingOf(const StudyRuns& study, bool anonymous)
{
    std::map<std::string_view, std::vector<std::string>> values;
    for (const auto& run : select(study, {}, {}))
        for (const EnvironmentEntry& entry : run->recording().reader->environment(run->record().run)) {
            const auto fact = std::ranges::find(kFacts, entry.key, &Shown::key);
            if (fact == kFacts.end() || (anonymous && fact->names))
                continue;
            std::vector<std::string>& known = values[fact->key];
            std::string value = valueOf(entry);
            if (std::ranges::find(known, value) == known.end())
                known.push_back(std::move(value));
        }
    std::vector<std::pair<std::string, std::string>> setting;
    for (const Shown& fact : kFacts)
        if (const auto found = values.find(fact.key); found != values.end())
            setting.emplace_back(fact.title, joined(found->second));
    return setting;
}

std::vector<Caution> cautionsOf(const StudyRuns& study)
{
    std::vector<Caution> cautions;
    if (study.quick)
        cautions.push_back({.text =
                                "This is the quick edition of the study: few steps and small sizes, to check "
                                "that everything works. Do not quote its figures"});
    for (const PartRuns& part : study.parts)
        if (part.runs.size() < part.points)
            cautions.push_back(
                {.text = fmt::format("Of the part {}, {} of {} {} ran", part.name, part.runs.size(),
                                     part.points, plural(std::int64_t(part.points), "point"))});
    Tally tally;
    for (const auto& run : select(study, {}, {})) {
        const store::RunRecord& record = run->record();
        for (const std::string& flag : record.result.flags)
            tally.add(sentenceOf(flag));
        if (record.result.status == RunStatus::Error)
            tally.add("Failed: " + record.result.reason);
        if (const auto step = run->number("step"); step && static_cast<std::size_t>(step->n) < kFewSamples)
            tally.add(fmt::format("Fewer than {} timed steps", kFewSamples));
        for (const auto& loss : run->recording().reader->losses(record.run))
            if (isLost(loss.severity))
                tally.add((loss.severity == wordOf(LossSeverity::Error) ? "A recording is incomplete: "
                                                                        : "Some figures are doubtful: ") +
                          loss.detail);
    }
    tally.into(cautions);
    return cautions;
}

} // namespace tilescope::report
