#pragma once

#include "core/base/ids.h"

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilescope::exchange {

/// Writes the packets of a Perfetto trace, all on one sequence, with interned texts.
///
/// Texts are interned while a packet is filled; each is written once, in the packet that uses it first. One
/// thread. Memory grows with the number of distinct texts, a few bytes each.
class PerfettoWriter {
public:
    using Text = std::function<std::string(StringId)>;

    /// \param text  returns the text to write for an id
    PerfettoWriter(std::ostream& out, Text text);

    /// Writes a packet: `fill` adds its fields to the message.
    template <class Fill> void packet(Fill&& fill)
    {
        fields_.clear();
        protozero::pbf_writer message(fields_);
        fill(message);
        finishPacket();
    }

    /// The number that stands for a text in a kind of interned data (perfetto_fields.h, `interned`). Call
    /// while filling a packet.
    std::uint64_t intern(std::uint32_t kind, StringId text);
    /// The same for a text of the program.
    std::uint64_t intern(std::uint32_t kind, std::string_view text);
    /// The same for entries that have more than a name. `fill` adds the other fields the first time.
    std::uint64_t intern(std::uint32_t kind, std::uint64_t key, std::string_view name,
                         const std::function<void(protozero::pbf_writer&)>& fill);

private:
    void define(std::uint32_t kind, std::uint64_t iid, std::string_view name,
                const std::function<void(protozero::pbf_writer&)>& fill);
    void finishPacket();

    std::ostream& out_;
    Text text_;
    std::string fields_;
    std::string interned_; ///< what the packet that is being filled defines
    std::string packet_;
    std::unordered_map<std::uint32_t, std::vector<bool>> written_; ///< by kind and StringId
    std::unordered_map<std::uint32_t, std::unordered_map<std::string, std::uint64_t>> fixed_;
    std::unordered_map<std::uint32_t, std::unordered_set<std::uint64_t>> keys_;
    bool isFirst_ = true;
};

} // namespace tilescope::exchange
