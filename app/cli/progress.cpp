#include "app/cli/progress.h"

#include "app/cli/notes.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/base/terminal_columns.h"
#include "core/exchange/tables/table.h"
#include "core/exchange/tables/text.h"
#include "core/model/flags.h"
#include "core/model/losses.h"
#include "core/model/run_status.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cmath>
#include <ostream>

namespace tilescope::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto kRedraw = 100ms;

std::string bytesText(std::int64_t bytes)
{
    return quantity::withUnit(static_cast<double>(bytes), quantity::Unit::Bytes);
}

std::string stepText(const session::ResultEvent& result)
{
    if (!result.stepMs)
        return {};
    const std::string interval =
        result.stepInterval ? fmt::format(" [{}, {}]", quantity::threeDigits((*result.stepInterval)[0]),
                                          quantity::threeDigits((*result.stepInterval)[1]))
                            : "";
    return fmt::format("{}{} ms ({})", quantity::threeDigits(*result.stepMs), interval, result.steps);
}

std::string_view colourOf(RunStatus status)
{
    const StatusTone tone = traitsOf(status).tone;
    return tone == StatusTone::Fine ? "\033[32m" : tone == StatusTone::Failed ? "\033[31m" : "\033[33m";
}

} // namespace

ProgressStyle styleHere()
{
    ProgressStyle style;
    style.colour = exchange::styleOfStandardOutput().colour;
    style.lineWidth = exchange::styleOfStandardOutput().width;
    style.bar = isatty(STDERR_FILENO) != 0 && !isQuiet();
    if (style.bar)
        style.width = columnsOfTerminal(STDERR_FILENO).value_or(style.width);
    return style;
}

Progress::Progress(const std::vector<session::SweepPoint>& points, ProgressStyle style, std::ostream& out,
                   std::ostream& err, std::size_t present)
    : points_(points), style_(style), present_(present), out_(out), err_(err), labels_(pointLabels(points))
{
    for (std::size_t i = 0; i < points.size(); ++i)
        positions_[points[i].index] = i;
}

void Progress::take(const session::Event& event)
{
    std::visit([this](const auto& e) { take(e); }, event);
}

void Progress::take(const session::HelloEvent& event)
{
    file_ = event.file;
    drawBar(true);
}

void Progress::take(const session::PointEvent& event)
{
    const auto found = positions_.find(event.index);
    current_ = found == positions_.end() ? 0 : found->second;
    stepsDone_ = 0;
    state_ = "start";
    drawBar(true);
}

void Progress::take(const session::StateEvent& event)
{
    state_ = event.state;
    // Also counted from the states, because not every sample is reported.
    stepsDone_ = std::max(stepsDone_, session::stepsBefore(points_[current_].spec, state_));
    drawBar(true);
}

void Progress::take(const session::SampleEvent& event)
{
    const ExperimentSpec& spec = points_[current_].spec;
    stepsDone_ = std::min(session::stepsBefore(spec, state_) + event.step + 1, session::stepsOf(spec));
    drawBar(false);
}

std::string Progress::remarks(const std::string& reason, std::size_t used) const
{
    constexpr std::size_t kLeastRoom = 16;
    constexpr std::string_view kGap = "  ";
    const std::size_t room = style_.lineWidth == 0                  ? std::string::npos
                             : style_.lineWidth > used + kLeastRoom ? style_.lineWidth - used
                                                                    : kLeastRoom;
    std::string label = exchange::escapeForTerminal(labels_[current_]);
    std::string why = exchange::escapeForTerminal(reason);
    const auto widthOf = [&](const std::string& text) {
        return text.empty() ? 0 : kGap.size() + exchange::displayWidth(text);
    };
    if (widthOf(label) + widthOf(why) > room) {
        // The reason is more important: the label shrinks down to a third.
        if (!why.empty())
            label = exchange::elidePairs(label, std::max(room / 3, room - std::min(room, widthOf(why))) - 2);
        label = exchange::elidePairs(label, room - kGap.size());
        why = exchange::elideMiddle(why, room - std::min(room, widthOf(label) + kGap.size()));
    }
    std::string text;
    for (const std::string& part : {label, why})
        if (!part.empty())
            text += std::string(kGap) + part;
    return text;
}

void Progress::take(const session::ResultEvent& event)
{
    clearBar();
    ++finished_;
    records_ += event.records;
    const std::string place = fmt::format("{:>{}}/{}  ", points_[current_].index + 1,
                                          std::to_string(points_[current_].of).size(), points_[current_].of);
    const std::string status = fmt::format("{:<9}", event.status);
    const std::string step = stepText(event);
    std::string figures = fmt::format("  {:<26}", step.empty() ? "–" : step);
    if (event.peak)
        figures += fmt::format("  peak {:>9}", bytesText(*event.peak));
    out_ << place << (style_.colour ? colourOf(event.runStatus()) : "") << status
         << (style_.colour ? "\033[0m" : "") << figures
         << remarks(event.reason, exchange::displayWidth(place + status + figures)) << std::endl;
    for (const std::string& flag : event.flags) {
        const FlagInfo* info = findFlag(flag);
        // Flags that concern the program apply to every point and are printed once.
        if (info != nullptr && info->severity == LossSeverity::Info && !said_.insert(flag).second)
            continue;
        const bool bare = info != nullptr && flag == info->name;
        std::string line = "      flagged  " + exchange::escapeForTerminal(flag) +
                           (bare ? ": " + std::string(info->sentence) : "");
        if (style_.lineWidth > 0)
            line = exchange::elideMiddle(line, style_.lineWidth);
        out_ << (style_.colour ? "\033[33m" : "") << line << (style_.colour ? "\033[0m" : "") << std::endl;
    }
    stepsDone_ = 0;
    state_.clear();
    drawBar(true);
}

void Progress::take(const session::LossEvent& event)
{
    auto [entry, isNew] = losses_.try_emplace(event.kind, event);
    if (!isNew)
        entry->second.count += event.count;
}

void Progress::take(const session::LogEvent& event)
{
    clearBar();
    err_ << (event.level == "info" ? "" : event.level + ": ") << exchange::escapeForTerminal(event.text)
         << std::endl;
    drawBar(true);
}

std::string Progress::losses() const
{
    std::string text;
    for (const auto& [kind, loss] : losses_)
        if (isLost(loss.severity))
            text += fmt::format("{}{} {} ({})", text.empty() ? "Lost: " : ", ", loss.count,
                                exchange::escapeForTerminal(kind), loss.severity);
    if (!text.empty())
        return text;
    return records_ > 0 ? fmt::format("Nothing lost ({} checked)", counted(records_, "record"))
                        : "Nothing was traced";
}

void Progress::take(const session::DoneEvent& event)
{
    clearBar();
    const auto present = static_cast<std::int64_t>(present_);
    if (points_.empty() && present > 0) {
        out_ << fmt::format("{} of {} already in the file; nothing was run -> {}", present,
                            counted(present, "point"), exchange::escapeForTerminal(file_))
             << std::endl;
        return;
    }
    out_ << losses() << '\n';
    const std::string counts = event.text();
    out_ << fmt::format("{} of {}{}{} in {}{} -> {}", finished_, session::pointsText(points_),
                        counts.empty() ? "" : ": ", counts, durationText(event.seconds),
                        present > 0 ? fmt::format("; {} more already in the file", present) : "",
                        exchange::escapeForTerminal(file_))
         << std::endl;
}

double Progress::fraction() const
{
    if (points_.empty())
        return 1;
    const double inPoint =
        finished_ < points_.size()
            ? static_cast<double>(stepsDone_) / static_cast<double>(session::stepsOf(points_[current_].spec))
            : 0;
    return (static_cast<double>(finished_) + std::min(inPoint, 1.0)) / static_cast<double>(points_.size());
}

void Progress::drawBar(bool now)
{
    if (!style_.bar || (!now && Clock::now() - drawn_ < kRedraw))
        return;
    drawn_ = Clock::now();
    constexpr int kCells = 24;
    const double done = fraction();
    const int full = static_cast<int>(done * kCells);
    std::string bar;
    for (int i = 0; i < kCells; ++i)
        bar += i < full ? "█" : "░";
    const double elapsed = std::chrono::duration<double>(drawn_ - began_).count();
    const std::string left = done > 0.01 ? "ETA " + durationText(elapsed / done * (1 - done)) : "ETA –";
    std::string text = fmt::format("{} {}/{}  {}", bar, finished_, points_.size(), left);
    if (!state_.empty() && finished_ < points_.size())
        text += "  " + state_;
    const std::string label = exchange::escapeForTerminal(state_.empty() ? "" : labels_[current_]);
    constexpr std::size_t kLabelWorthShowing = 12;
    constexpr std::size_t kUnknownWidth = 200;
    const std::size_t room = (style_.width > 1 ? style_.width : kUnknownWidth) - 1;
    if (const std::size_t used = exchange::displayWidth(text) + 2;
        used + kLabelWorthShowing <= room && !label.empty())
        text += "  " + exchange::elidePairs(label, room - used);
    else
        text = exchange::elideMiddle(text, room);
    err_ << "\r\033[K" << text << std::flush;
    barShown_ = true;
}

void Progress::clearBar()
{
    if (barShown_)
        err_ << "\r\033[K" << std::flush;
    barShown_ = false;
}

} // namespace tilescope::cli
