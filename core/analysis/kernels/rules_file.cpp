#include "core/analysis/kernels/rules_file.h"

#include "core/base/paths.h"

namespace tilescope::analysis {

Error errorAt(const std::filesystem::path& file, const YAML::Mark& mark, std::string what, std::string remedy)
{
    return {.what = std::move(what),
            .where =
                file.string() + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1),
            .remedy = std::move(remedy),
            .kind = ErrorKind::Environment};
}

YAML::Node loadRulesFile(const std::filesystem::path& file)
{
    return YAML::Load(installedText(file));
}

} // namespace tilescope::analysis
