#include "app/cli/scratch.h"

#include "core/base/temporary_path.h"

#include <system_error>

namespace tilescope::cli {

Scratch::Scratch()
{
    folder_ = newTemporaryFolder("work");
}

Scratch::~Scratch()
{
    std::error_code ignored; // leftovers in the temporary folder are harmless
    std::filesystem::remove_all(folder_, ignored);
}

} // namespace tilescope::cli
