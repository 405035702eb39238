#include "ui/experiment/forecast.h"

#include "core/session/supervisor/forecast.h"
#include "core/session/supervisor/sweep_text.h"
#include "ui/kit/number_text.h"

#include <QStringList>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

// In the notation of specs: 8 GiB, 1536 MiB.
QString limitText(std::int64_t bytes)
{
    constexpr std::int64_t kMiB = 1 << 20;
    constexpr std::int64_t kGiB = 1 << 30;
    if (bytes % kGiB == 0)
        return withUnit(wholeNumber(bytes / kGiB), "GiB");
    return bytes % kMiB == 0 ? withUnit(wholeNumber(bytes / kMiB), "MiB") : byteText(double(bytes));
}

class MachineForecaster final : public Forecaster {
public:
    std::optional<SweepForecast> forecast(const std::vector<session::SweepPoint>& points,
                                          const std::function<bool()>& cancelled) const override
    {
        SweepForecast sweep;
        QStringList devices;
        for (const session::PointForecast& point : session::forecast(points, {}, cancelled)) {
            const QString device = QString::fromStdString(point.device);
            if (!devices.contains(device))
                devices << device;
            sweep.isHere = sweep.isHere && point.isHere;
            sweep.isFromBusyHost = sweep.isFromBusyHost || point.isFromBusyHost;
            PointForecast forecast;
            forecast.seconds = point.skipped ? 0 : point.seconds;
            forecast.stepSeconds = point.stepSeconds;
            forecast.error = point.error;
            if (point.memory) {
                forecast.peakBytes = point.memory->peakAllocated.count;
                forecast.outOfMemory = point.memory->outOfMemory.has_value();
            }
            sweep.points.push_back(forecast);
        }
        sweep.device = devices.join(QStringLiteral(", "));
        return sweep;
    }
};

} // namespace

std::shared_ptr<const Forecaster> machineForecaster()
{
    return std::make_shared<MachineForecaster>();
}

std::optional<double> SweepForecast::seconds() const
{
    double sum = 0;
    for (const PointForecast& point : points) {
        // A point that runs out of memory ends early.
        if (!point.seconds && !point.outOfMemory)
            return {};
        sum += point.seconds.value_or(0);
    }
    return points.empty() ? std::nullopt : std::optional(sum);
}

std::optional<double> SweepForecast::error() const
{
    const auto all = seconds();
    if (!all || *all <= 0 ||
        std::ranges::none_of(points, [](const PointForecast& point) { return point.error.has_value(); }))
        return {};
    double off = 0;
    for (const PointForecast& point : points)
        off += point.seconds.value_or(0) * point.error.value_or(0);
    return off / *all;
}

std::optional<std::int64_t> SweepForecast::peakBytes() const
{
    std::optional<std::int64_t> peak;
    for (const PointForecast& point : points)
        if (point.peakBytes)
            peak = std::max(peak.value_or(0), *point.peakBytes);
    return peak;
}

std::int64_t SweepForecast::outOfMemory() const
{
    return std::ranges::count(points, true, &PointForecast::outOfMemory);
}

QString percentWords(double share)
{
    return withUnit(wholeNumber(std::llround(100 * share)), "%");
}

QString forecastWords(const SweepForecast& forecast)
{
    QStringList words;
    const auto seconds = forecast.seconds();
    if (seconds && *seconds > 0) // points that are skipped or run out of memory take no time
        words << QStringLiteral("about %1").arg(QString::fromStdString(session::durationText(*seconds))) +
                     (forecast.error() ? QStringLiteral(" ± %1").arg(percentWords(*forecast.error()))
                                       : QString()) +
                     (forecast.device.isEmpty() ? QString()
                                                : (forecast.isHere ? QStringLiteral(" on this ")
                                                                   : QStringLiteral(" on the calibrated ")) +
                                                      forecast.device) +
                     (forecast.isFromBusyHost ? QStringLiteral(" (calibrated while its host was busy)")
                                              : QString());
    else if (!seconds && !forecast.points.empty())
        words << QStringLiteral("time not predicted: no calibration of this device");
    if (const auto peak = forecast.peakBytes())
        words << QStringLiteral("predicted peak %1 allocated").arg(byteText(double(*peak)));
    return words.join(QStringLiteral(", "));
}

QString memoryLimitWords(const std::vector<session::SweepPoint>& points)
{
    std::optional<std::int64_t> least;
    std::optional<std::int64_t> most;
    bool unset = false;
    for (const session::SweepPoint& point : points) {
        const std::optional<Bytes>& limit = point.spec.memoryLimit;
        unset = unset || !limit;
        if (limit) {
            least = std::min(least.value_or(limit->count), limit->count);
            most = std::max(most.value_or(0), limit->count);
        }
    }
    QString words = QStringLiteral("memory_limit ");
    if (!most)
        return words + QStringLiteral("auto");
    words += limitText(*least);
    if (*least != *most)
        words += QStringLiteral(" to ") + limitText(*most);
    return unset ? words + QStringLiteral(" or auto") : words;
}

} // namespace tilescope::ui
