#include "ui/window/command_palette.h"

#include "core/query/kernels/kernel_tables.h"
#include "ui/kit/controls.h"
#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"
#include "ui/window/main_window.h"
#include "ui/window/palette_match.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kMostShown = 200; // more would not be read
constexpr double kWidth = 620;  // design pixels
constexpr double kHeight = 420;
constexpr int kEntryRole = Qt::UserRole;
constexpr int kKindRole = Qt::UserRole + 1;
constexpr int kDetailRole = Qt::UserRole + 2;

// The kind, dim, in a column of its own; the text; the detail, dim, at the right.
class EntryDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const bool chosen = option.state.testFlag(QStyle::State_Selected);
        painter->fillRect(option.rect, chosen ? colours().selectedRow : colours().surface);
        painter->setFont(Theme::instance().body());
        const QRect all = option.rect.adjusted(sizes().padding, 0, -sizes().padding, 0);
        QRect kind = all;
        kind.setWidth(sizes().of(60));
        painter->setPen(colours().dimText);
        painter->drawText(kind, Qt::AlignVCenter | Qt::AlignLeft, index.data(kKindRole).toString());
        const QString detail = index.data(kDetailRole).toString();
        const QFontMetrics metrics(painter->font());
        // One more pixel: the advance is rounded.
        const int detailWidth = std::min(metrics.horizontalAdvance(detail) + 1, all.width() / 3);
        QRect right = all;
        right.setLeft(all.right() - detailWidth + 1);
        painter->drawText(right, Qt::AlignVCenter | Qt::AlignRight,
                          elidedText(detail, metrics, Qt::ElideMiddle, detailWidth));
        QRect text = all;
        text.setLeft(kind.right() + sizes().of(8));
        text.setRight(right.left() - sizes().of(12));
        painter->setPen(colours().text);
        painter->drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
                          elidedText(index.data().toString(), metrics, Qt::ElideMiddle, text.width()));
    }

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override
    {
        return {sizes().of(100), sizes().row};
    }
};

} // namespace

CommandPalette::CommandPalette(MainWindow& window)
    // Screen readers do not see popups.
    : QDialog(&window, Qt::Dialog | Qt::FramelessWindowHint), window_(window),
      entries_(paletteEntries(window)), reading_(this),
      field_(makeFindField(tr("Action, run, kernel or help page"), tr("Find a command"))),
      list_(new QListWidget), nothing_(makeMessage())
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Find a command"));
    setAccessibleName(tr("Command palette"));
    auto* frame = new QFrame;
    frame->setProperty("kind", "panel");
    auto* outer = makePlainColumn(this);
    outer->addWidget(frame);
    auto* layout = new QVBoxLayout(frame);
    layout->setContentsMargins(1, sizes().of(8), 1, sizes().of(4));
    layout->setSpacing(sizes().of(6));
    auto* top = new QHBoxLayout;
    top->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    top->addWidget(field_);
    layout->addLayout(top);
    list_->setAccessibleName(tr("Commands"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setItemDelegate(new EntryDelegate(list_));
    list_->setUniformItemSizes(true);
    list_->setFocusPolicy(Qt::NoFocus); // keys go to the field, which hands them on
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    layout->addWidget(list_, 1);
    nothing_->setText(tr("No match. Try fewer letters."));
    layout->addWidget(nothing_, 1);
    field_->installEventFilter(this);
    connect(field_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
    connect(field_, &QLineEdit::returnPressed, this, &CommandPalette::choose);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::choose);
    connect(list_, &QListWidget::currentItemChanged, this, &CommandPalette::describe);
    narrow();
    place();
    readKernels();
    setFocusProxy(field_);
}

// Below the menu bar, in the middle of the window.
void CommandPalette::place()
{
    const QSize size = QSize(sizes().of(kWidth), sizes().of(kHeight))
                           .boundedTo(window_.size() - QSize(sizes().margin, 4 * sizes().tools));
    setFixedSize(size);
    move(window_.mapToGlobal(QPoint((window_.width() - size.width()) / 2, 2 * sizes().tools)));
}

void CommandPalette::readKernels()
{
    const std::vector<SelectedRun> runs = window_.workspace().selectedRuns();
    if (runs.empty())
        return;
    reading_.start(
        [file = runs.front().file, run = runs.front().key.run](const std::function<bool()>& cancelled) {
            return query::kernels(file->borrow()->reader(), {.run = run}, cancelled).rows;
        },
        [this](const std::vector<query::KernelRow>& rows) {
            for (const query::KernelRow& row : rows) {
                const QString name = QString::fromStdString(row.key);
                const QString text = row.shortName.empty() ? name : QString::fromStdString(row.shortName);
                entries_.push_back({PaletteEntry::Kind::Kernel, text, {}, [window = &window_, name] {
                                        window->workspace().setKernel(name);
                                        emit window->workspace().targetWanted(
                                            QStringLiteral("kernels"), {PageTarget::Kind::Kernel, name});
                                    }});
            }
            narrow();
        },
        [](const QString&) {}); // the pages show why the file cannot be read
}

void CommandPalette::narrow()
{
    struct Fit {
        int score = 0;
        std::size_t entry = 0;
    };
    std::vector<Fit> fits;
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (const std::optional<int> score = paletteScore(field_->text(), entries_[i].text))
            fits.push_back({*score, i});
    std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.score > b.score; });
    if (fits.size() > kMostShown)
        fits.resize(kMostShown);
    list_->clear();
    for (const Fit& fit : fits) {
        const PaletteEntry& entry = entries_[fit.entry];
        auto* item = new QListWidgetItem(entry.text, list_);
        item->setData(kEntryRole, QVariant::fromValue<qulonglong>(fit.entry));
        item->setData(kKindRole, wordOf(entry.kind));
        item->setData(kDetailRole, entry.detail);
        item->setData(Qt::AccessibleTextRole,
                      QStringLiteral("%1: %2 %3").arg(wordOf(entry.kind), entry.text, entry.detail));
    }
    list_->setCurrentRow(0);
    describe();
    list_->setVisible(!fits.empty());
    nothing_->setVisible(fits.empty());
}

void CommandPalette::choose()
{
    const QListWidgetItem* item = list_->currentItem();
    if (item == nullptr)
        return;
    // Copied, since closing deletes the palette: an action may open a dialog with its own event loop.
    const std::function<void()> chosen = entries_[item->data(kEntryRole).toULongLong()].choose;
    close();
    QMetaObject::invokeMethod(&window_, chosen, Qt::QueuedConnection);
}

// The focus stays in the field: it says which entry Enter chooses.
void CommandPalette::describe()
{
    const QListWidgetItem* item = list_->currentItem();
    field_->setAccessibleDescription(item == nullptr ? nothing_->text()
                                                     : tr("%1; %2 of %3")
                                                           .arg(item->data(Qt::AccessibleTextRole).toString(),
                                                                QString::number(list_->currentRow() + 1),
                                                                QString::number(list_->count())));
}

// A click elsewhere closes it, as that of a menu does.
bool CommandPalette::event(QEvent* event)
{
    if (event->type() == QEvent::WindowDeactivate)
        close();
    // Esc is for the palette, also where it is a shortcut of the page below.
    if (event->type() == QEvent::ShortcutOverride &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    return QDialog::event(event);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != field_ || event->type() != QEvent::KeyPress)
        return QDialog::eventFilter(watched, event);
    switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        QCoreApplication::sendEvent(list_, event);
        return true;
    default:
        return QDialog::eventFilter(watched, event);
    }
}

} // namespace tilescope::ui
