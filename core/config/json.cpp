#include "core/base/error.h"
#include "core/base/sha256.h"
#include "core/config/json_spec.h"
#include "core/config/rules.h"
#include "core/config/value.h"
#include "core/config/wording.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tilescope::config {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuseParameter(std::string_view key, std::string what, std::string remedy)
{
    throw Error{.what = std::move(what),
                .where = key.empty() ? "parameters" : "parameters." + std::string(key),
                .remedy = std::move(remedy)};
}

std::size_t knownRow(const std::string& name, Workload workload)
{
    std::vector<std::string> allowed;
    for (const KeyRow& row : keyRows()) {
        if (!row.info.appliesTo(workload))
            continue;
        if (row.info.name == name)
            return rowOf(name);
        allowed.emplace_back(row.info.name);
    }
    refuseParameter("", "unknown key " + shown(name),
                    question(name, allowed) + "allowed here: " + joined(allowed));
}

Json parsed(std::string_view text)
{
    try {
        return Json::parse(text);
    } catch (const nlohmann::json::exception& exception) {
        refuseParameter("", std::string("is not JSON: ") + exception.what(), "give {\"workload\": …}");
    }
}

std::string object(const ExperimentSpec& spec, bool identityOnly)
{
    std::string text = "{";
    for (const ResolvedValue& value : resolvedValues(spec)) {
        if (identityOnly && (value.key == "name" || value.key == "timeout" || value.key == "repeat"))
            continue;
        if (text.size() > 1)
            text += ',';
        text += '"' + std::string(value.key) + "\":" + value.json;
    }
    return text + '}';
}

} // namespace

std::vector<ResolvedValue> resolvedValues(const ExperimentSpec& spec)
{
    const bool hasKeysOfRanks = spec.gpus != 1 || hasRanks(spec);
    static const ExperimentSpec kDefaults;
    const auto isLeftOut = [&](const KeyRow& row) {
        const std::string_view key = row.info.name;
        if (row.info.addedLater)
            return jsonText(row.get(spec)) == jsonText(row.get(kDefaults));
        if (row.info.generation)
            return spec.mode != Mode::Generate;
        if (key == "kv_heads")
            return spec.workload == Workload::Lm && spec.mode != Mode::Generate;
        return !hasKeysOfRanks && (key == "gpus" || key == "parallel" || key == "bucket");
    };
    std::vector<ResolvedValue> values;
    for (const KeyRow& row : keyRows())
        if (row.info.appliesTo(spec.workload) && !isLeftOut(row))
            values.push_back({.key = row.info.name, .json = jsonText(row.get(spec))});
    return values;
}

std::string toJson(const ExperimentSpec& spec)
{
    return object(spec, false);
}

ExperimentSpec fromJson(std::string_view json)
{
    return fromJson(parsed(json));
}

ExperimentSpec fromJson(const Json& object)
{
    if (!object.is_object())
        refuseParameter("", "is not a JSON object", "give {\"workload\": …}");
    const auto workload = object.find("workload");
    if (workload == object.end() || !workload->is_string() ||
        !fromWord<Workload>(workload->get_ref<const std::string&>()))
        refuseParameter("workload", "is missing or unknown",
                        "allowed: " + keyRows()[rowOf("workload")].info.allowed());
    ExperimentSpec spec;
    spec.workload = *fromWord<Workload>(workload->get_ref<const std::string&>());
    GivenKeys given;
    for (const auto& [name, value] : object.items()) {
        const std::size_t row = knownRow(name, spec.workload);
        const KeyInfo& info = keyRows()[row].info;
        try {
            keyRows()[row].set(spec, parseValue(info, value));
        } catch (Error& error) {
            error.where = "parameters." + name;
            throw;
        }
        given.set(row);
    }
    applyDefaults(spec, given);
    return spec;
}

std::optional<ExperimentSpec> specOf(std::string_view json, std::string* why)
{
    try {
        return fromJson(json);
    } catch (const Error& error) {
        if (!why)
            return {};
        const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
        const auto workload = parsed.is_object() ? parsed.find("workload") : parsed.end();
        const bool isForeign = workload != parsed.end() && workload->is_string() &&
                               !fromWord<Workload>(workload->get<std::string>());
        *why = isForeign ? "an imported recording has no spec"
                         : "the run's spec cannot be read (" + error.sentence() + ")";
        return {};
    }
}

std::string specHash(const ExperimentSpec& spec)
{
    return sha256(object(spec, true));
}

} // namespace tilescope::config
