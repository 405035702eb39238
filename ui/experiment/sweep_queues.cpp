#include "ui/experiment/sweep_queues.h"

#include "core/base/error.h"
#include "core/hosts/collect_result.h"
#include "core/hosts/started_work.h"
#include "core/hosts/sweep_request.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace tilescope::ui {

SweepQueues::SweepQueues(QObject* parent) : QObject(parent)
{
    add({});
}

void SweepQueues::add(const QString& host)
{
    all_.push_back(new SweepQueue(host, this));
    connect(all_.back(), &SweepQueue::changed, this, &SweepQueues::changed);
    connect(all_.back(), &SweepQueue::placeChanged, this, &SweepQueues::changed);
}

SweepQueue& SweepQueues::of(const QString& host)
{
    const auto found = std::ranges::find(all_, host, &SweepQueue::host);
    if (found != all_.end())
        return **found;
    add(host);
    emit added(all_.back());
    return *all_.back();
}

bool SweepQueues::holds(const QString& file, const ExperimentSpec& spec) const
{
    return std::ranges::any_of(all_, [&](const SweepQueue* queue) { return queue->holds(file, spec); });
}

std::vector<SweepJob> SweepQueues::startedBefore()
{
    std::vector<SweepJob> jobs;
    std::vector<hosts::StartedWork> works;
    try {
        works = hosts::StartedWork::of(hosts::copiesFolder() / "started");
    } catch (const Error&) {
        return {}; // without a home folder nothing was started
    }
    for (hosts::StartedWork& work : works) {
        SweepJob job;
        try {
            job.points = std::make_shared<const std::vector<session::SweepPoint>>(
                hosts::parseSweepLines(work.points).points);
        } catch (const std::exception&) {
            continue; // of another version: tilescope hosts attach brings its runs
        }
        job.name = QString::fromStdString(work.name);
        job.file = QString::fromStdString(work.file.string());
        job.host = QString::fromStdString(work.host);
        job.started = std::make_shared<hosts::StartedWork>(std::move(work));
        jobs.push_back(std::move(job));
    }
    return jobs;
}

} // namespace tilescope::ui
