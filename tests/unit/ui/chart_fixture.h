#pragma once

// Runs to draw charts of, as a sweep over lengths of attention leaves them.

#include "ui/charts/chart_rows.h"

#include <vector>

namespace tilescope::ui {

inline query::RunSummary runOf(const char* backend, double length, double ms,
                               RunStatus status = RunStatus::Ok)
{
    query::RunSummary run;
    run.workload = "attention";
    run.params = {{"backend", backend}, {"seq_len", std::to_string(int(length))}, {"precision", "bf16"}};
    run.result.status = status;
    run.result.peakAllocated = Bytes{std::int64_t(length) * 1024};
    if (status == RunStatus::Ok) {
        query::PhaseTimes step;
        step.wallMs = analysis::Statistics{.n = 10,
                                           .mean = ms * 1.1,
                                           .standardDeviation = ms / 10,
                                           .median = ms,
                                           .min = ms,
                                           .max = ms,
                                           .p95 = ms,
                                           .ci95 = analysis::ConfidenceInterval{ms * 0.9, ms * 1.1}};
        run.phases.push_back(step);
    }
    return run;
}

inline std::vector<const query::RunSummary*> pointersTo(const std::vector<query::RunSummary>& runs)
{
    std::vector<const query::RunSummary*> pointers;
    for (const query::RunSummary& run : runs)
        pointers.push_back(&run);
    return pointers;
}

// 2 ms at 256, growing with the square; the longest does not fit.
inline std::vector<query::RunSummary> attention()
{
    return {runOf("naive", 1024, 32), runOf("naive", 256, 2),
            runOf("naive", 512, 8),   runOf("naive", 2048, 0, RunStatus::Oom),
            runOf("flash", 256, 1),   runOf("flash", 512, 2),
            runOf("flash", 1024, 4),  runOf("flash", 2048, 8)};
}

} // namespace tilescope::ui
