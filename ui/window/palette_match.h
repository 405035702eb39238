#pragma once

#include <QStringView>

#include <optional>

namespace tilescope::ui {

/// The score of `typed` for `text`, for a list that is filtered while the user types; none: no match.
///
/// Each word of `typed`, in any order and case, must occur in `text`: whole, or as letters in order of which
/// each is the first of a word or follows the one before. A higher score is a better fit: whole words before
/// beginnings of words, before letters within words, before initials; shorter texts first. Everything fits an
/// empty `typed`, with score 0. O(length of typed x length of text).
std::optional<int> paletteScore(QStringView typed, QStringView text);

} // namespace tilescope::ui
