#include "core/analysis/time/data_loading.h"

#include <algorithm>
#include <array>
#include <cctype>
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

} // namespace tilescope::analysis
