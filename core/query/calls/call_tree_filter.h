#pragma once

#include "core/query/calls/call_tree.h"

#include <span>
#include <string_view>

namespace tilescope::query {

/// Applies filters one after the other. Amounts neither change nor move to other calls: those of the stacks that are left
/// and `hidden` add up to those of `tree`.
///
/// KeepOnly keeps the stacks that contain a call of that name, Hide those that do not. Callers keeps the same stacks as
/// KeepOnly and turns them round: the innermost call of that name is outermost, its callers are inside, and what it
/// called is part of its amount. Callees keeps the same stacks without what is outside of the outermost call of that name.
/// O(nodes) for each filter; for Callers times the depth.
struct FilteredCalls {
    CallTree tree = {};
    HiddenCalls hidden = {};
};
FilteredCalls filtered(const CallTree& tree, std::span<const CallFilter> filters);

/// The table with the filters applied.
CallTreeTable filtered(CallTreeTable table, std::span<const CallFilter> filters);

/// `keep`, `hide`, `callers`, `callees`.
std::string_view wordOf(CallFilter::Kind kind);
/// The filter of `hide=aten::copy_`.
/// \throws Error (Usage)  another word, or no name; lists the words
CallFilter callFilter(std::string_view text);

/// Whether the outermost calls of the filtered tree are those that `filters` found the callers of.
bool showsCallers(std::span<const CallFilter> filters);

} // namespace tilescope::query
