#include "core/analysis/kernels/sample_completion.h"

#include "core/analysis/kernels/disassembly.h"
#include "core/base/sha256.h"
#include "core/base/terminal_text.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kMostCode = 16 << 20;  ///< bytes of all modules
constexpr std::size_t kMostSource = 1 << 20; ///< bytes of a file
constexpr std::chrono::seconds kLongestDisassembly(20);

/// Sorts the modules by their samples, the most first.
void sortCode(KernelSamples& samples)
{
    std::map<std::uint64_t, std::int64_t> sums;
    for (const StallSamples& each : samples.stalls)
        sums[samples.kernels[samples.instructions[each.instruction].kernel].cubin] += each.samples;
    std::ranges::stable_sort(samples.code, std::greater{},
                             [&sums](const KernelCode& code) { return sums[code.cubin]; });
}

void limitCode(KernelSamples& samples)
{
    std::size_t bytes = 0;
    std::erase_if(samples.code, [&bytes](const KernelCode& code) {
        if (bytes + code.code.size() > kMostCode)
            return true;
        bytes += code.code.size();
        return false;
    });
}

void addSources(KernelSamples& samples, bool keepsText)
{
    std::set<std::string> files;
    for (const SampledInstruction& each : samples.instructions)
        for (const SourceLine* line : {&each.line, &each.caller})
            if (!line->file.empty())
                files.insert(line->file);
    for (const std::string& file : files) {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(file, error);
        if (error || bytes > kMostSource || !std::filesystem::is_regular_file(file, error))
            continue;
        std::ifstream in(file, std::ios::binary);
        std::string text(std::istreambuf_iterator<char>(in), {});
        if (!in)
            continue;
        KernelSource source{.file = file, .digest = sha256(text)};
        if (keepsText)
            source.text = std::move(text);
        samples.sources.push_back(std::move(source));
    }
}

} // namespace

void append(KernelSamples& all, KernelSamples&& part)
{
    const auto kernels = static_cast<std::uint32_t>(all.kernels.size());
    const auto instructions = static_cast<std::uint32_t>(all.instructions.size());
    std::vector<std::uint32_t> reasons;
    for (std::string& reason : part.reasons) {
        const auto known = std::ranges::find(all.reasons, reason);
        reasons.push_back(static_cast<std::uint32_t>(known - all.reasons.begin()));
        if (known == all.reasons.end())
            all.reasons.push_back(std::move(reason));
    }
    std::ranges::move(part.kernels, std::back_inserter(all.kernels));
    for (SampledInstruction& each : part.instructions) {
        each.kernel += kernels;
        all.instructions.push_back(std::move(each));
    }
    for (StallSamples each : part.stalls) {
        each.instruction += instructions;
        each.reason = reasons[each.reason];
        all.stalls.push_back(each);
    }
    for (KernelCode& code : part.code)
        if (std::ranges::find(all.code, code.cubin, &KernelCode::cubin) == all.code.end())
            all.code.push_back(std::move(code));
}

void completeKernelSamples(KernelSamples& samples, const SampleCompletion& how)
{
    if (samples.empty())
        return;
    sortCode(samples);
    addLines(samples);
    for (SampledInstruction& each : samples.instructions)
        for (std::string* text : {&each.line.file, &each.caller.file, &each.inlined})
            *text = validUtf8(*text);
    addInstructions(samples, findNvdisasm(), kLongestDisassembly);
    if (how.readsSources)
        addSources(samples, how.keepsSources);
    limitCode(samples);
    if (!how.keepsCode)
        samples.code.clear();
}

} // namespace tilescope::analysis
