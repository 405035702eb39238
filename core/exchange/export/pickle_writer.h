#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// Writes one value as a plain pickle of protocol 2: dicts, lists, pairs, texts and numbers, and nothing that
/// a reader would have to execute. Writes to the stream immediately; a repeated text becomes a reference to
/// the first.
///
/// In a dict, keys (texts) and values alternate. One thread.
class PickleWriter {
public:
    /// A value that was written, to be referred to.
    using Memo = std::uint32_t;

    explicit PickleWriter(std::ostream& out);

    void integer(std::int64_t value);
    void address(std::uint64_t value);
    void boolean(bool value);
    void text(std::string_view value);
    void pair(std::int64_t first, std::int64_t second);
    void beginDict();
    void endDict();
    void beginList();
    void endList();

    /// Memoizes the list or dict that was just begun, so that it can be referenced after it has ended.
    Memo remember();
    void recall(Memo memo);

    /// Ends the pickle.
    /// \throws Error  the stream could not be written
    void finish();

    // A key and its value.
    void entry(std::string_view key, std::int64_t value);
    void entry(std::string_view key, std::string_view value);
    void addressEntry(std::string_view key, std::uint64_t value);
    void flagEntry(std::string_view key, bool value);

private:
    struct Container {
        char append = 0;           ///< opcode that adds the values after the mark
        std::uint32_t waiting = 0; ///< values after the mark; none: there is no mark
    };

    void begin(char opcode, char append);
    void end();
    /// Call before each value: opens a batch if none is open.
    void open();
    /// Call after each value: closes the batch if it is full.
    void close();
    void put(char byte);
    void put(std::uint64_t value, int bytes);
    void refer(Memo memo);
    void store(Memo memo);

    std::ostream& out_;
    std::unordered_map<std::string, Memo> texts_;
    std::vector<Container> containers_;
    Memo nextMemo_ = 0;
};

} // namespace tilescope::exchange
