#include "core/exchange/import/kineto/json_splitter.h"

#include "core/base/error.h"

#include <emmintrin.h>

#include <array>
#include <bit>
#include <limits>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kPadding = 64; // that simdjson may read behind a text
constexpr std::size_t kMostMember = std::size_t{16} << 20;

enum class Class : std::uint8_t { Other, Space, Quote, Open, Close };

constexpr std::array<Class, 256> kClasses = [] {
    std::array<Class, 256> classes{};
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

/// The first quotation mark, backslash or control character; `end` if there is none.
const char* stringStop(const char* from, const char* end)
{
    constexpr std::ptrdiff_t kStep = 16;
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i lastControl = _mm_set1_epi8(0x1f);
    for (; end - from >= kStep; from += kStep) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i stops =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                         _mm_cmpeq_epi8(_mm_max_epu8(bytes, lastControl), lastControl));
        if (const int mask = _mm_movemask_epi8(stops))
            return from + std::countr_zero(static_cast<unsigned>(mask));
    }
    while (from < end && *from != '"' && *from != '\\' && static_cast<unsigned char>(*from) > 0x1f)
        ++from;
    return from;
}

} // namespace

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
        if (*stop != '\\')
            return End::Broken;
        ++at_;
        if (peek() < 0)
            return End::Cut;
        ++at_;
    }
}

/// Moves behind the list or object that begins here.
JsonSplitter::End JsonSplitter::skipNested()
{
    int depth = 0;
    for (;;) {
        if (at_ == text_.size() && !fill())
            return End::Cut;
        switch (classOf(text_[at_])) {
        case Class::Quote:
            if (const End end = skipString(); end != End::Complete)
                return end;
            continue;
        case Class::Open:
            if (++depth > kMostDepth)
                refuse("lists and objects nested more than 64 deep", "no trace of a profiler nests so deep");
            break;
        case Class::Close:
            if (--depth == 0) {
                ++at_;
                return End::Complete;
            }
            break;
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

/// Moves to the next event that begins as PyTorch writes it; false if there is none.
bool JsonSplitter::resume()
{
    static constexpr std::string_view kEvent = "\n  {\n    \"";
    for (;;) {
        const std::size_t found = text_.find(kEvent, at_);
        if (found != std::string::npos) {
            at_ = found + kEvent.find('{');
            return true;
        }
        // A border may lie across the end of what was read.
        at_ = std::max(at_, text_.size() - std::min(text_.size(), kEvent.size()));
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

void JsonSplitter::markBroken(std::size_t at)
{
    if (result_.broken++ == 0)
        result_.firstBroken = before_ + at;
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
        piece.events = std::move(events_);
        events_.clear();
        stopped_ = !sink(std::move(piece));
    }
    first_ = end;
    drop();
    return !stopped_;
}

/// Reads the list that begins here. False if the file ends within it.
bool JsonSplitter::readEvents(const Sink& sink)
{
    result_.foundEvents = true;
    ++at_;
    for (;;) {
        int c = peekSolid();
        while (c == ',') {
            ++at_;
            c = peekSolid();
        }
        const std::size_t begin = at_;
        if (c == ']') {
            ++at_;
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
        if (end == End::Cut)
            result_.isCut = true;
        if (end == End::Broken || c >= 0)
            markBroken(begin);
        if (!flush(sink, end == End::Broken ? at_ : begin) || end == End::Cut)
            return stopped_;
        if (!resume())
            return false;
    }
}

std::string JsonSplitter::takeKey()
{
    const std::size_t begin = at_;
    if (peek() != '"' || skipString() != End::Complete)
        refuse("not a trace in JSON", "PyTorch's export_chrome_trace writes traces that can be imported");
    return text_.substr(begin + 1, at_ - begin - 2);
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
        const std::string key = takeKey();
        if (peekSolid() != ':')
            refuse("not a trace in JSON", "the file is damaged; export the trace again");
        ++at_;
        c = peekSolid();
        if (key == "traceEvents" && c == '[') {
            first_ = at_;
            drop();
            if (!readEvents(sink) || stopped_)
                return;
            continue;
        }
        first_ = at_;
        drop();
        if (skipValue() != End::Complete) {
            if (!result_.foundEvents)
                refuse("the file is damaged or ends", "export the trace again");
            result_.isCut = true;
            return;
        }
        if (at_ - first_ <= kMostMember) {
            JsonPiece piece{.key = key,
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

/// Reads what follows the trace, where nothing but white space should be.
void JsonSplitter::readRest()
{
    if (peekSolid() >= 0)
        markBroken(at_);
    do {
        at_ = first_ = text_.size();
        drop();
    } while (fill());
}

SplitResult JsonSplitter::run(const Sink& sink)
{
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    fill();
    if (text_.starts_with(kByteOrderMark))
        at_ = kByteOrderMark.size();
    const int c = peekSolid();
    if (c == '[') {
        first_ = at_;
        drop();
        readEvents(sink);
    } else if (c == '{') {
        readMembers(sink);
    } else {
        refuse("not a trace in JSON", "PyTorch's export_chrome_trace writes traces that can be imported");
    }
    if (!stopped_ && !result_.isCut)
        readRest();
    result_.isCut = result_.isCut || file_.isDamaged();
    return result_;
}

} // namespace tilescope::exchange
