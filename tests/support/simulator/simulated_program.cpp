#include "tests/support/simulator/simulated_program.h"

#include <algorithm>
#include <stdexcept>

namespace tilescope::simulator {

namespace {

constexpr std::array<std::string_view, kWorks> kWorkWords{
    "host",      "loading",   "allocation",  "tracing",   "call",    "latency",      "order",
    "wait",      "matmul",    "convolution", "attention", "softmax", "norm",         "elementwise",
    "reduction", "embedding", "optimizer",   "copy",      "memset",  "communication"};
constexpr std::array<std::string_view, 16> kActionWords{
    "compute",     "range",       "launch",     "copy",        "fill",     "replay", "collective", "record",
    "stream-wait", "sync-stream", "sync-event", "sync-device", "allocate", "free",   "signal",     "await"};
constexpr std::array<std::string_view, 3> kRangeWords{"op", "annotation", "step"};
constexpr std::array<std::string_view, 3> kCopyWords{"host-to-device", "device-to-host", "device-to-device"};

template <class Enum, std::size_t N>
Enum valueOf(const std::array<std::string_view, N>& words, const std::string& word)
{
    const auto found = std::ranges::find(words, word);
    if (found == words.end())
        throw std::invalid_argument("unknown word '" + word + "' in a program");
    return static_cast<Enum>(found - words.begin());
}

template <class Enum, std::size_t N>
std::string wordIn(const std::array<std::string_view, N>& words, Enum value)
{
    return std::string(words[static_cast<std::size_t>(value)]);
}

nlohmann::json jsonOf(const Instruction& instruction)
{
    const Instruction usual;
    nlohmann::json json{{"do", wordIn(kActionWords, instruction.action)}};
    const auto add = [&json](const char* key, const auto& value, const auto& defaultValue) {
        if (value != defaultValue)
            json[key] = value;
    };
    if (instruction.work != usual.work)
        json["work"] = wordIn(kWorkWords, instruction.work);
    add("ns", instruction.duration.count(), usual.duration.count());
    add("call", instruction.call.count(), usual.call.count());
    add("latency", instruction.latency.count(), usual.latency.count());
    add("gap", instruction.gap.count(), usual.gap.count());
    add("stream", instruction.stream, usual.stream);
    add("number", instruction.number, usual.number);
    add("bytes", instruction.bytes, usual.bytes);
    if (instruction.action == Action::Copy)
        json["copy"] = wordIn(kCopyWords, instruction.copy);
    add("pageable", instruction.isPageable, usual.isPageable);
    if (instruction.action == Action::Range)
        json["range"] = wordIn(kRangeWords, instruction.range);
    add("name", instruction.name, usual.name);
    add("after", instruction.after, usual.after);
    for (const Instruction& each : instruction.body)
        json["body"].push_back(jsonOf(each));
    return json;
}

Instruction instructionOf(const nlohmann::json& json)
{
    Instruction instruction;
    instruction.action = valueOf<Action>(kActionWords, json.at("do").get<std::string>());
    instruction.work = valueOf<Work>(kWorkWords, json.value("work", "host"));
    instruction.duration = Duration(json.value("ns", std::int64_t{0}));
    instruction.call = Duration(json.value("call", std::int64_t{0}));
    instruction.latency = Duration(json.value("latency", std::int64_t{0}));
    instruction.gap = Duration(json.value("gap", std::int64_t{0}));
    instruction.stream = json.value("stream", instruction.stream);
    instruction.number = json.value("number", std::int64_t{0});
    instruction.bytes = json.value("bytes", std::int64_t{0});
    instruction.copy = valueOf<CopyKind>(kCopyWords, json.value("copy", "host-to-device"));
    instruction.isPageable = json.value("pageable", false);
    instruction.range = valueOf<RangeKind>(kRangeWords, json.value("range", "op"));
    instruction.name = json.value("name", "");
    instruction.after = json.value("after", std::vector<std::size_t>{});
    if (json.contains("body"))
        for (const nlohmann::json& each : json["body"])
            instruction.body.push_back(instructionOf(each));
    return instruction;
}

} // namespace

std::string_view wordOf(Work work)
{
    return kWorkWords[static_cast<std::size_t>(work)];
}

bool isOnDevice(Work work)
{
    return work >= Work::Matmul;
}

SimulatedProgram programOf(const nlohmann::json& json)
{
    SimulatedProgram program;
    program.tags = json.value("tags", std::vector<std::string>{});
    program.clocks.clear();
    for (const std::int64_t clock : json.at("clocks").get<std::vector<std::int64_t>>())
        program.clocks.emplace_back(clock);
    program.queueDepth = json.at("queue_depth").get<std::size_t>();
    program.syncReturn = Duration(json.at("sync_return").get<std::int64_t>());
    program.wakeUp = Duration(json.at("wake_up").get<std::int64_t>());
    program.hasSyncRecords = json.at("sync_records").get<bool>();
    for (const nlohmann::json& each : json.at("threads")) {
        SimulatedThread thread{.rank = each.at("rank").get<std::size_t>(),
                               .number = each.at("number").get<std::int64_t>(),
                               .isInOtherProcess = each.value("other_process", false)};
        for (const nlohmann::json& instruction : each.at("instructions"))
            thread.instructions.push_back(instructionOf(instruction));
        program.threads.push_back(std::move(thread));
    }
    return program;
}

nlohmann::json jsonOf(const SimulatedProgram& program)
{
    nlohmann::json json{{"tags", program.tags},
                        {"queue_depth", program.queueDepth},
                        {"sync_return", program.syncReturn.count()},
                        {"wake_up", program.wakeUp.count()},
                        {"sync_records", program.hasSyncRecords},
                        {"clocks", nlohmann::json::array()},
                        {"threads", nlohmann::json::array()}};
    for (const Duration clock : program.clocks)
        json["clocks"].push_back(clock.count());
    for (const SimulatedThread& thread : program.threads) {
        nlohmann::json instructions = nlohmann::json::array();
        for (const Instruction& instruction : thread.instructions)
            instructions.push_back(jsonOf(instruction));
        json["threads"].push_back({{"rank", thread.rank},
                                   {"number", thread.number},
                                   {"other_process", thread.isInOtherProcess},
                                   {"instructions", std::move(instructions)}});
    }
    return json;
}

} // namespace tilescope::simulator
