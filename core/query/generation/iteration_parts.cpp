#include "core/query/generation/iteration_parts.h"

#include "core/query/runs/run_kernels.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::Interval;
using analysis::KernelFamily;

bool hasWord(std::string_view text, std::string_view word)
{
    const auto isSame = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), isSame) != text.end();
}

template <std::size_t N> bool hasAny(std::string_view text, const std::array<std::string_view, N>& words)
{
    return std::ranges::any_of(words, [text](std::string_view word) { return hasWord(text, word); });
}

/// Modules and ranges that choose tokens.
constexpr std::array<std::string_view, 3> kSamplingPlaces{"sampl", "logitsprocessor", "logits_processor"};
/// Kernels that choose tokens, whatever launched them.
constexpr std::array<std::string_view, 10> kSamplingKernels{
    "sampl", "topk", "top_k", "topp", "top_p", "argmax", "multinomial", "gumbel", "penalt", "radixsort"};

class PartsOfKernels {
public:
    PartsOfKernels(const store::RunReader& reader, RunId run) : reader_(reader), kernels_(reader, run) {}

    GenerationPart of(const DeviceEvent& event, const Iteration& iteration)
    {
        if (event.copy == CopyKind::PeerToPeer)
            return GenerationPart::Communication;
        if (event.kind != DeviceEventKind::Kernel)
            return GenerationPart::Copies;
        const KernelFamily family = kernels_.familyOf(event);
        if (family == KernelFamily::Collective)
            return GenerationPart::Communication;
        const bool isOutside =
            iteration.call && event.launched != Timestamp{} &&
            (event.launched < iteration.call->start || event.launched >= iteration.call->end);
        if (isOutside || isSamplingPlace(event.path) || isSamplingKernel(event.name, family))
            return GenerationPart::Sampling;
        if (family == KernelFamily::Attention || family == KernelFamily::Softmax)
            return GenerationPart::Attention;
        return family == KernelFamily::Matmul || family == KernelFamily::Convolution
                   ? GenerationPart::Products
                   : GenerationPart::Other;
    }

private:
    bool isSamplingPlace(StringId path)
    {
        const auto [known, isNew] = places_.try_emplace(path, false);
        if (isNew && path) {
            const std::string_view text = reader_.text(path);
            known->second = hasAny(text, kSamplingPlaces) || text.ends_with("/sample");
        }
        return known->second;
    }
    bool isSamplingKernel(StringId name, KernelFamily family)
    {
        if (family == KernelFamily::Matmul || family == KernelFamily::Attention ||
            family == KernelFamily::Norm)
            return false; // top-k of experts is fused into products; attention has kernels for sampled keys
        const auto [known, isNew] = names_.try_emplace(name, false);
        if (isNew && name) {
            const std::string_view text = reader_.text(name);
            known->second = hasAny(text, kSamplingKernels) && !hasWord(text, "gating") &&
                            !hasWord(text, "moe") && !hasWord(text, "upsampl") && !hasWord(text, "downsampl");
        }
        return known->second;
    }

    const store::RunReader& reader_;
    RunKernels kernels_;
    std::unordered_map<StringId, bool> places_;
    std::unordered_map<StringId, bool> names_;
};

/// The times of a row by part, of which each instant counts once.
void setParts(GenerationRow& row, std::array<std::vector<Interval>, kGenerationParts>&& times)
{
    std::vector<Interval> counted;
    for (std::size_t part = 0; part < kGenerationParts; ++part) {
        const std::vector<Interval> own =
            analysis::difference(analysis::unionOf(std::move(times[part])), counted);
        row.parts[part] = analysis::lengthOf(own);
        counted.insert(counted.end(), own.begin(), own.end());
        counted = analysis::unionOf(std::move(counted));
    }
}

} // namespace

bool addIterationParts(const store::RunReader& reader, RunId run, const ProcessFilter& filter,
                       std::vector<GenerationRow>& rows, const std::function<bool()>& cancelled)
{
    struct OfProcess {
        std::size_t first = 0; ///< of its rows
        std::size_t last = 0;
        bool onGpu = false;
    };
    std::map<ProcessIndex, OfProcess> processes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        OfProcess& of =
            processes.try_emplace(rows[i].iteration.process, OfProcess{i, i, false}).first->second;
        of.last = i + 1;
    }
    PartsOfKernels parts(reader, run);
    std::vector<std::array<std::vector<Interval>, kGenerationParts>> times(rows.size());
    std::int64_t read = 0;
    bool isWanted = true;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        constexpr std::int64_t kBetweenChecks = 16'384;
        if (++read % kBetweenChecks == 0 && cancelled())
            return isWanted = false;
        if (!filter.has(event))
            return true;
        const auto found = processes.find(filter.topology().of(event.device, event.stream));
        if (found == processes.end())
            return true;
        OfProcess& of = found->second;
        of.onGpu = true;
        const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(of.first);
        const auto end = rows.begin() + static_cast<std::ptrdiff_t>(of.last);
        auto row = std::ranges::upper_bound(
            begin, end, event.start, {}, [](const GenerationRow& each) { return each.iteration.wall.end; });
        for (; row != end && row->iteration.wall.start < event.end; ++row) {
            const Interval& wall = row->iteration.wall;
            times[static_cast<std::size_t>(row - rows.begin())]
                 [static_cast<std::size_t>(parts.of(event, row->iteration))]
                     .push_back({std::max(event.start, wall.start), std::min(event.end, wall.end)});
        }
        return true;
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].onGpu = processes[rows[i].iteration.process].onGpu;
        setParts(rows[i], std::move(times[i]));
    }
    return isWanted;
}

} // namespace tilescope::query
