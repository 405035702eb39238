#pragma once

namespace tilescope::testing {

/// For functions that ask now and then whether their result is still wanted.
inline constexpr auto kNotCancelled = [] { return false; };

} // namespace tilescope::testing
