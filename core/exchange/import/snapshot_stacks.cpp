#include "core/exchange/import/snapshot_stacks.h"

#include "core/base/error.h"
#include "core/exchange/tables/text.h"
#include "core/model/text.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

/// Frames of one stack that are kept, from the innermost.
constexpr std::size_t kMostFrames = 256;
constexpr std::size_t kMostListed = 4096; ///< most of which may belong to the interpreter
/// Text of all stacks together. A list may hold one frame a million times: a small file must not become a
/// large one.
constexpr std::size_t kMostText = std::size_t{512} << 20;

} // namespace

SnapshotStacks::SnapshotStacks(const PickleDocument& document, StringTable& strings, std::vector<Op>& ops)
    : document_(document), strings_(strings), ops_(ops)
{
}

const SnapshotStacks::Stack& SnapshotStacks::of(const PickleValue& frames)
{
    if (!frames.isSequence() || document_.items(frames).empty())
        return none_;
    if (const auto known = byList_.find(frames.bits); known != byList_.end())
        return known->second;
    return byList_.emplace(frames.bits, read(frames)).first->second;
}

const SnapshotFrame& SnapshotStacks::frame(const PickleValue& value)
{
    static const SnapshotFrame none;
    if (value.kind != PickleValue::Kind::Dict)
        return none;
    const auto [known, isNew] = frames_.try_emplace(value.bits);
    if (!isNew)
        return known->second;
    const auto text = [&](std::string_view key) {
        const auto found = document_.find(value, key);
        return found ? validUtf8(document_.text(*found)) : std::string();
    };
    const auto line = document_.find(value, "line");
    known->second = {text("name"), text("filename"), line ? PickleDocument::integer(*line).value_or(0) : 0};
    return known->second;
}

SnapshotStacks::Stack SnapshotStacks::read(const PickleValue& value)
{
    const std::span<const PickleValue> items = document_.items(value);
    std::vector<SnapshotFrame> frames;
    for (const PickleValue& item : items.first(std::min(items.size(), kMostListed)))
        if (const SnapshotFrame& call = frame(item); frames.size() < kMostFrames && !isMachinery(call))
            frames.push_back(call);
    Stack stack;
    if (frames.empty())
        return stack;
    const SnapshotFrame& innermost = frames.front();
    std::string path;
    std::string op = innermost.name;
    if (frames.back().file == kOwnFrames) {
        // Our own: the op, then the ranges around it.
        path = frames.size() > 1 ? innermost.file : std::string();
        notePlaces(frames);
        op = op == "-" ? std::string() : op;
    } else if (const auto category = fromWord<MemoryCategory>(innermost.file);
               category && frames.size() == 1 && innermost.line == 0) {
        stack.category = category;
        stack.holder = innermost.name;
        return stack;
    } else {
        for (auto call = frames.rbegin(); call != frames.rend(); ++call)
            path += (path.empty() ? "" : "/") + frameText(call->name, call->file, call->line);
        for (const SnapshotFrame& call : frames)
            if (std::string known = opOfFrame(call.name); !known.empty()) {
                op = std::move(known);
                break;
            }
    }
    textBytes_ += path.size() + op.size();
    if (textBytes_ > kMostText)
        throw Error{.what = "its stacks have more than 512 MiB of text", .where = document_.file()};
    stack.path = strings_.intern(path);
    if (!op.empty())
        stack.op = opOf(stack.path, op);
    return stack;
}

void SnapshotStacks::notePlaces(const std::vector<SnapshotFrame>& frames)
{
    for (std::size_t i = 1; i + 1 < frames.size(); ++i) {
        const SnapshotFrame& call = frames[i];
        const SnapshotFrame& range = frames[i + 1];
        if (call.line <= 0 || range.line != 0)
            continue;
        std::string path = range.file == kOwnFrames ? range.name : range.file + "/" + range.name;
        textBytes_ += path.size() + call.file.size() + call.name.size();
        places_.try_emplace(path, CodePlace{path, call.file, call.line, call.name});
    }
}

std::vector<CodePlace> SnapshotStacks::places() const
{
    std::vector<CodePlace> places;
    for (const auto& [path, place] : places_)
        places.push_back(place);
    return places;
}

OpId SnapshotStacks::opOf(StringId path, std::string_view name)
{
    const StringId text = strings_.intern(name);
    const auto [known, isNew] =
        byPath_[path].try_emplace(text, OpId{static_cast<std::uint32_t>(ops_.size())});
    if (isNew) {
        Op op;
        op.id = known->second;
        op.name = text;
        op.path = path;
        ops_.push_back(op);
    }
    return known->second;
}

} // namespace tilescope::exchange
