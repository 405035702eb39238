#include "core/query/runs/run_device.h"

#include "core/base/number_text.h"
#include "core/model/environment_facts.h"
#include "core/model/text.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tilescope::query {

predict::TargetDevice deviceOfRun(const store::RunReader& reader, const store::RunRecord& run)
{
    const std::vector<EnvironmentEntry> facts = reader.environment(run.run);
    const auto textOf = [&facts](std::string_view key) { return factOf(facts, key); };
    const std::string& word = run.result.device; // cuda:1; of several cuda:0, cuda:1
    predict::TargetDevice device{.isCuda = word.starts_with("cuda")};
    device.threads = parseNumber<int>(textOf("torch_threads")).value_or(1);
    device.instructionSet =
        fromWord<CpuInstructionSet>(textOf("cpu.instruction_set")).value_or(device.instructionSet);
    if (!device.isCuda) {
        device.name = textOf("cpu.model");
        device.uuid = "cpu:" + textOf("host");
        return device;
    }
    device.name = textOf("gpu.name");
    for (const TracedDevice& traced : reader.topology(run.run).devices)
        if (device.name.empty())
            device.name = traced.name;
    device.uuid = textOf("gpu.uuid");
    const std::size_t number = std::min(word.size(), word.find(':') + 1);
    const std::string gpu = "gpu." + word.substr(number, word.find_first_of(", ", number) - number) + ".";
    const std::string capability = textOf(gpu + "compute_capability"); // 9.0
    const std::size_t dot = std::min(capability.size(), capability.find('.'));
    if (const auto major = parseNumber<int>(capability.substr(0, dot))) {
        device.computeMajor = *major;
        device.computeMinor =
            parseNumber<int>(capability.substr(std::min(capability.size(), dot + 1))).value_or(0);
    }
    device.multiprocessors =
        parseNumber<int>(textOf(gpu + "multiprocessors")).value_or(device.multiprocessors);
    if (const auto memory = parseNumber<std::int64_t>(textOf(gpu + "memory")))
        device.capacity = Bytes{*memory};
    return device;
}

} // namespace tilescope::query
