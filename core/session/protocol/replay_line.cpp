#include "core/session/protocol/replay_line.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "core/session/protocol/point_line.h"

#include <nlohmann/json.hpp>

namespace tilescope::session {

namespace {

nlohmann::json argumentJson(const ReplayArgument& argument)
{
    if (argument.kind == ReplayArgument::Kind::Literal)
        return argument.literal;
    nlohmann::json tensors = nlohmann::json::array();
    for (const ReplayTensor& tensor : argument.tensors)
        tensors.push_back({{"type", tensor.type}, {"sizes", tensor.sizes}, {"strides", tensor.strides}});
    return argument.kind == ReplayArgument::Kind::List ? tensors : tensors.at(0);
}

ReplayTensor tensorFrom(const nlohmann::json& json)
{
    return {.type = json.at("type"), .sizes = json.at("sizes"), .strides = json.at("strides")};
}

ReplayArgument argumentFrom(const nlohmann::json& json)
{
    if (json.is_string())
        return {.kind = ReplayArgument::Kind::Literal, .literal = json.get<std::string>()};
    if (!json.is_array())
        return {.kind = ReplayArgument::Kind::Tensor, .tensors = {tensorFrom(json)}};
    ReplayArgument list{.kind = ReplayArgument::Kind::List};
    for (const nlohmann::json& tensor : json)
        list.tensors.push_back(tensorFrom(tensor));
    return list;
}

} // namespace

std::string replayLine(const ReplayRequest& request)
{
    nlohmann::json arguments = nlohmann::json::array();
    for (const ReplayArgument& argument : request.arguments)
        arguments.push_back(argumentJson(argument));
    return nlohmann::json{{"replay",
                           {{"device", toText(request.device)},
                            {"op", request.op},
                            {"arguments", arguments},
                            {"positional", request.isPositional},
                            {"indices", request.indices},
                            {"samples", request.samples}}}}
        .dump();
}

std::optional<ReplayRequest> parseReplayLine(std::string_view line)
{
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("replay"))
        return {};
    try {
        const nlohmann::json& replay = object.at("replay");
        ReplayRequest request{.device = deviceFrom(replay.at("device").get<std::string>()),
                              .op = replay.at("op"),
                              .arguments = {},
                              .isPositional = replay.at("positional"),
                              .indices = replay.at("indices"),
                              .samples = replay.at("samples")};
        for (const nlohmann::json& argument : replay.at("arguments"))
            request.arguments.push_back(argumentFrom(argument));
        return request;
    } catch (const nlohmann::json::exception& exception) {
        throw Error{.what = std::string("this line does not say what to replay: ") + exception.what()};
    }
}

} // namespace tilescope::session
