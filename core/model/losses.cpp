#include "core/model/losses.h"

#include "core/model/strings.h"

#include <iterator>

namespace tilescope {

namespace {

constexpr bool lossesAreInOrder()
{
    for (std::size_t i = 0; i < std::size(kLosses); ++i)
        if (static_cast<std::size_t>(kLosses[i].kind) != i ||
            (i > 0 && kLosses[i].name < kLosses[i - 1].name))
            return false;
    return true;
}
static_assert(lossesAreInOrder(), "a loss is found by its kind");

} // namespace

const LossInfo& infoOf(RecordLoss kind)
{
    return kLosses[static_cast<std::size_t>(kind)];
}

std::string lossDetail(RecordLoss kind, std::string_view addition)
{
    std::string detail(infoOf(kind).sentence);
    if (!addition.empty())
        detail.append(" (").append(addition).append(")");
    return detail;
}

Loss lossOf(StringTable& strings, RecordLoss kind, std::int64_t count, std::string_view addition)
{
    const LossInfo& info = infoOf(kind);
    return {.kind = strings.intern(info.name),
            .severity = info.severity,
            .count = count,
            .detail = strings.intern(lossDetail(kind, addition))};
}

} // namespace tilescope
