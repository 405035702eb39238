#include "core/store/rows/read_count.h"

#include <utility>

namespace tilescope::store {

namespace {

thread_local ReadCount::Counter* current = nullptr;

} // namespace

ReadCount::ReadCount(Counter* counter) : before_(std::exchange(current, counter)) {}

ReadCount::~ReadCount()
{
    current = before_;
}

ReadCount::Counter* ReadCount::ofThisThread()
{
    return current;
}

void ReadCount::add(std::int64_t events)
{
    if (current)
        current->fetch_add(events, std::memory_order_relaxed);
}

} // namespace tilescope::store
