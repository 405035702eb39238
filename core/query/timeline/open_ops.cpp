#include "core/query/timeline/open_ops.h"

#include <algorithm>

namespace tilescope::query {

std::vector<Op> openOps(const store::RunReader& reader, RunId run, ThreadId thread, Timestamp at)
{
    store::EventWindow window;
    window.run = run;
    window.from = at;
    window.to = at + Nanoseconds(1);
    std::vector<Op> ops = reader.ops(window);
    std::erase_if(ops, [thread](const Op& op) { return op.thread != thread; });
    std::stable_sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    return ops;
}

void eachLaunched(const store::RunReader& reader, RunId run, ThreadId thread, Timestamp from, Timestamp to,
                  const std::function<bool(const DeviceEvent&)>& take)
{
    constexpr int kFurther = 2048;
    store::EventWindow window;
    window.run = run;
    window.from = from;
    int later = 0;
    reader.eachDeviceEvent(window, [&](const DeviceEvent& event) {
        if (event.launchThread != thread || event.launched < from)
            return true;
        if (event.launched >= to)
            return ++later < kFurther;
        return take(event);
    });
}

} // namespace tilescope::query
