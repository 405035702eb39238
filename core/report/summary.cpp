#include "core/report/summary.h"

#include <algorithm>

namespace tilescope::report {

namespace {

constexpr std::size_t kLongest = 220; // characters: three lines on paper, with the title of the study

} // namespace

std::vector<Highlight> highlightsOf(const std::vector<Section>& sections)
{
    const auto effect = [&sections](const Highlight& one) {
        return sections[one.section].findings[one.finding].effect;
    };
    std::vector<Highlight> strongest;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        std::vector<Highlight> ofSection;
        for (std::size_t k = 0; k < sections[i].findings.size(); ++k)
            if (const Finding& finding = sections[i].findings[k];
                finding.conclusive && finding.text.size() <= kLongest)
                ofSection.push_back({i, k});
        std::ranges::stable_sort(ofSection, std::ranges::greater(), effect);
        if (sections.size() > 1)
            ofSection.resize(std::min<std::size_t>(ofSection.size(), 1));
        std::ranges::move(ofSection, std::back_inserter(strongest));
    }
    std::ranges::stable_sort(strongest, std::ranges::greater(), effect);
    strongest.resize(std::min(strongest.size(), kMostHighlights));
    return strongest;
}

std::vector<const Figure*> summaryFigures(const Document& document)
{
    std::vector<const Figure*> charts;
    const Figure* timeline = nullptr;
    for (const Highlight& one : document.summary) {
        const Section& section = document.sections[one.section];
        const Figure* figure = figureOf(section, section.findings[one.finding]);
        if (figure != nullptr && figure->isTimeline) {
            timeline = timeline == nullptr ? figure : timeline;
            const auto chart = std::ranges::find(section.figures, false, &Figure::isTimeline);
            figure = chart == section.figures.end() ? nullptr : &*chart;
        }
        if (figure != nullptr && charts.size() < kMostSummaryFigures &&
            std::ranges::find(charts, figure) == charts.end())
            charts.push_back(figure);
    }
    if (charts.empty() && timeline != nullptr)
        charts.push_back(timeline);
    return charts;
}

} // namespace tilescope::report
