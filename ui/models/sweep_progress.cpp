#include "ui/models/sweep_progress.h"

#include "core/session/sweep_text.h"
#include "ui/plots/number_text.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tilescope::ui {

namespace {

std::int64_t stepsOf(const ExperimentSpec& spec)
{
    return std::max<std::int64_t>(1, spec.warmup + spec.steps + spec.traceSteps);
}

Tone toneOf(const std::string& status)
{
    if (status == "ok")
        return Tone::Plain;
    return status == "error" ? Tone::Worse : Tone::Warning;
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
            {QString::fromStdString(labels[i].empty() ? point.spec.name : labels[i]), {}, {}, {}});
    }
}

QString SweepProgress::nameOf(std::size_t position) const
{
    return QStringLiteral("Point %1 of %2, %3")
        .arg(position + 1)
        .arg(states_.size())
        .arg(states_[position].label);
}

QString SweepProgress::take(const session::Event& event)
{
    return std::visit([this](const auto& e) { return take(e); }, event);
}

QString SweepProgress::take(const session::HelloEvent& event)
{
    return QStringLiteral("%1 %2 records %3 points into %4")
        .arg(QString::fromStdString(event.program), QString::fromStdString(event.programVersion))
        .arg(event.points)
        .arg(QString::fromStdString(event.file));
}

QString SweepProgress::take(const session::PointEvent& event)
{
    const auto found = ofIndex_.find(event.index);
    if (found == ofIndex_.end())
        return {};
    current_ = found->second;
    ofRun_[event.run] = current_;
    stepsDone_ = 0;
    states_[current_].standing = Standing::Running;
    states_[current_].state = QStringLiteral("start");
    return {};
}

QString SweepProgress::take(const session::StateEvent& event)
{
    PointState& point = states_[current_];
    point.state = QString::fromStdString(event.state);
    // Counted from the states too, because not every sample is told.
    if (event.state == "measure")
        stepsDone_ = spec().warmup;
    else if (event.state == "trace")
        stepsDone_ = spec().warmup + spec().steps;
    return {};
}

QString SweepProgress::take(const session::SampleEvent& event)
{
    const QString& state = states_[current_].state;
    const std::int64_t before = state == QLatin1String("measure") ? spec().warmup
                                : state == QLatin1String("trace") ? spec().warmup + spec().steps
                                                                  : 0;
    stepsDone_ = std::min(before + event.step + 1, stepsOf(spec()));
    return {};
}

QString SweepProgress::take(const session::ResultEvent& event)
{
    const auto found = ofRun_.find(event.run);
    const std::size_t position = found == ofRun_.end() ? current_ : found->second;
    PointState& point = states_[position];
    finished_ += point.standing != Standing::Done;
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
    if (event.severity == "info")
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
    return QString::fromStdString(event.what); // the supervisor makes an Error of it, which says it whole
}

QString SweepProgress::take(const session::DoneEvent& event)
{
    QStringList counts;
    const std::pair<std::int64_t, const char*> all[] = {{event.ok, "ok"},
                                                        {event.oom, "out of memory"},
                                                        {event.skipped, "skipped"},
                                                        {event.error, "in error"},
                                                        {event.cancelled, "cancelled"}};
    for (const auto& [n, word] : all)
        if (n > 0)
            counts << QStringLiteral("%1 %2").arg(n).arg(QLatin1String(word));
    return QStringLiteral("%1 of %2 points in %3: %4")
        .arg(finished_)
        .arg(states_.size())
        .arg(QString::fromStdString(session::durationText(event.seconds)),
             counts.isEmpty() ? QStringLiteral("none ran") : counts.join(QStringLiteral(", ")));
}

double SweepProgress::fraction() const
{
    if (states_.empty())
        return 0;
    const double inPoint = finished_ < states_.size() ? double(stepsDone_) / double(stepsOf(spec())) : 0;
    return (double(finished_) + std::min(inPoint, 1.0)) / double(states_.size());
}

QString SweepProgress::words(double elapsedSeconds) const
{
    constexpr double kWorthAGuess = 0.01;
    QString text = QStringLiteral("%1 of %2 points").arg(finished_).arg(states_.size());
    if (finished_ == states_.size())
        return text;
    if (states_[current_].standing == Standing::Running)
        text += QStringLiteral(", ") + states_[current_].state;
    const double done = fraction();
    if (done > kWorthAGuess)
        text += QStringLiteral(", about %1 left")
                    .arg(QString::fromStdString(session::durationText(elapsedSeconds / done * (1 - done))));
    return text;
}

TableData SweepProgress::table() const
{
    TableData data;
    data.columns = {column("#", TableColumn::Kind::Number, 44), column("Point", TableColumn::Kind::Text, 0),
                    column("Status", TableColumn::Kind::Text, 130),
                    column("Step", TableColumn::Kind::Number, 84),
                    column("Peak", TableColumn::Kind::Number, 84)};
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const PointState& point = states_[i];
        TableRow row;
        row.id = std::int64_t(i);
        TableCell status = cell(QStringLiteral("waiting"));
        TableCell step;
        TableCell peak;
        status.tone = Tone::Dim;
        if (point.standing == Standing::Running) {
            status.text = QStringLiteral("running: ") + point.state;
            status.tone = Tone::Strong;
        } else if (point.standing == Standing::Done) {
            status.text = QString::fromStdString(point.result.status);
            status.exact = point.result.reason.empty() ? QString()
                                                       : status.text + QStringLiteral(": ") +
                                                             QString::fromStdString(point.result.reason);
            status.tone = toneOf(point.result.status);
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
