#include "ui/experiment/host_sweep.h"

#include "core/base/error.h"
#include "core/exchange/tables/number.h"
#include "core/hosts/collect_result.h"
#include "core/hosts/result_arrivals.h"
#include "core/hosts/sweep_events.h"
#include "core/hosts/sweep_request.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

namespace tilescope::ui {

namespace {

using exchange::sizeText;
using hosts::HostState;

/// Requests a stop when one of several is requested.
class AnyStop {
public:
    explicit AnyStop(const std::vector<std::stop_token>& tokens)
    {
        for (const std::stop_token& token : tokens)
            callbacks_.push_back(std::make_unique<Callback>(token, Request{&source_}));
    }
    std::stop_token token() const { return source_.get_token(); }

private:
    struct Request {
        std::stop_source* source;
        void operator()() const { source->request_stop(); }
    };
    using Callback = std::stop_callback<Request>;
    std::stop_source source_;
    std::vector<std::unique_ptr<Callback>> callbacks_;
};

PlaceState shareOf(PlaceState::Kind kind, Bytes done, Bytes of)
{
    return {.kind = kind,
            .fraction = of.count > 0 ? double(done.count) / double(of.count) : 0,
            .amount = QString::fromStdString(sizeText(done)) + QStringLiteral(" of ") +
                      QString::fromStdString(sizeText(of))};
}

hosts::HostWatch hostWatch(const HostSweepWatch& watch)
{
    const auto state = [&watch](HostState now, const std::string& words) {
        switch (now) {
        case HostState::Connecting:
            return watch.place({.kind = PlaceState::Kind::Connecting});
        case HostState::Installing:
            return watch.place({.kind = PlaceState::Kind::Installing});
        case HostState::Lost:
            return watch.place({.kind = PlaceState::Kind::Lost,
                                .words = QString::fromStdString(words),
                                .since = QDateTime::currentDateTime()});
        case HostState::Ready:
            return watch.place({});
        }
    };
    const auto copying = [&watch](Bytes done, Bytes of) {
        watch.place(shareOf(PlaceState::Kind::Installing, done, of));
    };
    return {.state = state, .copying = copying};
}

/// What a sweep reports, as far as its end depends on it.
struct Reports {
    std::set<std::int64_t> begun; ///< SweepPoint::index
    bool isDone = false;
    std::string lastLine; ///< that is no event

    void take(const session::Event& event)
    {
        if (const auto* point = std::get_if<session::PointEvent>(&event))
            begun.insert(point->index);
        isDone = isDone || std::holds_alternative<session::DoneEvent>(event);
    }
};

/// The words of the program there, without its name.
std::string failureThere(std::string_view line)
{
    constexpr std::string_view kProgram = "tilescope: ";
    constexpr std::size_t kMostShown = 500;
    if (line.starts_with(kProgram))
        line.remove_prefix(kProgram.size());
    return std::string(line.substr(0, kMostShown));
}

/// Finds the work of an earlier program.
/// \throws Error  it is not there any more
void requireThere(hosts::RemoteHost& host, hosts::StartedWork& work, const std::stop_token& stop)
{
    const std::vector<hosts::JobEntry> entries = hosts::RemoteJob::list(host, stop);
    if (std::ranges::find(entries, work.id, &hosts::JobEntry::id) != entries.end())
        return;
    work.forget();
    throw Error{
        .what =
            "the sweep is not there any more: its runs were fetched by another program, or it did not begin",
        .where = host.host().name,
        .remedy = "run it again with 'only what is missing'",
        .kind = ErrorKind::Failure};
}

} // namespace

SweepEnd runOnHost(const std::string& hostName, const std::string& name,
                   const std::shared_ptr<hosts::StartedWork>& earlier,
                   const std::vector<session::SweepPoint>& points, const session::SweepOptions& options,
                   const HostSweepWatch& watch, const hosts::FollowStops& stops)
{
    hosts::requireResultFile(options.file);
    hosts::RemoteHost host(hosts::HostList::ofUser().get(hostName), hostWatch(watch));
    const AnyStop atOnce({stops.again, stops.leave});
    hosts::StartedWork started;
    hosts::StartedWork& work = earlier ? *earlier : started;
    hosts::JobRequest request;
    SweepEnd end;
    try {
        if (earlier) {
            host.persistently([&] { host.prepare(atOnce.token()); }, atOnce.token());
            requireThere(host, work, atOnce.token());
        } else {
            const AnyStop any({stops.cancel, stops.leave});
            host.prepare(any.token());
            work.id = hosts::RemoteJob::newId();
            work.host = hostName;
            work.name = name;
            work.file = std::filesystem::absolute(options.file);
            request = hosts::sweepJob(points, options, name);
            request.id = work.id;
            work.points = request.points;
            work.keep(hosts::copiesFolder() / "started");
        }
    } catch (const hosts::Stopped&) {
        end.cancelled = true;
        end.isLeft = earlier != nullptr;
        return end;
    }
    Reports reports;
    hosts::ResultArrivals arrivals(host, work.id, options.file, hosts::copiesFolder(), [&](std::int64_t) {
        if (watch.arrived)
            watch.arrived();
    });
    hosts::SweepEvents events(
        options.file,
        [&](const session::Event& event) {
            reports.take(event);
            if (std::holds_alternative<session::ResultEvent>(event))
                arrivals.pointEnded();
            watch.event(event);
        },
        [&](std::string_view line) {
            constexpr std::size_t kMostShown = 2000;
            reports.lastLine = line.substr(0, kMostShown);
            watch.event(session::LogEvent{.level = hostName, .text = reports.lastLine});
        });
    const hosts::JobOutput output{
        .out = [&](std::string_view bytes) { events.feedOutput(bytes); },
        .errors = [&](std::string_view bytes) { events.feedErrors(bytes); },
        .queue =
            [&](const std::string& number, const std::string& state) {
                watch.place(state.starts_with("PENDING")
                                ? PlaceState{.kind = PlaceState::Kind::Pending,
                                             .words = QString::fromStdString("job " + number + ", " + state)}
                                : PlaceState{});
            }};
    try {
        if (!earlier)
            hosts::RemoteJob::start(host, request, atOnce.token());
        hosts::RemoteJob job(host, work.id);
        const hosts::JobEnd jobEnd = job.follow(output, stops);
        events.finish();
        end.arrived = arrivals.finish().runs;
        if (jobEnd.hasResult) {
            const auto fetching = [&](const hosts::FetchProgress& progress) {
                watch.place(shareOf(PlaceState::Kind::Fetching, progress.done, progress.of));
            };
            end.arrived +=
                hosts::collectResult(host, job, options.file, hosts::copiesFolder(), fetching, atOnce.token())
                    .runs;
        } else {
            job.remove(atOnce.token());
        }
        watch.place({});
        work.forget();
        end.cancelled = stops.cancel.stop_requested() || stops.again.stop_requested();
        if (!jobEnd.failure.empty())
            end.failure = QString::fromStdString(hostName + ": " + jobEnd.failure +
                                                 (jobEnd.remedy.empty() ? "" : "; " + jobEnd.remedy));
        else if (!reports.isDone && !end.cancelled && !stops.pause.stop_requested())
            end.failure =
                QString::fromStdString(hostName + ": " +
                                       (reports.lastLine.empty() ? "the sweep ended with exit code " +
                                                                       std::to_string(jobEnd.exitCode())
                                                                 : failureThere(reports.lastLine)));
    } catch (const hosts::Stopped&) {
        end.cancelled = end.isLeft = true;
        return end;
    }
    if (stops.pause.stop_requested() && !end.cancelled && end.failure.isEmpty()) {
        std::vector<session::SweepPoint> left;
        std::ranges::copy_if(points, std::back_inserter(left), [&](const session::SweepPoint& point) {
            return !reports.begun.contains(point.index);
        });
        if (!left.empty())
            end.left = std::make_shared<const std::vector<session::SweepPoint>>(std::move(left));
    }
    return end;
}

} // namespace tilescope::ui
