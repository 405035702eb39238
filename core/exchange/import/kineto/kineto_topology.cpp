#include "core/exchange/import/kineto/kineto_topology.h"

#include "core/exchange/import/kineto/kineto_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
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

bool isDecimal(char c)
{
    return c >= '0' && c <= '9';
}

std::string lowered(std::string_view text)
{
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return lower;
}

/// The words of a text that are followed by a number: TP and 0 in `[TP00]`, rank and 3 in `rank 3`.
std::vector<std::pair<std::string, std::int32_t>> numberedWords(std::string_view text)
{
    std::vector<std::pair<std::string, std::int32_t>> words;
    std::string word;
    bool isEnded = false; // by a space or a sign, which may precede the number
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (isDecimal(c)) {
            std::int32_t number = 0;
            const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
            if (error == std::errc{} && !word.empty())
                words.emplace_back(lowered(word), number);
            at = static_cast<std::size_t>(end - text.data());
            word.clear();
            continue;
        }
        const bool isLetter = std::isalpha(static_cast<unsigned char>(c)) != 0;
        if (isLetter && std::exchange(isEnded, false))
            word.clear();
        if (isLetter)
            word += c;
        else
            isEnded = true;
        ++at;
    }
    return words;
}

/// The device that a process name stands for, as JAX, Ascend's and AMD's profilers write it; empty for programs.
std::string_view unreadDevice(std::string_view name)
{
    constexpr std::array<std::string_view, 10> kKinds{"GPU", "TPU", "NPU",  "XPU", "HPU",
                                                      "IPU", "MLU", "MTIA", "DCU", "NeuronCore"};
    constexpr std::array<std::string_view, 8> kNames{"/device:",         "Ascend Hardware", "HCCL",
                                                     "Overlap Analysis", "AI Core",         "COPY",
                                                     "Neuron Core",      "TensorCore"};
    if (std::ranges::any_of(kNames,
                            [&](std::string_view each) { return name.find(each) != std::string_view::npos; }))
        return name;
    for (const std::string_view kind : kKinds)
        if (const std::size_t at = name.find(kind); at != std::string_view::npos) {
            const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0;
            const std::size_t end = at + kind.size();
            if (begins && (end == name.size() || std::isalpha(static_cast<unsigned char>(name[end])) == 0))
                return name;
        }
    return {};
}

} // namespace

PidParts partsOfPid(std::string_view pid)
{
    const auto isKinetos = [](std::string_view text) {
        return text.empty() || text.front() == '-' || text == "Spans" || text == "Traces";
    };
    const auto numberOf = [](std::string_view text) -> std::optional<std::int64_t> {
        const auto number = integerOf(text);
        return number && *number >= 0 ? number : std::nullopt;
    };
    if (const auto number = numberOf(pid))
        return {.label = {}, .number = number};
    if (isKinetos(pid))
        return {};
    const std::size_t space = pid.rfind(' ');
    if (space != std::string_view::npos) {
        const std::string_view label = pid.substr(0, pid.find_last_not_of(' ', space) + 1);
        const std::string_view rest = pid.substr(space + 1);
        const auto number = numberOf(rest);
        // `rank 0` is a label as a whole.
        const bool isWord = std::ranges::all_of(label, [](unsigned char c) { return std::isalpha(c) != 0; });
        if (!label.empty() && !isWord && (number || isKinetos(rest)))
            return {.label = label, .number = number};
    }
    return {.label = pid, .number = {}, .isWhole = true};
}

std::optional<std::int32_t> rankIn(std::string_view text)
{
    for (const auto& [word, number] : numberedWords(text))
        if (word == "rank")
            return number;
    return {};
}

KinetoTopology::KinetoTopology(TraceBuilder& builder, const std::string& name)
    : builder_(builder), fileName_(name), clock_(builder.addClock({.name = name, .method = "wall clock"}))
{
}

KinetoTopology::Label& KinetoTopology::labelOf(std::string_view label)
{
    auto found = labels_.find(label);
    if (found == labels_.end()) {
        found = labels_.emplace(label, Label{}).first;
        found->second.holder = builder_.addProcess({.clock = clock_});
    }
    return found->second;
}

ProcessIndex KinetoTopology::mainProcess()
{
    const auto found =
        std::ranges::find_if(labels_, [](const auto& entry) { return !entry.second.processes.empty(); });
    if (found != labels_.end())
        return found->second.holder;
    return (labels_.empty() ? labelOf({}) : labels_.begin()->second).holder;
}

ProcessIndex KinetoTopology::processOf(std::string_view pid)
{
    const auto found = processes_.find(pid);
    if (found != processes_.end())
        return found->second;
    const PidParts parts = partsOfPid(pid);
    // Overhead has pid -1. The first process with a number takes what came before it.
    if (parts.label.empty() && !parts.number)
        return mainProcess();
    Label& label = labelOf(parts.label);
    if (!parts.number && !parts.isWhole)
        return label.holder;
    const ProcessIndex process =
        label.processes.empty() ? label.holder : builder_.addProcess({.clock = clock_});
    label.processes.push_back(process);
    builder_.process(process).pid = parts.number.value_or(0);
    processes_.emplace(pid, process);
    return process;
}

ProcessIndex KinetoTopology::holderOf(std::string_view pid)
{
    if (!lastHolder_ || pid != lastDevicePid_) {
        lastDevicePid_ = pid;
        const PidParts parts = partsOfPid(pid);
        // A word that names a device is no label of a rank.
        const bool isDevice = parts.label.empty() || !unreadDevice(parts.label).empty();
        lastHolder_ = labelOf(isDevice ? std::string_view() : parts.label).holder;
    }
    return lastHolder_;
}

std::int64_t KinetoTopology::nativeThread(std::string_view tid)
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

ThreadId KinetoTopology::threadOf(const KinetoEvent& event)
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

DeviceIndex KinetoTopology::deviceOf(ProcessIndex process, std::int32_t ordinal)
{
    const auto [place, isNew] = devices_.try_emplace({process.value, ordinal});
    if (isNew)
        place->second = builder_.device(process, ordinal);
    return place->second;
}

StreamId KinetoTopology::streamOf(ProcessIndex process, DeviceIndex device, std::int64_t stream,
                                  std::string_view context)
{
    const auto [place, isNew] = streams_.try_emplace({device, stream});
    if (isNew)
        place->second = builder_.stream(process, device, stream, integerOf(context));
    return place->second;
}

ProcessIndex KinetoTopology::knownProcess(std::string_view pid) const
{
    const auto found = processes_.find(pid);
    return found == processes_.end() ? ProcessIndex() : found->second;
}

DeviceIndex KinetoTopology::knownDevice(std::int64_t ordinal) const
{
    DeviceIndex known;
    for (const auto& [owner, device] : devices_)
        if (owner.second == ordinal)
            known = device;
    return known;
}

void KinetoTopology::addBare(std::string_view pid)
{
    constexpr std::size_t kMostPids = 4096;
    if (bare_.size() < kMostPids && !bare_.contains(pid))
        bare_.emplace(pid);
}

void KinetoTopology::addName(const KinetoEvent& event)
{
    constexpr std::size_t kMostNames = 100'000;
    const bool isThread = event.name == "thread_name";
    if ((!isThread && event.name != "process_name") || event.argName.empty() || names_.size() >= kMostNames)
        return;
    names_.push_back({std::string(event.pid), isThread ? std::string(event.tid) : std::string(),
                      std::string(event.argName)});
}

void KinetoTopology::describeDevice(TracedDevice facts)
{
    deviceFacts_[facts.ordinal] = std::move(facts);
}

void KinetoTopology::describeRank(std::optional<std::int32_t> rank, std::optional<std::int32_t> worldSize)
{
    rank_ = rank;
    worldSize_ = worldSize;
}

/// The name that torch.profiler.tensorboard_trace_handler() gives a file, HOST_PID.TIME.pt.trace.json, tells the host. The
/// pid must be that of a process with host events, as people rename files.
void KinetoTopology::nameHost()
{
    const std::size_t end = fileName_.find(".pt.trace.json");
    const std::size_t time = end == 0 || end == std::string::npos ? end : fileName_.rfind('.', end - 1);
    const std::size_t pid = time == std::string::npos ? time : fileName_.rfind('_', time);
    if (pid == std::string::npos || pid == 0 || !integerOf(fileName_.substr(time + 1, end - time - 1)))
        return;
    const ProcessIndex process = knownProcess(std::string_view(fileName_).substr(pid + 1, time - pid - 1));
    if (process)
        builder_.process(process).host = fileName_.substr(0, pid);
}

void KinetoTopology::nameProcesses()
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
    // What describes the devices may follow their events.
    for (const auto& [key, device] : devices_)
        if (const auto facts = deviceFacts_.find(key.second); facts != deviceFacts_.end())
            builder_.addDevice(ProcessIndex{key.first}, facts->second);
}

void KinetoTopology::leaveOutUnreadDevices()
{
    constexpr std::size_t kLongest = 60;
    for (const LaterName& each : names_) {
        if (!each.tid.empty() || !bare_.contains(each.pid))
            continue;
        const std::string_view device = unreadDevice(each.name);
        const auto process = processes_.find(each.pid);
        if (!device.empty() && process != processes_.end() && !callers_.contains(process->second))
            builder_.leaveOut(process->second, device.substr(0, kLongest));
    }
}

void KinetoTopology::shareActivities(std::span<const ForeignFlow> flows)
{
    ambiguous_.clear();
    for (const auto& [text, label] : labels_) {
        std::vector<ProcessIndex> callers;
        if (label.processes.empty() && callers_.empty() && processes_.size() == 1)
            callers.push_back(processes_.begin()->second); // nobody else can have launched them
        else if (label.processes.empty())                  // of devices only: launched by any process
            callers.assign(callers_.begin(), callers_.end());
        else
            std::ranges::copy_if(label.processes, std::back_inserter(callers),
                                 [&](ProcessIndex process) { return callers_.contains(process); });
        if (callers.size() > 1 || (callers.size() == 1 && callers.front() != label.holder))
            for (const std::uint32_t activity : builder_.shareActivities(label.holder, callers, flows))
                ambiguous_.insert(activity);
    }
}

void KinetoTopology::assignRanksOfLabels()
{
    // The word whose numbers tell all labels apart: TP in [TP00-PP00] and [TP01-PP00].
    std::map<std::string, std::map<std::int32_t, ProcessIndex>> byWord;
    std::size_t labels = 0;
    for (const auto& [text, label] : labels_) {
        if (text.empty() || label.processes.empty())
            continue;
        ++labels;
        for (const auto& [word, number] : numberedWords(text))
            for (const ProcessIndex process : label.processes)
                byWord[word].try_emplace(number, process);
    }
    const auto hasAll = [&](const std::string& word) {
        const auto found = byWord.find(word);
        return found != byWord.end() && found->second.size() == labels;
    };
    std::string chosen = hasAll("rank") ? "rank" : "";
    for (auto word = byWord.begin(); word != byWord.end() && chosen.empty(); ++word)
        if (labels > 1 && hasAll(word->first))
            chosen = word->first;
    for (const auto& [text, label] : labels_) {
        for (const ProcessIndex process : label.processes)
            if (TracedProcess& known = builder_.process(process); !text.empty() && known.name.empty())
                known.name = text;
        if (chosen.empty())
            continue;
        for (const auto& [word, number] : numberedWords(text))
            if (word == chosen)
                for (const ProcessIndex process : label.processes) {
                    builder_.process(process).rank = number;
                    builder_.process(process).worldSize = worldSize_;
                }
    }
}

void KinetoTopology::assignRanks()
{
    if (!labels_.empty() && !labels_.rbegin()->first.empty())
        assignRanksOfLabels();
    std::vector<ProcessIndex> rankless;
    for (const ProcessIndex process : callers_) {
        TracedProcess& known = builder_.process(process);
        if (!known.rank && callers_.size() > 1)
            known.rank = rankIn(known.name);
        if (!known.rank)
            rankless.push_back(process);
    }
    if (callers_.size() < 2) {
        TracedProcess& only = builder_.process(callers_.empty() ? mainProcess() : *callers_.begin());
        only.rank = only.rank ? only.rank : rank_;
        only.worldSize = worldSize_;
        return;
    }
    // As many processes as the job has, each with a device of its own: the device is the rank.
    if (!worldSize_ || rankless.size() != callers_.size() ||
        rankless.size() != static_cast<std::size_t>(*worldSize_))
        return;
    std::map<std::int32_t, ProcessIndex> byDevice;
    for (const ProcessIndex process : rankless)
        if (const std::vector<std::int32_t> devices = builder_.devicesOf(process); devices.size() == 1)
            byDevice[devices.front()] = process;
    if (byDevice.size() != rankless.size() || byDevice.rbegin()->first >= *worldSize_)
        return;
    for (const auto& [device, process] : byDevice) {
        builder_.process(process).rank = device;
        builder_.process(process).worldSize = worldSize_;
    }
}

void KinetoTopology::finish()
{
    nameHost();
    nameProcesses();
    leaveOutUnreadDevices();
    for (const auto& [text, label] : labels_)
        if (label.processes.empty())
            builder_.leaveOutIfUnused(label.holder);
    shareActivities({});
    if (!wantsFlows())
        assignRanks();
}

void KinetoTopology::addFlow(const KinetoEvent& event)
{
    const auto start = nanosecondsOfMicroseconds(event.start);
    if (event.category != "ac2g" || event.id.empty() || !start)
        return;
    Flow& flow = flows_[std::string(event.id)];
    if (event.phase == "s") {
        const ProcessIndex from = knownProcess(event.pid);
        flow.isUnique = flow.isUnique && from && (!flow.from || flow.from == from);
        flow.from = from;
    } else if (event.phase == "f") {
        const auto device = partsOfPid(event.pid).number;
        const auto stream = integerOf(event.tid);
        if (device && stream && *device <= std::numeric_limits<std::int32_t>::max())
            flow.ends.push_back({static_cast<std::int32_t>(*device), *stream, timestampAt(*start), {}});
    }
}

void KinetoTopology::finishFlows()
{
    std::vector<ForeignFlow> flows;
    for (auto& [id, flow] : flows_)
        if (flow.isUnique && flow.from)
            for (ForeignFlow& end : flow.ends) {
                end.process = flow.from;
                flows.push_back(end);
            }
    flows_.clear();
    shareActivities(flows);
    assignRanks();
}

std::string KinetoTopology::rankText() const
{
    std::int64_t ranks = 0;
    for (const ProcessIndex process : callers_)
        ranks += builder_.process(process).rank ? 1 : 0;
    if (ranks > 1)
        return fmt::format("{} ranks", ranks);
    if (labels_.empty())
        return {};
    const TracedProcess& process =
        builder_.process(callers_.empty() ? labels_.begin()->second.holder : *callers_.begin());
    if (!process.rank)
        return {};
    return process.worldSize ? fmt::format("rank {} of {}", *process.rank, *process.worldSize)
                             : fmt::format("rank {}", *process.rank);
}

} // namespace tilescope::exchange
