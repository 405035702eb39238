#include "core/exchange/export/kineto_words.h"

#include "core/analysis/work/tensor_shape.h"
#include "core/model/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tilescope::exchange {

namespace {

constexpr std::pair<std::string_view, std::string_view> kCollectives[] = {
    {"all_reduce", "allreduce"},
    {"all_gather", "_allgather_base"},
    {"reduce_scatter", "_reduce_scatter_base"},
};

} // namespace

void appendMicroseconds(std::string& text, std::int64_t nanoseconds)
{
    constexpr std::int64_t kThousand = 1000;
    fmt::format_to(std::back_inserter(text), "{}.{:03}", nanoseconds / kThousand, nanoseconds % kThousand);
}

std::string kinetoInputs(std::string_view shapes)
{
    const std::optional<analysis::OpArguments> arguments = analysis::parseArguments(shapes);
    std::string dims;
    std::string types;
    for (std::size_t i = 0; arguments && i < arguments->tensors.size(); ++i) {
        const ElementType* type = findElementType(&ElementType::word, arguments->types[i]);
        const char* separator = dims.empty() ? "" : ", ";
        dims += separator + analysis::shapeText(arguments->tensors[i].sizes);
        types += fmt::format("{}\"{}\"", separator, type ? type->cpp : "");
    }
    return dims.empty() ? std::string()
                        : fmt::format(R"("Input Dims": [{}], "Input type": [{}])", dims, types);
}

std::string_view kinetoCollective(std::string_view op)
{
    const auto* found =
        std::ranges::find(kCollectives, op, &std::pair<std::string_view, std::string_view>::first);
    return found == std::end(kCollectives) ? op : found->second;
}

std::string_view kinetoDtype(std::string_view dtype)
{
    const ElementType* type = findElementType(&ElementType::word, dtype);
    return type ? type->torch : std::string_view();
}

} // namespace tilescope::exchange
