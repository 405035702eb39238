#pragma once

#include "ui/theme/palette.h"

#include <QFont>
#include <QObject>
#include <QString>
#include <QWidget>

#include <memory>

namespace tilescope::ui {

class Restyling;

enum class ThemeChoice { System, Light, Dark };

/// Sizes in device-independent pixels, derived from the body font: constants are given for a 12 px font and
/// scaled to the actual font.
class Sizes {
public:
    explicit Sizes(const QFont& body);
    /// `designed` pixels at the reference font, in this font.
    int of(double designed) const;

    int margin, gap, padding, radius;
    int row, tallRow, header, field, tools, panelHeader;
    int rail, railItem, dock, statusBar;

private:
    double scale_;
};

/// The look of the program: palette, fonts and sizes. One per process, made before the first widget; GUI
/// thread.
class Theme : public QObject {
    Q_OBJECT
public:
    static Theme& instance();
    ~Theme() override;

    /// Selects light or dark. If the colours change, styles the application and emits changed().
    void apply(ThemeChoice choice);
    /// Applies the theme in several short turns of the event loop, during which the windows keep their picture.
    void change(ThemeChoice choice);
    ThemeChoice choice() const { return choice_; }
    bool isChanging() const;
    /// Keeps changes short: styles `page`, with the widgets in it, only when it is shown again.
    void styleWhenShown(QWidget& page);

    const Palette& palette() const { return *palette_; }
    const Sizes& sizes() const { return sizes_; }
    const QFont& body() const { return body_; }
    QFont bold() const;
    QFont small() const; ///< axes and table headers
    QFont large() const; ///< key numbers
    QFont mono() const;

signals:
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    Theme();
    bool choose(ThemeChoice choice);
    bool systemIsDark() const;

    ThemeChoice choice_ = ThemeChoice::System;
    const Palette* palette_;
    QFont body_;
    Sizes sizes_;
    bool systemDark_ = false;
    bool styled_ = false; ///< the application has our style
    std::unique_ptr<Restyling> restyling_;
};

/// Shorthands for painters and widgets.
inline const Palette& colours()
{
    return Theme::instance().palette();
}
inline const Sizes& sizes()
{
    return Theme::instance().sizes();
}

} // namespace tilescope::ui
