#include "core/query/run_spec.h"

#include "core/config/schema.h"

#include <nlohmann/json.hpp>

namespace tilescope::query {

std::optional<ExperimentSpec> specOf(const RunSummary& run)
{
    using Json = nlohmann::ordered_json;
    Json object = Json::object();
    for (const auto& [key, text] : run.params) {
        // The texts of strings have lost their quotes.
        const config::KeyInfo* info = config::findKey(key);
        const bool isText = info != nullptr && info->type == config::ValueType::Text;
        const bool isJson = !isText && Json::accept(text);
        object[std::string(key)] = isJson ? Json::parse(text) : Json(std::string(text));
    }
    return config::specOf(object.dump());
}

} // namespace tilescope::query
