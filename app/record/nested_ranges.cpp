#include "app/record/nested_ranges.h"

#include "app/record/recorder.h"
#include "core/base/units.h"
#include "core/trace/host/host_log.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace tilescope::record {

namespace {

struct Open {
    const void* domain = nullptr;
    const void* key = nullptr;
    std::uint32_t id = 0;
    bool isCut = false;     ///< not in the thread's log: a leaf, or a range around it was closed first
    std::int64_t start = 0; ///< of one that is cut; 0: it is not part of this recording
    std::string name;
};
/// The open ranges of a thread: the first `depth` elements of `ranges`. Elements keep the memory of their
/// names.
struct OpenRanges {
    std::vector<Open> ranges;
    std::size_t depth = 0;
};
thread_local OpenRanges open;

std::int64_t now()
{
    return nanosecondsOf(TraceClock::now());
}

int openRange(const void* domain, const void* key, std::string_view name, bool isLeaf) noexcept
{
    Recorder::noteOpening(name);
    try {
        trace::ThreadLog* log = trace::HostLogs::mine();
        if (!log)
            return -1;
        Recorder::noteOpened();
        if (open.depth == open.ranges.size())
            open.ranges.emplace_back();
        Open& range = open.ranges[open.depth];
        range.name.assign(name);
        range.domain = domain;
        range.key = key;
        range.isCut = isLeaf;
        range.start = isLeaf ? now() : 0;
        range.id = isLeaf ? 0 : log->openRange(name, name, {});
        return static_cast<int>(open.depth++);
    } catch (...) {
        return -1; // no memory: this range is missing
    }
}

} // namespace

int openNested(const void* domain, const void* key, std::string_view name) noexcept
{
    return openRange(domain, key, name, false);
}

int openLeaf(const void* domain, std::string_view name) noexcept
{
    return openRange(domain, nullptr, name, true);
}

void forgetOpenRanges() noexcept
{
    open.depth = 0;
}

int closeNested(const void* domain, const void* key) noexcept
{
    std::size_t i = open.depth;
    while (i > 0 && (open.ranges[i - 1].domain != domain || open.ranges[i - 1].key != key))
        --i;
    if (i-- == 0)
        return -1;
    trace::ThreadLog* log = trace::HostLogs::mineIfAny();
    // Domains do not nest in each other; a log does.
    for (std::size_t inner = i + 1; log && inner < open.depth; ++inner)
        if (!open.ranges[inner].isCut)
            open.ranges[inner].start = log->startOf(open.ranges[inner].id);
    Open& range = open.ranges[i];
    if (range.isCut && range.start != 0)
        Recorder::noteRange(range.name, static_cast<std::uint32_t>(gettid()), range.start, now());
    else if (log && !range.isCut)
        log->closeRange(range.id);
    for (std::size_t inner = i + 1; inner < open.depth; ++inner) {
        open.ranges[inner].isCut = true;
        std::swap(open.ranges[inner], open.ranges[inner - 1]);
    }
    --open.depth;
    return static_cast<int>(i);
}

} // namespace tilescope::record
