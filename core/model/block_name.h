#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

/// The block that a weight or module of the language model belongs to: 3 for `layers.3/ffn/down`; none outside blocks.
inline std::optional<std::int64_t> blockNumber(const std::string& name)
{
    constexpr std::string_view kBlock = "layers.";
    return name.starts_with(kBlock) ? std::optional<std::int64_t>(std::stoll(name.substr(kBlock.size())))
                                    : std::nullopt;
}

} // namespace tilescope
