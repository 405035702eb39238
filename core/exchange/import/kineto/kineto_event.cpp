#include "core/exchange/import/kineto/kineto_event.h"

#include "core/base/terminal_text.h"

#include <simdjson.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

namespace tilescope::exchange {

namespace {

namespace ondemand = simdjson::ondemand;
using Member = std::string_view KinetoEvent::*;

struct Key {
    std::string_view text;
    Member member;
};

constexpr std::array kEventKeys{
    Key{"ph", &KinetoEvent::phase},     Key{"ts", &KinetoEvent::start},  Key{"id", &KinetoEvent::id},
    Key{"cat", &KinetoEvent::category}, Key{"pid", &KinetoEvent::pid},   Key{"tid", &KinetoEvent::tid},
    Key{"dur", &KinetoEvent::duration}, Key{"name", &KinetoEvent::name},
};

// Libkineto's MetadataFieldCatalog.h lists the keys. Versions before 2021 wrote "external id".
constexpr std::array kArgKeys{
    Key{"Seq", &KinetoEvent::collectiveSequence},
    Key{"Addr", &KinetoEvent::address},
    Key{"grid", &KinetoEvent::grid},
    Key{"name", &KinetoEvent::argName},
    Key{"Bytes", &KinetoEvent::bytes},
    Key{"block", &KinetoEvent::block},
    Key{"bytes", &KinetoEvent::bytes},
    Key{"dtype", &KinetoEvent::dtype},
    Key{"device", &KinetoEvent::device},
    Key{"stream", &KinetoEvent::stream},
    Key{"Ev Idx", &KinetoEvent::eventIndex},
    Key{"context", &KinetoEvent::context},
    Key{"Src Rank", &KinetoEvent::sourceRank},
    Key{"Dst Rank", &KinetoEvent::destinationRank},
    Key{"Device Id", &KinetoEvent::deviceId},
    Key{"Group size", &KinetoEvent::groupSize},
    Key{"Input Dims", &KinetoEvent::inputDims},
    Key{"Input type", &KinetoEvent::inputTypes},
    Key{"correlation", &KinetoEvent::correlation},
    Key{"External id", &KinetoEvent::externalId},
    Key{"external id", &KinetoEvent::externalId},
    Key{"Device Type", &KinetoEvent::deviceType},
    Key{"In msg nelems", &KinetoEvent::inElements},
    Key{"graph node id", &KinetoEvent::graphNode},
    Key{"Input Strides", &KinetoEvent::inputStrides},
    Key{"shared memory", &KinetoEvent::sharedMemory},
    Key{"Fwd thread id", &KinetoEvent::forwardThread},
    Key{"Out msg nelems", &KinetoEvent::outElements},
    Key{"Total Reserved", &KinetoEvent::totalReserved},
    Key{"cuda_sync_kind", &KinetoEvent::syncKind},
    Key{"wait_on_stream", &KinetoEvent::waitStream},
    Key{"Sequence number", &KinetoEvent::sequence},
    Key{"Total Allocated", &KinetoEvent::totalAllocated},
    Key{"Collective name", &KinetoEvent::collective},
    Key{"Concrete Inputs", &KinetoEvent::inputValues},
    Key{"Process Group Name", &KinetoEvent::groupName},
    Key{"Process Group Ranks", &KinetoEvent::groupRanks},
    Key{"registers per thread", &KinetoEvent::registers},
    Key{"wait_on_cuda_event_record_corr_id", &KinetoEvent::waitCorrelation},
};

/// Finds keys by their length, of which few are alike.
template <std::size_t N> class KeyTable {
public:
    explicit constexpr KeyTable(const std::array<Key, N>& keys) : keys_(keys)
    {
        for (std::size_t length = 0, key = 0; length < kLengths; ++length) {
            first_[length] = static_cast<std::uint8_t>(key);
            while (key < N && keys[key].text.size() == length)
                ++key;
            first_[length + 1] = static_cast<std::uint8_t>(key);
        }
    }

    constexpr bool isSorted() const { return first_[kLengths] == N; }

    Member find(std::string_view text) const
    {
        if (text.size() >= kLengths)
            return nullptr;
        for (std::size_t key = first_[text.size()]; key < first_[text.size() + 1]; ++key)
            if (std::memcmp(keys_[key].text.data(), text.data(), text.size()) == 0)
                return keys_[key].member;
        return nullptr;
    }

private:
    static constexpr std::size_t kLengths = 40;

    const std::array<Key, N>& keys_;
    std::array<std::uint8_t, kLengths + 1> first_{};
};

constexpr KeyTable kEventTable(kEventKeys);
constexpr KeyTable kArgTable(kArgKeys);
static_assert(kEventTable.isSorted() && kArgTable.isSorted(), "keys must be sorted by length, below 40");

/// The text of a key up to its quotation mark. Keys with escapes are not among those that are read.
std::string_view keyText(ondemand::raw_json_string key)
{
    const char* begin = key.raw();
    const char* end = begin;
    while (*end != '"')
        ++end;
    return {begin, static_cast<std::size_t>(end - begin)};
}

/// A word or number as it is written.
std::string_view tokenOf(ondemand::value value)
{
    const std::string_view token = value.raw_json_token();
    return token.substr(0, token.find_last_not_of(" \n\r\t") + 1);
}

/// Takes a value as text; leaves booleans and null out.
simdjson::error_code take(ondemand::value value, std::string_view& text)
{
    ondemand::json_type type;
    if (const auto error = value.type().get(type)) {
        // Infinity and NaN, as Python and C++ write them: the event is whole, this value of it is no number.
        const std::string_view token = tokenOf(value);
        if (token.empty() || std::string_view("INi").find(token.front()) == std::string_view::npos)
            return error;
        text = token;
        return simdjson::SUCCESS;
    }
    switch (type) {
    case ondemand::json_type::string:
        return value.get_string().get(text);
    case ondemand::json_type::number:
        text = tokenOf(value);
        return simdjson::SUCCESS;
    case ondemand::json_type::array: {
        ondemand::array array;
        if (const auto error = value.get_array().get(array))
            return error;
        return array.raw_json().get(text);
    }
    case ondemand::json_type::object:
    case ondemand::json_type::boolean:
    case ondemand::json_type::null:
        return simdjson::SUCCESS;
    }
    return simdjson::SUCCESS;
}

/// Takes the members of an object that `keys` has.
template <std::size_t N, class OnOther>
simdjson::error_code takeMembers(ondemand::object object, const KeyTable<N>& keys, KinetoEvent& event,
                                 const OnOther& onOther)
{
    for (auto each : object) {
        ondemand::field field;
        if (const auto error = std::move(each).get(field))
            return error;
        const std::string_view key = keyText(field.key());
        if (const Member member = keys.find(key)) {
            if (const auto error = take(field.value(), event.*member))
                return error;
        } else if (const auto error = onOther(key, field.value())) {
            return error;
        }
    }
    return simdjson::SUCCESS;
}

simdjson::error_code readEvent(ondemand::object object, KinetoEvent& event)
{
    event = {};
    const auto takeCounter = [&event](std::string_view key, ondemand::value value) {
        ondemand::json_type type;
        if (event.phase != "C" || !event.counter.empty() || value.type().get(type) != simdjson::SUCCESS ||
            type != ondemand::json_type::number)
            return simdjson::SUCCESS;
        event.counter = key;
        return take(value, event.counterValue);
    };
    return takeMembers(object, kEventTable, event, [&](std::string_view key, ondemand::value value) {
        ondemand::object args;
        if (key != "args" || value.get_object().get(args) != simdjson::SUCCESS)
            return simdjson::SUCCESS;
        return takeMembers(args, kArgTable, event, takeCounter);
    });
}

bool isHex(std::string_view text)
{
    return text.size() == 4 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// Whether a string begins as a path of Windows whose backslashes are not escaped: `C:\Users`.
bool beginsPath(std::string_view text)
{
    return text.size() > 3 && std::isalpha(static_cast<unsigned char>(text[0])) != 0 && text[1] == ':' &&
           text[2] == '\\' && text[3] != '\\';
}

/// The UTF-16 unit of an escape such as `\u00e9` at the beginning of a text; none if there is no such escape.
std::optional<unsigned> escapedUnit(std::string_view text)
{
    constexpr std::size_t kDigits = 4;
    if (!text.starts_with("\\u") || !isHex(text.substr(2).substr(0, kDigits)))
        return {};
    unsigned unit = 0;
    std::from_chars(text.data() + 2, text.data() + 2 + kDigits, unit, 16);
    return unit;
}

/// The length of an escaped character that begins a text, 6 or 12 for a pair of surrogates; 0 for half a pair.
std::size_t escapedLength(std::string_view text)
{
    constexpr std::size_t kEscape = 6;
    const auto isHigh = [](unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; };
    const auto isLow = [](unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; };
    const unsigned unit = escapedUnit(text).value_or(0);
    if (isLow(unit))
        return 0;
    return !isHigh(unit) ? kEscape : isLow(escapedUnit(text.substr(kEscape)).value_or(0)) ? 2 * kEscape : 0;
}

/// Writes the JSON of an event with the control characters of its strings, and backslashes that escape nothing, escaped,
/// and with U+FFFD for surrogates without their other half.
void repairStrings(std::string_view text, std::string& repaired)
{
    constexpr std::string_view kHex = "0123456789abcdef";
    repaired.clear();
    bool inString = false;
    bool isPath = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const auto code = static_cast<unsigned char>(c);
        if (c == '"') {
            inString = !inString;
            isPath = inString && beginsPath(text.substr(at + 1));
            repaired += c;
        } else if (inString && c == '\\') {
            const char next = at + 1 < text.size() ? text[at + 1] : '\0';
            const bool isEscape = std::string_view("\"\\/bfnrt").find(next) != std::string_view::npos;
            if (isPath && next != '"') {
                repaired += "\\\\";
            } else if (escapedUnit(text.substr(at))) {
                const std::size_t length = escapedLength(text.substr(at));
                repaired += length == 0 ? "\\ufffd" : text.substr(at, length);
                at += std::max<std::size_t>(length, 6) - 1;
            } else if (isEscape) {
                repaired.append(text, at, 2);
                ++at;
            } else {
                repaired += "\\\\";
            }
        } else if (inString && code < 0x20) {
            repaired.append("\\u00").append(1, kHex[code >> 4]).append(1, kHex[code & 0xf]);
        } else {
            repaired += c;
        }
    }
}

} // namespace

class KinetoEventParser::Impl {
public:
    Result parse(JsonPiece& piece, const Sink& sink)
    {
        Result result;
        // Most pieces have no fault and are parsed at once.
        for (std::size_t i = parseAll(piece, sink); i < piece.events.size(); ++i)
            parseOne(piece, piece.events[i], sink, result);
        return result;
    }

private:
    simdjson::padded_string_view view(const std::string& text, std::size_t begin, std::size_t end) const
    {
        return simdjson::padded_string_view(text.data() + begin, end - begin, text.capacity() - begin);
    }

    /// Events up to the first fault; returns their number.
    std::size_t parseAll(const JsonPiece& piece, const Sink& sink)
    {
        std::size_t parsed = 0;
        ondemand::document document;
        ondemand::array events;
        if (parser_.iterate(view(piece.text, 0, piece.text.size())).get(document) ||
            document.get_array().get(events))
            return parsed;
        for (auto each : events) {
            ondemand::object object;
            if (each.get_object().get(object) || readEvent(object, event_))
                return parsed;
            sink(event_);
            ++parsed;
        }
        return parsed;
    }

    bool parseAlone(const std::string& text, std::size_t begin, std::size_t end, const Sink& sink)
    {
        ondemand::document document;
        ondemand::object object;
        if (parser_.iterate(view(text, begin, end)).get(document) || document.get_object().get(object) ||
            readEvent(object, event_))
            return false;
        sink(event_);
        return true;
    }

    void parseOne(JsonPiece& piece, const JsonPiece::Place& place, const Sink& sink, Result& result)
    {
        if (parseAlone(piece.text, place.begin, place.end, sink))
            return;
        const std::size_t length = place.end - place.begin;
        repairStrings(validUtf8(std::string_view(piece.text).substr(place.begin, length), "?"), repaired_);
        repaired_.reserve(repaired_.size() + simdjson::SIMDJSON_PADDING);
        if (parseAlone(repaired_, 0, repaired_.size(), sink)) {
            ++result.replaced;
            return;
        }
        if (result.unreadable++ == 0)
            result.firstUnreadable = piece.offset + place.begin;
        result.skipped += length;
    }

    ondemand::parser parser_;
    KinetoEvent event_;
    std::string repaired_;
};

KinetoEventParser::KinetoEventParser() : impl_(std::make_unique<Impl>()) {}
KinetoEventParser::~KinetoEventParser() = default;

KinetoEventParser::Result KinetoEventParser::parse(JsonPiece& piece, const Sink& sink)
{
    return impl_->parse(piece, sink);
}

} // namespace tilescope::exchange
