#pragma once

#include "core/exchange/import/kineto/inflated_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// Limits of a trace in JSON.
inline constexpr std::size_t kMostString = std::size_t{16} << 20; ///< bytes of a string
inline constexpr std::size_t kMostEvent = std::size_t{64} << 20;  ///< bytes of an event
inline constexpr int kMostDepth = 64;                             ///< of nested lists and objects

/// A part of a trace: some events, or another member of its top-level object.
struct JsonPiece {
    /// The position of an event in `text`.
    struct Place {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };

    std::string key;           ///< of the member; empty: events
    std::string text;          ///< the member's value, or a list of events: `[{…},{…}]`
    std::vector<Place> events; ///< in `text`
    std::uint64_t offset = 0;  ///< of the text's first byte in the (decompressed) file
};

/// The result of splitting a trace.
struct SplitResult {
    bool foundEvents = false;      ///< there is a list of events
    bool isCut = false;            ///< the file ends within its list of events
    std::int64_t broken = 0;       ///< events that are not valid JSON and were left out
    std::uint64_t firstBroken = 0; ///< offset of the first one in the (decompressed) file
    std::uint64_t skipped = 0;     ///< bytes of them
    std::uint64_t bytes = 0;       ///< of text
};

/// Whether a text consists of events without a list around them, one for each line.
/// \param text  its first line at least, behind the first brace
bool isEventPerLine(std::string_view text);

/// Cuts a trace in JSON into pieces at the borders of its events, without parsing the events. Accepts a list
/// of events, an object with a member `traceEvents`, or events one for each line, and several of the first two one after
/// the other.
///
/// An event that is not valid JSON is left out, for example one with a quotation mark in a name (older versions of
/// PyTorch do not escape them): a word outside of strings, or a bracket where none may stand, tells that. Splitting
/// continues at the next object that begins like an event, in whatever layout. Control characters in strings are
/// accepted; the parser repairs them.
class JsonSplitter {
public:
    /// Called with each piece in the order of the file.
    /// \return  false to end splitting
    using Sink = std::function<bool(JsonPiece&&)>;

    /// \param name  of the file, for errors
    JsonSplitter(InflatedFile& file, std::string name);

    /// \throws Error  the text exceeds a limit, or is no JSON before its first event
    SplitResult run(const Sink& sink);

private:
    enum class End : std::uint8_t { Complete, Cut, Broken };

    bool fill();
    int peek();
    int peekSolid();
    End skipString();
    End skipNested();
    End skipValue();
    bool resume(std::size_t from, bool isBetween);
    bool resumeAtEvents();
    bool isPlausible(char open, std::uint64_t objects, int depth) const;
    bool need(std::size_t from, std::size_t bytes);
    bool beginsEvent(std::size_t brace, bool isBetween);
    bool endsEvents(std::size_t bracket);
    std::string_view keyAt(std::size_t& at);
    std::optional<std::string> takeKey();
    void readMembers(const Sink& sink);
    bool readEvents(const Sink& sink, int last);
    bool readDocument(const Sink& sink, int first);
    void readRest(const Sink& sink);
    bool flush(const Sink& sink, std::size_t end);
    void drop();
    void markBroken(std::size_t at, std::size_t end);
    [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;

    InflatedFile& file_;
    std::string name_;
    std::string text_;
    std::size_t at_ = 0;       ///< in text_
    std::uint64_t before_ = 0; ///< bytes that were dropped before text_
    std::size_t first_ = 0;    ///< of the piece that is being made, in text_
    std::vector<JsonPiece::Place> events_;
    SplitResult result_;
    bool stopped_ = false;
};

} // namespace tilescope::exchange
