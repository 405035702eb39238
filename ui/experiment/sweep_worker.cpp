#include "ui/experiment/sweep_worker.h"

#include "core/base/mutex.h"
#include "core/session/supervisor/resume.h"
#include "ui/experiment/host_sweep.h"
#include "ui/jobs/job_tracker.h"

#include <QThread>

#include <optional>
#include <set>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr unsigned long kTimeoutMs = 5000; // of the destructor, for a step to end

using session::Event;

bool isReading(const Event& event)
{
    return std::holds_alternative<session::SampleEvent>(event) ||
           std::holds_alternative<session::MemoryEvent>(event);
}

} // namespace

// The queue of events between the sweep's thread and the GUI thread, bounded by kRoom.
struct SweepWorker::Pending {
    static constexpr std::size_t kRoom = 10'000;

    Mutex mutex;
    std::vector<Event> events GUARDED_BY(mutex);
    std::vector<std::int64_t> passedOver GUARDED_BY(mutex);
    std::optional<PlaceState> place GUARDED_BY(mutex); ///< the newest that was not delivered
    bool woken GUARDED_BY(mutex) = false;
    SweepEnd end GUARDED_BY(mutex);

    // Whether the reader must be woken.
    bool put(const Event& event)
    {
        const MutexLock lock(mutex);
        const bool isProgress = isReading(event) || std::holds_alternative<session::LogEvent>(event);
        if (!isProgress || events.size() < kRoom)
            events.push_back(event);
        else if (isReading(event) && events.back().index() == event.index())
            events.back() = event; // only the newest state of a point matters
        return !std::exchange(woken, true);
    }
    bool put(const PlaceState& state)
    {
        const MutexLock lock(mutex);
        place = state;
        return !std::exchange(woken, true);
    }
};

namespace {

/// The points that a file does not hold; the indexes of the others.
std::vector<std::int64_t> keepMissing(std::vector<session::SweepPoint>& points,
                                      session::SweepOptions& options)
{
    std::set<std::int64_t> held;
    for (const session::SweepPoint& point : points)
        held.insert(point.index);
    session::Remainder left = session::remainderOf(std::move(points), options.file, false);
    options.before = std::move(left.before);
    points = std::move(left.points);
    for (const session::SweepPoint& point : points)
        held.erase(point.index);
    return {held.begin(), held.end()};
}

SweepEnd runHere(const std::vector<session::SweepPoint>& points, const session::SweepOptions& options,
                 const std::function<void(const Event&)>& take, const std::stop_token& stop)
{
    const session::SweepOutcome outcome = session::runSweep(points, options, take, stop);
    SweepEnd end{.cancelled = outcome.cancelled};
    if (outcome.notBegun > 0)
        end.left = std::make_shared<const std::vector<session::SweepPoint>>(
            points.end() - std::ptrdiff_t(outcome.notBegun), points.end());
    return end;
}

} // namespace

SweepWorker::SweepWorker(QObject* parent) : QObject(parent) {}

SweepWorker::~SweepWorker()
{
    if (thread_ == nullptr)
        return;
    if (isOnHost_)
        leave_.request_stop();
    else
        stop_.request_stop();
    if (!thread_->wait(kTimeoutMs) && !isOnHost_)
        atOnce_.request_stop();
    thread_->wait();
    delete thread_;
}

void SweepWorker::start(SweepPoints points, session::SweepOptions options, bool onlyMissing, SweepPlace place)
{
    Q_ASSERT(!isRunning());
    pause_ = std::stop_source();
    stop_ = std::stop_source();
    atOnce_ = std::stop_source();
    leave_ = std::stop_source();
    isOnHost_ = !place.host.isEmpty();
    options.afterPoint = pause_.get_token();
    options.atOnce = atOnce_.get_token();
    pending_ = std::make_shared<Pending>();
    // The thread ends before `this` does, so that it may post to it.
    thread_ = QThread::create([this, pending = pending_, points = std::move(points),
                               options = std::move(options), stop = stop_.get_token(),
                               leave = leave_.get_token(), onlyMissing, place = std::move(place)]() mutable {
        const auto wake = [this] {
            QMetaObject::invokeMethod(this, &SweepWorker::deliver, Qt::QueuedConnection);
        };
        const auto take = [&](const Event& event) {
            if (pending->put(event))
                wake();
        };
        SweepEnd end;
        try {
            std::vector<session::SweepPoint> todo = *points;
            if (onlyMissing) {
                std::vector<std::int64_t> held = keepMissing(todo, options);
                const MutexLock lock(pending->mutex);
                pending->passedOver = std::move(held);
            }
            const auto tell = [&](const PlaceState& state) {
                if (pending->put(state))
                    wake();
            };
            if (place.host.isEmpty())
                end = runHere(todo, options, take, stop);
            else if (!todo.empty())
                end = runOnHost(
                    place.host.toStdString(), place.name.toStdString(), place.started, todo, options,
                    {.event = take,
                     .place = tell,
                     .arrived =
                         [this] {
                             QMetaObject::invokeMethod(
                                 this, [this] { emit runsArrived(); }, Qt::QueuedConnection);
                         }},
                    {.pause = options.afterPoint, .cancel = stop, .again = options.atOnce, .leave = leave});
        } catch (...) {
            end.failure = failureSentence();
        }
        const MutexLock lock(pending->mutex);
        pending->end = std::move(end);
    });
    connect(thread_, &QThread::finished, this, &SweepWorker::end);
    thread_->start();
}

void SweepWorker::pause()
{
    pause_.request_stop();
}

void SweepWorker::cancel()
{
    if (!stop_.request_stop())
        atOnce_.request_stop();
}

void SweepWorker::deliver()
{
    std::vector<Event> events;
    std::vector<std::int64_t> held;
    std::optional<PlaceState> place;
    {
        const MutexLock lock(pending_->mutex);
        place.swap(pending_->place);
        events.swap(pending_->events);
        held.swap(pending_->passedOver);
        pending_->woken = false;
    }
    if (place)
        emit placeChanged(*place);
    if (!held.empty())
        emit passedOver(held);
    if (!events.empty())
        emit reported(events);
}

void SweepWorker::end()
{
    deliver();
    thread_->wait();
    delete std::exchange(thread_, nullptr);
    SweepEnd how;
    {
        const MutexLock lock(pending_->mutex);
        how = std::move(pending_->end);
    }
    emit finished(how);
}

} // namespace tilescope::ui
