#include "core/analysis/time/data_loading.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string>

namespace tilescope::analysis {

bool loadsData(std::string_view name)
{
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    constexpr std::array<std::string_view, 9> kWords{"dataloader",   "data_loader",  "data loader",
                                                     "data_loading", "data loading", "load_batch",
                                                     "get_batch",    "next_batch",   "load_data"};
    // The recorder's range around a batch of PyTorch's DataLoader.
    return lower == "data" || std::ranges::any_of(kWords, [&](std::string_view word) {
               return lower.find(word) != std::string::npos;
           });
}

bool takesFromWorkers(std::string_view name)
{
    return name.find("MultiProcessing") != std::string_view::npos;
}

DataNames::Facts DataNames::read(StringId name) const
{
    const std::string_view text = textOf_(name);
    return {.isKnown = true, .loads = loadsData(text), .takes = analysis::takesFromWorkers(text)};
}

DataNames::Facts DataNames::factsOf(StringId name)
{
    constexpr std::uint32_t kMostNames = 1U << 24; // numbers of a damaged file
    if (!name)
        return {};
    if (name.value >= kMostNames)
        return read(name);
    if (name.value >= names_.size())
        names_.resize(std::size_t{name.value} + 1);
    Facts& known = names_[name.value];
    if (!known.isKnown)
        known = read(name);
    return known;
}

} // namespace tilescope::analysis
