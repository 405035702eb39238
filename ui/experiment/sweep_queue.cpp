#include "ui/experiment/sweep_queue.h"

#include <algorithm>
#include <utility>

namespace tilescope::ui {

SweepQueue::SweepQueue(QString host, QObject* parent)
    : QObject(parent), host_(std::move(host)), worker_(new SweepWorker(this))
{
    connect(worker_, &SweepWorker::placeChanged, this, [this](const PlaceState& state) {
        place_ = state;
        emit placeChanged();
    });
    connect(worker_, &SweepWorker::passedOver, this, &SweepQueue::passedOver);
    connect(worker_, &SweepWorker::reported, this, &SweepQueue::reported);
    connect(worker_, &SweepWorker::runsArrived, this, &SweepQueue::runsArrived);
    connect(worker_, &SweepWorker::finished, this, &SweepQueue::partEnded);
}

int SweepQueue::add(SweepJob job)
{
    job.id = nextId_++;
    const int id = job.id;
    waiting_.push_back(std::move(job));
    if (!isRunning() && !held_)
        startNext();
    else
        emit changed();
    return id;
}

bool SweepQueue::remove(int id)
{
    const std::size_t removed = std::erase_if(waiting_, [id](const SweepJob& job) { return job.id == id; });
    if (removed == 0)
        return false;
    if (waiting_.empty() && !current_)
        held_ = false;
    emit changed();
    return true;
}

bool SweepQueue::move(int id, int by)
{
    const auto found = std::ranges::find(waiting_, id, &SweepJob::id);
    const std::ptrdiff_t to = found - waiting_.begin() + by;
    if (found == waiting_.end() || to < 0 || to >= std::ptrdiff_t(waiting_.size()))
        return false;
    SweepJob job = std::move(*found);
    waiting_.erase(found);
    waiting_.insert(waiting_.begin() + to, std::move(job));
    emit changed();
    return true;
}

void SweepQueue::removeAll()
{
    waiting_.clear();
    if (!current_)
        held_ = false;
    emit changed();
}

bool SweepQueue::holds(const QString& file, const ExperimentSpec& spec) const
{
    const auto isOne = [&](const SweepJob& job) {
        return job.file == file &&
               std::ranges::find(*job.points, spec, &session::SweepPoint::spec) != job.points->end();
    };
    return (current_ && isOne(*current_)) || std::ranges::any_of(waiting_, isOne);
}

SweepQueue::State SweepQueue::state() const
{
    if (isRunning())
        return worker_->isStopping() ? State::Stopping : held_ ? State::Pausing : State::Running;
    return held_ ? State::Held : State::Idle;
}

double SweepQueue::activeSeconds() const
{
    return secondsBefore_ + (isRunning() ? double(sinceLaunch_.elapsed()) / 1000 : 0);
}

void SweepQueue::pause()
{
    if (!isRunning() || worker_->isStopping())
        return;
    held_ = true;
    worker_->pause();
    emit changed();
}

void SweepQueue::resume()
{
    if (isRunning() || !held_)
        return;
    held_ = false;
    if (left_ != nullptr)
        launch(std::exchange(left_, nullptr), false);
    else
        startNext();
}

void SweepQueue::cancel()
{
    if (isRunning()) {
        worker_->cancel();
        emit changed();
    } else if (current_) {
        // The sweep is paused, so there is no engine to end.
        current_.reset();
        left_.reset();
        held_ = !waiting_.empty();
        emit ended({.cancelled = true});
        emit changed();
    }
}

void SweepQueue::startNext()
{
    if (waiting_.empty()) {
        emit changed();
        return;
    }
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    secondsBefore_ = 0;
    emit began();
    launch(current_->points, current_->onlyMissing);
}

void SweepQueue::launch(SweepPoints points, bool onlyMissing)
{
    session::SweepOptions options;
    options.file = current_->file.toStdString();
    options.commandLine = "tilescope-gui";
    options.timeouts = timeouts_;
    sinceLaunch_.start();
    place_ = {};
    worker_->start(
        std::move(points), std::move(options), onlyMissing,
        {.host = host_, .name = current_->name, .started = std::exchange(current_->started, nullptr)});
    emit changed();
}

void SweepQueue::partEnded(const SweepEnd& end)
{
    secondsBefore_ += double(sinceLaunch_.elapsed()) / 1000;
    place_ = {};
    if (end.left != nullptr) {
        left_ = end.left;
        emit ended(end);
        emit changed();
        return;
    }
    current_.reset();
    if (!end.failure.isEmpty())
        held_ = !waiting_.empty();
    else if (waiting_.empty())
        held_ = false;
    emit ended(end);
    if (!isRunning() && !held_)
        startNext();
    else
        emit changed();
}

} // namespace tilescope::ui
