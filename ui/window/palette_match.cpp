#include "ui/window/palette_match.h"

#include <QString>

#include <algorithm>
#include <vector>

namespace tilescope::ui {

namespace {

constexpr int kWholeWord = 400;
constexpr int kWordBegin = 300;
constexpr int kWithin = 200;
constexpr int kInitials = 100;
constexpr int kLongest = 99; ///< characters of a text that lower its score

// A capital after a small letter begins a word too: layerNorm.
bool beginsWord(QStringView text, qsizetype at)
{
    if (at == 0 || !text[at - 1].isLetterOrNumber())
        return true;
    return text[at].isUpper() && text[at - 1].isLower();
}

bool endsWord(QStringView text, qsizetype end)
{
    return end == text.size() || !text[end].isLetterOrNumber();
}

int scoreAsPart(QStringView word, QStringView text)
{
    int best = 0;
    for (qsizetype at = text.indexOf(word, 0, Qt::CaseInsensitive); at >= 0;
         at = text.indexOf(word, at + 1, Qt::CaseInsensitive)) {
        const bool begins = beginsWord(text, at);
        const bool whole = begins && endsWord(text, at + word.size());
        best = std::max(best, whole ? kWholeWord : begins ? kWordBegin : kWithin);
    }
    return best;
}

// Whether the letters of `word` occur in order, each at the beginning of a word or after the letter before it.

bool fitsInitials(QStringView word, QStringView text)
{
    std::vector<bool> endsHere(std::size_t(word.size()), false);
    std::vector<bool> fitsBefore(std::size_t(word.size()) + 1,
                                 false); // the first i letters fit somewhere before
    fitsBefore[0] = true;
    for (qsizetype at = 0; at < text.size(); ++at) {
        std::vector<bool> ends(endsHere.size(), false);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (text[at].toCaseFolded() != word[qsizetype(i)].toCaseFolded())
                continue;
            ends[i] = (beginsWord(text, at) && fitsBefore[i]) || (i > 0 && endsHere[i - 1]);
        }
        for (std::size_t i = 0; i < ends.size(); ++i)
            if (ends[i])
                fitsBefore[i + 1] = true;
        endsHere = std::move(ends);
    }
    return fitsBefore.back();
}

} // namespace

std::optional<int> paletteScore(QStringView typed, QStringView text)
{
    int score = 0;
    for (const QStringView word : typed.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        int part = scoreAsPart(word, text);
        if (part == 0 && fitsInitials(word, text))
            part = kInitials;
        if (part == 0)
            return {};
        score += part;
    }
    if (score > 0)
        score += kLongest - int(std::min<qsizetype>(text.size(), kLongest));
    return score;
}

} // namespace tilescope::ui
