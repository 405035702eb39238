#pragma once

#include "core/config/schema.h"
#include "core/config/study.h"
#include "core/store/run_writer.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace tilescope::report {

/// How a point of a study ends.
struct FakeResult {
    double forwardMs = 1;
    double backwardMs = 2;
    Bytes peak{1 << 20};
    RunStatus status = RunStatus::Ok;
    std::vector<std::string> flags = {};
    std::optional<double> loss = {};
};

/// Writes a file with every point of a study, with results from `resultOf`. The steps of a run differ by one per cent.
inline void writeStudyFile(const std::filesystem::path& file, const config::Study& study,
                           const std::function<FakeResult(const ExperimentSpec&)>& resultOf, int samples = 10)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    for (const config::StudyPart& part : study.parts)
        for (const ExperimentSpec& spec : part.specs) {
            const FakeResult result = resultOf(spec);
            store::RunHeader header;
            header.name = spec.name;
            header.workload = spec.workload == Workload::Lm ? "lm" : "attention";
            header.specJson = config::toJson(spec);
            header.specHash = config::specHash(spec);
            header.program = "Tilescope test";
            writer.beginRun(header);
            const EnvironmentEntry host{"host", "my-laptop"};
            const EnvironmentEntry gpu{"gpu.name", "NVIDIA H200"};
            writer.writeEnvironment(std::vector{host, gpu});
            std::vector<Sample> measured;
            for (int step = 0; step < samples && result.status == RunStatus::Ok; ++step) {
                const double factor = 1 + 0.01 * (step % 2);
                const auto wall = [&](double ms) {
                    return Nanoseconds(static_cast<std::int64_t>(ms * 1e6 * factor));
                };
                measured.push_back({.step = step, .phase = Phase::Forward, .wall = wall(result.forwardMs)});
                measured.push_back({.step = step, .phase = Phase::Backward, .wall = wall(result.backwardMs)});
                measured.push_back({.step = step, .wall = wall(result.forwardMs + result.backwardMs)});
            }
            writer.writeSamples(measured);
            RunResult end;
            end.status = result.status;
            end.reason = result.status == RunStatus::Ok ? "" : "it did not fit";
            end.device = "cuda:0";
            end.flags = result.flags;
            end.losses = {result.loss};
            if (result.status == RunStatus::Ok) {
                end.peakAllocated = result.peak;
                end.peakReserved = result.peak;
            }
            if (result.status == RunStatus::Oom)
                end.oom = OomInfo{.requested = Bytes{4LL << 30},
                                  .allocated = Bytes{6LL << 30},
                                  .reserved = {},
                                  .phase = "forward"};
            writer.endRun(end);
        }
}

inline void writeStudyFile(const std::filesystem::path& file, std::string_view study, config::Edition edition,
                           const std::function<FakeResult(const ExperimentSpec&)>& resultOf, int samples = 10)
{
    writeStudyFile(file, config::loadStudy(study, edition), resultOf, samples);
}

} // namespace tilescope::report
