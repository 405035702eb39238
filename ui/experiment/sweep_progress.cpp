#include "ui/experiment/sweep_progress.h"

#include "core/model/run_status.h"
#include "core/model/text.h"
#include "core/session/supervisor/sweep_text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tilescope::ui {

namespace {

Tone cellTone(RunStatus status)
{
    const StatusTone tone = traitsOf(status).tone;
    return tone == StatusTone::Failed    ? Tone::Worse
           : tone == StatusTone::Limited ? Tone::Warning
           : tone == StatusTone::Running ? Tone::Strong
           : tone == StatusTone::Absent  ? Tone::Dim
                                         : Tone::Plain;
}

TableColumn column(const char* title, TableColumn::Kind kind, double width)
{
    TableColumn made;
    made.title = QLatin1String(title);
    made.kind = kind;
    made.width = width;
    return made;
}

TableCell cell(const QString& text, double sort = std::numeric_limits<double>::quiet_NaN())
{
    TableCell made;
    made.text = text;
    made.sort = sort;
    return made;
}

constexpr std::size_t kMostReadings = 4096; // that a plot draws in no time

// Bounds the number of readings: all if there are few, evenly spaced ones if there are many.
template <class Reading>
void keep(std::vector<Reading>& readings, const Reading& reading, std::int64_t& stride, std::int64_t& seen)
{
    if (seen++ % stride != 0)
        return;
    readings.push_back(reading);
    if (readings.size() < kMostReadings)
        return;
    for (std::size_t i = 0; 2 * i < readings.size(); ++i)
        readings[i] = readings[2 * i];
    readings.resize(readings.size() / 2);
    stride *= 2;
}

QString stepOf(const session::ResultEvent& result)
{
    return result.stepMs ? timeText(*result.stepMs * 1e6) : notMeasured();
}

} // namespace

SweepProgress::SweepProgress(Points points) : points_(std::move(points))
{
    const std::vector<std::string> labels = session::pointLabels(*points_);
    for (std::size_t i = 0; i < points_->size(); ++i) {
        const session::SweepPoint& point = (*points_)[i];
        ofIndex_[point.index] = i;
        states_.push_back(
            {QString::fromStdString(labels[i].empty() ? point.spec.name : labels[i]), {}, {}, {}, 0});
    }
}

bool SweepProgress::isOf(const SweepProgress& other) const
{
    if (points_ == nullptr || other.points_ == nullptr)
        return false;
    return std::equal(
        points_->begin(), points_->end(), other.points_->begin(), other.points_->end(),
        [](const session::SweepPoint& a, const session::SweepPoint& b) { return a.spec == b.spec; });
}

QString SweepProgress::nameOf(std::size_t position) const
{
    return QStringLiteral("Point %1 of %2, %3")
        .arg(position + 1)
        .arg(states_.size())
        .arg(states_[position].label);
}

void SweepProgress::passOver(const std::vector<std::int64_t>& indexes)
{
    for (const std::int64_t index : indexes) {
        const auto found = ofIndex_.find(index);
        if (found == ofIndex_.end() || states_[found->second].standing != Standing::Waiting)
            continue;
        states_[found->second].standing = Standing::Stored;
        ++finished_;
    }
}

const SweepProgress::PointState* SweepProgress::current() const
{
    return begun_ ? &states_[current_] : nullptr;
}

std::int64_t SweepProgress::stepsToDo() const
{
    return begun_ ? spec().steps : 0;
}

std::int64_t SweepProgress::numbered(std::int64_t step) const
{
    return states_[current_].state == QLatin1String("warmup") ? step - spec().warmup : step;
}

QString SweepProgress::take(const session::Event& event)
{
    return std::visit([this](const auto& e) { return take(e); }, event);
}

QString SweepProgress::take(const session::HelloEvent& event)
{
    return QStringLiteral("%1 %2 writes %3 into %4")
        .arg(QString::fromStdString(event.program), QString::fromStdString(event.programVersion),
             counted(event.points, "point"), QString::fromStdString(event.file));
}

QString SweepProgress::take(const session::PointEvent& event)
{
    const auto found = ofIndex_.find(event.index);
    if (found == ofIndex_.end())
        return {};
    current_ = found->second;
    ofRun_[event.run] = current_;
    stepsDone_ = 0;
    begun_ = true;
    steps_.clear();
    memory_.clear();
    stepStride_ = memoryStride_ = 1;
    stepsSeen_ = memorySeen_ = 0;
    states_[current_].standing = Standing::Running;
    states_[current_].state = QStringLiteral("start");
    states_[current_].run = event.run;
    return {};
}

QString SweepProgress::take(const session::StateEvent& event)
{
    PointState& point = states_[current_];
    point.state = QString::fromStdString(event.state);
    // Counted from the states too, since not every sample is delivered.
    stepsDone_ = std::max(stepsDone_, session::stepsBefore(spec(), event.state));
    return {};
}

QString SweepProgress::take(const session::SampleEvent& event)
{
    const QString& state = states_[current_].state;
    stepsDone_ = std::min(session::stepsBefore(spec(), state.toStdString()) + event.step + 1,
                          session::stepsOf(spec()));
    if (begun_ && state != QLatin1String("trace")) // traced steps are not part of the measurement
        keep(steps_, {numbered(event.step), double(event.wallNs)}, stepStride_, stepsSeen_);
    return {};
}

QString SweepProgress::take(const session::MemoryEvent& event)
{
    const auto number = [](const std::optional<std::int64_t>& bytes) {
        return bytes ? std::optional(double(*bytes)) : std::nullopt;
    };
    if (begun_)
        keep(memory_,
             {numbered(event.step), double(event.allocated), number(event.reserved), number(event.peak)},
             memoryStride_, memorySeen_);
    return {};
}

QString SweepProgress::take(const session::ResultEvent& event)
{
    const auto found = ofRun_.find(event.run);
    const std::size_t position = found == ofRun_.end() ? current_ : found->second;
    PointState& point = states_[position];
    const bool another = point.standing != Standing::Done;
    finished_ += another;
    ranHere_ += another;
    if (event.runStatus() == RunStatus::Error)
        lastError_ = QString::fromStdString(event.reason);
    point.standing = Standing::Done;
    point.result = event;
    stepsDone_ = 0;
    QString line = nameOf(position) + QStringLiteral(": ") + QString::fromStdString(event.status);
    if (event.stepMs)
        line += QStringLiteral(", ") + stepOf(event) + QStringLiteral(" a step");
    if (!event.reason.empty())
        line += QStringLiteral(", ") + QString::fromStdString(event.reason);
    return line;
}

QString SweepProgress::take(const session::LossEvent& event)
{
    if (event.severity == wordOf(LossSeverity::Info))
        return {};
    return QStringLiteral("Lost: %1 %2 (%3)")
        .arg(event.count)
        .arg(QString::fromStdString(event.kind), QString::fromStdString(event.severity));
}

QString SweepProgress::take(const session::LogEvent& event)
{
    return QString::fromStdString(event.level) + QStringLiteral(": ") + QString::fromStdString(event.text);
}

QString SweepProgress::take(const session::FatalEvent& event)
{
    return QString::fromStdString(event.what); // the supervisor reports it as an Error
}

QString SweepProgress::take(const session::DoneEvent& event)
{
    const QString counts = QString::fromStdString(event.text());
    return QStringLiteral("%1 of %2 in %3: %4")
        .arg(finished_)
        .arg(counted(std::ssize(states_), "point"))
        .arg(QString::fromStdString(session::durationText(event.seconds)),
             counts.isEmpty() ? QStringLiteral("none ran") : counts);
}

double SweepProgress::currentFraction() const
{
    return finished_ < states_.size() ? std::min(1.0, double(stepsDone_) / double(session::stepsOf(spec())))
                                      : 0;
}

bool SweepProgress::expectsOom(std::size_t position) const
{
    return forecast_ && position < forecast_->points.size() && forecast_->points[position].outOfMemory;
}

std::optional<double> SweepProgress::expectedStep(std::size_t position) const
{
    if (!forecast_ || position >= forecast_->points.size() || !forecast_->points[position].stepSeconds)
        return {};
    constexpr double kNsPerSecond = 1e9;
    return *forecast_->points[position].stepSeconds * kNsPerSecond;
}

double SweepProgress::fraction() const
{
    return states_.empty() ? 0 : (double(finished_) + currentFraction()) / double(states_.size());
}

std::optional<double> SweepProgress::secondsLeft(double activeSeconds) const
{
    constexpr double kWorthAGuess = 0.01;
    const std::size_t before = finished_ - ranHere_; // they took no time
    const double toDo = double(states_.size() - before);
    const double done = toDo > 0 ? (fraction() * double(states_.size()) - double(before)) / toDo : 1;
    if (done <= kWorthAGuess || activeSeconds <= 0)
        return {};
    return activeSeconds / done * (1 - done);
}

QString SweepProgress::counts() const
{
    session::DoneEvent done;
    int stored = 0;
    for (const PointState& point : states_) {
        if (point.standing == Standing::Done)
            done.add(point.result.runStatus());
        stored += point.standing == Standing::Stored;
    }
    QStringList words;
    if (const std::string counts = done.text(); !counts.empty())
        words << QString::fromStdString(counts);
    if (stored > 0)
        words << QStringLiteral("%1 in the file before").arg(stored);
    return words.join(QStringLiteral(", "));
}

QString SweepProgress::words(double activeSeconds) const
{
    QString text = QStringLiteral("%1 of %2").arg(finished_).arg(counted(std::ssize(states_), "point"));
    if (finished_ == states_.size())
        return text;
    if (states_[current_].standing == Standing::Running)
        text += QStringLiteral(", ") + states_[current_].state;
    if (const auto left = secondsLeft(activeSeconds))
        text += QStringLiteral(", about %1 left").arg(QString::fromStdString(session::durationText(*left)));
    return text;
}

std::pair<std::size_t, std::size_t> SweepProgress::rows(std::size_t most) const
{
    if (states_.size() <= most)
        return {0, states_.size()};
    const std::size_t from = std::min(current_ > most / 2 ? current_ - most / 2 : 0, states_.size() - most);
    return {from, from + most};
}

QString SweepProgress::shownPart(std::size_t most) const
{
    const auto [from, to] = rows(most);
    if (to - from == states_.size())
        return {};
    return QStringLiteral("points %1 to %2")
        .arg(wholeNumber(std::int64_t(from) + 1), wholeNumber(std::int64_t(to)));
}

TableData SweepProgress::table(std::size_t most) const
{
    TableData data;
    data.columns = {column("#", TableColumn::Kind::Number, 44), column("Point", TableColumn::Kind::Text, 0),
                    column("Status", TableColumn::Kind::Text, 130),
                    column("Step", TableColumn::Kind::Number, 84),
                    column("Peak allocated", TableColumn::Kind::Number, 104)};
    const auto [from, to] = rows(most);
    for (std::size_t i = from; i < to; ++i) {
        const PointState& point = states_[i];
        TableRow row;
        row.id = std::int64_t(i);
        TableCell status = cell(QStringLiteral("waiting"));
        TableCell step;
        TableCell peak;
        status.tone = Tone::Dim;
        if (point.standing == Standing::Waiting && forecast_ && i < forecast_->points.size()) {
            const PointForecast& expected = forecast_->points[i];
            if (expected.outOfMemory) {
                status.text = QStringLiteral("expected OOM");
                status.tone = Tone::Warning;
            }
            if (const auto ns = expectedStep(i)) {
                step.text = QStringLiteral("~") + timeText(*ns);
                if (expected.error)
                    step.exact = QStringLiteral("predicted: %1 ± %2")
                                     .arg(timeText(*ns), percentWords(*expected.error));
                step.sort = *ns / 1e6;
                step.tone = Tone::Dim;
            }
            if (expected.peakBytes) {
                peak.text = QStringLiteral("~") + byteText(double(*expected.peakBytes));
                peak.sort = double(*expected.peakBytes);
                peak.tone = Tone::Dim;
            }
        } else if (point.standing == Standing::Stored) {
            status.text = QStringLiteral("in the file");
        } else if (point.standing == Standing::Running) {
            status.text = QStringLiteral("running: ") + point.state;
            status.tone = Tone::Strong;
        } else if (point.standing == Standing::Done) {
            status.text = QString::fromStdString(point.result.status);
            status.exact = point.result.reason.empty() ? QString()
                                                       : status.text + QStringLiteral(": ") +
                                                             QString::fromStdString(point.result.reason);
            status.tone = cellTone(point.result.runStatus());
            step.text = stepOf(point.result);
            step.sort = point.result.stepMs.value_or(-1);
            peak.text = point.result.peak ? byteText(double(*point.result.peak)) : notMeasured();
            peak.sort = double(point.result.peak.value_or(-1));
        }
        row.cells = {cell(QString::number(i + 1), double(i)), cell(point.label), status, step, peak};
        data.rows.push_back(std::move(row));
    }
    return data;
}

} // namespace tilescope::ui
