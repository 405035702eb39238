#include "core/exchange/export/pickle_writer.h"

#include "core/base/error.h"
#include "core/exchange/tables/text.h"

#include <limits>
#include <ostream>

namespace tilescope::exchange {

namespace {

// Opcodes by the names that Python's pickletools gives them.
constexpr char kProto = '\x80';
constexpr char kMark = '(';
constexpr char kStop = '.';
constexpr char kEmptyDict = '}';
constexpr char kSetItems = 'u';
constexpr char kEmptyList = ']';
constexpr char kAppends = 'e';
constexpr char kTuple2 = '\x86';
constexpr char kBinInt = 'J';
constexpr char kBinInt1 = 'K';
constexpr char kBinInt2 = 'M';
constexpr char kLong1 = '\x8a';
constexpr char kNewTrue = '\x88';
constexpr char kNewFalse = '\x89';
constexpr char kBinUnicode = 'X';
constexpr char kBinPut = 'q';
constexpr char kLongBinPut = 'r';
constexpr char kBinGet = 'h';
constexpr char kLongBinGet = 'j';

/// Number of values that a reader must hold before adding them to their container; the same as Python's.
constexpr std::uint32_t kBatch = 2000;

} // namespace

PickleWriter::PickleWriter(std::ostream& out) : out_(out)
{
    put(kProto);
    put('\x02');
}

void PickleWriter::put(char byte)
{
    out_.put(byte);
}

void PickleWriter::put(std::uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; ++i)
        out_.put(static_cast<char>((value >> (8 * i)) & 0xff));
}

void PickleWriter::open()
{
    if (containers_.empty() || containers_.back().waiting > 0)
        return;
    put(kMark);
}

void PickleWriter::close()
{
    if (containers_.empty())
        return;
    Container& container = containers_.back();
    // Even, so that no batch of a dict ends between key and value.
    if (++container.waiting == kBatch) {
        put(container.append);
        container.waiting = 0;
    }
}

void PickleWriter::integer(std::int64_t value)
{
    open();
    if (value >= 0 && value <= 0xff) {
        put(kBinInt1);
        put(static_cast<std::uint64_t>(value), 1);
    } else if (value >= 0 && value <= 0xffff) {
        put(kBinInt2);
        put(static_cast<std::uint64_t>(value), 2);
    } else if (value >= std::numeric_limits<std::int32_t>::min() &&
               value <= std::numeric_limits<std::int32_t>::max()) {
        put(kBinInt);
        put(static_cast<std::uint64_t>(value), 4);
    } else {
        put(kLong1);
        put('\x08');
        put(static_cast<std::uint64_t>(value), 8);
    }
    close();
}

void PickleWriter::address(std::uint64_t value)
{
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        integer(static_cast<std::int64_t>(value));
        return;
    }
    open();
    put(kLong1);
    put('\x09');
    put(value, 8);
    put('\0'); // its sign
    close();
}

void PickleWriter::boolean(bool value)
{
    open();
    put(value ? kNewTrue : kNewFalse);
    close();
}

void PickleWriter::text(std::string_view value)
{
    open();
    const auto [known, isNew] = texts_.try_emplace(std::string(value), nextMemo_);
    if (!isNew) {
        refer(known->second);
    } else {
        const std::string valid = validUtf8(value);
        put(kBinUnicode);
        put(valid.size(), 4);
        out_.write(valid.data(), static_cast<std::streamsize>(valid.size()));
        store(nextMemo_++);
    }
    close();
}

void PickleWriter::pair(std::int64_t first, std::int64_t second)
{
    open();
    // Its values are not yet in the enclosing container.
    containers_.push_back({.append = 0, .waiting = 1});
    integer(first);
    integer(second);
    containers_.pop_back();
    put(kTuple2);
    close();
}

void PickleWriter::begin(char opcode, char append)
{
    open();
    put(opcode);
    containers_.push_back({.append = append});
}

void PickleWriter::end()
{
    if (containers_.back().waiting > 0)
        put(containers_.back().append);
    containers_.pop_back();
    close();
}

void PickleWriter::beginDict()
{
    begin(kEmptyDict, kSetItems);
}

void PickleWriter::endDict()
{
    end();
}

void PickleWriter::beginList()
{
    begin(kEmptyList, kAppends);
}

void PickleWriter::endList()
{
    end();
}

PickleWriter::Memo PickleWriter::remember()
{
    store(nextMemo_);
    return nextMemo_++;
}

void PickleWriter::recall(Memo memo)
{
    open();
    refer(memo);
    close();
}

void PickleWriter::refer(Memo memo)
{
    put(memo <= 0xff ? kBinGet : kLongBinGet);
    put(memo, memo <= 0xff ? 1 : 4);
}

void PickleWriter::store(Memo memo)
{
    put(memo <= 0xff ? kBinPut : kLongBinPut);
    put(memo, memo <= 0xff ? 1 : 4);
}

void PickleWriter::finish()
{
    put(kStop);
    out_.flush();
    if (!out_)
        throw Error{.what = "the snapshot could not be written",
                    .remedy = "is the disk full?",
                    .kind = ErrorKind::Failure};
}

void PickleWriter::entry(std::string_view key, std::int64_t value)
{
    text(key);
    integer(value);
}

void PickleWriter::entry(std::string_view key, std::string_view value)
{
    text(key);
    text(value);
}

void PickleWriter::addressEntry(std::string_view key, std::uint64_t value)
{
    text(key);
    address(value);
}

void PickleWriter::flagEntry(std::string_view key, bool value)
{
    text(key);
    boolean(value);
}

} // namespace tilescope::exchange
