#include "ui/kit/missing_trace.h"

#include "core/model/flags.h"
#include "core/model/text.h"

namespace tilescope::ui {

bool wantsTrace(const query::RunSummary& run)
{
    const std::string_view trace = run.param("trace");
    return !trace.empty() && trace != "off" && run.param("trace_steps") != "0";
}

QString explainingPage(const query::RunSummary& run)
{
    const bool isTraced = wantsTrace(run) && run.result.status == RunStatus::Ok;
    return isTraced ? QStringLiteral("timeline") : QStringLiteral("overview");
}

QString whyTraceIsMissing(const query::RunSummary& run)
{
    const RunResult& result = run.result;
    const QString reason = QString::fromStdString(result.reason);
    if (result.status == RunStatus::Skipped)
        return QStringLiteral("The run was skipped%1.").arg(reason.isEmpty() ? reason : ": " + reason);
    if (result.status == RunStatus::Ok || result.status == RunStatus::Running || !wantsTrace(run))
        return {};
    const QString status = QString::fromUtf8(wordOf(result.status));
    return QStringLiteral("The run ended before a step was traced: %1.")
        .arg(reason.isEmpty()            ? status
             : reason.startsWith(status) ? reason // cancelled after 4 of 10 timed steps
                                         : status + ", " + reason);
}

QString remedyFor(MissingPart part, const query::RunSummary& run)
{
    const bool isOfProgram = run.traits().isImported;
    switch (part) {
    case MissingPart::Memory:
        return isOfProgram ? QStringLiteral("Record the program without --no-memory, profile it with "
                                            "profile_memory=True, or import its trace together with a memory "
                                            "snapshot of PyTorch.")
                           : QStringLiteral("Give the run memory: true, trace: kernels or full, and "
                                            "trace_steps above 0.");
    case MissingPart::Shapes:
        return isOfProgram ? QStringLiteral("Record the program with --ops, or profile it with "
                                            "record_shapes=True.")
                           : QStringLiteral("Give the run shapes: true.");
    case MissingPart::Work:
        break;
    }
    return isOfProgram ? QStringLiteral("Record the program while it works; --ops adds the ops of PyTorch.")
                       : QStringLiteral("Give the run trace: kernels, and trace_steps above 0.");
}

QString whyGpuIsMissing(const query::RunSummary& run)
{
    for (const std::string& flag : run.result.flags)
        if (findFlag(flag) == &infoOf(FlagKind::Untraced))
            return QString::fromStdString(describeFlag(flag) + ".");
    return {};
}

} // namespace tilescope::ui
