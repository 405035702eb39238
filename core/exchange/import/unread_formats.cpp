#include "core/exchange/import/unread_formats.h"

#include "core/store/file/foreign_database.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
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

/// The first letters of a text, small.
std::string beginning(std::string_view text)
{
    constexpr std::size_t kLetters = 32;
    std::string small(text.substr(0, kLetters));
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
    return small;
}

/// Whether a file begins with packets of Perfetto: messages of field 1 that hold a time stamp, a number of their sequence
/// or a track.
bool beginsPackets(std::string_view head)
{
    constexpr char kPacket = '\x0a';
    constexpr int kMostPackets = 16;
    // Tags of timestamp, trusted_packet_sequence_id, sequence_flags and trusted_uid, and of track_descriptor.
    constexpr std::string_view kFields[] = {"\x40", "\x50", "\x68", "\x18", "\xe2\x03"};
    bool isOne = false;
    for (int i = 0; i < kMostPackets && !head.empty(); ++i) {
        if (head[0] != kPacket)
            return false;
        std::size_t length = 0;
        std::size_t at = 1;
        for (int shift = 0; at < head.size() && shift < 35; shift += 7) {
            const auto byte = static_cast<unsigned char>(head[at++]);
            length |= std::size_t{byte & 0x7fU} << shift;
            if (byte < 0x80)
                break;
        }
        const std::string_view body = head.substr(std::min(at, head.size()), length);
        isOne = isOne ||
                std::ranges::any_of(kFields, [&](std::string_view field) { return body.starts_with(field); });
        head.remove_prefix(std::min(at + length, head.size()));
    }
    return isOne;
}

std::string_view withoutSpace(std::string_view text)
{
    return text.substr(std::min(text.find_first_not_of(" \n\r\t"), text.size()));
}

constexpr std::string_view kSnapshotRemedy =
    "write the snapshot with torch.cuda.memory._dump_snapshot(\"x.pickle\") and import that file";
constexpr std::string_view kRocprofRemedy =
    "record with torch.profiler or rocmProfileData (runTracer.sh), whose files can be imported";

constexpr Format kNvprof{"is a profile of nvprof, which is not read",
                         "record with `nsys profile`, which replaced nvprof, and import its report",
                         [](std::string_view head, std::string_view name) {
                             return name.ends_with(".nvprof") || name.ends_with(".nvvp") ||
                                    has(head, "NVPROF is profiling") ||
                                    has(head, "== Profiling application:") ||
                                    has(head, "== Profiling result:") ||
                                    head.starts_with("\"Type\",\"Time(%)\"") ||
                                    head.starts_with("\"Start\",\"Duration\",\"Grid X\"") ||
                                    head.starts_with("Time(%),Time,Calls");
                         }};

constexpr Format kPerfetto{
    "is a trace of Perfetto, which is not read",
    "import the recording that it was made from: Kineto's JSON, an export of Nsight Systems or a "
    "profile of JAX; instead of rocprofv3, record with torch.profiler or rocmProfileData",
    [](std::string_view head, std::string_view name) {
        return name.ends_with(".pftrace") || name.ends_with(".perfetto-trace") ||
               (name.ends_with(".perfetto") && !head.empty());
    }};

constexpr std::array kFormats{
    Format{"is a pointer of Git LFS, not the file itself", "run `git lfs pull` where the file comes from",
           [](std::string_view head, std::string_view) {
               return head.starts_with("version https://git-lfs.github.com/spec/");
           }},
    kNvprof,
    Format{"is compressed with Zstandard, which is not read",
           "unpack it with `zstd -d` and import the result",
           [](std::string_view head, std::string_view) { return head.starts_with("\x28\xb5\x2f\xfd"); }},
    Format{"is compressed with xz, which is not read", "unpack it with `xz -d` and import the result",
           [](std::string_view head, std::string_view) {
               return head.starts_with(std::string_view("\xfd\x37zXZ\0", 6));
           }},
    Format{"is compressed with bzip2, which is not read", "unpack it with `bzip2 -d` and import the result",
           [](std::string_view head, std::string_view) { return head.starts_with("BZh"); }},
    Format{"is compressed with LZ4, which is not read", "unpack it with `lz4 -d` and import the result",
           [](std::string_view head, std::string_view) { return head.starts_with("\x04\x22\x4d\x18"); }},
    Format{"is an archive of 7-Zip or RAR, which is not read", "unpack it and import the folder",
           [](std::string_view head, std::string_view) {
               return head.starts_with("7z\xbc\xaf\x27\x1c") || head.starts_with("Rar!\x1a\x07");
           }},
    Format{"is a ZIP archive without a file that can be imported", "import the recording that it should hold",
           [](std::string_view head, std::string_view) {
               return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");
           }},
    Format{"is a tar archive, which is not read", "unpack it with `tar -xf` and import the folder",
           [](std::string_view head, std::string_view) {
               constexpr std::size_t kTarMark = 257;
               return head.size() > kTarMark && head.substr(kTarMark).starts_with("ustar");
           }},
    Format{
        "is a table that `nsys export` or another program wrote (Parquet, Arrow or HDF5), which is not read",
        "export the report with `nsys export --type sqlite --include-blobs=true FILE`",
        [](std::string_view head, std::string_view) {
            return head.starts_with("PAR1") || head.starts_with("ARROW1") || head.starts_with("\x89HDF\r\n");
        }},
    Format{"has the name of a report of Nsight Systems but not its content",
           "copy it again, or record it again if it was not complete",
           [](std::string_view, std::string_view name) {
               return name.ends_with(".nsys-rep") || name.ends_with(".qdrep");
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
                      has(head, "\"Domain\",\"Function\",\"Process_Id\"") ||
                      head.starts_with("\"Kind\",\"Direction\"") ||
                      head.starts_with("\"Node_Id\",\"Logical_Node_Id\"") ||
                      head.starts_with("\"Correlation_Id\",\"Dispatch_Id\"") || name.ends_with(".otf2");
           }},
    Format{"is a profile of rocprof, which is not read", kRocprofRemedy,
           [](std::string_view head, std::string_view) {
               return head.starts_with("\"Index\",\"KernelName\"") || head.starts_with("\"Name\",\"Calls\"");
           }},
    Format{"is a profile of Proton: sums by call path, without a timeline",
           "record with proton's data=\"trace\", torch.profiler or `nsys profile`, and import that",
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
    Format{"is a web page, not a recording",
           "download the recording itself (on GitHub: Raw), or import the one that the page was made from",
           [](std::string_view head, std::string_view) {
               const std::string begin = beginning(head);
               return begin.starts_with("<!doctype html") || begin.starts_with("<html") ||
                      begin.starts_with("<!--");
           }},
    Format{"is XML: perhaps the answer of a server that does not have the file", "download it again",
           [](std::string_view head, std::string_view) { return head.starts_with("<?xml"); }},
    Format{"is the answer of a server that does not have the file", "download it again",
           [](std::string_view head, std::string_view) {
               return head.starts_with("404") || has(head.substr(0, 64), "\"message\":\"Not Found\"") ||
                      has(head.substr(0, 64), "\"message\": \"Not Found\"");
           }},
    kPerfetto,
    Format{"is an execution trace of PyTorch, which has no times",
           "record the same program with torch.profiler too, and import its trace",
           [](std::string_view head, std::string_view) {
               return head.starts_with('{') && has(head, "\"nodes\"") &&
                      (has(head, "chakra") || has(head, "[pytorch|profiler|execution_trace"));
           }},
    Format{"is a profile of speedscope: stacks and their times, without a GPU",
           "import the recording that it was made from",
           [](std::string_view head, std::string_view) { return has(head, "speedscope.app/file-format"); }},
    Format{"is JSON without a list of traceEvents",
           "PyTorch's export_chrome_trace writes traces that can be imported",
           [](std::string_view head, std::string_view) {
               constexpr std::string_view kFirst = "\"]}{[0123456789-tfn";
               return (head.starts_with('{') || head.starts_with('[')) &&
                      kFirst.find(withoutSpace(head.substr(1)).substr(0, 1)) != std::string_view::npos;
           }},
    Format{"is empty", "name a trace or snapshot",
           [](std::string_view head, std::string_view) { return head.empty(); }},
};

/// What tables of a database tell.
std::optional<Error> whyNotRead(const store::ForeignDatabase& database)
{
    const std::vector<std::string>& tables = database.tables();
    const auto hasTable = [&](std::string_view prefix) {
        return std::ranges::any_of(tables,
                                   [&](const std::string& table) { return table.starts_with(prefix); });
    };
    if (!hasTable("rocpd_") && (hasTable("StringIds") || hasTable("TARGET_INFO_")))
        return Error{.what = "is an export of Nsight Systems without any event",
                     .remedy = "record with `nsys profile --trace cuda,nvtx`, and export that report"};
    if (hasTable("StringTable") && (hasTable("CUPTI_ACTIVITY_KIND") || hasTable("Version")))
        return Error{.what = std::string(kNvprof.what), .remedy = std::string(kNvprof.remedy)};
    if (hasTable("rocpd_kernel_dispatch") || hasTable("rocpd_info_agent") || hasTable("rocpd_region"))
        return Error{.what = "is a profile of rocprofv3, which is not read",
                     .remedy = std::string(kRocprofRemedy)};
    return Error{.what = "is a SQLite database, but none of Nsight Systems or rocmProfileData",
                 .remedy = "`nsys export --type sqlite` writes databases that can be imported"};
}

/// Whether a file is empty, or ends as gzip does when it compresses nothing: with a length of 0.
bool holdsNothing(const std::filesystem::path& file)
{
    std::array<char, 4> length{};
    std::ifstream in(file, std::ios::binary);
    in.seekg(-static_cast<std::streamoff>(length.size()), std::ios::end);
    in.read(length.data(), length.size());
    return !in || length == std::array<char, 4>{};
}

} // namespace

std::optional<Error> whyNotRead(std::string_view head, const std::filesystem::path& file)
{
    std::string name = file.filename().string();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::optional<Error> why;
    const std::string_view text = withoutSpace(head);
    const auto becauseOf = [&why](const Format& format) {
        why = Error{.what = std::string(format.what), .remedy = std::string(format.remedy)};
    };
    if (head.empty() && !holdsNothing(file))
        why = Error{.what = "is compressed, and damaged from its beginning",
                    .remedy = "copy or download it again"};
    // The first byte of a packet is that of a line break.
    if (!why && beginsPackets(head))
        becauseOf(kPerfetto);
    for (const Format& format : kFormats)
        if (!why && format.isIt(text, name))
            becauseOf(format);
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
