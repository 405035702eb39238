#pragma once

#include "core/store/rows/read_count.h"
#include "core/store/run_reader.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace tilescope::query {

/// A part of an answer that another thread reads, so that the answer is there sooner.
///
/// The work gets a reader of its own for the same file. A small run takes less time than opening the file again, and of one that is being
/// written another reader would see more: these are read with the first reader by the thread that takes the result.
template <class Result> class SideReading {
public:
    using Cancelled = std::function<bool()>;

    /// Begins `work(reader, cancelled)`.
    /// \param run        must be a run of the reader
    /// \param cancelled  is only called by this thread
    /// \param work       must not use `reader`; all that it refers to must outlive this object, which waits for it
    template <class Work>
    SideReading(const store::RunReader& reader, const store::RunRecord& run, const Cancelled& cancelled,
                Work work)
        : cancelled_(cancelled)
    {
        constexpr std::int64_t kFewEvents = 200'000;
        if (run.result.status == RunStatus::Running || reader.counts(run.run).total() <= kFewEvents)
            result_ = std::async(std::launch::deferred, [&reader, &cancelled, work = std::move(work)] {
                return work(reader, cancelled);
            });
        else
            result_ = std::async(std::launch::async, [this, file = reader.file(),
                                                      counter = store::ReadCount::ofThisThread(),
                                                      work = std::move(work)] {
                const store::ReadCount count(counter);
                const store::RunReader own(file);
                const Cancelled isCancelled = [this] { return isCancelled_.load(std::memory_order_relaxed); };
                std::optional<Result> result;
                own.atOnce([&] { result.emplace(work(own, isCancelled)); });
                return std::move(*result);
            });
    }
    ~SideReading()
    {
        isCancelled_ = true;
        if (result_.valid() && result_.wait_for(std::chrono::seconds(0)) != std::future_status::deferred)
            result_.wait();
    }
    SideReading(const SideReading&) = delete;
    SideReading& operator=(const SideReading&) = delete;

    /// Waits for the result. Once.
    /// \throws  what the work throws
    Result take()
    {
        constexpr std::chrono::milliseconds kBetweenLooks{20};
        while (result_.wait_for(kBetweenLooks) == std::future_status::timeout)
            if (cancelled_())
                isCancelled_ = true;
        return result_.get();
    }

private:
    const Cancelled& cancelled_;
    std::atomic<bool> isCancelled_ = false;
    std::future<Result> result_;
};

} // namespace tilescope::query
