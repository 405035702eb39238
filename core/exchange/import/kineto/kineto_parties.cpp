#include "core/exchange/import/kineto/kineto_parties.h"

#include "core/exchange/import/kineto/kineto_values.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace tilescope::exchange {

namespace {

/// "thread 1107 (python)" is python.
std::string_view threadName(std::string_view name)
{
    constexpr std::string_view kThread = "thread ";
    const std::size_t open = name.find(" (");
    if (!name.starts_with(kThread) || open == std::string_view::npos || !name.ends_with(')'))
        return name;
    return name.substr(open + 2, name.size() - open - 3);
}

} // namespace

KinetoParties::KinetoParties(TraceBuilder& builder, const std::string& name)
    : builder_(builder), clock_(builder.addClock({.name = name, .method = "wall clock"}))
{
}

ProcessIndex KinetoParties::mainProcess()
{
    if (!main_)
        main_ = builder_.addProcess({.clock = clock_});
    return main_;
}

ProcessIndex KinetoParties::processOf(std::string_view pid)
{
    const auto found = processes_.find(pid);
    if (found != processes_.end())
        return found->second;
    // Overhead has pid -1. The first process with a number takes what came before it.
    const auto number = unsignedOf(pid);
    if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return mainProcess();
    const bool isFirst = processes_.empty();
    const ProcessIndex process = isFirst ? mainProcess() : builder_.addProcess({.clock = clock_});
    builder_.process(process).pid = static_cast<std::int64_t>(*number);
    processes_.emplace(pid, process);
    return process;
}

ProcessIndex KinetoParties::processOfActivity(std::uint32_t correlation)
{
    if (!laterCallers_.empty()) {
        const auto later = laterCallers_.find(correlation);
        if (later != laterCallers_.end())
            return later->second;
    }
    return firstCaller_ ? firstCaller_ : mainProcess();
}

std::int64_t KinetoParties::nativeThread(std::string_view tid)
{
    if (const auto number = integerOf(tid))
        return *number;
    const auto found = wordThreads_.find(tid);
    if (found != wordThreads_.end())
        return found->second;
    // Below all numbers that Kineto writes.
    const auto number =
        std::numeric_limits<std::int32_t>::min() - static_cast<std::int64_t>(wordThreads_.size());
    wordThreads_.emplace(tid, number);
    return number;
}

ThreadId KinetoParties::threadOf(const KinetoEvent& event)
{
    if (lastThread_ && event.tid == lastTid_ && event.pid == lastPid_)
        return lastThread_;
    lastPid_ = event.pid;
    lastTid_ = event.tid;
    const auto [place, isNew] = threads_.try_emplace({lastPid_, lastTid_});
    if (isNew) {
        const bool isNumber = integerOf(event.tid).has_value();
        place->second =
            builder_.thread(processOf(event.pid), nativeThread(event.tid), isNumber ? "" : event.tid);
    }
    lastThread_ = place->second;
    return lastThread_;
}

DeviceIndex KinetoParties::deviceOf(ProcessIndex process, std::int32_t ordinal)
{
    const auto [place, isNew] = devices_.try_emplace({process.value, ordinal});
    if (isNew) {
        const auto facts = deviceFacts_.find(ordinal);
        place->second = facts == deviceFacts_.end() ? builder_.device(process, ordinal)
                                                    : builder_.addDevice(process, facts->second);
    }
    return place->second;
}

StreamId KinetoParties::streamOf(ProcessIndex process, DeviceIndex device, std::int64_t stream,
                                 std::string_view context)
{
    const auto [place, isNew] = streams_.try_emplace({device, stream});
    if (isNew)
        place->second = builder_.stream(process, device, stream, integerOf(context));
    return place->second;
}

ProcessIndex KinetoParties::knownProcess(std::string_view pid) const
{
    const auto found = processes_.find(pid);
    return found == processes_.end() ? ProcessIndex() : found->second;
}

DeviceIndex KinetoParties::knownDevice(std::int64_t ordinal) const
{
    DeviceIndex known;
    for (const auto& [owner, device] : devices_)
        if (owner.second == ordinal)
            known = device;
    return known;
}

void KinetoParties::addCaller(ProcessIndex process, std::uint32_t correlation)
{
    if (!firstCaller_)
        firstCaller_ = process;
    else if (process != firstCaller_ && correlation != 0)
        laterCallers_[correlation] = process;
}

void KinetoParties::addName(const KinetoEvent& event)
{
    constexpr std::size_t kMostNames = 100'000;
    const bool isThread = event.name == "thread_name";
    if ((!isThread && event.name != "process_name") || event.argName.empty() || names_.size() >= kMostNames)
        return;
    names_.push_back({std::string(event.pid), isThread ? std::string(event.tid) : std::string(),
                      std::string(event.argName)});
}

void KinetoParties::describeDevice(TracedDevice facts)
{
    deviceFacts_[facts.ordinal] = std::move(facts);
}

void KinetoParties::finish()
{
    for (const LaterName& each : names_) {
        const auto process = processes_.find(each.pid);
        if (process == processes_.end())
            continue; // a device: its rows are called streams
        if (each.tid.empty())
            builder_.process(process->second).name = each.name;
        else if (threads_.contains({each.pid, each.tid}))
            builder_.thread(process->second, nativeThread(each.tid), threadName(each.name));
    }
}

std::string KinetoParties::rankText() const
{
    if (!main_)
        return {};
    const TracedProcess& process = builder_.process(main_);
    if (!process.rank)
        return {};
    return process.worldSize ? fmt::format("rank {} of {}", *process.rank, *process.worldSize)
                             : fmt::format("rank {}", *process.rank);
}

} // namespace tilescope::exchange
