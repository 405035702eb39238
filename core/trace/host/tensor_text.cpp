#include "core/trace/host/tensor_text.h"

#include <c10/core/ScalarType.h>

namespace tilescope::trace {

std::string dtypeText(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
        return "f32";
    case at::kBFloat16:
        return "bf16";
    case at::kHalf:
        return "f16";
    case at::kDouble:
        return "f64";
    case at::kLong:
        return "i64";
    case at::kInt:
        return "i32";
    case at::kShort:
        return "i16";
    case at::kChar:
        return "i8";
    case at::kByte:
        return "u8";
    case at::kBool:
        return "bool";
    case at::kComplexHalf:
        return "c32";
    case at::kComplexFloat:
        return "c64";
    case at::kComplexDouble:
        return "c128";
    default:
        return c10::toString(type);
    }
}

std::string shapeText(const at::Tensor& tensor)
{
    std::string text = "[";
    for (const std::int64_t size : tensor.sizes())
        text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
    return text + "]";
}

} // namespace tilescope::trace
