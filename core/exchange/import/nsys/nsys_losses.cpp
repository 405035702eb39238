#include "core/exchange/import/nsys/nsys_import.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::exchange {

namespace {

/// Tables that are read, or that describe others.
constexpr std::array<std::string_view, 26> kKnown{"StringIds",
                                                  "PROCESSES",
                                                  "ThreadNames",
                                                  "ProcessStreams",
                                                  "UnwindMethodType",
                                                  "NVTX_EVENTS",
                                                  "NVTX_PAYLOAD_",
                                                  "META_DATA_",
                                                  "EXPORT_META_",
                                                  "ENUM_",
                                                  "TARGET_INFO_",
                                                  "ANALYSIS_",
                                                  "DIAGNOSTIC_",
                                                  "PROFILER_",
                                                  "CUDA_GRAPH_",
                                                  "CUPTI_ACTIVITY_KIND_KERNEL",
                                                  "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                  "CUPTI_ACTIVITY_KIND_MEMSET",
                                                  "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                  "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                  "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                                  "CUPTI_ACTIVITY_KIND_OVERHEAD",
                                                  "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                  "sqlite_",
                                                  "GENERIC_EVENT_",
                                                  "EVENTLIB_"};

bool isKnown(std::string_view table)
{
    return std::ranges::any_of(kKnown, [&](std::string_view known) {
        return known.ends_with('_') ? table.starts_with(known) : table == known;
    });
}

/// Whether a table has a name of Nsight Systems'. Names that users chose are not repeated.
bool isNsightName(std::string_view table)
{
    return !table.empty() && std::ranges::all_of(table, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

bool reportsLoss(std::string_view text)
{
    std::string lower(text.substr(0, 4096));
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::array<std::string_view, 5> kWords{"dropped", "not all ", "events were lost", "events lost",
                                                     "buffer overflow"};
    return std::ranges::any_of(kWords,
                               [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// A message, unless it may hold a path.
std::string quotable(std::string_view text)
{
    constexpr std::size_t kLongest = 160;
    if (text.find_first_of("/\\\n") != std::string_view::npos)
        return "its text holds a path";
    return std::string(text.substr(0, kLongest));
}

} // namespace

void countNsysLosses(NsysImport& import)
{
    constexpr std::int64_t kWarning = 2; // ENUM_DIAGNOSTIC_SEVERITY_LEVEL: 1 information, 3 error
    auto messages = import.file.read("DIAGNOSTIC_EVENT", {"severity", "text"});
    while (messages.next())
        if (messages.integerOr(0, kWarning) >= kWarning && reportsLoss(messages.text(1)))
            import.builder.addLoss(RecordLoss::SourceDropped, 1, quotable(messages.text(1)));

    const store::ForeignDatabase& database = import.file.database();
    for (const std::string& table : database.tables()) {
        const bool read = isKnown(table) || std::ranges::any_of(kKnown, [&](std::string_view known) {
                              return import.file.tableNamed(known) == table;
                          });
        if (read)
            continue;
        const std::int64_t rows = database.countRows(table);
        import.builder.countRecord(rows);
        if (rows > 0)
            import.builder.addLoss(RecordLoss::SourceNotStored, rows,
                                   isNsightName(table) ? table : "tables of other programs");
    }
}

} // namespace tilescope::exchange
