#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// The word of `words` that `typed` most likely means; empty if none is similar.
///
/// A word is similar if at most a third of its letters are wrong (insertion, deletion, replacement and
/// transposition count one each; case and `-` or `_` do not matter), or if it begins with `typed`.
/// O(words x length^2).
std::string_view nearestWord(std::string_view typed, std::span<const std::string_view> words);

/// Text for Error::remedy: `did you mean 'batch'? allowed here: batch, backend`, without the question if no
/// word is similar.
std::string didYouMean(std::string_view typed, std::span<const std::string_view> words);

} // namespace tilescope
