#include "core/base/terminal_columns.h"

#include "core/base/number_text.h"

#include <sys/ioctl.h>

#include <cstdint>
#include <cstdlib>

namespace tilescope {

std::optional<std::size_t> columnsOfTerminal(int descriptor)
{
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return {};
    return size.ws_col;
}

std::optional<std::size_t> columnsOfEnvironment()
{
    const char* columns = std::getenv("COLUMNS");
    if (!columns)
        return {};
    const auto number = parseNumber<std::int64_t>(columns);
    if (!number || *number <= 0)
        return {};
    return static_cast<std::size_t>(*number);
}

} // namespace tilescope
