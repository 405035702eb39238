#include "ui/window/time_filter_bar.h"

#include "ui/kit/controls.h"
#include "ui/kit/number_text.h"
#include "ui/kit/page.h"
#include "ui/kit/workspace.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QPushButton>

namespace tilescope::ui {

TimeFilterBar::TimeFilterBar(Workspace& workspace, QWidget* parent)
    : QFrame(parent), workspace_(workspace), words_(new SentenceLabel)
{
    setProperty("kind", "information");
    setAccessibleName(tr("Time filter"));
    words_->setObjectName(QStringLiteral("timeFilter"));
    auto* sign = new QLabel;
    auto* clear = new QPushButton(tr("Clear filter"));
    clear->setObjectName(QStringLiteral("clearTimeFilter"));
    clear->setProperty("kind", "link");
    clear->setCursor(Qt::PointingHandCursor);
    clear->setToolTip(tr("Show all of the runs again (Ctrl+Shift+T)"));
    connect(clear, &QPushButton::clicked, this, [this] { workspace_.setTimeFilter({}); });
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(sizes().margin, sizes().of(6), sizes().margin, sizes().of(6));
    layout->setSpacing(sizes().of(12));
    layout->addWidget(sign);
    layout->addWidget(words_, 1);
    layout->addWidget(clear);
    const auto dress = [sign] {
        const int side = sizes().of(14);
        sign->setPixmap(makeIcon(Icon::Info, colours().accent, side).pixmap(side, side));
    };
    dress();
    connect(&Theme::instance(), &Theme::changed, this, dress);
    connect(&workspace_, &Workspace::timeFilterChanged, this, &TimeFilterBar::follow);
    connect(&workspace_, &Workspace::selectionChanged, this, &TimeFilterBar::follow);
    follow();
}

void TimeFilterBar::setPage(const Page& page)
{
    page_ = &page;
    follow();
}

void TimeFilterBar::follow()
{
    QStringList spans;
    for (const SelectedRun& run : workspace_.selectedRuns())
        if (run.span)
            spans << (run.letter.isEmpty() ? run.letter : run.letter + QLatin1Char(' ')) +
                         spanText(*run.span);
    words_->setText(
        tr("Time filter: %1 after the first event. %2")
            .arg(spans.join(QStringLiteral(", ")), page_ == nullptr ? QString() : page_->timeFilterWords()));
    setVisible(!spans.isEmpty());
}

} // namespace tilescope::ui
