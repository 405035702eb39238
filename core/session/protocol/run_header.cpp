#include "core/session/protocol/run_header.h"

#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/model/text.h"

namespace tilescope::session {

store::RunHeader runHeader(const ExperimentSpec& spec, std::int64_t point)
{
    return {.name = spec.name,
            .workload = std::string(wordOf(spec.workload)),
            .specJson = config::toJson(spec),
            .specHash = config::specHash(spec),
            .program = programBanner(),
            .point = point};
}

} // namespace tilescope::session
