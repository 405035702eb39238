#include "core/exchange/import/nsys/nsys_collectives.h"

#include "core/exchange/import/collective_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kWord = 8;
constexpr std::size_t kBlobHeader = 4 * kWord;

/// Bytes of an integer of NVTX's payload types (nvToolsExtPayload.h); 0 for other types.
std::size_t widthOf(std::int64_t type)
{
    // From NVTX_PAYLOAD_ENTRY_TYPE_CHAR, 1, to NVTX_PAYLOAD_ENTRY_TYPE_SIZE, 22.
    constexpr std::array<std::uint8_t, 23> kWidths{0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1,
                                                   1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8};
    return type >= 0 && type < static_cast<std::int64_t>(kWidths.size())
               ? kWidths[static_cast<std::size_t>(type)]
               : 0;
}

std::uint64_t integerAt(std::string_view bytes, std::size_t offset, std::size_t width)
{
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
    return value;
}

/// The bytes of a blob that was exported as hexadecimal digits; empty for other texts.
std::string fromHex(std::string_view digits)
{
    if (digits.size() % 2 != 0)
        return {};
    std::string bytes(digits.size() / 2, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        unsigned char byte = 0;
        const char* first = digits.data() + 2 * i;
        if (std::from_chars(first, first + 2, byte, 16).ptr != first + 2)
            return {};
        bytes[i] = static_cast<char>(byte);
    }
    return bytes;
}

/// Correlations are unique within a process only.
std::uint64_t launchKey(std::uint64_t process, std::uint32_t correlation)
{
    return process << 32 | correlation;
}

} // namespace

NcclPayloads::NcclPayloads(const NsysFile& file)
{
    constexpr std::array<std::pair<std::string_view, Field>, 5> kFields{
        {{"NCCL communicator ID", Field::Communicator},
         {"Message size [bytes]", Field::Bytes},
         {"Peer rank", Field::Peer},
         {"No. of ranks", Field::Ranks},
         {"Rank", Field::Rank}}};
    auto rows = file.read("NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "type", "name", "offset"});
    while (rows.next()) {
        const auto field = std::ranges::find(kFields, rows.text(3), &decltype(kFields)::value_type::first);
        const std::size_t width = widthOf(rows.integerOr(2, 0));
        const std::int64_t offset = rows.integerOr(4, 0);
        constexpr std::int64_t kLongestPayload = 1 << 20;
        if (field == kFields.end() || width == 0 || offset < 0 || offset > kLongestPayload)
            continue;
        const SchemaKey key{static_cast<std::uint64_t>(rows.integerOr(0, 0)),
                            static_cast<std::uint64_t>(rows.integerOr(1, 0))};
        schemas_[key].push_back({field->second, static_cast<std::size_t>(offset), width});
    }
}

std::optional<NcclPayload> NcclPayloads::decode(std::string_view blob) const
{
    // A blob begins with the number of a domain, whose high bytes are 0; a text never holds them.
    const std::string bytes = blob.find('\0') == std::string_view::npos ? fromHex(blob) : std::string();
    if (!bytes.empty())
        blob = bytes;
    if (blob.size() < kBlobHeader)
        return {};
    const auto schema = schemas_.find({integerAt(blob, 0, kWord), integerAt(blob, kWord, kWord)});
    const std::uint64_t size = integerAt(blob, 2 * kWord, kWord);
    if (schema == schemas_.end() || size > blob.size() - kBlobHeader)
        return {};
    const std::string_view payload = blob.substr(kBlobHeader, size);
    NcclPayload decoded;
    for (const Entry& entry : schema->second) {
        if (entry.offset + entry.width > payload.size())
            return {};
        const std::uint64_t value = integerAt(payload, entry.offset, entry.width);
        const auto number = static_cast<std::int64_t>(value);
        switch (entry.field) {
        case Field::Communicator:
            decoded.communicator = value;
            break;
        case Field::Bytes:
            decoded.bytes = number;
            break;
        case Field::Peer:
            decoded.peer = number;
            break;
        case Field::Ranks:
            decoded.ranks = number;
            break;
        case Field::Rank:
            decoded.rank = number;
            break;
        }
    }
    return decoded;
}

void NsysCollectives::addKernel(std::int64_t globalPid, const ForeignActivity& kernel)
{
    if (!isCollectiveKernel(kernel.name))
        return;
    const CollectiveName name = collectiveOfKernel(kernel.name);
    if (kernel.correlation != 0)
        kernelOf_.try_emplace(launchKey(processKey(globalPid), kernel.correlation), kernels_.size());
    kernels_.push_back({.globalPid = globalPid,
                        .correlation = kernel.correlation,
                        .op = name.op,
                        .dtype = name.dtype,
                        .launched = {}});
}

void NsysCollectives::connect(std::int64_t globalTid, std::uint32_t correlation, Timestamp start)
{
    const auto found = kernelOf_.find(launchKey(processKey(globalTid), correlation));
    if (found == kernelOf_.end())
        return;
    kernels_[found->second].globalTid = globalTid;
    kernels_[found->second].launched = start;
}

void NsysCollectives::addCall(std::int64_t globalTid, std::string_view name, const NcclPayload& payload,
                              Timestamp start, Timestamp end)
{
    if (payload.communicator && payload.ranks && *payload.ranks > 0)
        sizes_[*payload.communicator] = *payload.ranks;
    const std::string_view op = collectiveOfCall(name);
    if (op.empty())
        return;
    callsOfThreads_.add(globalTid, op, start, end, calls_.size());
    calls_.push_back({.globalTid = globalTid, .op = op, .payload = payload, .start = start, .end = end});
}

ForeignCollective NsysCollectives::described(std::string_view op, const NcclPayload& payload,
                                             std::string& group) const
{
    constexpr std::int64_t kMostRanks = std::numeric_limits<std::int32_t>::max();
    ForeignCollective collective;
    collective.op = op;
    if (payload.communicator) {
        group = fmt::format("{:#018x}", *payload.communicator);
        collective.group = group;
        const auto size = sizes_.find(*payload.communicator);
        if (size != sizes_.end() && size->second <= kMostRanks)
            collective.groupSize = static_cast<std::int32_t>(size->second);
    }
    if (payload.bytes && *payload.bytes >= 0)
        collective.bytes = *payload.bytes;
    if (payload.peer && *payload.peer >= 0 && *payload.peer <= kMostRanks)
        collective.peer = static_cast<std::int32_t>(*payload.peer);
    return collective;
}

void NsysCollectives::finish(NsysTopology& topology, TraceBuilder& builder)
{
    std::ranges::stable_sort(kernels_, {}, &Kernel::launched);
    std::string group;
    for (const Kernel& kernel : kernels_) {
        const auto index = callsOfThreads_.take(kernel.globalTid, kernel.op, kernel.launched);
        const Call* call = index ? &calls_[*index] : nullptr;
        std::string_view op = call && kernel.op.empty() ? call->op : kernel.op;
        if (op.empty())
            op = "collective";
        ForeignCollective collective = described(op, call ? call->payload : NcclPayload{}, group);
        collective.dtype = kernel.dtype;
        builder.addCollective(topology.process(kernel.globalPid), collective, kernel.correlation);
    }
    for (const std::size_t index : callsOfThreads_.rest()) {
        const Call& call = calls_[index];
        // A part of an exchange, which one kernel does for all calls of its group.
        if (call.op == "send" || call.op == "recv")
            continue;
        builder.addCollective(topology.thread(call.globalTid), described(call.op, call.payload, group),
                              call.start, call.end);
    }
}

} // namespace tilescope::exchange
