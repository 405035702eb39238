#include "core/exchange/export/perfetto_writer.h"

#include "core/exchange/export/perfetto_fields.h"

#include <protozero/varint.hpp>

#include <iterator>
#include <utility>

namespace tilescope::exchange {

namespace {

constexpr std::uint64_t kSequence = 1;
// Texts of the program have numbers above those of StringId.
constexpr std::uint64_t kFirstFixed = std::uint64_t{1} << 33;

} // namespace

PerfettoWriter::PerfettoWriter(std::ostream& out, Text text) : out_(out), text_(std::move(text)) {}

std::uint64_t PerfettoWriter::intern(std::uint32_t kind, StringId text)
{
    if (!text)
        return intern(kind, std::string_view());
    std::vector<bool>& written = written_[kind];
    if (text.value >= written.size())
        written.resize(std::size_t{text.value} + 1);
    const std::uint64_t iid = std::uint64_t{text.value} + 1;
    if (!written[text.value]) {
        written[text.value] = true;
        define(kind, iid, text_(text), {});
    }
    return iid;
}

std::uint64_t PerfettoWriter::intern(std::uint32_t kind, std::string_view text)
{
    auto& fixed = fixed_[kind];
    const auto [found, isNew] = fixed.try_emplace(std::string(text), kFirstFixed + fixed.size());
    if (isNew)
        define(kind, found->second, text, {});
    return found->second;
}

std::uint64_t PerfettoWriter::intern(std::uint32_t kind, std::uint64_t key, std::string_view name,
                                     const std::function<void(protozero::pbf_writer&)>& fill)
{
    const std::uint64_t iid = key + 1;
    if (keys_[kind].insert(key).second)
        define(kind, iid, name, fill);
    return iid;
}

void PerfettoWriter::define(std::uint32_t kind, std::uint64_t iid, std::string_view name,
                            const std::function<void(protozero::pbf_writer&)>& fill)
{
    protozero::pbf_writer all(interned_);
    protozero::pbf_writer entry(all, kind);
    entry.add_uint64(perfetto::interned::kIid, iid);
    if (kind != perfetto::interned::kGraphicsContexts)
        entry.add_string(perfetto::interned::kName, name.data(), name.size());
    if (fill)
        fill(entry);
}

void PerfettoWriter::finishPacket()
{
    packet_.clear();
    protozero::pbf_writer message(packet_);
    message.add_uint64(perfetto::packet::kSequenceId, kSequence);
    message.add_uint32(perfetto::packet::kSequenceFlags,
                       perfetto::sequence_flag::kNeedsState |
                           (isFirst_ ? perfetto::sequence_flag::kStateCleared : 0));
    if (isFirst_)
        message.add_bool(perfetto::packet::kFirstOnSequence, true);
    if (!interned_.empty())
        message.add_message(perfetto::packet::kInternedData, interned_);
    interned_.clear();
    packet_ += fields_;

    constexpr std::uint32_t kLengthDelimited = 2;
    constexpr int kTypeBits = 3;
    std::string head;
    protozero::add_varint_to_buffer(&head, perfetto::trace::kPacket << kTypeBits | kLengthDelimited);
    protozero::add_varint_to_buffer(&head, packet_.size());
    out_.write(head.data(), static_cast<std::streamsize>(head.size()));
    out_.write(packet_.data(), static_cast<std::streamsize>(packet_.size()));
    isFirst_ = false;
}

} // namespace tilescope::exchange
