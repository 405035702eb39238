#include "ui/jobs/job_tracker.h"

#include "core/base/error.h"

#include <QThread>

#include <algorithm>

namespace tilescope::ui {

namespace {

// One thread for the long load, one for the short question behind it, whatever the machine.
struct Pool : QThreadPool {
    Pool() { setMaxThreadCount(std::max(2, QThread::idealThreadCount())); }
};

} // namespace

QThreadPool& backgroundPool()
{
    static Pool pool;
    return pool;
}

void finishBackgroundWork()
{
    backgroundPool().clear();
    backgroundPool().waitForDone();
}

QString failureSentence()
{
    return QString::fromStdString(currentExceptionSentence());
}

JobTracker::~JobTracker()
{
    ++state_->generation;
    const std::lock_guard lock(state_->mutex);
    state_->owner = nullptr;
}

} // namespace tilescope::ui
