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
    std::vector<std::int64_t> strides = {}; ///< empty: contiguous, or not recorded

    std::int64_t elements() const;
    bool operator==(const TensorShape&) const = default;
};

/// An argument of a recorded call.
struct OpArgument {
    enum class Kind : std::uint8_t { Tensor, List, Literal };
    Kind kind = Kind::Tensor;
    std::size_t first = 0;         ///< index of its first tensor in OpArguments::tensors
    std::size_t count = 0;         ///< number of its tensors
    std::string_view literal = {}; ///< 0.125, true, [1, 1]; none: the argument is absent
};

/// The arguments of a call. Views point into the parsed text.
struct OpArguments {
    std::vector<TensorShape> tensors = {};    ///< including those in lists
    std::vector<std::string_view> types = {}; ///< of each tensor; empty: not recorded
    std::vector<OpArgument> list = {};
    bool hasLiterals = false; ///< false: positions of arguments are unknown

    /// The literal at a position of the op's signature; none if it was not recorded.
    std::optional<std::string_view> literal(std::size_t position) const;
    std::size_t lists() const;
};

/// Parses `bf16[4, 128, 768] f32[768]{1, 4} =0.125 (f32[2] f32[3])`: tensors with their types, sizes and, unless they are
/// contiguous, strides; literals with an equals sign; lists of tensors in parentheses. Types may be missing. None if
/// the text is not such a list.
/// O(length).
std::optional<OpArguments> parseArguments(std::string_view text);

/// Parses such a text and returns only the tensors.
std::optional<std::vector<TensorShape>> parseShapes(std::string_view text);

/// The text without literals, strides and parentheses, for display: `bf16[4, 128, 768] f32[768] f32[2] f32[3]`.
std::string tensorsText(std::string_view text);

/// Formats sizes as `[4, 128, 768]`.
std::string shapeText(std::span<const std::int64_t> sizes);

} // namespace tilescope::analysis
