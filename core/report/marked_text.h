#pragma once

#include "core/report/blocks.h"

#include <array>
#include <ostream>
#include <string_view>
#include <utility>

/// Paragraphs and lists for formats that mark text at its begin and end.
namespace tilescope::report {

/// What stands before and behind a text.
using Marks = std::pair<std::string_view, std::string_view>;

/// \param marks   by Paragraph::Kind
/// \param escape  std::string(std::string_view)
template <class Escape>
void writeMarked(std::ostream& out, const Paragraph& paragraph, const std::array<Marks, 4>& marks,
                 const Escape& escape)
{
    const auto& [before, behind] = marks.at(static_cast<std::size_t>(paragraph.kind));
    out << before << escape(paragraph.text) << behind << "\n\n";
}

/// \param item  stands before each item
/// \param lead  the marks of a lead
template <class Escape>
void writeMarked(std::ostream& out, const Bullets& bullets, std::string_view item, const Marks& lead,
                 const Escape& escape)
{
    for (const Bullet& bullet : bullets.items) {
        out << item;
        if (!bullet.lead.empty())
            out << lead.first << escape(bullet.lead) << lead.second << ' ';
        out << escape(bullet.text);
        if (!bullet.figure.empty())
            out << " (" << bullet.figure << ")";
        out << '\n';
    }
}

} // namespace tilescope::report
