#include "ui/kit/step_text.h"

#include "ui/kit/number_text.h"

namespace tilescope::ui {

namespace {

constexpr double kNsPerMs = 1e6;

} // namespace

QString shortInterval(const analysis::Statistics& ms)
{
    if (!ms.ci95)
        return QStringLiteral("n %1").arg(ms.n);
    const double unit = timeUnit(ms.median * kNsPerMs).divisor / kNsPerMs;
    return threeDigits(ms.ci95->low / unit) + QChar(0x2013) + threeDigits(ms.ci95->high / unit);
}

QString intervalWords(const analysis::Statistics& ms)
{
    if (!ms.ci95)
        return shortInterval(ms);
    const double unit = timeUnit(ms.median * kNsPerMs).divisor / kNsPerMs;
    return QStringLiteral("%1 to %2 (%3)")
        .arg(threeDigits(ms.ci95->low / unit), threeDigits(ms.ci95->high / unit))
        .arg(ms.n);
}

QString medianWords(const analysis::Statistics& ms)
{
    return timeText(ms.median * kNsPerMs) + QStringLiteral(", ") + intervalWords(ms);
}

} // namespace tilescope::ui
