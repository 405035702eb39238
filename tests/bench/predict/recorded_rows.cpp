#include "tests/bench/predict/recorded_rows.h"

#include "core/base/error.h"
#include "core/config/spec_file.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace tilescope::bench {

namespace {

using nlohmann::json;

/// The members of a row besides the keys of its spec.
constexpr std::array kFigures{"status",        "expected",        "of",     "peak_allocated",
                              "peak_reserved", "before_backward", "device", "step_ms"};

std::string textOf(const json& value)
{
    return value.is_string() ? value.get<std::string>() : value.dump();
}

ExperimentSpec specOf(const json& row)
{
    config::Overrides keys;
    for (const auto& [key, value] : row.items())
        if (std::ranges::find(kFigures, key) == kFigures.end() && key != "workload" && !value.is_null())
            keys.emplace_back(key, textOf(value));
    const Workload workload = row.at("workload") == "lm" ? Workload::Lm : Workload::Attention;
    return config::specFromOverrides(workload, keys).front();
}

RecordedRow rowOf(const json& row)
{
    const bool isLm = row.at("workload") == "lm";
    std::string kind = (isLm ? "lm" : textOf(row.at("backend"))) + " " + textOf(row.at("precision"));
    if (row.value("compile", "none") == "graph")
        kind += " graph";
    std::optional<double> measured;
    if (row.contains("step_ms") && row.at("step_ms").at(1).is_number())
        measured = row.at("step_ms").at(1).get<double>();
    return {.study = textOf(row.at("of")),
            .size = isLm ? "width " + textOf(row.at("d_model")) : "length " + textOf(row.at("seq_len")),
            .kind = kind,
            .spec = specOf(row),
            .measuredMs = measured};
}

} // namespace

RecordedRows recordedRows(const std::filesystem::path& results)
{
    std::ifstream in(results);
    if (!in)
        throw Error{.what = "cannot be read", .where = results.string()};
    const json document = json::parse(in);
    RecordedRows recorded;
    recorded.device.isCuda = document.at("device_kind") == "cuda";
    recorded.device.name = document.at("device").at(0);
    std::vector<Ceiling> ceilings;
    for (const json& each : document.at("calibration")) {
        Ceiling& ceiling = ceilings.emplace_back();
        ceiling.deviceName = recorded.device.name;
        ceiling.kind = each.at("kind");
        ceiling.value = each.at("value").get<double>();
    }
    const auto rates = predict::DeviceRates::from(ceilings, recorded.device);
    if (!rates)
        throw Error{.what = "the calibration lacks what time needs", .where = results.string()};
    recorded.rates = *rates;
    for (const json& row : document.at("rows")) {
        RecordedRow& added = recorded.rows.emplace_back(rowOf(row));
        added.work = predict::stepWork(added.spec, recorded.device, recorded.rates);
    }
    return recorded;
}

} // namespace tilescope::bench
