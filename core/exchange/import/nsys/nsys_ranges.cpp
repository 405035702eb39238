#include "core/exchange/import/nsys/nsys_import.h"
#include "core/exchange/import/rules/event_times.h"
#include "core/exchange/import/rules/rules.h"
#include "core/model/nvtx_op.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace tilescope::exchange {

namespace {

using Rows = store::ForeignDatabase::Rows;

/// Numbers of ENUM_NSYS_EVENT_TYPE.
struct EventTypes {
    explicit EventTypes(const NsysFile& file)
        : mark(of(file, "NvtxMark", 34)), thread(of(file, "NvtxThread", 39)),
          pushPop(of(file, "NvtxPushPopRange", 59)), startEnd(of(file, "NvtxStartEndRange", 60)),
          importedPushPop(of(file, "NvtxtPushPopRange", 70)),
          importedStartEnd(of(file, "NvtxtStartEndRange", 71)), category(of(file, "NvtxCategory", 33)),
          domain(of(file, "NvtxDomainCreate", 75))
    {
    }

    bool isRange(std::int64_t type) const
    {
        return type == pushPop || type == startEnd || type == importedPushPop || type == importedStartEnd;
    }

    std::int64_t mark;
    std::int64_t thread;
    std::int64_t pushPop;
    std::int64_t startEnd;
    std::int64_t importedPushPop;
    std::int64_t importedStartEnd;
    std::int64_t category;
    std::int64_t domain;

private:
    static std::int64_t of(const NsysFile& file, std::string_view symbol, std::int64_t otherwise)
    {
        return file.enumerator("ENUM_NSYS_EVENT_TYPE", symbol, otherwise);
    }
};

/// When the recording ended: open ranges end there.
std::int64_t endOfCapture(const NsysFile& file)
{
    std::int64_t end = 0;
    Rows details = file.read("ANALYSIS_DETAILS", {"stopTime"});
    while (details.next())
        end = std::max(end, details.integerOr(0, 0));
    // A window that was cut out of an export may lie beyond it.
    for (const std::string_view table :
         {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"}) {
        Rows rows = file.read(table, {"end", "start"});
        while (rows.next())
            end = std::max({end, rows.integerOr(0, 0), rows.integerOr(1, 0)});
    }
    return end;
}

/// The number after `MPI Rank `, the name that Nsight Systems gives to a thread of a process of MPI.
std::optional<std::int32_t> mpiRankOf(std::string_view name)
{
    constexpr std::string_view kPrefix = "MPI Rank ";
    std::int32_t rank = 0;
    if (!name.starts_with(kPrefix))
        return {};
    const char* first = name.data() + kPrefix.size();
    const auto [end, error] = std::from_chars(first, name.data() + name.size(), rank);
    return error == std::errc{} && rank >= 0 ? std::optional(rank) : std::nullopt;
}

class RangeReader {
public:
    explicit RangeReader(NsysImport& import) : import_(import), types_(import.file), payloads_(import.file) {}

    void read()
    {
        readDomains();
        Rows rows = import_.file.read("NVTX_EVENTS", {"start", "end", "eventType", "text", "globalTid",
                                                      "textId", "domainId", "binaryData"});
        while (rows.next()) {
            import_.progress.step();
            import_.builder.countRecord();
            readRow(rows);
        }
    }

private:
    enum : int { Start, End, Type, Text, Thread, TextId, Domain, Blob };

    /// The text of an event: its own, or a registered string.
    std::string_view nameOf(const Rows& rows) const
    {
        return rows.isNull(Text) ? import_.file.string(rows.integer(TextId)) : rows.text(Text);
    }

    void readDomains()
    {
        Rows rows = import_.file.read(
            "NVTX_EVENTS", {"start", "end", "eventType", "text", "globalTid", "textId", "domainId"});
        while (rows.next())
            if (rows.integerOr(Type, 0) == types_.domain)
                domains_[{processKey(rows.integerOr(Thread, 0)), rows.integerOr(Domain, 0)}] = nameOf(rows);
    }

    void readRow(const Rows& rows)
    {
        const std::int64_t type = rows.integerOr(Type, 0);
        if (types_.isRange(type))
            return readRange(rows);
        if (type == types_.domain || type == types_.category)
            return;
        if (type == types_.thread) {
            const std::int64_t thread = rows.integerOr(Thread, 0);
            if (const auto rank = mpiRankOf(nameOf(rows)))
                import_.builder.process(import_.topology.process(thread)).rank = rank;
            return;
        }
        import_.builder.addLoss(RecordLoss::SourceNotStored, 1,
                                type == types_.mark ? "NVTX marks" : "NVTX events of other types");
    }

    void readRange(const Rows& rows)
    {
        auto end = rows.integer(End);
        if (rows.isNull(End) && rows.integer(Start)) {
            if (!captureEnd_)
                captureEnd_ = endOfCapture(import_.file);
            end = std::max(*captureEnd_, *rows.integer(Start));
            import_.builder.addLoss(RecordLoss::OpenRange, 1, "NVTX ranges");
        }
        const auto times = intervalOf(rows.integer(Start), end, "NVTX ranges", import_.builder);
        if (!times)
            return;
        const std::int64_t globalTid = rows.integerOr(Thread, 0);
        const std::string_view text = nameOf(rows);
        const ThreadId thread = import_.topology.thread(globalTid);
        readCollective(rows, globalTid, text, *times);
        if (const auto op = parseNvtxOp(text)) {
            import_.builder.addOp({.thread = thread,
                                   .name = op->name,
                                   .shapes = op->shapes,
                                   .sequence = op->sequence,
                                   .isBackward = op->isBackward,
                                   .start = times->start,
                                   .end = times->end});
            ++import_.ops;
            return;
        }
        const auto domain = domains_.find({processKey(globalTid), rows.integerOr(Domain, 0)});
        if (domain == domains_.end() || domain->second.empty())
            label_ = text;
        else
            label_.assign(domain->second, 0, kMostDomain).append(": ").append(text);
        if (label_.empty())
            label_ = "(unnamed range)";
        import_.builder.addRange(thread, label_, times->start, times->end);
        ++import_.ranges;
    }

    void readCollective(const Rows& rows, std::int64_t globalTid, std::string_view text,
                        const Interval& times)
    {
        if (!text.starts_with("nccl"))
            return;
        const auto payload = payloads_.decode(rows.text(Blob)).value_or(NcclPayload{});
        import_.collectives.addCall(globalTid, text, payload, times.start, times.end);
        // The largest communicator that a process joins is that of all processes.
        TracedProcess& process = import_.builder.process(import_.topology.process(globalTid));
        constexpr std::int64_t kMostRanks = 1 << 24;
        if (payload.rank && payload.ranks && *payload.rank >= 0 &&
            *payload.rank<*payload.ranks&& * payload.ranks <= kMostRanks&& * payload.ranks> process.worldSize
                 .value_or(0)) {
            process.rank = static_cast<std::int32_t>(*payload.rank);
            process.worldSize = static_cast<std::int32_t>(*payload.ranks);
        }
    }

    NsysImport& import_;
    EventTypes types_;
    NcclPayloads payloads_;
    std::map<std::pair<std::uint64_t, std::int64_t>, std::string> domains_; ///< by process and number
    std::optional<std::int64_t> captureEnd_;
    std::string label_;
};

} // namespace

void readNsysRanges(NsysImport& import)
{
    RangeReader(import).read();
}

} // namespace tilescope::exchange
