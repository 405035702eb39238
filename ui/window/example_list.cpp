#include "ui/window/example_list.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/version.h"
#include "ui/theme/theme.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>

#include <filesystem>
#include <system_error>

namespace tilescope::ui {

const std::vector<ExampleRecording>& exampleRecordings()
{
    static const std::vector<ExampleRecording> all{
        {QStringLiteral("attention.tscope"), ExampleList::tr("Two attentions on a GPU"),
         ExampleList::tr(
             "Naive attention and a fused kernel at the same size, one timeline above the other."),
         QStringLiteral("4096")},
        {QStringLiteral("training.tscope"), ExampleList::tr("A training step on a GPU"),
         ExampleList::tr("Kernels by layer and phase, memory by category, and what limits the step.")},
        {QStringLiteral("ranks.tscope"), ExampleList::tr("Eight ranks on a CPU"),
         ExampleList::tr("Who arrives late at which collective, and who waits.")},
        {QStringLiteral("generation.tscope"), ExampleList::tr("Generation on a GPU"),
         ExampleList::tr(
             "The time of a token: prefill, decode, sampling, and the bandwidth that it reaches.")},
        {QStringLiteral("oom.tscope"), ExampleList::tr("Out of memory"),
         ExampleList::tr("What held the memory when the step ended, and what would fit.")}};
    return all;
}

QString copyOfExample(const QString& file)
{
    namespace fs = std::filesystem;
    const fs::path source = resourcesDirectory() / "recordings" / file.toStdString();
    const fs::path cache = userCacheDirectory();
    const fs::path folder =
        (cache.empty() ? fs::temp_directory_path() / "tilescope" : cache) / "examples" / version();
    const fs::path copy = folder / file.toStdString();
    std::error_code error;
    if (fs::exists(copy, error))
        return QString::fromStdString(copy.string());
    if (!fs::exists(source, error))
        throw Error{.what = "this example recording is missing",
                    .where = source.string(),
                    .remedy = "install Tilescope again",
                    .kind = ErrorKind::Environment};
    // Under another name first: an example that is cut in the middle must not stay.
    const fs::path part = folder / (file.toStdString() + ".part");
    fs::create_directories(folder, error);
    if (!error)
        fs::copy_file(source, part, fs::copy_options::overwrite_existing, error);
    if (!error)
        fs::permissions(part, fs::perms::owner_write, fs::perm_options::add, error);
    if (!error)
        fs::rename(part, copy, error);
    if (error)
        throw Error{.what = "cannot be written: " + error.message(),
                    .where = copy.string(),
                    .remedy = "set XDG_CACHE_HOME to a folder with 5 MB of space",
                    .kind = ErrorKind::Environment};
    return QString::fromStdString(copy.string());
}

ExampleList::ExampleList(QWidget* parent) : QWidget(parent)
{
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(sizes().padding, sizes().padding, sizes().padding, sizes().padding);
    grid->setHorizontalSpacing(sizes().margin);
    grid->setVerticalSpacing(sizes().gap);
    grid->setColumnStretch(1, 1);
    int row = 0;
    for (const ExampleRecording& example : exampleRecordings()) {
        auto* link = new QPushButton(example.title);
        link->setProperty("kind", "link");
        link->setObjectName(QStringLiteral("example_") + QFileInfo(example.file).baseName());
        connect(link, &QPushButton::clicked, this, [this, example] { emit wanted(example); });
        auto* shows = new QLabel(example.shows);
        shows->setProperty("kind", "dim");
        shows->setWordWrap(true);
        grid->addWidget(link, row, 0, Qt::AlignLeft | Qt::AlignTop);
        grid->addWidget(shows, row, 1);
        ++row;
    }
}

} // namespace tilescope::ui
