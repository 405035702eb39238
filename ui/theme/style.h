#pragma once

#include <QProxyStyle>

namespace tilescope::ui {

/// Fusion with check boxes and radio buttons in our colours: visible on any background, filled when checked. Buttons of
/// dialogs have no icons, the columns of Qt's file dialog are as wide as their texts, and the button that clears a field
/// has our icon.
class Style : public QProxyStyle {
    Q_OBJECT
public:
    Style();
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* value) const override;
    using QProxyStyle::polish;
    void polish(QWidget* widget) override;
    QIcon standardIcon(StandardPixmap pixmap, const QStyleOption* option,
                       const QWidget* widget) const override;
};

} // namespace tilescope::ui
