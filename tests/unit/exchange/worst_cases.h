#pragma once

// Kineto traces that are as hard as possible for rules that look at other events: for tests and benchmarks.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// One kind of hard trace.
struct WorstCase {
    std::string_view name;
    std::int64_t events = 0; ///< of a small one, for tests
    std::function<std::string(std::int64_t events)> text;
};

namespace worst {

/// Appends an event of phase X.
inline void add(std::string& text, std::string_view category, std::string_view name, std::int64_t pid,
                std::int64_t tid, std::int64_t start, std::int64_t duration, std::string_view args = {})
{
    text += text.back() == '[' ? "\n{\"ph\":\"X\",\"cat\":\"" : ",\n{\"ph\":\"X\",\"cat\":\"";
    text.append(category).append("\",\"name\":\"").append(name);
    text += "\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) +
            ",\"ts\":" + std::to_string(start) + ",\"dur\":" + std::to_string(duration);
    if (!args.empty())
        text.append(",\"args\":{").append(args).append("}");
    text += '}';
}

template <class Each> std::string traceOf(std::int64_t events, const Each& each)
{
    std::string text = "{\"traceEvents\":[";
    for (std::int64_t i = 0; i < events; ++i)
        each(text, i);
    return text + "\n]}";
}

inline std::string deep(std::int64_t events, std::string_view category, bool areNamesDifferent)
{
    return traceOf(events, [&](std::string& text, std::int64_t i) {
        add(text, category, areNamesDifferent ? "iteration " + std::to_string(i) : "push", 1, 1, i,
            10 * events - 2 * i);
    });
}

inline std::string overlapping(std::int64_t events, std::int64_t by)
{
    return traceOf(events, [&](std::string& text, std::int64_t i) {
        add(text, "user_annotation", "range", 1, 1, 10 * i, 10 * by + 5);
    });
}

/// Leaves with names of their own below ranges that are 500 deep.
inline std::string leaves(std::int64_t events)
{
    constexpr std::int64_t kDepth = 500;
    return traceOf(events, [&](std::string& text, std::int64_t i) {
        if (i < kDepth)
            add(text, "user_annotation", "module " + std::to_string(i), 1, 1, i,
                10 * events + 2 * kDepth - 2 * i);
        else
            add(text, "user_annotation", "leaf " + std::to_string(i), 1, 1, 10 * i, 5);
    });
}

/// Names that differ at their beginning or at their end alone.
inline std::string longNames(std::int64_t events, std::size_t length, bool beginAlike)
{
    const std::string same(length, 'n');
    return traceOf(events, [&](std::string& text, std::int64_t i) {
        const std::string number = std::to_string(i);
        add(text, i % 2 ? "user_annotation" : "cpu_op", beginAlike ? same + number : number + same, 1, 1, i,
            10 * events - 2 * i);
    });
}

/// Calls and kernels of two processes whose correlation ids all are one of two.
inline std::string collisions(std::int64_t events)
{
    return traceOf(events, [&](std::string& text, std::int64_t i) {
        const std::string args = "\"correlation\":" + std::to_string(1 + i / 3 % 2);
        if (i % 3 < 2)
            add(text, "cuda_runtime", "cudaLaunchKernel", 100 + i % 3, 1, 10 * i, 5, args);
        else
            add(text, "kernel", "k", 0, 7, 10 * i, 5, "\"device\":0,\"stream\":7," + args);
    });
}

/// Steps that overlap, and kernels that all outlast their successors.
inline std::string steps(std::int64_t events)
{
    return traceOf(events, [&](std::string& text, std::int64_t i) {
        if (i % 2)
            add(text, "user_annotation", "ProfilerStep#" + std::to_string(i / 2), 1, 1, 10 * i, 25);
        else
            add(text, "kernel", "k", 0, 7, i, 10 * events - 2 * i,
                "\"device\":0,\"stream\":7,\"correlation\":1");
    });
}

} // namespace worst

inline std::vector<WorstCase> worstCases()
{
    using namespace worst;
    const auto each = [](auto event) {
        return [event](std::int64_t events) { return traceOf(events, event); };
    };
    return {
        {"ranges nested deep", 2000, [](std::int64_t n) { return deep(n, "user_annotation", false); }},
        {"deep, each its own name", 2000, [](std::int64_t n) { return deep(n, "user_annotation", true); }},
        {"ops nested deep", 2000, [](std::int64_t n) { return deep(n, "cpu_op", true); }},
        {"frames nested deep", 2000, [](std::int64_t n) { return deep(n, "python_function", true); }},
        {"names below 500 ranges", 2000, leaves},
        {"overlapping by 2", 2000, [](std::int64_t n) { return overlapping(n, 2); }},
        {"overlapping by 30", 2000, [](std::int64_t n) { return overlapping(n, 30); }},
        {"overlapping by 1,000", 4000, [](std::int64_t n) { return overlapping(n, 1000); }},
        {"all in one interval", 2000,
         each([](std::string& text, std::int64_t) { add(text, "user_annotation", "r", 1, 1, 100, 50); })},
        {"all at one instant", 2000,
         each([](std::string& text, std::int64_t) { add(text, "cpu_op", "op", 1, 1, 100, 0); })},
        {"a thread for each event", 2000,
         each([](std::string& text, std::int64_t i) { add(text, "cpu_op", "op", 1, i, i, 5); })},
        {"a process for each event", 1000,
         each([](std::string& text, std::int64_t i) { add(text, "cpu_op", "op", 1000 + i, 1, i, 5); })},
        {"a stream for each kernel", 2000, each([](std::string& text, std::int64_t i) {
             add(text, "kernel", "k", 0, i, i, 5,
                 "\"device\":0,\"stream\":" + std::to_string(i) +
                     ",\"correlation\":" + std::to_string(i * 4096 + 1));
         })},
        {"a name for each event", 2000, each([](std::string& text, std::int64_t i) {
             add(text, "user_annotation", "name of event " + std::to_string(i), 1, 1, 10 * i, 5);
         })},
        {"names of 100 KB", 6, [](std::int64_t n) { return longNames(n, 100'000, false); }},
        {"names of 1 MB", 6, [](std::int64_t n) { return longNames(n, 1'000'000, false); }},
        {"names of 1 MB that begin alike", 6, [](std::int64_t n) { return longNames(n, 1'000'000, true); }},
        {"colliding correlations", 3000, collisions},
        {"overlapping steps, kernels that outlast", 2000, steps},
        {"every second event broken", 2000, each([](std::string& text, std::int64_t i) {
             add(text, "cpu_op", i % 2 ? "odd \" quote" : "op", 1, 1, 10 * i, 5);
         })},
    };
}

} // namespace tilescope::exchange
