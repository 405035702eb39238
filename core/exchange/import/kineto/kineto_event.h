#pragma once

#include "core/exchange/import/kineto/json_splitter.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// An event of a Chrome trace as text. Numbers are as in the file, strings without quotation marks, lists as
/// JSON. A member that the event does not have is empty. Valid until the next event is parsed.
struct KinetoEvent {
    using Text = std::string_view;

    Text phase;    ///< X: an interval; i: an instant; M: a name; C: a counter; s, f: ends of an arrow
    Text category; ///< cpu_op, kernel, …
    Text name;
    Text pid;
    Text id; ///< of an arrow
    Text tid;
    Text start;    ///< microseconds
    Text duration; ///< microseconds

    // args
    Text argName; ///< of an event M
    Text correlation;
    Text externalId;
    Text device;
    Text stream;
    Text context;
    Text grid;
    Text block;
    Text registers;
    Text sharedMemory;
    Text bytes;
    Text graphNode;
    Text inputDims;
    Text inputTypes;
    Text inputStrides;
    Text inputValues;
    Text eventIndex;
    Text sequence;
    Text forwardThread;
    Text address;
    Text totalAllocated;
    Text totalReserved;
    Text deviceType;
    Text deviceId;
    Text collective;
    Text inElements;
    Text outElements;
    Text groupSize;
    Text dtype;
    Text groupName;
    Text groupRanks;
    Text collectiveSequence;
    Text sourceRank;
    Text destinationRank;
    Text syncKind;
    Text waitStream;
    Text waitCorrelation;
    Text counter; ///< of an event C: the key of its first number, and the number
    Text counterValue;
};

/// Parses the events of pieces with simdjson. Skips unknown members without parsing them. One thread.
class KinetoEventParser {
public:
    using Sink = std::function<void(const KinetoEvent&)>;

    struct Result {
        std::int64_t unreadable = 0;       ///< events that are not valid JSON
        std::uint64_t firstUnreadable = 0; ///< offset of the first one in the (decompressed) file
        std::uint64_t skipped = 0;         ///< bytes of them
        std::int64_t replaced = 0;         ///< events whose text was repaired
    };

    KinetoEventParser();
    ~KinetoEventParser();
    KinetoEventParser(const KinetoEventParser&) = delete;
    KinetoEventParser& operator=(const KinetoEventParser&) = delete;

    /// Hands each event of a piece to `sink`.
    /// \param piece  whose text is changed where it is not UTF-8
    Result parse(JsonPiece& piece, const Sink& sink);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::exchange
