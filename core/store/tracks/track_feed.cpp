#include "core/store/tracks/track_feed.h"

#include <algorithm>
#include <utility>

namespace tilescope::store {

TrackFeed::TrackFeed(WritableFile& target, std::int64_t run) : target_(target), run_(run) {}

TrackFeed::~TrackFeed()
{
    end();
}

void TrackFeed::add(EventKind kind, const std::int64_t* row)
{
    if (kind != EventKind::Allocation && kind != EventKind::Frame)
        std::copy_n(row, eventTable(kind).columns.size(),
                    rows_.emplace_back(EventRow{.kind = kind}).values.begin());
}

void TrackFeed::endBatch()
{
    // Ops and calls of a thread share its rows of boxes.
    const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(batchBegin_);
    const auto ops =
        std::find_if(begin, rows_.end(), [](const EventRow& row) { return row.kind != EventKind::Range; });
    const auto calls =
        std::find_if(ops, rows_.end(), [](const EventRow& row) { return row.kind != EventKind::Op; });
    const auto device =
        std::find_if(calls, rows_.end(), [](const EventRow& row) { return row.kind != EventKind::ApiCall; });
    if (ops != calls && calls != device)
        std::inplace_merge(ops, calls, device,
                           [](const EventRow& a, const EventRow& b) { return a.start() < b.start(); });
    batchBegin_ = rows_.size();
    const auto fewest = static_cast<std::size_t>(TrackWriter::kFewestEvents);
    if (rows_.size() < (writer_ ? kBlockRows : fewest))
        return;
    if (!writer_)
        start();
    // Only the thread's failure closes the queue early; write() throws it.
    queue_.push(std::exchange(rows_, {}));
    batchBegin_ = 0;
}

void TrackFeed::start()
{
    writer_.emplace(target_, run_);
    thread_ = std::thread([this] {
        try {
            while (const auto rows = queue_.pop())
                for (const EventRow& row : *rows)
                    writer_->add(row);
        } catch (...) {
            failure_ = std::current_exception();
            queue_.close();
        }
    });
}

void TrackFeed::end()
{
    queue_.close();
    if (thread_.joinable())
        thread_.join();
}

void TrackFeed::write()
{
    end();
    if (failure_)
        std::rethrow_exception(failure_);
    if (!TrackWriter::hasEnough(target_, run_))
        return;
    if (!writer_)
        writer_.emplace(target_, run_);
    for (const EventRow& row : std::exchange(rows_, {}))
        writer_->add(row);
    writer_->writeAdded();
}

} // namespace tilescope::store
