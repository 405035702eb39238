#include "app/gui/display_guard.h"
#include "core/base/current_error.h"
#include "core/base/process.h"
#include "core/base/version.h"
#include "ui/charts/charts_offscreen.h"
#include "ui/jobs/job_tracker.h"
#include "ui/theme/application.h"
#include "ui/theme/theme.h"
#include "ui/window/file_opener.h"
#include "ui/window/first_paint.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshots.h"

#include <QCommandLineParser>
#include <QSettings>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>

using namespace tilescope;

namespace {

ui::ThemeChoice themeOf(const QString& word)
{
    if (word.isEmpty())
        return ui::ThemeChoice(
            QSettings().value(QStringLiteral("theme"), int(ui::ThemeChoice::System)).toInt());
    if (word == QLatin1String("system"))
        return ui::ThemeChoice::System;
    if (word == QLatin1String("light"))
        return ui::ThemeChoice::Light;
    if (word == QLatin1String("dark"))
        return ui::ThemeChoice::Dark;
    throw Error{.what = "unknown theme '" + word.toStdString() + "'",
                .where = "--theme",
                .remedy = "allowed: system, light, dark"};
}

void selectRuns(ui::MainWindow& window, const QString& numbers)
{
    if (window.workspace().files().empty())
        throw Error{.what = "--runs needs a file", .where = "--runs"};
    std::vector<ui::RunKey> keys;
    for (const QString& number : numbers.split(QLatin1Char(','))) {
        const RunId run{number.toLongLong()};
        const ui::OpenFile& file = window.workspace().files().front();
        const auto is = [run](const query::RunSummary& one) { return one.run == run; };
        if (!file.snapshot || std::ranges::none_of(file.snapshot->runs, is))
            throw Error{.what = "there is no run '" + number.toStdString() + "'",
                        .where = "--runs",
                        .remedy = "give numbers of runs: 1,2"};
        keys.push_back({file.id, run});
    }
    window.workspace().select(std::move(keys));
}

QSize sizeOf(const QString& words)
{
    const QStringList sides = words.split(QLatin1Char('x'));
    const QSize size(sides.value(0).toInt(), sides.value(1).toInt());
    if (sides.size() != 2 || size.isEmpty())
        throw Error{.what = "'" + words.toStdString() + "' is not a size",
                    .where = "--size",
                    .remedy = "write 1366x768"};
    return size;
}

// Drawing charts and pictures and printing help need no display, so they work on a cluster's node.
void needNoDisplay(int argc, char** argv)
{
    constexpr std::string_view kWithout[] = {"--charts", "--screenshots", "--help", "-h", "--version", "-v"};
    for (int i = 1; i < argc; ++i)
        for (const std::string_view option : kWithout)
            if (std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('=')) == option)
                qputenv("QT_QPA_PLATFORM", "offscreen");
}

void requireThere(const QStringList& files)
{
    for (const QString& file : files)
        if (!ui::isThere(file))
            throw Error{
                .what = "no such file", .where = file.toStdString(), .remedy = "check the path of the file"};
}

// For benchmarks: prints the time at which the window was painted, on the system-wide monotonic clock.
void tellWhenPainted(ui::MainWindow& window)
{
    ui::whenPainted(window, [] {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(now).count()));
        QApplication::quit();
    });
}

int run(int argc, char** argv)
{
    needNoDisplay(argc, argv);
    DisplayGuard guard;
    const ui::Application application(argc, argv);
    guard.release();
    QApplication::setApplicationName(QStringLiteral("tilescope"));
    QApplication::setApplicationDisplayName(QString());
    QApplication::setOrganizationName(QStringLiteral("tilescope"));
    QGuiApplication::setDesktopFileName(QStringLiteral("tilescope"));
    QApplication::setApplicationVersion(QString::fromStdString(version()));
    QCommandLineParser parser;
    parser.setApplicationDescription(
        QStringLiteral("The window of Tilescope: configure, run, view, compare, export."));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption theme(QStringLiteral("theme"), QStringLiteral("system, light or dark"),
                                   QStringLiteral("name"));
    const QCommandLineOption page(QStringLiteral("page"), QStringLiteral("the page to open on: timeline, …"),
                                  QStringLiteral("name"));
    const QCommandLineOption runs(QStringLiteral("runs"),
                                  QStringLiteral("select these runs of the first file: 1,2"),
                                  QStringLiteral("numbers"));
    const QCommandLineOption spec(QStringLiteral("spec"), QStringLiteral("open this spec file in the editor"),
                                  QStringLiteral("file"));
    const QCommandLineOption pictures(
        QStringLiteral("screenshots"),
        QStringLiteral(
            "write pictures of every page and dialog, light and dark, and exit; with --page only of that "
            "page, with --spec only of the experiment while it runs"),
        QStringLiteral("folder"));
    const QCommandLineOption size(QStringLiteral("size"),
                                  QStringLiteral("size of the window in pixels: 1366x768"),
                                  QStringLiteral("size"));
    const QCommandLineOption painted(
        QStringLiteral("print-painted"),
        QStringLiteral("print the monotonic clock in nanoseconds when the window is painted, and exit"));
    const QCommandLineOption charts(
        QStringLiteral("charts"),
        QStringLiteral("draw this recipe, a file or JSON text, from the files, without a window, and exit; "
                       "may be repeated"),
        QStringLiteral("recipe"));
    const QCommandLineOption folder({QStringLiteral("o"), QStringLiteral("output")},
                                    QStringLiteral("folder for the charts"), QStringLiteral("folder"),
                                    QStringLiteral("."));
    parser.addOptions({theme, page, runs, spec, pictures, size, painted, charts, folder});
    parser.addPositionalArgument(
        QStringLiteral("file"),
        QStringLiteral("recordings, traces of other programs, folders of them, and .yaml specs"),
        QStringLiteral("[file…]"));
    parser.process(application);
    requireThere(parser.positionalArguments());
    requireThere(parser.isSet(spec) ? QStringList(parser.value(spec)) : QStringList());

    if (parser.isSet(charts)) {
        ui::Theme::instance().apply(ui::ThemeChoice::Light);
        ui::writeCharts(parser.values(charts), parser.positionalArguments(), parser.value(folder));
        return 0;
    }
    ui::Theme::instance().apply(themeOf(parser.value(theme)));
    ui::MainWindow window(parser.value(page));
    const QStringList files = parser.positionalArguments();
    window.open(files);
    if (!parser.isSet(page) && std::ranges::any_of(files, [](const QString& file) {
            return !file.endsWith(QLatin1String(".yaml")) && !file.endsWith(QLatin1String(".yml"));
        }))
        window.showPage(QStringLiteral("overview")); // the page for opened files, whatever page was last used
    if (parser.isSet(spec))
        window.openSpec(parser.value(spec));
    if (parser.isSet(page) && !window.showPage(parser.value(page)))
        throw Error{.what = "unknown page '" + parser.value(page).toStdString() + "'",
                    .where = "--page",
                    .remedy = "allowed: " + window.pageNames().join(QStringLiteral(", ")).toStdString()};
    if (parser.isSet(size))
        window.resize(sizeOf(parser.value(size)));
    if (parser.isSet(painted))
        tellWhenPainted(window);
    window.show();
    if (parser.isSet(runs)) {
        ui::waitUntilSettled();
        selectRuns(window, parser.value(runs));
    }
    if (parser.isSet(pictures)) {
        ui::waitUntilSettled();
        if (parser.isSet(spec))
            ui::writeScreenshotsOfRun(window, parser.value(pictures));
        else if (parser.isSet(page))
            ui::writeScreenshotOfPage(window, parser.value(pictures));
        else
            ui::writeScreenshots(window, parser.value(pictures));
        ui::finishBackgroundWork();
        return 0;
    }
    const int code = QApplication::exec();
    ui::finishBackgroundWork();
    return code;
}

} // namespace

int main(int argc, char** argv)
{
    prepareProcess();
    try {
        return run(argc, argv);
    } catch (...) {
        const Error error = currentError();
        std::fprintf(stderr, "tilescope-gui: %s\n", error.sentence().c_str());
        return error.exitCode();
    }
}
