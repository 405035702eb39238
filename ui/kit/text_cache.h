#pragma once

#include <QFont>
#include <QHash>
#include <QStaticText>
#include <QString>

class QPainter;
class QRect;

namespace tilescope::ui {

/// Draws texts that recur in most frames: elides and lays out each text once. One per view, GUI thread.
class TextCache {
public:
    void clear();

    /// Looks like QPainter::drawText() of elidedText(text, …, Qt::ElideMiddle, area.width()) on one line, in the painter's font and pen.
    void draw(QPainter& painter, const QRect& area, Qt::Alignment alignment, const QString& text);

    /// `font` in another size. The same object each time, because a copy would load its glyphs again.
    const QFont& sized(const QFont& font, int pixels);

private:
    struct Key {
        QString text;
        QFont font;
        int width;
        bool operator==(const Key&) const = default;
        friend size_t qHash(const Key& key, size_t seed)
        {
            return qHashMulti(seed, key.text, key.font.pixelSize(), key.font.weight(), key.width);
        }
    };
    const QStaticText& laidOut(const QFont& font, const QString& text, int width);

    QHash<Key, QStaticText> texts_;
    QHash<int, QFont> sized_; ///< by pixels
};

} // namespace tilescope::ui
