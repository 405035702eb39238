#include "ui/jobs/sweep_worker.h"

#include "ui/jobs/job_tracker.h"

#include <QThread>

#include <mutex>
#include <optional>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr unsigned long kPatienceMs = 5000; // of the destructor, for a step to end

} // namespace

// Between the sweep's thread and ours: an engine that talks faster than a window can paint fills it only as
// far as `kRoom`.
struct SweepWorker::Inbox {
    static constexpr std::size_t kRoom = 10'000;

    std::mutex mutex;
    std::vector<session::Event> events; // guarded by mutex, as is all below
    bool woken = false;
    std::optional<bool> cancelled; ///< set when the sweep is over
    QString failure;

    // Whether the reader must be woken.
    bool put(const session::Event& event)
    {
        const std::lock_guard lock(mutex);
        const bool sample = std::holds_alternative<session::SampleEvent>(event);
        const bool chatter = sample || std::holds_alternative<session::LogEvent>(event);
        if (sample && !events.empty() && std::holds_alternative<session::SampleEvent>(events.back()))
            events.back() = event;
        else if (!chatter || events.size() < kRoom)
            events.push_back(event);
        return !std::exchange(woken, true);
    }
};

SweepWorker::SweepWorker(QObject* parent) : QObject(parent) {}

SweepWorker::~SweepWorker()
{
    if (thread_ == nullptr)
        return;
    stop_.request_stop();
    if (!thread_->wait(kPatienceMs)) {
        atOnce_.request_stop();
        thread_->wait();
    }
    delete thread_;
}

void SweepWorker::start(Points points, session::SweepOptions options)
{
    Q_ASSERT(!isRunning());
    stop_ = std::stop_source();
    atOnce_ = std::stop_source();
    options.atOnce = atOnce_.get_token();
    inbox_ = std::make_shared<Inbox>();
    // The thread ends before `this` does, so that it may post to it.
    thread_ = QThread::create([this, inbox = inbox_, points = std::move(points), options = std::move(options),
                               stop = stop_.get_token()] {
        const auto take = [&](const session::Event& event) {
            if (inbox->put(event))
                QMetaObject::invokeMethod(this, &SweepWorker::deliver, Qt::QueuedConnection);
        };
        try {
            const bool cancelled = session::runSweep(*points, options, take, stop).cancelled;
            const std::lock_guard lock(inbox->mutex);
            inbox->cancelled = cancelled;
        } catch (...) {
            const std::lock_guard lock(inbox->mutex);
            inbox->failure = failureSentence();
        }
    });
    connect(thread_, &QThread::finished, this, &SweepWorker::end);
    thread_->start();
}

void SweepWorker::cancel()
{
    if (!stop_.request_stop())
        atOnce_.request_stop();
}

void SweepWorker::deliver()
{
    std::vector<session::Event> events;
    {
        const std::lock_guard lock(inbox_->mutex);
        events.swap(inbox_->events);
        inbox_->woken = false;
    }
    if (!events.empty())
        emit told(events);
}

void SweepWorker::end()
{
    deliver();
    thread_->wait();
    delete std::exchange(thread_, nullptr);
    const std::shared_ptr<Inbox> inbox = inbox_; // nobody else writes to it any more
    if (inbox->cancelled)
        emit finished(*inbox->cancelled);
    else
        emit failed(inbox->failure);
}

} // namespace tilescope::ui
