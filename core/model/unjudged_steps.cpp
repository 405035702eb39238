#include "core/model/unjudged_steps.h"

#include <algorithm>
#include <charconv>

namespace tilescope {

std::vector<std::int32_t> unjudgedSteps(std::string_view list)
{
    constexpr std::size_t kMost = 1'000'000;
    std::vector<std::int32_t> numbers;
    const auto take = [&list](std::int32_t& number) {
        const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
        list.remove_prefix(static_cast<std::size_t>(end - list.data()));
        return error == std::errc{};
    };
    while (!list.empty()) {
        std::int32_t first = 0;
        if (!take(first))
            break;
        std::int32_t last = first;
        if (list.starts_with('-')) {
            list.remove_prefix(1);
            if (!take(last))
                break;
        }
        for (std::int64_t number = first; number <= last && numbers.size() < kMost; ++number)
            numbers.push_back(static_cast<std::int32_t>(number));
        while (list.starts_with(',') || list.starts_with(' '))
            list.remove_prefix(1);
    }
    std::ranges::sort(numbers);
    return numbers;
}

} // namespace tilescope
