#include "core/machine/visible_devices.h"

namespace tilescope::machine {

std::string visibleDevice(std::optional<std::string_view> visible, int index)
{
    if (index < 0)
        return {};
    if (!visible)
        return std::to_string(index);
    std::string_view rest = *visible;
    for (int i = 0; !rest.empty(); ++i) {
        const std::size_t comma = rest.find(',');
        std::string_view word = rest.substr(0, comma);
        word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
        word = word.substr(0, word.find_last_not_of(' ') + 1);
        // CUDA stops at the first invalid entry.
        if (word.empty() || word.starts_with('-'))
            return {};
        if (i == index)
            return std::string(word);
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    return {};
}

} // namespace tilescope::machine
