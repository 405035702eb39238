#include "core/record/working_file.h"

#include "core/base/error.h"
#include "core/record/file_request.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <type_traits>

namespace tilescope::record {

namespace {

constexpr std::string_view kAnyVersion = "tilescope working file ";
constexpr std::uint32_t kFactsBlock = 1;
constexpr std::uint32_t kEventsBlock = 2;
constexpr std::uint32_t kLongestBlock = 1U << 30;

struct BlockHead {
    std::uint32_t kind;
    std::uint32_t bytes;
    std::uint64_t checksum;
};

/// FNV-1a over words of eight bytes: fast enough for the recorder's thread.
std::uint64_t checksumOf(std::string_view data)
{
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3ULL; };
    while (data.size() >= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, data.data(), sizeof(word));
        mix(word);
        data.remove_prefix(sizeof(word));
    }
    for (const char c : data)
        mix(static_cast<unsigned char>(c));
    return hash;
}

template <class Row> void put(std::string& out, const Row& row)
{
    static_assert(std::is_trivially_copyable_v<Row>);
    out.append(reinterpret_cast<const char*>(&row), sizeof(row));
}

void putText(std::string& out, std::string_view text)
{
    put(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

template <class Row> void putRows(std::string& out, const std::vector<Row>& rows)
{
    static_assert(std::is_trivially_copyable_v<Row>);
    put(out, static_cast<std::uint32_t>(rows.size()));
    out.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
}

/// Takes values from the front of a payload; `good` falls when they do not fit.
class ByteReader {
public:
    explicit ByteReader(std::string_view data) : data_(data) {}

    template <class Row> Row take()
    {
        Row row{};
        if (data_.size() < sizeof(row)) {
            good = false;
            return row;
        }
        std::memcpy(&row, data_.data(), sizeof(row));
        data_.remove_prefix(sizeof(row));
        return row;
    }
    std::string text()
    {
        const auto bytes = take<std::uint32_t>();
        if (bytes > data_.size()) {
            good = false;
            return {};
        }
        std::string text(data_.substr(0, bytes));
        data_.remove_prefix(bytes);
        return text;
    }
    template <class Row> void rows(std::vector<Row>& into)
    {
        const auto count = take<std::uint32_t>();
        if (count > data_.size() / sizeof(Row)) {
            good = false;
            return;
        }
        into.resize(count);
        if (count > 0)
            std::memcpy(into.data(), data_.data(), count * sizeof(Row));
        data_.remove_prefix(count * sizeof(Row));
    }

    bool good = true;

private:
    std::string_view data_;
};

std::string encoded(const ProcessFacts& facts)
{
    std::string payload;
    for (const auto& [key, value] : facts) {
        putText(payload, key);
        putText(payload, value);
    }
    return payload;
}

bool decode(ByteReader& from, WorkingBlock& block)
{
    const auto strings = from.take<std::uint32_t>();
    for (std::uint32_t i = 0; from.good && i < strings; ++i)
        block.strings.push_back(from.text());
    from.rows(block.launches);
    from.rows(block.threads);
    from.rows(block.devices);
    from.rows(block.ranges);
    from.rows(block.activities);
    from.rows(block.calls);
    from.rows(block.ops);
    from.rows(block.frames);
    from.rows(block.allocations);
    from.rows(block.held);
    from.rows(block.collectives);
    from.rows(block.stacks);
    from.rows(block.samples);
    from.rows(block.sampledKernels);
    from.rows(block.pcSamples);
    const auto cubins = from.take<std::uint32_t>();
    for (std::uint32_t i = 0; from.good && i < cubins; ++i) {
        const auto checksum = from.take<std::uint64_t>();
        block.cubins.push_back({.checksum = checksum, .code = from.text()});
    }
    from.rows(block.losses);
    block.recordsChecked = from.take<std::int64_t>();
    return from.good;
}

ProcessFacts decodeFacts(std::string_view payload)
{
    ProcessFacts facts;
    ByteReader from(payload);
    while (!payload.empty() && from.good) {
        std::string key = from.text();
        std::string value = from.text();
        payload.remove_prefix(
            std::min(payload.size(), key.size() + value.size() + 2 * sizeof(std::uint32_t)));
        facts.emplace_back(std::move(key), std::move(value));
    }
    return facts;
}

/// A working file, behind its first line; at its end if the process ended while it wrote that line.
std::ifstream opened(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::string line(kWorkingFileLine.size(), '\0');
    if (!in)
        throw Error{.what = "cannot be read", .where = file.string(), .kind = ErrorKind::Failure};
    in.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<std::size_t>(in.gcount()));
    if (!kWorkingFileLine.starts_with(line))
        throw Error{.what = "was written by another version of Tilescope",
                    .where = file.string(),
                    .remedy = "read it with the version that recorded it"};
    return in;
}

/// \return  false at the end of the file, or where it is damaged: then gcount() is not 0
bool readHead(std::ifstream& in, BlockHead& head)
{
    in.read(reinterpret_cast<char*>(&head), sizeof(head));
    return in && head.bytes < kLongestBlock;
}

/// \return  none if the block is incomplete or damaged
std::optional<std::string> payloadOf(std::ifstream& in, const BlockHead& head)
{
    // Grows with what is there, so that a damaged length does not allocate.
    std::string payload;
    while (payload.size() < head.bytes) {
        constexpr std::size_t kPiece = 1 << 22;
        const std::size_t before = payload.size();
        payload.resize(std::min<std::size_t>(head.bytes, before + kPiece));
        if (!in.read(payload.data() + before, static_cast<std::streamsize>(payload.size() - before)))
            return std::nullopt;
    }
    if (checksumOf(payload) != head.checksum)
        return std::nullopt;
    return payload;
}

} // namespace

WorkingFileWriter::WorkingFileWriter(std::filesystem::path file, ProcessFacts facts, DescriptorScope scope,
                                     Request request)
    : file_(std::move(file)), facts_(std::move(facts)), scope_(std::move(scope)), request_(std::move(request))
{
}

void WorkingFileWriter::close() noexcept
{
    if (descriptor_ >= 0)
        ::close(descriptor_);
    descriptor_ = -1;
    if (mapping_)
        munmap(mapping_, mapped_);
    mapping_ = nullptr;
    failed_ = true;
}

bool WorkingFileWriter::open()
{
    if (!scope_) {
        descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        error_ = descriptor_ < 0 ? errno : 0;
        if (descriptor_ < 0 && request_ && isOutOfReach(error_))
            descriptor_ = request_(file_);
    } else if (!scope_([this] { map(); }) && error_ == 0) {
        error_ = EAGAIN;
    }
    return exists();
}

void WorkingFileWriter::map() noexcept
{
    const int descriptor = ::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        error_ = errno;
        return;
    }
    // Only addresses: memory and disk are taken as the file grows. A limit of the process may leave less of them.
    constexpr std::size_t kMost = std::size_t{1} << 38;
    constexpr std::size_t kLeast = std::size_t{1} << 26;
    for (mapped_ = kMost; mapped_ >= kLeast; mapped_ /= 2) {
        void* mapping =
            mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
        if (mapping != MAP_FAILED) {
            mapping_ = static_cast<char*>(mapping);
            madvise(mapping, mapped_, MADV_DONTFORK); // a child has a file of its own
            break;
        }
        error_ = errno;
    }
    ::close(descriptor);
}

bool WorkingFileWriter::create()
{
    if (failed_ || exists())
        return !failed_;
    failed_ = !open() || !writeAll(kWorkingFileLine.data(), kWorkingFileLine.size()) ||
              !write(kFactsBlock, encoded(facts_));
    return !failed_;
}

bool WorkingFileWriter::addFact(std::string key, std::string value)
{
    facts_.emplace_back(std::move(key), std::move(value));
    return !exists() ? !failed_ : write(kFactsBlock, encoded({facts_.back()}));
}

bool WorkingFileWriter::append(const WorkingBlock& block)
{
    if (!create())
        return false;
    std::string payload;
    payload.reserve(block.activities.size() * sizeof(ActivityRow) + block.ranges.size() * sizeof(RangeRow) +
                    4096);
    put(payload, static_cast<std::uint32_t>(block.strings.size()));
    for (const std::string& text : block.strings)
        putText(payload, text);
    putRows(payload, block.launches);
    putRows(payload, block.threads);
    putRows(payload, block.devices);
    putRows(payload, block.ranges);
    putRows(payload, block.activities);
    putRows(payload, block.calls);
    putRows(payload, block.ops);
    putRows(payload, block.frames);
    putRows(payload, block.allocations);
    putRows(payload, block.held);
    putRows(payload, block.collectives);
    putRows(payload, block.stacks);
    putRows(payload, block.samples);
    putRows(payload, block.sampledKernels);
    putRows(payload, block.pcSamples);
    put(payload, static_cast<std::uint32_t>(block.cubins.size()));
    for (const Cubin& cubin : block.cubins) {
        put(payload, cubin.checksum);
        putText(payload, cubin.code);
    }
    putRows(payload, block.losses);
    put(payload, block.recordsChecked);
    hasEvents_ = write(kEventsBlock, payload) || hasEvents_;
    return !failed_;
}

bool WorkingFileWriter::write(std::uint32_t kind, const std::string& payload)
{
    const std::string head = workingBlockHead(kind, payload);
    const std::size_t before = size_;
    if (payload.size() < kLongestBlock && writeAll(head.data(), head.size()) &&
        writeAll(payload.data(), payload.size()))
        return true;
    // Also makes room for a reason.
    if (!exists() || !cutTo(before))
        close();
    failed_ = true;
    return false;
}

bool WorkingFileWriter::cutTo(std::size_t bytes) noexcept
{
    size_ = bytes;
    const auto end = static_cast<off_t>(bytes);
    if (mapping_)
        return truncate(file_.c_str(), end) == 0;
    return ftruncate(descriptor_, end) == 0 && lseek(descriptor_, end, SEEK_SET) == end;
}

bool WorkingFileWriter::writeMapped(const char* data, std::size_t bytes)
{
    const std::size_t end = size_ + bytes;
    if (end > mapped_) {
        error_ = EFBIG;
        return false;
    }
    if (truncate(file_.c_str(), static_cast<off_t>(end)) != 0) {
        error_ = errno;
        return false;
    }
    // Where the disk is full, a write to a new page is a signal that ends the program, but an error of a system call.
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (std::size_t at = (size_ + page - 1) / page * page; at < end; at += page)
        if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, mapping_ + at) != 0) {
            error_ = ENOSPC;
            return false;
        }
    std::memcpy(mapping_ + size_, data, bytes);
    // The pages stay in the file; this process needs them no more.
    constexpr std::size_t kKept = std::size_t{1} << 26;
    if (size_ / kKept != end / kKept)
        madvise(mapping_, end / kKept * kKept, MADV_DONTNEED);
    size_ = end;
    return true;
}

bool WorkingFileWriter::writeAll(const char* data, std::size_t bytes)
{
    if (mapping_)
        return writeMapped(data, bytes);
    while (bytes > 0) {
        const ssize_t written = ::write(descriptor_, data, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            error_ = errno;
            return false;
        }
        data += written;
        bytes -= static_cast<std::size_t>(written);
        size_ += static_cast<std::size_t>(written);
    }
    return true;
}

std::string workingBlockHead(std::uint32_t kind, std::string_view payload)
{
    std::string head;
    put(head, BlockHead{kind, static_cast<std::uint32_t>(payload.size()), checksumOf(payload)});
    return head;
}

bool isWorkingFile(std::string_view head)
{
    return head.starts_with(kAnyVersion);
}

ProcessFacts firstFactsOf(const std::filesystem::path& file)
{
    try {
        std::ifstream in = opened(file);
        BlockHead head{};
        if (readHead(in, head) && head.kind == kFactsBlock)
            if (const std::optional<std::string> payload = payloadOf(in, head))
                return decodeFacts(*payload);
    } catch (const Error&) {
        return {}; // its first line is not there yet
    }
    return {};
}

bool isFinished(const std::filesystem::path& file)
{
    const std::string payload = encoded({kFinished});
    const std::string end = workingBlockHead(kFactsBlock, payload) + payload;
    std::ifstream in(file, std::ios::binary);
    in.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
    std::string last(end.size(), '\0');
    return in.read(last.data(), static_cast<std::streamsize>(last.size())) && last == end;
}

WorkingFileSummary summaryOf(const std::filesystem::path& file)
{
    WorkingFileSummary summary;
    std::ifstream in = opened(file);
    BlockHead head{};
    while (readHead(in, head)) {
        if (summary.hasEvents && head.kind != kFactsBlock) {
            in.seekg(head.bytes, std::ios::cur);
            continue;
        }
        const std::optional<std::string> payload = payloadOf(in, head);
        WorkingBlock block;
        ByteReader from(payload ? std::string_view(*payload) : std::string_view());
        if (!payload || (head.kind == kEventsBlock && !decode(from, block))) {
            summary.isCut = true;
            break;
        }
        if (head.kind == kFactsBlock)
            for (auto& fact : decodeFacts(*payload))
                summary.facts.push_back(std::move(fact));
        summary.hasEvents = summary.hasEvents || block.hasEvents();
    }
    return summary;
}

WorkingFileEnd readWorkingFile(const std::filesystem::path& file,
                               const std::function<void(ProcessFacts&&)>& takeFacts,
                               const std::function<void(WorkingBlock&&)>& takeBlock)
{
    std::ifstream in = opened(file);
    BlockHead head{};
    while (readHead(in, head)) {
        const std::optional<std::string> payload = payloadOf(in, head);
        if (!payload)
            return {.isCut = true};
        if (head.kind == kFactsBlock) {
            takeFacts(decodeFacts(*payload));
        } else if (head.kind == kEventsBlock) {
            ByteReader from(*payload);
            WorkingBlock block;
            if (!decode(from, block))
                return {.isCut = true};
            takeBlock(std::move(block));
        }
    }
    return {.isCut = in.gcount() != 0};
}

} // namespace tilescope::record
