#include "ui/kit/table_view.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QImage>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QSet>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr double kLeastText = 90;    // design pixels
constexpr double kShortestText = 56; // before the view scrolls
constexpr double kReadableText = 128;
constexpr double kMostText = 180;  // beyond which a text need not be whole before dim texts are hidden
constexpr double kWholeText = 360; // beyond which it need not be whole before numbers and bars give way
constexpr double kLeastBar = 28;

// Total of "Total, µs".
QString withoutUnit(const QString& title)
{
    return title.section(QLatin1Char(','), 0, 0);
}

QChar widestDigit(const QFont& font)
{
    const QFontMetrics metrics(font);
    QChar widest = QLatin1Char('0');
    for (char digit = '1'; digit <= '9'; ++digit)
        if (metrics.horizontalAdvance(QLatin1Char(digit)) > metrics.horizontalAdvance(widest))
            widest = QLatin1Char(digit);
    return widest;
}

// The width of the widest number of a column; 0 without numbers. Every digit is taken as the widest one, so that the
// many numbers of a column are few texts to measure.
int widestNumber(const TableData& table, std::size_t column)
{
    if (table.columns[column].kind != TableColumn::Kind::Number)
        return 0;
    struct Weight {
        QChar digit;
        QSet<QString> measured;
    };
    std::map<bool, Weight> weights; // by whether the font is bold
    int widest = 0;
    for (const TableRow& row : table.rows) {
        const TableCell& cell = row.cells[column];
        const QFont font = TableDelegate::fontOf(row, cell);
        const auto [weight, isNew] = weights.try_emplace(font.bold());
        if (isNew)
            weight->second.digit = widestDigit(font);
        const int sign = TableDelegate::signWidth(cell.tone);
        QString text = cell.text;
        std::ranges::replace_if(
            text, [](QChar each) { return each.isDigit(); }, weight->second.digit);
        const QString key = sign > 0 ? text + QLatin1Char('+') : text;
        if (weight->second.measured.contains(key))
            continue;
        weight->second.measured.insert(key);
        widest = std::max(widest, QFontMetrics(font).horizontalAdvance(text) + sign);
    }
    return widest > 0 ? widest + TableDelegate::padding(int(column)) : 0;
}

/// Shows that a table has the keyboard, after Tab: a frame around its rows. Also keeps QAbstractItemView from making the
/// first row current without selecting it: the first Down would go to the second row.
class FocusFrame : public QWidget {
public:
    explicit FocusFrame(QTableView& table) : QWidget(&table), table_(table)
    {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setFocusPolicy(Qt::NoFocus);
        hide();
        table.installEventFilter(this);
        table.viewport()->installEventFilter(this);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched == table_.viewport()) {
            if (event->type() == QEvent::Resize || event->type() == QEvent::Move)
                setGeometry(table_.viewport()->geometry());
            return false;
        }
        if (event->type() != QEvent::FocusIn && event->type() != QEvent::FocusOut)
            return false;
        const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
        const bool isIn = event->type() == QEvent::FocusIn;
        if (isIn || reason != Qt::PopupFocusReason)
            setVisible(isIn && (reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason));
        raise();
        if (!isIn)
            return false;
        table_.viewport()->update(); // what QWidget does
        return true;
    }
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setPen(QPen(colours().accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }

private:
    QTableView& table_;
};

// Columns that differ only in their unit keep the widths that the user gave them.
bool isAlike(const TableColumn& one, const TableColumn& other)
{
    return withoutUnit(one.title) == withoutUnit(other.title) && one.kind == other.kind &&
           one.width == other.width && one.dim == other.dim;
}

} // namespace

TableView::TableView(QWidget* parent)
    : QTableView(parent), model_(new TableModel(this)), filter_(new TableFilter(this)),
      copy_(addKey(
          *this, tr("Copy table"), {QKeySequence(QKeySequence::Copy)}, [this] { copyTable(); },
          Qt::WidgetShortcut, tr("Tables")))
{
    filter_->setSourceModel(model_);
    setModel(filter_);
    setHorizontalHeader(new TableHeader(this));
    setItemDelegate(new TableDelegate(this));
    verticalHeader()->hide();
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    setRowHeight(24);
    setShowGrid(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setSortingEnabled(true);
    setWordWrap(false);
    setMouseTracking(true);
    setTabKeyNavigation(false);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    setFrameShape(QFrame::NoFrame);
    new FocusFrame(*this);
    horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
    horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(horizontalHeader(), &QWidget::customContextMenuRequested, this, &TableView::openColumnMenu);
    noteSorting(*this, *horizontalHeader());
    // A first click on a column of numbers shows the greatest.
    connect(horizontalHeader(), &QHeaderView::sectionClicked, this, [this](int) { viewport()->update(); });
    connect(horizontalHeader(), &QHeaderView::sectionResized, this,
            [this](int column, int, int width) { keepWidth(column, width); });
    connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) {
                if (!quiet_ && current.isValid())
                    emit chosen(current.data(TableModel::IdRole).toLongLong());
            });
    connect(this, &QTableView::activated, this, [this](const QModelIndex& index) {
        emit activatedRow(index.data(TableModel::IdRole).toLongLong());
    });
    connect(&Theme::instance(), &Theme::changed, this, [this] { viewport()->update(); });
}

void TableView::setRowHeight(double design)
{
    verticalHeader()->setMinimumSectionSize(1);
    rowHeight_ = sizes().of(design);
    verticalHeader()->setDefaultSectionSize(rowHeight_);
}

void TableView::setMostLines(int lines)
{
    mostLines_ = lines;
    layColumns();
}

void TableView::setMostLinesOfEach(int lines)
{
    if (!std::exchange(isEachRowFitted_, true)) {
        connect(filter_, &QAbstractItemModel::layoutChanged, this, &TableView::layLines);
        connect(filter_, &QAbstractItemModel::rowsInserted, this, &TableView::layLines);
    }
    setMostLines(lines);
}

void TableView::show(TableData rows)
{
    const std::optional<std::int64_t> current = currentId();
    const auto textWidths = [this] {
        std::vector<int> widths;
        for (std::size_t c = 0; c < model_->table().columns.size(); ++c)
            widths.push_back(model_->table().columns[c].width == 0 ? textWidth(c) : 0);
        return widths;
    };
    const std::vector<int> textsBefore = textWidths();
    const bool otherColumns =
        !std::equal(rows.columns.begin(), rows.columns.end(), model_->table().columns.begin(),
                    model_->table().columns.end(), isAlike);
    if (otherColumns)
        dragged_.clear();
    quiet_ = true;
    elided_.clear();
    laying_ = true; // resetting the model also sets widths
    model_->setData(std::move(rows));
    laying_ = false;
    const std::vector<int> before = std::move(numberWidths_);
    numberWidths_.clear();
    for (std::size_t c = 0; c < model_->table().columns.size(); ++c)
        numberWidths_.push_back(widestNumber(model_->table(), c));
    if (otherColumns || before != numberWidths_ || textsBefore != textWidths() || mostLines_ > 1)
        layColumns();
    setCurrentId(current);
    quiet_ = false;
}

std::optional<std::int64_t> TableView::currentId() const
{
    const QModelIndex index = currentIndex();
    return index.isValid() ? std::optional(std::int64_t(index.data(TableModel::IdRole).toLongLong()))
                           : std::nullopt;
}

void TableView::setCurrentId(std::optional<std::int64_t> id)
{
    const bool before = quiet_;
    quiet_ = true;
    QModelIndex found;
    for (int row = 0; id && row < filter_->rowCount(); ++row)
        if (filter_->index(row, 0).data(TableModel::IdRole).toLongLong() == *id)
            found = filter_->index(row, 0);
    if (found.isValid()) {
        setCurrentIndex(found);
        selectionModel()->select(found, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        scrollTo(found);
    } else {
        selectionModel()->clear();
    }
    quiet_ = before;
}

bool TableView::isHidden(int column) const
{
    return hidden_.contains(withoutUnit(model_->table().columns[std::size_t(column)].title));
}

// The width that the texts of a column need in the first rows.
int TableView::neededWidth(std::size_t column) const
{
    constexpr std::size_t kLooked = 40;
    const std::vector<TableRow>& rows = model_->table().rows;
    int widest = 0;
    for (std::size_t i = 0; i < std::min(kLooked, rows.size()); ++i) {
        const TableCell& cell = rows[i].cells[column];
        const QFontMetrics metrics(TableDelegate::fontOf(rows[i], cell));
        widest = std::max(widest, metrics.horizontalAdvance(cell.text));
    }
    return widest + sizes().of(model_->table().columns[column].swatch ? 40 : 20);
}

int TableView::textWidth(std::size_t column) const
{
    return std::clamp(neededWidth(column), sizes().of(kLeastText), sizes().of(kWholeText));
}

int TableView::titleWidth(int column) const
{
    const QFontMetrics metrics(Theme::instance().small());
    return metrics.horizontalAdvance(model_->table().columns[std::size_t(column)].title) +
           TableDelegate::padding(column) + 1; // advances are rounded
}

// Whether no row has a value in this column.
bool TableView::holdsNothing(std::size_t column) const
{
    const std::vector<TableRow>& rows = model_->table().rows;
    const TableColumn::Kind kind = model_->table().columns[column].kind;
    if (rows.empty() || (kind != TableColumn::Kind::Number && kind != TableColumn::Kind::Strip))
        return false;
    return std::all_of(rows.begin(), rows.end(), [&](const TableRow& row) {
        const TableCell& cell = row.cells[column];
        return kind == TableColumn::Kind::Strip ? cell.strip[1] < 0 : cell.text == notMeasured();
    });
}

int TableView::numberWidth(int column) const
{
    return std::size_t(column) < numberWidths_.size() ? numberWidths_[std::size_t(column)] : 0;
}

QString TableView::keyOf(int column) const
{
    const QString title = withoutUnit(model_->table().columns[std::size_t(column)].title);
    return title.isEmpty() ? QString::number(column) : title;
}

// Keeps a width set by the user, but never less than the numbers need.
void TableView::keepWidth(int column, int width)
{
    if (laying_ || width == 0 || std::size_t(column) >= model_->table().columns.size())
        return;
    const int least = numberWidth(column);
    dragged_[keyOf(column)] = std::max(width, least);
    if (width < least)
        setColumnWidth(column, least);
}

// Columns of numbers are as wide as their widest number, others keep their width, and those of width 0 share
// the rest. If that is too narrow: hide empty columns, remove the space before numbers and behind texts, shorten bars, elide
// long names, hide dim texts, elide names, hide dim numbers, hide bars. A table that is still too wide scrolls: no number is
// ever truncated.
void TableView::layColumns()
{
    const std::vector<TableColumn>& columns = model_->table().columns;
    std::vector<int> widths(columns.size(), 0); // 0: hidden
    int needed = 0;
    int free = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (isHidden(int(c)))
            continue;
        const auto dragged = dragged_.find(keyOf(int(c)));
        widths[c] = dragged != dragged_.end() ? *dragged
                    : columns[c].width > 0    ? sizes().of(columns[c].width)
                                              : textWidth(c);
        if (columns[c].kind == TableColumn::Kind::Number)
            widths[c] = std::max({widths[c], numberWidth(int(c)), titleWidth(int(c))});
        else if (columns[c].kind == TableColumn::Kind::Text)
            widths[c] = std::max(widths[c], titleWidth(int(c)));
        needed += widths[c];
        free += columns[c].width == 0 ? 1 : 0;
    }
    const int room = viewport()->width();
    const int least = horizontalHeader()->minimumSectionSize();
    const auto shrink = [&](std::size_t c, int to) {
        const int less = std::clamp(needed - room, 0, std::max(0, widths[c] - std::max(to, least)));
        widths[c] -= less;
        needed -= less;
    };
    const auto drop = [&](auto isOne) {
        for (std::size_t c = 1; c < columns.size(); ++c)
            if (needed > room && isOne(c)) {
                needed -= widths[c];
                widths[c] = 0;
            }
    };
    const auto isBar = [&](std::size_t c) {
        return columns[c].kind != TableColumn::Kind::Text && columns[c].kind != TableColumn::Kind::Number;
    };
    const auto elide = [&](double to) {
        for (std::size_t c = 0; c < columns.size(); ++c)
            if (columns[c].width == 0)
                shrink(c, std::max({sizes().of(to), numberWidth(int(c)), titleWidth(int(c))}));
    };
    drop([&](std::size_t c) { return holdsNothing(c); });
    for (std::size_t c = 0; c < columns.size(); ++c)
        if (widths[c] > 0 && columns[c].kind == TableColumn::Kind::Number)
            shrink(c, std::max(numberWidth(int(c)), titleWidth(int(c))));
        else if (widths[c] > 0 && columns[c].kind == TableColumn::Kind::Text && columns[c].width > 0)
            shrink(c, std::max(neededWidth(c), titleWidth(int(c))));
    for (std::size_t c = 0; c < columns.size(); ++c)
        if (widths[c] > 0 && isBar(c))
            shrink(c, sizes().of(kLeastBar));
    elide(kMostText);
    drop([&](std::size_t c) { return columns[c].dim && columns[c].kind == TableColumn::Kind::Text; });
    elide(kReadableText);
    drop([&](std::size_t c) { return columns[c].dim && columns[c].kind == TableColumn::Kind::Number; });
    elide(kLeastText);
    drop(isBar);
    elide(kShortestText);
    const int more = free > 0 ? std::max(0, room - needed) / free : 0;
    laying_ = true;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        setColumnHidden(int(c), widths[c] == 0);
        if (widths[c] > 0)
            setColumnWidth(int(c), widths[c] + (columns[c].width == 0 ? more : 0));
    }
    laying_ = false;
    if (mostLines_ > 1)
        layLines();
}

// The lines of the row's texts, at most mostLines_.
int TableView::linesOf(const TableRow& row) const
{
    const std::vector<TableColumn>& columns = model_->table().columns;
    const QFontMetrics metrics(Theme::instance().body());
    int lines = 1;
    for (std::size_t c = 0; c < columns.size(); ++c)
        if (columns[c].width == 0 && columns[c].kind == TableColumn::Kind::Text)
            lines = std::max(lines,
                             TableDelegate::lineCount(row.cells[c].text, metrics,
                                                      columnWidth(int(c)) - TableDelegate::padding(int(c))));
    return std::min(lines, mostLines_);
}

void TableView::layLines()
{
    const std::vector<TableRow>& rows = model_->table().rows;
    const int spacing = QFontMetrics(Theme::instance().body()).lineSpacing();
    if (isEachRowFitted_) {
        int highest = 0;
        bool isOther = false;
        for (int row = 0; row < filter_->rowCount(); ++row) {
            const int source = filter_->mapToSource(filter_->index(row, 0)).row();
            const int height = rowHeight_ + (linesOf(rows[std::size_t(source)]) - 1) * spacing;
            highest = std::max(highest, height);
            isOther = isOther || height != verticalHeader()->sectionSize(row);
            verticalHeader()->resizeSection(row, height);
        }
        if (isOther)
            emit rowHeightChanged(highest);
        return;
    }
    int lines = 1;
    for (const TableRow& row : rows)
        lines = std::max(lines, linesOf(row));
    const int height = rowHeight_ + (lines - 1) * spacing;
    if (height == verticalHeader()->defaultSectionSize())
        return;
    verticalHeader()->setDefaultSectionSize(height);
    emit rowHeightChanged(height);
}

QString TableView::elided(int column, const QString& text, int width) const
{
    constexpr std::size_t kLooked = 300; // rows
    constexpr int kMostWidths = 8;
    const QFontMetrics metrics(Theme::instance().body());
    auto known = elided_.constFind({column, width});
    if (known == elided_.constEnd()) {
        if (elided_.size() >= kMostWidths)
            elided_.clear(); // the window is being resized
        QStringList texts;
        const std::vector<TableRow>& rows = model_->table().rows;
        for (std::size_t row = 0; row < std::min(kLooked, rows.size()); ++row)
            if (const QString& each = rows[row].cells[std::size_t(column)].text;
                metrics.horizontalAdvance(each) > width)
                texts << each;
        const QStringList shown = distinctTexts(texts, metrics, Qt::ElideMiddle, width);
        Elided elided;
        for (qsizetype i = 0; i < texts.size(); ++i)
            elided.insert(texts[i], shown[i]);
        known = elided_.insert({column, width}, elided);
    }
    const auto found = known->constFind(text);
    return found != known->constEnd() ? *found : elidedText(text, metrics, Qt::ElideMiddle, width);
}

void TableView::fillColumnMenu(QMenu& menu)
{
    menu.clear();
    const std::vector<TableColumn>& columns = model_->table().columns;
    for (std::size_t c = 1; c < columns.size(); ++c) { // the first names the row
        if (columns[c].title.isEmpty())
            continue;
        const QString title = withoutUnit(columns[c].title);
        QAction* action = menu.addAction(columns[c].title, this, [this, title] {
            if (!hidden_.remove(title))
                hidden_.insert(title);
            layColumns();
        });
        action->setCheckable(true);
        action->setChecked(!hidden_.contains(title));
    }
}

void TableView::openColumnMenu(const QPoint& at)
{
    QMenu menu(this);
    fillColumnMenu(menu);
    menu.exec(horizontalHeader()->mapToGlobal(at));
}

void TableView::resizeEvent(QResizeEvent* event)
{
    QTableView::resizeEvent(event);
    layColumns();
}

TableData TableView::shown() const
{
    TableData rows;
    std::vector<std::size_t> kept;
    for (std::size_t c = 0; c < model_->table().columns.size(); ++c)
        if (!isHidden(int(c))) {
            kept.push_back(c);
            rows.columns.push_back(model_->table().columns[c]);
        }
    for (int row = 0; row < filter_->rowCount(); ++row) {
        const TableRow& from = model_->row(filter_->mapToSource(filter_->index(row, 0)).row());
        TableRow& to = rows.rows.emplace_back(from);
        to.cells.clear();
        for (const std::size_t c : kept)
            to.cells.push_back(from.cells[c]);
    }
    return rows;
}

void TableView::copyImage()
{
    QImage image(size() * devicePixelRatio(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(devicePixelRatio());
    image.fill(colours().surface);
    render(&image);
    QApplication::clipboard()->setImage(image);
}

void TableView::copyTable()
{
    QApplication::clipboard()->setText(tableText(shown(), QLatin1Char('\t')));
}

void TableView::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    const QModelIndex index = indexAt(event->pos());
    if (index.isValid())
        menu.addAction(tr("Copy cell"), this, [index] {
            QApplication::clipboard()->setText(index.data(TableModel::ExactRole).toString());
        });
    menu.addAction(copy_);
    menu.addAction(tr("Copy as image"), this, &TableView::copyImage);
    menu.addSeparator();
    fillColumnMenu(*menu.addMenu(tr("Columns")));
    for (QAction* action : actions()) // of the table's owner
        if (action != copy_ && index.isValid())
            menu.addAction(action);
    menu.exec(event->globalPos());
}

} // namespace tilescope::ui
