#pragma once

#include <string_view>

namespace tilescope::record {

/// Ranges that a thread opens and closes, each within the others of its domain but not within those of other
/// domains. None throws; a range that cannot be noted is missing.

/// Opens a range of the calling thread while it is recorded.
/// \param domain  any address
/// \param key     what closeNested() must name; null: nothing
/// \return  how many ranges were open, -1 where none is noted
int openNested(const void* domain, const void* key, std::string_view name) noexcept;
/// Opens a range of the calling thread that contains no others and need not be closed: what is not closed is not
/// recorded.
/// \return  like openNested()
int openLeaf(const void* domain, std::string_view name) noexcept;
/// In a forked child: the open ranges of the thread that forked are the parent's.
void forgetOpenRanges() noexcept;
/// Closes the innermost range of the domain that has the key.
/// \return  how many ranges were open when it was opened, -1 where there is none
int closeNested(const void* domain, const void* key) noexcept;

} // namespace tilescope::record
