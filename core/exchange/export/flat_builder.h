#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tilescope::exchange {

/// Builds one FlatBuffer. As the format wants it, parts are built before what refers to them: strings, vectors
/// and inner tables first. One thread.
class FlatBuilder {
public:
    /// Where a part is: bytes from the end of the buffer.
    struct Offset {
        std::uint32_t value = 0;
    };

    Offset string(std::string_view text);
    Offset vector(std::span<const Offset> parts);
    /// A vector of structs.
    /// \param bytes  the structs, little-endian, of 8-byte alignment
    Offset structs(std::string_view bytes, std::size_t count);

    /// Begins a table; add its fields, then end it. Tables do not nest.
    void beginTable();
    template <class Number> void add(std::uint16_t field, Number value)
    {
        static_assert(std::is_arithmetic_v<Number>);
        push(value);
        fields_.push_back({field, size()});
    }
    void add(std::uint16_t field, Offset part);
    Offset endTable();

    /// The buffer, with a size that is a multiple of 8.
    std::string finish(Offset root);

private:
    struct Field {
        std::uint16_t number = 0;
        std::uint32_t at = 0;
    };

    std::uint32_t size() const { return static_cast<std::uint32_t>(reversed_.size()); }
    /// Pads so that after `more` bytes the end is aligned.
    void align(std::size_t alignment, std::size_t more = 0);
    template <class Number> void push(Number value)
    {
        align(sizeof(Number));
        append(value);
    }
    template <class Number> void append(Number value)
    {
        using Bits =
            std::make_unsigned_t<std::conditional_t<std::is_same_v<Number, bool>, std::uint8_t, Number>>;
        constexpr unsigned kByte = 8;
        const auto bits = static_cast<Bits>(value);
        for (std::size_t i = sizeof(Bits); i-- > 0;)
            reversed_.push_back(static_cast<char>(static_cast<std::uint64_t>(bits) >> (kByte * i)));
    }
    void pushOffset(Offset part);

    std::string reversed_; ///< from the buffer's end to its beginning
    std::vector<Field> fields_;
    std::uint32_t tableEnd_ = 0;
};

} // namespace tilescope::exchange
