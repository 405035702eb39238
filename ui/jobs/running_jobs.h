#pragma once

#include "core/base/mutex.h"

#include <QObject>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>

namespace tilescope::ui {

/// The jobs of all JobTrackers that run now: how much they have read, and a way to stop them.
class RunningJobs : public QObject {
    Q_OBJECT

    struct Entry {
        std::function<void()> stop;
        std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
        std::atomic<std::int64_t> events = 0; ///< that it has read
    };

public:
    static RunningJobs& all();

    /// A job that runs on this thread, from construction to destruction.
    class Running {
    public:
        /// \param stop  called by another thread
        explicit Running(std::function<void()> stop);
        ~Running();
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

        std::atomic<std::int64_t>& events() { return entry_->events; }

    private:
        const std::list<Entry>::iterator entry_;
    };

    struct Reading {
        std::int64_t events = 0;             ///< that the jobs have read
        std::chrono::milliseconds longest{}; ///< for so long the first of them has run
    };
    /// Of the jobs that have read events; none if there is no such job. Any thread.
    std::optional<Reading> reading() const;
    bool isEmpty() const;
    /// Ends the jobs that have read events: their owners get a sentence instead of a result. Any thread.
    void stopReading();

    /// In the GUI thread, when a job is given to the pool.
    void noteStart() { emit started(); }

signals:
    void started();

private:
    std::list<Entry>::iterator add(std::function<void()> stop);
    void remove(std::list<Entry>::iterator entry);

    mutable Mutex mutex_;
    std::list<Entry> entries_ GUARDED_BY(mutex_);
};

} // namespace tilescope::ui
