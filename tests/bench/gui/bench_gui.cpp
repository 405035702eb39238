// Measures the cost of the window. Each measurement of tests/bench/gui/run runs in its own process.
// usage: bench_gui make FILE EVENTS [CALLS] | make-allocations FILE EVENTS | make-ranks FILE EVENTS |
//                  write FILE RATE SECONDS
//        bench_gui timeline FILE FRAMES [PICTURES] | stacks FILE FRAMES | flame FILE FRAMES | ranks FILE 0 |
//                  memory FILE FRAMES | runs FILE ROUNDS | live FILE RATE SECONDS
// The last line of the latter's output is one JSON object.

#include "core/base/error.h"
#include "recordings.h"
#include "session.h"
#include "ui/theme/theme.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace {

using namespace tilescope;

int make(std::string_view verb, int argc, char** argv)
{
    if (verb == "make")
        bench::makeRecording(argv[2], std::atoll(argv[3]), argc > 4 ? std::atoll(argv[4]) : 0);
    else if (verb == "make-allocations")
        bench::makeAllocations(argv[2], std::atoll(argv[3]));
    else if (verb == "make-ranks")
        bench::makeRanks(argv[2], std::atoll(argv[3]));
    else
        bench::writeLive(argv[2], std::atoll(argv[3]), std::atoi(argv[4]));
    return 0;
}

int measure(std::string_view verb, int argc, char** argv)
{
    const QString file = QString::fromLocal8Bit(argv[2]);
    const int count = std::atoi(argv[3]);
    bench::WatchedApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tilescope"));
    QApplication::setOrganizationName(QStringLiteral("tilescope"));
    ui::Theme::instance().apply(ui::ThemeChoice::Light);
    if (verb == "timeline")
        bench::print(bench::measureTimeline(application, file, count, argc > 4 ? argv[4] : ""));
    else if (verb == "stacks")
        bench::print(bench::measureStacks(application, file, count));
    else if (verb == "runs")
        bench::print(bench::measureRunList(application, file, count));
    else if (verb == "flame")
        bench::print(bench::measureFlame(application, file, count));
    else if (verb == "ranks")
        bench::print(bench::measureRanks(application, file));
    else if (verb == "memory")
        bench::print(bench::measureMemory(application, file, count));
    else
        bench::print(bench::measureLive(application, file, count, std::atoi(argv[4])));
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    const std::string_view verb = argc > 3 ? argv[1] : "";
    try {
        const auto isOneOf = [verb](std::initializer_list<std::string_view> verbs) {
            return std::ranges::find(verbs, verb) != verbs.end();
        };
        if (isOneOf({"make", "make-allocations", "make-ranks"}) || (verb == "write" && argc > 4))
            return make(verb, argc, argv);
        if (isOneOf({"timeline", "stacks", "flame", "ranks", "memory", "runs"}) ||
            (verb == "live" && argc > 4))
            return measure(verb, argc, argv);
        std::fprintf(stderr, "bench_gui: unknown arguments; tests/bench/gui/run tells them\n");
        return 2;
    } catch (...) {
        std::fprintf(stderr, "bench_gui: %s\n", currentExceptionSentence().c_str());
        return 1;
    }
}
