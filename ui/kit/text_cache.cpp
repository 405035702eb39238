#include "ui/kit/text_cache.h"

#include "ui/kit/elided_text.h"

#include <QFontMetrics>
#include <QPainter>
#include <QRect>

namespace tilescope::ui {

namespace {
constexpr qsizetype kMostTexts =
    4096; // then all are laid out again: texts of files that were closed do not stay
} // namespace

void TextCache::clear()
{
    texts_.clear();
    sized_.clear();
}

void TextCache::draw(QPainter& painter, const QRect& area, Qt::Alignment alignment, const QString& text)
{
    if (text.isEmpty())
        return;
    const QStaticText& words = laidOut(painter.font(), text, area.width());
    const QSizeF room = QSizeF(area.size()) - words.size();
    const double x = alignment.testFlag(Qt::AlignRight) ? room.width() : 0;
    const double y = alignment.testFlag(Qt::AlignVCenter)  ? room.height() / 2
                     : alignment.testFlag(Qt::AlignBottom) ? room.height()
                                                           : 0;
    painter.drawStaticText(QPointF(area.topLeft()) + QPointF(x, y), words);
}

const QStaticText& TextCache::laidOut(const QFont& font, const QString& text, int width)
{
    const Key key{text, font, width};
    if (const auto known = texts_.constFind(key); known != texts_.cend())
        return *known;
    if (texts_.size() >= kMostTexts)
        texts_.clear();
    QStaticText words(elidedText(text, QFontMetrics(font), Qt::ElideMiddle, width));
    words.setTextFormat(Qt::PlainText);
    words.prepare(QTransform(), font);
    return *texts_.insert(key, words);
}

const QFont& TextCache::sized(const QFont& font, int pixels)
{
    const auto known = sized_.constFind(pixels);
    if (known != sized_.cend() && known->families() == font.families() && known->weight() == font.weight())
        return *known;
    QFont other = font;
    other.setPixelSize(pixels);
    return *sized_.insert(pixels, other);
}

} // namespace tilescope::ui
