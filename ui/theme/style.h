#pragma once

#include <QProxyStyle>

namespace tilescope::ui {

/// Fusion with check boxes and radio buttons in our colours: plain to see on any ground, filled where they
/// are set.
class Style : public QProxyStyle {
    Q_OBJECT
public:
    Style();
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
};

} // namespace tilescope::ui
