#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The bytes of an element of a type as recordings name it (f32, bf16, i64); 0 for unknown words.
int elementBytesOf(std::string_view dtype);

/// One tensor of a recorded list of shapes.
struct TensorShape {
    std::vector<std::int64_t> sizes = {};
    int elementBytes = 0; ///< 0 if the type was not recorded
    bool complex = false;

    std::int64_t elements() const;
    bool operator==(const TensorShape&) const = default;
};

/// The tensors of `bf16[4, 128, 768] f32[768]`; the type may be missing. None if the text is not such a list.
/// O(length).
std::optional<std::vector<TensorShape>> parseShapes(std::string_view text);

/// `[4, 128, 768]`.
std::string shapeText(std::span<const std::int64_t> sizes);

} // namespace tilescope::analysis
