#include "app/cli/scratch.h"

#include "core/base/error.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace tilescope::cli {

Scratch::Scratch()
{
    std::string pattern = (std::filesystem::temp_directory_path() / "tilescope-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw Error{.what = "cannot create a temporary folder",
                    .where = pattern,
                    .remedy = "check the space and the permissions of TMPDIR",
                    .kind = ErrorKind::Environment};
    folder_ = pattern;
}

Scratch::~Scratch()
{
    std::error_code ignored; // leftovers in the temporary folder are harmless
    std::filesystem::remove_all(folder_, ignored);
}

} // namespace tilescope::cli
