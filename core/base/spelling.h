#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// The word of `words` that `typed` most likely meant; empty where none is near.
///
/// Near is at most a third of its letters wrong (insertions, deletions, replacements and swaps of neighbours
/// count one each; case and the difference of - and _ do not count), or that `typed` begins it. O(words x
/// length^2).
std::string_view nearestWord(std::string_view typed, std::span<const std::string_view> words);

/// For Error::mend: `did you mean 'batch'? allowed here: batch, backend`, without the question where none is
/// near.
std::string didYouMean(std::string_view typed, std::span<const std::string_view> words);

} // namespace tilescope
