#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// The same as sha256() without the processor's instructions for it, so that tests compare both.
std::string portableSha256(std::string_view bytes);

} // namespace tilescope
