#include "core/config/schema.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilescope::config {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value)
{
    if (value >= 9.2e18)
        return std::int64_t{9223372036854775807};
    if (value == static_cast<double>(static_cast<std::int64_t>(value)))
        return static_cast<std::int64_t>(value);
    return value;
}

Json pattern(const std::string& expression)
{
    return {{"type", "string"}, {"pattern", expression}};
}

/// The schema of a single value of the key.
Json valueSchema(const KeyInfo& key)
{
    Json schema;
    switch (key.type) {
    case ValueType::Text:
        schema = {{"type", "string"},
                  {"pattern", fmt::format("^[^/\\\\]{{{},{}}}$", key.minimum, key.maximum)}};
        break;
    case ValueType::Integer:
        schema = {{"type", "integer"}, {"minimum", number(key.minimum)}, {"maximum", number(key.maximum)}};
        if (!key.choices.empty())
            schema = {{"anyOf", Json::array({schema, {{"enum", key.choices}}})}};
        break;
    case ValueType::Real:
    case ValueType::Duration:
        schema = {{"type", "number"}, {"minimum", number(key.minimum)}, {"maximum", number(key.maximum)}};
        break;
    case ValueType::Boolean:
        schema = {{"type", "boolean"}};
        break;
    case ValueType::Choice:
        schema = {{"enum", key.choices}};
        break;
    case ValueType::Device:
        schema = pattern("^(auto|cpu|cuda(:[0-9]+)?)$");
        break;
    case ValueType::Size:
        schema = pattern(key.choices.empty() ? "^[0-9]+(\\.[0-9]+)? *([kMGT]|[KMGT]i)?B$"
                                             : "^(auto|[0-9]+(\\.[0-9]+)? *([kMGT]|[KMGT]i)?B)$");
        break;
    case ValueType::Compile:
        schema = pattern(fmt::format("^({}|package:.+\\.pt2)$", fmt::join(key.choices, "|")));
        break;
    case ValueType::Checkpointing:
        schema = pattern("^(none|attention|block(:[0-9]+(\\+[0-9]+)?)?|nested(:[0-9]+)?)$");
        break;
    case ValueType::List:
        schema = {{"type", "array"}, {"items", {{"type", "string"}}}, {"maxItems", number(key.maximum)}};
        break;
    }
    return schema;
}

Json references(bool sweep, bool lists)
{
    Json properties = Json::object();
    for (const KeyInfo& key : keys()) {
        if (sweep && !key.sweepable)
            continue;
        const Json one = {{"$ref", "#/$defs/" + std::string(key.name)}};
        if (!lists)
            properties[std::string(key.name)] = one;
        else
            properties[std::string(key.name)] = {
                {"anyOf", Json::array({one, {{"type", "array"}, {"items", one}, {"minItems", 1}}})}};
    }
    return properties;
}

Json mapOf(Json properties)
{
    return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

} // namespace

std::string jsonSchema()
{
    Json properties = references(false, false);
    properties["fixed"] = mapOf(references(false, false));
    properties["sweep"] = {
        {"description", "a map of lists is their product, a list of maps is explicit points"},
        {"anyOf",
         Json::array({mapOf(references(true, true)),
                      {{"type", "array"}, {"items", mapOf(references(true, false))}, {"minItems", 1}}})}};
    Json definitions = Json::object();
    for (const KeyInfo& key : keys()) {
        Json schema = valueSchema(key);
        schema["description"] = std::string(key.help) + " (default: " + std::string(key.defaultText) + ")";
        definitions[std::string(key.name)] = std::move(schema);
    }
    Json schema = {
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", "Tilescope spec"},
        {"description", "An experiment or a sweep of experiments, as tilescope --batch takes it."}};
    schema.update(mapOf(std::move(properties)));
    schema["$defs"] = std::move(definitions);
    return schema.dump(2) + "\n";
}

} // namespace tilescope::config
