#include "ui/window/help_page.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "ui/kit/controls.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QDesktopServices>
#include <QDir>
#include <QHBoxLayout>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollBar>
#include <QStyle>
#include <QTextBrowser>
#include <QTextFrame>
#include <QTextTable>

#include <algorithm>

namespace tilescope::ui {

namespace {

// The first topics; the rest follows by title.
constexpr const char* kFirst[] = {"start",   "keys",    "overview", "experiment", "timeline", "flame",
                                  "waiting", "kernels", "memory",   "ranks",      "compare",  "charts",
                                  "query",   "machine", "spec",     "store"};

constexpr const char* kKeysMark = "{{keys}}"; // replaced by the tables of keys

QString titleOf(const QString& markdown, const QString& name)
{
    for (const QString& line : markdown.split(QLatin1Char('\n')))
        if (line.startsWith(QLatin1String("# ")))
            return line.mid(2).trimmed();
    return name;
}

int rankOf(const QString& name)
{
    const auto found = std::find_if(std::begin(kFirst), std::end(kFirst),
                                    [&name](const char* first) { return name == QLatin1String(first); });
    return int(found - std::begin(kFirst));
}

constexpr double kSide = 220; // design pixels of the list of topics

QDir helpFolder()
{
    return {QString::fromStdString((resourcesDirectory() / "help").string())};
}

} // namespace

std::vector<HelpTopic> helpTopics()
{
    std::vector<HelpTopic> topics;
    for (const QFileInfo& info : helpFolder().entryInfoList({QStringLiteral("*.md")}, QDir::Files)) {
        QFile file(info.filePath());
        if (!file.open(QIODevice::ReadOnly))
            throw Error{.what = file.errorString().toStdString(), .where = info.filePath().toStdString()};
        const QString text = QString::fromUtf8(file.readAll());
        topics.push_back({info.completeBaseName(), titleOf(text, info.completeBaseName()), text});
    }
    std::stable_sort(topics.begin(), topics.end(), [](const HelpTopic& a, const HelpTopic& b) {
        return std::pair(rankOf(a.name), a.title) < std::pair(rankOf(b.name), b.title);
    });
    return topics;
}

HelpPage::HelpPage(Workspace& workspace, std::function<QString()> keys, QWidget* parent)
    : Page(workspace, parent), keys_(std::move(keys)),
      find_(makeFindField(tr("Search the help"), tr("Search the help"))), list_(new QListWidget),
      browser_(new QTextBrowser)
{
    auto* layout = newLayout<QHBoxLayout>(this, 0, 0);
    auto* side = new QFrame;
    side->setFixedWidth(sizes().of(kSide));
    auto* sideLayout = new QVBoxLayout(side);
    sideLayout->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    sideLayout->setSpacing(sizes().of(8));
    sideLayout->addWidget(find_);
    list_->setAccessibleName(tr("Topics"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setWordWrap(true);
    list_->setTextElideMode(Qt::ElideNone);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setProperty("kind", "plain");
    sideLayout->addWidget(list_, 1);
    layout->addWidget(side);
    browser_->setAccessibleName(tr("Help"));
    browser_->setOpenLinks(false);
    browser_->document()->setDocumentMargin(sizes().of(28));
    layout->addWidget(browser_, 1);
    readTopics();
    fillList();
    connect(find_, &QLineEdit::textChanged, this, &HelpPage::fillList);
    connect(list_, &QListWidget::currentItemChanged, this, [this](QListWidgetItem* item) {
        if (item != nullptr && item->data(Qt::UserRole).toString() != topic_)
            showTopic(item->data(Qt::UserRole).toString());
    });
    connect(browser_, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
        if (!link.scheme().isEmpty())
            QDesktopServices::openUrl(link);
        else if (link.path().endsWith(QLatin1String(".md")))
            showTopic(QFileInfo(link.path()).completeBaseName());
        else
            browser_->scrollToAnchor(link.fragment());
    });
    connect(&Theme::instance(), &Theme::changed, this, &HelpPage::render);
    setFocusTarget(browser_);
    leadOut(*find_, *browser_);
    showTopic(QStringLiteral("start"));
}

void HelpPage::readTopics()
{
    try {
        topics_ = helpTopics();
        browser_->setSearchPaths({helpFolder().path()});
    } catch (const Error& error) {
        problem_ = QString::fromStdString(error.sentence());
    }
}

// Topics that have every word, in their text too.
void HelpPage::fillList()
{
    const QStringList words = find_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    const QSignalBlocker quiet(list_);
    list_->clear();
    for (const HelpTopic& topic : topics_) {
        const bool has = std::all_of(words.begin(), words.end(), [&topic](const QString& word) {
            return topic.text.contains(word, Qt::CaseInsensitive);
        });
        if (!has)
            continue;
        auto* item = new QListWidgetItem(topic.title, list_);
        item->setData(Qt::UserRole, topic.name);
        // A long title takes two lines.
        const QFontMetrics metrics(Theme::instance().body());
        const int room = sizes().of(kSide) - 2 * sizes().padding -
                         style()->pixelMetric(QStyle::PM_ScrollBarExtent) - sizes().of(12);
        const int lines =
            metrics.boundingRect(0, 0, room, 0, Qt::TextWordWrap, topic.title).height() / metrics.height();
        item->setSizeHint({sizes().of(60), sizes().tallRow + (lines - 1) * metrics.height()});
        if (topic.name == topic_)
            list_->setCurrentItem(item);
    }
}

bool HelpPage::startFind()
{
    find_->setFocus();
    find_->selectAll();
    return true;
}

void HelpPage::showTopic(const QString& name)
{
    const bool known = std::any_of(topics_.begin(), topics_.end(),
                                   [&name](const HelpTopic& topic) { return topic.name == name; });
    topic_ = known || topics_.empty() ? name : topics_.front().name;
    find_->clear();
    fillList();
    render();
    browser_->verticalScrollBar()->setValue(0);
}

void HelpPage::render()
{
    const auto found = std::find_if(topics_.begin(), topics_.end(),
                                    [this](const HelpTopic& topic) { return topic.name == topic_; });
    const int scrolled = browser_->verticalScrollBar()->value();
    QString text = found == topics_.end() ? problem_ : found->text;
    if (keys_ && text.contains(QLatin1String(kKeysMark)))
        text.replace(QLatin1String(kKeysMark), keys_());
    // Laid out once, not after each of its blocks: a long page took seconds.
    browser_->document()->setLayoutEnabled(false);
    browser_->setMarkdown(text);
    dress();
    fitPictures();
    browser_->document()->setLayoutEnabled(true);
    browser_->verticalScrollBar()->setValue(scrolled);
}

// Pictures are no wider than the text.
void HelpPage::fitPictures()
{
    QTextDocument& document = *browser_->document();
    const double room = browser_->viewport()->width() - 2 * document.documentMargin();
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
        for (auto part = block.begin(); !part.atEnd(); ++part) {
            const QTextFragment fragment = part.fragment();
            if (!fragment.charFormat().isImageFormat())
                continue;
            QTextImageFormat format = fragment.charFormat().toImageFormat();
            const QImage picture(helpFolder().filePath(format.name()));
            if (picture.isNull())
                continue;
            format.setWidth(std::max(1.0, std::min(room, double(picture.width()))));
            format.setHeight(format.width() * picture.height() / picture.width());
            QTextCursor cursor(&document);
            cursor.setPosition(fragment.position());
            cursor.setPosition(fragment.position() + fragment.length(), QTextCursor::KeepAnchor);
            cursor.setCharFormat(format);
            QTextBlockFormat whole; // no room above the picture
            whole.setLineHeight(100, QTextBlockFormat::ProportionalHeight);
            cursor.mergeBlockFormat(whole);
        }
}

void HelpPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    fitPictures();
}

// Replaces Qt's default style for Markdown: thin lines, our code font, a readable text width.
void HelpPage::dress()
{
    const Palette& p = colours();
    QTextDocument& document = *browser_->document();
    for (QTextFrame* frame : document.rootFrame()->childFrames()) {
        auto* table = qobject_cast<QTextTable*>(frame);
        if (table == nullptr)
            continue;
        QTextTableFormat format = table->format();
        format.setBorder(1);
        format.setBorderBrush(p.line);
        format.setBorderCollapse(true);
        format.setCellPadding(sizes().of(5));
        format.setCellSpacing(0);
        format.setTopMargin(sizes().of(6));
        format.setBottomMargin(sizes().of(10));
        table->setFormat(format);
    }
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        QTextCursor cursor(block);
        QTextBlockFormat blockFormat = block.blockFormat();
        const bool code = blockFormat.hasProperty(QTextFormat::BlockCodeFence);
        if (const int level = blockFormat.headingLevel(); level > 0) {
            blockFormat.setTopMargin(sizes().of(level == 1 ? 0 : 16));
            blockFormat.setBottomMargin(sizes().of(6));
            cursor.setBlockFormat(blockFormat);
            cursor.select(QTextCursor::BlockUnderCursor);
            QTextCharFormat heading;
            heading.setFontPointSize(Theme::instance().body().pointSizeF() * (level == 1   ? 1.8
                                                                              : level == 2 ? 1.3
                                                                                           : 1.1));
            heading.setFontWeight(QFont::DemiBold);
            cursor.mergeCharFormat(heading);
        } else {
            blockFormat.setLineHeight(130, QTextBlockFormat::ProportionalHeight);
            if (code)
                blockFormat.setBackground(p.raised);
            cursor.setBlockFormat(blockFormat);
        }
        for (auto part = block.begin(); !part.atEnd(); ++part) {
            const QTextFragment fragment = part.fragment();
            if (!fragment.charFormat().fontFixedPitch() && !code)
                continue;
            QTextCursor word(&document);
            word.setPosition(fragment.position());
            word.setPosition(fragment.position() + fragment.length(), QTextCursor::KeepAnchor);
            QTextCharFormat mono;
            mono.setFontFamilies(Theme::instance().mono().families());
            if (!code)
                mono.setBackground(p.raised);
            word.mergeCharFormat(mono);
        }
    }
}

} // namespace tilescope::ui
