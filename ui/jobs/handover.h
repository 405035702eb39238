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
class Handover {
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
        ~Run() override { Handover::take(); }
        void run() override
        {
            Handover::take();
            work_();
        }

    private:
        Work work_;
    };
    auto* const run = new Run(std::move(work)); // the pool deletes it
    Handover::give();
    pool.start(run);
}

/// Calls posted functions in its own thread, in order. Those still pending on destruction are dropped.
class Inbox : public QObject {
public:
    using QObject::QObject;

    /// Any thread, as long as the inbox lives.
    template <class Call> void post(Call call)
    {
        class Posted : public Letter {
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
    class Letter : public QEvent {
    public:
        Letter();
        ~Letter() override { Handover::take(); }
        virtual void open() = 0;
    };
    void send(Letter* letter);
};

} // namespace tilescope::ui
