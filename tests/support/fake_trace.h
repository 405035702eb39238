#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"

#include <memory>
#include <string>
#include <string_view>

namespace tilescope::testing {

/// Traced events built by hand: `FakeTrace().step(0, 0, 100).kernel("gemm", 10,
/// 20).at("step/forward/layers.0")`.
///
/// Times are nanoseconds in the trace clock. at, on, launchedAt and inside modify the last event.
class FakeTrace {
public:
    FakeTrace() : own_(std::make_unique<StringTable>()), strings_(own_.get()) {}
    explicit FakeTrace(StringTable& strings) : strings_(&strings) {}

    /// Opens traced step `index` as a range; the following events belong to it.
    FakeTrace& step(std::int32_t index, std::int64_t start, std::int64_t end)
    {
        step_ = index;
        range("step", start, end);
        batch_.ranges.back().name = strings_->intern("step_" + std::to_string(index));
        return *this;
    }
    FakeTrace& betweenSteps()
    {
        step_ = kNoStep;
        return *this;
    }
    FakeTrace& range(std::string_view path, std::int64_t start, std::int64_t end)
    {
        Range range;
        range.id = RangeId{static_cast<std::uint32_t>(batch_.ranges.size())};
        range.path = strings_->intern(path);
        range.name = strings_->intern(path.substr(path.rfind('/') + 1));
        range.thread = ThreadId{1};
        range.step = step_;
        range.start = timestampAt(start);
        range.end = timestampAt(end);
        batch_.ranges.push_back(range);
        return *this;
    }
    FakeTrace& kernel(std::string_view name, std::int64_t start, std::int64_t end)
    {
        DeviceEvent event;
        event.name = strings_->intern(name);
        event.device = DeviceIndex{0};
        event.stream = StreamId{7};
        event.correlation = CorrelationId{static_cast<std::uint32_t>(batch_.deviceEvents.size() + 1)};
        event.step = step_;
        event.start = timestampAt(start);
        event.end = timestampAt(end);
        batch_.deviceEvents.push_back(event);
        path_ = &batch_.deviceEvents.back().path;
        return *this;
    }
    FakeTrace& memset(std::int64_t bytes, std::int64_t start, std::int64_t end)
    {
        kernel("Memset (Device)", start, end);
        batch_.deviceEvents.back().kind = DeviceEventKind::Memset;
        batch_.deviceEvents.back().bytes = bytes;
        return *this;
    }
    FakeTrace& op(std::string_view name, std::int64_t start, std::int64_t end, OpId parent = {})
    {
        Op op;
        op.id = OpId{static_cast<std::uint32_t>(batch_.ops.size())};
        op.parent = parent;
        op.name = strings_->intern(name);
        op.thread = ThreadId{1};
        op.step = step_;
        op.start = timestampAt(start);
        op.end = timestampAt(end);
        batch_.ops.push_back(op);
        path_ = &batch_.ops.back().path;
        return *this;
    }
    /// The shapes of the last op's tensors.
    FakeTrace& shaped(std::string_view shapes)
    {
        batch_.ops.back().shapes = strings_->intern(shapes);
        return *this;
    }
    FakeTrace& call(std::string_view name, ApiKind kind, std::int64_t start, std::int64_t end)
    {
        ApiCall call;
        call.name = strings_->intern(name);
        call.kind = kind;
        call.thread = ThreadId{1};
        call.step = step_;
        call.start = timestampAt(start);
        call.end = timestampAt(end);
        batch_.apiCalls.push_back(call);
        return *this;
    }
    FakeTrace& alloc(std::uint64_t address, std::int64_t bytes, std::int64_t time)
    {
        return memory(AllocAction::Alloc, address, bytes, time, bytes);
    }
    FakeTrace& free(std::uint64_t address, std::int64_t bytes, std::int64_t time)
    {
        memory(AllocAction::FreeRequested, address, bytes, time, -bytes);
        return memory(AllocAction::FreeCompleted, address, bytes, time, 0);
    }
    /// Bytes that were allocated before the trace began.
    FakeTrace& alreadyAllocated(std::int64_t bytes)
    {
        allocated_ += bytes;
        return *this;
    }

    FakeTrace& at(std::string_view path)
    {
        *path_ = strings_->intern(path);
        return *this;
    }
    FakeTrace& on(std::uint32_t stream)
    {
        batch_.deviceEvents.back().stream = StreamId{stream};
        return *this;
    }
    FakeTrace& launchedAt(std::int64_t time)
    {
        batch_.deviceEvents.back().launched = timestampAt(time);
        return *this;
    }
    FakeTrace& launchedBy(ThreadId thread)
    {
        batch_.deviceEvents.back().launchThread = thread;
        return *this;
    }
    /// The last op did.
    FakeTrace& ranOn(ThreadId thread)
    {
        batch_.ops.back().thread = thread;
        return *this;
    }
    FakeTrace& thread(ThreadId thread, std::string_view name, std::int64_t native)
    {
        batch_.threads.push_back({thread, strings_->intern(name), {}, native});
        return *this;
    }
    FakeTrace& by(OpId op)
    {
        batch_.deviceEvents.back().op = op;
        return *this;
    }
    FakeTrace& category(std::string_view word)
    {
        batch_.allocEvents.back().category = strings_->intern(word);
        return *this;
    }
    /// Uses the CPU's allocator instead of the GPU's.
    FakeTrace& onCpu()
    {
        batch_.allocEvents.back().device = DeviceIndex{};
        return *this;
    }
    FakeTrace& loss(std::string_view kind, LossSeverity severity, std::int64_t count)
    {
        batch_.losses.push_back({strings_->intern(kind), severity, count, strings_->intern("made up")});
        return *this;
    }
    FakeTrace& checked(std::int64_t records)
    {
        batch_.recordsChecked += records;
        return *this;
    }

    const TraceBatch& batch() const { return batch_; }
    StringTable& strings() { return *strings_; }
    OpId lastOp() const { return batch_.ops.back().id; }
    auto textOf() const
    {
        return [strings = strings_](StringId id) { return strings->text(id); };
    }

private:
    FakeTrace& memory(AllocAction action, std::uint64_t address, std::int64_t bytes, std::int64_t time,
                      std::int64_t change)
    {
        allocated_ += change;
        AllocEvent event;
        event.time = timestampAt(time);
        event.action = action;
        event.device = DeviceIndex{0};
        event.address = address;
        event.bytes = bytes;
        event.allocated = allocated_;
        event.reserved = allocated_ + 100;
        event.step = step_;
        batch_.allocEvents.push_back(event);
        path_ = &batch_.allocEvents.back().path;
        return *this;
    }

    std::unique_ptr<StringTable> own_;
    StringTable* strings_;
    TraceBatch batch_;
    StringId* path_ = nullptr;
    std::int32_t step_ = kNoStep;
    std::int64_t allocated_ = 0;
};

} // namespace tilescope::testing
