#pragma once

#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "tests/ui/timeouts.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/main_window.h"
#include "ui/window/page_rail.h"
#include "ui/window/screenshots.h"

#include <QAbstractItemView>
#include <QLabel>
#include <QStatusBar>
#include <QWheelEvent>
#include <QtTest>

#include <gtest/gtest.h>

namespace tilescope::ui {

/// The window with a recording of two runs, used by mouse and keyboard.
class WindowTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "lm.tscope";
        test::writeLmFile(file);
        window_.open({QString::fromStdString(file.string())});
        window_.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
        window_.activateWindow();
        waitUntilSettled();
        ASSERT_EQ(window_.workspace().selection().size(), 1U) << "a file that opens shows its first run";
    }

    void clickRail(const QString& word)
    {
        for (RailButton* button : window_.findChildren<RailButton*>())
            if (button->text() == word)
                QTest::mouseClick(button, Qt::LeftButton);
        waitUntilSettled();
    }

    /// The lanes of the Timeline page, with the keyboard focus.
    TimelineView& openTimeline()
    {
        clickRail(QStringLiteral("Timeline"));
        TimelineView& view = page<TimelinePage>("timeline").view();
        view.setFocus();
        return view;
    }

    /// The numbers of the selected runs.
    std::vector<int> selected()
    {
        std::vector<int> runs;
        for (const RunKey& key : window_.workspace().selection())
            runs.push_back(int(key.run.value));
        return runs;
    }

    template <class Kind> Kind& named(const QString& accessibleName)
    {
        for (Kind* widget : window_.findChildren<Kind*>())
            if (widget->accessibleName() == accessibleName)
                return *widget;
        throw std::runtime_error("the window has no " + accessibleName.toStdString());
    }

    template <class Kind> Kind& page(const char* name)
    {
        return dynamic_cast<Kind&>(*window_.page(QString::fromLatin1(name)));
    }

    // Sent to the window, which finds the widget under the cursor as for events of the window system.
    void wheel(QWidget& widget, QPoint at, int turns, Qt::KeyboardModifiers keys = Qt::NoModifier)
    {
        QWheelEvent event(widget.mapTo(&window_, at), widget.mapToGlobal(at), {}, QPoint(0, 120 * turns),
                          Qt::NoButton, keys, Qt::NoScrollPhase, false);
        QApplication::sendEvent(window_.windowHandle(), &event);
        waitUntilSettled();
    }

    void moveTo(QWidget& widget, QPoint at)
    {
        QTest::mouseMove(window_.windowHandle(), widget.mapTo(&window_, at));
        waitUntilSettled();
    }

    void drag(QWidget& widget, QPoint from, QPoint to)
    {
        QTest::mousePress(window_.windowHandle(), Qt::LeftButton, {}, widget.mapTo(&window_, from));
        moveTo(widget, to);
        QTest::mouseRelease(window_.windowHandle(), Qt::LeftButton, {}, widget.mapTo(&window_, to));
        waitUntilSettled();
    }

    static void clickRow(QAbstractItemView& view, const QModelIndex& row, Qt::KeyboardModifiers keys = {})
    {
        QTest::mouseClick(view.viewport(), Qt::LeftButton, keys, view.visualRect(row).center());
        waitUntilSettled();
    }

    // What is under the cursor (0) and what is selected (1).
    QString statusText(int at) const { return window_.statusBar()->findChildren<QLabel*>().at(at)->text(); }

    testing::TemporaryFolder folder_;
    MainWindow window_;
};

} // namespace tilescope::ui
