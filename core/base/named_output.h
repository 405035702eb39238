#pragma once

#include <filesystem>
#include <functional>

namespace tilescope {

/// Runs `work`, which writes to `temporary` what will later be `output`: an Error that leaves it names `output` and what
/// lies in it, wherever it would name the temporary path.
void namingOutput(const std::filesystem::path& temporary, const std::filesystem::path& output,
                  const std::function<void()>& work);

} // namespace tilescope
