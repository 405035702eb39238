#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace at {
struct RecordFunction;
}

// Also part of the recorder's plug-in, which is compiled on the user's machine: C++17, LibTorch from 2.0 on.
namespace tilescope::trace {

/// Numbers of the types and shapes that operators take. A program repeats the same ones, so their text is made only
/// when they are new. One thread.
class InputShapes {
public:
    /// Gives a text a number, the same for the same text; kNone while it cannot.
    using NumberOf = std::uint32_t (*)(std::string_view text);
    static constexpr std::uint32_t kNone = ~0U;

    /// \return  number of shapesOf(function); kNone if the operator takes no tensor, or one without sizes
    std::uint32_t of(const at::RecordFunction& function, NumberOf numberOf) noexcept;

private:
    struct Known {
        std::uint64_t hash = 0;
        std::uint32_t number = kNone;
        std::vector<std::int64_t> words;
    };
    bool readWords(const at::RecordFunction& function);

    static constexpr std::size_t kKnown = 512;
    std::array<Known, kKnown> known_;
    std::vector<std::int64_t> words_; ///< of each tensor: its type and number of dimensions, then its sizes
};

} // namespace tilescope::trace
