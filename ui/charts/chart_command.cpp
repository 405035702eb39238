#include "ui/charts/chart_command.h"

#include "core/base/shell_word.h"

#include <algorithm>
#include <map>

namespace tilescope::ui {

namespace {

struct SelectedOfFile {
    std::size_t runs = 0;
    std::size_t ofAll = 0;
};

QString word(const std::string& text)
{
    return QString::fromStdString(text);
}

} // namespace

QString chartCommand(ChartRecipe recipe, const std::vector<SelectedRun>& runs, const QString& folder)
{
    std::map<int, SelectedOfFile> files;
    QStringList paths;
    QStringList uids;
    for (const SelectedRun& run : runs) {
        SelectedOfFile& file = files[run.key.file];
        if (file.runs++ == 0)
            paths << word(shellPath(run.file->path()));
        file.ofAll = run.snapshot->runs.size();
        const QString uid = QString::fromStdString(run.run->uid);
        if (recipe.runs.isEmpty() || recipe.runs.contains(uid))
            uids << uid;
    }
    const bool areAll =
        std::ranges::all_of(files, [](const auto& file) { return file.second.runs == file.second.ofAll; });
    if (!areAll || !recipe.runs.isEmpty())
        recipe.runs = uids;
    return QStringLiteral("tilescope-gui --charts %1 -o %2 %3")
        .arg(word(shellWord(recipe.toLine().toStdString())), word(shellPath(folder.toStdString())),
             paths.join(QLatin1Char(' ')));
}

} // namespace tilescope::ui
