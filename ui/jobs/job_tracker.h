#pragma once

#include "core/base/mutex.h"
#include "core/store/rows/read_count.h"
#include "ui/jobs/running_jobs.h"
#include "ui/jobs/thread_order.h"

#include <QString>
#include <QThreadPool>

#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace tilescope::ui {

/// The pool for background work of the window.
QThreadPool& backgroundPool();

/// Waits for the running jobs without cancelling them; called once, when the application ends.
void finishBackgroundWork();

/// The sentence of the exception that is being handled.
QString failureSentence();
/// Of a job that the user stopped.
QString stoppedSentence();

/// Background work for one owner: job(cancelled) -> value on a pool thread; the value is delivered by a
/// queued call in the owner's (GUI) thread. Starting a new job makes the previous one stale: cancelled()
/// becomes true for it, and its result is dropped.
///
/// Created, used and destroyed in the owner's thread. Destruction drops running jobs without waiting.
class JobTracker {
public:
    explicit JobTracker(QObject* owner)
        : calls_(std::make_unique<CallQueue>(owner)), state_(std::make_shared<State>())
    {
        state_->calls = calls_.get();
    }
    ~JobTracker();
    JobTracker(const JobTracker&) = delete;
    JobTracker& operator=(const JobTracker&) = delete;

    /// \param job     called as job(cancelled) on a pool thread; may throw
    /// \param done    called with its value in the owner's thread, unless stale
    /// \param failed  called with the sentence of its exception, or that the user stopped it (RunningJobs)
    template <class Job, class Done>
    void start(Job job, Done done, std::function<void(const QString&)> failed)
    {
        const int generation = ++state_->generation;
        RunningJobs::all().noteStart();
        startOnPool(backgroundPool(), [state = state_, generation, job = std::move(job),
                                       done = std::move(done), failed = std::move(failed)]() mutable {
            const auto stale = [&state, generation] {
                return state->generation != generation || state->stopped == generation;
            };
            if (stale())
                return;
            try {
                RunningJobs::Running running([state, generation] { state->stopped = generation; });
                const store::ReadCount count(&running.events());
                auto value = job(std::function<bool()>(stale));
                if (state->stopped == generation)
                    return state->deliver(generation, [failed] { failed(stoppedSentence()); });
                state->deliver(generation, [done = std::move(done), value = std::move(value)]() mutable {
                    done(std::move(value));
                });
            } catch (...) {
                // A job that was stopped may end by an exception.
                const bool isStopped = state->stopped == generation;
                state->deliver(generation, [failed = std::move(failed),
                                            sentence = isStopped ? stoppedSentence() : failureSentence()] {
                    failed(sentence);
                });
            }
        });
    }

    /// Makes the running job stale.
    void cancel() { ++state_->generation; }

private:
    struct State : std::enable_shared_from_this<State> {
        std::atomic<int> generation = 0;
        std::atomic<int> stopped = 0; ///< generation that the user stopped
        Mutex mutex;
        CallQueue* calls GUARDED_BY(mutex) = nullptr; // null once the tracker is gone

        template <class Call> void deliver(int from, Call call)
        {
            const MutexLock lock(mutex);
            if (calls == nullptr || generation != from)
                return;
            calls->post([self = shared_from_this(), from, call = std::move(call)]() mutable {
                if (self->generation == from)
                    call();
            });
        }
    };
    std::unique_ptr<CallQueue> calls_;
    std::shared_ptr<State> state_;
};

} // namespace tilescope::ui
