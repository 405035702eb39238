#include "core/hosts/task_outputs.h"

#include "core/base/error.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace tilescope::hosts {

using session::Event;

TaskOutputs::TaskOutputs(int tasks, std::int64_t points, std::function<void(std::string_view)> write)
    : tasks_(std::size_t(tasks)), points_(points), write_(std::move(write))
{
}

namespace {

/// None for what is no event of this version.
std::optional<Event> eventIn(std::string_view line)
{
    try {
        return session::parseEvent(line);
    } catch (const Error&) {
        return {};
    }
}

} // namespace

void TaskOutputs::resume(std::string_view written)
{
    if (!written.empty() && written.back() != '\n')
        write_("\n");                            // of a line that was cut off
    std::map<std::int64_t, std::int64_t> points; // by run
    session::LineSplitter lines;
    lines.feed(written, [&](std::string_view line) {
        const auto event = eventIn(line);
        if (!event)
            return;
        hasGreeted_ = hasGreeted_ || std::holds_alternative<session::HelloEvent>(*event);
        if (const auto* point = std::get_if<session::PointEvent>(&*event)) {
            points[point->run] = point->index;
            lastRun_ = std::max(lastRun_, point->run);
        } else if (const auto* result = std::get_if<session::ResultEvent>(&*event)) {
            if (const auto found = points.find(result->run); found != points.end())
                passedOn_.insert(found->second);
        }
    });
}

void TaskOutputs::say(std::string_view line) const
{
    write_(std::string(line) + '\n');
}

void TaskOutputs::feed(int task, std::string_view bytes)
{
    tasks_[std::size_t(task)].lines.feed(bytes, [&](std::string_view line) { take(task, line); });
}

void TaskOutputs::take(int task, std::string_view line)
{
    std::optional<Event> event = eventIn(line);
    if (!event)
        return say(line); // of a library
    const bool isReading = std::holds_alternative<session::SampleEvent>(*event) ||
                           std::holds_alternative<session::MemoryEvent>(*event);
    try {
        takeEvent(task, *std::move(event), isReading);
    } catch (const Error&) { // a status that this version does not know
        say(line);
    }
}

void TaskOutputs::takeEvent(int number, Event event, bool isReading)
{
    Task& task = tasks_[std::size_t(number)];
    if (auto* hello = std::get_if<session::HelloEvent>(&event)) {
        hello->points = points_;
        if (!std::exchange(hasGreeted_, true))
            say(toJsonLine(event));
        return;
    }
    if (const auto* done = std::get_if<session::DoneEvent>(&event)) {
        done_.seconds = std::max(done_.seconds, done->seconds);
        return;
    }
    if (auto* point = std::get_if<session::PointEvent>(&event)) {
        task.isInPoint = true;
        task.isSkipping = passedOn_.contains(point->index);
        if (!task.isSkipping)
            task.runs[point->run] = ++lastRun_;
    }
    const auto* result = std::get_if<session::ResultEvent>(&event);
    const bool isResult = result != nullptr;
    if (isResult)
        done_.add(result->runStatus());
    if (task.isSkipping) {
        task.isSkipping = task.isInPoint = !isResult;
        return;
    }
    std::visit(
        [&](auto& each) {
            if constexpr (requires { each.run; })
                if (const auto found = task.runs.find(each.run); found != task.runs.end())
                    each.run = found->second;
        },
        event);
    const std::string line = toJsonLine(event);
    if (!task.isInPoint)
        return say(line);
    if (std::holds_alternative<session::PointEvent>(event)) {
        task.point = line;
        task.state.clear();
    } else if (std::holds_alternative<session::StateEvent>(event)) {
        task.state = line;
    }
    if (live_ < 0)
        live_ = number;
    constexpr std::size_t kMostHeld = 20'000; // readings only show progress
    if (live_ == number)
        say(line);
    else if (!isReading || task.held.size() < kMostHeld)
        task.held.push_back(line);
    if (isResult)
        endPoint(number);
}

void TaskOutputs::flush(Task& task) const
{
    for (const std::string& line : task.held)
        say(line);
    task.held.clear();
}

/// The point of a task has ended, or its task has.
void TaskOutputs::endPoint(int number)
{
    Task& task = tasks_[std::size_t(number)];
    task.isInPoint = false;
    if (live_ != number) {
        flush(task);
        if (live_ >= 0) {
            const Task& live = tasks_[std::size_t(live_)];
            say(live.point);
            if (!live.state.empty())
                say(live.state);
        }
        return;
    }
    const auto next =
        std::ranges::find_if(tasks_, [](const Task& each) { return each.isInPoint && !each.isSkipping; });
    live_ = next == tasks_.end() ? -1 : int(next - tasks_.begin());
    if (live_ >= 0)
        flush(*next);
}

void TaskOutputs::end(int number)
{
    Task& task = tasks_[std::size_t(number)];
    task.lines.finish([&](std::string_view line) { take(number, line); });
    if (task.isInPoint && !task.isSkipping)
        endPoint(number); // it died
}

void TaskOutputs::finish()
{
    say(toJsonLine(done_));
}

} // namespace tilescope::hosts
