#include "core/analysis/rules_file.h"

#include <fstream>

namespace tilescope::analysis {

Error errorAt(const std::filesystem::path& file, const YAML::Mark& mark, std::string what, std::string mend)
{
    return {.what = std::move(what),
            .where =
                file.string() + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1),
            .mend = std::move(mend),
            .kind = ErrorKind::Environment};
}

YAML::Node loadRulesFile(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    if (!stream)
        throw Error{.what = "cannot be read",
                    .where = file.string(),
                    .mend = "install Tilescope again",
                    .kind = ErrorKind::Environment};
    return YAML::Load(stream);
}

} // namespace tilescope::analysis
