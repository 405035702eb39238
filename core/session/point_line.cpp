#include "core/session/point_line.h"

#include "core/base/error.h"
#include "core/config/schema.h"

#include <nlohmann/json.hpp>

namespace tilescope::session {

std::string pointLine(const PointLine& point)
{
    return R"({"index":)" + std::to_string(point.index) + R"(,"of":)" + std::to_string(point.of) +
           R"(,"params":)" + config::toJson(point.spec) + "}";
}

PointLine parsePointLine(std::string_view line)
{
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.value("index", nlohmann::json()).is_number_integer() ||
        !object.value("of", nlohmann::json()).is_number_integer() ||
        !object.value("params", nlohmann::json()).is_object())
        throw Error{.what = "this line is no point: " + std::string(line.substr(0, 80)),
                    .mend = R"(write {"index": 0, "of": 1, "params": {…}})"};
    return {object["index"], object["of"], config::fromJson(object["params"].dump())};
}

} // namespace tilescope::session
