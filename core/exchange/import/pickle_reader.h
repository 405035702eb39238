#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// A value of a pickle: plain data only. Lists, tuples and dicts are indices of their document's containers;
/// texts are positions in its bytes.
struct PickleValue {
    enum class Kind : std::uint8_t { None, Boolean, Integer, Unsigned, Real, Text, List, Tuple, Dict, Mark };

    Kind kind = Kind::None;
    std::uint32_t length = 0; ///< of a text
    std::uint64_t bits = 0;   ///< the number, the position of the text, or the index of the container

    bool isSequence() const { return kind == Kind::List || kind == Kind::Tuple; }
};

/// The contents of a pickle of protocol 2 to 5, read without executing anything.
///
/// Only opcodes that make or place plain data are supported. Opcodes that look up a name, call a function or
/// build an object (GLOBAL, REDUCE, BUILD, …) cause an error, as does anything truncated, too large or
/// misplaced. Reading does not recurse and copies nothing more than the bytes contain: time and memory are
/// proportional to their number.
class PickleDocument {
public:
    /// \param bytes  kept by this object
    /// \param file   names the file in errors
    /// \throws Error  what is wrong, and at which byte
    PickleDocument(std::string bytes, std::string file);

    const PickleValue& root() const { return root_; }

    /// Values of a list or tuple; for a dict, keys and values alternate. A container may occur several times,
    /// even within itself.
    std::span<const PickleValue> items(const PickleValue& container) const;
    /// The last value that a dict has for a key.
    std::optional<PickleValue> find(const PickleValue& dict, std::string_view key) const;
    std::string_view text(const PickleValue& text) const;
    /// A whole number that fits; none for anything else.
    static std::optional<std::int64_t> integer(const PickleValue& value);
    /// A whole number from 0 to 2^64 - 1; none for anything else.
    static std::optional<std::uint64_t> address(const PickleValue& value);

    std::size_t containers() const { return containers_.size(); }
    const std::string& file() const { return file_; }

private:
    friend class PickleMachine;

    std::string bytes_;
    std::string file_;
    std::vector<std::vector<PickleValue>> containers_;
    PickleValue root_;
};

} // namespace tilescope::exchange
