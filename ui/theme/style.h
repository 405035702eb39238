#pragma once

#include <QProxyStyle>

namespace tilescope::ui {

/// Fusion with check boxes and radio buttons in our colours: visible on any background, filled when checked.
class Style : public QProxyStyle {
    Q_OBJECT
public:
    Style();
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
};

} // namespace tilescope::ui
