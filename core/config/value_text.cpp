#include "core/config/value_text.h"

#include "core/base/number_text.h"
#include "core/config/schema.h"

#include <array>
#include <cstdint>

namespace tilescope::config {

namespace {

/// Uses the unit that gives the smallest whole number.
std::string sizeText(std::string_view bytes)
{
    struct SizeUnit {
        std::int64_t bytes;
        const char* name;
    };
    constexpr std::array kUnits{SizeUnit{1 << 30, "GiB"}, SizeUnit{1'000'000'000, "GB"},
                                SizeUnit{1 << 20, "MiB"}, SizeUnit{1'000'000, "MB"},
                                SizeUnit{1 << 10, "KiB"}, SizeUnit{1'000, "kB"}};
    const auto count = parseNumber<std::int64_t>(bytes).value_or(0);
    for (const SizeUnit& unit : kUnits)
        if (count > 0 && count % unit.bytes == 0)
            return std::to_string(count / unit.bytes) + " " + unit.name;
    return std::string(bytes);
}

} // namespace

std::string valueText(std::string_view key, std::string_view value)
{
    const KeyInfo* info = findKey(key);
    return info && info->type == ValueType::Size ? sizeText(value) : std::string(value);
}

} // namespace tilescope::config
