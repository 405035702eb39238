#include "core/model/step_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope {

std::string_view withoutNumber(std::string_view name)
{
    std::size_t end = name.size();
    while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])))
        --end;
    while (end > 0 && std::string_view(" _#:=-/").find(name[end - 1]) != std::string_view::npos)
        --end;
    return name.substr(0, end);
}

bool isNamedLikeStep(std::string_view name)
{
    static constexpr std::array<std::string_view, 12> kStems{
        "step",       "steps",      "iteration", "iter",       "train_step",    "training_step",
        "train step", "train iter", "batch",     "train_iter", "training step", "profilerstep"};
    const std::string_view stem = withoutNumber(name);
    return std::ranges::any_of(kStems, [stem](std::string_view known) {
        return std::ranges::equal(
            stem, known, {}, [](unsigned char c) { return std::tolower(c); },
            [](unsigned char c) { return static_cast<int>(c); });
    });
}

} // namespace tilescope
