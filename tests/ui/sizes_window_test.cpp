// Every page on a small and on a large screen: nothing is cut, nothing lies over anything else.

#include "tests/ui/window_fixture.h"
#include "ui/pages/controls.h"
#include "ui/pages/page.h"
#include "ui/pages/run_dock.h"
#include "ui/theme/theme.h"

#include <QAbstractButton>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QTreeView>

namespace tilescope::ui {
namespace {

class SizesTest : public WindowTest, public ::testing::WithParamInterface<QSize> {
protected:
    void expectWholeText(const QString& page, const QWidget& widget, const QString& text)
    {
        const int needed = widget.fontMetrics().horizontalAdvance(text);
        EXPECT_LE(needed, widget.width()) << page.toStdString() << ": '" << text.toStdString() << "' is cut";
    }

    void expectApart(const QString& page, const ToolBar& bar)
    {
        std::vector<QWidget*> parts;
        for (QWidget* part : bar.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (part->isVisible())
                parts.push_back(part);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            EXPECT_TRUE(bar.rect().contains(parts[i]->geometry()))
                << page.toStdString() << ": tool " << i << " ends beyond its bar";
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_FALSE(parts[i]->geometry().intersects(parts[j]->geometry()))
                    << page.toStdString() << ": tools " << j << " and " << i << " overlap";
        }
    }
};

TEST_P(SizesTest, NoPageIsCut)
{
    window_.resize(GetParam());
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        EXPECT_EQ(window_.size(), GetParam()) << name.toStdString() << " makes the window larger";
        EXPECT_GE(window_.dock().width(), sizes().dock) << name.toStdString() << " takes the run list's room";
        QWidget& page = *window_.page(name);
        for (const ToolBar* bar : page.findChildren<ToolBar*>())
            expectApart(name, *bar);
        for (const QAbstractButton* button : page.findChildren<QAbstractButton*>())
            if (button->isVisible() && !button->text().contains(QLatin1Char('\n')))
                expectWholeText(name, *button, QString(button->text()).remove(QLatin1Char('&')));
        for (const QLabel* label : page.findChildren<QLabel*>()) {
            const bool gives = label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored;
            const bool plain =
                !label->text().contains(QLatin1Char('<')) && !label->text().contains(QLatin1Char('\n'));
            if (label->isVisible() && !label->wordWrap() && !gives && plain)
                expectWholeText(name, *label, label->text());
        }
    }
    for (const QTreeView* tree : window_.dock().findChildren<QTreeView*>()) {
        const QFontMetrics metrics(Theme::instance().small());
        for (int c = 1; c < tree->header()->count(); ++c) {
            if (tree->isColumnHidden(c))
                continue;
            const QString title = tree->model()->headerData(c, Qt::Horizontal).toString();
            EXPECT_LE(metrics.horizontalAdvance(title) + 4, tree->columnWidth(c)) << title.toStdString();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Screens, SizesTest, ::testing::Values(QSize(1366, 768), QSize(1920, 1080)),
                         [](const auto& size) { return "At" + std::to_string(size.param.width()); });

} // namespace
} // namespace tilescope::ui
