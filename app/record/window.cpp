#include "app/record/window.h"

#include "core/record/options.h"

#include <charconv>
#include <string>
#include <string_view>

namespace tilescope::record {

namespace {

/// `tilescope record` has checked the numbers. A missing number means 0 or no limit.
std::int64_t number(std::string_view text, std::int64_t otherwise)
{
    std::int64_t value = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

} // namespace

Window Window::ofThisProcess()
{
    constexpr std::string_view kProfilerApi = "profiler-api";
    Window window;
    const std::string steps = option("steps");
    if (const std::size_t colon = steps.find(':'); colon != std::string::npos) {
        window.firstStep = number(steps.substr(0, colon), 0);
        window.lastStep = number(steps.substr(colon + 1), kNoLimit);
    }
    window.delay = number(option("delay_ns"), 0);
    window.length = number(option("length_ns"), kNoLimit);
    const std::string from = option("from");
    window.byProfilerApi = from == kProfilerApi;
    if (!window.byProfilerApi)
        window.range = from;
    window.calibrates = !option("calibrate").empty();
    window.yields = !option("yield").empty();
    window.wholeGraphs = option("graphs") == "graph";
    window.isFull = option("trace") == "full";
    return window;
}

std::string Window::text() const
{
    const auto seconds = [](std::int64_t nanoseconds) {
        std::string number = std::to_string(static_cast<double>(nanoseconds) / 1e9);
        number.erase(number.find_last_not_of('0') + 1);
        if (number.ends_with('.'))
            number.pop_back();
        return number + " s";
    };
    std::string text;
    if (hasSteps())
        text = "steps " + std::to_string(firstStep) + " to " + std::to_string(lastStep);
    else if (delay > 0)
        text = "from " + seconds(delay) + " after the start of each process";
    else if (byProfilerApi)
        text = "between cudaProfilerStart and cudaProfilerStop";
    else if (!range.empty())
        text = "from the first range " + range;
    if (calibrates)
        text = "blocks of steps in turn with blocks that are not recorded";
    if (length >= 0)
        text += (text.empty() ? "at most " : ", at most ") + seconds(length);
    return text;
}

} // namespace tilescope::record
