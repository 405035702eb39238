#include "core/trace/host/observed_views.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <vector>

namespace tilescope::trace {

namespace {

// When LibTorch registers an operator, its name determines whether it is observed; no function changes this
// later. The two members are private, but an explicit instantiation may name private members.
struct DefinitionOfHandle {
    friend constexpr auto memberOf(DefinitionOfHandle);
};
struct ObservedFlag {
    friend constexpr auto memberOf(ObservedFlag);
};
template <class Tag, auto Member> struct Reveal {
    friend constexpr auto memberOf(Tag) { return Member; }
};
template struct Reveal<DefinitionOfHandle, &c10::OperatorHandle::operatorDef_>;
template struct Reveal<ObservedFlag, &c10::impl::OperatorEntry::is_observed_>;

bool isView(const c10::FunctionSchema& schema)
{
    const auto& results = schema.returns();
    return !results.empty() && std::all_of(results.begin(), results.end(), [](const c10::Argument& result) {
        return result.alias_info() && !result.alias_info()->isWrite();
    });
}

/// The flags of ATen's views that LibTorch observes.
std::vector<bool*> flagsOfViews()
{
    std::vector<bool*> flags;
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
        if (name.name.compare(0, 6, "aten::") != 0)
            continue;
        const auto handle = dispatcher.findSchema(name);
        if (!handle || !isView(handle->schema()))
            continue;
        const auto& entry = ((*handle).*memberOf(DefinitionOfHandle{}))->op;
        if (entry.isObserved())
            flags.push_back(const_cast<bool*>(&(entry.*memberOf(ObservedFlag{}))));
    }
    return flags;
}

} // namespace

int setViewsObserved(bool observed)
{
    // Entries of operators keep their addresses for the life of the process.
    static const std::vector<bool*> flags = flagsOfViews();
    for (bool* flag : flags)
        __atomic_store_n(flag, observed, __ATOMIC_RELAXED);
    return static_cast<int>(flags.size());
}

} // namespace tilescope::trace
