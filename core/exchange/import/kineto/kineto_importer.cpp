#include "core/exchange/import/kineto/kineto_importer.h"

#include "core/base/bounded_queue.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/exchange/import/kineto/inflated_file.h"
#include "core/exchange/import/kineto/json_splitter.h"
#include "core/exchange/import/kineto/kineto_event.h"
#include "core/exchange/import/kineto/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <thread>

namespace tilescope::exchange {

namespace {

/// Splits a file in a thread of its own, which ends with this object.
class SplittingThread {
public:
    SplittingThread(InflatedFile& file, const std::string& name)
        : thread_([this, &file, name] {
              try {
                  result_ = JsonSplitter(file, name).run([this](JsonPiece&& piece) {
                      return pieces_.push(std::move(piece));
                  });
              } catch (...) {
                  failure_ = std::current_exception();
              }
              pieces_.close();
          })
    {
    }
    ~SplittingThread()
    {
        pieces_.close();
        if (thread_.joinable())
            thread_.join();
    }
    SplittingThread(const SplittingThread&) = delete;
    SplittingThread& operator=(const SplittingThread&) = delete;

    std::optional<JsonPiece> next() { return pieces_.pop(); }

    /// Waits for the end of the file. Throws what ended the splitting.
    SplitResult finish()
    {
        thread_.join();
        if (failure_)
            std::rethrow_exception(failure_);
        return result_;
    }

private:
    static constexpr std::size_t kMostPieces = 3;

    BoundedQueue<JsonPiece> pieces_{kMostPieces};
    SplitResult result_;
    std::exception_ptr failure_;
    std::thread thread_; // last: it uses the others
};

/// The faults in all pieces of a file.
struct Faults {
    std::int64_t unreadable = 0;
    std::uint64_t first = 0;
    std::uint64_t skipped = 0; ///< bytes
    std::int64_t replaced = 0;

    void add(std::int64_t count, std::uint64_t offset, std::uint64_t bytes)
    {
        if (count > 0 && (unreadable == 0 || offset < first))
            first = offset;
        unreadable += count;
        skipped += bytes;
    }
};

/// `after 1234 bytes of text, at byte 300 of the file's 400`.
std::string placeOfCut(const InflatedFile& input, const SplitResult& split)
{
    std::string place = fmt::format("after {} bytes of text", split.bytes);
    if (input.isCompressed())
        place += fmt::format(", at byte {} of the file's {}", input.used(), input.size());
    return place;
}

void countFaults(TraceBuilder& builder, const Faults& faults, const SplitResult& split,
                 const std::string& cut)
{
    if (faults.unreadable > 0)
        builder.addLoss(RecordLoss::SourceNotJson, faults.unreadable,
                        fmt::format("{} bytes, the first at byte {}", faults.skipped, faults.first));
    if (faults.replaced > 0)
        builder.addLoss(RecordLoss::SourceText, faults.replaced);
    if (split.isCut)
        builder.addLoss(RecordLoss::SourceCut, 1, cut);
    builder.countRecord(faults.unreadable);
}

/// Reads a trace: hands members of its top-level object and events over in the order of the file.
template <class OnMember, class OnEvent>
SplitResult readPieces(InflatedFile& input, const std::filesystem::path& file, const ImportWatch& watch,
                       Faults& faults, const OnMember& onMember, const OnEvent& onEvent)
{
    KinetoEventParser parser;
    const KinetoEventParser::Sink sink = onEvent;
    SplittingThread splitting(input, file.string());
    while (std::optional<JsonPiece> piece = splitting.next()) {
        if (!piece->key.empty()) {
            onMember(*piece);
            continue;
        }
        const auto parsed = parser.parse(*piece, sink);
        faults.add(parsed.unreadable, parsed.firstUnreadable, parsed.skipped);
        faults.replaced += parsed.replaced;
        if (watch && !watch(input.done()))
            throw Error{
                .what = "the import was cancelled", .where = file.string(), .kind = ErrorKind::Failure};
    }
    return splitting.finish();
}

/// Whether a text is a trace, judged by its beginning.
enum class Likeness : std::uint8_t { Trace, Perhaps, None };

Likeness likenessOf(std::string_view text)
{
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    constexpr std::string_view kSpace = " \n\r\t";
    constexpr std::array<std::string_view, 6> kKeys{"\"traceEvents\"",      "\"schemaVersion\"",
                                                    "\"deviceProperties\"", "\"distributedInfo\"",
                                                    "\"displayTimeUnit\"",  "\"baseTimeNanoseconds\""};
    const auto skipSpace = [&] { text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size())); };
    const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
    if (text.starts_with(kByteOrderMark))
        text.remove_prefix(kByteOrderMark.size());
    skipSpace();
    const bool isObject = text.starts_with('{');
    if (!isObject && !text.starts_with('['))
        return Likeness::None;
    text.remove_prefix(1);
    skipSpace();
    if (!isObject)
        return text.starts_with('{') && has("\"ph\"") ? Likeness::Trace : Likeness::None;
    if (!text.starts_with('"'))
        return Likeness::None;
    return isEventPerLine(text) || std::ranges::any_of(kKeys, has) ? Likeness::Trace : Likeness::Perhaps;
}

/// The first bytes of a file's text.
std::string beginningOf(const std::filesystem::path& file, std::size_t most)
{
    InflatedFile input(file, InflatedFile::Content::Text);
    std::string text(most, '\0');
    std::size_t length = 0;
    while (length < most) {
        const std::size_t got = input.read(text.data() + length, most - length);
        if (got == 0)
            break;
        length += got;
    }
    text.resize(length);
    return text;
}

} // namespace

bool KinetoImporter::matches(std::string_view head, const std::filesystem::path& file) const
{
    constexpr std::size_t kText = 16384;
    const Likeness likeness = likenessOf(textHead(head, kText));
    if (likeness != Likeness::Perhaps || !std::filesystem::is_regular_file(file))
        return likeness == Likeness::Trace;
    // Tools that rewrite traces put their own members first.
    constexpr std::size_t kMore = std::size_t{4} << 20;
    return likenessOf(beginningOf(file, kMore)) == Likeness::Trace;
}

std::string KinetoImporter::read(const std::filesystem::path& file, TraceBuilder& builder,
                                 const ImportWatch& watch) const
{
    const std::string name = file.filename().string();
    KinetoReader reader(builder, name);
    InflatedFile input(file, InflatedFile::Content::Text);
    Faults faults;
    const SplitResult split = readPieces(
        input, file, watch, faults, [&](const JsonPiece& piece) { reader.addMember(piece.key, piece.text); },
        [&](const KinetoEvent& event) { reader.addEvent(event); });
    faults.add(split.broken, split.firstBroken, split.skipped);
    if (!split.foundEvents)
        throw Error{.what = "this JSON has no list of traceEvents",
                    .where = file.string(),
                    .remedy = "PyTorch's export_chrome_trace writes traces that can be imported"};
    if (reader.beginsAndEnds() > 0 && reader.beginsAndEnds() == reader.timedEvents())
        throw Error{.what = "this trace has begin and end events (phases B and E) only, which are not read",
                    .where = file.string(),
                    .remedy = "export it with complete events (phase X), as torch.profiler does"};
    if (reader.withinKernels() > 0 && reader.withinKernels() == reader.timedEvents())
        throw Error{.what = "this trace of Proton shows the inside of kernels, which is not read",
                    .where = file.string(),
                    .remedy =
                        "record with proton.start(data=\"trace\") and without its instrumentation, or with "
                        "torch.profiler"};
    if (reader.untimed() > 0 && reader.untimed() == reader.timedEvents())
        throw Error{.what = "no event of this trace has a start and a duration that can be read (ts and dur)",
                    .where = file.string(),
                    .remedy = "PyTorch's export_chrome_trace writes traces that can be imported"};
    if (reader.events() == 0)
        throw Error{.what =
                        faults.unreadable > 0
                            ? fmt::format("none of its events is valid JSON, from byte {} on", faults.first)
                            : "this trace has no events",
                    .where = file.string(),
                    .remedy = "export the trace again"};
    reader.finish();
    if (reader.wantsFlows()) {
        InflatedFile again(file, InflatedFile::Content::Text);
        Faults known;
        readPieces(
            again, file, watch, known, [](const JsonPiece&) {},
            [&](const KinetoEvent& event) { reader.addFlow(event); });
        reader.finishFlows();
    }
    countFaults(builder, faults, split, placeOfCut(input, split));

    std::string summary = fmt::format("{}: {}", name, counted(reader.events(), "event"));
    if (const std::string rank = reader.rankText(); !rank.empty())
        summary += ", " + rank;
    if (faults.unreadable > 0)
        summary +=
            fmt::format("; {} not valid JSON, the first at byte {}, {} skipped (older versions of PyTorch do "
                        "not escape quotation marks in names)",
                        counted(faults.unreadable, "event is", "events are"), faults.first,
                        counted(static_cast<std::int64_t>(faults.skipped), "byte"));
    if (split.isCut)
        summary +=
            "; the file ends early (" + placeOfCut(input, split) + "), events after its end are missing";
    return summary;
}

} // namespace tilescope::exchange
