#include "ui/timeline/timeline_find.h"

#include "ui/kit/button_pair.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/timeline/timeline_view.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>

#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kFindAfterMs = 20;
constexpr std::size_t kMostRows = 1000;

} // namespace

std::int64_t TimelineFind::Found::total() const
{
    std::int64_t total = 0;
    for (const FoundInRun& run : runs)
        total += run.result.total();
    return total;
}

TimelineFind::TimelineFind(TimelineView& view, TimelinePanel& panel, QObject* page)
    : QObject(page), view_(view), panel_(panel),
      field_(makeFindField(tr("Find…"), tr("Find on the timeline"))), count_(new QLabel)
{
    soon_.setSingleShot(true);
    connect(&soon_, &QTimer::timeout, this, &TimelineFind::search);
    connect(&panel_, &TimelinePanel::foundChosen, this, &TimelineFind::goTo);
}

void TimelineFind::addTo(ToolBar& tools)
{
    field_->setMinimumWidth(sizes().of(150));
    field_->setToolTip(tr("Find kernels, ops and ranges whose name contains this text (/)"));
    field_->setMaximumWidth(sizes().of(220));
    tools.addWide(field_);
    leadOut(*field_, view_);
    count_->setObjectName(QStringLiteral("found"));
    count_->setProperty("kind", "dim");
    tools.add(count_);
    QAction* previous = addKey(
        view_, tr("Previous found box"), {Qt::SHIFT | Qt::Key_N}, [this] { step(-1); }, Qt::WidgetShortcut,
        tr("Timeline"));
    QAction* next = addKey(
        view_, tr("Next found box"), {Qt::Key_N}, [this] { step(1); }, Qt::WidgetShortcut, tr("Timeline"));
    tools.add(makeButtonPair(Icon::ChevronLeft, *previous, Icon::ChevronRight, *next));
    connect(field_, &QLineEdit::textChanged, this, [this] {
        isSearching_ = true;
        goesToFirst_ = false;
        soon_.start(kFindAfterMs);
    });
    connect(field_, &QLineEdit::returnPressed, this, [this] {
        goesToFirst_ = isSearching_;
        if (!isSearching_)
            step(1);
    });
}

void TimelineFind::find(const QString& words)
{
    field_->setText(words);
    soon_.stop();
    search();
}

void TimelineFind::findAgain()
{
    if (!field_->text().isEmpty())
        search();
}

void TimelineFind::clear()
{
    found_ = {};
    count_->clear();
}

bool TimelineFind::start()
{
    field_->setFocus();
    field_->selectAll();
    return field_->isVisible() && field_->isEnabled();
}

void TimelineFind::search()
{
    const QString words = field_->text().trimmed();
    if (words.isEmpty()) {
        finding_.cancel();
        isSearching_ = false;
        clear();
        view_.setFound({});
        panel_.showSpan();
        panel_.follow(view_.scene());
        return;
    }
    std::vector<FoundInRun> runs;
    for (const TimelineSection& section : view_.scene().sections)
        runs.push_back({section.letter, section.timeline, {}});
    finding_.start(
        [runs, text = words.toStdString()](const query::Cancelled& cancelled) mutable {
            for (FoundInRun& run : runs)
                run.result = query::search(*run.timeline, text, cancelled);
            Found found{runs, {}, {}};
            found.boxes = foundBoxes(found.runs, kMostRows);
            std::vector<SectionItem> rings;
            for (std::size_t s = 0; s < found.runs.size(); ++s)
                for (const query::FoundItem& item : found.runs[s].result.items)
                    rings.push_back({s, item.item});
            found.rings = std::make_shared<const BoxSet>(rings);
            return found;
        },
        [this](Found found) { show(std::move(found)); },
        [this](const QString& sentence) { count_->setText(sentence); });
}

void TimelineFind::show(Found found)
{
    found_ = std::move(found);
    current_ = 0;
    const std::int64_t total = found_.total();
    count_->setText(total == 0 ? tr("none") : wholeNumber(total));
    view_.setFound(found_.rings);
    panel_.showFound(field_->text().trimmed(), found_.runs, found_.boxes);
    isSearching_ = soon_.isActive(); // more words were typed meanwhile
    if (!isSearching_ && std::exchange(goesToFirst_, false))
        step(1);
}

void TimelineFind::goTo(std::size_t box)
{
    if (box >= found_.boxes.size())
        return;
    current_ = box;
    const SectionItem item{found_.boxes[box].run, found_.boxes[box].found.item};
    panel_.keep(true);
    view_.reveal(item);
    view_.select(item);
    panel_.keep(false);
    panel_.setCurrentFound(box);
    count_->setText(
        QStringLiteral("%1/%2").arg(wholeNumber(std::int64_t(box) + 1), wholeNumber(found_.total())));
}

void TimelineFind::step(int by)
{
    if (found_.boxes.empty())
        return;
    const auto count = std::ptrdiff_t(found_.boxes.size());
    const bool first = !count_->text().contains(QLatin1Char('/'));
    const std::ptrdiff_t next = first ? 0 : (std::ptrdiff_t(current_) + by + count) % count;
    goTo(std::size_t(next));
}

} // namespace tilescope::ui
