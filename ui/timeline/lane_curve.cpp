#include "ui/timeline/lane_curve.h"

#include "core/model/metric.h"
#include "core/query/runs/counter_table.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

namespace tilescope::ui {

using query::Lane;

bool isCurve(const Lane& lane)
{
    return lane.kind == Lane::Kind::Memory || lane.kind == Lane::Kind::Counter;
}

const query::StepCurve* curveOf(const Lane& lane)
{
    if (!isCurve(lane))
        return nullptr;
    const query::StepCurve& curve = lane.kind == Lane::Kind::Memory ? lane.allocated : lane.values;
    return curve.empty() ? nullptr : &curve;
}

std::int64_t curveEnd(const Lane& lane)
{
    const query::StepCurve& curve = *curveOf(lane);
    return lane.kind == Lane::Kind::Memory ? curve.time(curve.size() - 1) : lane.valuesEnd;
}

std::optional<double> curveValueAt(const Lane& lane, double time)
{
    const query::StepCurve* curve = curveOf(lane);
    if (curve == nullptr || time < double(curve->time(0)) || time > double(curveEnd(lane)) ||
        lane.holeAt(std::int64_t(time)))
        return {};
    return double(curve->at(std::int64_t(time)));
}

QString curveText(const Lane& lane, double value)
{
    if (lane.kind == Lane::Kind::Memory)
        return byteText(value);
    const QString text = QString::fromStdString(query::counterText(value / kPartsOfCounterUnit, lane.unit));
    const qsizetype space = text.indexOf(QLatin1Char(' '));
    return space < 0 ? text : withUnit(text.left(space), text.mid(space + 1).toUtf8().constData());
}

namespace {

QColor colourOfMetric(const Lane& lane, const Palette& p)
{
    if (lane.counter == kTensorActive)
        return p.hue(query::Hue::Matmul);
    if (lane.counter == kDramRead)
        return p.activations;
    if (lane.counter == kDramWrite)
        return p.temporaries;
    return lane.unit == "B/s" ? p.hue(query::Hue::Memset) : p.dimText;
}

} // namespace

std::pair<QColor, QColor> curveColours(const Lane& lane)
{
    const Palette& p = colours();
    if (lane.isMetric()) {
        const QColor edge = colourOfMetric(lane, p);
        return {blend(edge, p.laneGround, 0.3), edge};
    }
    const bool isLimit = lane.counter == kPowerCapCounter || lane.counter == kThermalSlowdownCounter ||
                         lane.counter == kHardwareSlowdownCounter;
    const QColor edge = lane.kind == Lane::Kind::Memory ? p.activations : isLimit ? p.warning : p.dimText;
    const double share = lane.kind == Lane::Kind::Memory || isLimit ? 0.35 : 0.2;
    return {blend(edge, p.laneGround, share), edge};
}

} // namespace tilescope::ui
