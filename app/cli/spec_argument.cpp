#include "app/cli/spec_argument.h"

#include "app/cli/on_host.h"
#include "core/base/error.h"
#include "core/config/quick.h"
#include "core/config/spec_file.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tilescope::cli {

namespace {

constexpr std::string_view kStudyPrefix = "study:";
constexpr std::string_view kStandardInput = "-";

/// Parses `key=value` of --set.
config::Overrides overridesFrom(const std::vector<std::string>& settings)
{
    config::Overrides overrides;
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Error{
                .what = "is not key=value", .where = "--set " + setting, .remedy = "write --set steps=20"};
        overrides.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    return overrides;
}

} // namespace

std::vector<std::string> suggestedStudies()
{
    std::vector<std::string> names{"study:all"};
    for (const auto& known : {config::studyNames(), config::handoutNames()})
        for (const std::string& name : known)
            names.push_back("study:" + name);
    return names;
}

std::vector<ExperimentSpec> specsOf(const std::string& spec, config::Edition edition,
                                    const std::vector<std::string>& settings)
{
    const config::Overrides overrides = overridesFrom(settings);
    if (!spec.starts_with(kStudyPrefix)) {
        std::vector<ExperimentSpec> specs =
            spec == kStandardInput
                ? config::loadSpecFromInput(overrides)
                : config::loadSpecFile(fetchedFile(spec).value_or(spec).string(), overrides);
        return edition == config::Edition::Quick ? config::quickEdition(std::move(specs)) : specs;
    }
    std::vector<ExperimentSpec> specs;
    for (config::Study& study : config::loadStudies(spec.substr(kStudyPrefix.size()), edition, overrides))
        for (config::StudyPart& part : study.parts)
            std::ranges::move(part.specs, std::back_inserter(specs));
    return config::withoutRepeats(std::move(specs));
}

} // namespace tilescope::cli
