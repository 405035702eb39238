#include "core/session/run_header.h"

#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/model/text.h"

namespace tilescope::session {

store::RunHeader runHeader(const ExperimentSpec& spec)
{
    return {.name = spec.name,
            .workload = std::string(wordOf(spec.workload)),
            .specJson = config::toJson(spec),
            .specHash = config::specHash(spec),
            .program = programBanner()};
}

} // namespace tilescope::session
