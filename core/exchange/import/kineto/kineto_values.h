#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// Times of a trace that are at or beyond this one are refused: about 126 years.
inline constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;

/// Nanoseconds of a decimal number of microseconds, as written: `4525974680813.322`, `1e-05`. Digits beyond
/// nanoseconds are rounded, halves away from zero. None for +-kLatestNs and beyond, and for other text.
std::optional<std::int64_t> nanosecondsOfMicroseconds(std::string_view text);

/// A whole number that fits; a fraction of zeros is allowed (`7.0`).
std::optional<std::int64_t> integerOf(std::string_view text);
/// Likewise, from 0 to 2^64 - 1.
std::optional<std::uint64_t> unsignedOf(std::string_view text);

/// The three sizes of `[24, 1, 1]`; absent ones are 0.
std::array<std::uint32_t, 3> sizesOf(std::string_view list);

/// The shapes of an op's tensors in the product's words, `f32[4096, 2000] i64[4096]`.
/// \param dims    "Input Dims": `[[4096, 2000], [4096], []]`, nested once more for a list of tensors
/// \param types   "Input type": `["float", "long int", "Scalar"]`; may be empty
/// \param shapes  is overwritten; empty if there are no tensors or `dims` is no such list
void shapesOf(std::string_view dims, std::string_view types, std::string& shapes);

/// The arguments of a call as analysis::parseArguments() reads them, with literals, strides and lists.
/// \param strides  "Input Strides", like the dims
/// \param values   "Concrete Inputs": `["", "[1, 1]", "False"]`, empty for tensors
void argumentsOf(std::string_view dims, std::string_view types, std::string_view strides,
                 std::string_view values, std::string& arguments);

/// A type in the product's words: f32 for `float` and `Float`; empty for anything else.
std::string_view dtypeWord(std::string_view type);

/// A collective in the product's words: all_reduce for `allreduce`, all_gather for `_allgather_base`. Empty
/// for calls that move nothing between processes, such as `wait`; other names are returned as they are.
std::string_view collectiveWord(std::string_view name);

} // namespace tilescope::exchange
