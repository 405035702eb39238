#include "core/session/supervisor/dead_run.h"

#include "core/base/input_file.h"
#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/model/strings.h"
#include "core/model/text.h"
#include "core/session/protocol/run_header.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"

#include <algorithm>

namespace tilescope::session {

namespace fs = std::filesystem;

namespace {

/// The run that an engine began but did not report: newer than all known runs, with this spec.
RunId untoldRun(const fs::path& file, const ExperimentSpec& spec, RunId lastSeen)
{
    if (!hasContent(file))
        return {};
    const std::string hash = config::specHash(spec);
    RunId found;
    store::RunReader(file).eachRun([&](store::RunRecord&& record) {
        if (record.run.value > lastSeen.value && record.specHash == hash &&
            record.result.status == RunStatus::Interrupted)
            found = record.run;
        return !found;
    });
    return found;
}

} // namespace

void sealLeftOpen(const fs::path& file, const WorkingCopy::Log& log)
{
    bringHomeLeftCopy(file, log);
    if (!store::needsSealing(file))
        return;
    WorkingCopy copy(file, log);
    {
        const StringTable noStrings;
        const store::RunWriter writer(copy.path(), noStrings);
    }
    copy.bringHome();
}

RunId lastRunOf(const fs::path& file)
{
    if (!hasContent(file))
        return RunId{0};
    const std::vector<RunId> runs = store::RunReader(file).runIds();
    return runs.empty() ? RunId{0} : runs.back();
}

RunId recordDeath(const fs::path& file, const ExperimentSpec& spec, const DeadRun& death,
                  const WorkingCopy::Log& log)
{
    WorkingCopy copy(file, log);
    RunId run = death.run ? death.run : untoldRun(copy.path(), spec, death.lastSeen);
    {
        const StringTable noStrings;
        store::RunWriter writer(copy.path(), noStrings);
        if (run)
            writer.reopenRun(run);
        else
            run = writer.beginRun(runHeader(spec, death.point));
        RunResult result;
        result.status = death.status;
        result.reason = death.reason;
        result.duration = death.duration;
        writer.endRun(result);
    }
    copy.bringHome();
    return run;
}

} // namespace tilescope::session
