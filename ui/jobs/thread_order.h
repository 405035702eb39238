#pragma once

#include <QEvent>
#include <QObject>
#include <QRunnable>
#include <QThreadPool>

#include <atomic>
#include <utility>

namespace tilescope::ui {

/// Orders one thread's writes before another's reads visibly for ThreadSanitizer, which does not see the
/// locks within Qt's libraries. Call give() after writing and take() before reading.
class ThreadOrder {
public:
    static void give() { counter().fetch_add(1, std::memory_order_release); }
    static void take() { static_cast<void>(counter().load(std::memory_order_acquire)); }
    /// How often something was given: jobs that were started, results that were posted, and turns of longer work.
    static unsigned given() { return counter().load(std::memory_order_acquire); }

private:
    static std::atomic<unsigned>& counter();
};

/// Runs `work()` on a thread of the pool.
template <class Work> void startOnPool(QThreadPool& pool, Work work)
{
    class Run : public QRunnable {
    public:
        explicit Run(Work made) : work_(std::move(made)) {}
        ~Run() override { ThreadOrder::take(); }
        void run() override
        {
            ThreadOrder::take();
            work_();
        }

    private:
        Work work_;
    };
    auto* const run = new Run(std::move(work)); // the pool deletes it
    ThreadOrder::give();
    pool.start(run);
}

/// Calls posted functions in its own thread, in order. Those still pending on destruction are dropped.
class CallQueue : public QObject {
public:
    using QObject::QObject;

    /// Any thread, as long as the calls lives.
    template <class Call> void post(Call call)
    {
        class Posted : public QueuedCall {
        public:
            explicit Posted(Call made) : call_(std::move(made)) {}
            void open() override { call_(); }

        private:
            Call call_;
        };
        send(new Posted(std::move(call)));
    }

    bool event(QEvent* event) override;

private:
    class QueuedCall : public QEvent {
    public:
        QueuedCall();
        ~QueuedCall() override { ThreadOrder::take(); }
        virtual void open() = 0;
    };
    void send(QueuedCall* letter);
};

} // namespace tilescope::ui
