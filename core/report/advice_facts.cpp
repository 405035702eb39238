#include "core/report/advice_facts.h"

#include "core/exchange/tables/number.h"

#include <algorithm>

namespace tilescope::report {

namespace {

constexpr std::size_t kMostFindings = 3;
constexpr double kPerMillisecond = 1e6; // ns

std::string shortText(const query::AdviceTable& advice, const query::Advice& finding)
{
    const bool isTime = finding.atStake.count() > 0 || !finding.bytes;
    return std::string(wordOf(finding.rule)) + " " +
           (isTime ? exchange::withUnit(advice.perStep(finding.atStake), exchange::Unit::Nanoseconds) + " (" +
                         exchange::withUnit(advice.percent(finding.atStake), exchange::Unit::Percent) + ")"
                   : exchange::sizeText(*finding.bytes));
}

} // namespace

Fact adviceFact(const query::AdviceTable& advice, std::string_view which)
{
    if (advice.steps == 0)
        return {};
    if (!which.empty()) {
        const auto found = std::ranges::find_if(
            advice.rows, [which](const query::Advice& finding) { return wordOf(finding.rule) == which; });
        if (found == advice.rows.end())
            return {};
        return Measured{
            advice.perStep(found->atStake) / kPerMillisecond, {}, advice.steps, exchange::Unit::Milliseconds};
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(kMostFindings, advice.rows.size()); ++i)
        text += (i > 0 ? "; " : "") + shortText(advice, advice.rows[i]);
    return text.empty() ? std::string("nothing") : text;
}

} // namespace tilescope::report
