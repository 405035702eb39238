#include "core/hosts/remote_job.h"

#include "core/hosts/json_fields.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <utility>

namespace tilescope::hosts {

using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostField = 1000;

const char* wordOf(JobRequest::Kind kind)
{
    switch (kind) {
    case JobRequest::Kind::Sweep:
        return "sweep";
    case JobRequest::Kind::Record:
        return "record";
    case JobRequest::Kind::Command:
        break;
    }
    return "command";
}

JobEnd endIn(const Json& message)
{
    constexpr int kMostCode = 255;
    constexpr int kMostSignal = 64;
    JobEnd end{.code = int(std::clamp<std::int64_t>(numberIn(message, "code"), 0, kMostCode)),
               .signal = int(std::clamp<std::int64_t>(numberIn(message, "signal"), 0, kMostSignal)),
               .hasResult = flagIn(message, "result"),
               .failure = textIn(message, "failure", kMostField),
               .remedy = textIn(message, "remedy", kMostField)};
    if (flagIn(message, "died"))
        end.failure = "the work ended without a result: the machine was stopped, or the work was killed";
    return end;
}

} // namespace

int JobEnd::exitCode() const
{
    constexpr int kFailure = 3;
    constexpr int kSignalled = 128;
    return !failure.empty() ? kFailure : signal != 0 ? kSignalled + signal : code;
}

std::string RemoteJob::newId()
{
    std::random_device random;
    std::string id;
    for (int i = 0; i < 32; ++i)
        id += "0123456789abcdef"[random() % 16];
    return id;
}

RemoteJob RemoteJob::start(RemoteHost& host, const JobRequest& request, std::stop_token stop)
{
    using namespace std::chrono;
    requireUtf8(request.cwd);
    for (const std::string& word : request.arguments)
        requireUtf8(word);
    RemoteJob job(host, request.id.empty() ? newId() : request.id);
    const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    Json message{{"op", "start"},
                 {"id", job.id_},
                 {"kind", wordOf(request.kind)},
                 {"arguments", request.arguments},
                 {"cwd", request.cwd},
                 {"points", request.points},
                 {"label", request.label},
                 {"output", request.output},
                 {"started", now}};
    if (host.host().kind == HostKind::Slurm)
        message.update({{"sbatch", host.host().sbatch},
                        {"tasks", std::min<std::int64_t>(request.count, host.host().tasks)},
                        {"count", request.count},
                        {"gpus", request.gpus}});
    const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kMostBody)
        throw Error{.what = "the sweep has too many points for one request",
                    .where = host.host().name,
                    .remedy = "run it in parts with --shard"};
    host.ask(text, std::move(stop));
    return job;
}

void RemoteJob::signal(const char* name, const std::stop_token& stop)
{
    const auto answer = host_->begin(Json{{"op", "signal"}, {"id", id_}, {"signal", name}}.dump());
    answer->next(stop);
}

void RemoteJob::advance(const Frame& frame, const JobOutput& output)
{
    const bool isOut = frame.type == FrameType::Output;
    if (!isOut && frame.type != FrameType::Errors)
        return;
    // The offset moves first: a byte that the sink has seen is not asked for again.
    (isOut ? out_ : errors_) += std::int64_t(frame.body.size());
    const auto& sink = isOut ? output.out : output.errors;
    if (sink)
        sink(frame.body);
}

JobEnd RemoteJob::follow(const JobOutput& output, const FollowStops& stops)
{
    // What was passed on. A request that cannot be sent is sent again after the next connection.
    bool isPaused = false;
    bool isCancelled = false;
    bool isInsisted = false;
    std::optional<JobEnd> end;
    std::stop_source over; // nothing is waited for any more if the host cannot be reached
    const auto giveUp = [&over] { over.request_stop(); };
    const std::stop_callback onAgain(stops.again, giveUp);
    const std::stop_callback onLeave(stops.leave, giveUp);
    const auto passOn = [&] {
        if (stops.leave.stop_requested())
            throw Stopped{};
        if (stops.again.stop_requested() && !isInsisted) {
            signal("INT", stops.leave);
            isInsisted = isCancelled = true;
        } else if (stops.cancel.stop_requested() && !isCancelled) {
            signal("INT", over.get_token());
            isCancelled = true;
        } else {
            signal("USR1", over.get_token());
            isPaused = true;
        }
    };
    const auto next = [&](Answer& answer) {
        std::stop_source asked;
        const auto ask = [&asked] { asked.request_stop(); };
        const std::stop_token never;
        const std::stop_callback onPause(isPaused || isCancelled ? never : stops.pause, ask);
        const std::stop_callback onCancel(isCancelled ? never : stops.cancel, ask);
        const std::stop_callback onInsist(isInsisted ? never : stops.again, ask);
        const std::stop_callback onGo(stops.leave, ask);
        return answer.next(asked.get_token());
    };
    const auto once = [&] {
        const auto answer =
            host_->begin(Json{{"op", "follow"}, {"id", id_}, {"out", out_}, {"err", errors_}}.dump());
        while (!end) {
            const auto frame = next(*answer);
            if (!frame) {
                passOn();
                continue;
            }
            if (frame->type != FrameType::Message) {
                advance(*frame, output);
                continue;
            }
            const Json message = Json::parse(frame->body, nullptr, false);
            if (message.contains("end"))
                end = endIn(message);
            else if (message.contains("queue") && output.queue)
                output.queue(textIn(message, "number", kMostField), textIn(message, "queue", kMostField));
        }
    };
    host_->persistently(once, over.get_token());
    return *std::move(end);
}

std::vector<RemoteJob::Result> RemoteJob::results(std::stop_token stop, int attempts) const
{
    const Json message = Json::parse(
        host_->ask(Json{{"op", "results"}, {"id", id_}}.dump(), std::move(stop), attempts), nullptr, false);
    std::vector<Result> results;
    if (!message.contains("results") || !message["results"].is_array())
        return results;
    for (const Json& each : message["results"])
        if (each.is_object() && results.size() < std::size_t(Host::kMostTasks))
            results.push_back(
                {.name = textIn(each, "name", kMostField), .stamp = textIn(each, "stamp", kMostField)});
    return results;
}

std::string RemoteJob::points(std::stop_token stop) const
{
    return textIn(
        Json::parse(host_->ask(Json{{"op", "points"}, {"id", id_}}.dump(), std::move(stop)), nullptr, false),
        "points");
}

void RemoteJob::remove(std::stop_token stop)
{
    host_->ask(Json{{"op", "remove"}, {"id", id_}}.dump(), std::move(stop));
}

std::vector<JobEntry> RemoteJob::list(RemoteHost& host, std::stop_token stop)
{
    const Json message = Json::parse(host.ask(Json{{"op", "jobs"}}.dump(), std::move(stop)), nullptr, false);
    std::vector<JobEntry> entries;
    if (!message.contains("jobs") || !message["jobs"].is_array())
        return entries;
    for (const Json& job : message["jobs"])
        if (job.is_object())
            entries.push_back({.id = textIn(job, "id", kMostField),
                               .kind = textIn(job, "kind", kMostField),
                               .label = textIn(job, "label", kMostField),
                               .output = textIn(job, "output", kMostField),
                               .startedUnixNs = numberIn(job, "started"),
                               .state = textIn(job, "state", kMostField)});
    std::ranges::sort(entries, {}, &JobEntry::startedUnixNs);
    return entries;
}

} // namespace tilescope::hosts
