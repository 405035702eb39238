#include "ui/window/key_sheet.h"

#include "ui/kit/key_actions.h"
#include "ui/kit/layouts.h"
#include "ui/kit/page.h"
#include "ui/theme/theme.h"
#include "ui/window/main_window.h"

#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QScreen>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kColumns = 3;

void addLine(std::vector<KeyGroup>& groups, const QString& title, const QAction& action)
{
    const QString keys = keysText(action);
    if (keys.isEmpty() || action.text().isEmpty())
        return;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&title](const KeyGroup& one) { return one.title == title; });
    if (group == groups.end())
        group = groups.insert(groups.end(), KeyGroup{title, {}});
    QString does = action.text();
    does.remove(QLatin1Char('&'));
    // Every table has the same keys: one line for all.
    const bool known = std::any_of(group->lines.begin(), group->lines.end(), [&](const KeyLine& line) {
        return line.keys == keys && line.does == does;
    });
    if (!known)
        group->lines.push_back({keys, does});
}

void addMenu(std::vector<KeyGroup>& groups, const QString& title, const QMenu& menu)
{
    for (const QAction* action : menu.actions()) {
        if (action->menu() != nullptr)
            addMenu(groups, title, *action->menu());
        else
            addLine(groups, title, *action);
    }
}

QWidget* makeGroup(const KeyGroup& group)
{
    auto* widget = new QWidget;
    auto* grid = new QGridLayout(widget);
    grid->setContentsMargins(0, 0, 0, sizes().of(8));
    grid->setHorizontalSpacing(sizes().of(12));
    grid->setVerticalSpacing(sizes().of(3));
    auto* title = new QLabel(group.title);
    title->setProperty("kind", "title");
    grid->addWidget(title, 0, 0, 1, 2);
    for (std::size_t i = 0; i < group.lines.size(); ++i) {
        auto* keys = new QLabel(group.lines[i].keys);
        keys->setFont(Theme::instance().bold());
        keys->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        keys->setMinimumWidth(sizes().of(112));
        grid->addWidget(keys, int(i) + 1, 0);
        grid->addWidget(new QLabel(group.lines[i].does), int(i) + 1, 1);
    }
    grid->setColumnStretch(1, 1);
    return widget;
}

} // namespace

std::vector<KeyGroup> keyGroups(MainWindow& window)
{
    std::vector<KeyGroup> groups;
    for (const QAction* bar : window.menuBar()->actions())
        if (bar->menu() != nullptr)
            addMenu(groups, QObject::tr("Everywhere"), *bar->menu());
    for (const QString& name : window.pageNames()) {
        const QString title = window.pageTitle(name);
        for (const QAction* action : window.page(name)->findChildren<QAction*>())
            if (const QString group = keyGroupOf(*action); group.isEmpty() || group.startsWith(title))
                addLine(groups, group.isEmpty() ? title : group, *action);
    }
    // Groups shared by several pages come last.
    for (const QAction* action : window.findChildren<QAction*>())
        if (const QString group = keyGroupOf(*action); !group.isEmpty())
            addLine(groups, group, *action);
    return groups;
}

QString keysMarkdown(const std::vector<KeyGroup>& groups)
{
    QString text;
    for (const KeyGroup& group : groups) {
        text += QStringLiteral("## %1\n\n| Keys | Do |\n|---|---|\n").arg(group.title);
        for (const KeyLine& line : group.lines) {
            QString keys = line.keys;
            keys.replace(QLatin1Char('|'), QStringLiteral("\\|"));
            text += QStringLiteral("| %1 | %2 |\n").arg(keys, line.does);
        }
        text += QLatin1Char('\n');
    }
    return text;
}

KeySheet::KeySheet(MainWindow& window) : QDialog(&window)
{
    setWindowTitle(tr("Keys"));
    setAccessibleName(tr("Keys"));
    const std::vector<KeyGroup> groups = keyGroups(window);
    std::size_t lines = 0;
    for (const KeyGroup& group : groups)
        lines += group.lines.size() + 2;
    auto* sheet = new QWidget;
    auto* row = newLayout<QHBoxLayout>(sheet, sizes().margin, sizes().of(28));
    // Groups stay in their order and whole; a column is full when it has its share of the lines.
    QVBoxLayout* column = nullptr;
    std::size_t filled = 0;
    int columns = 0;
    for (const KeyGroup& group : groups) {
        const std::size_t more = group.lines.size() + 2;
        const bool full = filled + more / 2 > std::size_t(columns) * lines / kColumns;
        if (column == nullptr || (full && columns < kColumns)) {
            if (column != nullptr)
                column->addStretch(1);
            column = new QVBoxLayout;
            column->setSpacing(sizes().of(6));
            row->addLayout(column);
            ++columns;
        }
        column->addWidget(makeGroup(group));
        filled += more;
    }
    if (column != nullptr)
        column->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setWidget(sheet);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setAccessibleName(tr("Keys"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(scroll);
    const QSize wanted = sheet->sizeHint() + QSize(sizes().of(20), sizes().of(4));
    resize(wanted.boundedTo(window.screen()->availableGeometry().size() * 0.92));
}

} // namespace tilescope::ui
