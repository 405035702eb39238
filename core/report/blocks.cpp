#include "core/report/blocks.h"

#include "core/base/plural.h"
#include "core/report/summary.h"
#include "core/report/table_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::report {

namespace {

using Setting = std::vector<std::pair<std::string, std::string>>;

/// Counts the sections that contain an item.
template <class Items, class Item>
std::size_t sectionsWith(const Document& document, Items items, const Item& item)
{
    return static_cast<std::size_t>(std::ranges::count_if(document.sections, [&](const Section& section) {
        const auto all = items(section);
        return std::ranges::find(all, item) != all.end();
    }));
}

std::vector<std::string> cautionTexts(const Section& section)
{
    std::vector<std::string> texts;
    for (const Caution& caution : section.cautions)
        texts.push_back(caution.text);
    return texts;
}

std::vector<std::string> findingCommands(const Section& section)
{
    std::vector<std::string> commands;
    for (const Finding& finding : section.findings)
        for (const std::string& command : finding.commands)
            if (std::ranges::find(commands, command) == commands.end())
                commands.push_back(command);
    return commands;
}

/// `5 points: 3 ok, 1 out of memory, 1 skipped.`
std::string countsText(const Section& section)
{
    return counted(static_cast<std::int64_t>(section.points), "point") + ": " +
           std::to_string(section.counts.ok) + " ok" + section.counts.others() + ".";
}

/// Builds the blocks of a document; each method adds a part of it.
class Builder {
public:
    Builder(const Document& document, CommandPlace place) : document_(document), place_(place)
    {
        for (const Section& section : document.sections) {
            for (const auto& fact : section.setting)
                addOnce(common_, fact, sectionsWith(document, &settingOf, fact) == document.sections.size());
            for (const std::string& text : cautionTexts(section))
                addOnce(shared_, text, sectionsWith(document, cautionTexts, text) > 1);
            for (const std::string& command : findingCommands(section))
                addOnce(general_, command, sectionsWith(document, findingCommands, command) > 1);
        }
    }

    std::vector<Block> build()
    {
        summary();
        add(PageBreak{});
        if (isOfSeveral()) {
            Contents contents;
            for (const Section& section : document_.sections)
                contents.items.push_back({section.study, section.title});
            add(std::move(contents));
        }
        method();
        for (const Section& one : document_.sections)
            section(one);
        commands();
        add(Paragraph{Paragraph::Kind::Small, fmt::format("Made by {} from {}.", document_.program,
                                                          fmt::join(document_.sources, ", "))});
        return std::move(blocks_);
    }

private:
    static const Setting& settingOf(const Section& section) { return section.setting; }

    template <class Item> static void addOnce(std::vector<Item>& items, const Item& item, bool wanted)
    {
        if (wanted && std::ranges::find(items, item) == items.end())
            items.push_back(item);
    }

    void add(Block block) { blocks_.push_back(std::move(block)); }
    void addAll(std::vector<Block> blocks) { std::ranges::move(blocks, std::back_inserter(blocks_)); }

    bool isOfSeveral() const { return document_.sections.size() > 1; }

    bool holdsForAll(const std::string& caution) const
    {
        return sectionsWith(document_, cautionTexts, caution) == document_.sections.size();
    }

    /// The number of a caution that applies to some studies; 0 for other cautions.
    std::size_t numberOf(const std::string& caution) const
    {
        std::size_t number = 0;
        for (const std::string& one : shared_) {
            number += holdsForAll(one) ? 0 : 1;
            if (one == caution)
                return holdsForAll(one) ? 0 : number;
        }
        return 0;
    }

    void summary()
    {
        add(Heading{"summary", "Summary"});
        sharedCautions();
        Bullets bullets;
        for (const Highlight& one : document_.summary) {
            const Section& section = document_.sections[one.section];
            const Finding& finding = section.findings[one.finding];
            const Figure* figure = report::figureOf(section, finding);
            bullets.items.push_back({isOfSeveral() ? section.title + "." : "", finding.text,
                                     figure == nullptr ? "" : "Figure\u00a0" + std::to_string(figure->number),
                                     section.study});
        }
        if (bullets.items.empty())
            add(Paragraph{Paragraph::Kind::Plain, "No finding is conclusive; each study says why."});
        else
            add(std::move(bullets));
        if (Figures figures{summaryFigures(document_), true}; !figures.items.empty())
            add(std::move(figures));
    }

    void sharedCautions()
    {
        std::string ofAll;
        std::string ofSome;
        for (const std::string& one : shared_)
            if (holdsForAll(one))
                ofAll += (ofAll.empty() ? "All studies: " : " ") + one + ".";
            else
                ofSome += (ofSome.empty() ? "Some studies, where they say so: " : " ") +
                          fmt::format("({}) {}.", numberOf(one), one);
        if (!shared_.empty())
            add(Paragraph{Paragraph::Kind::Caution,
                          ofAll + (ofAll.empty() || ofSome.empty() ? "" : " ") + ofSome});
    }

    void method()
    {
        add(Heading{"method", "Machine, versions and method"});
        add(Facts{common_});
        std::string text;
        for (const std::string& sentence : document_.method)
            text += (text.empty() ? "" : " ") + sentence;
        if (!text.empty())
            add(Paragraph{Paragraph::Kind::Plain, text});
        std::vector<std::string> rules;
        for (const Section& section : document_.sections)
            for (const Finding& finding : section.findings)
                addOnce(rules, finding.rule, !finding.rule.empty());
        if (!rules.empty())
            add(Paragraph{Paragraph::Kind::Small,
                          fmt::format("Rules of the findings: {}", fmt::join(rules, " "))});
    }

    void section(const Section& section)
    {
        add(PageBreak{});
        add(Heading{section.study, section.title});
        add(Paragraph{Paragraph::Kind::Question, section.asks});
        std::string about;
        for (const std::string& sentence : section.about)
            about += sentence + " ";
        add(Paragraph{Paragraph::Kind::Plain, about + countsText(section)});
        difference(section);
        cautions(section);
        if (section.figures.empty())
            findings(section, nullptr);
        for (const Figure& figure : section.figures) {
            add(Figures{{&figure}});
            findings(section, &figure);
        }
        for (const Table& table : section.tables)
            for (TablePart& part : partsOf(table))
                add(std::move(part));
        if (Commands commands{commandsOf(section)};
            place_ == CommandPlace::Section && !commands.items.empty())
            add(std::move(commands));
    }

    void difference(const Section& section)
    {
        std::string text;
        for (const auto& fact : section.setting)
            if (std::ranges::find(common_, fact) == common_.end())
                text += (text.empty() ? "" : "; ") + fact.first + ": " + fact.second;
        if (!text.empty())
            add(Paragraph{Paragraph::Kind::Small, "Measured with " + text + "."});
    }

    void cautions(const Section& section)
    {
        std::string text;
        for (const Caution& caution : section.cautions) {
            const std::size_t number = numberOf(caution.text);
            if (number == 0 && std::ranges::find(shared_, caution.text) != shared_.end())
                continue;
            text += text.empty() ? "" : ". ";
            text += number == 0 ? textOf(caution)
                                : textOf(Caution{fmt::format("({}) of the summary", number), caution.runs});
        }
        if (!text.empty())
            add(Paragraph{Paragraph::Kind::Caution, text + "."});
    }

    /// \param figure  whose findings; null: those of a section without figures
    void findings(const Section& section, const Figure* figure)
    {
        Bullets bullets;
        for (const Finding& finding : section.findings)
            if (report::figureOf(section, finding) == figure)
                bullets.items.push_back({.text = finding.text});
        if (!bullets.items.empty())
            add(std::move(bullets));
    }

    /// The commands that only this section has.
    std::vector<std::string> commandsOf(const Section& section) const
    {
        std::vector<std::string> commands;
        for (const Figure& figure : section.figures)
            addOnce(commands, figure.command, !figure.command.empty());
        for (const std::string& command : findingCommands(section))
            addOnce(commands, command, std::ranges::find(general_, command) == general_.end());
        return commands;
    }

    void commands()
    {
        if (place_ == CommandPlace::Appendix || !general_.empty())
            addAll({PageBreak{}, Heading{"commands", "Commands"}});
        if (!general_.empty())
            add(Commands{general_});
        if (place_ == CommandPlace::Section)
            return;
        for (const Section& section : document_.sections) {
            if (std::vector<std::string> commands = commandsOf(section); !commands.empty()) {
                add(Paragraph{Paragraph::Kind::Plain, section.title + ":"});
                add(Commands{std::move(commands)});
            }
        }
    }

    const Document& document_;
    const CommandPlace place_;
    Setting common_;                   ///< facts of the machine in all sections
    std::vector<std::string> shared_;  ///< cautions of several sections
    std::vector<std::string> general_; ///< commands of several sections
    std::vector<Block> blocks_;
};

} // namespace

std::vector<Block> blocksOf(const Document& document, CommandPlace place)
{
    return Builder(document, place).build();
}

std::vector<std::string> bylineOf(const Document& document)
{
    std::vector<std::string> lines;
    if (!document.author.empty())
        lines.push_back(document.author);
    if (!document.measured.empty())
        lines.push_back("Measured " + document.measured);
    return lines;
}

std::string captionOf(const Figure& figure, bool brief)
{
    if (brief || figure.drawn.empty())
        return figure.caption;
    return figure.caption + (figure.caption.ends_with('.') ? " " : ". ") + figure.drawn;
}

std::string labelOf(const Figure& figure)
{
    return "Figure " + std::to_string(figure.number) + ".";
}

std::string labelOf(const Table& table)
{
    return "Table " + std::to_string(table.number) + ".";
}

} // namespace tilescope::report
