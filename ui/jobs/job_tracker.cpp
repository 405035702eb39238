#include "ui/jobs/job_tracker.h"

#include "core/base/error.h"

#include <QCoreApplication>
#include <QThread>

#include <algorithm>

#include <malloc.h>

namespace tilescope::ui {

namespace {

constexpr int kLargeBlock = 1 << 20;

// On every machine: one thread for a long load, one for a short query that would otherwise wait for it.
struct Pool : QThreadPool {
    Pool()
    {
        setMaxThreadCount(std::max(2, QThread::idealThreadCount()));
        // Returns the memory of large jobs, such as lists of millions of events, to the system.
        mallopt(M_MMAP_THRESHOLD, kLargeBlock);
    }
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

QString stoppedSentence()
{
    return QCoreApplication::translate(
        "JobTracker", "Reading was stopped. Choose another run and then this one to read it.");
}

JobTracker::~JobTracker()
{
    ++state_->generation;
    const MutexLock lock(state_->mutex);
    state_->calls = nullptr;
}

} // namespace tilescope::ui
