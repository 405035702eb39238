#include "core/report/report.h"

#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/base/version.h"
#include "core/report/findings.h"
#include "core/report/method.h"
#include "core/report/selection.h"
#include "core/report/setting.h"
#include "core/report/summary.h"
#include "core/report/tables.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tilescope::report {

namespace {

/// A recipe for the chart page and `tilescope-gui --charts`.
std::string recipeOf(const FigureTemplate& wanted, const RunList& runs)
{
    nlohmann::ordered_json recipe{
        {"tilescope_chart", 1}, {"x", wanted.x}, {"y", wanted.y}, {"series", wanted.series}};
    recipe["x_axis"] = wanted.logX ? "log" : "linear";
    recipe["y_axis"] = wanted.logY ? "log" : "linear";
    if (!wanted.facet.empty())
        recipe["facet"] = wanted.facet;
    if (!wanted.label.empty())
        recipe["label"] = wanted.label;
    if (!wanted.fit.empty())
        recipe["fit"] = wanted.fit;
    recipe["runs"] = nlohmann::json::array();
    for (const auto& run : runs)
        recipe["runs"].push_back(run->record().uid);
    return recipe.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Height of the memory lane in a figure about memory.
constexpr int kMemoryHeight = 4;

/// The files of the runs, without duplicates.
std::vector<std::string> filesOf(const RunList& runs)
{
    std::vector<std::string> files;
    for (const auto& run : runs)
        if (const std::string file = run->recording().file.string();
            std::ranges::find(files, file) == files.end())
            files.push_back(file);
    return files;
}

/// A chart of runs; none unless at least two runs have a value of x.
std::optional<Figure> chartOf(const FigureTemplate& wanted, const StudyRuns& study)
{
    const RunList runs = select(study, wanted.part, wanted.from);
    const bool drawable =
        std::ranges::any_of(runs, [](const auto& run) { return run->status() == RunStatus::Ok; });
    // If x is a quantity, the label distinguishes the points.
    if (!drawable || distinctKeys(runs, {wanted.label.empty() ? wanted.x : wanted.label}).size() < 2)
        return {};
    return Figure{.id = study.study.name + "-" + wanted.id,
                  .caption = filled(wanted.caption, runs),
                  .recipe = recipeOf(wanted, runs),
                  .files = filesOf(runs)};
}

/// Timelines of the wanted runs; none unless all were traced, because the caption is about all of them.
std::optional<Figure> timelinesOf(const FigureTemplate& wanted, const StudyRuns& study)
{
    RunList runs;
    for (Where where : wanted.timelines) {
        where.insert(where.end(), wanted.from.begin(), wanted.from.end());
        const RunList those = select(study, wanted.part, where);
        const auto traced = std::ranges::find_if(those, [](const auto& run) {
            return run->status() == RunStatus::Ok && run->param("trace") != "off";
        });
        if (traced == those.end())
            return {};
        runs.push_back(*traced);
    }
    nlohmann::ordered_json recipe{{"tilescope_timeline", 1}, {"runs", nlohmann::json::array()}};
    for (const auto& run : runs)
        recipe["runs"].push_back(run->record().uid);
    if (!wanted.alignAt.empty())
        recipe["align_at"] = wanted.alignAt;
    if (wanted.aboutMemory)
        recipe["memory_height"] = kMemoryHeight;
    return Figure{.id = study.study.name + "-" + wanted.id,
                  .caption = filled(wanted.caption, runs),
                  .recipe = recipe.dump(2, ' ', false, nlohmann::json::error_handler_t::replace),
                  .files = filesOf(runs),
                  .isTimeline = true};
}

/// The figure with the command that draws it again from within the folder of the report.
std::optional<Figure> figureOf(const FigureTemplate& wanted, const StudyRuns& study)
{
    std::optional<Figure> figure =
        wanted.timelines.empty() ? chartOf(wanted, study) : timelinesOf(wanted, study);
    if (!figure)
        return {};
    figure->command = "tilescope-gui --charts figures/" + figure->id + ".json -o figures";
    for (const std::string& file : figure->files)
        figure->command += " " + shellPath(file);
    return figure;
}

void count(Section& section, const StudyRuns& study)
{
    for (const PartRuns& part : study.parts) {
        section.points += part.points;
        for (const auto& run : part.runs) {
            section.runs.push_back(run->record().uid);
            section.counts.add(run->status());
        }
    }
}

Section sectionOf(const StudyRuns& study, bool anonymous)
{
    const Template wanted = loadTemplate(study.study.name);
    Section section{.study = study.study.name, .title = study.study.title, .asks = study.study.asks};
    for (const PartRuns& part : study.parts)
        if (!part.runs.empty() && !part.about.empty())
            section.about.push_back(filled(part.about, part.runs));
    count(section, study);
    section.setting = settingOf(study, anonymous);
    section.cautions = cautionsOf(study);
    for (const TableTemplate& table : wanted.tables) {
        Table made = makeTable(table, study);
        made.id = study.study.name + "-" + made.id;
        if (!made.rows.empty() && !made.columns.back().isKey)
            section.tables.push_back(std::move(made));
    }
    for (const FigureTemplate& figure : wanted.figures)
        if (std::optional<Figure> made = figureOf(figure, study))
            section.figures.push_back(std::move(*made));
    for (const FindingTemplate& finding : wanted.findings)
        std::ranges::move(makeFindings(finding, study), std::back_inserter(section.findings));
    return section;
}

/// Folders may identify the user; file names stay.
void hideFolders(Document& document, const std::vector<std::filesystem::path>& files)
{
    std::vector<std::string*> texts;
    for (Section& section : document.sections) {
        for (Finding& finding : section.findings) {
            texts.push_back(&finding.text);
            for (std::string& command : finding.commands)
                texts.push_back(&command);
        }
        for (Figure& figure : section.figures)
            texts.push_back(&figure.command);
    }
    for (const std::filesystem::path& file : files)
        for (std::string* text : texts)
            for (std::size_t at = text->find(file.string()); at != std::string::npos;
                 at = text->find(file.string(), at + file.filename().string().size()))
                text->replace(at, file.string().size(), file.filename().string());
}

/// The study's title; of several studies the machine's.
std::string titleOf(const std::vector<Section>& sections)
{
    if (sections.size() == 1)
        return sections.front().title;
    std::string machine;
    for (const Section& section : sections) {
        auto named = std::ranges::find(section.setting, "GPU", &std::pair<std::string, std::string>::first);
        if (named == section.setting.end())
            named = std::ranges::find(section.setting, "CPU", &std::pair<std::string, std::string>::first);
        if (named == section.setting.end() || (!machine.empty() && machine != named->second))
            return "Measurements";
        machine = named->second;
    }
    return "Measurements on " + machine;
}

/// Numbers figures and tables in the order of the document.
void number(std::vector<Section>& sections)
{
    std::size_t figures = 0;
    std::size_t tables = 0;
    for (Section& section : sections) {
        for (Figure& figure : section.figures)
            figure.number = ++figures;
        for (Table& table : section.tables)
            table.number = ++tables;
    }
}

Document documentOf(const std::vector<StudyRuns>& studies, const std::vector<std::filesystem::path>& files,
                    const ReportOptions& options)
{
    Document document{.author = options.author,
                      .program = "Tilescope " + version(),
                      .measured = daysOf(studies),
                      .method = methodOf(studies)};
    for (const std::filesystem::path& file : files)
        document.sources.push_back(options.anonymous ? file.filename().string() : file.string());
    for (const StudyRuns& study : studies)
        document.sections.push_back(sectionOf(study, options.anonymous));
    number(document.sections);
    document.title = options.title.empty() ? titleOf(document.sections) : options.title;
    document.summary = highlightsOf(document.sections);
    if (options.anonymous)
        hideFolders(document, files);
    return document;
}

} // namespace

Document makeReport(const std::vector<std::filesystem::path>& files, const ReportOptions& options)
{
    const std::vector<StudyRuns> studies = studyRuns(openRecordings(files), options.study);
    if (studies.empty())
        throw Error{.what = options.study.empty() ? "no run of any study"
                                                  : "no run of the study '" + options.study + "'",
                    .where = files.empty() ? "report" : files.front().string(),
                    .remedy = "run one with tilescope --batch study:NAME -o FILE"};
    return documentOf(studies, files, options);
}

Document studiesOf(const std::filesystem::path& file)
{
    return documentOf(studyRuns(openRecordings({file}), {}), {file}, {});
}

} // namespace tilescope::report
