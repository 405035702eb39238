#include "core/exchange/import/kineto/json_splitter.h"

#include "core/base/error.h"

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kPadding = 64; // that simdjson may read behind a text
constexpr std::size_t kMostMember = std::size_t{16} << 20;

enum class Class : std::uint8_t { Other, Space, Quote, Open, Close, Word }; // the plain ones first

constexpr std::array<Class, 256> kClasses = [] {
    std::array<Class, 256> classes{};
    classes.fill(Class::Word);
    // Of numbers, true, false, null, NaN and Infinity.
    for (const char c : std::string_view("0123456789+-.,:eEtrufalsnNIiy"))
        classes[static_cast<unsigned char>(c)] = Class::Other;
    for (const char c : {' ', '\n', '\r', '\t'})
        classes[static_cast<unsigned char>(c)] = Class::Space;
    classes['"'] = Class::Quote;
    classes['{'] = classes['['] = Class::Open;
    classes['}'] = classes[']'] = Class::Close;
    return classes;
}();

Class classOf(char c)
{
    return kClasses[static_cast<unsigned char>(c)];
}

/// Keys that an event may begin with.
constexpr std::array<std::string_view, 10> kFirstKeys{"ph", "cat", "name", "pid", "tid",
                                                      "ts", "dur", "args", "bp",  "cname"};
/// Keys that may follow the list of events.
constexpr std::array<std::string_view, 9> kMemberKeys{
    "traceName",       "deviceProperties", "distributedInfo", "schemaVersion", "baseTimeNanoseconds",
    "displayTimeUnit", "systemTraceData",  "otherData",       "metadata"};

/// The first quotation mark or backslash; `end` if there is none.
const char* stringStop(const char* from, const char* end)
{
    constexpr std::ptrdiff_t kStep = 16;
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    for (; end - from >= kStep; from += kStep) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i stops = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
        if (const int mask = _mm_movemask_epi8(stops))
            return from + std::countr_zero(static_cast<unsigned>(mask));
    }
    while (from < end && *from != '"' && *from != '\\')
        ++from;
    return from;
}

/// The first character that is neither white space nor of a number or a word such as true; `end` if there is none.
const char* plainStop(const char* from, const char* end)
{
    while (from < end && classOf(*from) <= Class::Space)
        ++from;
    return from;
}

/// Bytes of the first line that tell whether every event has one.
constexpr std::size_t kMostFirstLine = std::size_t{64} << 10;
/// What ends events that are no list: the end of the file.
constexpr int kEndOfFile = -1;

} // namespace

bool isEventPerLine(std::string_view text)
{
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if (const std::size_t last = line.find_last_not_of(" \r\t,"); last != std::string_view::npos)
        line = line.substr(0, last + 1);
    const bool hasKey = std::ranges::any_of(kFirstKeys, [&](std::string_view key) {
        return line.size() > key.size() + 1 && line.substr(1).starts_with(key) && line[key.size() + 1] == '"';
    });
    return hasKey && line.ends_with('}') && line.find("\"ph\"") != std::string_view::npos &&
           line.find("\"traceEvents\"") == std::string_view::npos;
}

JsonSplitter::JsonSplitter(InflatedFile& file, std::string name) : file_(file), name_(std::move(name)) {}

void JsonSplitter::refuse(const std::string& what, const std::string& remedy) const
{
    throw Error{.what = what + " at byte " + std::to_string(before_ + at_), .where = name_, .remedy = remedy};
}

/// Appends text; false at the end of the file.
bool JsonSplitter::fill()
{
    const std::size_t had = text_.size();
    if (had - first_ > kPieceBytes + kMostEvent)
        refuse("a value of more than 64 MiB", "only smaller ones are read");
    text_.resize(had + kReadBytes);
    const std::size_t got = file_.read(text_.data() + had, kReadBytes);
    text_.resize(had + got);
    result_.bytes += got;
    return got > 0;
}

/// The next character, -1 at the end of the file.
int JsonSplitter::peek()
{
    if (at_ == text_.size() && !fill())
        return -1;
    return static_cast<unsigned char>(text_[at_]);
}

/// The next character other than white space; -1 at the end of the file.
int JsonSplitter::peekSolid()
{
    for (;;) {
        const int c = peek();
        if (c < 0 || classOf(static_cast<char>(c)) != Class::Space)
            return c;
        ++at_;
    }
}

/// Moves behind the string that begins here.
JsonSplitter::End JsonSplitter::skipString()
{
    const std::size_t begin = at_++;
    for (;;) {
        const char* end = text_.data() + text_.size();
        const char* stop = stringStop(text_.data() + at_, end);
        at_ = static_cast<std::size_t>(stop - text_.data());
        if (at_ - begin > kMostString)
            refuse("a string of more than 16 MiB", "no trace of a profiler has such strings");
        if (stop == end) {
            if (!fill())
                return End::Cut;
            continue;
        }
        if (*stop == '"') {
            ++at_;
            return End::Complete;
        }
        ++at_;
        if (peek() < 0)
            return End::Cut;
        ++at_;
    }
}

/// Whether a list or object may begin here, by the last character before it.
bool JsonSplitter::isPlausible(char open, std::uint64_t objects, int depth) const
{
    if (depth == 0)
        return true;
    std::size_t before = at_;
    while (before > first_ && classOf(text_[before - 1]) == Class::Space)
        --before;
    const char last = before > first_ ? text_[before - 1] : open;
    const bool inObject = (objects & 1) != 0;
    return inObject ? last == ':' : last == ',' || last == '[';
}

/// Moves behind the list or object that begins here.
JsonSplitter::End JsonSplitter::skipNested()
{
    int depth = 0;
    std::uint64_t objects =
        0; // a bit for each open object or list, the innermost lowest: whether it is an object
    static_assert(kMostDepth <= 64);
    for (;;) {
        const char* const begin = text_.data();
        at_ = static_cast<std::size_t>(plainStop(begin + at_, begin + text_.size()) - begin);
        if (at_ == text_.size()) {
            if (!fill())
                return End::Cut;
            continue;
        }
        const char c = text_[at_];
        switch (classOf(c)) {
        case Class::Quote:
            if (const End end = skipString(); end != End::Complete)
                return end;
            continue;
        case Class::Open:
            if (!isPlausible(c, objects, depth))
                return End::Broken;
            if (++depth > kMostDepth)
                refuse("lists and objects nested more than 64 deep", "no trace of a profiler nests so deep");
            objects = objects << 1 | (c == '{' ? 1 : 0);
            break;
        case Class::Close:
            if ((c == '}') != ((objects & 1) != 0))
                return End::Broken;
            objects >>= 1;
            if (--depth == 0) {
                ++at_;
                return End::Complete;
            }
            break;
        case Class::Word:
            return End::Broken;
        case Class::Space:
        case Class::Other:
            break;
        }
        ++at_;
    }
}

/// Moves behind the value that begins here.
JsonSplitter::End JsonSplitter::skipValue()
{
    const int c = peek();
    if (c < 0)
        return End::Cut;
    switch (classOf(static_cast<char>(c))) {
    case Class::Quote:
        return skipString();
    case Class::Open:
        return skipNested();
    case Class::Close:
    case Class::Word:
        return End::Broken;
    case Class::Space:
    case Class::Other:
        break;
    }
    const std::size_t begin = at_;
    for (int next = c; next >= 0 && next != ',' && classOf(static_cast<char>(next)) == Class::Other;
         next = peek())
        ++at_;
    return at_ == begin ? End::Broken : End::Complete;
}

/// Reads on until there are so many bytes from a place on; false if the file ends before.
bool JsonSplitter::need(std::size_t from, std::size_t bytes)
{
    while (text_.size() < from + bytes)
        if (!fill())
            return false;
    return true;
}

/// The key that begins at a place, possibly behind white space, if a colon follows it; empty if none does.
std::string_view JsonSplitter::keyAt(std::size_t& at)
{
    constexpr std::size_t kMost = 256; // of white space and key
    need(at, kMost);
    const auto skipSpace = [&] {
        while (at < text_.size() && classOf(text_[at]) == Class::Space)
            ++at;
    };
    skipSpace();
    if (at >= text_.size() || text_[at] != '"')
        return {};
    const std::size_t end = text_.find('"', at + 1);
    if (end == std::string::npos)
        return {};
    const std::size_t begin = at + 1;
    at = end + 1;
    skipSpace();
    return at < text_.size() && text_[at] == ':' ? std::string_view(text_).substr(begin, end - begin)
                                                 : std::string_view();
}

/// \param isBetween  the damage lies between events, so what is before the brace may be a part of it
bool JsonSplitter::beginsEvent(std::size_t brace, bool isBetween)
{
    std::size_t before = brace;
    while (before > 0 && classOf(text_[before - 1]) == Class::Space)
        --before;
    const char last = before > 0 ? text_[before - 1] : ',';
    if (isBetween ? last == ':' : last != ',' && last != '[' && last != '}')
        return false;
    std::size_t at = brace + 1;
    return std::ranges::find(kFirstKeys, keyAt(at)) != kFirstKeys.end();
}

bool JsonSplitter::endsEvents(std::size_t bracket)
{
    std::size_t at = bracket + 1;
    need(at, 1);
    while (at < text_.size() && classOf(text_[at]) == Class::Space)
        ++at;
    if (at >= text_.size())
        return true;
    if (text_[at] != ',')
        return false;
    const std::string_view key = keyAt(++at);
    return key.ends_with("_version") || std::ranges::find(kMemberKeys, key) != kMemberKeys.end();
}

/// Moves to the next event, or to the end of their list, from a place within an event that is broken, or between events.
/// False if there is none.
bool JsonSplitter::resume(std::size_t from, bool isBetween)
{
    const std::uint64_t skippedFrom = before_ + from;
    at_ = from + 1;
    for (;;) {
        const std::size_t found = text_.find_first_of("{]", at_);
        if (found == std::string::npos) {
            at_ = first_ = text_.size();
            drop();
            if (!fill())
                break;
            continue;
        }
        at_ = found;
        if (text_[found] == '{' ? beginsEvent(found, isBetween) : endsEvents(found)) {
            result_.skipped += before_ + at_ - skippedFrom;
            return true;
        }
        ++at_;
        // What comes before may matter to the next brace only.
        first_ = found;
        drop();
    }
    result_.skipped += before_ + at_ - skippedFrom;
    return false;
}

/// Moves to the member that holds the events, from damage before it.
bool JsonSplitter::resumeAtEvents()
{
    static constexpr std::string_view kKey = "\"traceEvents\"";
    const std::uint64_t skippedFrom = before_ + first_;
    at_ = first_;
    for (;;) {
        const std::size_t found = text_.find(kKey, at_);
        if (found != std::string::npos) {
            at_ = found;
            result_.skipped += before_ + at_ - skippedFrom;
            return true;
        }
        at_ = std::max(at_, text_.size() - std::min(text_.size(), kKey.size()));
        first_ = at_;
        drop();
        if (!fill())
            return false;
    }
}

/// Forgets the text before the piece that is being made, once it is so long that moving the rest is cheap.
void JsonSplitter::drop()
{
    if (first_ < kReadBytes)
        return;
    text_.erase(0, first_);
    before_ += first_;
    at_ -= first_;
    first_ = 0;
}

void JsonSplitter::markBroken(std::size_t at, std::size_t end)
{
    if (result_.broken++ == 0)
        result_.firstBroken = before_ + at;
    result_.skipped += end - at;
}

/// Hands over the events that were found and drops the text before `end`.
bool JsonSplitter::flush(const Sink& sink, std::size_t end)
{
    if (!events_.empty()) {
        JsonPiece piece;
        const std::size_t begin = events_.front().begin;
        const std::size_t length = events_.back().end - begin;
        piece.text.reserve(length + 2 + kPadding);
        piece.text.append("[").append(text_, begin, length).append("]");
        piece.offset = before_ + begin - 1;
        const auto shift = static_cast<std::uint32_t>(begin) - 1;
        for (JsonPiece::Place& event : events_)
            event = {event.begin - shift, event.end - shift};
        // Events on lines of their own have no commas between them.
        for (std::size_t i = 0; i + 1 < events_.size(); ++i) {
            const std::size_t length = events_[i + 1].begin - events_[i].end;
            if (const std::string_view gap = std::string_view(piece.text).substr(events_[i].end, length);
                !gap.empty() && gap.find(',') == std::string_view::npos)
                piece.text[events_[i].end] = ',';
        }
        piece.events = std::move(events_);
        events_.clear();
        stopped_ = !sink(std::move(piece));
    }
    first_ = end;
    drop();
    return !stopped_;
}

/// Reads events up to the character that ends them. False if the file ends before it.
bool JsonSplitter::readEvents(const Sink& sink, int last)
{
    result_.foundEvents = true;
    for (;;) {
        int c = peekSolid();
        while (c == ',') {
            ++at_;
            c = peekSolid();
        }
        const std::size_t begin = at_;
        if (c == last) {
            at_ += c == kEndOfFile ? 0 : 1;
            flush(sink, at_);
            return true;
        }
        const End end = c < 0 ? End::Cut : skipValue();
        if (end == End::Complete) {
            events_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_)});
            if (at_ - first_ > kPieceBytes && !flush(sink, at_))
                return true;
            continue;
        }
        if (c < 0) {
            result_.isCut = true;
            flush(sink, begin);
            return stopped_;
        }
        const SplitResult known = result_;
        markBroken(begin, begin);
        // What ends early may be damage in the middle: look for the next event behind it.
        const std::uint64_t damaged = before_ + begin;
        if (!flush(sink, begin))
            return true;
        if (!resume(static_cast<std::size_t>(damaged - before_), c != '{')) {
            result_.isCut = end == End::Cut;
            if (result_.isCut) { // nothing but its end is wrong with the event
                result_.broken = known.broken;
                result_.firstBroken = known.firstBroken;
                result_.skipped = known.skipped;
            }
            return false;
        }
        first_ = at_;
        drop();
    }
}

/// The key that begins here, and moves behind its colon; none if it is damaged or cut off.
std::optional<std::string> JsonSplitter::takeKey()
{
    const std::size_t begin = at_;
    if (peek() != '"' || skipString() != End::Complete)
        return {};
    std::string key = text_.substr(begin + 1, at_ - begin - 2);
    if (peekSolid() != ':')
        return {};
    ++at_;
    return key;
}

void JsonSplitter::readMembers(const Sink& sink)
{
    ++at_;
    for (;;) {
        int c = peekSolid();
        if (c == ',') {
            ++at_;
            c = peekSolid();
        }
        if (c == '}') {
            ++at_;
            return;
        }
        if (c < 0 || (c != '"' && result_.foundEvents)) {
            // What follows the events is of use, but the events do not depend on it.
            result_.isCut = true;
            return;
        }
        if (c != '"') {
            first_ = at_;
            markBroken(at_, at_);
            if (!resumeAtEvents())
                refuse("not a trace in JSON",
                       "PyTorch's export_chrome_trace writes traces that can be imported");
        }
        const std::size_t member = at_;
        const std::optional<std::string> key = takeKey();
        if (!key && result_.foundEvents) {
            result_.isCut = peek() < 0;
            return;
        }
        if (!key) {
            markBroken(member, at_);
            first_ = at_;
            if (!resumeAtEvents())
                refuse("not a trace in JSON", "the file is damaged; export the trace again");
            continue;
        }
        c = peekSolid();
        if (*key == "traceEvents" && c == '[') {
            first_ = ++at_;
            drop();
            if (!readEvents(sink, ']') || stopped_)
                return;
            continue;
        }
        first_ = at_;
        drop();
        const std::size_t begin = at_;
        if (const End end = skipValue(); end != End::Complete) {
            markBroken(begin, begin);
            if (result_.foundEvents) {
                result_.isCut = end == End::Cut;
                return;
            }
            if (!resumeAtEvents())
                refuse("the file is damaged or ends", "export the trace again");
            continue;
        }
        if (at_ - first_ <= kMostMember) {
            JsonPiece piece{.key = *key,
                            .text = text_.substr(first_, at_ - first_),
                            .events = {},
                            .offset = before_ + first_};
            stopped_ = !sink(std::move(piece));
            if (stopped_)
                return;
        }
        first_ = at_;
        drop();
    }
}

/// Reads a trace that begins with a brace or bracket. False for any other first character.
bool JsonSplitter::readDocument(const Sink& sink, int first)
{
    if (first == '{') {
        readMembers(sink);
        return true;
    }
    if (first != '[')
        return false;
    first_ = ++at_;
    drop();
    readEvents(sink, ']');
    return true;
}

/// Reads what follows the trace: further ones, events, or events behind damage that looked like the end of the list.
void JsonSplitter::readRest(const Sink& sink)
{
    for (int c = peekSolid(); c >= 0 && !stopped_ && !result_.isCut; c = peekSolid()) {
        first_ = at_;
        drop();
        std::size_t inBrace = at_ + 1;
        if (c == '{' && std::ranges::find(kFirstKeys, keyAt(inBrace)) != kFirstKeys.end()) {
            readEvents(sink, kEndOfFile); // events without a list around them
            continue;
        }
        if (readDocument(sink, c))
            continue;
        markBroken(at_, at_);
        if (!resume(at_, true))
            return;
        first_ = at_;
        drop();
        readEvents(sink, ']');
    }
}

SplitResult JsonSplitter::run(const Sink& sink)
{
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    fill();
    if (text_.starts_with(kByteOrderMark))
        at_ = kByteOrderMark.size();
    const int c = peekSolid();
    need(at_, kMostFirstLine);
    if (c == '{' && isEventPerLine(std::string_view(text_).substr(at_ + 1))) {
        first_ = at_;
        readEvents(sink, kEndOfFile);
    } else if (!readDocument(sink, c)) {
        refuse("not a trace in JSON", "PyTorch's export_chrome_trace writes traces that can be imported");
    }
    readRest(sink);
    result_.isCut = result_.isCut || file_.isDamaged();
    return result_;
}

} // namespace tilescope::exchange
