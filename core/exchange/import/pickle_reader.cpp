#include "core/exchange/import/pickle_reader.h"

#include "core/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tilescope::exchange {

namespace {

using Kind = PickleValue::Kind;

/// More would be no snapshot: the largest that PyTorch writes are some hundred megabytes.
constexpr std::size_t kMostFileBytes = std::size_t{2} << 30;
constexpr std::size_t kMostContainers = std::size_t{1} << 26;
constexpr std::size_t kMostMarks = 1000;

/// Opcodes that look names up, call, or build objects, by the names that Python's pickletools gives them.
std::string_view forbiddenName(unsigned char opcode)
{
    switch (opcode) {
    case 'c':
        return "GLOBAL";
    case 'R':
        return "REDUCE";
    case 'b':
        return "BUILD";
    case 'i':
        return "INST";
    case 'o':
        return "OBJ";
    case 'P':
        return "PERSID";
    case 'Q':
        return "BINPERSID";
    case 0x81:
        return "NEWOBJ";
    case 0x82:
        return "EXT1";
    case 0x83:
        return "EXT2";
    case 0x84:
        return "EXT4";
    case 0x92:
        return "NEWOBJ_EX";
    case 0x93:
        return "STACK_GLOBAL";
    case 0x97:
        return "NEXT_BUFFER";
    default:
        return {};
    }
}

} // namespace

/// Runs a pickle's opcodes on a stack of plain values.
class PickleMachine {
public:
    explicit PickleMachine(PickleDocument& document)
        : document_(document), bytes_(document.bytes_), containers_(document.containers_)
    {
    }

    PickleValue run()
    {
        if (bytes_.size() > kMostFileBytes)
            refuse("has more than 2 GiB; a memory snapshot has less");
        refuseOther();
        if (take(1) != 0x80)
            refuse("is not a pickle of protocol 2 or later");
        if (const std::uint64_t protocol = take(1); protocol < 2 || protocol > 5)
            refuse(fmt::format("is a pickle of protocol {}; 2 to 5 are supported", protocol));
        for (;;) {
            opcodeAt_ = at_;
            const auto opcode = static_cast<unsigned char>(take(1));
            if (opcode == '.')
                return result();
            if (!step(opcode))
                refuseOpcode(opcode);
        }
    }

private:
    [[noreturn]] void refuse(const std::string& what) const
    {
        throw Error{.what = what,
                    .where = fmt::format("{}, byte {}", document_.file_, opcodeAt_),
                    .remedy = "only snapshots that torch.cuda.memory._dump_snapshot wrote can be imported"};
    }

    /// Files that are taken for snapshots, with how to get at the snapshot.
    void refuseOther() const
    {
        const auto begins = [this](std::string_view with) { return bytes_.starts_with(with); };
        if (begins("version https://git-lfs"))
            throw Error{.what = "is a pointer to a file that Git LFS has not fetched",
                        .where = document_.file_,
                        .remedy = "fetch it with git lfs pull"};
        if (begins("\x1f\x8b"))
            throw Error{.what = "is compressed", .where = document_.file_, .remedy = "unpack it with gunzip"};
        if (begins("PK\x03\x04"))
            throw Error{.what = "is a zip archive, as torch.save writes one",
                        .where = document_.file_,
                        .remedy = "pickle.dump(torch.cuda.memory._snapshot(), file) writes a snapshot"};
    }

    [[noreturn]] void refuseOpcode(unsigned char opcode) const
    {
        const std::string_view name = forbiddenName(opcode);
        refuse(name.empty()
                   ? fmt::format("has opcode 0x{:02x}, which plain data does not need", opcode)
                   : fmt::format("has opcode {}, which could run code; a snapshot contains only plain data",
                                 name));
    }

    void require(std::uint64_t bytes) const
    {
        if (bytes > bytes_.size() - at_)
            refuse("is cut off");
    }

    /// Reads a little-endian number with this number of bytes.
    std::uint64_t take(int bytes)
    {
        require(static_cast<std::uint64_t>(bytes));
        std::uint64_t value = 0;
        for (int i = 0; i < bytes; ++i)
            value |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + static_cast<std::size_t>(i)])}
                     << (8 * i);
        at_ += static_cast<std::size_t>(bytes);
        return value;
    }

    void push(PickleValue value) { stack_.push_back(value); }
    void pushInteger(std::int64_t value)
    {
        push({.kind = Kind::Integer, .bits = static_cast<std::uint64_t>(value)});
    }

    /// The value on top, which belongs to the innermost mark or to none.
    PickleValue pop()
    {
        if (stack_.empty() || stack_.back().kind == Kind::Mark)
            refuse("takes a value from an empty stack");
        const PickleValue value = stack_.back();
        stack_.pop_back();
        return value;
    }

    const PickleValue& top() const
    {
        if (stack_.empty() || stack_.back().kind == Kind::Mark)
            refuse("needs a value on an empty stack");
        return stack_.back();
    }

    /// Returns the values after the innermost mark and removes both.
    std::vector<PickleValue> popToMark()
    {
        if (marks_.empty())
            refuse("lacks a mark");
        const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<PickleValue> values(first + 1, stack_.end());
        stack_.erase(first, stack_.end());
        marks_.pop_back();
        return values;
    }

    void make(Kind kind, std::vector<PickleValue> values)
    {
        if (containers_.size() == kMostContainers)
            refuse(fmt::format("has more than {} lists and dicts", kMostContainers));
        push({.kind = kind, .bits = containers_.size()});
        containers_.push_back(std::move(values));
    }

    void addTo(Kind kind, const std::vector<PickleValue>& values)
    {
        if (top().kind != kind)
            refuse(kind == Kind::List ? "appends to a value that is not a list"
                                      : "sets items of a value that is not a dict");
        if (kind == Kind::Dict)
            requirePairs(values);
        auto& into = containers_[top().bits];
        into.insert(into.end(), values.begin(), values.end());
    }

    void requirePairs(const std::vector<PickleValue>& values) const
    {
        if (values.size() % 2 != 0)
            refuse("has a key without a value");
    }

    void text(std::uint64_t length)
    {
        require(length);
        push({.kind = Kind::Text, .length = static_cast<std::uint32_t>(length), .bits = at_});
        at_ += length;
    }

    /// Reads a two's complement number with this number of bytes.
    void longInteger(std::uint64_t length)
    {
        constexpr std::uint64_t kWithSign = 9;
        if (length > kWithSign)
            refuse(fmt::format("has a number of {} bytes; snapshots have numbers of 8", length));
        require(length);
        std::uint64_t value = take(static_cast<int>(std::min<std::uint64_t>(length, 8)));
        if (length == kWithSign) {
            if (take(1) != 0)
                refuse("has a number beyond 64 bits");
            push({.kind = value >> 63 ? Kind::Unsigned : Kind::Integer, .bits = value});
            return;
        }
        const int unused = 64 - 8 * static_cast<int>(length);
        if (length > 0 && length < 8)
            value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
        pushInteger(static_cast<std::int64_t>(value));
    }

    void put(std::uint64_t index)
    {
        // Picklers count. Another number would only serve to make a table of any size.
        if (index > memo_.size())
            refuse(fmt::format("stores value {} after {} values", index, memo_.size()));
        const PickleValue value = top();
        if (index == memo_.size())
            memo_.push_back(value);
        else
            memo_[index] = value;
    }

    void get(std::uint64_t index)
    {
        if (index >= memo_.size())
            refuse(fmt::format("refers to value {} of {}", index, memo_.size()));
        push(memo_[index]);
    }

    /// \return  false if the opcode is unknown
    bool step(unsigned char opcode) { return scalar(opcode) || container(opcode) || place(opcode); }

    bool scalar(unsigned char opcode)
    {
        switch (opcode) {
        case 'N':
            push({});
            return true;
        case 0x88:
        case 0x89:
            push({.kind = Kind::Boolean, .bits = opcode == 0x88 ? 1U : 0U});
            return true;
        case 'J':
            pushInteger(static_cast<std::int32_t>(take(4)));
            return true;
        case 'K':
            pushInteger(static_cast<std::int64_t>(take(1)));
            return true;
        case 'M':
            pushInteger(static_cast<std::int64_t>(take(2)));
            return true;
        case 0x8a:
            longInteger(take(1));
            return true;
        case 0x8b:
            longInteger(take(4));
            return true;
        case 'G': {
            require(8);
            std::uint64_t bits = 0; // big-endian
            for (int i = 0; i < 8; ++i)
                bits = bits << 8 | take(1);
            push({.kind = Kind::Real, .bits = bits});
            return true;
        }
        case 'X':
            text(take(4));
            return true;
        case 0x8c:
            text(take(1));
            return true;
        case 0x8d:
            text(take(8));
            return true;
        default:
            return false;
        }
    }

    bool container(unsigned char opcode)
    {
        switch (opcode) {
        case ']':
            make(Kind::List, {});
            return true;
        case '}':
            make(Kind::Dict, {});
            return true;
        case ')':
            make(Kind::Tuple, {});
            return true;
        case 'l':
            make(Kind::List, popToMark());
            return true;
        case 't':
            make(Kind::Tuple, popToMark());
            return true;
        case 'd': {
            std::vector<PickleValue> values = popToMark();
            requirePairs(values);
            make(Kind::Dict, std::move(values));
            return true;
        }
        case 0x85:
        case 0x86:
        case 0x87: {
            std::vector<PickleValue> values(opcode - 0x84U);
            for (auto value = values.rbegin(); value != values.rend(); ++value)
                *value = pop();
            make(Kind::Tuple, std::move(values));
            return true;
        }
        case 'a': {
            const PickleValue value = pop();
            addTo(Kind::List, {value});
            return true;
        }
        case 'e':
            addTo(Kind::List, popToMark());
            return true;
        case 's': {
            const PickleValue value = pop();
            const PickleValue key = pop();
            addTo(Kind::Dict, {key, value});
            return true;
        }
        case 'u':
            addTo(Kind::Dict, popToMark());
            return true;
        default:
            return false;
        }
    }

    /// Marks, the memo and framing.
    bool place(unsigned char opcode)
    {
        switch (opcode) {
        case '(':
            if (marks_.size() == kMostMarks)
                refuse(fmt::format("is nested deeper than {}", kMostMarks));
            marks_.push_back(stack_.size());
            push({.kind = Kind::Mark});
            return true;
        case 'q':
            put(take(1));
            return true;
        case 'r':
            put(take(4));
            return true;
        case 0x94:
            put(memo_.size());
            return true;
        case 'h':
            get(take(1));
            return true;
        case 'j':
            get(take(4));
            return true;
        case 0x95:
            // Says how many bytes follow, for readers that fetch them; ours are all here.
            require(take(8));
            return true;
        default:
            return false;
        }
    }

    PickleValue result() const
    {
        if (stack_.size() != 1 || !marks_.empty())
            refuse(fmt::format("ends with {} values instead of one", stack_.size()));
        return stack_.front();
    }

    PickleDocument& document_;
    const std::string& bytes_;
    std::vector<std::vector<PickleValue>>& containers_;
    std::size_t at_ = 0;
    std::size_t opcodeAt_ = 0; ///< position of the current opcode
    std::vector<PickleValue> stack_;
    std::vector<std::size_t> marks_; ///< places of the marks in the stack
    std::vector<PickleValue> memo_;
};

PickleDocument::PickleDocument(std::string bytes, std::string file)
    : bytes_(std::move(bytes)), file_(std::move(file))
{
    root_ = PickleMachine(*this).run();
}

std::span<const PickleValue> PickleDocument::items(const PickleValue& container) const
{
    if (!container.isSequence() && container.kind != Kind::Dict)
        return {};
    return containers_[container.bits];
}

std::optional<PickleValue> PickleDocument::find(const PickleValue& dict, std::string_view key) const
{
    if (dict.kind != Kind::Dict)
        return {};
    const std::span<const PickleValue> entries = items(dict);
    for (std::size_t i = entries.size(); i >= 2; i -= 2)
        if (entries[i - 2].kind == Kind::Text && text(entries[i - 2]) == key)
            return entries[i - 1];
    return {};
}

std::string_view PickleDocument::text(const PickleValue& text) const
{
    return text.kind == Kind::Text ? std::string_view(bytes_).substr(text.bits, text.length)
                                   : std::string_view{};
}

std::optional<std::int64_t> PickleDocument::integer(const PickleValue& value)
{
    return value.kind == Kind::Integer ? std::optional(static_cast<std::int64_t>(value.bits)) : std::nullopt;
}

std::optional<std::uint64_t> PickleDocument::address(const PickleValue& value)
{
    if (value.kind == Kind::Unsigned)
        return value.bits;
    const auto whole = integer(value);
    return whole && *whole >= 0 ? std::optional(value.bits) : std::nullopt;
}

} // namespace tilescope::exchange
