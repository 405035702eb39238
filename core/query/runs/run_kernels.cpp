#include "core/query/runs/run_kernels.h"

#include "core/analysis/work/op_families.h"
#include "core/store/tracks/call_totals.h"

#include <algorithm>
#include <array>

namespace tilescope::query {

using analysis::KernelFamilies;
using analysis::KernelFamily;

namespace {

constexpr double kAgreement = 0.9; ///< of the time that ops of known families launched

/// Adds up, by kernel, the time that ops of each family launched.
class LaunchedTimes {
public:
    explicit LaunchedTimes(const store::RunReader& reader) : reader_(reader) {}

    /// Whether a kernel's name leaves its family open.
    bool isOpen(StringId kernel)
    {
        const auto [known, isNew] = isOpen_.try_emplace(kernel, false);
        if (isNew)
            known->second =
                KernelFamilies::standard().describe(reader_.text(kernel)).family == KernelFamily::Other;
        return known->second;
    }

    void add(StringId kernel, StringId op, std::int64_t time)
    {
        const auto [family, isNew] = families_.try_emplace(op, KernelFamily::Other);
        if (isNew)
            family->second = analysis::familyOfOp(reader_.text(op));
        if (family->second != KernelFamily::Other)
            times_[kernel][static_cast<std::size_t>(family->second)] += time;
    }

    LaunchFamilies families() const
    {
        LaunchFamilies found;
        for (const auto& [kernel, times] : times_) {
            const auto longest = std::ranges::max_element(times);
            std::int64_t all = 0;
            for (const std::int64_t time : times)
                all += time;
            if (static_cast<double>(*longest) >= kAgreement * static_cast<double>(all))
                found.emplace(reader_.text(kernel), static_cast<KernelFamily>(longest - times.begin()));
        }
        return found;
    }

private:
    const store::RunReader& reader_;
    std::unordered_map<StringId, bool> isOpen_;
    std::unordered_map<StringId, KernelFamily> families_; ///< of ops
    std::unordered_map<StringId, std::array<std::int64_t, analysis::kKernelFamilies>> times_;
};

void addLaunchTotals(const store::CallTotals& totals, LaunchedTimes& times)
{
    for (const store::ActivityTotal& total : totals.activities)
        if (total.kind == DeviceEventKind::Kernel && total.op != store::kNoOpCall && times.isOpen(total.name))
            times.add(total.name, totals.ops[total.op].name, total.total);
}

void addLaunchEvents(const store::RunReader& reader, RunId run, LaunchedTimes& times)
{
    struct Launched {
        StringId kernel;
        std::int64_t time;
    };
    std::unordered_multimap<OpId, Launched> launched;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        if (event.kind == DeviceEventKind::Kernel && event.op && times.isOpen(event.name))
            launched.emplace(event.op, Launched{event.name, (event.end - event.start).count()});
        return true;
    });
    if (launched.empty())
        return;
    reader.eachOp({.run = run}, [&](const Op& op) {
        const auto [begin, end] = launched.equal_range(op.id);
        for (auto each = begin; each != end; ++each)
            times.add(each->second.kernel, op.name, each->second.time);
        return true;
    });
}

} // namespace

const analysis::KernelDescription& RunKernels::describe(StringId name, DeviceEventKind kind)
{
    const auto [known, isNew] =
        known_.try_emplace(std::uint64_t{name.value} << 2 | static_cast<std::uint64_t>(kind));
    if (isNew)
        known->second = describe(reader_.text(name), kind);
    return known->second;
}

analysis::KernelDescription RunKernels::describe(std::string_view name, DeviceEventKind kind)
{
    analysis::KernelDescription description = KernelFamilies::standard().describe(name, kind);
    if (description.family != KernelFamily::Other || kind != DeviceEventKind::Kernel)
        return description;
    if (!isRead_)
        readLaunches();
    if (const auto found = byLaunch_.find(std::string(name)); found != byLaunch_.end())
        description.family = found->second;
    return description;
}

void RunKernels::readLaunches()
{
    isRead_ = true;
    LaunchedTimes times(reader_);
    if (const std::optional<store::CallTotals> totals = reader_.callTotals(run_))
        addLaunchTotals(*totals, times);
    else
        addLaunchEvents(reader_, run_, times);
    byLaunch_ = times.families();
}

} // namespace tilescope::query
