#include "core/session/protocol/point_line.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/config/json_spec.h"
#include "core/config/schema.h"

#include <nlohmann/json.hpp>

namespace tilescope::session {

namespace {

nlohmann::json rankInfoToJson(const RankInfo& rankInfo)
{
    nlohmann::json object{{"rank", rankInfo.rank},
                          {"size", rankInfo.size},
                          {"group", rankInfo.group},
                          {"memory", rankInfo.memory},
                          {"node", rankInfo.node},
                          {"local_rank", rankInfo.localRank},
                          {"local_size", rankInfo.localSize},
                          {"timeout", rankInfo.timeout.count()}};
    if (rankInfo.hub.isKnown())
        object["hub"] = {
            {"hosts", rankInfo.hub.hosts}, {"port", rankInfo.hub.port}, {"secret", rankInfo.hub.secret}};
    return object;
}

RankInfo rankInfoFrom(const nlohmann::ordered_json& object)
{
    try {
        RankInfo rankInfo{.rank = object.at("rank"),
                          .size = object.at("size"),
                          .group = object.at("group"),
                          .memory = object.at("memory"),
                          .timeout = std::chrono::duration<double>(object.at("timeout").get<double>()),
                          .node = object.at("node"),
                          .localRank = object.at("local_rank"),
                          .localSize = object.at("local_size")};
        if (const auto hub = object.find("hub"); hub != object.end())
            rankInfo.hub = {.hosts = hub->at("hosts").get<std::vector<std::string>>(),
                            .port = hub->at("port"),
                            .secret = hub->at("secret")};
        return rankInfo;
    } catch (const nlohmann::json::exception& exception) {
        throw Error{.what = std::string("the rank's part of this point is incomplete: ") + exception.what()};
    }
}

} // namespace

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
                .remedy = "allowed: auto, cpu, cuda, cuda:N"};
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
    std::string rankInfo;
    if (point.rankInfo)
        rankInfo = R"(,"rankInfo":)" + rankInfoToJson(*point.rankInfo).dump();
    return R"({"index":)" + std::to_string(point.index) + R"(,"of":)" + std::to_string(point.of) +
           R"(,"params":)" + config::toJson(point.spec) + rankInfo + "}";
}

std::string joinLine(const JoinLine& join)
{
    nlohmann::json ranks = nlohmann::json::array();
    for (const JoinLine::Rank& rank : join.ranks)
        ranks.push_back({{"rank", rank.rank},
                         {"node", rank.node},
                         {"local_rank", rank.localRank},
                         {"pid", rank.pid},
                         {"file", rank.file.string()},
                         {"run", rank.run.value}});
    return nlohmann::json{{"join", ranks}}.dump();
}

std::optional<JoinLine> parseJoinLine(std::string_view line)
{
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("join"))
        return {};
    try {
        JoinLine join;
        for (const nlohmann::json& rank : object.at("join"))
            join.ranks.push_back({.rank = rank.at("rank"),
                                  .node = rank.at("node"),
                                  .localRank = rank.at("local_rank"),
                                  .pid = rank.at("pid"),
                                  .file = rank.at("file").get<std::string>(),
                                  .run = RunId{rank.at("run").get<std::int64_t>()}});
        return join;
    } catch (const nlohmann::json::exception& exception) {
        throw Error{.what = std::string("this line does not say what to join: ") + exception.what()};
    }
}

PointLine parsePointLine(std::string_view line)
{
    using Json = nlohmann::ordered_json;
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object() || !object.value("index", Json()).is_number_integer() ||
        !object.value("of", Json()).is_number_integer() || !object.value("params", Json()).is_object())
        throw Error{.what = "this line is not a point: " + std::string(line.substr(0, 80)),
                    .remedy = R"(write {"index": 0, "of": 1, "params": {…}})"};
    PointLine point{object["index"], object["of"], config::fromJson(object["params"])};
    if (const auto rankInfo = object.find("rankInfo"); rankInfo != object.end())
        point.rankInfo = rankInfoFrom(*rankInfo);
    return point;
}

} // namespace tilescope::session
