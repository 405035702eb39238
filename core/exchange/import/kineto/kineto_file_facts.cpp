#include "core/exchange/import/kineto/kineto_file_facts.h"

#include "core/exchange/import/kineto/kineto_values.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tilescope::exchange {

namespace {

using nlohmann::json;

std::string textOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A whole number, also as `1.0`, or a text of one.
std::optional<std::int64_t> integerOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    if (found != object.end() && found->is_string())
        return exchange::integerOf(found->get_ref<const std::string&>());
    constexpr double kMostExact = 9e15;
    if (found != object.end() && found->is_number_float()) {
        const auto number = found->get<double>();
        if (std::abs(number) <= kMostExact && std::trunc(number) == number)
            return static_cast<std::int64_t>(number);
    }
    if (found == object.end() || !found->is_number_integer() ||
        (found->is_number_unsigned() &&
         found->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())))
        return {};
    return found->get<std::int64_t>();
}

std::optional<std::int32_t> smallOf(const json& object, const char* key)
{
    const auto value = integerOf(object, key);
    if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max())
        return {};
    return static_cast<std::int32_t>(*value);
}

void readDevices(KinetoTopology& topology, const std::string& text)
{
    const json list = json::parse(text, nullptr, false);
    if (!list.is_array())
        return;
    for (const json& each : list) {
        if (!each.is_object())
            continue;
        const auto ordinal = smallOf(each, "id");
        if (!ordinal)
            continue;
        TracedDevice facts{.ordinal = *ordinal, .name = textOf(each, "name")};
        if (const auto memory = integerOf(each, "totalGlobalMem"))
            facts.memory = Bytes{*memory};
        facts.multiprocessors = smallOf(each, "numSms");
        const auto major = smallOf(each, "computeMajor");
        const auto minor = smallOf(each, "computeMinor");
        if (major && minor)
            facts.capability = fmt::format("{}.{}", *major, *minor);
        topology.describeDevice(std::move(facts));
    }
}

/// \return  false if rank or number of ranks cannot be true; a number below 0 says that there are none
bool readDistributed(TraceBuilder& builder, KinetoTopology& topology, const std::string& text)
{
    const json info = json::parse(text, nullptr, false);
    if (!info.is_object())
        return info.is_null();
    const std::optional<std::int32_t> rank = smallOf(info, "rank");
    std::optional<std::int32_t> size = smallOf(info, "world_size");
    bool isSound = true;
    for (const char* key : {"rank", "world_size"})
        if (const auto found = info.find(key); found != info.end() && !found->is_null())
            isSound = isSound && integerOf(info, key);
    if (rank && size && *rank >= *size) {
        size.reset();
        isSound = false;
    }
    topology.describeRank(rank, size);
    if (const std::string version = textOf(info, "nccl_version"); !version.empty())
        builder.addEnvironment({"nccl", version});
    return isSound;
}

void readVersion(TraceBuilder& builder, const std::string& key, const std::string& text)
{
    constexpr std::pair<std::string_view, const char*> kNames[] = {
        {"cuda_driver_version", "driver.cuda"},
        {"cuda_runtime_version", "cuda_runtime"},
        {"cupti_version", "cupti"},
        {"hip_driver_version", "hip_driver"},
        {"hip_runtime_version", "hip_runtime"},
        {"roctracer_version", "roctracer"},
        {"rocprofiler-sdk_version", "rocprofiler"},
    };
    const auto* name = std::ranges::find(kNames, key, &std::pair<std::string_view, const char*>::first);
    const json value = json::parse(text, nullptr, false);
    if (name == std::end(kNames) || !value.is_number_unsigned())
        return;
    const auto number = value.get<std::uint64_t>();
    constexpr std::uint64_t kMajor = 1000;
    constexpr std::uint64_t kMinor = 10;
    const bool isCuda = key.starts_with("cuda_");
    builder.addEnvironment(
        {name->second,
         isCuda ? fmt::format("{}.{}", number / kMajor, number % kMajor / kMinor) : std::to_string(number)});
}

} // namespace

bool addFileMember(TraceBuilder& builder, KinetoTopology& topology, const std::string& key,
                   const std::string& text)
{
    if (key == "deviceProperties")
        readDevices(topology, text);
    else if (key == "distributedInfo")
        return readDistributed(builder, topology, text);
    else if (key == "baseTimeNanoseconds") {
        std::string_view number = std::string_view(text).substr(0, text.find_last_not_of(" \n\r\t") + 1);
        if (number.size() > 2 && number.front() == '"' && number.back() == '"')
            number = number.substr(1, number.size() - 2);
        const auto base = unsignedOf(number);
        if (!base || *base >= static_cast<std::uint64_t>(kLatestNs))
            return false;
        builder.clock(topology.clock()).offset = Nanoseconds(static_cast<std::int64_t>(*base));
    } else if (key.ends_with("_version")) {
        readVersion(builder, key, text);
    }
    return true;
}

} // namespace tilescope::exchange
