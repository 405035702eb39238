#include "core/query/kernels/inside_limit.h"

#include "core/analysis/kernels/stall_reasons.h"
#include "core/base/quantity.h"

namespace tilescope::query {

namespace {

/// Of the issue slots, above which more work at once would not make the kernel faster.
constexpr double kEnough = 0.8;

std::string percent(double value)
{
    return quantity::withUnit(value, quantity::Unit::Percent);
}

} // namespace

std::optional<InsideLimit> insideLimit(const InsideTable& reasons, const std::string& kernel)
{
    std::int64_t samples = 0;
    std::int64_t unissued = 0;
    const InsideRow* most = nullptr;
    for (const InsideRow& row : reasons.rows) {
        if (row.kernel != kernel)
            continue;
        samples += row.samples;
        unissued += row.unissued;
        if (analysis::stallReason(row.reason).isStall && row.unissued > (most ? most->unissued : 0))
            most = &row;
    }
    if (samples == 0)
        return {};
    const auto whole = static_cast<double>(samples);
    InsideLimit limit{.issued = 1 - static_cast<double>(unissued) / whole};
    if (most) {
        limit.reason = most->reason;
        limit.share = static_cast<double>(most->samples) / whole;
        limit.empty = static_cast<double>(most->unissued) / whole;
    }
    return limit;
}

std::string limitSentence(const InsideLimit& limit, std::optional<double> tensorActive)
{
    std::string text;
    if (!limit.reason.empty()) {
        const std::string name(analysis::stallReason(limit.reason).name);
        text = "In " + percent(100 * limit.share) + " of the samples " +
               (name.starts_with("the ") ? name : "the warp " + name) + ". ";
    }
    text += percent(100 * limit.issued) + " of the issue slots are used";
    if (!limit.reason.empty())
        text += "; " + percent(100 * limit.empty) + " stay empty because of it";
    if (tensorActive)
        text += ", and the tensor pipe is active " + percent(*tensorActive) + " of the time";
    text += ".";
    if (limit.issued >= kEnough)
        text += " There is enough work: fewer instructions would make the kernel faster.";
    return text;
}

} // namespace tilescope::query
