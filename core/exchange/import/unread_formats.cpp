#include "core/exchange/import/unread_formats.h"

#include "core/store/file/foreign_database.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace tilescope::exchange {

namespace {

struct Format {
    std::string_view what;
    std::string_view remedy;
    bool (*isIt)(std::string_view head, std::string_view name);
};

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::string_view withoutSpace(std::string_view text)
{
    return text.substr(std::min(text.find_first_not_of(" \n\r\t"), text.size()));
}

constexpr std::string_view kSnapshotRemedy =
    "write the snapshot with torch.cuda.memory._dump_snapshot(\"x.pickle\") and import that file";
constexpr std::string_view kRocprofRemedy =
    "record with torch.profiler or rocmProfileData (runTracer.sh), whose files can be imported";

constexpr std::array kFormats{
    Format{"is a pointer of Git LFS, not the file itself", "run `git lfs pull` where the file comes from",
           [](std::string_view head, std::string_view) {
               return head.starts_with("version https://git-lfs.github.com/spec/");
           }},
    Format{"is a profile of nvprof, which is not read",
           "record with `nsys profile`, which replaced nvprof, and import its report",
           [](std::string_view head, std::string_view name) {
               return name.ends_with(".nvprof") || name.ends_with(".nvvp") ||
                      has(head, "NVPROF is profiling") || has(head, "==Profiling result");
           }},
    Format{"is a report of Nsight Compute, which measures kernels one by one",
           "record the program's timeline with `nsys profile` and import that report",
           [](std::string_view head, std::string_view name) {
               return head.starts_with(std::string_view("NVR\0", 4)) || name.ends_with(".ncu-rep");
           }},
    Format{"is a raw capture of Nsight Systems",
           "open it once with Nsight Systems (QdstrmImporter), and import the report that this makes",
           [](std::string_view, std::string_view name) { return name.ends_with(".qdstrm"); }},
    Format{"is a profile of rocprofv3, which is not read", kRocprofRemedy,
           [](std::string_view head, std::string_view name) {
               return has(head, "\"rocprofiler-sdk-tool\"") || has(head, "\"Kind\",\"Agent_Id\"") ||
                      has(head, "\"Kind\",\"Domain\"") ||
                      has(head, "\"Domain\",\"Function\",\"Process_Id\"") || name.ends_with(".otf2");
           }},
    Format{"is a profile of rocprof, which is not read", kRocprofRemedy,
           [](std::string_view head, std::string_view) {
               return head.starts_with("\"Index\",\"KernelName\"") || head.starts_with("\"Name\",\"Calls\"");
           }},
    Format{"is a profile of Proton: sums by call path, without a timeline",
           "record with proton's chrome_trace output, torch.profiler or `nsys profile`, and import that",
           [](std::string_view head, std::string_view name) {
               return name.ends_with(".hatchet") || (has(head, "\"frame\"") && has(head, "\"metrics\""));
           }},
    Format{"is a memory snapshot as JSON", kSnapshotRemedy,
           [](std::string_view head, std::string_view) {
               return head.starts_with('{') && (has(head, "\"segments\"") || has(head, "\"device_traces\""));
           }},
    Format{"is a pickle of protocol 0 or 1", kSnapshotRemedy,
           [](std::string_view head, std::string_view name) {
               const bool isPickle = name.ends_with(".pickle") || name.ends_with(".pkl");
               return head.starts_with("(dp") || head.starts_with("(lp") || head.starts_with("}q") ||
                      head.starts_with("]q") || (isPickle && head.starts_with("N."));
           }},
    Format{"is a memory timeline of torch.profiler: a plot, or the numbers of one", kSnapshotRemedy,
           [](std::string_view head, std::string_view name) {
               const bool isList = head.starts_with("[[") || head.starts_with("[ [");
               return isList || (has(head, "data:image/png;base64") && has(name, ".htm"));
           }},
    Format{"is a web page", "import the recording that it was made from",
           [](std::string_view head, std::string_view) {
               return head.starts_with("<!DOCTYPE html") || head.starts_with("<html") ||
                      head.starts_with("<HTML");
           }},
    Format{"is a trace of Perfetto, which is not read",
           "import the recording that it was made from: Kineto's JSON, an export of Nsight Systems or a "
           "profile of JAX",
           [](std::string_view head, std::string_view name) {
               return name.ends_with(".pftrace") || name.ends_with(".perfetto-trace") ||
                      (name.ends_with(".perfetto") && !head.empty());
           }},
};

/// What tables of a database tell.
std::optional<Error> whyNotRead(const store::ForeignDatabase& database)
{
    const std::vector<std::string>& tables = database.tables();
    const auto hasTable = [&](std::string_view prefix) {
        return std::ranges::any_of(tables,
                                   [&](const std::string& table) { return table.starts_with(prefix); });
    };
    if (hasTable("StringTable") && (hasTable("CUPTI_ACTIVITY_KIND") || hasTable("Version")))
        return Error{.what = std::string(kFormats[1].what), .remedy = std::string(kFormats[1].remedy)};
    if (hasTable("rocpd_kernel_dispatch") || hasTable("rocpd_info_agent") || hasTable("rocpd_region"))
        return Error{.what = "is a profile of rocprofv3, which is not read",
                     .remedy = std::string(kRocprofRemedy)};
    return {};
}

} // namespace

std::optional<Error> whyNotRead(std::string_view head, const std::filesystem::path& file)
{
    std::string name = file.filename().string();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::optional<Error> why;
    const std::string_view text = withoutSpace(head);
    for (const Format& format : kFormats)
        if (!why && format.isIt(text, name))
            why = Error{.what = std::string(format.what), .remedy = std::string(format.remedy)};
    if (!why && store::ForeignDatabase::isDatabase(head)) {
        try {
            why = whyNotRead(store::ForeignDatabase(file));
        } catch (const Error&) { // a damaged database has no known format
            return {};
        }
    }
    if (why) {
        why->where = file.string();
        why->kind = ErrorKind::Usage;
    }
    return why;
}

} // namespace tilescope::exchange
