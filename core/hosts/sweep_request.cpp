#include "core/hosts/sweep_request.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/hosts/job_folder.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/server.h"
#include "core/model/parallelism.h"
#include "core/session/protocol/event_stream.h"
#include "core/session/protocol/point_line.h"
#include "core/session/protocol/stop_signals.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

namespace tilescope::hosts {

using Json = nlohmann::json;

std::string sweepLines(const std::vector<session::SweepPoint>& points, const session::SweepOptions& options)
{
    session::HelloEvent makers; // an event carries makers already
    makers.makers = options.before;
    Json head{{"command", options.commandLine}, {"before", session::toJsonLine(makers)}};
    if (options.counterInterval)
        head["counter_interval_ms"] = options.counterInterval->count();
    std::string lines = head.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    for (const session::SweepPoint& point : points)
        lines += session::pointLine({.index = point.index, .of = point.of, .spec = point.spec}) + '\n';
    return lines;
}

JobRequest sweepJob(const std::vector<session::SweepPoint>& points, const session::SweepOptions& options,
                    const std::string& label)
{
    int gpus = 1;
    for (const session::SweepPoint& point : points)
        if (hasRanks(point.spec) && point.spec.device.kind != DeviceRequest::Kind::Cpu)
            gpus = std::max(gpus, point.spec.gpus);
    return {.kind = JobRequest::Kind::Sweep,
            .points = sweepLines(points, options),
            .count = std::int64_t(points.size()),
            .gpus = gpus,
            .label = label,
            .output = std::filesystem::absolute(options.file).string()};
}

namespace {

/// The part of a sweep for one of several tasks: every so many-th of the points that are to be run.
void keepPart(std::vector<session::SweepPoint>& points, int task, int tasks)
{
    std::vector<session::SweepPoint> part;
    for (std::size_t i = std::size_t(task); i < points.size(); i += std::size_t(tasks))
        part.push_back(std::move(points[i]));
    points = std::move(part);
}

} // namespace

SweepRequest parseSweepLines(std::string_view text)
{
    std::istringstream lines{std::string(text)};
    std::string line;
    std::getline(lines, line);
    const Json head = Json::parse(line, nullptr, false);
    if (!head.is_object())
        throw Error{.what = "the sweep's first line is damaged", .where = kPointsFile};
    SweepRequest request;
    request.options.commandLine = head.value("command", "");
    if (const auto interval = head.find("counter_interval_ms"); interval != head.end())
        request.options.counterInterval = std::chrono::milliseconds(interval->get<std::int64_t>());
    if (const auto event = session::parseEvent(head.value("before", "{\"event\": \"\"}")))
        if (const auto* hello = std::get_if<session::HelloEvent>(&*event))
            request.options.before = hello->makers;
    while (std::getline(lines, line)) {
        session::PointLine point = session::parsePointLine(line);
        request.points.push_back({.index = point.index, .of = point.of, .spec = std::move(point.spec)});
    }
    return request;
}

int runSweepOf(const std::filesystem::path& path)
{
    // Before the first thread: none may die of a signal that another one receives.
    sigset_t taken;
    sigemptyset(&taken);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
        sigaddset(&taken, signal);
    pthread_sigmask(SIG_BLOCK, &taken, nullptr);
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    const session::StopSignals pauses{SIGUSR1};
    const JobFolder folder(path);
    SweepRequest request = parseSweepLines(textOfFile(folder.file(kPointsFile)));
    request.options.file = folder.file(kResultFile);
    const Json job = Json::parse(textOfFile(folder.file(kJobFile)), nullptr, false);
    if (const std::int64_t tasks = numberIn(job, "tasks"); tasks > 1) {
        const auto task = parseNumber<int>(environmentVariable("SLURM_ARRAY_TASK_ID"));
        if (!task || *task < 0 || *task >= tasks)
            throw Error{.what = "SLURM_ARRAY_TASK_ID is no task of this sweep", .where = path.string()};
        keepPart(request.points, *task, int(tasks));
        request.options.file = folder.file(("result-" + std::to_string(*task) + ".tscope").c_str());
    }
    request.options.afterPoint = pauses.first();
    request.options.atOnce = signals.second();
    session::EventStream events(STDOUT_FILENO);
    return session::runSweep(
               request.points, request.options, [&](const session::Event& event) { events(event); },
               signals.first())
        .exitCode();
}

} // namespace tilescope::hosts
