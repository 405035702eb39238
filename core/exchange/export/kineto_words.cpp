#include "core/exchange/export/kineto_words.h"

#include "core/analysis/work/tensor_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tilescope::exchange {

namespace {

struct TypeNames {
    std::string_view word;
    std::string_view ofInputs;
    std::string_view ofCollectives;
};

constexpr TypeNames kTypes[] = {
    {"f32", "float", "Float"},
    {"bf16", "c10::BFloat16", "BFloat16"},
    {"f16", "c10::Half", "Half"},
    {"f64", "double", "Double"},
    {"i64", "long int", "Long"},
    {"i32", "int", "Int"},
    {"i16", "short int", "Short"},
    {"i8", "signed char", "Char"},
    {"u8", "unsigned char", "Byte"},
    {"bool", "bool", "Bool"},
    {"f8", "c10::Float8_e4m3fn", "Float8_e4m3fn"},
    {"c32", "c10::complex<c10::Half>", "ComplexHalf"},
    {"c64", "c10::complex<float>", "ComplexFloat"},
    {"c128", "c10::complex<double>", "ComplexDouble"},
};

constexpr std::pair<std::string_view, std::string_view> kCollectives[] = {
    {"all_reduce", "allreduce"},
    {"all_gather", "_allgather_base"},
    {"reduce_scatter", "_reduce_scatter_base"},
};

const TypeNames* typeOf(std::string_view word)
{
    const auto* found = std::ranges::find(kTypes, word, &TypeNames::word);
    return found == std::end(kTypes) ? nullptr : found;
}

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
        const TypeNames* type = typeOf(arguments->types[i]);
        const char* separator = dims.empty() ? "" : ", ";
        dims += separator + analysis::shapeText(arguments->tensors[i].sizes);
        types += fmt::format("{}\"{}\"", separator, type ? type->ofInputs : "");
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
    const TypeNames* type = typeOf(dtype);
    return type ? type->ofCollectives : std::string_view();
}

} // namespace tilescope::exchange
