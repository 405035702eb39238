#include "core/session/protocol/point_line.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/config/json_spec.h"
#include "core/config/schema.h"

#include <nlohmann/json.hpp>

namespace tilescope::session {

DeviceRequest deviceFrom(std::string_view word)
{
    using Kind = DeviceRequest::Kind;
    constexpr std::string_view kIndexed = "cuda:";
    if (word == "auto")
        return {Kind::Auto};
    if (word == "cpu")
        return {Kind::Cpu};
    if (word == "cuda")
        return {Kind::Cuda};
    if (word.starts_with(kIndexed))
        if (const auto index = parseNumber<int>(word.substr(kIndexed.size())))
            return {Kind::Cuda, *index};
    throw Error{.what = "unknown device '" + std::string(word) + "'",
                .where = "--device",
                .mend = "allowed: auto, cpu, cuda, cuda:N"};
}

std::string ceilingsLine(std::string_view device)
{
    return nlohmann::json{{"ceilings", device}}.dump();
}

std::optional<DeviceRequest> parseCeilingsLine(std::string_view line)
{
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    const auto device = object.is_object() ? object.find("ceilings") : object.end();
    if (!object.is_object() || device == object.end() || !device->is_string())
        return {};
    return deviceFrom(device->get_ref<const std::string&>());
}

std::string pointLine(const PointLine& point)
{
    return R"({"index":)" + std::to_string(point.index) + R"(,"of":)" + std::to_string(point.of) +
           R"(,"params":)" + config::toJson(point.spec) + "}";
}

PointLine parsePointLine(std::string_view line)
{
    using Json = nlohmann::ordered_json;
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object() || !object.value("index", Json()).is_number_integer() ||
        !object.value("of", Json()).is_number_integer() || !object.value("params", Json()).is_object())
        throw Error{.what = "this line is not a point: " + std::string(line.substr(0, 80)),
                    .mend = R"(write {"index": 0, "of": 1, "params": {…}})"};
    return {object["index"], object["of"], config::fromJson(object["params"])};
}

} // namespace tilescope::session
